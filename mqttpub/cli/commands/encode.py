"""`mqttpub encode`: its flags, with a subcommand per packet type, and the request that they make."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ...spec.declare import Field, Packet
from ...spec.packets import PACKETS, Publish, Subscription, Will
from ...spec.properties import WILL
from ..flags.base import Command, CommandGroup, Flag, FlagValues, PlainOption
from ..flags.fields import NAMES, field_flag, field_key
from ..flags.payload import payload, payload_options
from ..flags.properties import chosen_properties, dashed, options_of, property_flags
from ..flags.types import VERSION, NumberType
from ..flags.will import group_options, will
from ..registry import add_screen_flags

if TYPE_CHECKING:
    from ..encode.request import EncodeOutput

FORMATS = ("hex", "raw", "base64", "c")


def packet_flags(cls: type[Packet]) -> list[Flag]:
    """Return the options for the fields of a packet."""
    flags: list[Flag] = []
    for field in cls.layout:
        if field.shape == "group":
            flags += group_options()
        elif field.item is Subscription:
            help = "Topic Filter; may be repeated."
            flags.append(Flag(["-t", "--filter", "filter"], aliases=("--topic",), multiple=True, help=help))
            flags += [field_flag(each) for each in Subscription.layout if each.mask]
        elif field.key == "payload":
            flags += payload_options()
        elif field.shape != "properties":
            flags.append(field_flag(field))
    by_name = {flag.name: flag for flag in reversed(flags)}
    return [flag for flag in flags if by_name[flag.name] is flag]


def build(cls: type[Packet], given: FlagValues) -> Packet:
    """Return the packet that the options of its subcommand describe; raises UsageError."""
    values: dict[str, Any] = {}
    for field in cls.layout:
        value = _READ[field.shape](cls, field, given)
        if value is not None:
            values[field.key] = value
    if "packet_id" in cls.fields and "packet_id" not in values and values.get("qos", cls is not Publish):
        values["packet_id"] = 1
    missing = [field for key, field in cls.fields.items() if values.get(key, ()) == () and _required(field)]
    if missing:
        names = " and ".join(_flag_of(field) for field in missing)
        otherwise = "; encode --json builds one without" if all(field.shape == "list" for field in missing) else ""
        raise click.UsageError(f"{cls.name} needs {names}{otherwise}")
    return cls(**values)


def _required(field: Field) -> bool:
    from ...spec.declare import MISSING

    return field.default is MISSING


def _flag_of(field: Field) -> str:
    """Return the long flag of a field."""
    key = "filter" if field.item is Subscription else field.key
    return NAMES.get(key, (dashed(key),))[-1]


def _value(cls: type[Packet], field: Field, given: FlagValues) -> Any:
    if field.key == "payload":
        return payload(given, required=False)
    return given.get(field_key(field))


def _list(cls: type[Packet], field: Field, given: FlagValues) -> Any:
    if field.item is not Subscription:
        return tuple(given[field.key])
    chosen = {each.key: given.get(each.key) for each in Subscription.layout if each.mask}
    options: dict[str, Any] = {key: value for key, value in chosen.items() if value is not None}
    return tuple(Subscription(filter=each, **options) for each in given["filter"])


def _group(cls: type[Packet], field: Field, given: FlagValues) -> Will | None:
    return will(given, given["mqtt_version"])


def _properties(cls: type[Packet], field: Field, given: FlagValues) -> Any:
    return chosen_properties(cls.name, given, given["mqtt_version"], alone=True) or None


_READ: dict[str, Callable[..., Any]] = {
    "bits": _value,
    "value": _value,
    "list": _list,
    "group": _group,
    "properties": _properties,
}


class Encode(CommandGroup):
    """A group with a subcommand per packet type; flags without a packet type mean PUBLISH."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the packet types in lower case."""
        return [cls.name.lower() for cls in PACKETS.values()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the subcommand of a packet type."""
        cls = next((cls for cls in PACKETS.values() if cls.name == cmd_name.upper()), None)
        return packet_command(cls) if cls else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `publish` in front of flags that have no packet type."""
        own = {"--help", "--json", "--format", "--inspect", "-d", "--full", "--show-secrets", "--color", "--no-pager"}
        if args and args[0].startswith("-") and args[0].split("=")[0] not in own:
            args = ["publish", *args]
        return super().parse_args(ctx, args)


def packet_command(cls: type[Packet]) -> click.Command:
    """Return the subcommand that builds one packet type."""
    properties = property_flags(cls.name, alone=True)
    own: list[Flag] = [
        *packet_flags(cls),
        Flag(["-V", "--mqtt-version"], aliases=("--protocol-version",), type=VERSION, default="5",
             show_default=True, metavar="VERSION", help="MQTT version: 3.1, 3.1.1 (also 3 or 4) or 5."),
        Flag(["--remaining-length"], type=NumberType(0, 268_435_455), help="Remaining Length, even a wrong one."),
        *output_options(),
    ]  # fmt: skip
    for flag in own:
        # All flags of a packet with properties need more than two screens.
        flag.common = bool(properties) and flag.name not in options_of(WILL)
    for flag in properties:
        flag.group = "Properties"

    def callback(**given: Any) -> int:
        from ..encode.request import EncodeRequest
        from ..encode.run import encode

        return encode(
            EncodeRequest(build(cls, given), given["mqtt_version"], given["remaining_length"], output_of(given))
        )

    doc = cls.__doc__ or ""
    text = f"Build a {cls.name} ({cls.section}).\n\n{doc}"
    command = Command(cls.name.lower(), params=[*own, *properties], callback=callback, help=text, short_help=doc)
    add_screen_flags(command)
    return command


def output_options() -> list[Flag]:
    """Return the options for the output."""
    return [
        Flag(["--format", "form"], type=click.Choice(FORMATS), default="hex", show_default=True, help="Output format."),
        Flag(["-d", "--inspect"], is_flag=True, help="Show an annotated dump instead."),
        Flag(["--show-secrets"], is_flag=True, help="Do not mask passwords and authentication data."),
        Flag(["--full"], is_flag=True, help="Show every byte of a long field."),
    ]  # fmt: skip


def output_of(given: FlagValues) -> "EncodeOutput":
    """Return what the output options ask for."""
    from ..encode.request import EncodeOutput

    return EncodeOutput(
        form=given["form"], inspect=given["inspect"], secrets=given["show_secrets"], full=given["full"]
    )  # fmt: skip


@click.group(
    cls=Encode, name="encode", params=output_options(), invoke_without_command=True,
    examples=(
        "mqttpub encode -t a/b -m hi -q 1 --packet-id 7",
        "mqttpub encode puback --packet-id 7 --reason-code 0x87 -d",
        "mqttpub encode subscribe --packet-id 1 -t 'a/#' -q 1 --format c",
    ),
    context_settings={"help_option_names": ["--help"], "max_content_width": 100},
)  # fmt: skip
@click.option(
    "--json",
    "json_path",
    cls=PlainOption,
    metavar="PATH",
    help="Read JSON or a script from this file, - for standard input. [default: standard input, if it is piped]",
)
@click.pass_context
def command(ctx: click.Context, /, json_path: str | None, **given: Any) -> int:
    """Build a control packet and print its bytes.

    Flags without a packet type mean PUBLISH, so those of `pub` work here too. Standard input holds packets in
    JSON or, if it does not begin with {, a script. Even what the specification forbids is built.
    """
    if ctx.invoked_subcommand:
        return 0
    from ...common.standard_input import is_piped
    from ..encode.run import encode_file

    if (json_path is not None or is_piped()) and encode_file(json_path or "-", output_of(given)):
        return 0
    if json_path is None:
        click.echo(ctx.get_help())
        return 2
    return 0
