"""Sources that are no captures: transcripts, JSON Lines, hex and other texts."""

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from ..capture.chunks import BadCapture
from ..capture.text import Piece, read_bytes
from ..capture.transcript import events as transcribed
from ..capture.transcript import is_transcript
from ..codec.decode import decode
from ..codec.stream import LostSync, Stream
from ..conversation.events import Ends, Event, GapSeen, PacketSeen
from ..lint.packet import lint
from ..spec.packets import Connect
from ..spec.terms import Direction, Version

_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
MARKS = {">": Direction.CLIENT, "<": Direction.SERVER}
FIRST = 65_536
"""Bytes that tell what a text is."""
MOST_OF_A_GAP = 64
"""Bytes of what is no packet that an event keeps."""


def events(file: BinaryIO) -> Iterator[Event]:
    """Yield the packets of a text; raises BadText, and BadCapture for what is no text either."""
    first = file.read(FIRST)
    file.seek(0)
    if _BINARY.search(first):
        raise BadCapture(f"neither a capture nor a text begins with {first[:4].hex(' ')}")
    if is_transcript(first):
        return transcribed(line.decode("utf-8", "surrogateescape") for line in file)
    return _of_pieces(read_bytes(file.read(), "auto"))


def _of_pieces(pieces: Iterable[Piece]) -> Iterator[Event]:
    """Yield the packets of bytes that somebody wrote down; a CONNECT after others begins another connection."""
    number, version, begun = 1, None, False
    for piece in pieces:
        direction = MARKS.get(piece.mark)
        stream = Stream(direction, version)
        try:
            for frame in stream.feed(piece.data):
                number += begun and frame.data[0] >> 4 == Connect.code
                begun, version = True, frame.version or version
                told = frame.version or _likelier(frame.data, direction)
                ends = Ends(number, "", "")
                yield PacketSeen(ends, None, 0, frame.data, frame.offset, direction, told, frame.version is None)
            rest, message, malformed = stream.pending, "the packet is cut short", False
        except LostSync as lost:
            rest, message, malformed = piece.data[lost.offset :], lost.message, True
        if rest:
            kept = rest[:MOST_OF_A_GAP]
            yield GapSeen(Ends(number, "", ""), None, 0, stream.offset, direction, len(rest), kept, message, malformed)


def _likelier(data: bytes, direction: Direction | None) -> Version:
    """Return the version in which fewer errors are found, as nothing tells it."""
    return min((Version.V5, Version.V311), key=lambda version: len(_errors(data, version, direction)))


def _errors(data: bytes, version: Version, direction: Direction | None) -> list[str]:
    findings = lint(decode(data, version, direction=direction), direction)
    return [each.message for each in findings if each.severity == "error"]
