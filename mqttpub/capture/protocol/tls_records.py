"""The records of a capture, in which connections on TLS carry what is within TLS."""

from collections import Counter
from collections.abc import Iterator
from struct import Struct

from ..network.ip import TCP, IpReassembler
from ..network.link import NotTcp
from ..network.tcp import opposite, read_segment
from ..network.tcp_side import MASK, SYN, Segment
from ..types import CaptureRecord, NoKeys
from .detect import HANDSHAKE
from .tls import Decrypted

MOST_ENDS = 1 << 16
"""Ends of connections that are remembered: beyond, the ones that began first count as not on TLS."""
RAW = 101
"""The link type of records that begin with the IP header."""
_V4, _V6 = Struct(">BxH4xBBxx4s4s").pack, Struct(">B3xHBB16s16s").pack
_HOPS = 64
_HEADER = Struct(">4sIIHH4x").pack
_WITHOUT_OPTIONS = 5 << 12
_MOST = 0xFFFF


class PlainRecords:
    """Yields each record with its number and time; that of a segment on TLS has the bytes that it completed instead.

    A connection is on TLS from the segment on that begins its handshake. Its Sequence Numbers count the bytes within
    TLS, so it lacks none, and a segment that was sent again is empty. What `decrypted` yields is in the order of the
    records, and what it raises becomes `problem`.
    """

    def __init__(self, records: Iterator[CaptureRecord], decrypted: Iterator[Decrypted]) -> None:
        self.problem = ""
        """Why TLS could not be read to the end, as a sentence."""
        self._records = records
        self._decrypted = decrypted
        self._following: Decrypted | None = None
        self._headers = IpReassembler(Counter())
        self._next: dict[bytes, int] = {}
        """The Sequence Number after the last byte of each end, by its key."""

    def __iter__(self) -> Iterator[CaptureRecord]:
        """Start to read; raises what `records` raises."""
        self._advance()
        for record in self._records:
            found = self._within(record.number)
            try:
                packet = self._headers.packet(record)
                key, segment = read_segment(packet, record) if packet else (b"", None)
            except NotTcp:
                segment = None
            yield self._rewritten(record, key, segment, found) if segment else record

    def _advance(self) -> None:
        try:
            self._following = next(self._decrypted, None)
        except NoKeys as error:
            self.problem, self._following = str(error), None

    def _within(self, number: int) -> bytes:
        """Return what is within TLS in a record."""
        data = b""
        while self._following and self._following.record <= number:
            data += self._following.data
            self._advance()
        return data

    def _rewritten(self, record: CaptureRecord, key: bytes, segment: Segment, data: bytes) -> CaptureRecord:
        other = opposite(key)
        if segment.flags == SYN:
            # The ends may be those of an earlier connection.
            self._next.pop(key, None)
            self._next.pop(other, None)
        elif key not in self._next and segment.data[:2] == bytes((HANDSHAKE, 3)):
            self._next[key], self._next[other] = segment.seq, segment.ack
            while len(self._next) > MOST_ENDS:
                del self._next[next(iter(self._next))]
        if key not in self._next or other not in self._next:
            return record
        header = _HEADER(key[-4:], self._next[key], self._next[other], _WITHOUT_OPTIONS | segment.flags, segment.window)
        self._next[key] = self._next[key] + len(data) & MASK
        frame = _ip(key[:-4], header + data)
        return record._replace(link=RAW, data=frame, length=len(frame))


def _ip(ends: bytes, segment: bytes) -> bytes:
    """Return an IP packet; its length is 0, as that of segments that are larger than a packet, where it is too long."""
    half = len(ends) // 2
    if half == 4:
        size = 20 + len(segment)
        return _V4(0x45, size if size <= _MOST else 0, _HOPS, TCP, ends[:half], ends[half:]) + segment
    size = len(segment)
    return _V6(0x60, size if size <= _MOST else 0, TCP, _HOPS, ends[:half], ends[half:]) + segment
