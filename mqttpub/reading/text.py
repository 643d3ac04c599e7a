"""Packets that somebody wrote down: transcripts, log lines, JSON Lines, hex and other notations."""

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from ..capture.logs.account import Log
from ..capture.logs.read import read_file
from ..capture.text.packets import packets_from_text
from ..capture.text.source import TextPiece
from ..capture.text.transcript import events as transcribed
from ..capture.text.transcript import is_transcript, lines
from ..capture.types import BadCapture
from ..script.signs import is_script
from ..spec.versions import Direction, Version
from ..traffic.events import Event
from .version import settle, settle_placed

_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that no text holds; 1b begins the colors of a terminal."""


def text_events(
    pieces: Iterable[TextPiece],
    version: Version | None = None,
    direction: Direction | None = None,
    *,
    cut: bool = False,
) -> Iterator[Event]:
    """Yield the packets of pieces of text, those of a connection in one version; raises BadText where `pieces` does.

    `version` and `direction` are of packets that say neither. With `cut`, bytes at the end of a piece that are not a
    whole packet come as a packet too.
    """
    return settle(packets_from_text(pieces, version=version, direction=direction, cut=cut))


def text_events_with_pieces(
    pieces: Iterable[TextPiece], version: Version | None = None, direction: Direction | None = None
) -> Iterator[tuple[Event, TextPiece]]:
    """Yield the same events, also of packets that are cut short, each with the piece that holds it."""
    return settle_placed(_with_pieces(pieces, version, direction))


def _with_pieces(
    pieces: Iterable[TextPiece], version: Version | None, direction: Direction | None
) -> Iterator[tuple[Event, TextPiece]]:
    latest = [TextPiece(b"", 0, "")]

    def noted() -> Iterator[TextPiece]:
        for latest[0] in pieces:
            yield latest[0]

    for event in packets_from_text(noted(), version=version, direction=direction, cut=True):
        yield event, latest[0]


def file_events(
    file: BinaryIO, first: bytes, form: str = "auto", version: Version | None = None,
    direction: Direction | None = None, log: Log | None = None,
) -> Iterator[Event]:  # fmt: skip
    """Yield the packets of a file that is not a capture and begins with the bytes `first`; raises BadText.

    The form `auto` recognizes transcripts and scripts as well as notations of bytes; `script` is for those alone.
    """
    if form == "auto" and is_transcript(first):
        return settle(transcribed(lines(file)))
    if is_script_text(first, form):
        # What reads scripts is imported for them alone.
        from ..capture.text.script import script_events
        from ..script.reader import script_lines

        return script_events(script_lines(file), version)
    return text_events(read_file(file, form, log or Log()), version, direction)


def is_script_text(first: bytes, form: str) -> bool:
    """Whether a text that begins with these bytes is read as a script; `form` is as in `file_events`."""
    if form != "auto":
        return form == "script"
    return is_script(first.decode("utf-8", "replace")) and not is_transcript(first)


def check_is_text(first: bytes) -> None:
    """Raise BadCapture for the first bytes of a file that is neither a capture nor a text."""
    # Only the pipeline asks.
    from ..capture.logs.judging import is_text

    if _BINARY.search(first) and not is_text(first):
        raise BadCapture(f"neither a capture nor a text begins with {first[:4].hex(' ')}")
