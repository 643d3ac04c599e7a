"""Payloads in a format that the user names: words for the dump, and members of the JSON record.

An empty payload is not read, because it usually clears a retained message; it is shown as empty.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from ...common.escape import remark
from ...common.strict_json import parse_portable_json
from ...common.words import counted
from ..terminal.cells import Line
from .payload import pretty
from .values import About

_OF_TEXT = ("text", "hex", "base64")
"""Formats whose values are text."""
CHARACTERS_PER_BYTE = 4
"""JSON says in about four characters what a binary format says in a byte; limits of bytes are converted by it."""


class ShownPayload(Protocol):
    """A payload that was read."""

    @property
    def value(self) -> Any:
        """Its value as JSON."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences on what the value does not show."""


class PayloadFormat(NamedTuple):
    """A format that payloads are shown in beside their bytes."""

    name: str
    title: str
    """Its name for people."""
    read: Callable[[bytes], ShownPayload]
    """Reads a payload; raises ValueError that begins with the name of the format."""

    def members(self, data: bytes) -> dict[str, Any]:
        """Return the members of a record: the value by its kind with `remarks`, or `error` with the reason for none."""
        if not data:
            return {}
        try:
            read, _ = self._read(data)
        except ValueError as error:
            return {"error": str(error)}
        remarks = {"remarks": list(read.remarks)} if read.remarks else {}
        return {self.name if self.name in _OF_TEXT else "json": read.value, **remarks}

    def about(self, data: bytes, plain: About, *, limit: int | None, room: int) -> About:
        """Return the words for a payload; for one that is not of the format, `plain` with a remark below.

        At most the characters for `limit` bytes are shown (None: all of them), JSON within `room` terminal cells.
        """
        if not data:
            return plain
        try:
            read, text = self._read(data)
        except ValueError as error:
            return About([], plain.head, (*plain.below, _starred(str(error))))
        lines = [(0, text)] if self.name in _OF_TEXT else pretty(text, room)
        below = _cut(lines, None if limit is None else limit * CHARACTERS_PER_BYTE)
        head: Line = [(f"{self.title}, ", ""), (counted(len(data), "byte"), "length")]
        below += map(_starred, read.remarks)
        return About([*below[0][1], ("  ", ""), *head] if len(below) == 1 else [], head, tuple(below))

    def _read(self, data: bytes) -> tuple[ShownPayload, str]:
        """Return a payload and its text, which is JSON except for formats of text; raises ValueError."""
        import json

        read = self.read(data)
        value = read.value
        try:
            text = json.dumps(value, ensure_ascii=False)
            parse_portable_json(text)
        except RecursionError:
            raise ValueError(f"{self.name}: the value is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        if self.name in ("hex", "base64"):
            return read, str(value)
        # The digits of numbers stay as they were sent.
        text = data.decode() if self.name == "json" else text
        return read, text if text.isprintable() or self.name == "json" else json.dumps(value)


def _starred(sentence: str) -> tuple[int, Line]:
    return 0, [(f"* {remark(sentence)}", "gap")]


def _cut(lines: Iterable[tuple[int, str]], most: int | None) -> list[tuple[int, Line]]:
    """Return the rows of lines of text with their depth, with the number of characters beyond `most`."""
    rows: list[tuple[int, Line]] = []
    room, left = most, 0
    for depth, line in lines:
        shown = line if room is None else line[:room]
        left += len(line) - len(shown)
        if room is not None:
            room -= len(shown)
        if shown:
            rows.append((2 * depth, [(remark(shown), "payload")]))
    if left:
        rows.append((0, [(f"... {counted(left, 'more character')}", "dim")]))
    return rows
