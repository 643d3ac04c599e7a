"""Finds a place where packets begin, in bytes that do not begin with one."""

import re
from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from ...codec.framing import frame_length
from ...common.words import counted
from ...spec.packets import PACKETS, Connack, Puback, Pubcomp, Publish, Pubrec, Pubrel
from ...spec.versions import Direction, Version
from ...wire.cursor import Cursor, Overlong, Short
from .evidence import clean, first_bytes, without_payload

PROOF = 3
"""Packets that have to follow one another to prove a place."""
LEAST = 4
"""Bytes that fewer packets must have, if they are to prove a place by filling whole segments exactly."""
WINDOW = 1 << 16
"""Bytes that are kept while nothing is found, at most."""
LARGE_WINDOW = 1 << 20
"""The same, from the start of a segment that begins like a packet."""
LARGEST = 4096
"""Bytes before the payload of a PUBLISH that counts as proof, at most."""
SMALL = 129
"""Bytes of any other packet that counts as proof, at most: Remaining Length is one byte."""
THOROUGH = 64
"""Bytes of a packet that is checked against all rules, at most."""
MOST_CHAINS = 64
HEADER = 7
"""Bytes that the pattern examines, at most."""
EFFORT = 16
"""Bytes that may be decoded for each byte that arrives; each packet that is tried costs as many besides its own."""
PATIENCE = 1 << 20
"""Bytes that may be decoded in addition."""


class KeptBytes(NamedTuple):
    """Bytes that were kept, as they arrived."""

    offset: int
    time_ns: int | None
    record: int
    data: bytes


class FoundPackets(NamedTuple):
    """Where packets begin, and the proof as a sentence."""

    start: int
    why: str
    packets: int
    held: list[KeptBytes]
    """The bytes from there; empty if they are still to come."""


class PacketChain:
    """Packets that follow one another, as far as the bytes go."""

    __slots__ = ("aligned", "due", "next", "starts", "versions")

    def __init__(self, start: int, aligned: bool, versions: frozenset[Version]) -> None:
        self.starts: list[int] = []
        self.aligned = aligned
        """Whether the first packet begins at the start of a segment."""
        self.next = start
        self.due = start + 2
        """The offset that the bytes have to reach before the next packet can be checked."""
        self.versions = versions
        """The versions in which none of the packets has an error."""


class PacketFinder:
    """Finds packets that follow one another without an error in some version.

    `feed` and `missing` return the place as soon as it is proven: by PROOF packets from the start of a segment,
    by `anywhere` packets from another place or, with `filling`, by fewer that fill whole segments exactly; without
    `within`, only the first byte is such a place. Memory is bounded by LARGE_WINDOW, time by the number of bytes;
    `tired` means that too much was tried in vain.
    """

    def __init__(
        self, offset: int, versions: frozenset[Version], direction: Direction | None = None, *,
        anywhere: int = PROOF, filling: bool = True, within: bool = True,
    ) -> None:  # fmt: skip
        self.versions = versions
        self.direction = direction
        self.needed = {True: PROOF, False: anywhere}
        self.filling = filling
        self.within = within
        self.tired = False
        self._pattern = _pattern(versions, direction)
        self._effort = PATIENCE
        self._restart(offset)

    def _restart(self, offset: int) -> None:
        self.base = self.seen = self._scanned = offset
        self.window = bytearray()
        self._held: deque[KeptBytes] = deque()
        self._segments: set[int] = set()
        self._tried: set[int] = set()
        self.chains: list[PacketChain] = []

    def feed(self, data: bytes, time_ns: int | None, record: int) -> FoundPackets | None:
        """Return the place that the next segment proves, if any."""
        self._segments.add(self.seen)
        self._held.append(KeptBytes(self.seen, time_ns, record, data))
        self.window += data
        self.seen += len(data)
        self._effort += EFFORT * len(data)
        self._scan()
        self.chains = [chain for chain in self.chains if chain.due > self.seen or self._follow(chain)]
        found = self._proven() or (self._filled(self.seen) if self.filling else None)
        if not found:
            self._forget()
        return found

    def missing(self, length: int) -> FoundPackets | None:
        """Return the place that the end of a segment before a gap proves, if any."""
        found = self._filled(self.seen + length) if self.filling else None
        if not found:
            self._restart(self.seen + length)
        return found

    @property
    def refuted(self) -> bool:
        """Whether the bytes do not begin with packets, and no other place counts."""
        return not self.within and not self.chains and self.seen >= HEADER

    def finish(self) -> FoundPackets | None:
        """Return the place that is proven by packets that end with the last byte, if any."""
        ended = [chain for chain in self.chains if chain.starts and chain.next == self.seen]
        for chain in ended:
            if chain.aligned or len(chain.starts) > 1:
                count = len(chain.starts)
                return self._found(
                    chain, f"{counted(count, 'packet')} {'ends' if count == 1 else 'end'} with the last byte"
                )
        return None

    def _scan(self) -> None:
        """Begin a chain wherever a packet might begin."""
        stop = self.seen - self.base
        for match in self._pattern.finditer(self.window, self._scanned - self.base):
            start = self.base + match.start()
            if start and not self.within:
                break
            if start not in self._tried:
                chain = PacketChain(start, start in self._segments, self.versions)
                if chain.due > self.seen or self._follow(chain):
                    self.chains.append(chain)
                if stop - match.start() <= HEADER:
                    self._tried.add(start)
        self._scanned = max(self._scanned, self.seen - HEADER)
        self._tried = {start for start in self._tried if start >= self._scanned}

    def _follow(self, chain: PacketChain) -> bool:
        """Go from packet to packet until they prove a place or the bytes end; False if one of them is not a packet."""
        while chain.due <= self.seen and not self.tired and len(chain.starts) < self.needed[chain.aligned]:
            length, versions = self._look(chain.next, chain.versions)
            if versions is None:
                chain.due = chain.next + length
                return True
            if not versions:
                return False
            chain.versions = versions
            chain.starts.append(chain.next)
            chain.next += length
            chain.due = chain.next + 2
        return True

    def _look(self, at: int, versions: frozenset[Version]) -> tuple[int, frozenset[Version] | None]:
        """Return the length of the packet at an offset, and the versions in which it has no error.

        Versions of None mean that the number is how many bytes have to be there first.
        """
        start = at - self.base
        if start < 0:
            return 0, frozenset()
        head = bytes(self.window[start : start + LARGEST])
        try:
            length = frame_length(head)
        except Overlong:
            return 0, frozenset()
        if length is None:
            return len(head) + 1, None
        versions = frozenset(version for version in versions if head[0] in first_bytes(version))
        self._spend(len(versions) * (min(length, len(head)) + EFFORT))
        return _look(head, length, versions)

    def _spend(self, count: int) -> None:
        self._effort -= count
        self.tired = self._effort < 0

    def _proven(self) -> FoundPackets | None:
        for aligned in (True, False):
            for chain in self.chains:
                if chain.aligned == aligned and len(chain.starts) >= self.needed[aligned]:
                    return self._found(chain, f"{counted(len(chain.starts), 'packet')} follow one another")
        return None

    def _filled(self, end: int) -> FoundPackets | None:
        for chain in self.chains:
            if chain.aligned and chain.next == end and chain.starts and end - chain.starts[0] >= LEAST:
                packets = counted(len(chain.starts), "packet")
                return self._found(chain, f"{packets} and a segment begin and end together")
        return None

    def _found(self, chain: PacketChain, why: str) -> FoundPackets:
        start = next(start for start in (*chain.starts, chain.next) if start >= self.base)
        return FoundPackets(
            start,
            why,
            len(chain.starts),
            [_from(start, held) for held in self._held if held.offset + len(held.data) > start],
        )

    def _forget(self) -> None:
        """Keep the window within its limit, and the most promising chains."""
        begun = any(chain.aligned and chain.starts and chain.starts[0] >= self.base for chain in self.chains)
        while self.seen - self.base > (LARGE_WINDOW if begun else WINDOW):
            gone = self._held.popleft()
            self._segments.discard(gone.offset)
            self.base += len(gone.data)
            del self.window[: len(gone.data)]
        self._scanned = max(self._scanned, self.base)
        if len(self.chains) > MOST_CHAINS:
            self.chains = sorted(self.chains, key=lambda chain: (-len(chain.starts), chain.due))[:MOST_CHAINS]


def _look(head: bytes, length: int, versions: Iterable[Version]) -> tuple[int, frozenset[Version] | None]:
    if head[0] >> 4 == Publish.code and length > len(head):
        return _look_at_publish(head, length, versions)
    if length > SMALL and head[0] >> 4 != Publish.code:
        return 0, frozenset()
    if length > len(head):
        return length, None
    return length, frozenset(version for version in versions if clean(head[:length], version, longest=THOROUGH))


def _look_at_publish(head: bytes, length: int, versions: Iterable[Version]) -> tuple[int, frozenset[Version] | None]:
    """Check a PUBLISH as soon as everything before its payload is there."""
    right: set[Version] = set()
    due = 0
    for version in versions:
        try:
            if clean(without_payload(head, version), version, longest=THOROUGH):
                right.add(version)
        except Overlong:
            continue
        except Short as short:
            # What one version reads as a length may be the payload of another.
            due = max(due, min(len(head) + short.needed - short.left, length))
    if due and due <= LARGEST and not _no_topic(head):
        return due, None
    return length, frozenset(right)


_NEVER = re.compile(rb"[\x00-\x1f\x7f#+]")
"""Bytes that a Topic Name does not have if it counts as proof."""


def _no_topic(head: bytes) -> bool:
    cursor = Cursor(head, 1)
    try:
        cursor.variable()
        size = cursor.integer(2)
    except Short:
        return False
    return _NEVER.search(head, cursor.pos, cursor.pos + size) is not None


def _from(start: int, held: KeptBytes) -> KeptBytes:
    skip = max(0, start - held.offset)
    return held._replace(offset=held.offset + skip, data=held.data[skip:])


@cache
def _pattern(versions: frozenset[Version], direction: Direction | None) -> re.Pattern[bytes]:
    """Return the pattern of bytes that may begin a packet; matches are empty, so that they may overlap."""
    firsts = {first for version in versions for first in first_bytes(version) if _sent(first, version, direction)}
    publishes = {first for first in firsts if first >> 4 == Publish.code}
    acks = {first for first in firsts if first >> 4 in _ACKS}
    connacks = {first for first in firsts if first >> 4 == Connack.code}
    long = rb"[\x80-\xff]{1,3}[\x01-\x7f][\x00-\x0f]"
    publish = _class(publishes) + rb"(?:[\x02-\x7f]\x00|" + long + rb")"
    ack = _class(acks) + rb"(?:\x02|[\x03-\x7f]..[^ -~])"
    connack = _class(connacks) + rb"[\x02-\x7f][\x00\x01]"
    other = _class(firsts - publishes - acks - connacks) + rb"[\x00-\x7f]"
    return re.compile(rb"(?=" + rb"|".join((publish, ack, connack, other)) + rb")", re.DOTALL)


_ACKS = frozenset(cls.code for cls in (Puback, Pubrec, Pubrel, Pubcomp))
"""Packets that may have a Reason Code in 5.0; none of these is a printable character."""


def _sent(first: int, version: Version, direction: Direction | None) -> bool:
    return direction is None or direction in PACKETS[first >> 4].senders_in(version)


def _class(values: set[int]) -> bytes:
    return b"[" + b"".join(b"\\x%02x" % value for value in sorted(values)) + b"]" if values else b"(?!)"
