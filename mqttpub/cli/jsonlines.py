"""Packets from JSON: a line each, or each on several lines, as programs print it for people."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import click

from .standard_input import standard_input


def encode_lines(path: str, given: dict[str, Any]) -> int:
    """Print the bytes of every packet in a file of JSON and return their number; raises UsageError with the line."""
    from ..codec.encode import encode
    from ..view.record import packet_of
    from .encode import write
    from .formats import NotJson, parsed

    count = 0
    for number, text in documents(_lines(path)):
        count += 1
        try:
            packet, version = packet_of(parsed(text))
            data = encode(packet, version)
        except NotJson as error:
            raise click.UsageError(f"line {number + error.line - 1}, column {error.column}: {error.message}") from None
        except ValueError as error:
            raise click.UsageError(f"line {number}, {error}") from None
        write(data, version, given)
    return count


def documents(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the texts whose brackets are closed, each with the number of its first line; blank lines are none."""
    held: list[bytes] = []
    depth = 0
    for number, line in enumerate(lines, 1):
        if not held and not line.strip():
            continue
        held.append(line)
        outside = STRING.sub(b"", line)
        depth += sum(map(outside.count, (b"{", b"["))) - sum(map(outside.count, (b"}", b"]")))
        if depth <= 0:
            yield number - len(held) + 1, b"".join(held)
            held, depth = [], 0
    if held:
        yield number - len(held) + 1, b"".join(held)


STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?')
"""A string of JSON, or what of it stands on a line."""


def _lines(path: str) -> Iterator[bytes]:
    if path == "-":
        yield from standard_input()
        return
    try:
        with open(path, "rb") as file:
            yield from file
    except OSError as error:
        raise click.UsageError(f"cannot read '{path}': {error.strerror}") from None
