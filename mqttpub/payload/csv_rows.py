"""Rows of a CSV file, line by line (RFC 4180), so that memory stays small whatever the size of the file."""

from collections.abc import Iterator
from typing import BinaryIO

from ..common.errors import UserError
from ..common.words import counted

SEPARATORS = (b",", b";", b"\t")
"""What stands between cells: the first of these that the header has."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_ROW_BYTES = 1 << 17
"""What the standard library takes as one cell; more is a quotation mark that nobody closed."""


class CsvRows:
    """Makes rows of lines; `header` is the first line of the file, and names the columns. Raises ValueError."""

    def __init__(self, header: bytes) -> None:
        header = header.removeprefix(BYTE_ORDER_MARK).removesuffix(b"\n")
        self._separator = next((each for each in SEPARATORS if each in header), SEPARATORS[0])
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._count = 0
        cells = self._cells(header)
        if self._held:
            raise ValueError("a quotation mark in the first line, which names the columns, is not closed")
        if not cells:
            raise ValueError("the first line, which names the columns, is empty")
        self.columns = tuple(cell.decode(errors="replace") for cell in cells)
        """The names of the columns."""
        self._count = len(cells)

    def row(self, line: bytes) -> list[bytes] | None:
        """Return the cells of the row that a line ends; None for an empty line, and for one within quotation marks.

        Raises ValueError for a row that has not as many cells as the header.
        """
        cells = self._cells(line)
        if cells is not None and len(cells) != self._count:
            raise ValueError(f"the row has {counted(len(cells), 'cell')}, but the header {self._count}")
        return cells

    @property
    def is_within(self) -> bool:
        """Whether the row of the last line continues in the next one."""
        return bool(self._held)

    def end(self) -> None:
        """Raise ValueError if the file ends within a row."""
        if self._held:
            self._held.clear()
            raise ValueError("a quotation mark is not closed before the end of the file")

    def _cells(self, line: bytes) -> list[bytes] | None:
        line = line.removesuffix(b"\r")
        if b'"' in line or self._held:
            return self._quoted(line)
        return line.split(self._separator) if line else None

    def _quoted(self, line: bytes) -> list[bytes] | None:
        """Return the cells of a row with quotation marks, which may hold lines; None if it goes on in the next line."""
        import csv

        is_first = not self._held
        self._held.append(line)
        self._held_bytes += len(line) + 1
        if self._held_bytes > LONGEST_ROW_BYTES:
            self._forget()
            raise ValueError(
                f"a row with quotation marks has more than {LONGEST_ROW_BYTES:,} bytes; is one not closed?"
            )
        if not is_first and line.count(b'"') % 2 == 0:
            return None
        # Latin-1 gives back every byte. A reader that takes the second line has not seen the end of the first.
        reader = csv.reader([b"\n".join(self._held).decode("latin-1"), ""], delimiter=self._separator.decode())
        try:
            cells = next(reader)
        except csv.Error as error:
            self._forget()
            raise ValueError(f"not CSV: {error}") from None
        if reader.line_num > 1:
            return None
        self._forget()
        return [cell.encode("latin-1") for cell in cells]

    def _forget(self) -> None:
        self._held.clear()
        self._held_bytes = 0


def read_csv(file: BinaryIO, name: str) -> tuple[tuple[str, ...], Iterator[list[bytes]]]:
    """Return the columns of a file and its rows, which are read as they are taken.

    Both raise UserError, with the name of the file and the line, for what is not CSV.
    """
    try:
        rows = CsvRows(_line(file))
    except ValueError as error:
        raise UserError(f"'{name}', line 1: {error}") from None
    return rows.columns, _read(rows, file, name)


def _read(rows: CsvRows, file: BinaryIO, name: str) -> Iterator[list[bytes]]:
    number = 1
    try:
        while line := _line(file):
            number += 1
            cells = rows.row(line.removesuffix(b"\n"))
            if cells is not None:
                yield cells
        rows.end()
    except ValueError as error:
        raise UserError(f"'{name}', line {number}: {error}") from None


def _line(file: BinaryIO) -> bytes:
    return checked(file.readline(LONGEST_ROW_BYTES))


def checked(line: bytes) -> bytes:
    """Return a line of which at most LONGEST_ROW_BYTES were read; raises ValueError if that may not be all of it."""
    if len(line) == LONGEST_ROW_BYTES:
        raise ValueError(f"it has more than {LONGEST_ROW_BYTES:,} bytes")
    return line
