"""Walks that take their steps side by side come to the same records as one walk that takes them all."""

import struct
import time
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.containers import pcapng
from mqttpub.capture.containers.buffer import Buffer
from mqttpub.capture.containers.pcap import FILE_HEADER, File
from mqttpub.columns.scan import parallel as lanes
from mqttpub.columns.scan.parallel import Chain, EnhancedChain, PcapChain
from tests.build.containers import PCAP, Packet, Pcapng, pcap

SECOND = 1_000_000
START = 1_700_000_000 * SECOND


@pytest.fixture
def small() -> Iterator[None]:
    """Let there be walks side by side in files that are small."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("SAMPLE", 40), ("RECORDS", 2), ("FEWEST", 2), ("STEPS", 3), ("MOST_TURNS", 2)):
            patch.setattr(lanes, name, value)
        yield


def pcap_chain(data: bytes) -> PcapChain:
    buffer = Buffer(lambda size: b"")
    buffer.data = data
    return PcapChain(data, File(buffer))


def same(chain: Chain, at: int) -> int:
    """Check that all records are found, and return how many there are."""
    found, behind = chain.starts(at)
    single, end = chain.walk(at, len(chain.data))
    assert (found.tolist(), behind) == (single, end)
    return len(single)


@st.composite
def captures(draw: st.DrawFn) -> tuple[bytes, str]:
    """Return a pcap in whose records there are others, whole or in part, and its byte order."""
    order, kind = draw(st.sampled_from("<>")), draw(st.sampled_from(sorted(PCAP)))
    random = draw(st.randoms(use_true_random=False))
    inner = pcap([Packet(START + n, random.randbytes(random.randrange(40))) for n in range(9)], kind=kind, order=order)
    nested = inner.data[FILE_HEADER:]
    payloads = (
        b"",
        b"\0" * 60,
        nested,
        nested[: random.randrange(len(nested))],
        nested[random.randrange(40) :],
        b"abc",
    )
    step = draw(st.sampled_from((0, 1, SECOND, 40_000 * SECOND)))
    packets = [
        Packet(START + step * n, random.choice(payloads), random.randrange(3))
        for n in range(draw(st.integers(0, 60)))
    ]  # fmt: skip
    return pcap(packets, kind=kind, order=order).data, order


@pytest.mark.usefixtures("small")
@settings(max_examples=150)
@given(captures(), st.data())
def test_pcap(made: tuple[bytes, str], data: st.DataObject) -> None:
    whole, _ = made
    same(pcap_chain(whole), FILE_HEADER)
    broken = bytearray(whole[: data.draw(st.integers(FILE_HEADER, len(whole)))])
    for place in data.draw(st.lists(st.integers(FILE_HEADER, max(len(broken) - 1, FILE_HEADER)), max_size=3)):
        broken[place : place + 1] = data.draw(st.binary(min_size=1, max_size=1))
    same(pcap_chain(bytes(broken)), FILE_HEADER)


@pytest.mark.usefixtures("small")
@settings(max_examples=100)
@given(st.sampled_from("<>"), st.randoms(use_true_random=False), st.data())
def test_pcapng(order: str, random: Random, data: st.DataObject) -> None:
    inner = Pcapng()
    inner.section(order)
    inner.interface()
    begin = len(inner.data)
    for number in range(9):
        inner.enhanced(0, Packet(number, random.randbytes(random.randrange(40))))
    nested = bytes(inner.data[begin:])
    payloads = (b"", b"\x06\0\0\0" * 9, nested, nested[: random.randrange(len(nested))], nested[4:], bytes(50))
    for _ in range(data.draw(st.integers(0, 50))):
        if random.randrange(20):
            inner.enhanced(0, Packet(1, random.choice(payloads)))
        else:
            inner.block(0xBAD, random.choice(payloads))
    whole = bytearray(inner.data[: data.draw(st.integers(begin, len(inner.data)))])
    for place in data.draw(st.lists(st.integers(begin, max(len(whole) - 1, begin)), max_size=3)):
        whole[place : place + 1] = data.draw(st.binary(min_size=1, max_size=1))
    at = begin
    while at < len(whole):
        count = same(EnhancedChain(bytes(whole), order), at)
        (total,) = struct.unpack_from(order + "I", whole, at + 4) if at + 8 <= len(whole) else (0,)
        at = max(EnhancedChain(bytes(whole), order).starts(at)[1] if count else at + total, at + 4)


def test_walks_are_begun_where_records_are() -> None:
    random = Random(1)
    made = pcap([Packet(START + n * 900, random.randbytes(random.randrange(300))) for n in range(30_000)])
    chain = pcap_chain(made.data)
    assert same(chain, FILE_HEADER) == 30_000
    begin = chain._begin(FILE_HEADER, 100, chain.needle(FILE_HEADER))
    assert len(begin) > 95
    assert set(begin.tolist()) <= set(chain.walk(FILE_HEADER, len(made.data))[0])
    assert all(one < other for one, other in pairwise(begin.tolist()))


def test_a_capture_of_captures_of_the_same_second() -> None:
    inner = pcap([Packet(START + n, bytes([n % 256]) * 50) for n in range(100)]).data[FILE_HEADER:]
    made = pcap([Packet(START + n, inner) for n in range(400)])
    assert same(pcap_chain(made.data), FILE_HEADER) == 400


def test_a_block_longer_than_any_is_no_block() -> None:
    total = pcapng.LARGEST + 4
    data = struct.pack("<II", pcapng.ENHANCED, total) + bytes(total - 12) + struct.pack("<I", total)
    assert EnhancedChain(data, "<").starts(0)[1] == 0
    assert same(EnhancedChain(data, "<"), 0) == 0


def test_the_first_record_behind_any_place() -> None:
    random = Random(2)
    made = pcap([Packet(START + n * 987_654_321, random.randbytes(random.randrange(1, 200))) for n in range(3000)])
    form, ends = pcap_chain(made.data).form, np.array(sorted(made.ends)[:-3])
    places = [random.randrange(FILE_HEADER, len(made.data) - 9000) for _ in range(200)]
    right = [at + PcapChain(made.data[at:], form).first() == ends[ends.searchsorted(at)] for at in places]
    assert all(right)
    assert PcapChain(b"", form).first() == PcapChain(bytes(500), form).first() == -1


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_one_long_walk_does_not_take_memory_for_all(share: float) -> None:
    size = 1 << 20
    # Records of hardly any length at the beginning, where few walks begin, so that the first takes nearly all of them.
    empty, usual = (struct.pack("<4I", START // SECOND, 0, length, length) + bytes(length) for length in (0, 100))
    front = pcap([]).data + empty * int(size * share / 16)
    data = front + usual * ((size - len(front)) // 116)
    chain = pcap_chain(data)
    count = same(chain, FILE_HEADER)
    tracemalloc.start()
    try:
        chain.starts(FILE_HEADER)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Beside what is found, and the numbers that it is made of, there is only what some turns of all walks take.
    assert peak < 50 * count + 8 * 8 * lanes.MOST_TURNS * lanes.STEPS * lanes.MOST


def test_side_by_side_is_quicker() -> None:
    random = Random(3)
    made = pcap([Packet(START + n * 90, random.randbytes(random.randrange(60, 250))) for n in range(40_000)])
    chain = pcap_chain(made.data)
    single, beside = (min(_seconds(walk) for _ in range(5)) for walk in (
        lambda: chain.walk(FILE_HEADER, len(made.data)), lambda: chain.starts(FILE_HEADER),
    ))  # fmt: skip
    assert beside < single / 1.2


def _seconds(walk: object) -> float:
    assert callable(walk)
    begin = time.process_time()
    walk()
    return time.process_time() - begin
