"""The headers of records in columns: link layer, IP and TCP of all records at once, for the connections of a bucket."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...capture.network.link import FAMILIES, IP, PPPOE, TAGS
from ...capture.network.tcp import opposite
from ...capture.network.tcp_side import ACK, FIN, RST, SYN
from ..arrays import Integers, Mask, integers_at_every_byte, rows_at
from ..scan.buckets import ALL, Bucket, slot, slots4, slots6
from ..scan.records import Records

Flags = NDArray[np.bool_]

MOST_TAGS = 2
"""VLAN tags that are skipped; a record with more is read by itself."""
CARRIES_TCP = (0, 6, 43, 44, 51, 60, 135, 139, 140)
"""IP protocol numbers of TCP, and of extension headers that TCP may follow."""
SNAP = 0xAAAA_0300
"""The first four bytes of LLC with SNAP."""
NOWHERE = np.int64(-1)
_PLAIN4, _V6 = 0x45, 6
_TCP, _FRAGMENTED = 6, 0x3FFF
_IP_SIZE, _TCP_SIZE = {4: 20, 6: 40}, 20
"""Bytes of IP and TCP headers without options."""
_V4_SIZE, _V6_SIZE = 40, 60
"""Bytes of both headers together."""
_PLAIN_LINKS = {1: 14, 113: 16}
"""Link types on which most records are IP right after an EtherType, and where IP begins."""
_PLAIN = np.frombuffer(bytes.fromhex("00000800 45000000 00000000 00060000"), "<u4")
"""The four words from two bytes before the EtherType on: IPv4 without options, not a fragment, TCP."""
# The bits of these words that count:
_IS_PLAIN = np.frombuffer(bytes.fromhex("0000ffff ff000000 00003fff 00ff0000"), "<u4")
_HASH_BITS = 16
_UNHASHED_BITS = np.uint64(64 - _HASH_BITS)
_FACTORS = np.array([pow(0x9E37_79B9_7F4A_7C15, power, 1 << 64) for power in range(1, 10)], np.uint64)
"""Odd numbers that the words of addresses and ports are multiplied with."""
_FLAGS = (FIN | SYN | RST | ACK) << 8
"""In the little-endian word of a TCP header that begins with its Data Offset."""
_SAME = np.arange(1 << 16, dtype=np.uint16)
_OF_PPP = np.full(1 << 16, 0xFFFF, np.uint16)
"""The EtherType of each PPP protocol; 0xFFFF, which is not an EtherType, for those that are not IP."""
_OF_PPP[[0x0021, 0x0057]] = IP


@dataclass
class Segments:
    """TCP segments of records; int64 arrays with one element for each record, `plain` of bool."""

    sender: Integers
    """Twice the index into `flows`, plus one if the second end sent it; NOWHERE for a record that is read by itself,
    belongs to another bucket, or is not TCP."""
    plain: Flags
    """Whether the segment was captured completely, has no flag but ACK (PSH and URG do not count), and a window."""
    start: Integers
    """Where the payload begins in the bytes of the records; this and the next three are valid for plain segments."""
    end: Integers
    seq: Integers
    ack: Integers
    alone: Integers
    """Indices of the records that are read by themselves."""
    flows: list[bytes]
    """Addresses and ports of connections, in the order of packets of their first end, which has the lesser bytes."""
    not_ip: int
    not_tcp: int
    """Number of skipped records, by reason: not IP, not TCP."""


def segments(records: Records, bucket: Bucket = ALL) -> Segments:
    """Return the TCP segments of records that belong to a bucket.

    A record whose headers are irregular is to be read by itself, in every bucket. Skipped records are counted in every
    bucket.
    """
    return _Headers(records, bucket).segments()


def slots(records: Records) -> tuple[Integers, Integers]:
    """Return the hash slots of the regular segments of records, and the length of each record in bytes (both int64)."""
    found = segments(records)
    which = np.flatnonzero(found.sender >= 0)
    of = np.array([slot(key) for key in found.flows], np.int64)
    return of[found.sender[which] >> 1], (records.end - records.start)[which]


class _Headers:
    def __init__(self, records: Records, bucket: Bucket) -> None:
        self.records = records
        self.bucket = bucket
        self.bytes = np.frombuffer(records.data, np.uint8)
        self.u16 = integers_at_every_byte(records.data, ">u2")
        self.u32 = integers_at_every_byte(records.data, ">u4")
        count = len(records)
        self.every = np.arange(count)
        self.alone = np.zeros(count, np.bool_)
        self.sender = np.full(count, NOWHERE, np.int64)
        self.plain = np.zeros(count, np.bool_)
        self.start, self.end, self.seq, self.ack = (np.zeros(count, np.int64) for _ in range(4))
        self.not_ip = self.not_tcp = 0
        self.numbers: dict[bytes, int] = {}
        self.flows: list[bytes] = []

    def segments(self) -> Segments:
        """Return the segments: of each link type first the plain records, then the rest by IP version."""
        for link, which in self._links():
            which, at = self._plain(
                link, which, self.records.start if which is self.every else self.records.start[which]
            )
            if not len(which):
                continue
            which, at = _LINKS.get(link, _Headers._unknown)(self, which, at)
            which, at = self._long(which, at, _IP_SIZE[4])
            first = self.bytes[at]
            four, six = first == _PLAIN4, first >> 4 == _V6
            self._v4(which[four], at[four])
            self._v6(*self._long(which[six], at[six], _IP_SIZE[6]))
            self.alone[which[~(four | six)]] = True
        return Segments(
            self.sender, self.plain, self.start, self.end, self.seq, self.ack, np.flatnonzero(self.alone), self.flows,
            self.not_ip, self.not_tcp,
        )  # fmt: skip

    def _links(self) -> Iterator[tuple[int, Integers]]:
        links = self.records.link
        if len(links) and (links == links[0]).all():
            yield int(links[0]), self.every
            return
        for link in np.unique(links).tolist():
            yield link, np.flatnonzero(links == link)

    def _plain(self, link: int, which: Integers, at: Integers) -> tuple[Integers, Integers]:
        """Read the records that are just IPv4 and TCP after an EtherType; return the others."""
        ip = _PLAIN_LINKS.get(link)
        if ip is None:
            return which, at
        long = self.records.end[which] - at >= ip + _V4_SIZE
        which, at, short, short_at = _parted(which, at, long)
        # From the word on whose second half is the EtherType.
        words = rows_at(self.records.data, at + (ip - 4), 4 + _V4_SIZE, "<u4")
        plain = words[:, 0] & _IS_PLAIN[0] == _PLAIN[0]
        for column in (1, 2, 3):
            plain &= words[:, column] & _IS_PLAIN[column] == _PLAIN[column]
        if plain.all():
            self._take4(which, at + ip, words[:, 1:])
            return short, short_at
        which, at, other, other_at = _parted(which, at, plain)
        self._take4(which, at + ip, words[plain, 1:])
        return np.concatenate([other, short]), np.concatenate([other_at, short_at])

    def _long(self, which: Integers, at: Integers, size: int) -> tuple[Integers, Integers]:
        """Return the records that have `size` bytes from `at` on; the others are read by themselves."""
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

    def _loopback(self, which: Integers, at: Integers) -> tuple[Integers, Integers]:
        which, at = self._long(which, at, 4)
        family = self.u32[at]
        known = np.isin(family, FAMILIES) | np.isin(family.byteswap(), FAMILIES)
        self.not_ip += int((~known).sum())
        return which[known], at[known] + 4

    def _typed(self, which: Integers, at: Integers, kind: int, payload: int) -> tuple[Integers, Integers]:
        """Skip VLAN tags and PPPoE; a record with anything else before IP is read by itself."""
        which, at = self._long(which, at, payload)
        found = self.u16[at + kind]
        at = at + payload
        ip = (found == IP[0]) | (found == IP[1])
        if ip.all():
            return which, at
        other = ~ip
        more, after = self._untyped(which[other], at[other], found[other])
        return np.concatenate([which[ip], more]), np.concatenate([at[ip], after])

    def _untyped(self, which: Integers, at: Integers, found: NDArray[Any]) -> tuple[Integers, Integers]:
        """Skip them for records whose link header does not announce IP."""
        for _ in range(MOST_TAGS):
            which, at, found = self._skip_tag(which, at, found, np.isin(found, TAGS), 4, 2)
        which, at, found = self._skip_tag(which, at, found, found == PPPOE, 8, 6, _OF_PPP)
        ip = np.isin(found, IP)
        snap = (self.records.end[which] - at >= 4) & (self.u32[np.minimum(at, len(self.u32) - 1)] == SNAP)
        other = ~np.isin(found, TAGS) & ~snap
        self.not_ip += int((other & ~ip).sum())
        self.alone[which[~(other | ip)]] = True
        return which[ip], at[ip]

    def _skip_tag(
        self, which: Integers, at: Integers, found: NDArray[Any], tagged: Flags, size: int, kind: int,
        types: NDArray[np.uint16] = _SAME,
    ) -> tuple[Integers, Integers, NDArray[Any]]:  # fmt: skip
        """Move the tagged records to after their tag, which has the type of what follows at `kind`."""
        if not tagged.any():
            return which, at, found
        short = tagged & (self.records.end[which] - at < size)
        self.alone[which[short]] = True
        which, at, found, tagged = which[~short], at[~short], found[~short], tagged[~short]
        found = np.where(tagged, types[self.u16[np.where(tagged, at + kind, 0)]], found)
        return which, np.where(tagged, at + size, at), found

    # IP

    def _v4(self, which: Integers, at: Integers) -> None:
        protocol, total, fragment = self.bytes[at + 9], self.u16[at + 2], self.u16[at + 6] & _FRAGMENTED
        simple = (protocol == _TCP) & (fragment == 0)
        other = (fragment == 0) & ((total == 0) | (total >= _IP_SIZE[4])) & ~np.isin(protocol, CARRIES_TCP)
        self.not_tcp += int(other.sum())
        self.alone[which[~(simple | other)]] = True
        which, at = self._long(which[simple], at[simple], _V4_SIZE)
        self._take4(which, at, rows_at(self.records.data, at, _V4_SIZE, "<u4"))

    def _take4(self, which: Integers, at: Integers, header: NDArray[np.uint32]) -> None:
        """Read the records of the bucket; `header` has the words of their IPv4 and TCP headers, shape (n, 10)."""
        size = header[:, 0].byteswap() & 0xFFFF
        held = self._whole(which, at + _IP_SIZE[4], at + size, header[:, 8])
        if self.bucket.parts > 1:
            held &= self.bucket.hold(slots4(*header[:, 3:6].T.astype(np.uint64)))
        if not held.all():
            mine = np.flatnonzero(held)
            which, at, header, size = which[mine], at[mine], header[mine], size[mine]
        self._tcp(which, at + _IP_SIZE[4], at + size, header[:, 5:])
        self._put_senders(which, header[:, 3:6])

    def _v6(self, which: Integers, at: Integers) -> None:
        protocol = self.bytes[at + 6]
        simple = protocol == _TCP
        other = ~np.isin(protocol, CARRIES_TCP)
        self.not_tcp += int(other.sum())
        self.alone[which[~(simple | other)]] = True
        which, at = self._long(which[simple], at[simple], _V6_SIZE)
        header = rows_at(self.records.data, at, _V6_SIZE, "<u4")
        size = header[:, 1].byteswap() >> 16
        held = self._whole(which, at + _IP_SIZE[6], at + _IP_SIZE[6] + size, header[:, 13])
        if self.bucket.parts > 1:
            words: NDArray[Any] = header[:, 2:11].astype(np.uint64)
            halves = words[:, :8:2] | words[:, 1:8:2] << 32
            held &= self.bucket.hold(slots6(halves[:, :2], halves[:, 2:], words[:, 8]))
        if not held.all():
            mine = np.flatnonzero(held)
            which, at, header, size = which[mine], at[mine], header[mine], size[mine]
        self._tcp(which, at + _IP_SIZE[6], at + _IP_SIZE[6] + size, header[:, 10:])
        self._put_senders(which, header[:, 2:11])

    def _whole(self, which: Integers, at: Integers, end: Integers, bits: NDArray[Any]) -> Mask:
        """Return where a TCP header is complete; the other records are read one by one, by every bucket."""
        start = at + (bits >> 2 & 0x3C)
        records_end = self.records.end if which is self.every else self.records.end[which]
        whole = (bits & 0xF0 >= 0x50) & (start <= end) & (start <= records_end)
        if not whole.all():
            self.alone[which[~whole]] = True
        return whole

    def _tcp(self, which: Integers, at: Integers, end: Integers, header: NDArray[np.uint32]) -> None:
        """Read TCP headers; `header` has their words."""
        bits = header[:, 3]
        start = at + (bits >> 2 & 0x3C)
        plain = (bits & _FLAGS == ACK << 8) & (bits & 0xF0 >= 0x50)
        # The high half of the word is the Window.
        plain &= bits >> 16 != 0
        plain &= (start <= end) & (end <= (self.records.end if which is self.every else self.records.end[which]))
        self._put(self.plain, which, plain)
        self._put(self.start, which, start)
        self._put(self.end, which, end)
        self._put(self.seq, which, header[:, 1].byteswap())
        self._put(self.ack, which, header[:, 2].byteswap())

    def _put(self, column: NDArray[Any], which: Integers, values: NDArray[Any]) -> None:
        if which is self.every:
            column[:] = values
        else:
            column[which] = values

    def _put_senders(self, which: Integers, words: NDArray[np.uint32]) -> None:
        """Set the senders of records; `words` has the addresses and ports of each."""
        codes, keys = numbered(words)
        self._put(self.sender, which, np.array([self._sender(key) for key in keys], np.int64)[codes])

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
    1: partial(_Headers._typed, kind=12, payload=14),
    113: partial(_Headers._typed, kind=14, payload=16),
    276: partial(_Headers._typed, kind=0, payload=20),
}


def _parted(which: Integers, at: Integers, flags: Flags) -> tuple[Integers, Integers, Integers, Integers]:
    """Return the records for which a flag is set, and the others."""
    if flags.all():
        return which, at, which[:0], at[:0]
    return which[flags], at[flags], which[~flags], at[~flags]


def numbered(words: NDArray[np.uint32]) -> tuple[Integers, list[bytes]]:
    """Number the rows of a matrix by their first appearance; return the number of each, and the rows that differ."""
    count, width = words.shape
    row = np.arange(count)
    # Each row is compared with the first that has the same hash, which is quicker than sorting.
    columns = np.ascontiguousarray(words.T)
    slot = sum(column * factor for column, factor in zip(columns, _FACTORS, strict=False)) >> _UNHASHED_BITS
    first = np.empty(1 << _HASH_BITS, np.int64)
    first[slot[::-1]] = row[::-1]
    alike = first[slot]
    other = np.flatnonzero(np.logical_or.reduce([column[alike] != column for column in columns]))
    if len(other):
        rows = np.ascontiguousarray(words[other]).view(f"V{4 * width}").ravel()
        _, begin, same = np.unique(rows, return_index=True, return_inverse=True)
        alike[other] = other[begin[same]]
    differ = np.flatnonzero(alike == row)
    number = np.empty(count, np.int64)
    number[differ] = np.arange(len(differ))
    size, data = 4 * width, words[differ].tobytes()
    return number[alike], [data[at : at + size] for at in range(0, len(data), size)]
