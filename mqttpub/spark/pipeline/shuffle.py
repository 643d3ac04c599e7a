"""Packets that take part in exchanges, on their way from the tasks that read them to those that pair them.

A message that one connection leaves unfinished may continue on the next connection of the same
client, so all connections of a client have to meet in one task. They travel in files, one from each
reading task to each slot, which is a hash of the client.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.arrow import Mask, encoded, numbers, values
from ...columns.exchanges.pair import Close
from ...columns.schema import CODED_PACKETS, WORD
from ...spec.packets import Connack, Publish, Unsuback
from ..storage.files import open_file
from ..storage.folder import StorageFolder

COLUMNS = (
    "capture", "frame", "pos", "time", "connection", "client_id", "client", "server", "direction", "version",
    "type_code", "dup", "qos", "packet_id", "resolved_topic", "payload_length", "reason_code", "reason_codes",
    "filters", "session_present",
)  # fmt: skip
"""The columns of a packet that pairing needs."""
SHUFFLE = "_shuffle"
"""The folder of these files."""
SPARE_WORDS = 64
"""Unused words that a dictionary may hold before it is made anew."""
Step = tuple[int, int]
"""Number of a source, and of a part of it; all tasks divide the sources into the same parts."""
LAST: Step = (1 << 62, 0)
"""The step after all sources."""
_SCHEMA = pa.schema([CODED_PACKETS.field(name) for name in COLUMNS])


class ShuffleBatch(NamedTuple):
    """The packets of one step, and the connections that closed in it."""

    step: Step
    packets: pa.RecordBatch
    closes: list[Close]


class ShuffleWriter:
    """Writes packets to the files of the slots, with one batch for each step and slot."""

    def __init__(self, folder: StorageFolder, tag: str, slots: int) -> None:
        self._slots = slots
        self.slots_of: dict[str, int] = {}
        """The slots of connections whose client was unknown at first, so that all their packets go there."""
        self._files = [folder.create(name) for name in shuffle_files(tag, slots)]
        self._writers = [pa.ipc.new_stream(file, _SCHEMA) for file in self._files]

    def put(self, step: Step, packets: pa.RecordBatch, closes: Sequence[Close]) -> None:
        """Write the packets that take part in exchanges to the slots of their clients, and the closes to all slots."""
        taking = _takes_part(packets)
        slots = self._slots_of(packets)
        packets = packets.select(COLUMNS)
        about = {"step": json.dumps(step), "closes": json.dumps(closes)}
        for slot, writer in enumerate(self._writers):
            own = packets.take(numbers(np.flatnonzero(taking & (slots == slot))))
            writer.write_batch(_compact(own), custom_metadata=about)
        if step != LAST:
            for close in closes:
                self.slots_of.pop(close.connection, None)

    def _slots_of(self, packets: pa.RecordBatch) -> NDArray[np.int64]:
        """Return the slot of each packet: that of its client, which may become known only later in the same step."""
        index, names = encoded(packets["connection"])
        last = np.full(len(names), -1)
        last[index] = np.arange(len(index))
        present = np.flatnonzero(last >= 0)
        clients = packets["client_id"].take(numbers(last[present])).to_pylist()
        table = np.zeros(len(names), np.int64)
        for client, at in zip(clients, present.tolist(), strict=True):
            slot = self.slots_of.get(names[at])
            if slot is None:
                slot = hash_slot((client or names[at]).encode(), self._slots)
                if not client:
                    self.slots_of[names[at]] = slot
            table[at] = slot
        return table[index]

    def close(self) -> None:
        """Finish all files."""
        for writer, file in zip(self._writers, self._files, strict=True):
            writer.close()
            file.close()


def shuffle_files(tag: str, slots: int) -> list[str]:
    """Return the names of the files that one reading task writes, one for each slot."""
    return [f"{SHUFFLE}/{tag}-{slot}" for slot in range(slots)]


def _takes_part(packets: pa.RecordBatch) -> Mask:
    code, loose = values(packets["type_code"]), values(packets["qos"].fill_null(1)) == 0
    takes: Mask = (code >= Connack.code) & (code <= Unsuback.code) & ((code != Publish.code) | ~loose)
    return takes


def _compact(packets: pa.RecordBatch) -> pa.RecordBatch:
    """Return packets without dictionaries that hold many more words than there are packets."""
    for index, field in enumerate(packets.schema):
        column = packets[index]
        if field.type == WORD and len(column.dictionary) > len(column) + SPARE_WORDS:
            packets = packets.set_column(index, field, column.cast(pa.string()).dictionary_encode())
    return packets


def hash_slot(key: bytes, count: int) -> int:
    """Return the slot of a key, from 0 to `count` - 1; keys that differ in one digit are spread evenly, too."""
    return int.from_bytes(blake2b(key, digest_size=4).digest()) % count


def merged(places: Sequence[str]) -> Iterator[ShuffleBatch]:
    """Yield what all tasks wrote for one slot, step by step; packets of a connection are in capture order."""
    with ExitStack() as stack:
        streams = [_batches(stack.enter_context(open_file(place))) for place in places]
        for step, same in groupby(merge(*streams, key=itemgetter(0)), itemgetter(0)):
            each = list(same)
            # All packets of a connection come from one task, in order; the order of connections does not matter.
            packets = pa.concat_batches([batch.packets for batch in each])
            yield ShuffleBatch(step, packets, [one for batch in each for one in batch.closes])


def _batches(file: Any) -> Iterator[ShuffleBatch]:
    reader = pa.ipc.open_stream(file)
    while True:
        try:
            batch, about = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            return
        first, second = json.loads(about[b"step"])
        yield ShuffleBatch((first, second), batch, [Close(*each) for each in json.loads(about[b"closes"])])
