"""Hex dumps: lines with an offset before the bytes, and perhaps with text after them."""

import re
from collections.abc import Iterator

from .digits import bad_digit
from .source import TextPiece, TextSpan, reach

_PAIR = "[0-9a-fA-F]{2}"
_HEAD = re.compile(r"([ \t]*+)(0x)?([0-9a-fA-F]{4,16}+)(:?)[ \t]++(?=([0-9a-fA-F]++))")
_END = re.compile(r"[ \t]*+(?:0x)?([0-9a-fA-F]{4,16}+):?\s*+$")
_BYTES = re.compile(rf"(?:{_PAIR})++(?: (?:{_PAIR})++)*+")
_AFTER = re.compile(r"\s*+$|[ \t]{2}|\t| ?(?:\||#|//)")
_MORE = re.compile(rf"(?:\s++{_PAIR})++\s*+$")
_NO_DIGIT = re.compile(r"[^0-9a-fA-F\s]")
_FULL_ROW = 8
_RADIXES = (16, 8, 10)


class HexDump:
    """The rows of one dump whose offsets follow one another."""

    def __init__(self, line: TextSpan, head: re.Match[str], mark: str) -> None:
        self.first = line._replace(mark=mark)
        self.data = bytearray()
        self.base = head[3]
        self.indent = ""
        self.rows = 0
        self.radixes: tuple[int, ...] = _RADIXES
        self.before = 0
        """Bytes of the dump that were read already."""
        self._add(line, head)

    @property
    def size(self) -> int:
        """The approximate number of characters."""
        return 4 * len(self.data)

    @property
    def divided(self) -> bool:
        """Whether earlier bytes of the same dump were read already."""
        return self.before > 0

    def may_go_on(self) -> bool:
        """Return False: the rows so far can be read."""
        return False

    def divides(self) -> bool:
        """Return True: any row can be the last of a part."""
        return True

    def restart(self) -> None:
        """Forget the bytes, which were read."""
        self.before += len(self.data)
        self.data.clear()

    def accepts(self, line: TextSpan) -> bool:
        """Add a line if it belongs to the same dump; raises BadText for a row that does not follow."""
        if line.mark not in ("", self.first.mark):
            return False
        if line.text.strip() == "*":
            raise line.error(line.text.index("*"), "'*' stands for lines that were left out")
        if end := _END.match(line.text):
            self._follow(line, end, 1)
            return True
        head = _HEAD.match(line.text)
        if not head or _zero(head) or not self._aligned(head):
            return False
        self._follow(line, head, 3)
        self._add(line, head)
        return True

    def pieces(self) -> Iterator[TextPiece]:
        """Yield the one piece."""
        yield self.first.piece(bytes(self.data), "dump")

    def _aligned(self, head: re.Match[str]) -> bool:
        """Whether the indent fits the dump; "Follow TCP Stream" indents one of the two directions."""
        if head[1] == self.indent:
            return True
        trimmed = self.rows == 1 and (self.first.mark != "" or len(head[1]) > len(self.indent))
        return trimmed and fitting(self.base, head[3], self._count()) != ()

    def _follow(self, line: TextSpan, found: re.Match[str], group: int) -> None:
        self.radixes = fitting(self.base, found[group], self._count(), self.radixes)
        if not self.radixes:
            message = f"offset {found[group]} stands {self._count()} bytes after offset {self.base}"
            raise line.error(found.start(group), message)

    def _count(self) -> int:
        return self.before + len(self.data)

    def _add(self, line: TextSpan, head: re.Match[str]) -> None:
        if not self.data:
            self.first = line._replace(mark=self.first.mark)
        self.data += _row_bytes(line, head.end())
        self.indent = head[1]
        self.rows += 1


def _head(line: TextSpan) -> re.Match[str] | None:
    """Return the offset and first digits of a row; without a colon, single bytes have to follow."""
    found = _HEAD.match(line.text)
    if not found or found[4] or len(found[5]) == 2:
        return found
    if found[3] == "0000000":
        raise line.error(found.start(5), f"words of {len(found[5])} digits stand where single bytes are expected")
    return None


def dump_at(line: TextSpan, following: TextSpan, mark: str, in_dump: bool) -> HexDump | None:
    """Return the dump that begins with `line`, None if none does; `mark` is the mark of the sender.

    An offset other than 0 counts if it is written as `0x...:`, if the next row (`following`) or the text column proves
    it, and inside a dump.
    """
    head = _HEAD.match(line.text) if in_dump else _head(line)
    if head and (in_dump or _zero(head) or (head[2] and head[4]) or _proven(line, head, following)):
        return HexDump(line, head, mark)
    return None


def _proven(line: TextSpan, head: re.Match[str], following: TextSpan) -> bool:
    """Whether the next row or the text column proves that a row begins with an offset."""
    end = reach(_BYTES, line.text, head.end())
    data, column = bytes.fromhex(line.text[head.end() : end]), line.text[end:]
    after = _head(following)
    if after and len(data) >= _FULL_ROW:
        return fitting(head[3], after[3], len(data)) != ()
    return shows(column, data) and _NO_DIGIT.search(column) is not None


def _zero(head: re.Match[str]) -> bool:
    return not head[3].strip("0")


def fitting(base: str, offset: str, count: int, radixes: tuple[int, ...] = _RADIXES) -> tuple[int, ...]:
    """Return the radixes in which an offset is `count` bytes after the base."""
    return tuple(radix for radix in radixes if _distance(base, offset, radix) == count)


def _distance(base: str, offset: str, radix: int) -> int | None:
    try:
        return int(offset, radix) - int(base, radix)
    except ValueError:
        return None


def _row_bytes(line: TextSpan, pos: int) -> bytes:
    """Return the bytes of a row that begin at `pos`."""
    text = line.text
    end = reach(_BYTES, text, pos)
    data = bytes.fromhex(text[pos:end])
    if len(data) == 8 and text.startswith("  ", end):
        data, end = _second_half(text, data, end)
    if not _AFTER.match(text, end):
        raise bad_digit(line, end + text.startswith(" ", end))
    if _MORE.match(text, end) and not shows(text[end:], data):
        raise line.error(end, "more bytes follow where the text column is expected")
    return data


def _second_half(text: str, data: bytes, end: int) -> tuple[bytes, int]:
    """Return the bytes with those after the gap in the middle, unless these are the text column, and their end."""
    last = reach(_BYTES, text, end + 2)
    both = data + bytes.fromhex(text[end + 2 : last])
    if shows(text[end:], data) and not shows(text[last:], both):
        return data, end
    return (both, last) if len(both) > len(data) else (data, end)


def shows(column: str, data: bytes) -> bool:
    """Whether a text column shows these bytes, with dots for those that cannot be printed."""
    shown = "".join(chr(byte) if 0x20 < byte < 0x7F else "." for byte in data if byte != 0x20)
    return bool(shown) and "".join(column.split()) in (shown, f"|{shown}|", f">{shown}<")
