"""Packets from JSON: a line each, or each on several lines, as programs print it for people."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import click

from ...common.standard_input import standard_input


def encode_lines(path: str, given: dict[str, Any]) -> int:
    """Print the bytes of every packet in a file of JSON and return their number; raises UsageError with the line."""
    from ...codec.encode import encode
    from ...common.strict_json import NotJson, parse_json
    from ...view.packet.record_json import packet_of
    from .encode import write

    count = 0
    for number, text in documents(_lines(path)):
        count += 1
        try:
            packet, version = packet_of(parse_json(text))
            data = encode(packet, version)
        except NotJson as error:
            raise click.UsageError(f"line {number + error.line - 1}, column {error.column}: {error.message}") from None
        except ValueError as error:
            raise click.UsageError(f"line {number}, {error}") from None
        write(data, version, given)
    return count


def documents(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the texts whose brackets are closed, each with the number of its first line; blank lines are none.

    Raises UsageError for one that is longer than any packet can be.
    """
    held, first, depth = bytearray(), 0, 0
    for number, line in enumerate(lines, 1):
        if not held:
            if not line.strip():
                continue
            first = number
        held += line
        if len(held) > LONGEST:
            raise click.UsageError(f"line {first}: what begins here has more than {LONGEST:,} bytes")
        outside = STRING.sub(b"", line)
        depth += sum(map(outside.count, (b"{", b"["))) - sum(map(outside.count, (b"}", b"]")))
        if depth <= 0:
            yield first, bytes(held)
            held, depth = bytearray(), 0
    if held:
        yield first, bytes(held)


LONGEST = 1 << 29
"""Bytes of a packet in JSON, whose payload may be two digits for each byte."""
STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?')
"""A string of JSON, or what of it stands on a line."""


def _lines(path: str) -> Iterator[bytes]:
    if path == "-":
        yield from _bounded(standard_input())
        return
    try:
        with open(path, "rb") as file:
            yield from _bounded(file)
    except OSError as error:
        raise click.UsageError(f"cannot read '{path}': {error.strerror}") from None


def _bounded(file: BinaryIO) -> Iterator[bytes]:
    """Return the lines of a file, of a longer one as much as shows that it is too long."""
    return iter(lambda: file.readline(LONGEST + 1), b"")
