"""Spans of bytes, and reading within a window that no read can leave."""

from types import TracebackType
from typing import NamedTuple


class Span(NamedTuple):
    """A run of bytes, as offsets from the first byte of the packet; `stop` is exclusive."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        """Number of bytes."""
        return self.stop - self.start

    def shifted(self, by: int) -> "Span":
        """Return a span of the same length that begins `by` bytes later."""
        return Span(self.start + by, self.stop + by)


class Short(Exception):
    """A read needs more bytes than its window holds."""

    def __init__(self, start: int, needed: int, left: int, declared: bool = False) -> None:
        super().__init__(start, needed, left)
        self.start = start
        """Offset of the value that was being read."""
        self.needed = needed
        """Bytes that the value needs beyond those already read of it."""
        self.left = left
        """Bytes left in the window."""
        self.declared = declared
        """Whether `needed` is a length read from the bytes themselves."""


class Overlong(Exception):
    """A Variable Byte Integer does not end at its fourth byte (5.0: 1.5.5)."""

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.start = start
        """Offset of its first byte."""


def variable_integer(data: bytes | bytearray, pos: int, end: int) -> tuple[int, int] | None:
    """Return the Variable Byte Integer at `pos` and the offset after it; None if it does not end before `end`.

    Raises Overlong if its fourth byte is not its last (5.0: 1.5.5).
    """
    value = shift = 0
    at = pos
    while at < end:
        byte = data[at]
        at += 1
        if byte < 0x80:
            return value | byte << shift, at
        if shift == 21:
            raise Overlong(pos)
        value |= (byte & 0x7F) << shift
        shift += 7
    return None


class Cursor:
    """A position in bytes, and the end that it cannot pass.

    `pos` and `end` are absolute offsets into `data`. A read that would pass `end` raises Short and does not move `pos`.
    """

    __slots__ = ("data", "end", "pos")

    def __init__(self, data: bytes, pos: int = 0, end: int | None = None) -> None:
        self.data = data
        self.pos = pos
        self.end = len(data) if end is None else end

    def take(self, count: int, start: int | None = None) -> bytes:
        """Return the next `count` bytes; raises Short.

        `start` is the offset of the value that they are part of, if `count` was read from that value.
        """
        stop = self.pos + count
        if stop > self.end:
            began = self.pos if start is None else start
            raise Short(began, count, self.end - self.pos, declared=start is not None)
        taken = self.data[self.pos : stop]
        self.pos = stop
        return taken

    def integer(self, size: int) -> int:
        """Return the next `size` bytes as a big-endian integer (5.0: 1.5.2, 1.5.3); raises Short."""
        return int.from_bytes(self.take(size), "big")

    def variable(self) -> int:
        """Return a Variable Byte Integer (5.0: 1.5.5); raises Short, and Overlong if it has a fifth byte."""
        found = variable_integer(self.data, self.pos, self.end)
        if found is None:
            raise Short(self.pos, 1, 0)
        value, self.pos = found
        return value

    def window(self, length: int) -> "CursorWindow":
        """Narrow the cursor to the next `length` bytes for a `with` block."""
        return CursorWindow(self, length)


class CursorWindow:
    """A `with` block in which a cursor ends early; afterwards it is at the end of the window."""

    __slots__ = ("cursor", "outer", "stop")

    def __init__(self, cursor: Cursor, length: int) -> None:
        self.cursor = cursor
        self.outer = cursor.end
        self.stop = min(cursor.pos + length, cursor.end)

    def __enter__(self) -> Cursor:
        self.cursor.end = self.stop
        return self.cursor

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cursor.pos = self.stop
        self.cursor.end = self.outer
