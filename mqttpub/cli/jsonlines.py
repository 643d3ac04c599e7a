"""Packets from JSON Lines."""

import sys
from collections.abc import Iterator
from typing import Any

import click


def encode_lines(path: str, given: dict[str, Any]) -> int:
    """Print the bytes of every packet in a file of JSON Lines; raises UsageError with the line."""
    import json

    from ..codec.encode import encode
    from ..view.record import packet_of
    from .encode import write

    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            packet, version = packet_of(json.loads(line))
            data = encode(packet, version)
        except json.JSONDecodeError as error:
            raise click.UsageError(f"line {number}, column {error.colno}: {error.msg}") from None
        except (ValueError, TypeError) as error:
            raise click.UsageError(f"line {number}: {error}") from None
        write(data, version, given)
    return 0


def _lines(path: str) -> Iterator[str]:
    if path == "-":
        yield from sys.stdin
        return
    try:
        with open(path, encoding="utf-8") as file:
            yield from file
    except OSError as error:
        raise click.UsageError(f"cannot read '{path}': {error.strerror}") from None
