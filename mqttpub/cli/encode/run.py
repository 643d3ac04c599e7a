"""What `encode` does: the bytes of a packet, or of the packets of a file, are printed."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from typing import BinaryIO

import click

from ...spec.versions import Version
from .request import EncodeOutput, EncodeRequest

MOST_JSON_BYTES = 1 << 29
"""Size of the JSON of one packet, whose payload may be two digits per byte."""
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?')
"""A string of JSON, or the part of it on one line."""


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

    try:
        if path == "-":
            yield from _bounded(standard_input(), most_bytes)
            return
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
