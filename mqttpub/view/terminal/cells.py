"""Styled text in terminal cells: its width, wrapping and clipping."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from unicodedata import category, east_asian_width

Segment = tuple[str, str]
"""Text and the name of its style."""
Line = list[Segment]

MIDDLE_MARK = ".."
"""What stands for the middle of a text that is cut there."""
_WORD = re.compile(" |[^ ]+ ?")


def text_of(line: Iterable[Segment]) -> str:
    """Return the text of a line."""
    return "".join([text for text, _ in line])


def cells(text: str) -> int:
    """Return the number of cells that a terminal uses for `text`."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def measure(line: Iterable[Segment]) -> int:
    """Return the cells of a line."""
    # Every line of a summary is measured several times, and nearly all text is ASCII.
    return sum([len(text) if text.isascii() else cells(text) for text, _ in line])


@lru_cache(4096)
def _cell(character: str) -> int:
    # U+FE0F asks for an emoji, which has two cells on terminals that honour it; the second one is counted here.
    if character == "\ufe0f":
        return 1
    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def wrap(line: Iterable[Segment], width: int) -> list[Line]:
    """Return a line as lines of at most `width` cells, broken at spaces where possible."""
    line = list(line)
    if len(line) == 1 and (rows := broken(line[0][0], width)):
        return [[(row, line[0][1])] for row in rows]
    folder = _Folder(width)
    for text, style in line:
        for word in _WORD.findall(text):
            folder.word(word, style)
    return folder.lines


def broken(text: str, width: int) -> list[str]:
    """Return ASCII text as rows of at most `width` characters, broken at spaces; none where `wrap` has to do more."""
    # A third of the time of a loop over words (tests/benchmarks/inspected.py), of which a row has several.
    rows: list[str] = []
    if not text.isascii() or width < 1:
        return rows
    start, stop = 0, len(text)
    while stop - start > width:
        space = text.rfind(" ", start, start + width + 1)
        if space < start:
            return []
        rows.append(text[start : min(space + 1, start + width)])
        start = space + 1
        while text.startswith(" ", start):
            start += 1
    if start < stop:
        rows.append(text[start:])
    return rows


class _Folder:
    def __init__(self, width: int) -> None:
        self.width = width
        self.room = width
        self.lines: list[Line] = [[]]

    def word(self, word: str, style: str) -> None:
        bare = word[:-1] if word.endswith(" ") else word
        size = cells(bare)
        if self.room < size <= self.width:
            self.feed()
        if size > self.width:
            self.cut(bare, style)
        elif bare:
            self.add(bare, size, style)
        if bare != word and self.room:
            self.add(" ", 1, style)

    def cut(self, word: str, style: str) -> None:
        for piece, size in _pieces(word, self.room, self.width):
            if size > self.room:
                self.feed()
            self.add(piece, size, style)

    def add(self, text: str, size: int, style: str) -> None:
        line = self.lines[-1]
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + text, style)
        else:
            line.append((text, style))
        self.room -= size

    def feed(self) -> None:
        self.lines.append([])
        self.room = self.width


def _pieces(word: str, room: int, width: int) -> Iterator[tuple[str, int]]:
    """Cut a word: the first piece fills `room` cells, each other piece one line."""
    start = used = 0
    for at, character in enumerate(word):
        size = _cell(character)
        if used + size > room:
            if at > start:
                yield word[start:at], used
            start, used, room = at, 0, width
        used += size
    yield word[start:], used


def clip(text: str, room: int) -> str:
    """Return a text in at most `room` cells; a cut one ends with how many characters are missing: `sensors/a...+12`."""
    if reach(text, room) <= room:
        return text
    for kept in range(min(room, len(text)), -1, -1):
        mark = f"...+{len(text) - kept}"
        if cells(text[:kept]) + len(mark) <= room:
            return text[:kept] + mark
    return "." * max(room, 0)


def clip_middle(text: str, room: int) -> str:
    """Return a text in at most `room` cells; of a cut one the beginning and the end: `sens..ture`."""
    if reach(text, room) <= room:
        return text
    left = max(room - len(MIDDLE_MARK), 0)
    # A character has a cell at least, or belongs to the one before it.
    end = _fitting(text[: -left // 2 - 1 : -1], left // 2)[::-1]
    return f"{_fitting(text[:left], left - left // 2)}{MIDDLE_MARK}{end}" if left else MIDDLE_MARK[: max(room, 0)]


def _fitting(text: str, room: int) -> str:
    """Return as many characters as fit."""
    taken = 0
    for at, character in enumerate(text):
        taken += _cell(character)
        if taken > room:
            return text[:at]
    return text


def reach(text: str, most: int) -> int:
    """Return the cells of a text; for a far longer text just a number above `most`, without measuring it."""
    return most + 1 if len(text) > 4 * most + 64 else cells(text)
