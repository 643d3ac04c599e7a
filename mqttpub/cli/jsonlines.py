"""Packets from JSON Lines."""

from collections.abc import Iterator
from typing import Any

import click

from .standard_input import standard_input


def encode_lines(path: str, given: dict[str, Any]) -> int:
    """Print the bytes of every packet in a file of JSON Lines; raises UsageError with the line."""
    from ..codec.encode import encode
    from ..view.record import packet_of
    from .encode import write
    from .formats import NotJson, parsed

    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            packet, version = packet_of(parsed(line))
            data = encode(packet, version)
        except NotJson as error:
            raise click.UsageError(f"line {number}, column {error.column}: {error.message}") from None
        except ValueError as error:
            raise click.UsageError(f"line {number}, {error}") from None
        write(data, version, given)
    return 0


def _lines(path: str) -> Iterator[bytes]:
    if path == "-":
        yield from standard_input()
        return
    try:
        with open(path, "rb") as file:
            yield from file
    except OSError as error:
        raise click.UsageError(f"cannot read '{path}': {error.strerror}") from None
