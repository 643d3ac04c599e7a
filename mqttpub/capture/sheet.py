"""Pasted text in which every character keeps its place."""

import re
from bisect import bisect
from itertools import accumulate
from typing import NamedTuple


class BadText(ValueError):
    """Text that is not bytes in any known writing, and where it stops being so."""

    def __init__(self, message: str, line: int = 1, column: int = 1, source: str = "") -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        """Counted from 1."""
        self.column = column
        """Counted from 1, in characters."""
        self.source = source
        """The whole line."""


class Piece(NamedTuple):
    """Bytes that were written together."""

    data: bytes
    line: int
    """Where it starts."""
    kind: str
    """How it was written: hex, dump, array, escaped, base64 or raw."""
    mark: str = ""
    """`>` or `<` when a direction mark stood before it."""


class Sheet:
    """The whole text, with LF at the end of every line."""

    def __init__(self, text: str) -> None:
        self.rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.starts = [0, *accumulate(len(row) + 1 for row in self.rows)]

    def lines(self) -> "list[Run]":
        """Return one run for each line; a byte order mark counts as a blank."""
        runs = [Run(self, start, row) for start, row in zip(self.starts, self.rows, strict=False)]
        if runs[0].text.startswith("\ufeff"):
            runs[0] = Run(self, 0, " " + runs[0].text[1:])
        return runs

    def line(self, pos: int) -> int:
        """Return the number of the line that holds a character."""
        return min(bisect(self.starts, pos), len(self.rows))

    def error(self, pos: int, message: str) -> BadText:
        """Return the error for one character."""
        line = self.line(pos)
        return BadText(message, line, pos - self.starts[line - 1] + 1, self.rows[line - 1])


class Run(NamedTuple):
    """A part of a sheet; what is no data in it may have become blanks."""

    sheet: Sheet
    start: int
    text: str
    mark: str = ""

    def error(self, pos: int, message: str) -> BadText:
        """Return the error for one character of the run."""
        return self.sheet.error(self.start + pos, message)

    def piece(self, data: bytes, kind: str) -> Piece:
        """Return bytes as a piece that starts at the first character that is not blank."""
        blanks = len(self.text) - len(self.text.lstrip())
        return Piece(data, self.sheet.line(self.start + blanks), kind, self.mark)

    def cut(self, start: int, end: int) -> "Run":
        """Return a part of the run."""
        return self._replace(start=self.start + start, text=self.text[start:end])


def reach(pattern: re.Pattern[str], text: str, pos: int = 0) -> int:
    """Return where the match that begins at `pos` ends, or `pos` without one."""
    found = pattern.match(text, pos)
    return found.end() if found else pos
