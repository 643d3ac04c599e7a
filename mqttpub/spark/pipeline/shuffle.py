"""Packets that take part in exchanges, on their way from the tasks that read them to those that pair them.

A message that one connection leaves unfinished may continue on the next connection of the same client, so all
connections of a client have to meet in one task. They travel as Arrow streams, each with packets of one slot, which is
a hash of the client, and of one window: some number of records of all sources together.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.arrow import Mask, encoded, numbers, values
from ...columns.exchanges.pair import LATER, Close
from ...columns.reassemble.state import SOURCE_BITS
from ...columns.schema import CODED_PACKETS, WORD
from ...spec.packets import Connack, Publish, Unsuback
from .job import SLOTS, BlobRow

COLUMNS = (
    "capture", "frame", "pos", "time", "connection", "client_id", "client", "server", "direction", "version",
    "type_code", "dup", "qos", "packet_id", "resolved_topic", "payload_length", "reason_code", "reason_codes",
    "filters", "session_present",
)  # fmt: skip
"""The columns of a packet that pairing needs."""
WINDOW_BITS = 20
"""Records of a window, as a power of two: what a task that pairs holds at a time."""
LAST = 1 << 62
"""The window after all sources."""
MOST_HELD = 32 << 20
"""Bytes of packets that a task holds back, so that blobs are not many and small."""
_SCHEMA = pa.schema([CODED_PACKETS.field(name) for name in COLUMNS])

Ints = NDArray[np.int64]


class Outgoing:
    """Collects the packets that a task sends to the slots of their clients."""

    def __init__(self) -> None:
        self.slots_of: dict[str, int] = {}
        """The slots of connections whose client was unknown at first, so that all their packets go there."""
        self.before: Callable[[Ints], Ints] = np.zeros_like
        """Returns the number of records before sources, by their numbers."""
        self._floor = 0
        """The window that was reached; windows of a bucket do not go back."""
        self._packets: list[pa.Table] = []
        self._places: list[Ints] = []
        self._closes: dict[int, list[Close]] = {}
        self._size = self._flushes = 0

    def begin(self, slots_of: dict[str, int], before: Callable[[Ints], Ints]) -> None:
        """Begin another bucket of connections."""
        self.slots_of, self.before, self._floor = slots_of, before, 0

    def put(self, packets: pa.RecordBatch, closes: Sequence[Close], client: Callable[[str], str | None], *,
            last: bool = False) -> None:  # fmt: skip
        """Add packets and the closes among them; `last` is whether they come from the end of all sources."""
        windows = np.full(len(packets), LAST) if last else self._windows(values(packets["frame"]))
        slots, ends = self._slots(packets)
        rows = np.flatnonzero(_takes_part(packets))
        if len(rows):
            kept = packets.select(COLUMNS).take(numbers(rows))
            self._packets.append(pa.table(kept))
            self._places.append(windows[rows] * SLOTS + slots[rows])
            self._size += kept.nbytes
        for close in closes:
            reached = int(windows[ends[close.connection]]) if close.connection in ends else 0
            self._close(close, max(self._window(close, last=last), reached), client)
        if len(windows) and not last:
            self._floor = int(windows[-1])

    def _windows(self, frames: Ints) -> Ints:
        """Return the window of each packet; a packet that an earlier record completed stays with those before it."""
        counted = self.before(frames >> SOURCE_BITS) + (frames & (1 << SOURCE_BITS) - 1)
        found: Ints = np.maximum.accumulate(np.maximum(counted >> WINDOW_BITS, self._floor))
        return found

    def _window(self, close: Close, *, last: bool) -> int:
        if last or close.frame == LATER:
            return LAST
        return max(int(self._windows(np.array([close.frame]))[0]), self._floor)

    def _close(self, close: Close, window: int, client: Callable[[str], str | None]) -> None:
        slot = self.slots_of.get(close.connection) if window == LAST else self.slots_of.pop(close.connection, None)
        if slot is None and (known := client(close.connection)):
            slot = hash_slot(known.encode(), SLOTS)
        # What is not known any more may be in any slot.
        for each in range(SLOTS) if slot is None else (slot,):
            self._closes.setdefault(window * SLOTS + each, []).append(close)

    def _slots(self, packets: pa.RecordBatch) -> tuple[Ints, dict[str, int]]:
        """Return the slot of each packet, and the last packet of each connection.

        The slot is that of the client, which may become known only later in the same batch.
        """
        index, names = encoded(packets["connection"])
        last = np.full(len(names), -1)
        last[index] = np.arange(len(index))
        present = np.flatnonzero(last >= 0)
        clients = packets["client_id"].take(numbers(last[present])).to_pylist()
        table = np.zeros(len(names), np.int64)
        for client, at in zip(clients, present.tolist(), strict=True):
            slot = self.slots_of.get(names[at])
            if slot is None:
                slot = hash_slot((client or names[at]).encode(), SLOTS)
                if not client:
                    self.slots_of[names[at]] = slot
            table[at] = slot
        return table[index], {names[at]: int(last[at]) for at in present.tolist()}

    def flush(self, *, above: int = MOST_HELD) -> Iterator[BlobRow]:
        """Yield blobs by slot, with window and turn, once there are more than so many bytes of packets."""
        if self._size <= above:
            return
        closes, self._closes = self._closes, {}
        for place, batch in self._divided():
            yield self._row(place, batch, closes.pop(place, []))
        empty = _SCHEMA.empty_table().to_batches() or [pa.RecordBatch.from_pylist([], _SCHEMA)]
        for place, each in closes.items():
            yield self._row(place, empty[0], each)
        self._flushes += 1

    def _row(self, place: int, batch: pa.RecordBatch, closes: list[Close]) -> BlobRow:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, _SCHEMA) as stream:
            stream.write_batch(batch, custom_metadata={"closes": json.dumps(closes)})
        return BlobRow(place % SLOTS, place // SLOTS, self._flushes, sink.getvalue().to_pybytes())

    def _divided(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the packets of each window and slot, in their order."""
        tables, places = self._packets, self._places
        self._packets, self._places, self._size = [], [], 0
        if not tables:
            return
        (whole,) = pa.concat_tables(tables).unify_dictionaries().combine_chunks().to_batches()
        place = np.concatenate(places)
        order = np.argsort(place, kind="stable")
        whole, place = whole.take(numbers(order)), place[order]
        begins = np.flatnonzero(np.append(True, place[1:] != place[:-1])).tolist()
        for first, end in zip(begins, [*begins[1:], len(place)], strict=True):
            yield int(place[first]), _compact(whole.slice(first, end - first))


def _takes_part(packets: pa.RecordBatch) -> Mask:
    code, loose = values(packets["type_code"]), values(packets["qos"].fill_null(1)) == 0
    takes: Mask = (code >= Connack.code) & (code <= Unsuback.code) & ((code != Publish.code) | ~loose)
    return takes


def _compact(packets: pa.RecordBatch) -> pa.RecordBatch:
    """Return packets with dictionaries of only the words that they use."""
    columns = [column.cast(pa.string()).dictionary_encode() if field.type == WORD else column
               for column, field in zip(packets.columns, packets.schema, strict=True)]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def hash_slot(key: bytes, count: int) -> int:
    """Return the slot of a key, from 0 to `count` - 1; keys that differ in one digit are spread evenly, too."""
    return int.from_bytes(blake2b(key, digest_size=4).digest()) % count


def received(blobs: Iterable[Any]) -> tuple[pa.RecordBatch, list[Close]]:
    """Return the packets of blobs of one slot and window, and the closes among them."""
    tables, closes = [], []
    for blob in blobs:
        batch, about = pa.ipc.open_stream(blob).read_next_batch_with_custom_metadata()
        tables.append(pa.table(batch))
        closes += [Close(*each) for each in json.loads(about[b"closes"])]
    whole = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    (packets,) = whole.to_batches() or [pa.RecordBatch.from_pylist([], _SCHEMA)]
    return packets, closes
