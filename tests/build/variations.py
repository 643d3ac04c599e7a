"""The same frames in other containers, below other link layers, and as other networks deliver them."""

import gzip
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

ETHERNET = 14
"""Bytes of an Ethernet header."""
IPV4 = b"\x08\x00"


class Frame(NamedTuple):
    """What one record holds."""

    time: int
    """Nanoseconds since 1970."""
    data: bytes

    @property
    def ip(self) -> bytes:
        """The IP packet in the Ethernet frame."""
        return self.data[ETHERNET:]

    @property
    def payload(self) -> bytes:
        """The bytes of the TCP segment in it."""
        ip = self.ip[: struct.unpack(">H", self.ip[2:4])[0]]
        tcp = ip[(ip[0] & 15) * 4 :]
        return tcp[(tcp[12] >> 4) * 4 :]

    @property
    def half(self) -> bytes:
        """Addresses and ports, which tell the connection and the direction."""
        return self.ip[12:24]

    def wrapped(self, data: bytes) -> "Frame":
        """Return it with other bytes."""
        return self._replace(data=data)


Frames = list[Frame]


def frames(path: Path) -> Frames:
    """Return the frames of a capture, by way of a pcap that editcap writes."""
    written = path_of(path, lambda target: ["editcap", "-F", "nsecpcap", str(path), str(target)])
    at, found = 24, []
    while at < len(written):
        seconds, nanos, size, _ = struct.unpack_from("<IIII", written, at)
        found.append(Frame(seconds * 10**9 + nanos, written[at + 16 : at + 16 + size]))
        at += 16 + size
    return found


def path_of(path: Path, command: Callable[[Path], list[str]]) -> bytes:
    """Return what a program writes to the file that it is told."""
    target = path.parent / f"{path.name}.made"
    subprocess.run(command(target), check=True, capture_output=True)
    made = target.read_bytes()
    target.unlink()
    return made


# containers


def pcap(given: Iterable[Frame], *, order: str = "<", nano: bool = True, link: int = 1) -> bytes:
    """Return a pcap file."""
    magic, unit = (0xA1B23C4D, 1) if nano else (0xA1B2C3D4, 1000)
    written = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262_144, link)]
    for frame in given:
        size = len(frame.data)
        written.append(struct.pack(order + "IIII", *divmod_time(frame.time, unit), size, size) + frame.data)
    return b"".join(written)


def divmod_time(time: int, unit: int) -> tuple[int, int]:
    """Return a time as seconds and the rest in units of so many nanoseconds."""
    return time // 10**9, time % 10**9 // unit


def pcapng(given: Iterable[Frame], *, order: str = ">", interfaces: int = 1) -> bytes:
    """Return a pcapng file with blocks of kinds that nobody knows, and frames from several interfaces in turn."""
    written = [_block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for number in range(interfaces):
        resolution = struct.pack(order + "HHB3xHH", 9, 1, 9 if number % 2 == 0 else 0x80 | 32, 0, 0)
        written.append(_block(order, 1, struct.pack(order + "HHI", 1, 0, 262_144) + resolution))
        written.append(_block(order, 0x0BAD + number, b"what is this"))
    for index, frame in enumerate(given):
        written.append(_enhanced(order, index % interfaces, frame))
    return b"".join(written)


def _enhanced(order: str, interface: int, frame: Frame) -> bytes:
    # An odd interface counts in 2**-32 of a second, rounded up so that it is the same nanosecond.
    ticks = frame.time if interface % 2 == 0 else -(-frame.time * 2**32 // 10**9)
    head = struct.pack(order + "IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(frame.data), len(frame.data))
    return _block(order, 6, head + frame.data + bytes(-len(frame.data) % 4))


def _block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def zstd(data: bytes) -> bytes:
    """Return bytes as the zstd program compresses them."""
    program = shutil.which("zstd")
    assert program, "the tests need zstd (Debian: apt-get install zstd)"
    return subprocess.run([program, "-q"], input=data, capture_output=True, check=True).stdout


def twice_gzipped(data: bytes) -> bytes:
    """Return gzip in two members."""
    half = len(data) // 2
    return gzip.compress(data[:half]) + gzip.compress(data[half:])


# link layers


def vlan(frame: Frame) -> Frame:
    """Return it in an 802.1Q VLAN."""
    return frame.wrapped(frame.data[:12] + b"\x81\x00\x00\x2a" + frame.data[12:])


def qinq(frame: Frame) -> Frame:
    """Return it in a VLAN in a VLAN."""
    return frame.wrapped(frame.data[:12] + b"\x88\xa8\x00\x07\x81\x00\x00\x2a" + frame.data[12:])


def cooked(frame: Frame) -> Frame:
    """Return it as Linux gives it from every interface at once."""
    return frame.wrapped(struct.pack(">HHH8s", 0, 772, 6, bytes(8)) + IPV4 + frame.ip)


def cooked2(frame: Frame) -> Frame:
    """Return it in the newer form of the same."""
    return frame.wrapped(IPV4 + struct.pack(">HIHBB8s", 0, 1, 772, 0, 6, bytes(8)) + frame.ip)


def raw(frame: Frame) -> Frame:
    """Return the bare IP packet."""
    return frame.wrapped(frame.ip)


def loopback(frame: Frame) -> Frame:
    """Return it as BSD gives it from its loopback interface."""
    return frame.wrapped(b"\x02\x00\x00\x00" + frame.ip)


def open_bsd(frame: Frame) -> Frame:
    """Return it as OpenBSD does."""
    return frame.wrapped(b"\x00\x00\x00\x02" + frame.ip)


def padded(frame: Frame) -> Frame:
    """Return it with bytes behind the IP packet, as Ethernet puts them behind short ones."""
    return frame.wrapped(frame.data + b"\xc0\x00" * 9)


# what networks do


def retransmitted(given: Frames) -> Frames:
    """Return every segment twice."""
    return [each for frame in given for each in ((frame, frame) if frame.payload else (frame,))]


def reordered(given: Frames) -> Frames:
    """Swap segments that follow each other in the same direction, the times staying in order."""
    made = list(given)
    for at in range(1, len(made)):
        first, second = made[at - 1], made[at]
        if first.payload and second.payload and first.half == second.half:
            made[at - 1], made[at] = second._replace(time=first.time), first._replace(time=second.time)
    return made


def cut(given: Frames, size: int = 1) -> Frames:
    """Return all segments cut into pieces of so many bytes."""
    return [each for frame in given for each in (_cut(frame, size) if len(frame.payload) > size else [frame])]


def _cut(frame: Frame, size: int) -> Frames:
    payload = frame.payload
    head = len(frame.ip) - len(payload)
    return [_part(frame, head, at, payload[at : at + size]) for at in range(0, len(payload), size)]


def _part(frame: Frame, head: int, at: int, payload: bytes) -> Frame:
    ip = bytearray(frame.ip[:head])
    tcp = (ip[0] & 15) * 4
    struct.pack_into(">H", ip, 2, head + len(payload))
    struct.pack_into(">I", ip, tcp + 4, (struct.unpack_from(">I", ip, tcp + 4)[0] + at) % 2**32)
    last = at + len(payload) == len(frame.payload)
    if not last:
        ip[tcp + 13] &= ~1
    return frame.wrapped(frame.data[:ETHERNET] + bytes(ip) + payload)


def overlapping(given: Frames) -> Frames:
    """Send every segment byte by byte, and then whole."""
    return [each for frame in given for each in ((*_cut(frame, 1), frame) if len(frame.payload) > 1 else (frame,))]


def fragmented(given: Frames) -> Frames:
    """Return each IP packet in fragments of 24 bytes, the last one first."""
    return [each for number, frame in enumerate(given) for each in _fragments(frame, number)]


def _fragments(frame: Frame, number: int) -> Frames:
    size = (frame.ip[0] & 15) * 4
    head, body = frame.ip[:size], frame.ip[size:]
    made = []
    for at in range(0, len(body), 24):
        piece = body[at : at + 24]
        more = 0x2000 if at + 24 < len(body) else 0
        words = struct.pack(">HHH", size + len(piece), number % 65536, more | at // 8)
        made.append(frame.wrapped(frame.data[:ETHERNET] + head[:2] + words + head[8:] + piece))
    return made[::-1]
