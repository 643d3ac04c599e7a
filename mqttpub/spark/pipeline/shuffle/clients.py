"""What connections of a client share, on its way from the tasks that read it to those that pair it.

A message that one connection leaves unfinished may continue on the next connection of the same client, so what may
continue so (`columns.exchanges.apart`) meets in one task. It travels as Arrow streams, each of one slot, which is a
hash of the client, and of one window: some number of records of all sources together.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ....columns.exchanges.apart import SharedPackets
from ....columns.exchanges.handshakes import TEXTS, HandshakePackets, no_handshake_packets
from ....columns.exchanges.pair import LATER, Close
from ....columns.exchanges.sessions import SessionEvent, UnfinishedMessage
from ....columns.reassemble.state import SOURCE_BITS
from ..job import SLOTS, BlobRow

WINDOW_BITS = 20
"""Records of a window, as a power of two: what a task that pairs holds at a time."""
LAST = 1 << 62
"""The window after all sources."""
MOST_HELD = 100_000
"""Packets and events that a task holds back, so that blobs are not many and small."""

Ints = NDArray[np.int64]


class _Blob:
    """What goes to one slot in one window."""

    def __init__(self) -> None:
        self.packets: list[HandshakePackets] = []
        self.closes: list[Close] = []
        self.events: list[SessionEvent] = []


class Outgoing:
    """Collects what a task sends to the slots of clients."""

    def __init__(self) -> None:
        self.before: Callable[[Ints], Ints] = np.zeros_like
        """Returns the number of records before sources, by their numbers."""
        self._floor = 0
        """The window that packets have reached; windows of a bucket do not go back."""
        self._blobs: dict[tuple[int, int], _Blob] = {}
        self._held = self._flushes = 0

    def begin(self, before: Callable[[Ints], Ints]) -> None:
        """Begin another bucket of connections."""
        self.before, self._floor = before, 0

    def put(self, shared: SharedPackets, *, last: bool = False) -> None:
        """Add what is shared; `last` is whether it comes from the end of all sources."""
        packets, closes, events = shared.packets, shared.closes, shared.events
        windows = np.maximum.accumulate(np.maximum(self._windows(packets["frame"]), self._floor))
        if packets.count and not last:
            self._floor = int(windows[-1])
        places = np.full(packets.count, LAST) if last else windows
        slots = np.array([_slot(client) for client in shared.clients], np.int64)
        for window, slot in sorted(set(zip(places.tolist(), slots.tolist(), strict=True))):
            rows = np.flatnonzero((places == window) & (slots == slot))
            self._blob(window, shared.clients[rows[0]]).packets.append(packets.take(rows))
        for client, close in closes:
            self._blob(LAST if last else max(self._window(close.frame), self._floor), client).closes.append(close)
        for event in events:
            self._blob(LAST if last else self._window(event.frame), event.client).events.append(event)
        self._held += packets.count + len(closes) + len(events)

    def _windows(self, frames: Ints) -> Ints:
        counted: Ints = self.before(frames >> SOURCE_BITS) + (frames & (1 << SOURCE_BITS) - 1)
        return counted >> WINDOW_BITS

    def _window(self, frame: int) -> int:
        return LAST if frame == LATER else int(self._windows(np.array([frame]))[0])

    def _blob(self, window: int, client: str) -> _Blob:
        return self._blobs.setdefault((window, _slot(client)), _Blob())

    def flush(self, *, above: int = MOST_HELD) -> Iterator[BlobRow]:
        """Yield blobs by slot, with window and turn, once there is more than so much."""
        if self._held <= above:
            return
        for (window, slot), blob in sorted(self._blobs.items(), key=lambda each: each[0]):
            yield BlobRow(slot, window, self._flushes, _packed(blob))
        self._blobs, self._held = {}, 0
        self._flushes += 1


def _packed(blob: _Blob) -> bytes:
    packets = blob.packets[0] if blob.packets else no_handshake_packets()
    for more in blob.packets[1:]:
        packets = packets.joined(more)
    packets = packets.compact()
    columns = {**{name: pa.array(each) for name, each in packets.numbers.items()}, **packets.texts}
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    sink = pa.BufferOutputStream()
    about = {"closes": json.dumps(blob.closes), "events": json.dumps(blob.events)}
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch, custom_metadata=about)
    return bytes(sink.getvalue())


def _slot(client: str) -> int:
    return hash_slot(client.encode(errors="surrogatepass"), SLOTS)


def hash_slot(key: bytes, count: int) -> int:
    """Return the slot of a key, from 0 to `count` - 1; keys that differ in one digit are spread evenly, too."""
    return int.from_bytes(blake2b(key, digest_size=4).digest()) % count


class ReceivedBlobs(NamedTuple):
    """What came for one slot in one window."""

    packets: HandshakePackets
    closes: list[Close]
    events: list[SessionEvent]


def received(blobs: Iterable[Any]) -> ReceivedBlobs:
    """Return what blobs of one slot and window hold; packets of a connection are in capture order."""
    found = [_unpacked(blob) for blob in blobs]
    packets = found[0].packets
    for more in found[1:]:
        packets = packets.joined(more.packets)
    return ReceivedBlobs(
        packets, list(chain(*(each.closes for each in found))), list(chain(*(each.events for each in found)))
    )


def _unpacked(blob: Any) -> ReceivedBlobs:
    batch, about = pa.ipc.open_stream(blob).read_next_batch_with_custom_metadata()
    # Copied, as the blob may be gone before the packets of an open exchange are.
    numbers = {name: np.array(batch[name]) for name in batch.schema.names if name not in TEXTS}
    packets = HandshakePackets(numbers, {name: batch[name] for name in TEXTS})
    events = [SessionEvent._make(each) for each in json.loads(about[b"events"])]
    events = [each._replace(left=each.left and UnfinishedMessage._make(each.left)) for each in events]
    return ReceivedBlobs(packets, [Close(*each) for each in json.loads(about[b"closes"])], events)
