"""Bytes in a text of any kind: in a notation alone, or among the words of a log, whichever makes packets of more."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO, NamedTuple

from ...codec.framing import frame_length
from ...common.words import counted
from ...wire.cursor import Overlong
from ..text.digits import begins_packet
from ..text.parse import FORMS, LARGE, read_raw, read_rows, run_parts
from ..text.rows import Row, blocks, rows, rows_of_text
from ..text.source import BadText, TextPiece
from .account import Log
from .plausible import Grade, cut_bytes

MOST_JUDGED = 1 << 20
"""Bytes by which a file is text or not."""
LOOK = 1 << 18
"""Characters of the beginning by which a text is settled, and of those that are read together afterwards."""
MOST_SEARCHED = 1 << 24
"""Characters of a pipe in which some packet has to be."""
_WORD = re.compile(r"(?<![0-9A-Za-z])(?=[A-Za-z]*[g-zG-Z])[A-Za-z]{3,}")
_WORDED = re.compile(r"[g-wyzG-WYZ]|^\t")
_ROW = 64
"""Characters that are counted for each row besides its own, for its memory."""


def read_text(text: str, form: str, log: Log) -> Iterator[TextPiece]:
    """Yield the bytes in a text; raises BadText if there are none."""
    return _settled(rows_of_text(text), form, log, 0)


def read_bytes(data: bytes, form: str, log: Log) -> Iterator[TextPiece]:
    """Yield the bytes of a file in one of the forms; `auto` reads a file that is not text as raw bytes."""
    from io import BytesIO

    return read_file(BytesIO(data), form, log, large=0)


def read_file(file: BinaryIO, form: str, log: Log, *, large: int = LARGE) -> Iterator[TextPiece]:
    """Yield the same for a file or a pipe of any size: a long run of bytes is split into pieces of whole packets."""
    if form == "raw":
        return read_raw(blocks(file))
    # Bytes on the command line, most of which are hex, need none of what reads files and logs.
    from .judging import in_utf8, is_plain, is_text

    head, read = _head(file)
    if not is_plain(head):
        if form == "auto" and not is_text(head):
            return read_raw(read)
        log.stray = True
    return _settled(rows(in_utf8(read), tolerant=True), form, log, large, endless=not file.seekable())


def _head(file: BinaryIO) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of a file, and all of its blocks."""
    head, size, rest = list[bytes](), 0, blocks(file)
    for block in rest:
        head.append(block)
        size += len(block)
        if size >= MOST_JUDGED:
            break
    return b"".join(head), chain(head, rest)


class _Trial(NamedTuple):
    """What the beginning of a text is as a notation alone."""

    error: BadText | None
    score: tuple[int, int]
    """How many bytes are packets without errors, and how many pieces say who sent them."""
    clean: bool = False
    """Whether all bytes are packets without errors."""
    foreign: bytes = b""
    """The first bytes of dumps in which no packet begins or ends."""


def _settled(given: Iterable[Row], form: str, log: Log, large: int, *, endless: bool = False) -> Iterator[TextPiece]:
    """Yield the bytes in rows; if these may be `endless`, some packet has to be among the first."""
    read = iter(given)
    head, ended = _window(read)
    trial = _tried(head, form, ended)
    if trial.error and trial.error.certain:
        raise trial.error
    if trial.clean and not _may_be_log(head):
        yield from _notation(chain(head, read), form, large)
        return
    from .cleaning import BLANK, without_times
    from .reader import LogReader

    if not any(text.strip() for text, _ in head):
        raise BadText("there is nothing to read")
    if trial.score == (0, 0) and not any(without_times(text).strip(f"{BLANK} \t,;") for text, _ in head):
        raise BadText("there are times, addresses and identifiers, but no bytes")
    reader, numbers = LogReader(log, form), _LineNumbers()
    found = reader.window(numbers.of(head), final=ended)
    if trial.error is None and _score(found) <= trial.score:
        if trial.foreign and form == "auto":
            begun = trial.foreign.hex(" ")
            raise BadText(f"the dump holds no MQTT packet, as none begins with {begun}; --form hex shows it as one")
        log.forget()
        yield from _notation(chain(head, read), form, large)
        return
    beginning, searched, any_found = head, len(head) * _ROW, bool(found)
    yield from found
    while not ended and (any_found or not endless or searched < MOST_SEARCHED):
        head, ended = _window(read)
        found = reader.window(numbers.of(head), final=ended)
        any_found = any_found or bool(found)
        searched += sum(len(text) + _ROW for text, _ in head)
        yield from found
    if not any_found:
        raise reader.refused or reader.unknown or _nothing(trial, numbers.last, beginning)
    if reader.refused:
        raise reader.refused


def _notation(read: Iterable[Row], form: str, large: int) -> Iterator[TextPiece]:
    return read_rows(read, form, large=large) if large else (piece for piece, _ in run_parts(read, form))


class _LineNumbers:
    """Counts the lines of rows."""

    def __init__(self) -> None:
        self.last = 0
        self._new = True

    def of(self, rows: Iterable[Row]) -> list[tuple[int, str]]:
        """Return each row with the number of its line."""
        found = []
        for text, continued in rows:
            self.last += self._new
            self._new = not continued
            found.append((self.last, text))
        return found


def _window(read: Iterator[Row]) -> tuple[list[Row], bool]:
    """Return the next rows, and whether they are the last."""
    found: list[Row] = []
    size = 0
    for row in read:
        found.append(row)
        size += len(row[0]) + _ROW
        if size >= LOOK:
            return found, False
    return found, True


def _tried(head: list[Row], form: str, ended: bool) -> _Trial:
    pieces: list[TextPiece] = []
    if form not in FORMS:
        return _Trial(BadText(f"no packet is written in {form}"), (0, 0))
    try:
        pieces += (piece for piece, _ in run_parts(head, form, whole=ended))
    except BadText as error:
        return _Trial(error, (0, 0))
    score = _score(pieces)
    foreign = bool(pieces) and all(piece.kind == "dump" and _is_foreign(piece.data) for piece in pieces)
    begun = pieces[0].data[:4] if foreign else b""
    return _Trial(None, score, score[0] == sum(len(piece.data) for piece in pieces), begun)


def _is_foreign(data: bytes) -> bool:
    """Whether bytes are neither packets nor one with an error: their first byte begins none, nor does a length fit."""
    try:
        return len(data) > 1 and not begins_packet(data[0]) and frame_length(data) != len(data)
    except Overlong:
        return not begins_packet(data[0])


def _score(pieces: Iterable[TextPiece]) -> tuple[int, int]:
    """Return how many bytes are packets without errors, and how many pieces say who sent them."""
    size = directed = 0
    for piece in pieces:
        cut = cut_bytes(piece.data)
        size += cut.whole if cut.grade >= Grade.WEAK or cut.grade is Grade.OPEN else 0
        directed += piece.mark != ""
    return size, directed


def _may_be_log(head: list[Row]) -> bool:
    """Whether there are words, or columns, in a text that is bytes in a notation: they may say who sent what."""
    return any(_WORDED.search(text) for text, _ in head)


def _nothing(trial: _Trial, lines: int, head: list[Row]) -> BadText:
    """Return the error for a text without packets: that of the notation, unless there are several lines of words."""
    if lines > 1 and (trial.error is None or any(_WORD.search(text) for text, _ in head)):
        message = f"no MQTT packet was found in {counted(lines, 'line')}"
        return BadText(f"{message} (in hex, decimal, octal, escapes or base64)")
    return trial.error or BadText("no bytes")
