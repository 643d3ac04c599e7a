"""`-D PACKET NAME VALUE [VALUE]`, as the mosquitto clients write properties.

click needs a fixed number of values, but a User Property has one more. So the words are joined before
click sees them, by a character that no argument can contain.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import click

from ...spec.properties import BY_KEY, PropertyRow
from ...wire.types import PAIR
from .base import Flag
from .properties import PREFIXES, flag_type

NAMES = ("-D", "--property")
JOINT = "\0"
SETTING_WORDS = "PACKET NAME VALUE"


class Setting(NamedTuple):
    """One property for one packet."""

    packet: str
    row: PropertyRow
    value: Any


class SettingType(click.ParamType[Setting]):
    """Packet, name and value of a property, joined."""

    name = "property"

    def __init__(self, packets: Iterable[str]) -> None:
        self.packets = tuple(packets)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Setting:
        """Return the setting that the words describe."""
        words = _split(value) if isinstance(value, str) else [str(word) for word in value]
        if len(words) < 3:
            # One of the words may be a secret whose packet was forgotten.
            self.fail(f"expects {SETTING_WORDS}, but got {len(words)} word{'s' * (len(words) != 1)}", param, ctx)
        packet, name, *values = words
        if packet.upper() not in self.packets:
            self.fail(f"the first word is not one of {', '.join(self.packets)}", param, ctx)
        row = BY_KEY.get(_key(name))
        if row is None:
            self.fail(f"unknown property '{name}'", param, ctx)
        return Setting(packet.upper(), row, self._value(row, values, param, ctx))

    def _value(
        self, row: PropertyRow, values: list[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if len(values) != _count(row):
            wanted = "a name and a value" if row.type is PAIR else "one value"
            self.fail(f"{row.label} expects {wanted}, but got {len(values)}", param, ctx)
        if row.type is PAIR:
            return tuple(values)
        kind = click.types.convert_type(flag_type(row))
        try:
            return kind.convert(values[0], param, ctx)
        except click.BadParameter as error:
            return self.fail(f"{row.label}: {error.message}", param, ctx)


def masked_setting(value: Any) -> list[str]:
    """Return the words of a setting, with a value that is or may be a secret masked."""
    words = _split(value) if isinstance(value, str) else [str(word) for word in value]
    row = BY_KEY.get(_key(words[1])) if words[2:] else None
    shown = len(words) if row and not row.secret else 2 if row else 0
    return [*words[:shown], *("*" * len(word) for word in words[shown:])]


def _split(text: str) -> list[str]:
    return text.split(JOINT) if JOINT in text else text.split(maxsplit=3)


def _key(name: str) -> str:
    return name.lower().replace("-", "_")


def _count(row: PropertyRow) -> int:
    return 2 if row.type is PAIR else 1


def property_argument(packets: Iterable[str] = PREFIXES) -> Flag:
    """Return the flag that sets any property of these packets."""
    return Flag(
        [*NAMES], type=SettingType(packets), multiple=True, metavar=f"{SETTING_WORDS} [VALUE]",
        help=f"Any property of {', '.join(packets)}, such as CONNECT receive-maximum 20; "
        "user-property has two values.",
    )  # fmt: skip


def joined(arguments: list[str], command: click.Command) -> list[str]:
    """Return the arguments with the words of each -D joined into one."""
    if not any(name in arguments for name in NAMES):
        return arguments
    takes_value = _taking_values(command)
    rest, done = deque(arguments), []
    while rest:
        argument = rest.popleft()
        done.append(argument)
        if argument == "--":
            return [*done, *rest]
        if argument in NAMES:
            done.append(JOINT.join(_words(rest)))
        elif rest and takes_value(argument):
            done.append(rest.popleft())
    return done


def _words(rest: deque[str]) -> list[str]:
    """Remove and return packet, name and the values of the property, as far as they are present."""
    row = BY_KEY.get(_key(rest[1])) if len(rest) > 1 else None
    count = 2 + (_count(row) if row else 1)
    return [rest.popleft() for _ in range(min(count, len(rest)))]


def _taking_values(command: click.Command) -> Callable[[str], bool]:
    """Return a function that says whether the next argument is the value of this one."""
    options = [param for param in command.params if isinstance(param, click.Option)]
    names = {name: _needs_value(each) for each in options for name in (*each.opts, *each.secondary_opts)}

    def takes_value(argument: str) -> bool:
        if argument in names or argument.startswith("--") or not argument.startswith("-"):
            return names.get(argument, False)
        # Short flags in one word: the first with a value gets the rest of the word, or the next argument.
        for at, letter in enumerate(argument[1:], 2):
            if names.get(f"-{letter}"):
                return at == len(argument)
        return False

    return takes_value


def _needs_value(option: click.Option) -> bool:
    return not (option.is_flag or option.count or getattr(option, "optional", False))
