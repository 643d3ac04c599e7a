"""Segments on TLS carry what is within, whatever the IP version and the size."""

from collections.abc import Iterator

import pytest

from mqttpub.capture.network.ip import address
from mqttpub.capture.network.tcp import Reassembler
from mqttpub.capture.protocol.tls import Decrypted
from mqttpub.capture.protocol.tls_records import PlainRecords
from mqttpub.capture.types import CaptureRecord, Chunk, End, Missing, NoKeys
from tests.build.frames import ACK, FIN, Wire, records

HELLO = b"\x16\x03\x01" + bytes(100)
LARGE = bytes(range(256)) * 400


def captured(version: int) -> tuple[list[CaptureRecord], str, str]:
    """Return the records of a connection on TLS: three of handshake, two hellos, one with data, one again, the end."""
    wire, size = Wire(version), len(HELLO)
    packets = [
        *wire.opening(),
        wire.packet(0, 0, HELLO),
        wire.packet(1, 0, HELLO, ack=size),
        wire.packet(0, size, b"\x17\x03\x03" + bytes(50), ack=size),
        wire.packet(0, size, b"\x17\x03\x03" + bytes(50), ack=size),
        wire.packet(0, size + 53, flags=FIN | ACK, ack=size),
        wire.packet(1, size, flags=FIN | ACK, ack=size + 53),
    ]
    source, target = (address(end, port) for end, port in zip(wire.ends[0], wire.ports, strict=True))
    return records(packets), source, target


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("data", [b"small", LARGE], ids=["small", "large"])
def test_segments_carry_what_is_within(version: int, data: bytes) -> None:
    found, source, target = captured(version)
    plain = list(PlainRecords(iter(found), iter([Decrypted(6, None, source, target, data)])))
    assert [(each.number, each.time_ns) for each in plain] == [(each.number, each.time_ns) for each in found]
    assert plain[:3] == found[:3]
    reassembler = Reassembler()
    pieces = [piece for record in plain for piece in reassembler.feed(record)]
    assert [(type(each), each.record) for each in pieces] == [(Chunk, 6), (End, 8), (End, 9)]
    assert pieces[0][-1] == data
    assert not [each for each in pieces if isinstance(each, Missing)]


def test_the_same_ends_without_tls_later() -> None:
    found, source, target = captured(4)
    wire = Wire(4, isn=(5_000_000, 6_000_000))
    again = [*wire.opening(), wire.packet(0, 0, b"\x10\x00")]
    numbered = [each._replace(number=number) for number, each in enumerate([*found, *records(again)], 1)]
    plain = list(PlainRecords(iter(numbered), iter([Decrypted(6, None, source, target, b"x")])))
    assert plain[-4:] == numbered[-4:]


def test_why_nothing_more_is_within_is_there_to_be_shown() -> None:
    found, source, target = captured(4)

    def failing() -> Iterator[Decrypted]:
        yield Decrypted(6, None, source, target, b"x")
        raise NoKeys("it ended")

    reading = PlainRecords(iter(found), failing())
    assert len(list(reading)) == len(found)
    assert reading.problem == "it ended"
