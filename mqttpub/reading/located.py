"""Inputs as `lint` reads them: with the place of each packet, and with the end of each connection."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..capture.text.parse import TextPiece
from ..capture.text.transcript import is_transcript
from ..common.standard_input import STANDARD_INPUT_NAME
from ..spec.versions import Version
from ..traffic.closings import OpenConnections
from ..traffic.events import Closed, Event, GapSeen, PacketSeen
from .input import AnyInput, Argument, Input, InputOptions
from .text import is_script_text, text_events_with_pieces
from .version import guessed_remark


class Location(NamedTuple):
    """Where in an input a packet is."""

    name: str = ""
    """The file as the user named it; empty for what is not a file."""
    size: int = 0
    """Bytes of the file; 0 if unknown."""
    line: int = 0
    """In a text, counted from 1; 0 elsewhere."""
    start: int | None = None
    """Offset of the packet in the file; None where the file does not hold its bytes as they are."""


class LocatedInput:
    """An input whose `location` is that of the event that it yielded last."""

    def __init__(self, given: AnyInput) -> None:
        self.given = given
        self.name = given.name
        self.size = given.size
        self.file = given.name if isinstance(given, Input) and given.name != STANDARD_INPUT_NAME else ""
        self.whole = Location(self.file, given.size)
        """The location of the whole input."""
        self.location = self.whole
        self._guessed: set[Version] = set()

    @property
    def position(self) -> int:
        """The number of bytes read so far."""
        return self.given.position

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what was not read, and about guessed versions."""
        yield from self.given.remarks()
        for version in sorted(self._guessed):
            yield guessed_remark(version)

    def events(self, options: InputOptions) -> Iterator[Event]:
        """Yield what the input holds; raises BadCapture, BadText and NoKeys after the events before the damage."""
        if self.given.is_capture:
            return self.given.events(options)
        if self._is_notation(options):
            # A packet that is cut short is judged like any other, with the bytes that are there.
            pieces = self.given.pieces(options.form)
            found = text_events_with_pieces(pieces, options.version, options.direction)
            return self._ended((event, self._location(event, piece)) for event, piece in found)
        return self._ended((event, self.whole) for event in self.given.events(options))

    def _is_notation(self, options: InputOptions) -> bool:
        if isinstance(self.given, Argument):
            return True
        first = self.given.first
        return not is_script_text(first, options.form) and (options.form != "auto" or not is_transcript(first))

    def _location(self, event: Event, piece: TextPiece) -> Location:
        if isinstance(self.given, Argument):
            return self.whole
        if piece.kind == "raw" and isinstance(event, PacketSeen | GapSeen):
            return self.whole._replace(start=event.offset)
        return self.whole._replace(line=piece.line)

    def _ended(self, located: Iterable[tuple[Event, Location]]) -> Iterator[Event]:
        """Yield the events, and after them the end of the connections that are still open."""
        connections, last = OpenConnections(), None
        for event, self.location in located:
            connections.ended(event)
            last = event.time
            if isinstance(event, PacketSeen) and event.guessed:
                self._guessed.add(event.version)
            yield event
        for ends in connections.left():
            yield Closed(ends, last, 0, None, "end")
