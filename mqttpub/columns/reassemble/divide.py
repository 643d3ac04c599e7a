"""Divides records by bucket: a blob of bytes for each bucket in a block, as `stretches` describes."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ...capture.network.ip import IpPayload, IpReassembler
from ...capture.network.link import NotTcp
from ...capture.types import CaptureRecord
from ..arrow import slices
from ..scan.buckets import slot
from ..scan.records import Integers, Records
from .headers import CARRIES_TCP, segments
from .stretches import HEAD, NOBODY, WORDS


def divided(records: Records, before: int, buckets: int, others: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield buckets and their blobs for a block of records, which `before` others come before in their source.

    `others` is the number of records before that source in what the same task reads.
    """
    found = segments(records)
    alone, of_alone = _looked_at(records, found.alone, buckets)
    of_flow = np.array([slot(key) % buckets for key in found.flows], np.int64)
    own = np.flatnonzero(found.sender >= 0)
    which = np.concatenate([own, alone])
    bucket = np.concatenate([of_flow[found.sender[own] >> 1], of_alone])
    if len(alone):
        which, bucket = _with_order(which, bucket)
    order = np.argsort(bucket.astype(np.uint16), kind="stable")
    which, bucket = which[order], bucket[order]
    ranks, keys = _ranked(of_flow, found.flows, buckets)
    plain = found.plain[which]
    start, end = (np.where(plain, one[which], all_[which]) for one, all_ in (
        (found.start, records.start), (found.end, records.end)))  # fmt: skip
    payload = slices(pa.py_buffer(records.data), start, end)
    sender = found.sender[which]
    words = np.empty((WORDS, len(which)), np.uint32)
    words[0], words[1] = which + (before + 1), end - start
    words[2] = np.where(sender >= 0, 2 * ranks[sender >> 1] + (sender & 1) if len(ranks) else 0, NOBODY)
    words[3] = np.where(plain, found.seq[which], records.length[which])
    words[4] = np.where(plain, found.ack[which], records.link[which])
    time, data = records.time[which], memoryview(payload.buffers()[2] or b"")
    places = np.concatenate([[0], np.cumsum(end - start)])
    present = np.unique(bucket)
    edges = np.append(np.searchsorted(bucket, present), len(bucket)).tolist()
    for number, (first, last) in zip(present.tolist(), pairwise(edges), strict=True):
        own_keys = keys[number]
        joined = b"".join(bytes((len(key),)) + key for key in own_keys)
        yield number, b"".join((
            HEAD.pack(last - first, len(own_keys), len(joined), others), joined, words[:, first:last].tobytes(),
            time[first:last].tobytes(), plain[first:last].tobytes(), data[places[first] : places[last]],
        ))  # fmt: skip


def _with_order(which: Integers, bucket: Integers) -> tuple[Integers, Integers]:
    order = np.argsort(which, kind="stable")
    return which[order], bucket[order]


def _ranked(of_flow: Integers, flows: Sequence[bytes], buckets: int) -> tuple[Integers, list[list[bytes]]]:
    """Return the index of each connection within its bucket, and the keys of each bucket."""
    keys: list[list[bytes]] = [[] for _ in range(buckets)]
    ranks = np.zeros(len(flows), np.int64)
    for index, (bucket, key) in enumerate(zip(of_flow.tolist(), flows, strict=True)):
        ranks[index] = len(keys[bucket])
        keys[bucket].append(key)
    return ranks, keys


class _HeaderFinder(IpReassembler):
    """Finds the segment of a record, and whether it is a fragment."""

    fragment = False

    def _fragment(self, record: CaptureRecord, part: Any, start: int, end: int) -> IpPayload | None:
        self.fragment = len(part.source) > 4 or part.protocol in CARRIES_TCP
        return None


def _looked_at(records: Records, alone: Integers, buckets: int) -> tuple[Integers, Integers]:
    """Return the irregular records that may carry TCP, and their buckets; a fragment is in all of them."""
    which, of = [], []
    for index in alone.tolist():
        start, end = int(records.start[index]), int(records.end[index])
        record = CaptureRecord(1, None, int(records.link[index]), records.data[start:end], int(records.length[index]))
        headers = _HeaderFinder({})  # type: ignore[arg-type]
        try:
            packet = headers.packet(record)
        except NotTcp:
            continue
        if packet is not None:
            ports = bytes(packet.data[packet.start : packet.start + 4])
            if len(ports) == 4:
                which.append(index)
                of.append(slot(packet.source + packet.target + ports) % buckets)
        elif headers.fragment:
            which += [index] * buckets
            of += range(buckets)
    return np.array(which, np.int64), np.array(of, np.int64)
