"""Bytes from text that people paste: hex, dumps, arrays, strings, base64."""

import re
from collections.abc import Callable, Iterable, Iterator

from .digits import base64_bytes, digits, hex_bytes, may_be_base64
from .hexdump import HexDump, dump_at
from .literals import bare, opens, statements
from .rows import Row, rows
from .source import BadText, SourceText, TextPiece, TextSpan

__all__ = ["FORMS", "BadText", "TextPiece", "read_bytes", "read_raw", "read_rows", "run_parts"]

LARGE = 1 << 18
"""Characters of digits without a separation above which a file is read part by part."""
LARGEST = 1 << 26
"""Characters of an array, a string or base64, which have to be read whole, at most."""
_ROW = 160
"""Characters that are counted for each row besides its own, for its memory."""

_MARK = re.compile(r"\s*+(?:(C->S:|--?>|>(?=\s|$))|S->C:|<--?|<(?=\s|$))", re.IGNORECASE)
_TIME = r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2} )?[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}"
_ADDRESS = r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-f]*+:[0-9a-f]*+:[0-9a-f:.]*+)"
_HEADINGS = (
    "```|~~~",  # Markdown fence
    rf"{_TIME} [A-Za-z][^>]*+>.*: ",  # tcpdump: 12:00:00.000000 IP 10.0.0.1.50000 > 10.0.0.2.1883: Flags [P.]
    r"[A-Z][\w ]*+\([0-9]+ bytes\):\s*+$",  # tshark -x: Frame (85 bytes):
    r"No\.\s++Time\s",  # Wireshark, packet summary and its head
    rf"[0-9]++\s++[0-9]++\.[0-9]{{6,9}}\s++{_ADDRESS}\s++(?:\u2192\s++)?{_ADDRESS}\s",
    r"={5,}+\s*+$|Follow: \w++,(?:hex|raw)\s*+$|Filter: |Node [01]: ",  # tshark -z follow,tcp,hex
)
_FOLLOWED = re.compile(r"\s*+Follow: \w++,raw\s*+$|={5,}+\s*+$")
"""The first and last lines of `tshark -z follow,tcp,raw`, which indents the bytes of one end."""
_HEADING = re.compile(rf"\s*+(?:{'|'.join(_HEADINGS)})")
_SLASHES = re.compile(r"\s*+//[A-Za-z0-9+/]*+={0,2}\s*+$")
_AROUND = re.compile(
    r"""(?:(?<![^\s,;{}()\[\]])(?P<comment>/\*.*?(?P<closed>\*/|$)|//.*|\#.*)
    |[\[\](){}]|"(?:\\.|[^"\\])*+"?|'(?:\\.|[^'\\])*+'?)""",
    re.VERBOSE,
)
_DEPTH = {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}
_WITH_DUMPS = ("auto", "hex")


class Passage:
    """Lines without offsets that belong together; comments and blank lines within brackets do not end a passage."""

    def __init__(self, line: TextSpan, mark: str, form: str) -> None:
        self.first = line._replace(mark=mark)
        self.form = form
        self.indented = line.text[:1].isspace()
        self.rows: list[str] = []
        self.size = 0
        """Characters of the rows."""
        self.empty = True
        self.depth = 0
        self.comment = False
        self.depths = {} if line.text.lstrip().startswith("\\") else _DEPTH
        self.divided = False
        """Whether earlier bytes of the same passage were read already."""
        self._indivisible = False
        self._part: TextPiece | None = None
        self._wrong: BadText | None = None
        self._add(line)

    def accepts(self, line: TextSpan) -> bool:
        """Add a line if it belongs to the same passage."""
        if not (self.depth or self.comment):
            blank = not line.text.strip() or _HEADING.match(line.text) is not None
            if blank or self.empty or line.mark:
                self.size += _ROW
                return blank and self.empty and not line.mark
        self._add(line)
        return True

    def run(self) -> TextSpan:
        """Return the text without comments."""
        return self.first._replace(text="\n".join(self.rows))

    def pieces(self) -> Iterator[TextPiece]:
        """Yield the bytes of the rows; after a part in hex, only hex can follow."""
        if self._wrong:
            raise self._wrong
        if self._part:
            return iter([self._part])
        return iter([_hex(self.run())]) if self.divided else _pieces(self.run(), self.form)

    def may_go_on(self) -> bool:
        """Whether what follows can still mend what is wrong with the rows: an array or a string is open."""
        return (self.depth > 0 or self.comment) and opens(self.run())

    def divides(self) -> bool:
        """Whether the rows can be read, or are wrong, whatever follows; raises BadText for too many rows."""
        if self.empty:
            return True
        if not (self._indivisible or self.depth or self.comment):
            try:
                self._part = self._digits(self.run())
            except BadText as error:
                self._wrong = error
                return True
            self._indivisible = self._part is None
        if self.size > LARGEST and not self._part:
            message = f"the value that begins here has more than {LARGEST:,} characters and cannot be read in parts"
            raise self.first.error(0, message)
        return self._part is not None

    def restart(self) -> None:
        """Forget the rows, whose bytes were read."""
        self.divided = not self.empty and not self._wrong
        self.rows, self.size, self._part, self._wrong = [], 0, None, None

    def _digits(self, run: TextSpan) -> TextPiece | None:
        if self.form in ("base64", "escaped") or opens(run) or run.text.lstrip().startswith("\\"):
            return None
        try:
            return _hex(run)
        except BadText:
            if self.form == "auto" and not self.divided and may_be_base64(run):
                return None
            raise

    def _add(self, line: TextSpan) -> None:
        """Add a line; an open comment continues because it is opened again before the line."""
        if not self.rows:
            self.first = line._replace(mark=self.first.mark)
        row = line.text
        if self.comment or not self._maybe_base64(row):
            ahead = "/*" if self.comment else ""
            self.comment = False
            row = _AROUND.sub(self._around, ahead + row)[len(ahead) :]
        self.rows.append(row)
        self.size += len(row) + _ROW
        self.empty = self.empty and not row.strip()

    def _maybe_base64(self, row: str) -> bool:
        """Whether `//` may be base64 digits that continue in this line, rather than a comment."""
        return (self.form == "base64" or not self.empty) and _SLASHES.match(row) is not None

    def _around(self, found: re.Match[str]) -> str:
        self.depth = max(0, self.depth + self.depths.get(found[0], 0))
        if not found["comment"]:
            return found[0]
        self.comment = found["closed"] == ""
        return " " * len(found[0])


def read_bytes(data: bytes, form: str = "auto") -> Iterator[TextPiece]:
    """Yield the bytes of a file in one of FORMS; raises BadText at the first character that does not belong to them."""
    return _raw(data) if form == "raw" else (piece for piece, _ in run_parts(rows((data,)), form))


def read_raw(blocks: Iterable[bytes]) -> Iterator[TextPiece]:
    """Yield bytes as they are; raises BadText if there are none."""
    from .runs import cut

    return cut(_raw_parts(blocks))


def read_rows(rows: Iterable[Row], form: str = "auto", *, large: int = LARGE) -> Iterator[TextPiece]:
    """Yield the bytes in rows of a text of any size: a long run of bytes is split into pieces of whole packets."""
    from .runs import cut

    return cut(run_parts(rows, form, large))


def _raw(data: bytes) -> Iterator[TextPiece]:
    if not data:
        raise BadText("no bytes")
    yield TextPiece(data, 1, "raw")


def _raw_parts(blocks: Iterable[bytes]) -> Iterator[tuple[TextPiece, bool]]:
    empty = True
    for block in blocks:
        empty = False
        yield TextPiece(block, 1, "raw"), True
    if empty:
        raise BadText("no bytes")
    yield TextPiece(b"", 1, "raw"), False


def run_parts(
    rows: Iterable[Row], form: str = "auto", large: int = 0, *, whole: bool = True
) -> Iterator[tuple[TextPiece, bool]]:
    """Yield the bytes in rows, and whether more bytes of the same run follow.

    Digits of more than `large` characters are read part by part; 0 means never. Unless these are the `whole` rows of
    the text, a value that may continue after the last of them is left out.
    """
    source, empty = SourceText(), True
    lines = (_marked(source.add(text, continued=continued)) for text, continued in rows)
    for part, more in _parts(lines, form, large):
        if more is None and not whole and part.may_go_on():
            return
        for piece in part.pieces():
            if piece.data or part.divided:
                empty = empty and not piece.data
                yield piece, bool(more)
        source.forget()
    if empty and whole:
        raise BadText("no bytes")


def _parts(lines: Iterable[TextSpan], form: str, large: int) -> Iterator[tuple[Passage | HexDump, bool | None]]:
    """Yield lines that belong together, and whether more of them follow; None with the last.

    A mark on a line of its own is for the next lines.
    """
    part: Passage | HexDump | None = None
    followed = False
    for line, following in _followed(lines):
        part = part or _passage(line._replace(text=""), "", form)
        if _FOLLOWED.match(line.text):
            followed = "raw" in line.text
        if not (followed and _indents(part, line)) and part.accepts(line):
            if large and part.size >= large and part.divides():
                yield part, True
                part.restart()
            continue
        yield part, False
        mark = line.mark or (part.first.mark if isinstance(part, Passage) and part.empty else "")
        dump = dump_at(line, following, mark, isinstance(part, HexDump)) if form in _WITH_DUMPS else None
        part = dump or _passage(line, mark, form)
    if part:
        yield part, None


def _indents(part: Passage | HexDump, line: TextSpan) -> bool:
    """Whether a line is of the other end than the lines before it."""
    return isinstance(part, Passage) and not part.empty and line.text[:1].isspace() != part.indented


def _followed(lines: Iterable[TextSpan]) -> Iterator[tuple[TextSpan, TextSpan]]:
    """Yield each line with the next one; the last with itself."""
    rest = iter(lines)
    line = next(rest)
    for following in rest:
        yield line, following
        line = following
    yield line, line


def _passage(line: TextSpan, mark: str, form: str) -> Passage:
    """Return the passage that begins with a line; headings of other programs count as blank."""
    if _HEADING.match(line.text):
        line = line._replace(text="")
    return Passage(line, mark, form)


def _marked(line: TextSpan) -> TextSpan:
    """Move the direction mark from the text of a line to the span."""
    found = _MARK.match(line.text)
    if not found:
        return line
    text = " " * found.end() + line.text[found.end() :]
    return line._replace(text=text, mark=">" if found[1] else "<")


def _pieces(run: TextSpan, form: str) -> Iterator[TextPiece]:
    """Yield the values in a passage: arrays and strings, escapes, or else digits."""
    if form != "base64" and opens(run):
        for value in statements(run, text_prefix="b" if form == "auto" else ""):
            yield _PLAIN[form](value) if isinstance(value, TextSpan) else value
    elif form != "base64" and run.text.lstrip().startswith("\\"):
        yield bare(run)
    else:
        yield _PLAIN[form](run)


def _hex(run: TextSpan) -> TextPiece:
    return run.piece(hex_bytes(run), "hex")


def _base64(run: TextSpan) -> TextPiece:
    return run.piece(base64_bytes(run), "base64")


_PLAIN: dict[str, Callable[[TextSpan], TextPiece]] = {"auto": digits, "hex": _hex, "base64": _base64, "escaped": bare}

FORMS = (*_PLAIN, "raw")
"""The notations that `read_bytes` can expect."""
