"""How far the reading of files has come: a bar on a terminal, nothing anywhere else."""

import os
from typing import Any, TextIO

from .style import wants_color


class ReadingProgress:
    """Draws the part of `total` bytes that was read, the rate and the time that is left."""

    def __init__(self, stream: TextIO, total: int) -> None:
        self._bar: Any = None
        if not stream.isatty() or os.environ.get("TERM") == "dumb":
            return
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

        color = wants_color(stream)
        console = Console(
            file=stream, force_terminal=True, color_system="standard" if color else None, no_color=not color,
            legacy_windows=False,
        )  # fmt: skip
        columns = (BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn(), TimeRemainingColumn())
        # The output has its own way, to a file; it is not to come between the bar and the terminal.
        self._bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
        self._task = self._bar.add_task("", total=total)
        self._bar.start()

    def update(self, read: int) -> None:
        """Take how many bytes were read since the beginning."""
        if self._bar:
            self._bar.update(self._task, completed=read)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar:
            self._bar.stop()
            self._bar = None
