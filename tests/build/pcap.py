"""A small writer of captures: Ethernet, IPv4, TCP; checksums are left at 0."""

import struct
from collections.abc import Iterable
from typing import NamedTuple

from mqttpub.spec.versions import Direction

ETHERNET, IPV4, TCP = 14, 20, 20
HEADERS = ETHERNET + IPV4 + TCP
"""Bytes in front of the payload of a segment."""
LARGEST = 65_495
"""The longest payload that the Total Length of IPv4 leaves room for."""
PORT = 1883


class Segment(NamedTuple):
    """Bytes that one end of a connection sends in one packet of the capture."""

    connection: int
    direction: Direction
    payload: bytes


def pcap(segments: Iterable[Segment], *, port: int = PORT) -> bytes:
    """Return a capture of segments, each in its connection, one millisecond apart."""
    written = bytearray(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 1))
    sent: dict[tuple[int, Direction], int] = {}
    for index, segment in enumerate(segments):
        frame = _frame(segment, sent, port)
        millis = index % 1000
        written += struct.pack("<IIII", 1_700_000_000 + index // 1000, millis * 1000, len(frame), len(frame))
        written += frame
    return bytes(written)


def _frame(segment: Segment, sent: dict[tuple[int, Direction], int], port: int) -> bytes:
    number, direction, payload = segment
    if len(payload) > LARGEST:
        raise ValueError(f"{len(payload)} bytes do not fit a segment ({LARGEST})")
    other = Direction.SERVER if direction is Direction.CLIENT else Direction.CLIENT
    seq = sent.get((number, direction), 1)
    sent[number, direction] = seq + len(payload)
    client = (bytes((10, 0, number >> 8 & 255, number & 255)), 40_000 + number % 20_000)
    server = (bytes((10, 1, 0, 1)), port)
    (source, source_port), (target, target_port) = (
        (client, server) if direction is Direction.CLIENT else (server, client)
    )
    ports = struct.pack(">HHII", source_port, target_port, seq, sent.get((number, other), 1))
    tcp = ports + struct.pack(">BBHHH", TCP // 4 << 4, 0x18, 0xFFFF, 0, 0)
    total = IPV4 + TCP + len(payload)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0x4000, 64, 6, 0) + source + target
    return bytes(6) + b"\0" * 5 + b"\1" + b"\x08\x00" + ip + tcp + payload
