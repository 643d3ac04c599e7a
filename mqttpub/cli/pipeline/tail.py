"""`pipeline --tail`: the runs on sources that grow, and what is said of each."""

from typing import TYPE_CHECKING

from ...common.words import counted
from ..notes import note

if TYPE_CHECKING:
    from ...spark.pipeline.run import OnDone, OnProgress, PipelineRequest, PipelineResult, RunStage
    from ...view.terminal.progress import StageLines

EVERY_S = 10.0
"""Seconds between two looks at the sources: each that finds something adds a few files to each table."""

MOST_SAID = 20
"""Sentences after which the problems of sources are said no more while it runs; the end lists them."""


def follow_sources(
    request: "PipelineRequest", on_progress: "OnProgress", on_commit: "OnDone | None", on_done: "OnDone | None", *,
    every_s: float | None, quiet: bool,
) -> "PipelineResult":  # fmt: skip
    """Read growing sources until a signal asks to end, and return what all runs read; raises what `run` raises."""
    from ...spark.follow import follow
    from ..signals import first_asks

    notes = TailNotes()
    with first_asks() as is_asked:

        def on_stage(stage: "RunStage") -> None:
            if not quiet:
                notes.stage(stage.name, asked=is_asked(0))
            on_progress(stage)

        return follow(
            request, is_asked, every_s=EVERY_S if every_s is None else every_s, on_progress=on_stage,
            on_run=None if quiet else notes.run, on_commit=on_commit, on_done=on_done,
        )  # fmt: skip


class TailNotes:
    """Says on standard error what becomes of each run, and each problem of a source once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def stage(self, name: str, *, asked: bool) -> None:
        """Say what nothing else shows: that there is no source yet, and that a signal was seen."""
        from ...spark.pipeline.engine import WAIT

        if name.startswith(f"{WAIT}:"):
            self._once(name)
        elif asked and name != WAIT:
            self._once("ending after this run; another signal ends at once")

    def run(self, result: "PipelineResult") -> None:
        """Say what a run read and wrote."""
        for name, problem in result.problems:
            if len(self._said) < MOST_SAID:
                self._once(f"{name}: {problem}")
        if result.rows:
            note(counts(result))

    def _once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            note(text)


class TailReport:
    """Lines for each of several runs that take long; nothing is said while they wait for more."""

    def __init__(self) -> None:
        self._lines: StageLines | None = None

    def show(self, name: str, done: int, total: int, unit: str) -> None:
        """Set the current stage."""
        from ...spark.pipeline.engine import WAIT
        from ...view.terminal.progress import StageLines

        if name.startswith(WAIT):
            self.close()
            return
        self._lines = self._lines or StageLines(note)
        self._lines.show(name, done, total, unit)

    def close(self) -> None:
        """Write no more lines of this run."""
        if self._lines:
            self._lines.close()
            self._lines = None


def counts(result: "PipelineResult") -> str:
    """Return what a run read and wrote, such as `54 packets, 10 exchanges from 1 source in 0.2 s`."""
    rows = ", ".join(f"{count:,} {table}" for table, count in result.rows.items()) or "no rows"
    return f"{rows} from {counted(result.read, 'source')} in {result.seconds:.1f} s"
