"""`mqttpub encode`: a subcommand per packet type, its options read from the table."""

import sys
from collections.abc import Callable
from typing import Any

import click

from ...spec.declare import Field, Packet
from ...spec.packets import PACKETS, Publish, Subscription, Will
from ...spec.versions import Version
from ..flags.base import Flag
from ..flags.fields import NAMES, field_flag, field_key
from ..flags.payload import payload_options
from ..flags.properties import chosen_properties, dashed, property_flags
from ..flags.types import VERSION, NumberType
from ..flags.will import group_options, will
from ..pub.request import payload
from ..screen import screen_flags

FORMATS = ("hex", "raw", "base64", "c")


def packet_flags(cls: type[Packet]) -> list[Flag]:
    """Return the options of a packet: its fields, then its properties."""
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


def build(cls: type[Packet], given: dict[str, Any]) -> Packet:
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
    """Return the flag that gives a field its value."""
    key = "filter" if field.item is Subscription else field.key
    return NAMES.get(key, (dashed(key),))[-1]


def _value(cls: type[Packet], field: Field, given: dict[str, Any]) -> Any:
    if field.key == "payload":
        return payload(given, required=False)
    return given.get(field_key(field))


def _list(cls: type[Packet], field: Field, given: dict[str, Any]) -> Any:
    if field.item is not Subscription:
        return tuple(given[field.key])
    chosen = {each.key: given.get(each.key) for each in Subscription.layout if each.mask}
    options: dict[str, Any] = {key: value for key, value in chosen.items() if value is not None}
    return tuple(Subscription(filter=each, **options) for each in given["filter"])


def _group(cls: type[Packet], field: Field, given: dict[str, Any]) -> Will | None:
    return will(given, given["mqtt_version"])


def _properties(cls: type[Packet], field: Field, given: dict[str, Any]) -> Any:
    return chosen_properties(cls.name, given, given["mqtt_version"], alone=True) or None


_READ: dict[str, Callable[..., Any]] = {
    "bits": _value,
    "value": _value,
    "list": _list,
    "group": _group,
    "properties": _properties,
}


class Encode(click.Group):
    """A group with a subcommand per packet type; flags without a packet type mean PUBLISH."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the packet types."""
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
    flags: list[click.Parameter] = [*packet_flags(cls), *property_flags(cls.name, alone=True)]
    flags += [
        Flag(["-V", "--mqtt-version"], aliases=("--protocol-version",), type=VERSION, default="5",
             show_default=True, metavar="VERSION", help="MQTT version: 3.1, 3.1.1 (also 3 or 4) or 5."),
        Flag(["--remaining-length"], type=NumberType(0, 268_435_455), help="Remaining Length, right or wrong."),
        *output_options(),
        *screen_flags(),
    ]  # fmt: skip

    def callback(**given: Any) -> int:
        return show(cls, given)

    doc = cls.__doc__ or ""
    text = f"Build a {cls.name} ({cls.section}).\n\n{doc}"
    return click.Command(
        cls.name.lower(), params=flags, callback=callback, help=text, short_help=doc,
        context_settings={"help_option_names": ["--help"], "max_content_width": 100},
    )  # fmt: skip


def output_options() -> list[click.Parameter]:
    """Return the options of what is printed."""
    return [
        Flag(["--format", "form"], type=click.Choice(FORMATS), default="hex", show_default=True, help="Writing."),
        Flag(["-d", "--inspect"], is_flag=True, help="Show each byte named instead."),
        Flag(["--show-secrets"], is_flag=True, help="Do not mask passwords and authentication data."),
        Flag(["--full"], is_flag=True, help="Show every byte of a long field."),
    ]  # fmt: skip


def show(cls: type[Packet], given: dict[str, Any]) -> int:
    """Build, encode and print."""
    from ...codec.encode import encode

    packet = build(cls, given)
    try:
        data = encode(packet, given["mqtt_version"], remaining_length=given["remaining_length"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return write(data, given["mqtt_version"], given)


def write(data: bytes, version: Version, given: dict[str, Any]) -> int:
    """Print the bytes of a packet as the output options say."""
    if given["inspect"]:
        from ...codec.decode import decode
        from ...view.packet.show import Show

        Show(secrets=given["show_secrets"], full=given["full"]).packet(decode(data, version), judge=True)
        return 0
    if given["form"] == "raw":
        if sys.stdout.isatty():
            raise click.UsageError("raw bytes go to a file or a pipe, not to a terminal")
        sys.stdout.buffer.write(data)
        return 0
    click.echo(_PRINTED[given["form"]](data))
    return 0


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()


def _c_array(data: bytes) -> str:
    rows = (", ".join(f"0x{byte:02x}" for byte in data[at : at + 12]) for at in range(0, len(data), 12))
    return "const unsigned char packet[] = {\n" + "".join(f"    {row},\n" for row in rows) + "};"


_PRINTED: dict[str, Callable[[bytes], str]] = {"hex": lambda data: data.hex(" "), "base64": _base64, "c": _c_array}


@click.group(
    cls=Encode, name="encode", params=output_options(), invoke_without_command=True,
    context_settings={"help_option_names": ["--help"], "max_content_width": 100},
)  # fmt: skip
@click.option(
    "--json",
    "json_path",
    metavar="PATH",
    help="Read packets in JSON from this file instead, - for standard input. [default: standard input, if it is piped]",
)
@click.pass_context
def command(ctx: click.Context, /, json_path: str | None, **given: Any) -> int:
    """Build a control packet and print its bytes.

    Flags without a packet type mean PUBLISH, so those of `pub` work here too. What the
    specification forbids is built all the same.
    """
    if ctx.invoked_subcommand:
        return 0
    from ...common.standard_input import is_piped
    from .encode_lines import encode_lines

    if (json_path is not None or is_piped()) and encode_lines(json_path or "-", given):
        return 0
    if json_path is None:
        click.echo(ctx.get_help())
        return 2
    return 0
