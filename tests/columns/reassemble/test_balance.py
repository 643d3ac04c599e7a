"""Connections are divided evenly over buckets, by a look at small parts of captures."""

import gzip
import struct
from collections import Counter
from io import BytesIO
from pathlib import Path
from random import Random

import numpy as np
import pytest

from mqttpub.capture.containers import pcapng
from mqttpub.columns.reassemble.balance import PcapngSampler, PcapSampler, shares
from mqttpub.columns.reassemble.headers import slots
from mqttpub.columns.scan.buckets import SLOTS, table
from mqttpub.columns.scan.records import enhanced, reader
from mqttpub.columns.scan.records import records as in_columns
from tests.build.containers import RawRecord, Written, one_interface
from tests.build.containers import pcap as written
from tests.build.frames import Wire, pcap, records


def _uneven(order: str = "<", container: str = "pcap") -> bytes:
    """Return a capture in which a few connections say most."""
    packets: list[bytes] = []
    wires = [Wire(4 + 2 * (number % 2), port=50_000 + number) for number in range(12)]
    for turn in range(2000):
        for number, wire in enumerate(wires):
            if turn % (number + 1) == 0:
                packets.append(wire.packet(0, turn * 100, bytes(100)))
    if container == "pcap":
        return pcap(records(packets))
    return bytes(one_interface((RawRecord(each.number, each.data) for each in records(packets)), order).data)


def _loads(data: bytes, found: bytes, parts: int) -> list[float]:
    """Return how much of a capture falls into each share, by bytes."""
    loads = np.zeros(parts)
    for block in in_columns(reader(BytesIO(data)), Counter()):
        of, long = slots(block)
        loads += np.bincount(np.frombuffer(found, "<u2")[of], long, parts)
    return [load / sum(loads) for load in loads.tolist()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pcap", "pcapng", "big-endian pcapng", "gzip", "many files"])
def test_shares_are_even(tmp_path: Path, kind: str) -> None:
    data = _uneven(">" if kind.startswith("big") else "<", "pcapng" if "ng" in kind else "pcap")
    path = tmp_path / "capture"
    path.write_bytes(gzip.compress(data) if kind == "gzip" else data)
    paths = [path] * (100 if kind == "many files" else 1)
    for parts in (2, 3):
        found = shares(paths, parts)
        assert found == shares(paths, parts)
        assert len(found) == 2 * SLOTS
        loads = _loads(data, found, parts)
        # Of a compressed capture only the beginning is seen, where all connections say something.
        assert max(loads) * parts < (1.35 if kind == "gzip" else 1.1)


def test_places_within_a_capture_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    early = [Wire(port=1).packet(0, n * 100, bytes(100)) for n in range(2000)]
    late = [Wire(port=2 + n % 6).packet(0, n * 100, bytes(100)) for n in range(6000)]
    data = pcap(records([*early, *late]))
    path.write_bytes(data)
    assert max(_loads(data, shares([path], 2), 2)) < 0.55


def test_unreadable_captures_weigh_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("10 00\n")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "cut").write_bytes(_uneven()[:30])
    paths = [tmp_path / name for name in ("text", "empty", "cut", "missing")]
    assert shares(paths, 3) == shares([], 3) == table([0.0] * SLOTS, 3)
    assert shares(paths, 1) == b""


# the first record after any place of a file


def _packets(random: Random) -> list[RawRecord]:
    start = 1_700_000_000_000_000
    return [RawRecord(start + n * 987_654_321, random.randbytes(random.randrange(1, 200))) for n in range(3000)]


def _pcapng(packets: list[RawRecord]) -> Written:
    return one_interface(packets, ">").written()


@pytest.mark.parametrize(("write", "sample"), [(written, PcapSampler), (_pcapng, PcapngSampler)])
def test_the_first_record_after_any_place_is_found(write: type, sample: type) -> None:
    random = Random(2)
    made = write(_packets(random))
    found, ends = sample(BytesIO(made.data)), np.array(sorted(made.ends)[:-3])
    places = [random.randrange(200, len(made.data) - 9000) for _ in range(200)]
    first = [at + found.first(made.data[at:]) for at in places]
    assert first == ends[ends.searchsorted(places)].tolist()


@pytest.mark.parametrize("data", [b"", bytes(500)])
def test_no_record_is_found_in_bytes_without_one(data: bytes) -> None:
    random = Random(2)
    assert PcapSampler(BytesIO(written(_packets(random)).data)).first(data) == -1
    assert PcapngSampler(BytesIO(_pcapng(_packets(random)).data)).first(data) == -1


def test_a_block_longer_than_the_longest_is_not_a_block() -> None:
    total = pcapng.LARGEST + 4
    data = struct.pack("<II", pcapng.ENHANCED, total) + bytes(total - 12) + struct.pack("<I", total)
    starts, end = enhanced(data, 0, "<", len(data))
    assert (starts.tolist(), end) == ([], 0)
