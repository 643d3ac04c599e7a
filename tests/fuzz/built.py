"""What reassembly and captures could hand on, built of steps, whatever these hold."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mqttpub.capture.types import CaptureRecord, Chunk, End, Flow, Missing, Piece
from tests.build.frames import LINKS, Wire

MILLISECOND = 1_000_000
LINK_TYPES = (1, 113, 276, 101, 0, 108, 228, 229)


class Step(NamedTuple):
    """One instruction: a byte of choices, and bytes."""

    choice: int
    data: bytes


def cut(data: bytes, sizes: bytes) -> Iterator[bytes]:
    """Yield data in pieces of these sizes, in turn; a size of 0 makes an empty piece."""
    at, turn = 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)] if any(sizes) else len(data)
        yield data[at : at + size]
        at, turn = at + size, turn + 1


# pieces of one connection


def pieces(steps: Sequence[Step], flow: Flow) -> list[Piece]:
    """Return what reassembly could hand on of a connection, up to its end: each side ends once, and then is quiet."""
    made: list[Piece] = []
    ended: set[int] = set()
    for record, (choice, data) in enumerate(steps, 1):
        side, time = choice & 1, record * MILLISECOND
        if side in ended:
            continue
        kind = choice >> 1 & 7
        if kind == 7:
            made.append(End(flow, side, time, record, "FIN"))
            ended.add(side)
        elif kind == 6:
            length = int.from_bytes(data[:2], "big") + 1
            made.append(Missing(flow, side, time, record, length, f"{length} bytes are missing from the capture"))
        elif data:
            made.append(Chunk(flow, side, time, record, data))
        if len(ended) == 2:
            return made
    last = len(made) + 1
    return [*made, End(flow, None, last * MILLISECOND, last, "end")]


def bytewise(made: list[Piece]) -> Iterator[Piece]:
    """Yield the same pieces with chunks of one byte."""
    for piece in made:
        if isinstance(piece, Chunk):
            yield from (piece._replace(data=piece.data[at : at + 1]) for at in range(len(piece.data)))
        else:
            yield piece


# records of several connections


def records(steps: Sequence[Step]) -> Iterator[CaptureRecord]:
    """Yield records: segments of a few connections near to where their streams are, and frames of any bytes."""
    wires = [Wire(4 if number % 2 else 6, port=50_000 + number, isn=(2**32 - 5, 77)) for number in range(4)]
    places = [[0, 0] for _ in wires]
    time = 0
    for number, (choice, data) in enumerate(steps, 1):
        time += MILLISECOND
        if choice & 0xC0 == 0xC0:
            link = LINK_TYPES[choice & 7]
            yield CaptureRecord(number, time, link, data, len(data) + (choice >> 3 & 7) * 5)
            continue
        flow, side = choice & 3, choice >> 2 & 1
        flags, moved, acked = data[:3].ljust(3, b"\0")
        payload = data[3:]
        place = places[flow]
        at = place[side] + ((moved - 128) * 8 if choice & 0x10 else 0)
        packet = wires[flow].packet(
            side, at, payload, flags=flags & 0x17 | 0x10, ack=place[1 - side] + (acked - 128) * 4
        )
        if not choice & 0x10:
            place[side] += len(payload)
        framed = tuple(LINKS.values())[choice >> 3 & 1]
        frame = framed.frame(packet)
        kept = frame[: len(frame) - (choice & 0x20 and len(payload) // 2)]
        yield CaptureRecord(number, time, framed.type, kept, len(frame))
