"""The place of the IP packet in a frame."""

from collections.abc import Callable
from functools import partial
from struct import Struct, error


class NotTcp(Exception):
    """A record holds no TCP segment; the reason completes "12 records are ..."."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def ip_start(link: int, data: bytes) -> int:
    """Return the offset of the IP header in a frame of a LINKTYPE_ value; raises NotTcp."""
    find = _FINDERS.get(link)
    if find is None:
        raise NotTcp(f"of link type {link}, which is not supported")
    try:
        return find(data)
    except error:
        raise NotTcp("cut short before the IP header") from None


_U16 = Struct(">H").unpack_from
_NOT_IP = "not IP"

IP = (0x0800, 0x86DD)
"""EtherTypes of version 4 and 6."""
TAGS = (0x8100, 0x88A8, 0x9100)
"""802.1Q, 802.1ad (QinQ), and the number that was used for QinQ before it had its own."""
PPPOE = 0x8864
"""EtherType of PPPoE sessions."""
_PPP_IP = (0x0021, 0x0057)
SNAP = b"\xaa\xaa\x03\0\0\0"
"""LLC and SNAP before an EtherType."""

FAMILIES = (2, 10, 23, 24, 28, 30)
"""AF_INET, and AF_INET6 of Linux, Windows, NetBSD and OpenBSD, FreeBSD, macOS."""


def _typed(data: bytes, at: int, payload: int) -> int:
    """Return the offset of the IP packet; the EtherType of the payload is at `at`."""
    (kind,) = _U16(data, at)
    while kind in TAGS:
        (kind,) = _U16(data, payload + 2)
        payload += 4
    if kind in IP:
        return payload
    if kind == PPPOE and _U16(data, payload + 6)[0] in _PPP_IP:
        return payload + 8
    # An 802.3 frame has its length where others have a type. The value cannot be used to recognize it: jumbo frames,
    # and segments that the network card has yet to cut, are longer than the 1500 bytes of the standard.
    if kind != PPPOE and data.startswith(SNAP, payload) and _U16(data, payload + 6)[0] in IP:
        return payload + 8
    raise NotTcp(_NOT_IP)


def _loopback(data: bytes) -> int:
    # The byte order is that of the capturing machine for type 0 and of the network for 108.
    if int.from_bytes(data[:4], "big") in FAMILIES or int.from_bytes(data[:4], "little") in FAMILIES:
        return 4
    raise NotTcp(_NOT_IP)


def _raw(data: bytes) -> int:
    return 0


_FINDERS: dict[int, Callable[[bytes], int]] = {
    **dict.fromkeys((0, 108), _loopback),
    **dict.fromkeys((12, 14, 101, 228, 229), _raw),
    1: partial(_typed, at=12, payload=14),
    113: partial(_typed, at=14, payload=16),
    276: partial(_typed, at=0, payload=20),
}
