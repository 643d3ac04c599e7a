"""Captures in any container, from files and pipes."""

import os
from collections.abc import Callable, Iterator
from io import BytesIO, RawIOBase
from threading import Timer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.containers.registry import LOOK, RecordReader, is_capture, records
from mqttpub.capture.types import BadCapture, CaptureRecord
from tests.build.containers import PCAP, RawRecord, Written, one_interface, pcap, up_to_damage, zipped, zstd

PACKETS = [
    RawRecord(number * 1_000_003, bytes([number % 256]) * (number % 70), number % 2) for number in range(1, 1501)
]
PACKING: dict[str, Callable[[bytes], bytes]] = {"gzip": zipped, "zstd": zstd}


def pcapng(packets: list[RawRecord], order: str = "<") -> Written:
    """Return the packets on one interface."""
    file = one_interface(packets, order, resolution=6)
    file.secrets(0x544C534B, b"CLIENT_RANDOM 00 11\n")
    return file.written()


def every() -> Iterator[tuple[tuple[str, ...], Written]]:
    """Yield the same packets in every container."""
    for order in "<>":
        yield from ((("pcap",), pcap(PACKETS, kind=kind, order=order)) for kind in PCAP)
        yield ("pcapng",), pcapng(PACKETS, order)


def read(data: bytes) -> tuple[list[CaptureRecord], BadCapture | None]:
    """Return the records of a file and what is wrong after them."""
    return up_to_damage(lambda: records(BytesIO(data)))


files = st.builds(
    lambda given, order, kind: pcap(given, kind=kind, order=order) if kind else pcapng(given, order),
    st.lists(st.builds(RawRecord, st.integers(1, 10**15), st.binary(max_size=30), st.integers(0, 2)), max_size=6),
    st.sampled_from("<>"),
    st.sampled_from(["", *PCAP]),
)
packings = st.lists(st.sampled_from(["gzip", "zstd"]), max_size=2)


def packed(data: bytes, ways: list[str]) -> bytes:
    """Return data compressed in several ways, one after the other."""
    for way in ways:
        data = PACKING[way](data)
    return data


@pytest.mark.parametrize("ways", [[], ["gzip"], ["zstd"], ["zstd", "gzip"]])
def test_every_container_gives_the_same_records(ways: list[str]) -> None:
    for container, file in every():
        data = packed(file.data, ways)
        assert is_capture(data[:LOOK])
        reader = RecordReader(BytesIO(data))
        found = [*reader]
        assert found == file.records
        assert [record.data for record in found] == [packet.data for packet in PACKETS]
        assert reader.container == (*reversed(ways), *container)
        assert reader.position == len(data)
        assert reader.secrets == ({"TLS key log": 1} if container == ("pcapng",) else {})


def test_files_that_are_not_captures() -> None:
    for text in (b"", b"30 0a", b"\n\r\r\n30 0a 00 03 61 2f", b"\x30\x0a\x00\x03a/bhello", b"\x1f\x8b", b"PK\3\4"):
        assert not is_capture(text)
        found, error = read(text)
        assert found == []
        assert error
        assert error.offset == 0
        assert error.message == (f"no capture begins with {text[:4].hex(' ')}" if text else "the file is empty")
    found, error = read(zipped(b"30 0a"))
    assert (found, str(error)) == ([], "offset 0: no capture begins with 33 30 20 30")


def test_a_file_that_is_compressed_too_often() -> None:
    file = pcap(PACKETS[:3])
    assert read(packed(file.data, ["gzip", "gzip"])) == (file.records, None)
    found, error = read(packed(file.data, ["gzip", "zstd", "gzip"]))
    assert (found, str(error)) == ([], "offset 0: the file is compressed more than 2 times")


@given(files, packings)
def test_all_records_are_read(file: Written, ways: list[str]) -> None:
    assert read(packed(file.data, ways)) == (file.records, None)


@given(files, packings, st.data())
def test_a_cut_leaves_whole_records(file: Written, ways: list[str], data: st.DataObject) -> None:
    whole = packed(file.data, ways)
    found, error = read(whole[: data.draw(st.integers(0, len(whole) - 1))])
    assert found == file.records[: len(found)]
    assert error or not ways
    assert error is None or 0 <= error.offset <= max(len(packed(file.data, ways[:count])) for count in (0, 1))


@pytest.mark.parametrize("way", ["gzip", "zstd"])
def test_a_cut_of_a_compressed_file_is_reported_after_its_records(way: str) -> None:
    file = pcap(PACKETS)
    whole = PACKING[way](file.data)
    found, error = read(whole[:-1])
    assert found == file.records[: len(found)]
    assert len(found) > 1400
    assert str(error) == f"offset {len(file.data)}: the {way} data end too early"


@given(files, packings, st.data())
def test_mutations_are_records_or_a_broken_capture(file: Written, ways: list[str], data: st.DataObject) -> None:
    mutated = bytearray(packed(file.data, ways))
    for at in data.draw(st.lists(st.integers(0, len(mutated) - 1), max_size=4)):
        mutated[at] = data.draw(st.integers(0, 255))
    found, error = read(bytes(mutated))
    assert [record.number for record in found] == [*range(1, len(found) + 1)]
    assert error is None or error.offset >= 0


@given(st.sampled_from([file.data[:28] for _, file in every()]), st.binary(max_size=200))
def test_noise_after_a_beginning(head: bytes, noise: bytes) -> None:
    found, error = read(head + noise)
    assert error or len(found) <= len(noise) // 16


class SlowStream(RawIOBase):
    """A stream that can only be read a little at a time, and not be sought."""

    def __init__(self, data: bytes, size: int) -> None:
        self.source = BytesIO(data)
        self.size = size

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, target: bytearray) -> int:  # type: ignore[override]
        """Give a few bytes."""
        piece = self.source.read(min(self.size, len(target)))
        target[: len(piece)] = piece
        return len(piece)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_streams_without_a_buffer(size: int) -> None:
    for _, file in every():
        end, count = min((end, count) for end, count in file.ends.items() if count >= 50)
        assert [*records(SlowStream(file.data[:end], size))] == file.records[:count]  # type: ignore[arg-type]


@pytest.mark.parametrize("members", [0, 3])
def test_a_pipe_gives_its_records_at_once(members: int) -> None:
    file = pcap(PACKETS[:9])
    data = zipped(file.data, members) if members else file.data
    source, target = os.pipe()
    with open(source, "rb") as stream, open(target, "wb", buffering=0) as writer:
        rescue = Timer(10, writer.close)  # a reader that waits for more than there is gets an end, and fails below
        rescue.start()
        writer.write(data[:-1])
        reader = RecordReader(stream)
        found = iter(reader)
        assert [next(found) for _ in range(5)] == file.records[:5]
        assert reader.position == len(data) - 1
        assert not writer.closed
        rescue.cancel()
        writer.close()
        assert [next(found) for _ in range(3)] == file.records[5:8]
        if members:
            assert next(found) == file.records[8]
        with pytest.raises(BadCapture):
            next(found)


def test_the_position_grows_while_the_records_come() -> None:
    file = pcap([RawRecord(number, bytes(1000)) for number in range(1000)])
    reader = RecordReader(BytesIO(file.data))
    positions = [reader.position for _ in reader]
    assert positions == sorted(positions)
    assert positions[0] <= 1 << 16
    assert len(set(positions)) > 10
    assert reader.position == len(file.data)
