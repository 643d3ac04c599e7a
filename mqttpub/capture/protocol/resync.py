"""Looking for a place where packets begin, in bytes that do not begin with one."""

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
"""Packets that have to follow one another."""
LEAST = 4
"""Bytes that have to fill whole segments exactly, where fewer packets are to be proof enough."""
WINDOW = 1 << 16
"""Bytes that are kept while nothing is found."""
LARGE_WINDOW = 1 << 20
"""Bytes that are kept from the beginning of a segment on that begins as a packet does."""
LARGEST = 4096
"""The most that a PUBLISH that proves anything has before its payload."""
SMALL = 129
"""The longest other packet that proves anything: those whose Remaining Length is one byte."""
THOROUGH = 64
"""The longest that is judged by all rules."""
MOST_CHAINS = 64
HEADER = 7
"""Bytes that the pattern looks at, at most."""
EFFORT = 16
"""Bytes that may be decoded for each byte that comes; each packet that is tried counts for so many more."""
PATIENCE = 1 << 20
"""Bytes that may be decoded besides."""


class Held(NamedTuple):
    """Bytes that were kept, as they came."""

    offset: int
    time: int | None
    record: int
    data: bytes


class Found(NamedTuple):
    """Where packets begin, and why that is so."""

    start: int
    why: str
    packets: int
    held: list[Held]
    """The bytes from there on; empty when they are still to come."""


class Chain:
    """Packets that follow one another, as far as was seen."""

    __slots__ = ("aligned", "due", "next", "starts", "versions")

    def __init__(self, start: int, aligned: bool, versions: frozenset[Version]) -> None:
        self.starts: list[int] = []
        self.aligned = aligned
        """Whether a segment begins at the first one."""
        self.next = start
        self.due = start + 2
        """How far the bytes have to reach before more can be said."""
        self.versions = versions
        """Those in which all of them are without errors."""


class Search:
    """Looks for packets that follow one another without an error in a version.

    `feed` and `missing` return what was found as soon as it is proven: `aligned` packets from
    the beginning of a segment, `anywhere` packets from another place, or, with `filling`, fewer
    that fill whole segments exactly. Memory is bounded by LARGE_WINDOW, time by the bytes that come:
    `tired` says that too much was tried in vain.
    """

    def __init__(
        self, offset: int, versions: frozenset[Version], direction: Direction | None = None, *,
        aligned: int = PROOF, anywhere: int = PROOF, filling: bool = True,
    ) -> None:  # fmt: skip
        self.versions = versions
        self.direction = direction
        self.needed = {True: aligned, False: anywhere}
        self.filling = filling
        self.tired = False
        self._pattern = _pattern(versions, direction)
        self._effort = PATIENCE
        self._restart(offset)

    def _restart(self, offset: int) -> None:
        self.base = self.seen = self._scanned = offset
        self._window = bytearray()
        self._held: deque[Held] = deque()
        self._segments: set[int] = set()
        self._tried: set[int] = set()
        self._chains: list[Chain] = []

    def feed(self, data: bytes, time: int | None, record: int) -> Found | None:
        """Take the next segment."""
        self._segments.add(self.seen)
        self._held.append(Held(self.seen, time, record, data))
        self._window += data
        self.seen += len(data)
        self._effort += EFFORT * len(data)
        self._scan()
        self._chains = [chain for chain in self._chains if chain.due > self.seen or self._follow(chain)]
        found = self._proven() or (self._filled(self.seen) if self.filling else None)
        if not found:
            self._forget()
        return found

    def missing(self, length: int) -> Found | None:
        """Pass over bytes that were not captured."""
        found = self._filled(self.seen + length) if self.filling else None
        if not found:
            self._restart(self.seen + length)
        return found

    def finish(self) -> Found | None:
        """Return what the last bytes prove, when packets end with them."""
        ended = [chain for chain in self._chains if chain.starts and chain.next == self.seen]
        for chain in ended:
            if chain.aligned or len(chain.starts) > 1:
                return self._found(chain, f"{counted(len(chain.starts), 'packet')} end with the last byte")
        return None

    def _scan(self) -> None:
        """Begin a chain wherever a packet might begin."""
        stop = self.seen - self.base
        for match in self._pattern.finditer(self._window, self._scanned - self.base):
            start = self.base + match.start()
            if start not in self._tried:
                chain = Chain(start, start in self._segments, self.versions)
                if chain.due > self.seen or self._follow(chain):
                    self._chains.append(chain)
                if stop - match.start() <= HEADER:
                    self._tried.add(start)
        self._scanned = max(self._scanned, self.seen - HEADER)
        self._tried = {start for start in self._tried if start >= self._scanned}

    def _follow(self, chain: Chain) -> bool:
        """Go from packet to packet until they are proof or the bytes end; False when one of them is none."""
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
        """Return the length of the packet at a place, and the versions that it is right in.

        Without versions (None) the number says how many bytes have to be there first.
        """
        start = at - self.base
        if start < 0:
            return 0, frozenset()
        head = bytes(self._window[start : start + LARGEST])
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

    def _proven(self) -> Found | None:
        for aligned in (True, False):
            for chain in self._chains:
                if chain.aligned == aligned and len(chain.starts) >= self.needed[aligned]:
                    return self._found(chain, f"{counted(len(chain.starts), 'packet')} follow one another")
        return None

    def _filled(self, end: int) -> Found | None:
        for chain in self._chains:
            if chain.aligned and chain.next == end and chain.starts and end - chain.starts[0] >= LEAST:
                packets = counted(len(chain.starts), "packet")
                return self._found(chain, f"{packets} and a segment begin and end together")
        return None

    def _found(self, chain: Chain, why: str) -> Found:
        start = next(start for start in (*chain.starts, chain.next) if start >= self.base)
        return Found(
            start,
            why,
            len(chain.starts),
            [_from(start, held) for held in self._held if held.offset + len(held.data) > start],
        )

    def _forget(self) -> None:
        """Keep the window within its size, and the most promising chains."""
        begun = any(chain.aligned and chain.starts and chain.starts[0] >= self.base for chain in self._chains)
        while self.seen - self.base > (LARGE_WINDOW if begun else WINDOW):
            gone = self._held.popleft()
            self._segments.discard(gone.offset)
            self.base += len(gone.data)
            del self._window[: len(gone.data)]
        self._scanned = max(self._scanned, self.base)
        if len(self._chains) > MOST_CHAINS:
            self._chains = sorted(self._chains, key=lambda chain: (-len(chain.starts), chain.due))[:MOST_CHAINS]


def _look(head: bytes, length: int, versions: Iterable[Version]) -> tuple[int, frozenset[Version] | None]:
    if head[0] >> 4 == Publish.code and length > len(head):
        return _look_at_publish(head, length, versions)
    if length > SMALL and head[0] >> 4 != Publish.code:
        return 0, frozenset()
    if length > len(head):
        return length, None
    return length, frozenset(version for version in versions if clean(head[:length], version, longest=THOROUGH))


def _look_at_publish(head: bytes, length: int, versions: Iterable[Version]) -> tuple[int, frozenset[Version] | None]:
    """Judge a PUBLISH, whose payload need not be there, as soon as all before the payload is."""
    right: set[Version] = set()
    due = 0
    for version in versions:
        try:
            if clean(without_payload(head, version), version, longest=THOROUGH):
                right.add(version)
        except Overlong:
            continue
        except Short as short:
            due = max(due, len(head) + short.needed - short.left)
    if due and due <= LARGEST and not _no_topic(head):
        return due, None
    return length, frozenset(right)


_NEVER = re.compile(rb"[\x00-\x1f\x7f#+]")
"""Bytes that stand in no Topic Name that proves anything."""


def _no_topic(head: bytes) -> bool:
    cursor = Cursor(head, 1)
    try:
        cursor.variable()
        size = cursor.integer(2)
    except Short:
        return False
    return _NEVER.search(head, cursor.pos, cursor.pos + size) is not None


def _from(start: int, held: Held) -> Held:
    skip = max(0, start - held.offset)
    return held._replace(offset=held.offset + skip, data=held.data[skip:])


@cache
def _pattern(versions: frozenset[Version], direction: Direction | None) -> re.Pattern[bytes]:
    """Return the pattern of bytes that may be the beginning of a packet; matches are empty, so they overlap."""
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
"""Where 5.0 has a Reason Code, none of which is a printable character."""


def _sent(first: int, version: Version, direction: Direction | None) -> bool:
    cls = PACKETS[first >> 4]
    return direction is None or direction in (cls.senders if version == Version.V5 else cls.senders3)


def _class(values: set[int]) -> bytes:
    return b"[" + b"".join(b"\\x%02x" % value for value in sorted(values)) + b"]" if values else b"(?!)"
