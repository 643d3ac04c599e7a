"""The TCP payload in dumps of network frames, as tcpdump and tshark print them."""

from typing import NamedTuple

from ..network.ip import IpReassembler, address
from ..network.link import NotTcp
from ..types import CaptureRecord

_LEAST = 40
"""Bytes of the headers of IPv4 and TCP."""
_LINKS = (101, 1, 113, 276, 0, 108)
"""Raw IP, as `tcpdump -x` shows it, then with a header of the link layer."""


class FramePayload(NamedTuple):
    """What a frame carries for one end of a TCP connection."""

    data: bytes
    source: str
    """Address and port."""
    target: str
    ports: tuple[int, int]


def frame_payload(data: bytes) -> FramePayload | None:
    """Return the TCP payload of a frame that begins with an IP or a link header; None for other bytes."""
    from collections import Counter

    if len(data) < _LEAST:
        return None
    for link in _LINKS:
        try:
            packet = IpReassembler(Counter()).packet(CaptureRecord(1, None, link, data, len(data)))
        except NotTcp:
            continue
        if packet is None or packet.start + 20 > len(packet.data) or packet.end > len(packet.data):
            continue
        header = packet.data[packet.start : packet.start + 20]
        start = packet.start + (header[12] >> 4) * 4
        if start < packet.start + 20 or start > packet.end:
            continue
        ports = int.from_bytes(header[:2], "big"), int.from_bytes(header[2:4], "big")
        ends = address(packet.source, ports[0]), address(packet.target, ports[1])
        return FramePayload(packet.data[start : packet.end], *ends, ports)
    return None
