"""How publishing in bulk gets on: one line of a terminal, nothing anywhere else."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TextIO

from ...common.words import size
from .style import THEME, wants_color

if TYPE_CHECKING:
    from rich.console import Console
    from rich.control import Control
    from rich.text import Text

INTERVAL = 0.1
"""Seconds between two drawings, and before the first."""
WINDOW = 2.0
"""Seconds over which the rate is taken."""


class Counts(NamedTuple):
    """How many messages have come how far."""

    sent: int = 0
    in_flight: int = 0
    acknowledged: int = 0
    refused: int = 0
    read_bytes: int = 0


class Progress:
    """Draws the counts on a terminal, at most ten times a second; a run that is over at once draws nothing.

    `total_bytes` is the size of the input, where it is known. Between `hide` and the next
    `update` other lines may be written to the terminal.
    """

    def __init__(
        self, stream: TextIO, total_bytes: int | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream if _draws(stream) else None
        self._console: Console | None = None
        self._total = total_bytes
        self._clock = clock
        self._counts = Counts()
        self._started = self._drawn_at = clock()
        self._past: deque[tuple[float, int]] = deque([(self._started, 0)])
        self._shown = False

    def update(
        self, *, sent: int | None = None, in_flight: int | None = None, acknowledged: int | None = None,
        refused: int | None = None, read_bytes: int | None = None,
    ) -> None:  # fmt: skip
        """Take the counts so far, each the sum since the beginning; those not given stay as they are."""
        if self._stream is None:
            return
        given = (sent, in_flight, acknowledged, refused, read_bytes)
        self._counts = Counts(*(old if new is None else new for old, new in zip(self._counts, given, strict=True)))
        now = self._clock()
        if now - self._drawn_at >= INTERVAL:
            self._console = self._console or _console(self._stream)
            self._draw(self._console, self._rate(now))
            self._drawn_at = now

    def hide(self) -> None:
        """Clear the line, so that something else can be written."""
        if self._console and self._shown:
            self._console.control(_cleared())
            self._shown = False

    def close(self) -> None:
        """Leave the last counts on the terminal, with the rate of the whole run."""
        if self._console:
            self._draw(self._console, self._counts.sent / max(self._clock() - self._started, INTERVAL))
            self._console.line()
        self._stream = self._console = None

    def _rate(self, now: float) -> float:
        """Return the messages a second of the last seconds."""
        self._past.append((now, self._counts.sent))
        while len(self._past) > 2 and now - self._past[1][0] >= WINDOW:
            self._past.popleft()
        since, sent = self._past[0]
        return (self._counts.sent - sent) / max(now - since, INTERVAL)

    def _draw(self, console: "Console", rate: float) -> None:
        with console:  # so that both are one write
            console.control(_cleared())
            console.print(fitting(self._parts(rate), console.width - 1), end="", soft_wrap=True)
        self._shown = True

    def _parts(self, rate: float) -> Iterator[tuple[str, str]]:
        """Yield what is said, the most important first, with the names of styles."""
        counts = self._counts
        yield f"{counts.sent:,} sent", "type"
        if counts.refused:
            yield f"{counts.refused:,} refused", "error"
        if counts.acknowledged or counts.in_flight:
            yield f"{counts.acknowledged:,} acknowledged", "text"
            yield f"{counts.in_flight:,} in flight", "number"
        yield f"{rate:,.0f}/s", "label"
        if counts.read_bytes and self._total:
            share = min(100 * counts.read_bytes // self._total, 100)
            yield f"{share}% of {size(self._total)}", "label"
        elif counts.read_bytes:
            yield f"{size(counts.read_bytes)} read", "label"


def fitting(parts: Iterator[tuple[str, str]], width: int) -> "Text":
    """Return the parts side by side, leaving out those that do not fit as a whole."""
    from rich.text import Text

    line = Text()
    for text, style in parts:
        gap = "  " if line else ""
        if len(line) + len(gap) + len(text) <= width:
            line.append(gap).append(text, THEME.get(style) or None)
    return line


def _draws(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _cleared() -> "Control":
    from rich.control import Control
    from rich.segment import ControlType

    return Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    color = wants_color(stream)
    return Console(
        file=stream, force_terminal=True, color_system="standard" if color else None, no_color=not color,
        markup=False, emoji=False, highlight=False, legacy_windows=False,
    )  # fmt: skip
