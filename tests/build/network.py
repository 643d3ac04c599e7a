"""A simulated network: two sides send streams over it, and a capture sees most of what they send."""

from collections.abc import Iterator
from itertools import count, pairwise
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st

from mqttpub.capture.types import CaptureRecord
from tests.build.frames import ACK, FIN, LINKS, START, TIMESTAMPS, LinkLayer, Wire, fragments4, fragments6


class Trouble(NamedTuple):
    """How often what goes wrong, of 100 segments."""

    lost: int = 0
    """Not captured, though the other side got it."""
    again: int = 0
    late: int = 0
    fragmented: int = 0
    probes: int = 0


class Spoken(NamedTuple):
    """What one side sent."""

    stream: bytes
    lost: frozenset[int]
    """The places of the bytes that the capture does not hold."""


class SimulatedConnection:
    """A connection of which both sides send a stream, in segments that a receiver acknowledges."""

    def __init__(
        self, random: Random, wire: Wire, streams: tuple[bytes, bytes], trouble: Trouble, *, opened: bool
    ) -> None:
        self.random = random
        self.wire = wire
        self.streams = streams
        self.trouble = trouble
        self.opened = opened
        self.lost: tuple[set[int], set[int]] = (set(), set())
        self._got: tuple[set[int], set[int]] = (set(), set())
        self._sent = [0, 0]
        self._ids = count(wire.ports[0] % 100 * 500)

    def spoken(self, side: int) -> Spoken:
        """Return what a side sent, and what of it was lost."""
        return Spoken(self.streams[side], frozenset(self.lost[side]))

    def packets(self) -> Iterator[list[bytes]]:
        """Yield the IP packets that the capture holds, together those that are fragments of one."""
        if self.opened:
            yield from ([packet] for packet in self.wire.opening())
        sends = [list(self._sends(side)) for side in (0, 1)]
        while sends[0] or sends[1]:
            side = self.random.choice([side for side in (0, 1) if sends[side]])
            start, end, captured = sends[side].pop(0)
            self._got[side].update(range(start, end))
            self._sent[side] = max(end, self._sent[side])
            if captured:
                yield self._packet(side, start, end)
            if self._chance(30):
                yield [self.wire.packet(1 - side, self._sent[1 - side], ack=self._acknowledged(side))]
            if self._chance(self.trouble.probes) and (done := self._acknowledged(side)):
                yield [self.wire.packet(side, done - 1, b"?", ack=self._acknowledged(1 - side))]
        for side in (0, 1):
            yield [self.wire.packet(side, self._sent[side] + 1, ack=self._acknowledged(1 - side) + 1)]

    def _chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def _acknowledged(self, side: int) -> int:
        """Return how many bytes of a side the other side has got without a hole."""
        got = self._got[side]
        return next(place for place in range(len(got) + 1) if place not in got)

    def _sends(self, side: int) -> Iterator[tuple[int, int, bool]]:
        """Yield start, end and whether it is captured of all segments of a side, in the order of the network."""
        size = len(self.streams[side])
        edges = sorted({0, size, *(self.random.randrange(size) for _ in range(self.random.randrange(12)))})
        parts = list(pairwise(edges))
        order: list[tuple[float, int, int, bool]] = []
        for index, (start, end) in enumerate(parts):
            # The first and the last are never lost, as then nothing tells that they were there.
            captured = not (0 < index < len(parts) - 1 and self._chance(self.trouble.lost))
            if not captured:
                self.lost[side].update(range(start, end))
            at = index + (self.random.random() * 4 if self._chance(self.trouble.late) and (index or self.opened) else 0)
            order.append((at, start, end, captured))
        lost = self.lost[side]
        for at, start, end, _ in order[:]:
            if self._chance(self.trouble.again):
                first, last = self.random.randrange(start + 1), self.random.randrange(end, size + 1)
                if lost.isdisjoint(range(first, last)) and (self.opened or first):
                    order.append((at + self.random.random() * 5, first, last, True))
        # What comes again does not come first, where that begins the flow.
        begin = order[0]
        yield from (send[1:] for send in sorted(order, key=lambda send: (self.opened or send != begin, send[0])))

    def _packet(self, side: int, start: int, end: int) -> list[bytes]:
        last = end == len(self.streams[side])
        flags = ACK | (FIN if last else 0)
        segment = self.wire.segment(
            side, start, self.streams[side][start:end], flags=flags, ack=self._acknowledged(1 - side)
        )
        if not self._chance(self.trouble.fragmented):
            return [
                self.wire.packet(
                    side, start, self.streams[side][start:end], flags=flags, ack=self._acknowledged(1 - side)
                )
            ]
        split = fragments4 if self.wire.version == 4 else fragments6
        places = [self.random.randrange(len(segment)) for _ in range(3)]
        parts = split(self.wire.ends[side], segment, places, next(self._ids))
        self.random.shuffle(parts)
        return parts


class Captured(NamedTuple):
    """A capture and what was said in it."""

    records: list[CaptureRecord]
    talks: list[SimulatedConnection]


streams = st.binary(min_size=2, max_size=300).map(lambda stream: b"\x10" + stream)


@st.composite
def captures(draw: st.DrawFn, trouble: Trouble, *, links: tuple[LinkLayer, ...] = tuple(LINKS.values())) -> Captured:
    """Return captures of a few connections at once."""
    random = draw(st.randoms(use_true_random=False))
    talks = []
    for number in range(draw(st.integers(1, 3))):
        isn = draw(st.tuples(*[st.integers(0, 2**32 - 1) | st.integers(2**32 - 300, 2**32 - 1)] * 2))
        options = draw(st.sampled_from((b"", TIMESTAMPS)))
        wire = Wire(draw(st.sampled_from((4, 6))), isn=isn, port=50_000 + number, options=options)
        opened = draw(st.booleans())
        talks.append(SimulatedConnection(random, wire, draw(st.tuples(streams, streams)), trouble, opened=opened))
    queues = [talk.packets() for talk in talks]
    records: list[CaptureRecord] = []
    while queues:
        queue = random.choice(queues)
        packets = next(queue, None)
        if packets is None:
            queues.remove(queue)
            continue
        for packet in packets:
            link = random.choice(links)
            frame = link.frame(packet)
            number = len(records) + 1
            records.append(CaptureRecord(number, START + number, link.type, frame, len(frame)))
    return Captured(records, talks)
