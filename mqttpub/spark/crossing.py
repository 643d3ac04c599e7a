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
import pyarrow.compute as pc

from ..columns.pair import Close
from ..columns.schema import PACKETS
from ..spec.packets import Connack, Publish, Unsuback

COLUMNS = (
    "capture", "frame", "pos", "time", "connection", "client_id", "client", "server", "direction", "version",
    "type_code", "dup", "qos", "packet_id", "resolved_topic", "payload_length", "reason_code", "reason_codes",
    "filters", "session_present",
)  # fmt: skip
"""What pairing needs of a packet."""
WORDS = frozenset(("capture", "connection", "client_id", "client", "server", "direction", "version", "resolved_topic"))
"""Those that are few texts many times."""
Step = tuple[int, int]
"""Number of a source, and of a part of it: the same parts in all tasks."""
LAST: Step = (1 << 62, 0)
"""The step that ends everything."""
_WORD = pa.dictionary(pa.int32(), pa.string())
_SCHEMA = pa.schema([(name, _WORD if name in WORDS else PACKETS.field(name).type) for name in COLUMNS])


class Batch(NamedTuple):
    """Packets of one step, and the closes among them."""

    step: Step
    packets: pa.RecordBatch
    closes: list[Close]


class Outbox:
    """Writes packets for the tasks that pair; all that belongs to one step is written together."""

    def __init__(self, folder: Path, name: str, targets: int) -> None:
        self._targets = targets
        self._writers = [pa.ipc.new_stream(str(path), _SCHEMA) for path in boxes(folder, name, targets)]

    def put(self, step: Step, packets: pa.RecordBatch, closes: Sequence[Close]) -> None:
        """Write those that take part in exchanges, all of a client to one target, and the closes to all."""
        taking = packets.select(COLUMNS).filter(_takes_part(packets))
        target = _targets(taking, self._targets)
        columns = [taking[name].dictionary_encode() if name in WORDS else taking[name] for name in COLUMNS]
        encoded = pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
        about = {"step": json.dumps(step), "closes": json.dumps(closes)}
        for number, writer in enumerate(self._writers):
            own = encoded if self._targets == 1 else encoded.take(pa.array(np.flatnonzero(target == number)))
            writer.write_batch(own, custom_metadata=about)

    def close(self) -> None:
        """End all files."""
        for writer in self._writers:
            writer.close()


def boxes(folder: Path, name: str, targets: int) -> list[Path]:
    """Return the files that one task writes, one for each target."""
    return [folder / f"crossing-{name}-{target}" for target in range(targets)]


def _takes_part(packets: pa.RecordBatch) -> pa.Array:
    code = packets["type_code"]
    kind = pc.and_(pc.greater_equal(code, Connack.code), pc.less_equal(code, Unsuback.code))
    loose = pc.and_(pc.equal(code, Publish.code), pc.fill_null(pc.equal(packets["qos"], 0), False))
    return pc.and_not(kind, loose)


def _targets(packets: pa.RecordBatch, count: int) -> Any:
    """Return where each packet goes: by its client, which the connection may tell only later in the same step."""
    told = packets["connection"].dictionary_encode()
    names, index = told.dictionary.to_pylist(), told.indices.to_numpy()
    last = np.zeros(len(names), np.int64)
    last[index] = np.arange(len(index))
    clients = packets["client_id"].take(pa.array(last)).to_pylist()
    table = [share((client or name).encode(), count) for client, name in zip(clients, names, strict=True)]
    return np.array(table, np.int64)[index]


def share(key: bytes, count: int) -> int:
    """Return into which of some parts a key falls, evenly also where keys differ in a digit only."""
    return int.from_bytes(blake2b(key, digest_size=4).digest()) % count


def merged(paths: Sequence[Path]) -> Iterator[Batch]:
    """Yield what all tasks wrote for one target, step by step, in the order of the records."""
    with ExitStack() as stack:
        streams = [_batches(stack.enter_context(pa.OSFile(str(path), "rb"))) for path in paths]
        for step, same in groupby(merge(*streams, key=itemgetter(0)), itemgetter(0)):
            each = list(same)
            yield Batch(
                step, _sorted([batch.packets for batch in each]), [one for batch in each for one in batch.closes]
            )


def _sorted(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    whole = pa.concat_batches(batches)
    return whole.take(pa.array(np.argsort(whole["frame"].to_numpy(), kind="stable"))) if batches[1:] else whole


def _batches(file: Any) -> Iterator[Batch]:
    reader = pa.ipc.open_stream(file)
    while True:
        try:
            batch, about = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            return
        columns = [
            column.dictionary_decode() if name in WORDS else column
            for name, column in zip(COLUMNS, batch.columns, strict=True)
        ]
        packets = pa.RecordBatch.from_arrays(columns, names=list(COLUMNS))
        first, second = json.loads(about[b"step"])
        yield Batch((first, second), packets, [Close(*each) for each in json.loads(about[b"closes"])])
