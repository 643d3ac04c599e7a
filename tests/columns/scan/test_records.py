"""Records in columns are those that are read one by one."""

import io
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from random import Random
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.containers import pcapng
from mqttpub.capture.containers import registry as scalar
from mqttpub.capture.containers.buffer import PIECE
from mqttpub.capture.containers.pcap import LARGEST, PcapFile
from mqttpub.capture.network.link import NotTcp, ip_start
from mqttpub.capture.network.tcp import opposite
from mqttpub.capture.types import CaptureRecord
from mqttpub.columns.arrays import NO_TIME, Integers
from mqttpub.columns.reassemble.headers import Segments, segments
from mqttpub.columns.scan import records as scan
from mqttpub.columns.scan.buckets import SLOTS, Bucket, table
from mqttpub.columns.scan.records import BLOCK, MOST_BLOCK, Records, reader, records
from tests.build.containers import (
    PCAP,
    Pcapng,
    RawRecord,
    Written,
    damaged,
    one_interface,
    pcap,
    up_to_damage,
    zipped,
    zstd,
)
from tests.build.frames import LINKS, Wire
from tests.build.frames import records as framed
from tests.build.troubled_captures import troubled

packets = st.lists(
    st.builds(RawRecord, st.integers(1, 2**31 * 10**6), st.binary(max_size=90), st.integers(0, 99)), max_size=40
)
START = 1_700_000_000 * 10**6
blocks = st.sampled_from((1, 64, 1000, BLOCK))


def listed(blocks: Iterable[Records]) -> Iterator[CaptureRecord]:
    """Yield records one by one."""
    number = 0
    for found in blocks:
        columns = (found.start, found.end, found.length, found.time, found.link)
        for start, end, length, time, link in zip(*(column.tolist() for column in columns), strict=True):
            number += 1
            when = None if time == NO_TIME else time
            yield CaptureRecord(number, when, link, bytes(found.data[start:end]), length)


def read(data: bytes, block: int) -> tuple[list[CaptureRecord], str]:
    """Return the records of a file, and why it is broken: the same, however many follow one another."""

    def described() -> tuple[list[CaptureRecord], str]:
        return _described(lambda: listed(records(reader(io.BytesIO(data)), Counter(), block=block)))

    with mock.patch.object(scan, "FEWEST", 1):
        in_columns = described()
    assert described() == in_columns
    return in_columns


def within_range(record: CaptureRecord) -> CaptureRecord:
    """Return a record whose time is left out where columns have no place for it, from the year 2262 on."""
    return record if record.time_ns is None or record.time_ns < 1 << 63 else record._replace(time_ns=None)


def one_by_one(data: bytes) -> tuple[list[CaptureRecord], str]:
    return _described(lambda: map(within_range, scalar.records(io.BytesIO(data))))


def _described(read: Callable[[], Iterable[CaptureRecord]]) -> tuple[list[CaptureRecord], str]:
    whole, error = up_to_damage(read)
    return whole, str(error or "")


@pytest.mark.slow
@settings(max_examples=30)
@given(packets, st.sampled_from(sorted(PCAP)), st.sampled_from("<>"), blocks, st.data())
def test_pcap(given: list[RawRecord], kind: str, order: str, block: int, data: st.DataObject) -> None:
    written = pcap(given, kind=kind, order=order, link=101)
    assert read(written.data, block) == (written.records, "")
    cut = written.data[: data.draw(st.integers(0, len(written.data)))]
    assert read(cut, block) == one_by_one(cut)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", sorted(PCAP))
@pytest.mark.parametrize("every", [3, 90, 500])
def test_many_records_of_pcap_are_found_at_once(
    kind: str, order: str, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    many = scan._walk_many

    def counted(data: bytes, at: int, file: PcapFile) -> tuple[Integers, int]:
        found = many(data, at, file)
        taken.append(len(found[0]))
        return found

    monkeypatch.setattr(scan, "_walk_many", counted)
    usual = RawRecord(START, b"x" * 30)
    bait = pcap([usual] * 2, kind=kind, order=order).data[24:]
    given = [
        RawRecord(START + 10**13 * (number // every), bait if number == 200 else bytes(number % 50), number % 99)
        for number in range(600)
    ]
    written = pcap(given, kind=kind, order=order, link=101)
    for block in (2000, BLOCK):
        assert read(written.data, block) == one_by_one(written.data)
    assert every == 90 or (max(taken) > 200) == (every == 500)
    assert read(written.data[:-7], BLOCK) == one_by_one(written.data[:-7])


@st.composite
def sections(draw: st.DrawFn) -> Written:
    """Return a pcapng with blocks of all kinds."""
    file = Pcapng()
    resolution = st.sampled_from((None, 0, 3, 6, 9, 12, 0x80 | 10, 0x80 | 32))
    for _ in range(draw(st.integers(1, 3))):
        file.section(draw(st.sampled_from("<>")))
        for link in draw(st.lists(st.sampled_from((0, 1, 101)), min_size=1, max_size=3)):
            file.interface(link, draw(st.sampled_from((0, 20))), draw(resolution), draw(st.sampled_from((None, 7, -7))))
        for kind in draw(st.lists(st.sampled_from("eeeeeosbk"), max_size=30)):
            packet = RawRecord(draw(st.integers(0, 2**64 - 1) | st.integers(0, 2**51)), draw(st.binary(max_size=50)))
            number = draw(st.integers(0, len(file.interfaces) - 1))
            if kind in "eo":
                (file.enhanced if kind == "e" else file.obsolete)(number, packet)
            elif kind == "s":
                file.simple(packet.data)
            elif kind == "b":
                file.block(0xBAD, packet.data)
            else:
                file.secrets(0x544C534B, b"CLIENT_RANDOM 1 2\n")
    return file.written()


@settings(max_examples=30)
@given(sections(), blocks, st.data())
def test_pcapng(written: Written, block: int, data: st.DataObject) -> None:
    assert read(written.data, block) == (list(map(within_range, written.records)), "")
    broken = bytearray(written.data[: data.draw(st.integers(1, len(written.data)))])
    for place in data.draw(st.lists(st.integers(0, len(broken) - 1), max_size=2)):
        broken[place] ^= data.draw(st.integers(1, 255))
    assert read(bytes(broken), block) == one_by_one(bytes(broken))


def test_compressed_files_and_those_that_are_compressed_too_often() -> None:
    written = pcap([RawRecord(1, b"one"), RawRecord(2, b"two")])
    assert read(zipped(zipped(written.data), 2), 1) == (written.records, "")
    assert read(zipped(zipped(zipped(written.data))), 1)[1] == one_by_one(zipped(zipped(zipped(written.data))))[1] != ""
    assert read(b"", 1)[1] == one_by_one(b"")[1] != ""


def test_keys_are_counted() -> None:
    file = Pcapng()
    file.section()
    file.secrets(0x544C534B, b"CLIENT_RANDOM 1 2\nCLIENT_RANDOM 3 4\n")
    counted: Counter[str] = Counter()
    assert list(records(reader(io.BytesIO(file.written().data)), counted)) == []
    assert counted == {"TLS key log": 2}


def test_many_small_blocks_do_not_move_the_whole_buffer_each_time() -> None:
    file = one_interface()
    for number in range(3000):
        file.enhanced(0, RawRecord(number, bytes(200)))
        file.block(0xBAD, b"")
    copied = 0

    class Noted(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            nonlocal copied
            copied += 1
            return super().read1(size)

    given = Noted(file.written().data)
    assert sum(map(len, records(reader(given), Counter()))) == 3000
    assert copied < 30


def test_small_sections_come_together() -> None:
    file = Pcapng()
    for number in range(2000):
        file.section()
        file.interface(101)
        file.enhanced(0, RawRecord(number, b""))
    assert [len(each) for each in records(reader(io.BytesIO(file.written().data)), Counter())] == [2000]


# headers


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("version", [4, 6])
def test_segments_below_every_link(link: str, version: int) -> None:
    wire = Wire(version)
    packets = [*wire.opening(), wire.packet(0, 0, b"hello"), wire.packet(1, 0, b"", ack=5)]
    found = pcap([RawRecord(0, each.data) for each in framed(packets, LINKS[link])], link=LINKS[link].type)
    (block,) = records(reader(io.BytesIO(found.data)), Counter())
    parts = segments(block)
    if link == "SNAP":
        assert parts.alone.tolist() == [0, 1, 2, 3, 4]
        return
    # That of three tags is looked at by itself.
    if link == "three tags":
        assert parts.alone.tolist() == [0, 1, 2, 3, 4]
        return
    assert parts.alone.tolist() == []
    assert parts.sender[3] ^ 1 == parts.sender[4]
    assert parts.plain.tolist() == [False, False, True, True, True]
    assert block.data[parts.start[3] : parts.end[3]] == b"hello"
    assert (parts.seq[3], parts.ack[3]) == (1001, 77_001)
    assert (parts.seq[4], parts.ack[4]) == (77_001, 1006)
    assert len(parts.flows) == 1


@pytest.mark.slow
@settings(max_examples=12)
@given(troubled(), st.integers(2, 5), st.booleans())
def test_the_segments_of_a_bucket_are_those_of_its_connections(data: bytes, parts: int, with_table: bool) -> None:
    made = table([(index * 37) % 11 for index in range(SLOTS)], parts) if with_table else b""
    for block in records(reader(io.BytesIO(data)), Counter()):
        whole = segments(block)
        for number in range(parts):
            bucket = Bucket(number, parts, made)
            found = segments(block, bucket)
            assert (found.not_ip, found.not_tcp) == (whole.not_ip, whole.not_tcp)
            assert found.alone.tolist() == whole.alone.tolist()
            mine = [key is not None and bucket.holds(key) for key in _keys(whole)]
            assert _keys(found) == [key if own else None for key, own in zip(_keys(whole), mine, strict=True)]
            for name in ("plain", "start", "end", "seq", "ack"):
                assert getattr(found, name)[mine].tolist() == getattr(whole, name)[mine].tolist()


def _keys(found: Segments) -> list[bytes | None]:
    """Return addresses and ports of each record as its sender has them."""
    ways = [way for key in found.flows for way in (key, opposite(key))]
    return [ways[sender] if sender >= 0 else None for sender in found.sender.tolist()]


@pytest.mark.parametrize("size", [10, 1480, 1600, 8000])
def test_frames_with_snap_are_read_for_any_length_field(size: int) -> None:
    wire = Wire()
    frame = LINKS["SNAP"].frame(wire.packet(0, 0, bytes(size)))
    assert ip_start(1, frame) == 22
    # Behind the type of something else this may be anything.
    assert int.from_bytes(frame[12:14]) == size + 48
    with pytest.raises(NotTcp, match="not IP"):
        ip_start(1, frame[:20] + b"\x08\x06" + frame[22:])
    with pytest.raises(NotTcp, match="not IP"):
        ip_start(1, frame[:12] + b"\x88\x64" + frame[14:])


def test_a_block_is_never_too_long_for_offsets_of_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    made = pcap([RawRecord(number, bytes(900)) for number in range(2000)])
    monkeypatch.setattr(scan, "MOST_BLOCK", 100_000)
    found = list(records(reader(io.BytesIO(made.data)), Counter(), block=1 << 40))
    assert max(len(each.data) for each in found) <= 100_000 + PIECE + 916
    assert sum(map(len, found)) == 2000
    assert MOST_BLOCK + PIECE + max(LARGEST, pcapng.LARGEST) < 1 << 31


@st.composite
def damaged_captures(draw: st.DrawFn) -> bytes:
    """Return captures of which a part is damaged."""
    random = Random(draw(st.integers(0, 10**9)))
    step, longest = draw(st.sampled_from((1, 900, 10**6))), draw(st.sampled_from((90, 1400)))
    given = [RawRecord(START + step * n, random.randbytes(random.randrange(longest)), n % 3) for n in range(200)]
    if kind := draw(st.sampled_from(("", *PCAP))):
        return damaged(random, pcap(given, kind=kind, order=draw(st.sampled_from("<>"))).data)
    file = Pcapng()
    for part in range(2):
        file.section(draw(st.sampled_from("<>")))
        file.interface()
        for packet in given[part::2]:
            if random.randrange(30):
                file.enhanced(0, packet)
            else:
                file.block(0xBAD, packet.data * 50)
    return damaged(random, bytes(file.data))


@settings(max_examples=20)
@given(damaged_captures(), st.integers(0, 10**9), st.booleans(), blocks)
def test_damaged_members(data: bytes, seed: int, zstandard: bool, block: int) -> None:
    pressed = damaged(Random(seed), (zstd if zstandard else zipped)(data, 7), 4)
    assert read(pressed, block) == one_by_one(pressed)


@pytest.mark.slow
@settings(max_examples=60)
@given(damaged_captures(), blocks)
def test_damaged_captures(data: bytes, block: int) -> None:
    assert read(data, block) == one_by_one(data)


def test_a_file_of_an_unknown_version() -> None:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 3, 0, 0, 0, 0, 1)
    assert read(head, BLOCK) == one_by_one(head)
    assert read(head, BLOCK)[1] == "offset 4: version 3.0 of pcap is unknown"


@pytest.mark.slow
@settings(max_examples=20)
@given(troubled(), blocks)
def test_troubled_captures(data: bytes, block: int) -> None:
    assert read(data, block) == one_by_one(data)


@pytest.mark.parametrize("field", [1, 5, -1], ids=["length", "captured length", "length at the end"])
@pytest.mark.parametrize("order", "<>")
def test_blocks_that_contradict_themselves(field: int, order: str) -> None:
    file = one_interface(order=order)
    ends = []
    for number in range(9):
        file.enhanced(0, RawRecord(number, bytes(24)))
        ends.append(len(file.data))
    broken = bytearray(file.data)
    start, stop = ends[4], ends[5]
    place = start + 4 * field if field > 0 else stop - 4
    broken[place : place + 4] = struct.pack(order + "I", 60)
    found, why = read(bytes(broken), BLOCK)
    assert (found, why) == one_by_one(bytes(broken))
    assert len(found) == 8
    assert f"offset {start}: " in why
    assert f" ({stop - start} bytes skipped)" in why


@pytest.mark.parametrize("index", [1, 2**31 - 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("order", "<>")
def test_interfaces_that_are_not_described(index: int, order: str) -> None:
    file = one_interface(order=order)
    ends = []
    for number in range(9):
        ends.append(len(file.data))
        file.enhanced(0, RawRecord(number, bytes(24)))
    file.data[ends[4] + 8 : ends[4] + 12] = struct.pack(order + "I", index)
    found, why = read(bytes(file.data), BLOCK)
    assert (found, why) == one_by_one(bytes(file.data))
    assert len(found) == 8
    assert f"a packet names interface {index}," in why
