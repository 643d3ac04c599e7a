"""Inputs as `lint` reads them: with the place of each packet, one version where nothing tells it, and an end."""

from collections.abc import Iterable, Iterator

from ..capture.text import Piece
from ..capture.transcript import is_transcript
from ..codec.decode import decode
from ..codec.framing import connect_version
from ..conversation.events import Closed, Event, GapSeen, PacketSeen
from ..lint.packet import lint
from ..spec.fields import PACKETS
from ..spec.terms import Direction, Version
from ..view.findings import Source
from .captures import Choice, Input, Words, text_events
from .following import OpenConnections

MOST_HELD = 1000
"""Packets that are looked at before their version is guessed."""
CANDIDATES = (Version.V5, Version.V311)
"""Versions that a packet may have when nothing tells it; the first one unless less is wrong in another."""

STANDARD_INPUT = "standard input"

Placed = tuple[Event, Source]


class Origin:
    """An input; `source` is where the event that came last stands in it."""

    def __init__(self, given: Input | Words) -> None:
        self.given = given
        self.name = given.name
        self.size = given.size
        self.file = given.name if isinstance(given, Input) and given.name != STANDARD_INPUT else ""
        self.whole = Source(self.file, given.size)
        """The whole of it."""
        self.source = self.whole
        self._piece = Piece(b"", 0, "")
        self._version: Version | None = None
        """That of a text, as far as something told it up to here."""
        self._guessed: set[Version] = set()

    @property
    def position(self) -> int:
        """Bytes that were read of it."""
        return self.given.position

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what was not read, or was not sure."""
        yield from self.given.remarks()
        for version in sorted(self._guessed):
            how = f"packets were read as MQTT {version.label}"
            yield f"no CONNECT tells the version; {how}; --mqtt-version chooses another"

    def events(self, choice: Choice) -> Iterator[Event]:
        """Yield what the input holds; raises BadCapture, BadText and NoKeys, after all that was good."""
        if self.given.is_capture:
            return self.given.events(choice)
        if self._is_text(choice):
            return self._ended(self._text(choice))
        return self._ended((event, self.source) for event in self.given.events(choice))

    def _is_text(self, choice: Choice) -> bool:
        return choice.form != "auto" or isinstance(self.given, Words) or not is_transcript(self.given.first)

    def _text(self, choice: Choice) -> Iterator[Placed]:
        self._version = choice.version
        for event in text_events(self._noted(self.given.pieces(choice.form)), choice):
            yield self._whole(event), self._here(event)

    def _noted(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for self._piece in pieces:
            yield self._piece

    def _whole(self, event: Event) -> Event:
        """Return what is cut short as a packet, with all of its bytes, so that it is judged like one."""
        if isinstance(event, PacketSeen) and not event.guessed:
            self._version = event.version
        if not isinstance(event, GapSeen) or not event.length:
            return event
        data = self._piece.data[-event.length :]
        version = connect_version(data) or self._version
        return PacketSeen(
            event.ends, None, 0, data, event.offset, event.direction, version or CANDIDATES[0], version is None
        )

    def _here(self, event: Event) -> Source:
        if isinstance(self.given, Words):
            return self.whole
        if self._piece.kind == "raw" and isinstance(event, PacketSeen | GapSeen):
            return self.whole._replace(start=event.offset)
        return self.whole._replace(line=self._piece.line)

    def _ended(self, placed: Iterable[Placed]) -> Iterator[Event]:
        """Yield the events, their version settled, and behind them the end of what is still open."""
        connections, last = OpenConnections(), None
        for event, self.source in settled(placed):
            connections.ended(event)
            last = event.time
            if isinstance(event, PacketSeen) and event.guessed:
                self._guessed.add(event.version)
            yield event
        for ends in connections.left():
            yield Closed(ends, last, 0, None, "end")


def settled(placed: Iterable[Placed]) -> Iterator[Placed]:
    """Give the packets of a connection of which nothing tells the version one and the same.

    It is that in which less is wrong with the first 1,000. Packets that only one end sends get their direction.
    """
    held: list[Placed] = []
    number, version = 0, None
    for event, source in placed:
        unsure = isinstance(event, PacketSeen) and event.guessed
        sure = isinstance(event, PacketSeen) and not event.guessed
        if held and (sure or event.ends.number != number or len(held) >= MOST_HELD):
            version = _likely(held)
            yield from _read_as(version, held)
            held = []
        if event.ends.number != number:
            number, version = event.ends.number, None
        if held or (unsure and version is None):
            held.append((event, source))
        else:
            yield from _read_as(version, [(event, source)])
    yield from _read_as(_likely(held), held)


def _likely(held: Iterable[Placed]) -> Version:
    packets = [event for event, _ in held if isinstance(event, PacketSeen)]

    def errors(version: Version) -> int:
        return sum(_errors(each, version) for each in packets)

    return min(CANDIDATES, key=errors)


def _errors(event: PacketSeen, version: Version) -> int:
    decoded = decode(event.data, version, direction=event.direction)
    return sum(each.severity == "error" for each in lint(decoded))


def _read_as(version: Version | None, held: Iterable[Placed]) -> Iterator[Placed]:
    for event, source in held:
        if isinstance(event, PacketSeen):
            told = version if event.guessed and version else event.version
            event = event._replace(version=told, direction=event.direction or _sender(event.data, told))
        yield event, source


def _sender(data: bytes, version: Version) -> Direction | None:
    """Return the one end that may send a packet of this type."""
    kind = PACKETS.get(data[0] >> 4) if data else None
    ends = (kind.senders if version == Version.V5 else kind.senders3) if kind else ()
    return next(iter(ends)) if len(ends) == 1 else None
