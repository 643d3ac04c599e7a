"""Each connection is in one share, and the same one by a packet of either end and by many packets at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.network.tcp import opposite
from mqttpub.columns.scan.buckets import SLOTS, Bucket, Words, slot, slots4, slots6, table

keys = st.sampled_from((12, 36)).flatmap(lambda size: st.binary(min_size=size, max_size=size))


@given(st.lists(keys, min_size=1, max_size=30), st.integers(2, 20), st.booleans())
def test_many_slots_at_once_equal_single_ones(given: list[bytes], parts: int, with_table: bool) -> None:
    made = table([index % 7 for index in range(SLOTS)], parts) if with_table else b""
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


@pytest.mark.slow
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
