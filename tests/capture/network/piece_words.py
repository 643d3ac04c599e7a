"""Connections in few words: packets to feed, and the pieces that come of them."""

from collections.abc import Iterable

from mqttpub.capture.network.tcp import Reassembler
from mqttpub.capture.types import CaptureRecord, Chunk, Missing, Piece
from tests.build.frames import ACK, FIN, PUSH, Wire, records

END = "end"
WRAP = (2**32 - 3, 2**32 - 1)


def shown(piece: Piece) -> str:
    """Return a piece as a word or two, the number of its side in front."""
    if isinstance(piece, Chunk):
        return f"{piece.side} {piece.data.decode()}"
    if isinstance(piece, Missing):
        return f"{piece.side} missing {piece.length}"
    return piece.how if piece.side is None else f"{piece.side} {piece.how}"


def read(given: Iterable[CaptureRecord], reassembler: Reassembler | None = None) -> list[Piece]:
    """Return the pieces of records up to the end of the capture."""
    reassembler = reassembler or Reassembler()
    return [*(piece for record in given for piece in reassembler.feed(record)), *reassembler.finish()]


def words(*packets: bytes, reassembler: Reassembler | None = None) -> list[str]:
    """Return the pieces of IP packets as words."""
    return [shown(piece) for piece in read(records(packets), reassembler)]


def conversation(wire: Wire) -> list[bytes]:
    """Return packets in which both sides speak, acknowledge and close."""
    return [
        *wire.opening(),
        wire.packet(0, 0, b"abc", flags=ACK | PUSH),
        wire.packet(1, 0, ack=3),
        wire.packet(1, 0, b"xy", ack=3),
        wire.packet(0, 3, b"def", ack=2),
        wire.packet(1, 2, b"z", ack=6),
        wire.packet(0, 6, ack=3, flags=FIN | ACK),
        wire.packet(1, 3, ack=7, flags=FIN | ACK),
        wire.packet(0, 7, ack=4),
    ]


SPOKEN = ["0 abc", "1 xy", "0 def", "1 z", "0 FIN", "1 FIN"]
