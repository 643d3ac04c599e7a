"""pcapng: sections, interfaces, all kinds of blocks, and every way to be broken."""

import struct
import subprocess
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.containers import pcapng
from mqttpub.capture.containers.buffer import Buffer
from mqttpub.capture.containers.pcapng import LATEST, MOST_INTERFACES
from mqttpub.capture.types import BadCapture, CaptureRecord
from tests.build.containers import Pcapng, RawRecord, Written, one_interface, up_to_damage

TLS = 0x544C534B
SECTION, INTERFACE, OBSOLETE, SIMPLE, NAMES, STATISTICS, ENHANCED, SECRETS = 0x0A0D0D0A, 1, 2, 3, 4, 5, 6, 10
COMMENT = (1, b"a comment")
OTHERS = (NAMES, STATISTICS, 0x80000001, 0x00000BAD, 0x40000BAD, 77)


@st.composite
def files(draw: st.DrawFn, most: int = 5) -> Written:
    """Draw a file of one or more sections, with blocks of all kinds in any order."""
    file = Pcapng()
    packets = st.builds(RawRecord, st.integers(0, 2**64 - 1), st.binary(max_size=20), st.integers(0, 3))
    comments = st.sampled_from([(), (COMMENT,), ((2, bytes(4)), COMMENT)])
    for order in draw(st.lists(st.sampled_from("<>"), min_size=1, max_size=2)):
        file.section(order, *draw(comments))
        for step in draw(st.lists(st.sampled_from("IIEEEEPSKO"), max_size=most)):
            if step == "I":
                link, snaplen = (
                    draw(st.sampled_from([0, 1, 101, 113, 276, 65_535])),
                    draw(st.sampled_from([0, 7, 65_535])),
                )
                resolution = draw(st.sampled_from([None, 0, 3, 6, 9, 12, 127, 0x80, 0x80 | 10, 0x80 | 30, 0xFF]))
                offset = draw(st.sampled_from([None, 0, -1, 3600, -(2**63), 2**63 - 1]))
                file.interface(link, snaplen, resolution, offset, *draw(comments))
            elif step == "K":
                file.secrets(TLS, draw(st.binary(max_size=9)))
            elif step == "O" or not file.interfaces:
                file.block(draw(st.sampled_from(OTHERS)), draw(st.binary(max_size=9)))
            elif step == "S":
                file.simple(draw(st.binary(max_size=20)))
            else:
                write = file.enhanced if step == "E" else file.obsolete
                write(draw(st.integers(0, len(file.interfaces) - 1)), draw(packets), *draw(comments))
    return file.written()


def read(data: bytes, secrets: Counter[str] | None = None) -> tuple[list[CaptureRecord], BadCapture | None]:
    """Return the records of a file and what is wrong after them."""
    return up_to_damage(lambda: pcapng.records(Buffer(BytesIO(data).read1), Counter() if secrets is None else secrets))


def broken(file: Pcapng, at: int = 0, *numbers: int) -> str:
    """Return place and message of the error of a file, in which numbers may have been replaced."""
    data = bytearray(file.data)
    struct.pack_into(f"<{len(numbers)}I", data, at, *numbers)
    error = read(bytes(data))[1]
    assert error
    return str(error)


def test_the_example_by_hand() -> None:
    data = bytes.fromhex(
        "0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000"
        "01000000 14000000 7100 0000 00000400 14000000"
        "06000000 24000000 00000000 5e050600 40c60000 02000000 05000000 e0000000 24000000"
    )
    assert pcapng.begins(data[:12])
    time = ((0x0006055E << 32) + 0x0000C640) * 1000
    assert read(data) == ([CaptureRecord(1, time, 113, b"\xe0\x00", 5)], None)


def test_two_blank_lines_are_not_a_section() -> None:
    assert not pcapng.begins(b"\n\r\r\n30 0a 00 03 61")
    assert not pcapng.begins(b"\n\r\r\n")


@given(files())
def test_all_records_are_read(file: Written) -> None:
    assert read(file.data) == (file.records, None)


def test_many_packets_in_many_pieces() -> None:
    file = one_interface(resolution=9)
    file.interface(276, resolution=0x80 | 20)
    for number in range(3000):
        file.enhanced(number // 7 % 2, RawRecord(number << 28, bytes(number % 90), number % 3))
        if number % 1000 == 999:
            file.section("><>"[number // 1000])
            file.interface(101)
            file.interface(1, resolution=3)
    assert read(bytes(file.data)) == (file.records, None)


@given(files(most=4), st.data())
def test_a_cut_leaves_all_whole_records(file: Written, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(file.data)))
    found, error = read(file.data[:size])
    last = max((end for end in file.ends if end <= size), default=0)
    assert found == file.records[: file.ends.get(last, 0)]
    assert (error is None) == (size == last)
    assert error is None or error.offset == last


@given(files(), st.data())
def test_mutations_are_records_or_a_broken_capture(file: Written, data: st.DataObject) -> None:
    mutated = bytearray(file.data)
    for at in data.draw(st.lists(st.integers(12, len(mutated) - 1), max_size=4)):
        mutated[at] = data.draw(st.sampled_from([0, 1, 4, 6, 10, 0x7F, 0x80, 0xFF]))
    found, error = read(bytes(mutated))
    assert [record.number for record in found] == [*range(1, len(found) + 1)]
    assert all(record.time_ns is None or 0 <= record.time_ns < LATEST for record in found)
    assert all(record.length >= len(record.data) for record in found)
    assert error is None or 0 <= error.offset <= len(mutated)


@pytest.mark.slow
@given(files(), st.integers(1, 40))
def test_pieces_of_any_size(file: Written, size: int) -> None:
    source = BytesIO(file.data)
    assert [*pcapng.records(Buffer(lambda _: source.read(size)), Counter())] == file.records


def test_records_come_as_soon_as_they_are_there() -> None:
    file = one_interface()
    file.enhanced(0, RawRecord(1, b"one"))
    given: Iterator[bytes] = iter([bytes(file.data)])
    assert next(pcapng.records(Buffer(lambda _: next(given)), Counter())) == file.records[0]


def test_a_time_out_of_range_is_unknown() -> None:
    file = one_interface(resolution=0)
    last = LATEST // 10**9 - 1
    for ticks in (last, last + 1, 2**64 - 1):
        file.enhanced(0, RawRecord(ticks, b""))
    file.interface(offset=-5)
    file.enhanced(1, RawRecord(5_000_000, b""))
    file.enhanced(1, RawRecord(4_999_999, b""))
    found, _ = read(bytes(file.data))
    assert [record.time_ns for record in found] == [last * 10**9, None, None, 0, None]


def test_keys_are_counted_by_their_kind() -> None:
    file = one_interface()
    file.secrets(TLS, b"CLIENT_RANDOM 00 11\nCLIENT_RANDOM 22 33\n")
    file.secrets(TLS, b"CLIENT_RANDOM 44 55")
    file.secrets(0x57474B4C, b"a\nb\nc\n")
    file.secrets(0x11111111, b"")
    file.secrets(0x22222222, b"x")
    secrets: Counter[str] = Counter()
    assert read(bytes(file.data), secrets) == ([], None)
    assert secrets == {"TLS key log": 3, "WireGuard key log": 3, "other secrets": 1}


def test_messages_about_broken_lengths() -> None:
    file = one_interface()
    at = len(file.data)
    file.enhanced(0, RawRecord(1, b"four"))
    for length in (37, 28, 2**32 - 4):
        wrong = f"{length} bytes are not a possible length of a block of type 6 (36 bytes skipped)"
        assert broken(file, at + 4, length) == f"offset {at}: {wrong}"
    assert broken(file, at + 4, 40) == f"offset {at}: a block needs 40 bytes, but the file ends after 36"
    assert (
        broken(file, at + 32, 40)
        == f"offset {at}: the lengths of a block differ: 36 at its start, 40 at its end (36 bytes skipped)"
    )
    wrong = "a packet of 5 bytes does not fit its block, which has 4 left (36 bytes skipped)"
    assert broken(file, at + 20, 5) == f"offset {at}: {wrong}"
    wrong = "a packet names interface 1, but the section has 1 so far (36 bytes skipped)"
    assert broken(file, at + 8, 1) == f"offset {at}: {wrong}"
    assert broken(file, at, 77, 2**32 - 4) == f"offset {at}: a block needs 4294967292 bytes, but the file ends after 36"
    assert (
        broken(file, at, 10, 36, 0, 17) == f"offset {at}: 17 bytes of secrets do not fit their block (36 bytes skipped)"
    )


def test_a_length_that_is_not_a_multiple_of_four_is_wrong_even_if_both_copies_agree() -> None:
    file = one_interface()
    file.enhanced(0, RawRecord(1, b"four"))
    at = len(file.data)
    total = struct.pack("<I", 37)
    file.data += struct.pack("<I", 6) + total + bytes(21) + bytes(4) + total
    file.enhanced(0, RawRecord(2, b"four"))
    found, error = read(bytes(file.data))
    assert found == file.records
    assert str(error) == f"offset {at}: 37 bytes are not a possible length of a block of type 6 (37 bytes skipped)"


def test_a_length_on_the_wire_below_the_captured_one_is_replaced() -> None:
    file = one_interface()
    for _ in range(4):
        file.enhanced(0, RawRecord(1, b"four", -2))
    assert [record.length for record in read(bytes(file.data))[0]] == [4] * 4


def test_messages_about_a_cut_header() -> None:
    file = one_interface()
    file.data += b"\6\0\0"
    assert broken(file) == "offset 48: the file ends within the header of a block"


def test_the_length_at_the_end_of_every_block_counts() -> None:
    file = one_interface()
    for _ in range(5):
        file.enhanced(0, RawRecord(1, b"four"))
    ends = sorted(file.ends)[2:]
    for number, end in enumerate(ends):
        data = bytearray(file.data)
        data[end - 4] ^= 4
        found, error = read(bytes(data))
        assert [record.time_ns for record in found] == [
            each.time_ns for each in file.records if each.number != number + 1
        ]
        wrong = "the lengths of a block differ: 36 at its start, 32 at its end (36 bytes skipped)"
        assert str(error) == f"offset {end - 36}: {wrong}"


def test_messages_about_broken_sections() -> None:
    file = Pcapng()
    file.section()
    assert broken(file, 8, 0x1A2B3C4E) == "offset 0: a section does not give its byte order (28 bytes skipped)"
    assert broken(file, 12, 2) == "offset 0: version 2.0 of pcapng is unknown (28 bytes skipped)"
    wrong = "24 bytes are not a possible length of a block of type 168627466 (28 bytes skipped)"
    assert broken(file, 4, 24) == f"offset 0: {wrong}"
    file.block(SIMPLE, struct.pack("<I", 1) + b"x")
    assert broken(file) == "offset 28: a packet names interface 0, but the section has 0 so far (20 bytes skipped)"


def test_messages_about_broken_interfaces() -> None:
    file = one_interface(resolution=9)
    wrong = "the time of an interface has 2 bytes (32 bytes skipped)"
    assert broken(file, 28 + 16, 2 << 16 | 9) == f"offset 28: {wrong}"
    wrong = "option 9 has 9 bytes, but its block has only 8 left (32 bytes skipped)"
    assert broken(file, 28 + 16, 9 << 16 | 9) == f"offset 28: {wrong}"
    file = one_interface()
    file.block(INTERFACE, bytes(2 << 20))
    assert (
        broken(file)
        == "offset 48: 2097164 bytes are not a possible length of a block of type 1 (2,097,164 bytes skipped)"
    )


def test_interfaces_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_INTERFACES == 65_536
    monkeypatch.setattr(pcapng, "MOST_INTERFACES", 3)
    file = one_interface()
    file.data += file.data[28:] * 3
    assert broken(file) == "offset 88: a section has more than 3 interfaces (20 bytes skipped)"


def test_a_simple_packet_needs_its_bytes() -> None:
    file = one_interface(snaplen=4)
    file.simple(b"longer")
    assert read(bytes(file.data)) == ([CaptureRecord(1, None, 1, b"long", 6)], None)
    file.block(SIMPLE, struct.pack("<I", 3))
    assert broken(file) == "offset 68: a packet of 3 bytes does not fit its block, which has 0 left (16 bytes skipped)"


def test_no_memory_for_bytes_that_are_only_claimed() -> None:
    file = one_interface()
    file.enhanced(0, RawRecord(1, bytes(8)))
    tracemalloc.start()
    try:
        assert "the file ends after 40" in broken(file, 48 + 4, 16_000_000)
        assert "the file ends after 40" in broken(file, 48, 77, 4_000_000_000)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def big(head: bytes, zeros: int, tail: bytes) -> Iterator[bytes]:
    """Yield a file with very many zeros in it, piece by piece."""
    yield head
    piece = bytes(1 << 16)
    for _ in range(zeros >> 16):
        yield piece
    yield bytes(zeros & 0xFFFF) + tail


@pytest.mark.parametrize("kind", [77, SECTION, SECRETS])
def test_blocks_of_any_size_are_passed_over_piece_by_piece(kind: int) -> None:
    file = one_interface()
    total = 28 + (16 << 20)
    inside = {77: bytes(16), SECTION: bytes(file.data[8:24]), SECRETS: struct.pack("<IIII", TLS, total - 20, 0, 0)}[
        kind
    ]
    head = bytes(file.data) + struct.pack("<II", kind, total) + inside
    tail = struct.pack("<I", total) + bytes(file.data)
    given = big(head, total - 28, tail)
    tracemalloc.start()
    try:
        assert [*pcapng.records(Buffer(lambda _: next(given, b"")), Counter())] == []
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_places_beyond_four_gigabytes() -> None:
    file = one_interface()
    total = 2**32 - 4
    head = bytes(file.data) + struct.pack("<II", 77, total)
    rest = one_interface()
    rest.enhanced(0, RawRecord(9, b"far away"))
    given = big(head, total - 12, struct.pack("<I", total) + bytes(rest.data) + b"\6")
    reader = pcapng.records(Buffer(lambda _: next(given, b"")), Counter())
    assert next(reader) == rest.records[0]
    with pytest.raises(BadCapture, match=f"^offset {48 + total + 88}: the file ends within the header of a block"):
        next(reader)


@pytest.mark.slow
@pytest.mark.tshark
def test_tshark_reads_the_same(tmp_path: Path) -> None:
    file = Pcapng()
    for order in "<>":
        file.section(order, COMMENT)
        for resolution in (None, 9, 3, 0x80 | 20):
            file.interface(1, 65_535, resolution, None, (2, b"eth0"), COMMENT)
        file.secrets(TLS, b"CLIENT_RANDOM " + b"00" * 32 + b" " + b"11" * 48 + b"\n")
        for number in range(40):
            tick = {0: 10**6, 1: 10**9, 2: 1000, 3: 2**20}[number % 4]
            file.enhanced(
                number % 4, RawRecord(1_700_000_000 * tick + number * 17, bytes(20 + number), number % 3), COMMENT
            )
            file.block(OTHERS[number % 2], struct.pack(order + "IHHI", 0, 0, 0, 0))
        file.obsolete(1, RawRecord(1_700_000_000 * 10**9 + 7, bytes(30), 2))
        file.simple(bytes(33))
    path = tmp_path / "file"
    path.write_bytes(bytes(file.data))
    command = [
        "tshark",
        "-r",
        str(path),
        "-T",
        "fields",
        "-e",
        "frame.time_epoch",
        "-e",
        "frame.cap_len",
        "-e",
        "frame.len",
    ]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found, error = read(bytes(file.data))
    assert error is None
    assert [row.split("\t")[1:] for row in shown] == [[str(len(each.data)), str(each.length)] for each in found]
    times = [row.split("\t")[0] for row in shown]
    assert [_nanoseconds(text) for text, each in zip(times, found, strict=True) if each.time_ns] == [
        each.time_ns for each in found if each.time_ns
    ]


def _nanoseconds(text: str) -> int:
    seconds, _, fraction = text.partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])
