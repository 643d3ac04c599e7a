"""Batches as the events that single records give, so that both can be compared."""

import io
from collections.abc import Iterable
from typing import NamedTuple

from mqttpub.capture.reading import events
from mqttpub.capture.types import BadCapture
from mqttpub.columns.reassemble.assembly import Batch
from mqttpub.columns.reassemble.frames import packets_of
from mqttpub.columns.scan.records import BLOCK
from mqttpub.traffic.events import Event, PacketSeen


class ReadEvents(NamedTuple):
    """The events of a capture, packets and others, and why it is broken if it is."""

    packets: list[PacketSeen]
    others: list[Event]
    all: list[Event]
    """Both in order."""
    broken: str = ""


def all_events(batches: Iterable[Batch]) -> ReadEvents:
    """Return what batches hold, and check that they fit together."""
    found, others, all_, broken = list[PacketSeen](), list[Event](), list[Event](), ""
    try:
        for batch in batches:
            packets = list(packets_of(batch))
            found += packets
            others += batch.others
            assert batch.places == sorted(batch.places)
            for begin, end, other in zip([0, *batch.places], batch.places, batch.others, strict=False):
                all_ += [*packets[begin:end], other]
            all_ += packets[batch.places[-1] if batch.places else 0 :]
            assert {each.number for each in batch.connections} <= batch.names.keys()
            assert len(batch.keys) == len(set(batch.connections)) == len(batch.connections)
            assert all(each.ends.number in batch.names for each in batch.others)
            assert sorted(set(batch.connection.tolist())) == list(range(len(batch.connections)))
    except BadCapture as error:
        broken = error.message
    return ReadEvents(found, others, all_, broken)


def scalar(*files: bytes, **settings: object) -> ReadEvents:
    """Return what single records give, of files that are parts of one pcap or pcapng."""
    joined = files[0] + b"".join(file[24:] for file in files[1:])
    found, broken = list[Event](), ""
    try:
        found.extend(events(io.BytesIO(joined), **settings))  # type: ignore[arg-type]
    except BadCapture as error:
        broken = error.message
    return ReadEvents(
        [each for each in found if isinstance(each, PacketSeen)],
        [each for each in found if not isinstance(each, PacketSeen)],
        found,
        broken,
    )


BLOCKS = (1, 300, 5_000, 60_000, BLOCK)
"""From a record at a time to everything at once."""
