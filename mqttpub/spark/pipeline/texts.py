"""Texts as frames, whose record numbers and connections are apart from those of all other sources."""

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from ...columns.reassemble.assembly import Batch
from ...columns.reassemble.frames import of_events
from ...columns.reassemble.state import SOURCE_BITS
from ...reading.input import LOOK
from .sources import Source

EVENTS = 20_000
"""Events that are put into columns together."""


def text_frames(source: Source, file: BinaryIO, number: int) -> Iterator[Batch]:
    """Yield the packets of a text that is the source of this number; raises BadText and BadCapture."""
    # Few pipelines read a text.
    from ...reading.text import check_is_text, file_events

    first = file.read(LOOK)
    file.seek(0)
    check_is_text(first)
    found = file_events(file, first)
    while some := list(islice(found, EVENTS)):
        names = {
            _of_text(number, event.ends.number): (
                f"{event.ends.client}-{event.ends.server}#{event.ends.number}@{source.digest[:8]}"
            )
            for event in some
        }
        some = [
            event._replace(
                record=number << SOURCE_BITS | min(event.record, (1 << SOURCE_BITS) - 1),
                ends=event.ends._replace(number=_of_text(number, event.ends.number)),
            )
            for event in some
        ]
        yield Batch(**vars(of_events(some)), names=names)


def _of_text(source: int, connection: int) -> int:
    """Return a number for a connection of a text that no connection of a capture has."""
    return -(source << SOURCE_BITS | connection) - 1
