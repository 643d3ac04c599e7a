"""Valid packets, and packets that are broken in one way that has a name.

A way is a function that takes a valid packet and yields drafts: packets with one thing wrong, each
with the statements that are broken and the bytes at fault. The statements are taken from the texts
of the specification, by hand; nothing here asks the linter.

Where the text says the same of one fault twice, the statement about the very field is meant before
the one about all fields; labels with a space between them are equally good.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from random import Random
from typing import NamedTuple, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Finding
from mqttpub.spec.declare import PACKETS, Packet
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.cursor import Span
from tests.lint.packet_parts import BODY, Piece, Place, changed, pieces_of, places, walk, write
from tests.lint.richest import richest
from tests.strategies import packets, senders

Part = str | tuple[int, int]


class Labels(NamedTuple):
    """The statements that say one thing, by version; empty where a version does not say it."""

    v5: str = ""
    v311: str = ""
    v31: str = ""

    def ids(self, version: Version) -> tuple[str, ...]:
        """Return their full ids; more than one where the text says it more than once."""
        labels = {Version.V5: self.v5, Version.V311: self.v311, Version.V31: self.v31}[version]
        return tuple(f"{version.prefix}-{label}" for label in labels.split())


class Fault(NamedTuple):
    """What is wrong in a piece."""

    labels: Labels
    piece: str
    part: Part = "whole"
    mask: int = 0


class Mark(NamedTuple):
    """The bytes at fault, in a single byte the bits, and any one of the statements that say so."""

    ids: tuple[str, ...]
    span: Span
    mask: int = 0

    def fits(self, found: Finding) -> bool:
        """Whether a finding says this."""
        return found.statement in self.ids and (found.span, found.mask) == (self.span, self.mask)


class Broken(NamedTuple):
    """A packet with one thing wrong."""

    data: bytes
    direction: Direction
    marks: tuple[Mark, ...]


Draft = Callable[[], Broken]
Changes = Mapping[str, Piece | tuple[Piece, ...]]


class Subject:
    """A valid packet that is to be broken, and the end that sends it."""

    def __init__(self, packet: Packet, version: Version, direction: Direction, random: Random) -> None:
        self.packet, self.version, self.direction, self.random = packet, version, direction, random
        self.name = packet.name
        self.root = pieces_of(packet, version)
        self.data, self.places = write(self.root), dict(places(self.root))
        self.pieces = {each.name: each for each in walk(self.root)}

    @property
    def first(self) -> int:
        """The first byte."""
        return self.data[0]

    def at(self, name: str) -> Piece | None:
        """Return the piece with this name."""
        return self.pieces.get(name)

    def of(self, *keys: str) -> list[Piece]:
        """Return the pieces of these kinds."""
        return [each for each in self.pieces.values() if each.key in keys]

    def carries(self, property: str) -> bool:
        """Whether a property of this name is there."""
        return any(each.key == property for each in self.pieces.values())

    def change(self, changes: Changes, *faults: Fault) -> Iterator[Draft]:
        """Yield the draft with some pieces replaced, if this version has statements about all the faults."""
        if all(fault.labels.ids(self.version) for fault in faults):
            yield lambda: self._changed(changes, faults)

    def raw(
        self, data: bytes, labels: Labels, span: tuple[int, int], mask: int = 0, *, sender: Direction | None = None
    ) -> Iterator[Draft]:
        """Yield the draft of other bytes, or of another sender, if this version has the statement."""
        if ids := labels.ids(self.version):
            yield lambda: Broken(data, sender or self.direction, (Mark(ids, Span(*span), mask),))

    def set_bits(self, name: str, value: int, labels: Labels, mask: int) -> Iterator[Draft]:
        """Yield the draft with other bits in a byte, the wrong ones being those of the mask."""
        piece = self.pieces[name]
        assert isinstance(piece.inside, bytes)
        octet = piece.inside[0] & ~mask | value
        return self.change({name: piece._replace(inside=bytes((octet,)))}, Fault(labels, name, mask=mask))

    def put(self, piece: Piece, inside: bytes, labels: Labels, part: Part = "whole") -> Iterator[Draft]:
        """Yield the draft with other bytes in a piece."""
        return self.change({piece.name: piece._replace(inside=inside)}, Fault(labels, piece.name, part))

    def count(self, piece: Piece, length: bytes, labels: Labels) -> Iterator[Draft]:
        """Yield the draft with a wrong length in front of a piece."""
        return self.change({piece.name: piece._replace(length=length)}, Fault(labels, piece.name, "length"))

    def append(self, data: bytes, labels: Labels, part: Part = "whole", piece: str = "more") -> Iterator[Draft]:
        """Yield the draft with more bytes after the last field."""
        body = self.pieces[BODY]
        longer = body._replace(inside=(*body.pieces, Piece("more", data)))
        return self.change({BODY: longer}, Fault(labels, piece, part))

    def flagged(self, octet: str, clear: int, set: int, *faults: Fault, more: Changes | None = None) -> Iterator[Draft]:
        """Yield the draft with other bits in a byte that is itself right."""
        piece = self.pieces[octet]
        assert isinstance(piece.inside, bytes)
        changes = {octet: piece._replace(inside=bytes((piece.inside[0] & ~clear | set,))), **(more or {})}
        return self.change(changes, *faults)

    def _changed(self, changes: Changes, faults: Iterable[Fault]) -> Broken:
        each = {name: (new,) if isinstance(new, Piece) else new for name, new in changes.items()}
        (root,) = changed(self.root, each)
        wanted = {fault.piece for fault in faults}
        found = {name: place for name, place in places(root) if name in wanted}
        return Broken(write(root), self.direction, tuple(self._mark(fault, found[fault.piece]) for fault in faults))

    def _mark(self, fault: Fault, place: Place) -> Mark:
        return Mark(fault.labels.ids(self.version), place.span(fault.part), fault.mask)


class Way(NamedTuple):
    """A way to break a packet."""

    name: str
    drafts: Callable[[Subject], Iterator[Draft]]
    labels: tuple[Labels, ...]
    """Statements that it breaks, one or another each time."""
    every: bool
    """Whether each wrong value counts by itself."""

    def ids(self, version: Version) -> set[str]:
        """Return the statements of a version that it breaks."""
        return {id for labels in self.labels for id in labels.ids(version)}


WAYS: list[Way] = []
Drafts = Callable[[Subject], Iterator[Draft]]


def way(name: str, *labels: Labels, every: bool = False) -> Callable[[Drafts], Drafts]:
    """Give a way to break packets its name, and say which statements it breaks."""

    def named(drafts: Drafts) -> Drafts:
        WAYS.append(Way(name, drafts, labels, every))
        return drafts

    return named


# packets


T = TypeVar("T")


def drawn(strategy: SearchStrategy[T], count: int) -> list[T]:
    """Return what Hypothesis draws, the same in every run; fewer where there are not so many."""
    made: list[T] = []

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def collect(value: T) -> None:
        made.append(value)

    collect()
    return made


def subjects(version: Version, each: int) -> Iterator[Subject]:
    """Yield valid packets of every type and from every end that may send it, about `each` of a kind."""
    for cls in PACKETS.values():
        for direction in senders(cls, version):
            made = drawn(packets(version, direction=direction, code=cls.code), each)
            made.insert(0, richest(made[0], version, direction))
            different = {encode(packet, version): packet for packet in made}
            for index, packet in enumerate(different.values()):
                yield Subject(packet, version, direction, Random(f"{version} {cls.name} {direction} {index}"))


def broken(subject: Subject, most: int, *, every: bool = False) -> Iterator[tuple[Way, Broken]]:
    """Yield the packet broken in every way that it can be, in at most so many places by each.

    With `every`, there are no fewer of the ways in which each value counts.
    """
    for each in WAYS if most else ():
        drafts = list(each.drafts(subject))
        if len(drafts) > most and not (every and each.every):
            drafts = subject.random.sample(drafts, most)
        for draft in drafts:
            yield each, draft()


def amiss(found: Iterable[Finding], marks: Iterable[Mark], expected: Collection[str] = ()) -> list[str]:
    """Return how findings differ from what is wrong: what is missing, and what is too much.

    Statements of `expected` may be cited or not.
    """
    wanted, said = list(marks), []
    for each in found:
        fitting = next((mark for mark in wanted if mark.fits(each)), None)
        if fitting:
            wanted.remove(fitting)
        elif each.statement not in expected:
            said.append(f"says {each!r}")
    return [*said, *(f"misses {mark}" for mark in wanted)]
