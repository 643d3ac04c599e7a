"""Mutation of captures: of their bytes, or of what their records and segments carry, so that the rest stays right."""

import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from random import Random

from mqttpub.capture.containers.registry import RecordReader
from mqttpub.capture.reading import CaptureEvents
from mqttpub.capture.types import BadCapture, CaptureRecord
from mqttpub.reading.follow import JudgedTraffic
from mqttpub.traffic.context import TrafficItem
from mqttpub.traffic.runs import items_of
from tests.build.frames import pcap

BYTES = (b"\0", b"\xff", b"\x7f", b"\x80", b"\x01", b"\n", b"<", b"\x1b", b"\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0")
"""What is put into bytes more often than chance would have it."""


def items_of_captures(path: Path, seed: int) -> Iterator[list[TrafficItem]]:
    """Yield what a capture holds, in context, and then what some mutations of it hold."""
    random, data = Random(seed), path.read_bytes()
    for number in range(6):
        made = mutated(random, data) if number else data
        with suppress(BadCapture):
            yield list(items_of(JudgedTraffic(CaptureEvents(BytesIO(made)).events())))


def mutated(random: Random, data: bytes) -> bytes:
    """Return a capture that differs: somewhere in its bytes, or within what its records hold."""
    if random.random() < 0.4:
        return scratched(random, data)
    try:
        records = list(RecordReader(BytesIO(data)))
    except BadCapture:
        return scratched(random, data)
    if not records:
        return scratched(random, data)
    for _ in range(random.choice((1, 1, 2, 5))):
        random.choice(_CHANGES)(random, records)
    link = records[0].link if records else 1
    return pcap([each for each in records if each.link == link], link)


def scratched(random: Random, data: bytes) -> bytes:
    """Return bytes of which a few differ."""
    made = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4, 8))):
        at = random.randrange(len(made) + 1)
        kind = random.randrange(6)
        if kind == 0 and at < len(made):
            made[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            made[at : at + random.choice((1, 2, 4, 8))] = random.choice(BYTES)
        elif kind == 2:
            made[at:at] = random.choice(BYTES) * random.choice((1, 1, 4))
        elif kind == 3:
            del made[at : at + random.choice((1, 2, 4, 16, 60))]
        elif kind == 4:
            other = random.randrange(len(made) + 1)
            made[at:at] = made[other : other + random.choice((1, 4, 16, 60))]
        else:
            del made[at + random.choice((0, 0, 200, 1000)) :]
    return bytes(made)


def _payload(record: CaptureRecord) -> int:
    """Return where the payload of a TCP segment without options begins, in a frame of Ethernet."""
    data = record.data
    six = record.link == 1 and len(data) > 74 and data[12:15] == b"\x86\xdd\x60" and data[20] == 6
    four = record.link == 1 and len(data) > 54 and data[12:15] == b"\x08\0\x45" and data[23] == 6
    tcp = 54 if six else 34 if four else len(data)
    return tcp + (data[tcp + 12] >> 4) * 4 if tcp < len(data) else tcp


def _within(random: Random, records: list[CaptureRecord]) -> None:
    """Change what a segment carries, its length staying right."""
    at = random.randrange(len(records))
    record = records[at]
    start = _payload(record)
    if start >= len(record.data):
        return
    payload = scratched(random, record.data[start:])[: len(record.data) - start]
    made = record.data[:start] + payload.ljust(len(record.data) - start, b"\0")
    records[at] = record._replace(data=made)


def _anywhere(random: Random, records: list[CaptureRecord]) -> None:
    at = random.randrange(len(records))
    data = scratched(random, records[at].data)
    records[at] = records[at]._replace(data=data, length=max(len(data), records[at].length))


def _sequence(random: Random, records: list[CaptureRecord]) -> None:
    """Move a segment within its stream, or what it acknowledges."""
    at = random.randrange(len(records))
    data = bytearray(records[at].data)
    if data[12:15] != b"\x08\0\x45" or len(data) < 54:
        return
    place = random.choice((38, 42))
    (number,) = struct.unpack_from(">I", data, place)
    moved = number + random.choice((1, -1, 3, -3, 1000, -1000, 1 << 16, 1 << 31))
    struct.pack_into(">I", data, place, moved % 2**32)
    records[at] = records[at]._replace(data=bytes(data))


def _lost(random: Random, records: list[CaptureRecord]) -> None:
    if len(records) > 1:
        del records[random.randrange(len(records))]


def _again(random: Random, records: list[CaptureRecord]) -> None:
    records.insert(random.randrange(len(records) + 1), random.choice(records))


def _swapped(random: Random, records: list[CaptureRecord]) -> None:
    at, other = random.randrange(len(records)), random.randrange(len(records))
    records[at], records[other] = records[other], records[at]


def _snapped(random: Random, records: list[CaptureRecord]) -> None:
    at = random.randrange(len(records))
    records[at] = records[at]._replace(data=records[at].data[: random.randrange(len(records[at].data) + 1)])


def _timeless(random: Random, records: list[CaptureRecord]) -> None:
    at = random.randrange(len(records))
    records[at] = records[at]._replace(time_ns=random.choice((0, 1, 2**32 * 10**9 - 1, records[0].time_ns)))


_CHANGES: tuple[Callable[[Random, list[CaptureRecord]], None], ...] = (
    _within, _within, _within, _within, _anywhere, _sequence, _lost, _again, _swapped, _snapped, _timeless,
)  # fmt: skip
