"""Packets that take part in exchanges, on their way from the tasks that read them to those that pair them.

A message that one connection leaves unfinished goes on on the next one of the same client, so all
connections of a client have to meet. They do so in files, one from each task to each.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.arrow import Mask, encoded, numbers, values
from ...columns.exchanges.pair import Close
from ...columns.schema import CODED_PACKETS, WORD
from ...spec.packets import Connack, Publish, Unsuback

COLUMNS = (
    "capture", "frame", "pos", "time", "connection", "client_id", "client", "server", "direction", "version",
    "type_code", "dup", "qos", "packet_id", "resolved_topic", "payload_length", "reason_code", "reason_codes",
    "filters", "session_present",
)  # fmt: skip
"""What pairing needs of a packet."""
FEW_WORDS = 64
"""Words of a dictionary that may stand nowhere."""
Step = tuple[int, int]
"""Number of a source, and of a part of it: the same parts in all tasks."""
LAST: Step = (1 << 62, 0)
"""The step that ends everything."""
_SCHEMA = pa.schema([CODED_PACKETS.field(name) for name in COLUMNS])


class Batch(NamedTuple):
    """Packets of one step, and the closes among them."""

    step: Step
    packets: pa.RecordBatch
    closes: list[Close]


class Outbox:
    """Writes packets for the tasks that pair; all that belongs to one step is written together."""

    def __init__(self, folder: Path, name: str, targets: int) -> None:
        self._targets = targets
        self.homes: dict[str, int] = {}
        """Where connections go whose client nobody knew at first, so that all of their packets go there."""
        self._writers = [pa.ipc.new_stream(str(path), _SCHEMA) for path in boxes(folder, name, targets)]

    def put(self, step: Step, packets: pa.RecordBatch, closes: Sequence[Close]) -> None:
        """Write those that take part in exchanges, all of a client to one target, and the closes to all."""
        taking = _takes_part(packets)
        target = self._whose(packets)
        packets = packets.select(COLUMNS)
        about = {"step": json.dumps(step), "closes": json.dumps(closes)}
        for number, writer in enumerate(self._writers):
            own = packets.take(numbers(np.flatnonzero(taking & (target == number))))
            writer.write_batch(_compact(own), custom_metadata=about)
        if step != LAST:
            for close in closes:
                self.homes.pop(close.connection, None)

    def _whose(self, packets: pa.RecordBatch) -> NDArray[np.int64]:
        """Return where each packet goes: by its client, which the connection may tell only later in the same step."""
        index, names = encoded(packets["connection"])
        last = np.full(len(names), -1)
        last[index] = np.arange(len(index))
        present = np.flatnonzero(last >= 0)
        clients = packets["client_id"].take(numbers(last[present])).to_pylist()
        table = np.zeros(len(names), np.int64)
        for client, at in zip(clients, present.tolist(), strict=True):
            home = self.homes.get(names[at])
            if home is None:
                home = share((client or names[at]).encode(), self._targets)
                if not client:
                    self.homes[names[at]] = home
            table[at] = home
        return table[index]

    def close(self) -> None:
        """End all files."""
        for writer in self._writers:
            writer.close()


def boxes(folder: Path, name: str, targets: int) -> list[Path]:
    """Return the files that one task writes, one for each target."""
    return [folder / f"crossing-{name}-{target}" for target in range(targets)]


def _takes_part(packets: pa.RecordBatch) -> Mask:
    code, loose = values(packets["type_code"]), values(packets["qos"].fill_null(1)) == 0
    takes: Mask = (code >= Connack.code) & (code <= Unsuback.code) & ((code != Publish.code) | ~loose)
    return takes


def _compact(packets: pa.RecordBatch) -> pa.RecordBatch:
    """Return packets with no more words in their dictionaries than there are packets, or a few."""
    for index, field in enumerate(packets.schema):
        column = packets[index]
        if field.type == WORD and len(column.dictionary) > len(column) + FEW_WORDS:
            packets = packets.set_column(index, field, column.cast(pa.string()).dictionary_encode())
    return packets


def share(key: bytes, count: int) -> int:
    """Return into which of some parts a key falls, evenly also where keys differ in a digit only."""
    return int.from_bytes(blake2b(key, digest_size=4).digest()) % count


def merged(paths: Sequence[Path]) -> Iterator[Batch]:
    """Yield what all tasks wrote for one target, step by step, of each connection in the order of the records."""
    with ExitStack() as stack:
        streams = [_batches(stack.enter_context(pa.OSFile(str(path), "rb"))) for path in paths]
        for step, same in groupby(merge(*streams, key=itemgetter(0)), itemgetter(0)):
            each = list(same)
            # Packets of one connection all come from one task, in their order; that of connections does not matter.
            packets = pa.concat_batches([batch.packets for batch in each])
            yield Batch(step, packets, [one for batch in each for one in batch.closes])


def _batches(file: Any) -> Iterator[Batch]:
    reader = pa.ipc.open_stream(file)
    while True:
        try:
            batch, about = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            return
        first, second = json.loads(about[b"step"])
        yield Batch((first, second), batch, [Close(*each) for each in json.loads(about[b"closes"])])
