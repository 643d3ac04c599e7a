"""The words that name fields, and what each takes."""

from typing import Any

from ..codec.from_json import plain_key
from ..common.words import plural
from ..spec.declare import Field, Group, Packet
from ..spec.packets import Connect, Subscription, Will
from ..spec.properties import BY_KEY
from ..wire.types import PAIR, STRING, Integer, VariableInteger, WireType
from .lex import ScriptWord, shown, split
from .steps import AbsentProperty, GivenField, GivenFilter, GivenProperty
from .values import codes, data, number, pair, text

SHORT = {"i": "packet_id", "q": "qos", "d": "dup", "r": "retain"}
"""Letters that a number may follow without an equals sign."""
LONG = {
    **SHORT, "t": "topic", "p": "payload", "id": "client_id", "ka": "keep_alive", "clean": "clean_start",
    "sp": "session_present",
}  # fmt: skip
"""Short names of fields."""
SHORT_NAMES = {key: name for name, key in LONG.items()}
"""The short name that the writer uses for each field that has one."""
LETTERS = {"c": ("reason_code", "reason_codes"), "f": ("subscriptions", "filters")}
"""Letters that stand for a field by what the packet has."""
_SUBSCRIPTION = {"rap": "retain_as_published", "nl": "no_local"}
_OPTIONS = "q0 to q3, rh0 to rh3, rap, nl"


def given(word: ScriptWord, packet: type[Packet]) -> list[GivenField | GivenProperty]:
    """Return what a word says of a packet; raises BadText for a name or a value that it cannot have."""
    name, equals, _ = word.text.partition("=")
    if not equals:
        return [_short(word, packet)]
    value = word.cut(len(name) + 1)
    if name == "will" and packet is Connect:
        return _will(word, value)
    of_will = name.startswith("will.") and packet is Connect
    key = plain_key(name.removeprefix("will.") if of_will else name)
    if of_will and f"will_{key}" in packet.fields:
        return [GivenField(packet.fields[f"will_{key}"], number(value), word)]
    return [_named(word, value, Will if of_will else packet, key, of_will)]


def absent(word: ScriptWord, packet: type[Packet]) -> AbsentProperty:
    """Return the property that `-NAME` names; raises BadText for one that the packet cannot have."""
    name = word.cut(1)
    row = BY_KEY.get(plain_key(name.text))
    if row is None or packet.name not in row.packets:
        raise name.error(f"{packet.name} has no property {shown(name.text)}")
    return AbsentProperty(row, word)


def _named(
    word: ScriptWord, value: ScriptWord, owner: type[Group], key: str, of_will: bool
) -> GivenField | GivenProperty:
    if key == "c" and (field := lettered("c", owner)):
        return GivenField(field, _codes(field, value), word)
    if key == "f" and (field := lettered("f", owner)):
        return GivenField(field, _value(field, value), word)
    field = owner.fields.get(LONG.get(key, key))
    if field and field.shape == "properties" and value.text:
        raise value.error("properties= takes no value: it writes an empty list; properties are named one by one")
    if field:
        return GivenField(field, _value(field, value), word, of_will)
    row = BY_KEY.get(key)
    if row is None or "properties" not in owner.fields:
        raise word.error(f"{_label(owner)} has no {shown(key)}; {_available(owner)}")
    return GivenProperty(row, _typed(row.type, value), word, of_will)


def _short(word: ScriptWord, packet: type[Packet]) -> GivenField:
    letter, rest = word.text[:1], word.cut(1)
    if letter == "c" and rest.text[:1].isalnum() and (field := lettered("c", packet)):
        return GivenField(field, _codes(field, rest), word)
    if letter == "c" and not rest.text and (field := lettered("c", packet)) and field.shape == "list":
        return GivenField(field, (), word)
    field = packet.fields.get(SHORT.get(letter, ""))
    if field is None or not rest.text or rest.text[0] not in "0123456789$":
        raise word.error(f"{_label(packet)} has no word {shown(word.text)}; {_available(packet)}")
    return GivenField(field, number(rest), word)


def lettered(letter: str, owner: type[Group]) -> Field | None:
    """Return the field that a letter of `LETTERS` stands for in a packet."""
    return next((owner.fields[name] for name in LETTERS.get(letter, ()) if name in owner.fields), None)


def _codes(field: Field, word: ScriptWord) -> Any:
    found = codes(word)
    if field.shape == "list":
        return found
    if len(found) != 1:
        raise word.error("a single Reason Code must stand here")
    return found[0]


def _value(field: Field, word: ScriptWord) -> Any:
    if field.shape == "properties":
        return ()
    if field.shape == "bits":
        return number(word)
    if field.shape == "list":
        parts = split(word, ",") if word.text else []
        if field.item is Subscription:
            return tuple(map(_subscription, parts))
        return tuple(map(text, parts)) if field.item is STRING else tuple(map(number, parts))
    assert field.type
    return _typed(field.type, word)


def _typed(type: WireType, word: ScriptWord) -> Any:
    if isinstance(type, Integer | VariableInteger):
        return number(word)
    if type is STRING:
        return text(word)
    return pair(word) if type is PAIR else data(word)


def _subscription(word: ScriptWord) -> GivenFilter:
    filter, *options = split(word, ":")
    return GivenFilter(text(filter), dict(map(_option, options)))


def _option(word: ScriptWord) -> tuple[str, int | bool]:
    written = word.text
    if written in _SUBSCRIPTION:
        return _SUBSCRIPTION[written], True
    letters, digit = ("rh", written[2:]) if written.startswith("rh") else (written[:1], written[1:])
    if letters not in ("q", "rh") or digit not in ("0", "1", "2", "3"):
        raise word.error(
            f"{shown(written)} is not an option of a Topic Filter ({_OPTIONS}); a colon in a filter is quoted"
        )
    return "qos" if letters == "q" else "retain_handling", int(digit)


def _will(word: ScriptWord, value: ScriptWord) -> list[GivenField | GivenProperty]:
    """Read `q1r1`: a will with these flags, and topic `w` unless it is named."""
    digits = value.text
    if not (len(digits) in (2, 4) and digits[0] == "q" and digits[1] in "0123" and digits[2:] in ("", "r0", "r1")):
        raise value.error(f"{shown(digits)} is not QoS and RETAIN of a will, such as q1 or q1r1")
    return [
        GivenField(Connect.fields["will"], None, word),
        GivenField(Connect.fields["will_qos"], int(digits[1]), word),
        GivenField(Connect.fields["will_retain"], int(digits[3:] or 0), word),
    ]


def _label(owner: type[Group]) -> str:
    return owner.name if issubclass(owner, Packet) else "a will"


def _available(owner: type[Group]) -> str:
    """Return what a packet has, in words."""
    names = [key for key, field in owner.fields.items() if field.shape not in ("properties", "group")]
    if "properties" in owner.fields:
        kind = owner.name if issubclass(owner, Packet) else "WILL"
        names += [row.key for row in BY_KEY.values() if kind in row.packets]
    return f"its {plural(len(names), 'word is', 'words are')} {', '.join(names)}"
