"""Pasted text in which the place of every character is known."""

import re
from bisect import bisect
from typing import NamedTuple

from ...common.bad_text import BadText

__all__ = ["BadText", "SourceText", "TextPiece", "TextSpan", "reach"]


class TextPiece(NamedTuple):
    """Bytes that were written together."""

    data: bytes
    line: int
    """The line at which it starts, counted from 1."""
    kind: str
    """The notation: hex, dump, array, escaped, base64, raw, or log for a line with other words."""
    mark: str = ""
    """`>` or `<` if a direction mark is before it."""
    start: int = 0
    """Bytes in earlier pieces of the same run: a long run is split into pieces of whole packets."""
    time_ns: int | None = None
    """Nanoseconds since 1970, where a log has a time with its date and zone."""


class SourceText:
    """The rows of a text that errors may still refer to, with LF at the end of each."""

    def __init__(self) -> None:
        self._rows: list[_Row] = []
        self._starts: list[int] = []
        self._line, self._column = 1, 0

    def add(self, text: str, *, continued: bool = False) -> "TextSpan":
        """Add the next row and return it; a byte order mark becomes a blank, `continued` rows do not end their line."""
        start = self._starts[-1] + len(self._rows[-1].text) + 1 if self._rows else 0
        self._rows.append(_Row(text, self._line, self._column))
        self._starts.append(start)
        self._column = self._column + len(text) if continued else 0
        self._line += not continued
        if start == 0 and text.startswith("\ufeff"):
            text = " " + text[1:]
        return TextSpan(self, start, text)

    def forget(self) -> None:
        """Forget all rows but the last two, which the parser has read ahead."""
        del self._rows[:-2], self._starts[:-2]

    def line(self, pos: int) -> int:
        """Return the number of the line with a character."""
        return self._row(pos)[0].line

    def error(self, pos: int, message: str) -> BadText:
        """Return the error for one character."""
        row, start = self._row(pos)
        return BadText(message, row.line, row.column + pos - start + 1, row.text)

    def _row(self, pos: int) -> "tuple[_Row, int]":
        at = max(bisect(self._starts, pos) - 1, 0)
        return self._rows[at], self._starts[at]


class _Row(NamedTuple):
    """A line, or a part of a very long one."""

    text: str
    line: int
    column: int
    """Characters of the line before this part."""


class TextSpan(NamedTuple):
    """A part of a source text; characters that are not data may be blanked."""

    source: SourceText
    start: int
    text: str
    mark: str = ""

    def error(self, pos: int, message: str) -> BadText:
        """Return the error for one character of the span."""
        return self.source.error(self.start + pos, message)

    def piece(self, data: bytes, kind: str) -> TextPiece:
        """Return bytes as a piece whose line is that of the first character that is not blank."""
        blanks = len(self.text) - len(self.text.lstrip())
        return TextPiece(data, self.source.line(self.start + blanks), kind, self.mark)

    def cut(self, start: int, end: int) -> "TextSpan":
        """Return a part of the span."""
        return self._replace(start=self.start + start, text=self.text[start:end])


def reach(pattern: re.Pattern[str], text: str, pos: int = 0) -> int:
    """Return the end of the match that begins at `pos`, or `pos` if there is none."""
    found = pattern.match(text, pos)
    return found.end() if found else pos
