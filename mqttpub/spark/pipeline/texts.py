"""Sources that are no captures: transcripts, JSON Lines, hex and other texts."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from ...capture.text.packets import events as written
from ...capture.text.parse import read_file
from ...capture.text.transcript import events as transcribed
from ...capture.text.transcript import is_transcript, lines
from ...capture.types import BadCapture
from ...reading.version import settle
from ...traffic.events import Event

_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
FIRST = 65_536
"""Bytes that tell what a text is."""


def events(file: BinaryIO) -> Iterator[Event]:
    """Yield the packets of a text; raises BadText, and BadCapture for what is no text either."""
    first = file.read(FIRST)
    file.seek(0)
    if _BINARY.search(first):
        raise BadCapture(f"neither a capture nor a text begins with {first[:4].hex(' ')}")
    if is_transcript(first):
        return settle(transcribed(lines(file)))
    return settle(written(read_file(file, "auto")))
