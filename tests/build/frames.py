"""Builds frames of captures, from TCP segments up to link layers; checksums are left at 0."""

import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from mqttpub.capture.types import CaptureRecord
from mqttpub.common.times import SECOND_NS
from mqttpub.spec.versions import Direction

FIN, SYN, RST, PUSH, ACK, URGENT = 1, 2, 4, 8, 16, 32
TCP, UDP = 6, 17
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION = 0, 43, 44, 51, 60

TIMESTAMPS = b"\x01\x01\x08\x0a" + bytes(8)
"""Options of TCP that most segments of Linux have."""
ROUTER_ALERT = b"\x94\x04\0\0"
"""An option of IPv4."""


# TCP


def tcp(
    ports: tuple[int, int], seq: int, ack: int, flags: int, payload: bytes, *, options: bytes = b"", urgent: int = 0
) -> bytes:
    """Return a TCP segment."""
    size = (20 + len(options)) // 4 << 12
    fixed = struct.pack(">HHIIHHHH", *ports, seq % 2**32, ack % 2**32, size | flags, 0xFFFF, 0, urgent)
    return fixed + options + payload


# IP


def ipv4(
    ends: tuple[bytes, bytes],
    payload: bytes,
    *,
    protocol: int = TCP,
    options: bytes = b"",
    id: int = 0,
    first: int = 0,
    more: bool = False,
    total: int | None = None,
) -> bytes:
    """Return an IPv4 packet, or a fragment of one that begins at byte `first`."""
    size = 20 + len(options)
    length = size + len(payload) if total is None else total
    fragment = first // 8 | (0x2000 if more else 0)
    fixed = struct.pack(">BBHHHBBH", 0x40 | size // 4, 0, length, id, fragment, 64, protocol, 0)
    return fixed + ends[0] + ends[1] + options + payload


def ipv6(
    ends: tuple[bytes, bytes],
    payload: bytes,
    *,
    protocol: int = TCP,
    extensions: Iterable[tuple[int, bytes]] = (),
    length: int | None = None,
    traffic_class: int = 0,
) -> bytes:
    """Return an IPv6 packet; of extension headers the type and what follows the Next Header field."""
    for kind, body in reversed(list(extensions)):
        payload = bytes([protocol]) + body + payload
        protocol = kind
    size = len(payload) if length is None else length
    return struct.pack(">IHBB", 6 << 28 | traffic_class << 20, size, protocol, 64) + ends[0] + ends[1] + payload


def options6(size: int = 8) -> bytes:
    """Return the body of an extension header with padding in so many bytes, the Next Header field included."""
    return bytes([size // 8 - 1, 1, size - 4]) + bytes(size - 4)


def authentication(size: int = 24) -> bytes:
    """Return the body of an Authentication Header of so many bytes."""
    return bytes([size // 4 - 2]) + bytes(size - 2)


def cuts(payload: bytes, places: Iterable[int]) -> Iterator[tuple[int, bytes, bool]]:
    """Yield start, bytes and whether more follow of the parts of a payload that is cut at multiples of 8."""
    edges = [0, *sorted({place // 8 * 8 for place in places} & set(range(1, len(payload)))), len(payload)]
    for start, end in pairwise(edges):
        yield start, payload[start:end], end < len(payload)


def fragments4(ends: tuple[bytes, bytes], payload: bytes, places: Iterable[int], id: int) -> list[bytes]:
    """Return an IPv4 packet in fragments."""
    return [ipv4(ends, part, id=id, first=start, more=more) for start, part, more in cuts(payload, places)]


def fragments6(
    ends: tuple[bytes, bytes], payload: bytes, places: Iterable[int], id: int, *, protocol: int = TCP
) -> list[bytes]:
    """Return an IPv6 packet in fragments."""
    return [
        ipv6(ends, part, protocol=protocol, extensions=[(FRAGMENT, struct.pack(">BHI", 0, start | more, id))])
        for start, part, more in cuts(payload, places)
    ]


# link layers


def _kind(ip: bytes) -> bytes:
    return b"\x86\xdd" if ip[0] >> 4 == 6 else b"\x08\x00"


_MACS = bytes.fromhex("020000000002 020000000001")


def ethernet(ip: bytes) -> bytes:
    """Return an Ethernet frame, padded to its shortest length."""
    return (_MACS + _kind(ip) + ip).ljust(60, b"\xee")


def vlan(ip: bytes, *tags: int) -> bytes:
    """Return an Ethernet frame with tags of these types, 0x8100 or others, from the outside in."""
    stack = b"".join(struct.pack(">HH", tag, 100 + index) for index, tag in enumerate(tags or (0x8100,)))
    return _MACS + stack + _kind(ip) + ip


def qinq(ip: bytes) -> bytes:
    """Return an Ethernet frame with an outer and an inner tag."""
    return vlan(ip, 0x88A8, 0x8100)


def old_qinq(ip: bytes) -> bytes:
    """Return an Ethernet frame with three tags."""
    return vlan(ip, 0x9100, 0x9100, 0x8100)


def pppoe(ip: bytes) -> bytes:
    """Return a PPPoE session frame."""
    kind = 0x57 if ip[0] >> 4 == 6 else 0x21
    return _MACS + struct.pack(">HBBHHH", 0x8864, 0x11, 0, 1, len(ip) + 2, kind) + ip


def snap(ip: bytes) -> bytes:
    """Return an 802.3 frame with LLC and SNAP."""
    return _MACS + struct.pack(">H", len(ip) + 8) + b"\xaa\xaa\x03\0\0\0" + _kind(ip) + ip


def cooked(ip: bytes) -> bytes:
    """Return a frame of Linux cooked capture."""
    return struct.pack(">HHH", 0, 1, 6) + _MACS[:6] + b"\0\0" + _kind(ip) + ip


def cooked2(ip: bytes) -> bytes:
    """Return a frame of Linux cooked capture, version 2."""
    return _kind(ip) + struct.pack(">HIHBB", 0, 2, 1, 0, 6) + _MACS[:6] + b"\0\0" + ip


def raw(ip: bytes) -> bytes:
    """Return the packet itself."""
    return ip


def _loopback(order: str, family6: int) -> Callable[[bytes], bytes]:
    return lambda ip: struct.pack(f"{order}I", family6 if ip[0] >> 4 == 6 else 2) + ip


class LinkLayer(NamedTuple):
    """A way to put IP packets into records."""

    type: int
    frame: Callable[[bytes], bytes]


LINKS = {
    "Ethernet": LinkLayer(1, ethernet),
    "VLAN": LinkLayer(1, vlan),
    "QinQ": LinkLayer(1, qinq),
    "three tags": LinkLayer(1, old_qinq),
    "PPPoE": LinkLayer(1, pppoe),
    "SNAP": LinkLayer(1, snap),
    "Linux cooked": LinkLayer(113, cooked),
    "Linux cooked v2": LinkLayer(276, cooked2),
    "raw IP": LinkLayer(101, raw),
    "raw IP, 12": LinkLayer(12, raw),
    "raw IP, 14": LinkLayer(14, raw),
    "loopback of macOS": LinkLayer(0, _loopback("<", 30)),
    "loopback of FreeBSD": LinkLayer(0, _loopback("<", 28)),
    "loopback of NetBSD and OpenBSD": LinkLayer(0, _loopback("<", 24)),
    "loopback of Windows": LinkLayer(0, _loopback("<", 23)),
    "loopback of Linux": LinkLayer(0, _loopback("<", 10)),
    "loopback, other byte order": LinkLayer(0, _loopback(">", 30)),
    "loopback of OpenBSD": LinkLayer(108, _loopback(">", 24)),
}
ONE_VERSION = {4: LinkLayer(228, raw), 6: LinkLayer(229, raw)}
"""Raw IPv4 and raw IPv6."""


# connections

CLIENT = (b"\x0a\0\0\1", bytes.fromhex("fd00000000000000000000000000000a"), 50_000)
BROKER = (b"\x0a\0\0\2", bytes.fromhex("fd00000000000000000000000000000b"), 1883)


class Wire:
    """A TCP connection whose packets are built one by one; places count from the first byte of each side's stream."""

    def __init__(
        self, version: int = 4, *, isn: tuple[int, int] = (1000, 77_000), port: int = CLIENT[2], options: bytes = b"",
        ends: tuple[bytes, bytes] | None = None, server_port: int = BROKER[2],
    ) -> None:  # fmt: skip
        self.version = version
        self.isn = isn
        self.ports = (port, server_port)
        self.options = options
        ends = ends or ((CLIENT[0], BROKER[0]) if version == 4 else (CLIENT[1], BROKER[1]))
        self.ends = (ends, ends[::-1])

    def segment(
        self, side: int, at: int, payload: bytes = b"", *, flags: int = ACK, ack: int = 0, **more: int
    ) -> bytes:
        """Return the TCP segment that a side sends, having got `ack` bytes of the other side."""
        ports = self.ports if side == 0 else self.ports[::-1]
        number = self.isn[1 - side] + 1 + ack if flags & ACK else 0
        return tcp(ports, self.isn[side] + 1 + at, number, flags, payload, options=self.options, **more)

    def packet(self, side: int, at: int, payload: bytes = b"", *, flags: int = ACK, ack: int = 0) -> bytes:
        """Return the IP packet of such a segment."""
        segment = self.segment(side, at, payload, flags=flags, ack=ack)
        return (ipv4 if self.version == 4 else ipv6)(self.ends[side], segment)

    def opening(self) -> list[bytes]:
        """Return the packets of the three-way handshake."""
        return [
            self.packet(0, -1, flags=SYN),
            self.packet(1, -1, flags=SYN | ACK),
            self.packet(0, 0),
        ]


# records and captures

START = 1_700_000_000_000_000_000
MILLISECOND = 1_000_000


def records(packets: Iterable[bytes], link: LinkLayer = LINKS["Ethernet"]) -> list[CaptureRecord]:
    """Return records of IP packets, one millisecond apart."""
    frames = [link.frame(packet) for packet in packets]
    return [
        CaptureRecord(index, START + index * MILLISECOND, link.type, frame, len(frame))
        for index, frame in enumerate(frames, start=1)
    ]


def pcap(written: Iterable[CaptureRecord], link: int = 1) -> bytes:
    """Return a capture file with records of one link type."""
    file = bytearray(struct.pack("<IHHiIII", 0xA1B2_3C4D, 2, 4, 0, 0, 0x40000, link))
    for record in written:
        seconds, nanoseconds = divmod(record.time_ns or 0, SECOND_NS)
        file += struct.pack("<IIII", seconds, nanoseconds, len(record.data), record.length) + record.data
    return bytes(file)


HEADERS = 14 + 20 + 20
"""Bytes of Ethernet, IPv4 and TCP before a payload."""
LARGEST = 65_495
"""The longest payload that the Total Length of IPv4 leaves room for."""
PORT = 1883


class SentSegment(NamedTuple):
    """Bytes that one end of a connection sends in one packet of the capture."""

    connection: int
    direction: Direction
    payload: bytes


def numbered(number: int, *, port: int = PORT) -> Wire:
    """Return a connection with addresses and ports that follow from its number."""
    ends = bytes((10, 0, number >> 8 & 255, number & 255)), bytes((10, 1, 0, 1))
    return Wire(isn=(0, 0), ends=ends, port=40_000 + number % 20_000, server_port=port)


def pcap_of(segments: Iterable[SentSegment], *, port: int = PORT) -> bytes:
    """Return a capture of segments, each in its connection, one millisecond apart."""
    wires: dict[int, tuple[Wire, list[int]]] = {}

    def packets() -> Iterator[bytes]:
        for number, direction, payload in segments:
            wire, sent = wires.setdefault(number, (numbered(number, port=port), [0, 0]))
            side = int(direction is Direction.SERVER)
            yield wire.packet(side, sent[side], payload, flags=PUSH | ACK, ack=sent[1 - side])
            sent[side] += len(payload)

    return pcap(records(packets()))
