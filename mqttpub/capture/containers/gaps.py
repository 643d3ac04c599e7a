"""Damage in a capture: where it ends, and how it is reported."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from ...common.words import counted
from ..types import BadCapture
from .buffer import Buffer

MOST_NAMED = 10
"""Gaps that a message names one by one."""
LONGEST_PROVED = 1 << 20
"""Bytes of a record that counts as proof, at most: a search reads only a few of them ahead."""
_ZEROS = bytes(64)
"""More zeros than a record begins with: lost parts of a file are often zeros."""


class FileGap(NamedTuple):
    """Bytes of a file that cannot be read; `offset` and `length` in bytes."""

    offset: int
    length: int
    message: str
    """Why."""
    skipped: bool
    """Whether the file holds these bytes; False for what follows its end."""
    cut: bool = False
    """Whether the file only ends too early."""

    @property
    def sentence(self) -> str:
        """Such as `record 7 claims 4294967295 bytes, but at most 262144 are possible (486 bytes skipped)`."""
        return f"{self.message} ({counted(self.length, 'byte')} skipped)" if self.skipped else self.message


class FileGaps:
    """The gaps of one file, in order; only the first MOST_NAMED are kept one by one."""

    def __init__(self) -> None:
        self._named: list[FileGap] = []
        self._more = 0
        self._more_bytes = 0
        self._end = -1
        """Offset of the end of the last gap."""

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self._named)

    def add(self, gap: FileGap) -> None:
        """Add the next gap; one that begins where the last one ends extends it."""
        adjoins, self._end = gap.offset == self._end, gap.offset + gap.length
        if adjoins and self._more:
            self._more_bytes += gap.length
        elif adjoins:
            last = self._named[-1]
            self._named[-1] = last._replace(length=last.length + gap.length, skipped=True, cut=False)
        elif len(self._named) < MOST_NAMED:
            self._named.append(gap)
        else:
            self._more += 1
            self._more_bytes += gap.length

    def error(self) -> BadCapture | None:
        """Return the error of the file, at the offset of the first gap; None for a file without gaps."""
        if not self._named:
            return None
        first, *others = self._named
        sentences = [first.sentence, *(f"offset {each.offset}: {each.sentence}" for each in others)]
        if self._more:
            sentences.append(f"{counted(self._more, 'more gap')} of {counted(self._more_bytes, 'byte')}")
        return BadCapture("; ".join(sentences), first.offset, cut=first.cut and not others)


class RecordFinder(ABC):
    """Finds the next place at which records certainly begin.

    Damaged bytes may look like a record by chance, so a place counts only if several records follow one another from
    there, or lead to the end of the file.
    """

    def __init__(self, buffer: Buffer, pattern: re.Pattern[bytes], size: int) -> None:
        """Set the pattern, an empty match where `size` bytes could begin a record."""
        self.buffer = buffer
        self._pattern = pattern
        self._size = size

    @abstractmethod
    def proved(self) -> bool:
        """Whether records certainly begin where the buffer is; the buffer stays there."""

    def find(self, most: int | None = None, passed: Callable[[bytes], object] = len) -> bool:
        """Advance to the next place at which records begin; False if there is none within `most` bytes.

        The buffer is then after these bytes, or at the end of the file. `passed` is called with the skipped bytes.
        """
        stop = None if most is None else self.buffer.offset + most
        while self._seek(stop, passed):
            if self.proved():
                return True
            self._pass(1, passed)
        return False

    def _find_after_break(self, gaps: FileGaps) -> bool:
        """Advance to the next such place after a break in the bytes, and add the gaps."""
        buffer, found = self.buffer, False
        while (broken := buffer.broken) and not found:
            left = buffer.left
            if not buffer.resume_after_break():
                gaps.add(FileGap(broken.offset, 0, broken.message, skipped=False, cut=broken.cut))
                break
            begin = buffer.offset - left
            found = self.find()
            gaps.add(FileGap(begin, buffer.offset - begin, broken.message, skipped=True))
        return found

    def more(self, gaps: FileGaps) -> bool:
        """Continue after a break at the end of the bytes; False at the end of a file without gaps, else BadCapture."""
        if self._find_after_break(gaps):
            return True
        if error := gaps.error():
            raise error
        return False

    def _seek(self, stop: int | None, passed: Callable[[bytes], object]) -> bool:
        """Advance to the next place that matches the pattern."""
        buffer = self.buffer
        while stop is None or buffer.offset < stop:
            more = buffer.need(self._size)
            data, at = buffer.data, buffer.at
            left = buffer.left if stop is None else min(buffer.left, stop - buffer.offset)
            # Places at which a record could begin with all of its first bytes available.
            places = min(left, buffer.left - self._size + 1) if more else left
            if data.startswith(_ZEROS, at):
                zeros = len(data) - at - len(data[at:].lstrip(b"\0"))
                self._pass(min(places, zeros - self._size), passed)
                continue
            match = self._pattern.search(data, at, at + places + self._size - 1)
            ahead = min(match.start() - at, places) if match else places
            self._pass(ahead, passed)
            if ahead < places:
                return True
            if not more:
                break
        return False

    def _pass(self, count: int, passed: Callable[[bytes], object]) -> None:
        buffer = self.buffer
        passed(buffer.data[buffer.at : buffer.at + count])
        buffer.at += count
