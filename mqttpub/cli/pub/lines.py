"""Bulk messages: records cut from a stream."""

from collections.abc import Callable
from itertools import accumulate, count, repeat
from operator import add
from typing import Any, NamedTuple

from ...wire.types import MAX_VARIABLE


class InputRecord(NamedTuple):
    """One message as it stood in the stream."""

    data: bytes
    number: int
    """Counted from 1."""
    end: int
    """Offset in the stream, in bytes, after the record and its delimiter, from which reading can continue."""


class RecordTooLong(ValueError):
    """A record that no packet can carry."""


class LineReader:
    """Cuts a stream, given in chunks of any size, into records.

    An empty line is an empty record, and the last one needs no delimiter. `number` and `offset`
    say what was read before, when reading continues in the middle of a file; `noun` names a record. RecordTooLong is
    raised once all records before the long one were returned.
    """

    def __init__(
        self, delimiter: bytes = b"\n", *, number: int = 0, offset: int = 0, limit: int = MAX_VARIABLE,
        noun: str = "message",
    ) -> None:  # fmt: skip
        if not delimiter:
            raise ValueError("a delimiter has at least one byte")
        self.number = number
        """Records returned so far."""
        self.offset = offset
        """Where the next record begins."""
        self._delimiter = delimiter
        self._limit = limit
        self._noun = noun
        self._held = bytearray()
        self._overlap = b""
        self._fault: RecordTooLong | None = None

    def feed(self, chunk: bytes) -> list[InputRecord]:
        """Return the records that a chunk completes."""
        number, offset = self.number, self.offset
        return _records(self.split(chunk), number, offset, len(self._delimiter))

    def split(self, chunk: bytes) -> list[bytes]:
        """Return the records that a chunk completes as bytes alone; `number` and `offset` are those after them."""
        if self._fault:
            raise self._fault
        parts = (self._overlap + chunk).split(self._delimiter)
        rest = parts.pop()
        if parts and self._held:
            parts[0] = bytes(self._held) + parts[0]
            self._held.clear()
        whole = self._checked(parts)
        self._count(whole, len(self._delimiter))
        self._hold(rest)
        if self._fault and not whole:
            raise self._fault
        return whole

    def finish(self) -> list[InputRecord]:
        """Return what follows the last delimiter as a record."""
        if self._fault:
            raise self._fault
        last = bytes(self._held) + self._overlap
        self._held.clear()
        self._overlap = b""
        parts = self._checked([last] if last else [])
        records = _records(parts, self.number, self.offset, 0)
        self._count(parts, 0)
        if self._fault:
            raise self._fault
        return records

    def _count(self, parts: list[bytes], gap: int) -> None:
        """Note that records were returned, each with a delimiter of `gap` bytes."""
        self.number += len(parts)
        self.offset += sum(map(len, parts)) + gap * len(parts)

    def _checked(self, parts: list[bytes]) -> list[bytes]:
        """Return the parts before the first that is too long."""
        longest = max(map(len, parts), default=0)
        if longest <= self._limit:
            return parts
        at = next(at for at, part in enumerate(parts) if len(part) > self._limit)
        self._refuse(at)
        return parts[:at]

    def _hold(self, rest: bytes) -> None:
        """Keep the beginning of a record; its last bytes may belong to a delimiter that is not all there."""
        whole = max(len(rest) - len(self._delimiter) + 1, 0)
        self._held += rest[:whole]
        self._overlap = rest[whole:]
        if len(self._held) > self._limit and not self._fault:
            self._refuse(0)

    def _refuse(self, at: int) -> None:
        number = self.number + at + 1
        self._fault = RecordTooLong(f"{self._noun} {number} has more than {self._limit} bytes, but no packet can")


_new: Callable[[type[InputRecord], Any], InputRecord] = tuple.__new__


def _records(parts: list[bytes], number: int, offset: int, gap: int) -> list[InputRecord]:
    """Return parts as records that follow the one with this number, at this offset."""
    ends = map(add, accumulate(map(len, parts)), count(offset + gap, gap))
    return list(map(_new, repeat(InputRecord), zip(parts, count(number + 1), ends, strict=False)))
