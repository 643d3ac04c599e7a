"""`sub --watch`: a table of topics on the terminal, with their rates and last values."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...common.escape import remark
from ...common.lru import WeightedLru
from ...common.words import counted, size
from ...live.receive import ReceivedMessage
from ...view.terminal.cells import cells, clip, clip_middle, reach
from ...view.terminal.style import terminal_console
from .lines import shown
from .short_topics import shared_levels, short_topics

if TYPE_CHECKING:
    from rich.live import Live

    from .keyboard import Keyboard

INTERVAL_S = 0.5
"""Time between two drawings."""
MOST_BYTES = 8 << 20
"""Bytes of topics and values that are remembered; beyond them the topic silent for longest is forgotten."""
MOST_VALUE_BYTES = 256
"""How much of a value is remembered, more than fits on a line."""
OVERHEAD_BYTES = 200
GAP = 2
"""Cells between two columns."""
OTHER_LINES = 6
"""Lines of the screen that are not rows: shared levels, heading, summary, remark, keys, cursor."""
LEAST_TOPIC_CELLS = LEAST_VALUE_CELLS = 10
QUIT = b"q"
"""The key that ends the run."""


class _TopicRow:
    """What is known of a topic."""

    __slots__ = ("before", "count", "last_ns", "rate", "size_bytes", "value")

    def __init__(self) -> None:
        self.count = self.before = 0
        self.rate = 0.0
        self.last_ns = 0
        self.size_bytes = 0
        self.value = b""


class BoardRow(NamedTuple):
    """A line of the table."""

    topic: str
    messages: int
    rate: float
    age_s: float
    size_bytes: int
    value: str


class TopicBoard:
    """Counts messages by topic and draws the table, at most twice a second."""

    def __init__(self, keyboard: "Keyboard | None" = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.messages = 0
        self._keyboard = keyboard
        self._rows: WeightedLru[str, _TopicRow] = WeightedLru(MOST_BYTES)
        self._clock = clock
        self._measured_s = clock()
        self._rate = 0.0
        self._before = 0
        self._live: Live | None = None
        self._remark = ""

    def remark(self, text: str) -> None:
        """Show a sentence below the table, in place of the one before."""
        self._remark = text

    def take(self, messages: Sequence[ReceivedMessage]) -> None:
        """Count messages."""
        self.messages += len(messages)
        rows = self._rows
        for message in messages:
            row = rows.get(message.topic)
            if row is None:
                row = _TopicRow()
                rows.put(message.topic, row, len(message.topic) + MOST_VALUE_BYTES + OVERHEAD_BYTES)
            row.count += 1
            row.last_ns = message.time_ns
            row.size_bytes = len(message.payload)
            row.value = message.payload[:MOST_VALUE_BYTES]

    def due(self) -> bool:
        """Return whether the table is to be drawn again."""
        return self._clock() - self._measured_s >= INTERVAL_S

    def rows(self, most: int) -> list[BoardRow]:
        """Return the busiest topics, at most so many, in the order of their names."""
        now_ns = time.time_ns()
        pairs = list(zip(self._rows, self._rows.values(), strict=True))
        busiest = sorted(pairs, key=lambda pair: (-pair[1].rate, -pair[1].last_ns))[:most]
        return [
            BoardRow(
                shown(topic.encode("utf-8", "surrogateescape")).decode(), row.count, row.rate,
                max(now_ns - row.last_ns, 0) / 1e9, row.size_bytes, shown(row.value).decode(),
            )
            for topic, row in sorted(busiest)
        ]  # fmt: skip

    def quits(self) -> bool:
        """Return whether the key that ends the run was pressed."""
        return self._keyboard is not None and QUIT in self._keyboard.pressed()

    def draw(self, keys: str | None = None) -> None:
        """Measure the rates and draw the table, and below it which keys do something."""
        self._measure()
        live = self._live = self._live or _live()
        keys = f"{'q or ' * (self._keyboard is not None)}Ctrl-C ends" if keys is None else keys
        live.update(self._table(live.console.width, live.console.height, keys), refresh=True)

    def close(self) -> None:
        """Leave the last table on the terminal."""
        self.draw(keys="")
        if self._live:
            self._live.stop()

    def _measure(self) -> None:
        now_s = self._clock()
        passed_s = max(now_s - self._measured_s, 1e-3)
        if passed_s < INTERVAL_S and self._live:
            # Too short to measure anything; the rates of before stay.
            return
        for row in self._rows.values():
            row.rate, row.before = (row.count - row.before) / passed_s, row.count
        self._rate, self._before = (self.messages - self._before) / passed_s, self.messages
        self._measured_s = now_s

    def _table(self, width: int, height: int, keys: str) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        rows = self.rows(max(height - OTHER_LINES, 1))
        table = Table(box=None, pad_edge=False, show_edge=False)
        table.add_column("topic", no_wrap=True)
        for heading in ("messages", "per second", "ago", "size"):
            table.add_column(heading, no_wrap=True, justify="right", min_width=len(heading))
        table.add_column("last value", no_wrap=True)
        numbers = [
            (f"{row.messages:,}", f"{row.rate:,.1f}", f"{row.age_s:,.0f} s", size(row.size_bytes)) for row in rows
        ]
        taken = sum(
            max(len(heading), *(len(each[at]) for each in numbers), 0) + GAP
            for at, heading in enumerate(("messages", "per second", "ago", "size"))
        )
        shared, topics = _topics([row.topic for row in rows], width, width - taken - GAP - LEAST_VALUE_CELLS)
        taken += max(map(cells, topics), default=0)
        for row, topic, cell in zip(rows, topics, numbers, strict=True):
            table.add_row(Text(topic), *cell, Text(clip(row.value, max(width - taken - GAP, LEAST_VALUE_CELLS))))
        known = len(self._rows)
        more = f", {known - len(rows):,} of them not shown" if known > len(rows) else ""
        forgotten = f"; {self._rows.dropped:,} forgotten" if self._rows.dropped else ""
        said = f"{counted(self.messages, 'message')} of {counted(known, 'topic')}{more}{forgotten}"
        said += f", {self._rate:,.0f} per second"
        above = [Text(f"below {clip_middle(shared, width - len('below '))}")] if shared else []
        below = [remark(self._remark)] if self._remark else []
        return Group(*above, table, Text(said), *map(Text, below), *([Text(keys, "dim")] if keys else []))


def _topics(topics: Sequence[str], width: int, most: int) -> tuple[str, list[str]]:
    """Return what all topics begin with, if one is too long, and the rest of each in a third of the width, if it fits.

    No more than `most` cells are used where two would read alike.
    """
    room = max(width // 3, LEAST_TOPIC_CELLS)
    if all(reach(topic, room) <= room for topic in topics):
        return "", list(topics)
    shared = shared_levels(topics)
    return shared, short_topics([topic.removeprefix(shared) for topic in topics], room, max(most, room))


def _live() -> "Live":
    from rich.live import Live

    live = Live(
        console=terminal_console(sys.stdout), auto_refresh=False, redirect_stdout=False, redirect_stderr=False,
        vertical_overflow="crop",
    )  # fmt: skip
    live.start()
    return live
