"""pcap: both byte orders, micro- and nanoseconds, and every way to be broken."""

import struct
import subprocess
import tracemalloc
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.containers import pcap
from mqttpub.capture.containers.buffer import Buffer
from mqttpub.capture.types import BadCapture, CaptureRecord
from tests.build.containers import PCAP, RawRecord, Written, up_to_damage
from tests.build.containers import pcap as write

some = st.builds(RawRecord, st.integers(0, 2**32 * 1_000_000 - 1), st.binary(max_size=40), st.integers(0, 3))
# A header of nothing but zeros is what a file has lost.
packets = st.lists(some.filter(lambda one: bool(one.ticks or one.data or one.more)), max_size=6)
written = st.builds(
    write,
    packets,
    kind=st.sampled_from([*PCAP]),
    order=st.sampled_from("<>"),
    snaplen=st.integers(0, 2**32 - 1),
    link=st.integers(0, 65_535),
)
SOME = [RawRecord(1_700_000_000_123_456, b"one"), RawRecord(1_700_000_001_000_000, b"", 5), RawRecord(0, b"three")]


def read(data: bytes) -> tuple[list[CaptureRecord], BadCapture | None]:
    """Return the records of a file and what is wrong after them."""
    return up_to_damage(lambda: pcap.records(Buffer(BytesIO(data).read1)))


def broken(data: bytes) -> str:
    """Return the place and the message of the only error."""
    error = read(data)[1]
    assert error
    return str(error)


def patched(file: Written, at: int, form: str, *values: int) -> bytes:
    """Return a file with other numbers at a place."""
    data = bytearray(file.data)
    struct.pack_into(form, data, at, *values)
    return bytes(data)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", PCAP)
def test_all_layouts(order: str, kind: str) -> None:
    file = write(SOME, kind=kind, order=order, link=113)
    assert pcap.begins(file.data[:4])
    assert read(file.data) == (file.records, None)


def test_the_example_by_hand() -> None:
    head = "d4c3b2a1 0200 0400 00000000 00000000 00000400 6c000000"
    data = bytes.fromhex(head + "00f15365 40e20100 02000000 04000000 e000")
    assert read(data) == ([CaptureRecord(1, 1_700_000_000_123_456_000, 108, b"\xe0\x00", 4)], None)


def test_the_link_type_stands_beside_the_length_of_the_checksum() -> None:
    file = write(SOME, link=1)
    assert read(patched(file, 20, "<I", 0x54000001)) == (file.records, None)


def test_a_length_on_the_wire_below_the_captured_one_is_replaced() -> None:
    file = write([RawRecord(7, b"four")] * 3)
    assert [record.length for record in read(patched(file, 24 + 12, "<I", 2))[0]] == [4, 4, 4]


def test_records_larger_than_a_wrong_snap_length() -> None:
    file = write([RawRecord(1, bytes(70_000)), RawRecord(2, bytes(262_144)), RawRecord(3, b"x")], snaplen=96)
    assert read(file.data) == (file.records, None)


@given(written)
def test_all_records_are_read(file: Written) -> None:
    assert read(file.data) == (file.records, None)


@given(written, st.data())
def test_a_cut_leaves_all_whole_records(file: Written, data: st.DataObject) -> None:
    size = data.draw(st.integers(4, len(file.data)))
    found, error = read(file.data[:size])
    if size in file.ends:
        assert (found, error) == (file.records[: file.ends[size]], None)
    else:
        last = max((end for end in file.ends if end < size), default=0)
        assert found == file.records[: file.ends.get(last, 0)]
        assert error
        assert error.offset == last


@given(written, st.data())
def test_mutations_are_records_or_a_broken_capture(file: Written, data: st.DataObject) -> None:
    mutated = bytearray(file.data)
    for at in data.draw(st.lists(st.integers(4, len(mutated) - 1), max_size=4)):
        mutated[at] = data.draw(st.integers(0, 255))
    found, error = read(bytes(mutated))
    assert [record.number for record in found] == [*range(1, len(found) + 1)]
    assert error is None or 0 <= error.offset <= len(mutated)


@given(packets, st.integers(1, 30))
def test_pieces_of_any_size(given: list[RawRecord], size: int) -> None:
    file = write(given)
    source = BytesIO(file.data)
    assert [*pcap.records(Buffer(lambda _: source.read(size)))] == file.records


def test_messages_about_a_broken_file() -> None:
    file = write(SOME)
    assert broken(file.data[:20]) == "offset 0: the header of pcap has 24 bytes, but the file ends after 20"
    assert broken(file.data[:-3]) == "offset 59: record 3 has 5 bytes, but the file ends after 2"
    assert broken(file.data[:-6]) == "offset 59: the file ends within the header of record 3"
    assert broken(patched(file, 4, "<HH", 543, 0)) == "offset 4: version 543.0 of pcap is unknown"
    wrong = "record 2 claims 4294967295 bytes, but at most 262144 are possible"
    assert broken(patched(file, 24 + 19 + 8, "<I", 2**32 - 1)) == f"offset 43: {wrong} (37 bytes skipped)"
    zeros = patched(file, 43, "<4I", 0, 0, 0, 0)
    assert broken(zeros) == "offset 43: the header of record 2 consists of zeros (37 bytes skipped)"


def test_a_record_may_be_as_large_as_the_snap_length_says() -> None:
    file = write([RawRecord(1, bytes(300_000))], snaplen=300_000)
    assert read(file.data) == (file.records, None)
    assert "claims 300001 bytes, but at most 300000" in broken(patched(file, 24 + 8, "<I", 300_001))
    assert "but at most 16777216 are possible" in broken(patched(write(SOME, snaplen=2**32 - 1), 24 + 8, "<I", 2**31))


def test_a_record_that_is_too_long_is_refused_even_if_it_is_complete() -> None:
    file = write([RawRecord(1, b"x"), RawRecord(2, bytes(262_145)), RawRecord(3, b"y")], snaplen=96)
    given = [file.data]
    reader = pcap.records(Buffer(lambda _: given.pop() if given else b""))
    assert [next(reader), next(reader)] == [file.records[0], file.records[2]._replace(number=2)]
    with pytest.raises(BadCapture, match="record 2 claims 262145 bytes, but at most 262144 are possible"):
        next(reader)


def test_no_memory_for_bytes_that_are_only_claimed() -> None:
    data = patched(write([RawRecord(1, b"x")], snaplen=2**31), 24 + 8, "<I", 16_000_000)
    tracemalloc.start()
    try:
        assert "record 1 has 16000000 bytes, but the file ends after 1" in broken(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_records_come_as_soon_as_they_are_there() -> None:
    file = write(SOME)
    first = min(end for end, count in file.ends.items() if count == 1)
    given: Iterator[bytes] = iter([file.data[: first + 3]])
    assert next(pcap.records(Buffer(lambda _: next(given)))) == file.records[0]


@pytest.mark.slow
def test_places_beyond_four_gigabytes() -> None:
    record = struct.pack("<IIII", 5, 0, 65_536, 65_536) + bytes(65_536)
    count = (2**32 + 100_000) // len(record) + 1

    def pieces() -> Iterator[bytes]:
        yield write([]).data
        for _ in range(count):
            yield record
        yield record[:-1]

    given = pieces()
    reader = pcap.records(Buffer(lambda _: next(given, b"")))
    assert [sum(1 for _ in islice(reader, count)), 24 + count * len(record) > 2**32] == [count, True]
    with pytest.raises(BadCapture, match=f"^offset {24 + count * len(record)}: record {count + 1} "):
        next(reader)


@pytest.mark.tshark
@pytest.mark.parametrize("form", ["pcap", "nsecpcap", "modpcap"])
def test_files_of_wireshark(form: str, tmp_path: Path) -> None:
    file = write(SOME)
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.write_bytes(file.data)
    subprocess.run(["editcap", "-F", form, plain, other], check=True, capture_output=True)
    assert read(other.read_bytes()) == (file.records, None)
