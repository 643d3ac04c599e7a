"""Packets with any body."""

from mqttpub.wire.types import VARIABLE


def packet(first: int, body: bytes) -> bytes:
    """Return a packet of any body."""
    return bytes((first,)) + VARIABLE.write(len(body)) + body
