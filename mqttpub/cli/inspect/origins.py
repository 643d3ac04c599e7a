"""Inputs as `lint` reads them: with the place of each packet, and an end."""

from collections.abc import Iterable, Iterator

from ...capture.text.packets import events as written
from ...capture.text.parse import Piece
from ...capture.text.transcript import is_transcript
from ...reading.version import guessed_remark, settle_placed
from ...spec.versions import Version
from ...traffic.events import Closed, Event, GapSeen, PacketSeen
from ...view.traffic.findings import Source
from .captures import Choice, Input, Words
from .follow import OpenConnections

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
        self._guessed: set[Version] = set()

    @property
    def position(self) -> int:
        """Bytes that were read of it."""
        return self.given.position

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what was not read, or was not sure."""
        yield from self.given.remarks()
        for version in sorted(self._guessed):
            yield guessed_remark(version)

    def events(self, choice: Choice) -> Iterator[Event]:
        """Yield what the input holds; raises BadCapture, BadText and NoKeys, after all that was good."""
        if self.given.is_capture:
            return self.given.events(choice)
        if self._is_text(choice):
            return self._ended(settle_placed(self._text(choice)))
        return self._ended((event, self.source) for event in self.given.events(choice))

    def _is_text(self, choice: Choice) -> bool:
        return choice.form != "auto" or isinstance(self.given, Words) or not is_transcript(self.given.first)

    def _text(self, choice: Choice) -> Iterator[Placed]:
        # What is cut short is judged like a packet, with all of its bytes.
        pieces = self._noted(self.given.pieces(choice.form))
        for event in written(pieces, version=choice.version, direction=choice.direction, cut=True):
            yield event, self._here(event)

    def _noted(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for self._piece in pieces:
            yield self._piece

    def _here(self, event: Event) -> Source:
        if isinstance(self.given, Words):
            return self.whole
        if self._piece.kind == "raw" and isinstance(event, PacketSeen | GapSeen):
            return self.whole._replace(start=event.offset)
        return self.whole._replace(line=self._piece.line)

    def _ended(self, placed: Iterable[Placed]) -> Iterator[Event]:
        """Yield the events, and after them the end of what is still open."""
        connections, last = OpenConnections(), None
        for event, self.source in placed:
            connections.ended(event)
            last = event.time
            if isinstance(event, PacketSeen) and event.guessed:
                self._guessed.add(event.version)
            yield event
        for ends in connections.left():
            yield Closed(ends, last, 0, None, "end")
