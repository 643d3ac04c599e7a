"""From runs of bytes in lines to packets: rows of dumps, packets in several lines, and both directions in turn."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..text.hexdump import fitting
from .cleaning import LogLine
from .directions import Mark
from .numbers import Found
from .plausible import Grade, cut_bytes, may_go_on

_MOST_HELD = 1 << 20
"""Bytes of a packet of which the rest has not come, at most."""
_MOST_SQUEEZED = 1 << 16
"""Bytes of the rows that one asterisk stands for, at most."""
_MOST_OPEN = 64
"""Senders that may each be within a packet, at most."""


class Run(NamedTuple):
    """What may be bytes in a line, and what is known of it."""

    line: LogLine
    found: Found
    mark: Mark | None
    """What the line, or one above it, says of the direction."""
    starts: bool
    """Whether the line says that a message begins here."""
    labelled: bool
    """Whether there are words about packets, or a direction."""
    bare: bool
    """Whether no words are before the bytes."""
    above: str
    """The heading above it."""
    after: Mark | None
    """What was known of the run before it: a packet may continue in lines that say less than its first one."""
    ends: bool
    """Whether nothing but signs and a text column follows in the line."""


class Taken(NamedTuple):
    """Packets that belong together, and the run with which they begin."""

    run: Run
    data: bytes
    mark: Mark | None
    grade: Grade
    """OPEN if bytes of the last packet are missing."""


class _BegunPacket:
    """A packet of which the rest has not come yet."""

    def __init__(self, run: Run, mark: Mark | None, data: bytes, needed: int) -> None:
        self.run, self.mark, self.needed = run, mark, needed
        self.data = bytearray(data)


class _Block:
    """The rows of a dump."""

    def __init__(self, run: Run, data: bytes) -> None:
        self.run, self.base = run, run.found.offset
        self.data = bytearray(data)
        self.last = data
        self.squeezed = False
        """Whether an asterisk stands for rows like the last one."""
        self.radixes: tuple[int, ...] = (16, 8, 10)

    def add(self, data: bytes) -> None:
        """Add the bytes of a row."""
        self.data += data
        self.last = data

    def follows(self, offset: str) -> bool:
        """Whether an offset is that of the end of the block; fills in the rows that an asterisk stands for."""
        if self.squeezed:
            self._fill(offset)
        radixes = fitting(self.base, offset, len(self.data), self.radixes)
        self.radixes = radixes or self.radixes
        return radixes != ()

    def _fill(self, offset: str) -> None:
        self.squeezed = False
        for times in range(1, _MOST_SQUEEZED // len(self.last)):
            if fitting(self.base, offset, len(self.data) + times * len(self.last), self.radixes):
                self.data += self.last * times
                return

    def trim(self, offset: str) -> None:
        """Take off the byte that fills up the last word of a dump, as the offset at its end shows."""
        if not self.follows(offset) and fitting(self.base, offset, len(self.data) - 1, self.radixes):
            del self.data[-1]


class Assembler:
    """Puts packets together; `missed` is called with each run that is none."""

    def __init__(self, missed: Callable[[Run], object]) -> None:
        self._missed = missed
        self._block: _Block | None = None
        self._begun: dict[Mark | None, _BegunPacket] = {}
        self.frames = 0
        """Dumps of network frames."""

    @property
    def open(self) -> bool:
        """Whether a packet is begun."""
        return bool(self._begun) or self._block is not None

    def follows(self, run: Run) -> bool:
        """Whether a row continues the dump before it."""
        return self._block is not None and self._block.follows(run.found.offset)

    def missing(self, run: Run) -> int:
        """Return how many bytes the packet still needs that a run may continue; 0 if none is begun."""
        begun = self._begun.get(run.mark) or self._begun.get(run.after)
        return begun.needed - len(begun.data) if begun else 0

    def add(self, run: Run, data: bytes) -> Iterator[Taken]:
        """Add the bytes of a run and yield the packets that they complete."""
        block = self._block
        form, offset = run.found.form, run.found.offset
        if form[0] == "end":
            if block and offset == "*":
                block.squeezed = True
            elif block:
                block.trim(offset)
                yield from self._dumped()
            return
        is_row = form[0] in ("row", "last")
        if is_row and block and _same(block.run, run) and block.follows(offset):
            block.add(data)
            if len(block.data) > _MOST_HELD:
                yield from self._dumped()
            return
        yield from self._dumped()
        if is_row:
            self._block = _Block(run, data)
        else:
            yield from self._feed(run, run.mark, data)

    def end(self) -> Iterator[Taken]:
        """Yield the rest: the last dump, and packets that are cut short."""
        yield from self._dumped()
        for begun in self._begun.values():
            yield Taken(begun.run, bytes(begun.data), begun.mark, Grade.OPEN)
        self._begun.clear()

    def _dumped(self) -> Iterator[Taken]:
        block, self._block = self._block, None
        if block is None:
            return
        # Frames are rare, and bytes on the command line need none of what reads them.
        from .frames import frame_payload

        data, mark = bytes(block.data), block.run.mark
        if cut_bytes(data).grade < Grade.FRAMED and (frame := frame_payload(data)):
            self.frames += 1
            ends = frame.source, frame.target
            if 1883 in frame.ports or 8883 in frame.ports:
                mark = Mark(">" if frame.ports[1] in (1883, 8883) else "<", "end")
            elif mark is None or mark.kind != "end":
                mark = Mark(f"{min(ends)} {max(ends)} {'>' if ends[0] < ends[1] else '<'}", "pair")
            data = frame.data
        if data:
            yield from self._feed(block.run, mark, data)

    def _feed(self, run: Run, mark: Mark | None, data: bytes) -> Iterator[Taken]:
        alone = cut_bytes(data)
        if begun := self._begun_by(run, mark):
            if run.starts and _is_new(alone.grade, data, begun):
                yield Taken(begun.run, bytes(begun.data), begun.mark, Grade.OPEN)
            elif len(begun.data) + len(data) < begun.needed and self._goes_on(begun, data):
                self._begun[begun.mark] = begun
                return
            else:
                joined = bytes(begun.data) + data
                cut = cut_bytes(joined)
                if cut.grade >= Grade.FRAMED and (cut.grade > Grade.FRAMED or alone.grade < Grade.FRAMED):
                    yield Taken(begun.run, joined, begun.mark, cut.grade)
                    return
                if cut.grade is Grade.OPEN:
                    yield from self._begin(begun.run, run, begun.mark, joined, cut.whole, cut.needed)
                    return
                yield Taken(begun.run, bytes(begun.data), begun.mark, Grade.OPEN)
        if alone.grade >= Grade.FRAMED:
            yield Taken(run, data, mark, alone.grade)
        elif alone.grade is Grade.OPEN:
            yield from self._begin(run, run, mark, data, alone.whole, alone.needed)
        else:
            self._missed(run)

    def _begun_by(self, run: Run, mark: Mark | None) -> _BegunPacket | None:
        """Return the packet that a run may continue."""
        if mark not in self._begun and mark and mark.kind == "label":
            mark = run.after
        return self._begun.pop(mark, None)

    def _goes_on(self, begun: _BegunPacket, data: bytes) -> bool:
        size = len(begun.data)
        if size + len(data) > _MOST_HELD:
            return False
        begun.data += data
        if size > 64 or may_go_on(bytes(begun.data[:64]), begun.needed):
            return True
        del begun.data[size:]
        return False

    def _begin(self, first: Run, last: Run, mark: Mark | None, data: bytes, whole: int, needed: int) -> Iterator[Taken]:
        """Yield the whole packets at the beginning, and keep the rest until it is complete."""
        if whole:
            yield Taken(first, data[:whole], mark, cut_bytes(data[:whole]).grade)
        if len(self._begun) >= _MOST_OPEN:
            del self._begun[next(iter(self._begun))]
        self._begun[mark] = _BegunPacket(last if whole else first, mark, data[whole:], needed)


def _same(one: Run, other: Run) -> bool:
    """Whether a row may be of the same dump as the rows before it."""
    return not other.starts and one.mark == other.mark


def _is_new(grade: Grade, data: bytes, begun: _BegunPacket) -> bool:
    """Whether bytes of which the line says that they begin a message do begin one, though another is not complete."""
    return grade >= Grade.FRAMED or (grade is Grade.OPEN and min(len(data), len(begun.data)) >= _ENOUGH)


_ENOUGH = 4
"""Bytes that show whether a packet begins with them."""
