"""`mqttpub encode`: control packets from flags, with a subcommand per packet type, or from JSON."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from typing import Any, BinaryIO, NamedTuple

import click

from ...spec.declare import Field, Packet
from ...spec.packets import PACKETS, Publish, Subscription, Will
from ...spec.properties import WILL
from ...spec.versions import Version
from ..flags.base import Command, CommandGroup, Flag, FlagValues, PlainOption
from ..flags.fields import NAMES, field_flag, field_key
from ..flags.payload import payload, payload_options
from ..flags.properties import chosen_properties, dashed, options_of, property_flags
from ..flags.types import VERSION, NumberType
from ..flags.will import group_options, will
from ..registry import add_screen_flags

FORMATS = ("hex", "raw", "base64", "c")
MOST_JSON_BYTES = 1 << 29
"""Size of the JSON of one packet, whose payload may be two digits per byte."""
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?')
"""A string of JSON, or the part of it on one line."""


class EncodeOutput(NamedTuple):
    """How the bytes of a packet are printed."""

    form: str
    inspect: bool
    """Whether to show an annotated dump instead."""
    secrets: bool
    full: bool


class EncodeRequest(NamedTuple):
    """The packet that the flags of a subcommand describe."""

    packet: Packet
    version: Version
    remaining_length: int | None
    """A value in place of the right Remaining Length; None for the right one."""
    output: EncodeOutput


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


def output_of(given: FlagValues) -> EncodeOutput:
    """Return what the output options ask for."""
    return EncodeOutput(
        form=given["form"], inspect=given["inspect"], secrets=given["show_secrets"], full=given["full"]
    )  # fmt: skip


def encode(request: EncodeRequest) -> int:
    """Encode the packet, print it and return the exit status; raises UsageError for what cannot be encoded."""
    from ...codec.encode import encode as encoded

    try:
        data = encoded(request.packet, request.version, remaining_length=request.remaining_length)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    write(data, request.version, request.output)
    return 0


def encode_file(path: str, output: EncodeOutput, *, most_bytes: int = MOST_JSON_BYTES) -> int:
    """Print the bytes of every packet in a file, `-` for standard input, and return their number.

    A file that begins with `{` holds JSON, any other a script. Raises UsageError with the line of what is not a packet,
    or is JSON of more than `most_bytes`.
    """
    lines = _lines(path, most_bytes)
    blank, first = next(((at, line) for at, line in enumerate(lines) if line.strip()), (0, b""))
    number = 0
    every = chain(repeat(b"\n", blank), [first], lines)
    is_json = first.lstrip().startswith(b"{")
    packets = _json_packets(every, most_bytes) if is_json else _script_packets(every)
    for number, (data, version) in enumerate(packets, 1):  # noqa: B007
        write(data, version, output)
    return number


def _json_packets(lines: Iterable[bytes], most_bytes: int) -> Iterator[tuple[bytes, Version]]:
    """Yield the bytes of each JSON document, and the version of its packet."""
    from ...codec.encode import encode as encoded
    from ...codec.from_json import BadMember
    from ...common.strict_json import NotJson, parse_json
    from ...view.packet.record_json import packet_of

    for number, text in json_documents(lines, most_bytes):
        try:
            packet, version = packet_of(parse_json(text))
            yield encoded(packet, version), version
        except NotJson as error:
            raise click.UsageError(f"line {number + error.line - 1}, column {error.column}: {error.message}") from None
        except BadMember as error:
            place = f"line {number}, {error.key}" if error.key else f"line {number}"
            raise click.UsageError(f"{place}: {error.message}") from None
        except ValueError as error:
            raise click.UsageError(f"line {number}: {error}") from None


def _script_packets(lines: Iterable[bytes]) -> Iterator[tuple[bytes, Version]]:
    """Yield the bytes that each step of a script sends, and the version of its connection."""
    from ...common.bad_text import BadText
    from ...script.encoder import ScriptEncoder
    from ...script.reader import decoded_lines, read_script
    from ...script.steps import PacketStep, VersionStep

    encoder = ScriptEncoder()
    try:
        for step in read_script(decoded_lines(lines)):
            if isinstance(step, VersionStep):
                encoder.version_line(step)
            elif isinstance(step, PacketStep):
                data = encoder.bytes_of(step)
                yield from [(data, encoder.version(step.label))] * step.sending.copies
    except BadText as error:
        raise click.UsageError(str(error)) from None


def json_documents(lines: Iterable[bytes], most_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield each JSON document, on one line or several, with the number of its first line from 1.

    A document ends with the line that closes its brackets; blank lines between documents are skipped. Raises
    UsageError for a document of more than `most_bytes`.
    """
    held, first, depth = bytearray(), 0, 0
    for number, line in enumerate(lines, 1):
        if not held:
            if not line.strip():
                continue
            first = number
        held += line
        if len(held) > most_bytes:
            raise click.UsageError(f"line {first}: the value that begins here has more than {most_bytes:,} bytes")
        outside = _JSON_STRING.sub(b"", line)
        depth += sum(map(outside.count, (b"{", b"["))) - sum(map(outside.count, (b"}", b"]")))
        if depth <= 0:
            yield first, bytes(held)
            held, depth = bytearray(), 0
    if held:
        yield first, bytes(held)


def _lines(path: str, most_bytes: int) -> Iterator[bytes]:
    from ...common.standard_input import standard_input

    if path == "-":
        yield from _bounded(standard_input(), most_bytes)
        return
    try:
        with open(path, "rb") as file:
            yield from _bounded(file, most_bytes)
    except OSError as error:
        raise click.UsageError(f"cannot read '{path}': {error.strerror}") from None


def _bounded(file: BinaryIO, most_bytes: int) -> Iterator[bytes]:
    """Return the lines of a file; a line that is too long comes in parts of `most_bytes` + 1."""
    return iter(lambda: file.readline(most_bytes + 1), b"")


def write(data: bytes, version: Version, output: EncodeOutput) -> None:
    """Print the bytes of a packet; raises UsageError for raw bytes on a terminal."""
    if output.inspect:
        from ...codec.decode import decode
        from ...view.packet.show import Show

        Show(secrets=output.secrets, full=output.full).packet(decode(data, version), judge=True)
    elif output.form == "raw":
        if sys.stdout.isatty():
            raise click.UsageError("refusing to write raw bytes to a terminal; redirect them to a file or a pipe")
        sys.stdout.buffer.write(data)
    else:
        click.echo(_PRINTED[output.form](data))


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()


def _c_array(data: bytes) -> str:
    rows = (", ".join(f"0x{byte:02x}" for byte in data[at : at + 12]) for at in range(0, len(data), 12))
    return "const unsigned char packet[] = {\n" + "".join(f"    {row},\n" for row in rows) + "};"


_PRINTED: dict[str, Callable[[bytes], str]] = {"hex": lambda data: data.hex(" "), "base64": _base64, "c": _c_array}


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

    if (json_path is not None or is_piped()) and encode_file(json_path or "-", output_of(given)):
        return 0
    if json_path is None:
        click.echo(ctx.get_help())
        return 2
    return 0
