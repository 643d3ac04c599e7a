"""Bytes from text that people paste: hex, dumps, arrays, strings, base64."""

import re
from collections.abc import Callable, Iterator, Sequence

from .digits import base64_bytes, digits, hex_bytes
from .hexdump import Dump, dump_at
from .literals import bare, opens, statements
from .sheet import BadText, Piece, Run, Sheet

__all__ = ["FORMS", "BadText", "Piece", "read_bytes", "read_text"]

_MARK = re.compile(r"\s*+(?:(C->S:|--?>|>(?=\s|$))|S->C:|<--?|<(?=\s|$))", re.IGNORECASE)
_TIME = r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2} )?[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}"
_ADDRESS = r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-f]*+:[0-9a-f]*+:[0-9a-f:.]*+)"
_HEADINGS = (
    "```|~~~",  # Markdown fence
    rf"{_TIME} [A-Za-z][^>]*+>.*: ",  # tcpdump: 12:00:00.000000 IP 10.0.0.1.50000 > 10.0.0.2.1883: Flags [P.]
    r"[A-Z][\w ]*+\([0-9]+ bytes\):\s*+$",  # tshark -x: Frame (85 bytes):
    r"No\.\s++Time\s",  # Wireshark, packet summary and its head
    rf"[0-9]++\s++[0-9]++\.[0-9]{{6,9}}\s++{_ADDRESS}\s++(?:\u2192\s++)?{_ADDRESS}\s",
    r"={5,}+\s*+$|Follow: \w++,hex\s*+$|Filter: |Node [01]: ",  # tshark -z follow,tcp,hex
)
_HEADING = re.compile(rf"\s*+(?:{'|'.join(_HEADINGS)})")
_SLASHES = re.compile(r"\s*+//[A-Za-z0-9+/]*+={0,2}\s*+$")
_AROUND = re.compile(
    r"""(?:(?<![^\s,;{}()\[\]])(?P<comment>/\*.*?(?P<closed>\*/|$)|//.*|\#.*)
    |[\[\](){}]|"(?:\\.|[^"\\])*+"?|'(?:\\.|[^'\\])*+'?)""",
    re.VERBOSE,
)
_DEPTH = {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}
_WITH_DUMPS = ("auto", "hex")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class Passage:
    """Lines without offsets that belong together; comments and blank lines within brackets do not end it."""

    def __init__(self, line: Run, mark: str, base64: bool) -> None:
        self.first = line._replace(mark=mark)
        self.base64 = base64
        self.rows: list[str] = []
        self.empty = True
        self.depth = 0
        self.comment = False
        self.depths = {} if line.text.lstrip().startswith("\\") else _DEPTH
        self._add(line)

    def takes(self, line: Run) -> bool:
        """Add a line if it belongs to the same passage."""
        if not (self.depth or self.comment):
            blank = not line.text.strip() or _HEADING.match(line.text) is not None
            if blank or self.empty or line.mark:
                return blank and self.empty and not line.mark
        self._add(line)
        return True

    def run(self) -> Run:
        """Return the text without its comments."""
        return self.first._replace(text="\n".join(self.rows))

    def _add(self, line: Run) -> None:
        """Add a line; an open comment is continued by opening it again in front of the line."""
        row = line.text
        if self.comment or not self._maybe_base64(row):
            ahead = "/*" if self.comment else ""
            self.comment = False
            row = _AROUND.sub(self._around, ahead + row)[len(ahead) :]
        self.rows.append(row)
        self.empty = self.empty and not row.strip()

    def _maybe_base64(self, row: str) -> bool:
        """Tell whether `//` may be digits of base64 that goes on in this line, and no comment."""
        return (self.base64 or not self.empty) and _SLASHES.match(row) is not None

    def _around(self, found: re.Match[str]) -> str:
        self.depth = max(0, self.depth + self.depths.get(found[0], 0))
        if not found["comment"]:
            return found[0]
        self.comment = found["closed"] == ""
        return " " * len(found[0])


def read_text(text: str) -> Iterator[Piece]:
    """Yield the bytes that a text writes; raises BadText at the first character that is none of it."""
    return _read(text, "auto")


def read_bytes(data: bytes, form: str = "auto") -> Iterator[Piece]:
    """Yield the bytes of a file in one of FORMS; `auto` takes what is not text as it is."""
    if form == "raw" or (form == "auto" and not _is_text(data)):
        return _raw(data)
    return _read(_decoded(data), form)


def _raw(data: bytes) -> Iterator[Piece]:
    if not data:
        raise BadText("no bytes")
    yield Piece(data, 1, "raw")


def _is_text(data: bytes) -> bool:
    try:
        return not _CONTROL.search(data.decode())
    except UnicodeDecodeError:
        return False


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        sheet = Sheet(data.decode(errors="backslashreplace"))
        end = Sheet(data[: error.start].decode()).starts[-1] - 1
        raise sheet.error(end, f"byte 0x{data[error.start]:02x} is not UTF-8") from None


def _read(text: str, form: str) -> Iterator[Piece]:
    empty = True
    for part in _parts([*map(_marked, Sheet(text).lines())], form):
        for piece in part.pieces() if isinstance(part, Dump) else _pieces(part.run(), form):
            if piece.data:
                empty = False
                yield piece
    if empty:
        raise BadText("no bytes")


def _parts(lines: Sequence[Run], form: str) -> Iterator[Passage | Dump]:
    """Yield what belongs together; a mark on a line of its own is for what comes next."""
    part: Passage | Dump = _passage(lines[0]._replace(text=""), "", form)
    for line, following in zip(lines, [*lines[1:], lines[-1]], strict=True):
        if part.takes(line):
            continue
        yield part
        mark = line.mark or (part.first.mark if isinstance(part, Passage) and part.empty else "")
        dump = dump_at(line, following, mark, isinstance(part, Dump)) if form in _WITH_DUMPS else None
        part = dump or _passage(line, mark, form)
    yield part


def _passage(line: Run, mark: str, form: str) -> Passage:
    """Return the passage that begins with a line; headings of other programs are blank."""
    if _HEADING.match(line.text):
        line = line._replace(text="")
    return Passage(line, mark, form == "base64")


def _marked(line: Run) -> Run:
    """Move the direction mark from the text of a line to its place."""
    found = _MARK.match(line.text)
    if not found:
        return line
    text = " " * found.end() + line.text[found.end() :]
    return line._replace(text=text, mark=">" if found[1] else "<")


def _pieces(run: Run, form: str) -> Iterator[Piece]:
    for value in _values(run, form):
        yield _PLAIN[form](value) if isinstance(value, Run) else value


def _values(run: Run, form: str) -> Iterator[Piece | Run]:
    """Yield what a passage holds: arrays and strings, escapes, or else digits."""
    if form != "base64" and opens(run):
        return statements(run, text_prefix="b" if form == "auto" else "")
    escapes = form != "base64" and run.text.lstrip().startswith("\\")
    return iter([bare(run) if escapes else run])


def _hex(run: Run) -> Piece:
    return run.piece(hex_bytes(run), "hex")


def _base64(run: Run) -> Piece:
    return run.piece(base64_bytes(run), "base64")


_PLAIN: dict[str, Callable[[Run], Piece]] = {"auto": digits, "hex": _hex, "base64": _base64, "escaped": bare}

FORMS = (*_PLAIN, "raw")
"""What `read_bytes` can be told to expect."""
