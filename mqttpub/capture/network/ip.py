"""The TCP segments in the IP packets of records: options and extension headers skipped, fragments reassembled."""

from collections import Counter, OrderedDict
from struct import Struct, error
from typing import NamedTuple

from ..types import CaptureRecord
from .link import NotTcp, ip_start
from .out_of_order import ByteRange, ReorderBuffer

TCP = 6
MAX_AGE = 30_000_000_000
"""Nanoseconds after which the rest of a datagram is given up."""
MAX_FRAGMENTS = 4 << 20
"""Bytes of memory for all fragments together, at most."""
REMEMBERED = 64
"""Complete datagrams that are remembered, so that second copies of their fragments are not kept."""

_LONGEST = 65_535
_MORE_IN_V4, _OFFSET_IN_V4 = 0x2000, 0x1FFF
_CUT_SHORT = "cut short before the TCP header"
_BROKEN = "IP packets with a broken header"
_NOT_TCP = "not TCP"

_V4 = Struct(">BxHHHxB").unpack_from
_V6 = Struct(">4xHB").unpack_from
_EXTENSION = Struct(">BB").unpack_from
_FRAGMENT = Struct(">BxH4s").unpack_from

_FRAGMENT_HEADER, _AUTHENTICATION = 44, 51
_EXTENSIONS = (0, 43, 60, 135, 139, 140)
"""Hop-by-hop, routing, destination options, mobility, HIP, Shim6: RFC 8200, section 4, and RFC 6564."""


class IpPayload(NamedTuple):
    """The TCP segment in an IP packet, as it was sent or reassembled from fragments."""

    source: bytes
    target: bytes
    data: bytes
    """Bytes that hold the segment, and others before and after it."""
    start: int
    """Index of its first byte in `data`."""
    end: int
    """Index after its last byte; above the length of `data` if the capture cut it off."""
    plain: int | None
    """Index of the IP header if the segment follows it directly, without options; else None."""


class _Fragment(NamedTuple):
    """A fragment of a datagram."""

    key: bytes
    source: bytes
    target: bytes
    protocol: int
    first: int
    """Offset of its first byte in the datagram."""
    more: bool


class _Datagram:
    """The fragments of a datagram so far."""

    __slots__ = ("count", "end", "protocol", "stretches", "time_ns")

    def __init__(self, part: _Fragment, time_ns: int | None) -> None:
        self.stretches = ReorderBuffer()
        self.protocol = part.protocol
        self.time_ns = time_ns
        self.end: int | None = None
        self.count = 0

    def add(self, part: _Fragment, stretch: ByteRange) -> None:
        """Add a fragment; raises NotTcp if it contradicts the others."""
        self.count += 1
        if not part.first:
            self.protocol = part.protocol
        if not part.more:
            self.end = stretch.end
        self.stretches.add(stretch)
        if self.end is not None and self.stretches and self.stretches.last.end > self.end:
            raise NotTcp(_BROKEN)

    def data(self) -> bytes:
        """Return the bytes before the first that was not captured."""
        joined = bytearray()
        while self.stretches and len(joined) == self.stretches.first.start:
            joined += self.stretches.pop().data
        return bytes(joined)


class IpReassembler:
    """Finds the TCP segments of records; counts fragments whose rest never arrives in `skipped`."""

    def __init__(self, skipped: Counter[str], *, max_fragments: int = MAX_FRAGMENTS) -> None:
        self.max_fragments = max_fragments
        self._skipped = skipped
        self._waiting: OrderedDict[bytes, _Datagram] = OrderedDict()
        self._complete: OrderedDict[bytes, None] = OrderedDict()
        self.held_bytes = 0
        """Bytes of memory that all fragments take."""

    def packet(self, record: CaptureRecord) -> IpPayload | None:
        """Return the TCP segment of a record, None while fragments of it are missing; raises NotTcp."""
        data = record.data
        at = ip_start(record.link, data)
        if at >= len(data):
            raise NotTcp(_CUT_SHORT)
        try:
            if data[at] >> 4 == 4:
                return self._v4(record, at)
            if data[at] >> 4 == 6:
                return self._v6(record, at)
        except error:
            raise NotTcp(_CUT_SHORT) from None
        raise NotTcp("not IP")

    def finish(self) -> None:
        """Count the fragments whose rest has not arrived."""
        while self._waiting:
            self._drop()

    def _v4(self, record: CaptureRecord, at: int) -> IpPayload | None:
        data = record.data
        first, total, _, fragment, protocol = _V4(data, at)
        size = (first & 15) * 4
        end = at + total if total else max(record.length, len(data))
        if size < 20 or end < at + size:
            raise NotTcp(_BROKEN)
        source, target = data[at + 12 : at + 16], data[at + 16 : at + 20]
        start, more = at + size, bool(fragment & _MORE_IN_V4)
        if not more and not fragment & _OFFSET_IN_V4:
            plain = at if size == 20 else None
            return self._upper(IpPayload(source, target, data, start, end, plain), protocol, record)
        key = data[at + 12 : at + 20] + data[at + 4 : at + 6] + data[at + 9 : at + 10]
        part = _Fragment(key, source, target, protocol, (fragment & _OFFSET_IN_V4) * 8, more)
        return self._fragment(record, part, start, end)

    def _v6(self, record: CaptureRecord, at: int) -> IpPayload | None:
        data = record.data
        length, protocol = _V6(data, at)
        end = at + 40 + length if length else max(record.length, len(data))
        packet = IpPayload(data[at + 8 : at + 24], data[at + 24 : at + 40], data, at + 40, end, at)
        return self._upper(packet, protocol, record)

    def _upper(self, packet: IpPayload, protocol: int, record: CaptureRecord | None) -> IpPayload | None:
        """Skip extension headers up to TCP; without a record, the packet is reassembled and cannot be a fragment."""
        source, target, data, start, end, plain = packet
        while protocol != TCP:
            plain = None
            if protocol == _FRAGMENT_HEADER:
                protocol, offset, name = _FRAGMENT(data, start)
                start += 8
                if offset & 0xFFF9:
                    if record is None:
                        raise NotTcp(_BROKEN)
                    part = _Fragment(
                        source + target + name, source, target, protocol, offset & 0xFFF8, bool(offset & 1)
                    )
                    return self._fragment(record, part, start, end)
            elif protocol in _EXTENSIONS:
                protocol, size = _EXTENSION(data, start)
                start += (size + 1) * 8
            elif protocol == _AUTHENTICATION:
                protocol, size = _EXTENSION(data, start)
                start += (size + 2) * 4
            else:
                raise NotTcp(_NOT_TCP)
        if start > end:
            raise NotTcp(_BROKEN)
        return IpPayload(source, target, data, start, end, plain)

    def _fragment(self, record: CaptureRecord, part: _Fragment, start: int, end: int) -> IpPayload | None:
        """Keep a fragment, and return the segment if it was the last one missing."""
        length = end - start
        if length <= 0 or part.first + length > _LONGEST or (part.more and length % 8):
            raise NotTcp(_BROKEN)
        if part.key in self._complete:
            return None
        datagram = self._datagram(part, record.time_ns)
        before = datagram.stretches.cost
        stretch = ByteRange(part.first, part.first + length, record.data[start:end], record.time_ns, record.number)
        try:
            datagram.add(part, stretch)
        except NotTcp:
            self.held_bytes -= before
            del self._waiting[part.key]
            raise
        self.held_bytes += datagram.stretches.cost - before
        if datagram.stretches.covered == datagram.end:
            return self._joined(part, datagram)
        while self.held_bytes > self.max_fragments:
            self._drop()
        return None

    def _datagram(self, part: _Fragment, now: int | None) -> _Datagram:
        """Return the datagram of a fragment, perhaps a new one; drops those that are too old."""
        while self._waiting and _older(next(iter(self._waiting.values())).time_ns, now):
            self._drop()
        datagram = self._waiting.get(part.key)
        if datagram is None:
            datagram = self._waiting[part.key] = _Datagram(part, now)
        return datagram

    def _joined(self, part: _Fragment, datagram: _Datagram) -> IpPayload | None:
        del self._waiting[part.key]
        self.held_bytes -= datagram.stretches.cost
        self._complete[part.key] = None
        if len(self._complete) > REMEMBERED:
            self._complete.popitem(last=False)
        packet = IpPayload(part.source, part.target, datagram.data(), 0, datagram.end or 0, None)
        return self._upper(packet, datagram.protocol, None)

    def _drop(self) -> None:
        _, datagram = self._waiting.popitem(last=False)
        self.held_bytes -= datagram.stretches.cost
        self._skipped["fragments of IP packets whose rest is missing"] += datagram.count


def _older(time_ns: int | None, now: int | None) -> bool:
    return time_ns is not None and now is not None and now - time_ns > MAX_AGE


def address(packed: bytes, port: int) -> str:
    """Return address and port as text: `10.0.0.1:50000` or `[fe80::1]:50000`."""
    if len(packed) == 4:
        return f"{'.'.join(map(str, packed))}:{port}"
    from ipaddress import IPv6Address  # loaded on use: it takes 1 ms, and most captures hold IPv4 alone

    return f"[{IPv6Address(packed).compressed}]:{port}"
