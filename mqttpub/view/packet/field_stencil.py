"""The rows of a field with gaps: for the bytes and the words of its value, or for digits only."""

import re
from binascii import hexlify
from collections.abc import Callable, Container, Iterator, Sequence
from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple

from ...common.escape import ascii_column, ascii_octets
from .layout import Columns

KEY = 64
"""Characters that a key of remembered texts counts for."""
GAP = 256
"""Characters that a gap of a text counts for; it takes about as many bytes of memory (sys.getsizeof)."""
SPACE = ord(" ")
ZERO = ord("0")
DIGITS = re.compile(rb"[0-9]+")
HEX, CHARACTERS, WORDS = range(3)
Column = Sequence[bytes]
"""What belongs into one gap of many texts."""


class Gap(NamedTuple):
    """A part of the rows of a field that differs, and where it is found."""

    source: int
    """HEX or CHARACTERS of the bytes from `start` to `stop`, or the next row of WORDS."""
    start: int = 0
    stop: int = 0

    def place(self, size: int) -> slice:
        """Return where it is in the hex and the characters of `size` bytes; that of WORDS is empty."""
        if self.source == HEX:
            return slice(3 * self.start, 3 * self.stop - 1)
        before = 3 * size - 1 if self.source == CHARACTERS else 0
        return slice(before + self.start, before + self.stop)


class GapColumns:
    """Finds what belongs into the gaps of many texts, for values of one length."""

    def __init__(self, gaps: Sequence[Gap], size: int, last: Container[int] = ()) -> None:
        """`last` are the last bytes of rows beside which nothing stands."""
        self._last = [at for at, gap in enumerate(gaps) if gap.source == CHARACTERS and gap.stop - 1 in last]
        ends: list[tuple[int, int]] = []
        """The source of each cut and where it ends; within one the gaps follow one another."""
        formats: list[str] = []
        self._of: list[int] = []
        """For each gap, its cut; -1 for WORDS."""
        for source, start, stop in gaps:
            if source == WORDS:
                self._of.append(-1)
                continue
            if source == HEX:
                start, stop = 3 * start, 3 * stop - 1
            at = next((at for at, (kind, end) in enumerate(ends) if kind == source and end <= start), len(ends))
            if at == len(ends):
                ends.append((source, 0))
                formats.append("")
            formats[at] += f"{start - ends[at][1]}x{stop - start}s"
            ends[at] = source, stop
            self._of.append(at)
        self._cuts = [
            (source, Struct(f"{format}{(3 * size if source == HEX else size) - end}x"))
            for (source, end), format in zip(ends, formats, strict=True)
        ]

    def of(self, values: bytes, words: Iterator[Column]) -> tuple[list[Column], bool]:
        """Return a column for each gap, those of WORDS as given, and whether lines of some texts end with spaces.

        The values follow one another.
        """
        # All columns of a cut are found by one call: a sixth of the time of slices (tests/benchmarks/inspected.py).
        shown = {HEX: hexlify(values, " ") + b" ", CHARACTERS: ascii_octets(values)}
        found = [*[zip(*cut.iter_unpack(shown[source]), strict=True) for source, cut in self._cuts], words]
        columns = [next(found[at]) for at in self._of]
        is_blank = False
        for at in self._last:
            column = columns[at] = [each.rstrip(b" ") for each in columns[at]]
            # Between the hex of such a row and the next line there are spaces only.
            is_blank = is_blank or b"" in column
        return columns, is_blank


class FieldStencil:
    """The rows of a field with gaps for the bytes and the words of its value."""

    __slots__ = (
        "_columns",
        "_cut",
        "_ends",
        "_format",
        "_leading",
        "_size",
        "_words",
        "ends",
        "gaps",
        "text",
    )

    def __init__(
        self, text: str = "", gaps: Sequence[Gap] = (), ends: Sequence[int] = (), size: int = 0,
        leading: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.text = text
        """The rows as a format."""
        self.gaps = gaps
        self.ends = ends
        """The last bytes of rows beside which nothing stands: lines have no spaces at their ends."""
        self._size = size
        self._cut = cut_at([gap.place(size) for gap in gaps])
        self._words = [at for at, gap in enumerate(gaps) if gap.source == WORDS]
        self._ends = items_at(ends)
        self._leading = items_at(leading)
        """Returns the digits of a content that are not zero."""
        self._columns: GapColumns | None = None

    @property
    def weight(self) -> int:
        """How many characters of memory it takes, with what is made for many values."""
        return 2 * (len(self.text) + GAP * len(self.gaps))

    def leads_with_zero(self, content: bytes) -> bool:
        """Whether one of these digits is zero."""
        return ZERO in self._leading(content)

    def filled(self, content: bytes, rows: Sequence[str]) -> str:
        """Return the rows of a field with this content, and these rows of words."""
        # One format for all rows, and one call that cuts what belongs into it, take half the time of a loop over rows.
        values = self._cut(f"{content.hex(' ')}{ascii_column(content)}")
        if self._words:
            values = list(values)
            for at, row in zip(self._words, rows, strict=True):
                values[at] = row
            values = tuple(values)
        text = self.text % values
        return without_last_spaces(text) if SPACE in self._ends(content) else text

    def each_filled(self, contents: Sequence[bytes], rows: Sequence[Sequence[str]]) -> Column:
        """Return `filled`, as UTF-8, of each content and its rows."""
        if not self.gaps:
            return [self.text.encode() % ()] * len(contents)
        count = len(self._words)
        words = "\n".join([row for each in rows for row in each]).encode().split(b"\n")
        if self._columns is None:
            self._columns, self._format = GapColumns(self.gaps, self._size, self.ends), self.text.encode()
        columns, has_ends = self._columns.of(b"".join(contents), iter([words[at::count] for at in range(count)]))
        return texts_of(self._format, columns, has_ends=has_ends)

    def gaps_at(self, start: int) -> list[Gap]:
        """Return its gaps in a packet in which the field begins at `start`."""
        return [
            gap if gap.source == WORDS else Gap(gap.source, start + gap.start, start + gap.stop) for gap in self.gaps
        ]


def texts_of(format: bytes, columns: Sequence[Column], *, has_ends: bool) -> Column:
    """Return the format filled with each row of the columns; with `has_ends`, lines may end with spaces."""
    texts = map(format.__mod__, zip(*columns, strict=True))
    # Only rows whose bytes are all spaces end with some.
    return [without_last_spaces(text.decode()).encode() for text in texts] if has_ends else list(texts)


def cut_at(places: Sequence[slice]) -> Callable[[str], Any]:
    """Return the function that cuts a text at these places, for a format."""
    return itemgetter(*places) if places else lambda text: ()


def items_at(places: Sequence[int]) -> Callable[[bytes], Container[int]]:
    """Return the function that picks the bytes at these places."""
    # With one place, `itemgetter` returns no tuple.
    return itemgetter(*places, places[-1]) if places else lambda data: ()


def without_last_spaces(text: str) -> str:
    """Return text without spaces at the ends of lines."""
    # Few rows end with several spaces, and a regular expression takes ten times as long to find one.
    while " \n" in text:
        text = text.replace(" \n", "\n")
    return text


NONE = FieldStencil()
"""For words that no stencil has gaps for."""


class StencilRows:
    """The rows of a stencil so far; with `digits`, they have gaps for digits only."""

    def __init__(self, columns: Columns, content: bytes, start: int, *, digits: bool) -> None:
        self._columns = columns
        self._content = content
        self._start = start
        self._digits = digits
        self.runs = [Gap(CHARACTERS, *found.span()) for found in DIGITS.finditer(content)] if digits else []
        self._at = 0
        self.text = ""
        self.gaps: list[Gap] = []
        self.ends: list[int] = []

    def add(self, row: str, word: str, begin: int) -> None:
        """Add a row, which has this in its field column, with a word of the value at `begin`."""
        columns, at = self._columns, self._at
        shown, gaps = self._word(word)
        beside = f"{as_format(row[:begin])}{shown}{as_format(row[begin + len(word) :].rstrip())}"
        octets = self._content[at : at + columns.per_row]
        if octets:
            self.text += f"{self._start + at:0{columns.digits}x}  {self._bytes(at, octets, beside=bool(beside))}"
            self._at += len(octets)
        else:
            self.text += " " * columns.left
        self.text = f"{self.text}{beside}".rstrip(" ") + "\n"
        self.gaps += gaps

    def _word(self, word: str) -> tuple[str, list[Gap]]:
        """Return a word as a format, with its gaps."""
        if self._digits:
            text, count = re.subn("[0-9]+", "%s", as_format(word))
            gaps, self.runs = self.runs[:count], self.runs[count:]
            return text, gaps
        return ("%s", [Gap(WORDS)]) if word else ("", [])

    def _bytes(self, at: int, octets: bytes, *, beside: bool) -> str:
        """Return hex and characters as a format, and add their gaps."""
        columns = self._columns
        stop = at + len(octets)
        pad, between = " " * (columns.bytes + 1 - 3 * len(octets)), " " * (columns.per_row + 2 - len(octets))
        if self._digits and not DIGITS.search(octets):
            characters = f"{as_format(ascii_column(octets))}{between}" if columns.ascii else ""
            return f"{octets.hex(' ')}{pad}{characters}"
        self.gaps.append(Gap(HEX, at, stop))
        if not columns.ascii:
            return f"%s{pad}"
        if not beside and self._digits:
            stop -= len(octets) - len(octets.rstrip(b" "))
        elif not beside:
            self.ends.append(stop - 1)
        self.gaps.append(Gap(CHARACTERS, at, stop))
        return f"%s{pad}%s{between}"


def as_format(text: str) -> str:
    """Return text as a format."""
    return text.replace("%", "%%")
