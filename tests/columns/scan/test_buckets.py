"""Each connection is in one share, told in the same way by a packet of either end and by many packets at once."""

import gzip
from collections import Counter
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.columns.reassemble.headers import opposite, slots
from mqttpub.columns.scan.buckets import SLOTS, Bucket, Words, slot, slots4, slots6, table
from mqttpub.columns.scan.records import reader
from mqttpub.columns.scan.records import records as in_columns
from mqttpub.columns.scan.shares import shares
from tests.build.containers import Packet, Pcapng
from tests.build.frames import Wire, pcap, records

keys = st.sampled_from((12, 36)).flatmap(lambda size: st.binary(min_size=size, max_size=size))


@given(st.lists(keys, min_size=1, max_size=30), st.integers(2, 20), st.booleans())
def test_many_at_once_are_each_by_itself(given: list[bytes], parts: int, told: bool) -> None:
    made = table([index % 7 for index in range(SLOTS)], parts) if told else b""
    buckets = [Bucket(number, parts, made) for number in range(parts)]
    for size in (12, 36):
        some = [key for key in given if len(key) == size]
        if not some:
            continue
        found = _slots(some)
        assert found.tolist() == [slot(key) for key in some] == [slot(opposite(key)) for key in some]
        held = [bucket.hold(found).tolist() for bucket in buckets]
        assert held == [[bucket.holds(key) for key in some] for bucket in buckets]
        assert np.sum(held, axis=0).tolist() == [1] * len(some)


def _slots(some: list[bytes]) -> Words:
    data = np.frombuffer(b"".join(some), np.uint8).reshape(len(some), -1)

    def words(start: int, stop: int, kind: str) -> Words:
        return np.ascontiguousarray(data[:, start:stop]).view(kind).astype(np.uint64)

    ports = words(-4, len(some[0]), "<u4")[:, 0]
    if len(some[0]) == 12:
        return slots4(words(0, 4, "<u4")[:, 0], words(4, 8, "<u4")[:, 0], ports)
    return slots6(words(0, 16, "<u8"), words(16, 32, "<u8"), ports)


@pytest.mark.parametrize("parts", [2, 3, 16])
def test_connections_that_differ_in_little_fall_into_all_shares(parts: int) -> None:
    server = b"\x0a\1\0\1"
    for made in (
        [b"\x0a\0\0\1" + server + number.to_bytes(2) + b"\x07\x5b" for number in range(40_000, 44_000)],
        [b"\x0a\0" + number.to_bytes(2) + server + b"\xc0\0\x07\x5b" for number in range(4000)],
        [bytes(14) + number.to_bytes(2) + bytes(16) + b"\xc0\0\x07\x5b" for number in range(4000)],
    ):
        counts = [sum(Bucket(number, parts).holds(key) for key in made) for number in range(parts)]
        assert sum(counts) == 4000
        assert all(0.75 < count * parts / 4000 < 1.25 for count in counts)


def test_what_weighs_most_is_given_away_first() -> None:
    weights = [0.0] * SLOTS
    weights[5], weights[6], weights[7], weights[8] = 10, 6, 5, 1
    found = np.frombuffer(table(weights, 2), "<u2")
    assert found[[5, 6, 7, 8]].tolist() == [0, 1, 1, 0]
    assert np.bincount(found).tolist() == [SLOTS // 2] * 2


# a look at captures


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
    file = Pcapng()
    file.section(order)
    file.interface()
    for record in records(packets):
        file.enhanced(0, Packet(record.number, record.data))
    return bytes(file.data)


def _loads(data: bytes, found: bytes, parts: int) -> list[float]:
    """Return how much of a capture falls into each share, by bytes."""
    loads = np.zeros(parts)
    for block in in_columns(reader(BytesIO(data)), Counter()):
        of, long = slots(block)
        loads += np.bincount(np.frombuffer(found, "<u2")[of], long, parts)
    return [load / sum(loads) for load in loads.tolist()]


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


def test_what_cannot_be_read_weighs_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("10 00\n")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "cut").write_bytes(_uneven()[:30])
    paths = [tmp_path / name for name in ("text", "empty", "cut", "missing")]
    assert shares(paths, 3) == shares([], 3) == table([0.0] * SLOTS, 3)
    assert shares(paths, 1) == b""
