"""The lines of a text, read piece by piece, so that its size does not matter."""

from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from io import IncrementalNewlineDecoder
from itertools import chain
from typing import BinaryIO

from .digits import digits_end
from .source import BadText

BLOCK = 1 << 16
"""Bytes that are read at a time."""
LONG = 1 << 18
"""Characters of a line above which it is cut, if possible."""
LONGEST = 1 << 26
"""Characters of a line that cannot be cut, at most."""

Row = tuple[str, bool]
"""A line without its end, or a part of one, and whether the line continues in the next row."""


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield a file in blocks."""
    while block := file.read(BLOCK):
        yield block


def rows_of_text(text: str) -> Iterator[Row]:
    """Yield the lines of a text."""
    return ((row, False) for row in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def rows(blocks: Iterable[bytes], *, tolerant: bool = False) -> Iterator[Row]:
    """Yield the lines of blocks; raises BadText for bytes that are not UTF-8, and for a line that is too long.

    If it is `tolerant`, U+FFFD stands for what is not UTF-8.
    """
    errors = "replace" if tolerant else "strict"
    decoder, newlines = getincrementaldecoder("utf-8")(errors), IncrementalNewlineDecoder(None, True)
    lines = _LineCutter()
    for block, final in chain(((block, False) for block in blocks), [(b"", True)]):
        try:
            text = decoder.decode(block, final)
        except UnicodeDecodeError as error:
            yield from lines.add(newlines.decode(error.object[: error.start].decode(), True))
            raise lines.error(error) from None
        yield from lines.add(newlines.decode(text, final))
    yield lines.last()


class _LineCutter:
    """Cuts text into lines."""

    def __init__(self) -> None:
        self._held: list[str] = []
        """The line that has not ended."""
        self._size = 0
        self._column = 0
        self._line = 1
        self._whole = False
        """Whether the line cannot be cut."""

    def add(self, text: str) -> Iterator[Row]:
        *ended, rest = text.split("\n")
        for row in ended:
            yield "".join([*self._held, row]), False
            self._held, self._size, self._column, self._whole = [], 0, 0, False
            self._line += 1
        if rest:
            self._held.append(rest)
            self._size += len(rest)
        if self._size > LONG and not self._whole:
            yield from self._part()
        if self._size > LONGEST:
            message = f"the line has more than {LONGEST:,} characters and cannot be read in parts"
            raise BadText(message, self._line, self._column + 1)

    def _part(self) -> Iterator[Row]:
        """Yield the hex digits at the beginning of a long line."""
        line = "".join(self._held)
        end = digits_end(line, begins=self._column == 0)
        if end:
            yield line[:end], True
        self._whole = not end
        self._held, self._size, self._column = [line[end:]], len(line) - end, self._column + end

    def last(self) -> Row:
        return "".join(self._held), False

    def error(self, error: UnicodeDecodeError) -> BadText:
        """Return the error for the byte at which decoding stopped."""
        row = "".join(self._held)
        rest, *_ = error.object[error.start :].decode(errors="backslashreplace").splitlines()
        message = f"byte 0x{error.object[error.start]:02x} is not UTF-8"
        return BadText(message, self._line, self._column + len(row) + 1, row + rest)
