"""The headers of records in columns: link layer, IP and TCP of all at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..capture.link import _FAMILIES as FAMILIES
from ..capture.link import _IP as IP
from ..capture.link import _LONGEST_LLC as LONGEST_LLC
from ..capture.link import _PPPOE as PPPOE
from ..capture.link import _TAGS as TAGS
from ..capture.reassembly import ACK, FIN, RST, SYN
from .scan import Integers, Records, integers

Flags = NDArray[np.bool_]

MOST_TAGS = 2
"""VLAN tags that are looked behind; a record with more is read by itself."""
CARRIES_TCP = (0, 6, 43, 44, 51, 60, 135, 139, 140)
"""Protocols of IP that are TCP, or behind which there may be TCP."""
SNAP = 0xAAAA_0300
"""What LLC with SNAP begins with."""
NOWHERE = np.int64(-1)
_PLAIN4, _V6 = 0x45, 6
_TCP, _FRAGMENTED = 6, 0x3FFF
_IP_SIZE, _TCP_SIZE = {4: 20, 6: 40}, 20
"""Bytes of headers without options."""
_SAME = np.arange(1 << 16, dtype=np.uint16)
_OF_PPP = np.full(1 << 16, 0xFFFF, np.uint16)
"""The EtherType of each protocol of PPP; 0xFFFF, which is none, for those that are not IP."""
_OF_PPP[[0x0021, 0x0057]] = IP


@dataclass
class Segments:
    """TCP segments of records; all arrays have one element for each record."""

    sender: Integers
    """Twice the index into `flows`, and one more for what the second end sends; NOWHERE for what is read by itself
    or not at all."""
    plain: Flags
    """Whether it is whole and has no flag but ACK (PSH and URG do not count)."""
    start: Integers
    """Of the payload, in the bytes of the records; for plain ones only, as all that follow."""
    end: Integers
    seq: Integers
    ack: Integers
    alone: Integers
    """Indices of the records that are read by themselves."""
    flows: list[bytes]
    """Addresses and ports of connections as packets of their first end have them; the first is the lesser one."""
    not_ip: int
    not_tcp: int
    """How many records that are not read are what."""


def segments(records: Records) -> Segments:
    """Find the segments of records."""
    return _Headers(records).segments()


def opposite(key: bytes) -> bytes:
    """Return addresses and ports as packets of the other end have them."""
    half = len(key) // 2 - 2
    return key[half:-4] + key[:half] + key[-2:] + key[-4:-2]


class _Headers:
    def __init__(self, records: Records) -> None:
        self.records = records
        self.bytes = np.frombuffer(records.data, np.uint8)
        self.u16 = integers(records.data, ">u2")
        self.u32 = integers(records.data, ">u4")
        self.u64 = integers(records.data, ">u8")
        count = len(records)
        self.alone = np.zeros(count, np.bool_)
        self.sender = np.full(count, NOWHERE, np.int64)
        self.plain = np.zeros(count, np.bool_)
        self.start, self.end, self.seq, self.ack = (np.zeros(count, np.int64) for _ in range(4))
        self.not_ip = self.not_tcp = 0
        self.numbers: dict[bytes, int] = {}
        self.flows: list[bytes] = []

    def segments(self) -> Segments:
        """Go through the links, then through the versions of IP."""
        for link in dict.fromkeys(self.records.link.tolist()):
            which = np.flatnonzero(self.records.link == link)
            which, at = _LINKS.get(link, _Headers._unknown)(self, which, self.records.start[which])
            which, at = self._long(which, at, _IP_SIZE[4])
            first = self.bytes[at]
            four = first == _PLAIN4
            if four.all():
                self._v4(which, at)
                continue
            self._v4(which[four], at[four])
            six = first >> 4 == _V6
            self._v6(*self._long(which[six], at[six], _IP_SIZE[6]))
            self.alone[which[~(four | six)]] = True
        return Segments(
            self.sender, self.plain, self.start, self.end, self.seq, self.ack, np.flatnonzero(self.alone), self.flows,
            self.not_ip, self.not_tcp,
        )  # fmt: skip

    def _long(self, which: Integers, at: Integers, size: int) -> tuple[Integers, Integers]:
        """Leave out records without so many bytes from a place on, which are read by themselves."""
        long = self.records.end[which] - at >= size
        if long.all():
            return which, at
        self.alone[which[~long]] = True
        return which[long], at[long]

    # links

    def _unknown(self, which: Integers, at: Integers) -> tuple[Integers, Integers]:
        self.alone[which] = True
        return which[:0], at[:0]

    def _raw(self, which: Integers, at: Integers) -> tuple[Integers, Integers]:
        return which, at

    def _ethernet(self, which: Integers, at: Integers) -> tuple[Integers, Integers]:
        return self._typed(which, at, 12, 14)

    def _cooked(self, which: Integers, at: Integers) -> tuple[Integers, Integers]:
        return self._typed(which, at, 14, 16)

    def _cooked2(self, which: Integers, at: Integers) -> tuple[Integers, Integers]:
        return self._typed(which, at, 0, 20)

    def _loopback(self, which: Integers, at: Integers) -> tuple[Integers, Integers]:
        which, at = self._long(which, at, 4)
        family = self.u32[at]
        known = np.isin(family, FAMILIES) | np.isin(family.byteswap(), FAMILIES)
        self.not_ip += int((~known).sum())
        return which[known], at[known] + 4

    def _typed(self, which: Integers, at: Integers, kind: int, payload: int) -> tuple[Integers, Integers]:
        """Pass over VLAN tags and PPPoE; whatever else is not certain is read by itself."""
        which, at = self._long(which, at, payload)
        found = self.u16[at + kind]
        at = at + payload
        if (found == IP[0]).all():
            return which, at
        for _ in range(MOST_TAGS):
            which, at, found = self._behind(which, at, found, np.isin(found, TAGS), 4, 2)
        which, at, found = self._behind(which, at, found, found == PPPOE, 8, 6, _OF_PPP)
        ip = np.isin(found, IP)
        # Frames with SNAP may be longer than the length that stands there can tell.
        snap = (self.records.end[which] - at >= 4) & (self.u32[np.minimum(at, len(self.u32) - 1)] == SNAP)
        other = (found > LONGEST_LLC) & ~np.isin(found, TAGS) & ~snap
        self.not_ip += int((other & ~ip).sum())
        self.alone[which[~(other | ip)]] = True
        return which[ip], at[ip]

    def _behind(
        self, which: Integers, at: Integers, found: NDArray[Any], tagged: Flags, size: int, kind: int,
        types: NDArray[np.uint16] = _SAME,
    ) -> tuple[Integers, Integers, NDArray[Any]]:  # fmt: skip
        """Move those that have a tag behind it, where the type of what follows stands within."""
        if not tagged.any():
            return which, at, found
        short = tagged & (self.records.end[which] - at < size)
        self.alone[which[short]] = True
        which, at, found, tagged = which[~short], at[~short], found[~short], tagged[~short]
        found = np.where(tagged, types[self.u16[np.where(tagged, at + kind, 0)]], found)
        return which, np.where(tagged, at + size, at), found

    # IP

    def _v4(self, which: Integers, at: Integers) -> None:
        protocol, total = self.bytes[at + 9], self.u16[at + 2]
        simple = (protocol == _TCP) & (self.u16[at + 6] & _FRAGMENTED == 0)
        if not simple.all():
            whole = (self.u16[at + 6] & _FRAGMENTED == 0) & ((total == 0) | (total >= 20))
            other = whole & ~np.isin(protocol, CARRIES_TCP)
            self.not_tcp += int(other.sum())
            self.alone[which[~(simple | other)]] = True
            which, at = which[simple], at[simple]
        which, at = self._long(which, at, _IP_SIZE[4] + _TCP_SIZE)
        self._tcp(which, at + 20, at + self.u16[at + 2])
        ends, addresses = _numbered(self.u64[at + 12].astype(np.int64), pa.int64())
        codes, both = _numbered(ends.astype(np.int64) << 32 | self.u32[at + 20], pa.int64())
        packed = [each.to_bytes(8, signed=True) for each in addresses.to_pylist()]
        keys = [packed[each >> 32] + (each & 0xFFFF_FFFF).to_bytes(4) for each in both.to_pylist()]
        self.sender[which] = self._senders(keys)[codes]

    def _v6(self, which: Integers, at: Integers) -> None:
        protocol = self.bytes[at + 6]
        simple = protocol == _TCP
        other = ~np.isin(protocol, CARRIES_TCP)
        self.not_tcp += int(other.sum())
        self.alone[which[~(simple | other)]] = True
        which, at = self._long(which[simple], at[simple], _IP_SIZE[6] + _TCP_SIZE)
        self._tcp(which, at + 40, at + 40 + self.u16[at + 4])
        keys = self.bytes[(at + 8)[:, None] + np.arange(36)]
        codes, both = _numbered(keys, pa.binary(36))
        self.sender[which] = self._senders(both.to_pylist())[codes]

    def _tcp(self, which: Integers, at: Integers, end: Integers) -> None:
        bits = self.u16[at + 12]
        start = at + (bits >> 10 & 0x3C)
        acknowledges = (bits & (FIN | SYN | RST | ACK) == ACK) & (bits >= 0x5000)
        self.plain[which] = acknowledges & (start <= end) & (end <= self.records.end[which])
        self.start[which], self.end[which] = start, end
        self.seq[which], self.ack[which] = self.u32[at + 4], self.u32[at + 8]

    def _senders(self, keys: list[bytes]) -> Integers:
        """Return what `Segments.sender` says of the senders with these keys."""
        return np.array([self._sender(key) for key in keys], np.int64)

    def _sender(self, key: bytes) -> int:
        other = opposite(key)
        first = min(key, other)
        number = self.numbers.setdefault(first, len(self.flows))
        if number == len(self.flows):
            self.flows.append(first)
        return 2 * number + (key != first)


_Finder = Callable[[_Headers, Integers, Integers], tuple[Integers, Integers]]
_LINKS: dict[int, _Finder] = {
    **dict.fromkeys((0, 108), _Headers._loopback),
    **dict.fromkeys((12, 14, 101, 228, 229), _Headers._raw),
    1: _Headers._ethernet,
    113: _Headers._cooked,
    276: _Headers._cooked2,
}


def _numbered(values: NDArray[Any], kind: Any) -> tuple[NDArray[np.int32], Any]:
    """Number values in the order in which they come first; return the numbers, and the values as an Arrow array."""
    # Not pa.array and to_numpy, which import pandas.
    array = pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
    encoded = array.dictionary_encode()
    return np.frombuffer(encoded.indices.buffers()[1], np.int32, len(values)), encoded.dictionary
