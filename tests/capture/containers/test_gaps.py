"""Damage within a capture takes away what it hits, and nothing after it."""

import struct
import tracemalloc
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from mqttpub.capture.containers.buffer import Buffer
from mqttpub.capture.containers.gaps import MOST_NAMED, FileGap, FileGaps
from mqttpub.capture.types import BadCapture, CaptureRecord
from tests.build.containers import PCAP, Pcapng, RawRecord, Written, damaged, one_interface, pcap, zipped, zstd
from tests.capture.containers.test_registry import read as read_records

START = 1_700_000_000 * 10**6


def packets(count: int, step: int = 900, seed: int = 1) -> list[RawRecord]:
    """Return packets of different lengths."""
    random = Random(seed)
    return [RawRecord(START * 1000 + step * n, random.randbytes(random.randrange(40, 200))) for n in range(count)]


def pcapng(given: list[RawRecord], order: str = "<") -> Written:
    """Return packets of one interface."""
    return one_interface(given, order, resolution=9).written()


def read(data: bytes) -> tuple[list[CaptureRecord], str]:
    """Return the records of a file and what is said of it."""
    found, error = read_records(data)
    return found, str(error or "")


def contents(found: list[CaptureRecord]) -> list[tuple[int | None, bytes]]:
    """Return records without their numbers."""
    return [(record.time_ns, record.data) for record in found]


def patched(data: bytes, at: int, new: bytes) -> bytes:
    """Return a file with other bytes at a place."""
    return data[:at] + new + data[at + len(new) :]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", ["", *PCAP])
@pytest.mark.parametrize("new", [Random(7).randbytes(500), bytes(500), b"\xff" * 500], ids=["noise", "zeros", "ones"])
def test_damage_takes_only_what_it_hits(kind: str, order: str, new: bytes) -> None:
    given = packets(400, step=900_000)
    if kind != "nano" and kind:
        given = [each._replace(ticks=each.ticks // 1000) for each in given]
    file = pcap(given, kind=kind, order=order) if kind else pcapng(given, order)
    ends = sorted(file.ends)
    for at in range(20_000, 20_300, 7):
        found, wrong = read(patched(file.data, at, new))
        begin = max(end for end in ends if end <= at)
        next_end = min(end for end in ends if end >= at + len(new))
        first, last = file.ends[begin], file.ends[next_end]
        # A header that is whole, with its bytes damaged, is a record still.
        assert contents(found[:first]) == contents(file.records[:first])
        assert contents(found[-len(file.records[last:]) :]) == contents(file.records[last:])
        assert len(found) <= first + 1 + len(file.records[last:])
        assert wrong.endswith(" bytes skipped)")


def test_a_gap_is_reported_with_its_offset_and_size() -> None:
    file = pcap([each._replace(ticks=each.ticks // 1000) for each in packets(50)])
    ends = sorted(file.ends)
    found, wrong = read(patched(file.data, ends[20] + 8, b"\xff\xff\xff\xff"))
    assert contents(found) == contents(file.records[:20] + file.records[21:])
    assert [record.number for record in found] == [*range(1, 50)]
    assert wrong == (
        f"offset {ends[20]}: record 21 claims 4294967295 bytes, but at most 262144 are possible "
        f"({ends[21] - ends[20]} bytes skipped)"
    )


def test_records_within_the_bytes_that_a_wrong_length_claims() -> None:
    file = pcap([each._replace(ticks=each.ticks // 1000) for each in packets(100)])
    ends = sorted(file.ends)
    longer = struct.pack("<II", 2000, 2000)
    found, wrong = read(patched(file.data, ends[20] + 8, longer))
    assert contents(found[:20] + found[21:]) == contents(file.records[:20] + file.records[21:])
    said = f"record 21 claims bytes in which other records begin ({ends[21] - ends[20]} bytes skipped)"
    assert wrong == f"offset {ends[20]}: {said}"


def test_records_inside_a_whole_record_are_not_read() -> None:
    inner = pcap([RawRecord(START + n, bytes(30)) for n in range(20)]).data[24:]
    file = pcap(
        [RawRecord(START, b"one"), RawRecord(START + 1, inner), *(RawRecord(START + n, b"more") for n in range(9))]
    )
    ends = sorted(file.ends)
    found, wrong = read(patched(file.data, ends[2] + 8, b"\xff\xff\xff\xff"))
    assert contents(found) == contents(file.records[:2] + file.records[3:])
    assert wrong.startswith(f"offset {ends[2]}: record 3 claims")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_records_count_when_they_lead_to_the_end(count: int) -> None:
    file = pcap([RawRecord(START + n, b"%d" % n) for n in range(5 + count)])
    ends = sorted(file.ends)
    found, _ = read(patched(file.data, ends[4] + 8, b"\xff\xff\xff\xff"))
    assert contents(found) == contents(file.records[:4] + file.records[5:])
    whole = pcapng([RawRecord(START + n, b"%d" % n) for n in range(5 + count)])
    ends = sorted(whole.ends)[1:]
    found, _ = read(patched(whole.data, ends[4] + 4, b"\xff\xff\xff\xff"))
    assert contents(found) == contents(whole.records[:4] + whole.records[5:])


@pytest.mark.parametrize("days", [0.9, 400, -400])
def test_records_of_another_day_have_to_be_more(days: float) -> None:
    later = [RawRecord(START + int(days * 86_400 * 10**6) + n, bytes(40)) for n in range(30)]
    file = pcap([RawRecord(START + n, b"%d" % n) for n in range(5)] + later)
    ends = sorted(file.ends)
    damage = patched(file.data, ends[4] + 8, b"\xff\xff\xff\xff")
    assert contents(read(damage)[0]) == contents(file.records[:4] + file.records[5:])
    # Seven that something else follows may be chance.
    found, _ = read(damage[: ends[12]] + b"\xff" * 100)
    assert len(found) == (11 if abs(days) < 1 else 4)


def test_small_numbers_are_not_records() -> None:
    file = pcap([RawRecord(START + n, bytes(40)) for n in range(30)])
    ends = sorted(file.ends)
    numbers = b"\xff\xff\xff\xff" * 3 + struct.pack("<I", 44) * 300
    found, wrong = read(file.data[: ends[9]] + numbers + file.data[ends[9] :])
    assert contents(found) == contents(file.records)
    assert wrong.endswith(f"({len(numbers):,} bytes skipped)")


def test_a_section_with_a_damaged_header() -> None:
    one, other = pcapng(packets(20)), pcapng(packets(20, seed=2), ">")
    found, wrong = read(one.data + patched(other.data, 8, b"\0\0\0\0"))
    assert contents(found) == contents(one.records)
    assert wrong == (
        f"offset {len(one.data)}: a section does not give its byte order ({len(other.data):,} bytes skipped)"
    )
    found, wrong = read(patched(one.data, 12, b"\0\0\0\0") + other.data)
    assert contents(found) == contents(one.records + other.records)
    assert wrong == "offset 0: version 0.0 of pcapng is unknown (28 bytes skipped)"


def test_a_damaged_interface_keeps_its_number() -> None:
    file = Pcapng()
    file.section()
    for link in (1, 101, 113):
        file.interface(link, resolution=9)
    for number in (0, 1, 2, 1, 2):
        file.enhanced(number, RawRecord(number, b"data"))
    at = sorted(file.ends)[1] + 16
    found, wrong = read(patched(bytes(file.data), at, struct.pack("<HH", 9, 2)))
    assert [record.link for record in found] == [1, 113, 113]
    assert wrong.count("interface 1, whose description cannot be read (36 bytes skipped)") == 2


@pytest.mark.parametrize("kind", [77, 10, 0x0A0D0D0A])
@pytest.mark.parametrize("total", [70_000, 4_000_000_000])
def test_a_length_that_is_damaged_is_not_trusted(kind: int, total: int) -> None:
    file = pcapng(packets(2000))
    ends = sorted(file.ends)
    at = ends[11]
    damage = bytearray(patched(file.data, at, struct.pack("<II", kind, total)))
    if kind == 10:
        damage[at + 12 : at + 16] = struct.pack("<I", total - 30)
    elif kind != 77:
        damage[at + 8 : at + 16] = struct.pack("<IHH", 0x1A2B3C4D, 1, 0)
    secrets: Counter[str] = Counter()
    found, wrong = read(bytes(damage))
    assert contents(found) == contents(file.records[:10] + file.records[11:])
    assert wrong == (
        f"offset {at}: a block of type {kind} claims {total} bytes, in which other blocks begin "
        f"({ends[12] - at} bytes skipped)"
    )
    assert not secrets


def test_no_more_memory_than_a_search_needs() -> None:
    file = pcap([RawRecord(START + n, bytes(40)) for n in range(30)], snaplen=2**31)
    noise = b"\xff" * 12 + Random(3).randbytes(1 << 20) * 4
    given = [file.data[:700], *(noise[at : at + 65_536] for at in range(0, len(noise), 65_536)), file.data[700:]]
    stream = iter(given)
    tracemalloc.start()
    try:
        assert sum(1 for _ in _passing(Buffer(lambda _: next(stream, b"")))) >= 29
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def _passing(buffer: Buffer) -> list[CaptureRecord]:
    from mqttpub.capture.containers import pcap as reader

    found: list[CaptureRecord] = []
    with pytest.raises(BadCapture):
        found.extend(reader.records(buffer))
    return found


def test_many_gaps_are_counted() -> None:
    gaps = FileGaps()
    assert gaps.error() is None
    for number in range(MOST_NAMED + 2):
        gaps.add(FileGap(100 * number, 10, "bad", skipped=True))
        gaps.add(FileGap(100 * number + 10, 1, "worse", skipped=True))
    error = gaps.error()
    assert error
    assert str(error).startswith("offset 0: bad (11 bytes skipped); offset 100: bad (11 bytes skipped); ")
    assert str(error).endswith("; offset 900: bad (11 bytes skipped); 2 more gaps of 22 bytes")


@pytest.mark.parametrize("press", [zipped, zstd])
def test_compressed(press: object) -> None:
    assert callable(press)
    file = pcapng(packets(300))
    damage = damaged(Random(5), file.data, 5000)
    plain, wrong = read(damage)
    assert wrong
    assert len(plain) > 250
    assert read(press(damage)) == (plain, wrong)


@pytest.mark.parametrize("press", [zipped, zstd])
@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_damaged_member_takes_only_itself(press: Callable[[bytes, int], bytes], kind: str) -> None:
    given = packets(1500)
    file = pcapng(given) if kind == "pcapng" else pcap([each._replace(ticks=each.ticks // 1000) for each in given])
    members = 10
    whole = bytearray(press(file.data, members))
    start = len(press(file.data[: -(-len(file.data) // members) * 4], 4)) + 3000
    for size in (1, 40, 500):
        damage = patched(bytes(whole), start, Random(size).randbytes(size))
        found, wrong = read(damage)
        assert len(found) >= 1500 * (members - 1) // members - 3
        assert contents(found[:590]) == contents(file.records[:590])
        assert contents(found[-740:]) == contents(file.records[-740:])
        assert "skipped)" in wrong
    found, wrong = read(bytes(whole[:start]) + bytes(300))
    assert contents(found[:590]) == contents(file.records[:590])
    assert wrong


@pytest.mark.parametrize("press", [zipped, zstd])
def test_bytes_between_members_are_skipped(press: Callable[[bytes, int], bytes]) -> None:
    file = pcap([each._replace(ticks=each.ticks // 1000) for each in packets(300)])
    half = max(end for end in file.ends if end < len(file.data) // 2)
    one, other = press(file.data[:half], 1), press(file.data[half:], 1)
    found, wrong = read(one + b"something else" + other)
    assert contents(found) == contents(file.records)
    assert "are followed by something else" in wrong
    assert read(press(one + b"something else" + other, 3))[0] == found
