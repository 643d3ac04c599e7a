"""The same frames in other containers, below other link layers, and as other networks deliver them."""

import shutil
import struct
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from tests.build import containers
from tests.build.containers import RawRecord
from tests.build.frames import LinkLayer

ETHERNET = 14
"""Bytes of an Ethernet header."""


class CapturedFrame(NamedTuple):
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

    def wrapped(self, data: bytes) -> "CapturedFrame":
        """Return it with other bytes."""
        return self._replace(data=data)


Frames = list[CapturedFrame]


def frames(path: Path) -> Frames:
    """Return the frames of a capture, by way of a pcap that editcap writes."""
    written = path_of(path, lambda target: ["editcap", "-F", "nsecpcap", str(path), str(target)])
    at, found = 24, []
    while at < len(written):
        seconds, nanos, size, _ = struct.unpack_from("<IIII", written, at)
        found.append(CapturedFrame(seconds * 10**9 + nanos, written[at + 16 : at + 16 + size]))
        at += 16 + size
    return found


def path_of(path: Path, command: Callable[[Path], list[str]]) -> bytes:
    """Return the file that a program writes."""
    target = path.parent / f"{path.name}.made"
    subprocess.run(command(target), check=True, capture_output=True)
    made = target.read_bytes()
    target.unlink()
    return made


# containers


def pcap(given: Iterable[CapturedFrame], *, order: str = "<", kind: str = "nano", link: int = 1) -> bytes:
    """Return a pcap file."""
    tick_ns = containers.PCAP[kind][1]
    packets = (RawRecord(frame.time // tick_ns, frame.data) for frame in given)
    return containers.pcap(packets, kind=kind, order=order, link=link).data


def pcapng(given: Iterable[CapturedFrame], *, order: str = ">", interfaces: int = 1) -> bytes:
    """Return a pcapng file with blocks of unknown types, and frames from several interfaces in turn."""
    file = containers.Pcapng()
    file.section(order)
    for number in range(interfaces):
        file.interface(1, 262_144, 9 if number % 2 == 0 else 0x80 | 32)
        file.block(0x0BAD + number, b"what is this")
    for index, frame in enumerate(given):
        interface = index % interfaces
        # An odd interface counts in 2**-32 of a second, rounded up so that it is the same nanosecond.
        ticks = frame.time if interface % 2 == 0 else -(-frame.time * 2**32 // 10**9)
        file.enhanced(interface, RawRecord(ticks, frame.data))
    return file.written().data


def zstd(data: bytes) -> bytes:
    """Return bytes as the zstd program compresses them."""
    program = shutil.which("zstd")
    assert program, "the tests need zstd (Debian: apt-get install zstd)"
    return subprocess.run([program, "-q"], input=data, capture_output=True, check=True).stdout


# link layers


def on(link: LinkLayer) -> Callable[[CapturedFrame], CapturedFrame]:
    """Return a function that puts the IP packet of a frame on another link layer."""
    return lambda frame: frame.wrapped(link.frame(frame.ip))


def padded(frame: CapturedFrame) -> CapturedFrame:
    """Return it with bytes after the IP packet, as Ethernet pads short frames."""
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


def _cut(frame: CapturedFrame, size: int) -> Frames:
    payload = frame.payload
    head = len(frame.ip) - len(payload)
    return [_part(frame, head, at, payload[at : at + size]) for at in range(0, len(payload), size)]


def _part(frame: CapturedFrame, head: int, at: int, payload: bytes) -> CapturedFrame:
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


def _fragments(frame: CapturedFrame, number: int) -> Frames:
    size = (frame.ip[0] & 15) * 4
    head, body = frame.ip[:size], frame.ip[size:]
    made = []
    for at in range(0, len(body), 24):
        piece = body[at : at + 24]
        more = 0x2000 if at + 24 < len(body) else 0
        words = struct.pack(">HHH", size + len(piece), number % 65536, more | at // 8)
        made.append(frame.wrapped(frame.data[:ETHERNET] + head[:2] + words + head[8:] + piece))
    return made[::-1]
