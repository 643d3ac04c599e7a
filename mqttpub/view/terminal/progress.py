"""Progress on a terminal: messages published, bytes read, stages of a run. Nothing is drawn anywhere else.

Publishing shows one line of counts, redrawn by the caller's own loop, because other lines may be written in
between and the last counts stay. Reading and stages are bars of rich, which disappear at the end.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from ...common.words import counted, size
from .style import THEME, terminal_console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.control import Control
    from rich.progress import Progress, ProgressColumn, TaskID
    from rich.text import Text

INTERVAL_S = 0.1
"""Time between two drawings, and before the first."""
BYTES = "bytes"
"""The unit of a stage that reads or writes."""
WINDOW_S = 2.0
"""Time over which the rate is measured."""


class Counts(NamedTuple):
    """Numbers of messages by state, and the bytes of input read for them."""

    sent: int = 0
    in_flight: int = 0
    acknowledged: int = 0
    refused: int = 0
    read_bytes: int = 0


class PublishProgress:
    """Draws counts on a terminal, at most ten times a second; a run shorter than that draws nothing.

    `total_bytes` is the size of the input if it is known. Between `hide` and the next `update` other lines may be
    written to the terminal.
    """

    def __init__(
        self, stream: TextIO, total_bytes: int | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream if draws(stream) else None
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
        """Set counts, each a total since the beginning; those not given stay as they are."""
        if self._stream is None:
            return
        given = (sent, in_flight, acknowledged, refused, read_bytes)
        self._counts = Counts(*(old if new is None else new for old, new in zip(self._counts, given, strict=True)))
        now = self._clock()
        if now - self._drawn_at >= INTERVAL_S:
            self._console = self._console or terminal_console(self._stream)
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
            self._draw(self._console, self._counts.sent / max(self._clock() - self._started, INTERVAL_S))
            self._console.line()
        self._stream = self._console = None

    def _rate(self, now: float) -> float:
        """Return the messages per second over the last WINDOW_S."""
        self._past.append((now, self._counts.sent))
        while len(self._past) > 2 and now - self._past[1][0] >= WINDOW_S:
            self._past.popleft()
        since, sent = self._past[0]
        return (self._counts.sent - sent) / max(now - since, INTERVAL_S)

    def _draw(self, console: "Console", rate: float) -> None:
        with console:  # so that both are one write
            console.control(_cleared())
            console.print(fitting(self._parts(rate), console.width - 1), end="", soft_wrap=True)
        self._shown = True

    def _parts(self, rate: float) -> Iterator[tuple[str, str]]:
        """Yield texts with the names of their styles, the most important first."""
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
    """Return the parts side by side within `width` cells; a part that does not fit is left out."""
    from rich.text import Text

    line = Text()
    for text, style in parts:
        gap = "  " if line else ""
        if len(line) + len(gap) + len(text) <= width:
            line.append(gap).append(text, THEME.get(style) or None)
    return line


def draws(stream: TextIO) -> bool:
    """Return whether progress can be drawn on a stream."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _cleared() -> "Control":
    from rich.control import Control
    from rich.segment import ControlType

    return Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))


class Measured(Protocol):
    """Something that is read from its beginning to its end."""

    @property
    def size(self) -> int:
        """Its bytes; 0 if unknown."""

    @property
    def position(self) -> int:
        """The bytes read so far."""


class ReadingProgress:
    """A bar for several inputs that are read one after the other, on standard error.

    It is drawn only if nothing else is written to the terminal: standard output is not one, or `elsewhere` says
    that the output goes to a file. False as a truth value where nothing is drawn.
    """

    def __init__(self, inputs: Sequence[Measured], *, elsewhere: bool = False) -> None:
        self._inputs = inputs
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        total = sum(each.size for each in inputs)
        if not total or not draws(sys.stderr) or (sys.stdout.isatty() and not elsewhere):
            return
        from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

        self._bar = _bar(BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._task = self._bar.add_task("", total=total)

    def __bool__(self) -> bool:
        return self._bar is not None

    def at(self, now: Measured) -> None:
        """Draw that `now`, one of the inputs, is being read."""
        if self._bar and self._task is not None:
            before = self._inputs[: self._inputs.index(now)]
            self._bar.update(self._task, completed=sum(each.size for each in before) + now.position)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar:
            self._bar.stop()
            self._bar = None


class StageProgress:
    """A bar for the stages of a run on standard error, which is a terminal."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[amount]}"))
        self._bar = _bar(*columns, TimeElapsedColumn(), owns_terminal=True)
        self._name = ""
        self._task = self._bar.add_task("", total=None, amount="")

    def show(self, name: str, done: int, total: int, unit: str = BYTES) -> None:
        """Draw a stage; `total` is 0 for one of unknown length."""
        if name != self._name:
            self._name = name
            self._bar.reset(self._task, description=name, total=None, amount="")
        if total:
            self._bar.update(self._task, completed=done, total=total, amount=_amount(done, total, unit))

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()


class StageLines:
    """Lines that say what a run is doing, for where no bar is drawn; none for a run of a few seconds.

    After FIRST_S there is a line for the current stage, one for each that follows, and another one every AGAIN_S of a
    long stage. `write` gets each line without its end, from any thread.
    """

    FIRST_S = 5.0
    AGAIN_S = 60.0

    def __init__(self, write: Callable[[str], None], *, first_s: float | None = None, again_s: float = AGAIN_S) -> None:
        self._write = write
        self._again_s = again_s
        self._lock = Lock()
        self._ended = Event()
        self._begun = False
        self._shown = ("", 0, 0, BYTES)
        self._thread = Thread(target=self._repeat, args=(self.FIRST_S if first_s is None else first_s,), daemon=True)
        self._thread.start()

    def show(self, name: str, done: int, total: int, unit: str = BYTES) -> None:
        """Set the current stage; `total` is 0 for one of unknown length."""
        with self._lock:
            new = name != self._shown[0]
            self._shown = (name, done, total, unit)
            if new and self._begun:
                self._say()

    def close(self) -> None:
        """Write no more lines."""
        self._ended.set()
        self._thread.join()

    def _repeat(self, first_s: float) -> None:
        wait_s = first_s
        while not self._ended.wait(wait_s):
            wait_s = self._again_s
            with self._lock:
                self._begun = True
                if self._shown[0]:
                    self._say()

    def _say(self) -> None:
        name, done, total, unit = self._shown
        self._write(f"{name}: {_amount(done, total, unit)}" if total else name)


def _amount(done: int, total: int, unit: str) -> str:
    return f"{size(done)} of {size(total)}" if unit == BYTES else f"{done} of {counted(total, unit)}"


def _bar(*columns: "ProgressColumn", owns_terminal: bool = False) -> "Progress":
    """Start a bar on standard error; one that owns the terminal is redrawn below what is written meanwhile."""
    from rich.progress import Progress

    bar = Progress(
        *columns, console=terminal_console(sys.stderr), transient=True, redirect_stdout=owns_terminal,
        redirect_stderr=owns_terminal,
    )  # fmt: skip
    bar.start()
    return bar
