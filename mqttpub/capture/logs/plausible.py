"""Whether bytes that were found in a text are packets: how far they can be cut, and how sure that makes it."""

from enum import IntEnum
from typing import NamedTuple

from ...codec.framing import frame_length
from ...spec.versions import Version
from ...wire.cursor import Overlong
from ..protocol.evidence import clean
from ..text.digits import begins_packet

_CONNECT, _PUBLISH, _SUBSCRIBE, _UNSUBSCRIBE = 1, 3, 8, 10
_SHORT = {4: 4, 5: 4, 6: 4, 7: 4, 11: 4, 12: 2, 13: 2}
"""Bytes of the packets that have one length before 5.0."""
_NAMES = (b"\0\4MQTT", b"\0\6MQIsdp")


class Grade(IntEnum):
    """How sure it is that some bytes are meant as a packet."""

    NONE = 0
    """They cannot be cut into packets."""
    OPEN = 1
    """They begin with a packet, of which the rest may follow."""
    FRAMED = 2
    """Their length is that of packets, but one has an error."""
    WEAK = 3
    """Packets without errors, all so short that other numbers may look the same."""
    STRONG = 4
    """Packets without errors, one of which has a name that can be read."""


class CutBytes(NamedTuple):
    """What bytes can be cut into."""

    grade: Grade
    whole: int
    """Bytes of the whole packets at the beginning."""
    needed: int = 0
    """Bytes of the packet after them."""


def cut_bytes(data: bytes | bytearray) -> CutBytes:
    """Cut bytes into packets, the first of which begins with the first byte."""
    at, size, grade = 0, len(data), Grade.NONE
    errors = False
    while at < size:
        length = _length(data, at)
        if length is not None and at == 0 and length == size and data[0] >> 4:
            # All of it is one packet, perhaps of a device that sets the wrong flags.
            errors = not begins_packet(data[0])
        elif length is None or not begins_packet(data[at]):
            return CutBytes(Grade.NONE, at)
        if at + length > size:
            rest = bytes(data[at : at + 64])
            return CutBytes(Grade.OPEN if may_go_on(rest, length) else Grade.NONE, at, length)
        packet = bytes(data[at : at + length])
        if not (clean(packet, Version.V5) or clean(packet, Version.V311)):
            errors = True
        elif grade is not Grade.STRONG:
            grade = Grade.STRONG if _named(packet) else Grade.WEAK
        at += length
    return CutBytes(Grade.FRAMED if errors else grade, at)


def _length(data: bytes | bytearray, at: int) -> int | None:
    """Return the length of the packet at a place, one byte more than there are if that is not known; None for none."""
    try:
        length = frame_length(data, at)
    except Overlong:
        return None
    return len(data) - at + 1 if length is None else length


def may_go_on(begun: bytes, length: int) -> bool:
    """Whether the first bytes of a packet may be those of one of this length: what can be compared so far fits."""
    code, header = begun[0] >> 4, _header(begun)
    if not begins_packet(begun[0]):
        return False
    if not header:
        return True
    body, size = begun[header:], length - header
    if code in _SHORT and size > 64 + _SHORT[code]:
        return False
    if code in (12, 13) or size < 2:
        return size >= 2
    if code == _CONNECT:
        return any(name.startswith(body[: len(name)]) for name in _NAMES)
    if code == _PUBLISH:
        return _topic_fits(body, size)
    if code in (_SUBSCRIBE, _UNSUBSCRIBE):
        return size >= 5
    return code != 2 or size < 1 << 14


def _header(begun: bytes) -> int:
    for at in range(1, min(5, len(begun))):
        if begun[at] < 0x80:
            return at + 1
    return 0


def _topic_fits(body: bytes, size: int) -> bool:
    if len(body) < 2:
        return not body or body[0] <= size >> 8
    length = int.from_bytes(body[:2], "big")
    return length + 2 <= size and all(byte >= 0x20 and byte != 0x7F for byte in body[2 : 2 + length])


def _named(packet: bytes) -> bool:
    """Whether a packet has a topic or a protocol name that can be read, so that it is one by no accident."""
    code, header = packet[0] >> 4, _header(packet)
    if code == _CONNECT:
        return True
    if code == _PUBLISH:
        size = int.from_bytes(packet[header : header + 2], "big")
        topic = packet[header + 2 : header + 2 + size]
        return size > 0 and all(byte >= 0x20 for byte in topic)
    return code in (_SUBSCRIBE, _UNSUBSCRIBE)
