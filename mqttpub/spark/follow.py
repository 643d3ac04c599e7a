"""Growing captures to tables: whatever is appended or new is a run that continues the last one.

A capture may still be written, be renamed by a ring, or vanish. What counts is in the manifest: a loop that was killed
continues as `pipeline --resume` does, and loses or doubles nothing.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .pipeline.engine import START, WAIT, Failed
from .pipeline.manifest import MANIFEST, KnownSources, Manifest, OutputRefused, SourceRecord
from .pipeline.run import OnDone, OnProgress, PipelineRequest, PipelineResult, RunStage, run
from .pipeline.sources import EMPTY, NoSource, NothingThere, Source, SourceList, opens
from .pipeline.tables import SCHEMAS
from .session.session import session
from .storage.files import as_path
from .storage.folder import StorageFolder

OnRun = Callable[[PipelineResult], None]
MOST_LOOKS = 10
"""Looks until two of them agree on what is there, at most."""


def follow(
    request: PipelineRequest, ended: Callable[[float], bool], *, every_s: float,
    on_progress: OnProgress | None = None, on_run: OnRun | None = None, on_commit: OnDone | None = None,
    on_done: OnDone | None = None, spark: Any = None,
) -> PipelineResult:  # fmt: skip
    """Turn sources into tables, and go on with what is appended to them or new, until `ended` returns True.

    `ended` is called between two looks with the seconds to wait, `on_run` with the result of each run that had
    something to read, `on_commit` by each such run when its rows are in the tables, and `on_done` at the end, both as
    `run` calls its own. `request.mode` does not count. Returns what all runs
    read and wrote, without problems that a later run mended. Raises what `run` raises, after the last commit.
    """
    on_progress = on_progress or (lambda stage: None)
    request = request._replace(mode="resume", growing=True)
    given = [as_path(each) for each in request.sources]
    if urls := [each for each in given if not opens(each)]:
        raise NoSource(f"'{urls[0]}' is opened by Hadoop alone, which does not say when a file grows")
    if request.on_spark and spark is None:
        on_progress(RunStage(START))
        with session(request.settings) as made:
            return follow(
                request, ended, every_s=every_s, on_progress=on_progress, on_run=on_run, on_commit=on_commit,
                on_done=on_done, spark=made,
            )  # fmt: skip
    following = _Following(request, SourceList(given), on_progress, on_run, on_commit, spark)
    following.look()
    while not ended(every_s):
        following.look()
    if on_done and following.manifest().runs:
        on_done(spark, request.out)
    return following.result()


class _Following:
    """The runs so far."""

    def __init__(
        self, request: PipelineRequest, sources: SourceList, on_progress: OnProgress, on_run: OnRun | None,
        on_commit: OnDone | None, spark: Any,
    ) -> None:  # fmt: skip
        self._request, self._sources, self._spark = request, sources, spark
        self._on_progress, self._on_run, self._on_commit = on_progress, on_run, on_commit
        self._begun = time.monotonic()
        self._rows, known = self.manifest().rows(), self._taken()
        self._known, self._runs = len(known), known.runs
        self._seen: list[Source] | None = None
        """What was there when the last run began; None before the first."""
        self._last: PipelineResult | None = None
        self._forgotten = 0
        self._missing = ""

    def look(self) -> None:
        """Read what is new; raises what `run` raises."""
        found = self._filled()
        if found != self._seen:
            found = self._settled(found)
        if found and found != self._seen:
            try:
                result = run(self._request, self._on_progress, self._on_commit, found=found, spark=self._spark)
            except (OutputRefused, Failed):
                # A ring may have removed or begun anew what was just there.
                if self._filled() == found:
                    raise
                found = []
            else:
                self._keep(result)
        self._seen = found
        self._on_progress(RunStage(WAIT + self._missing))

    def _keep(self, result: PipelineResult) -> None:
        self._forgotten += result.forgotten
        if self._on_run and (result.read or not self._last):
            self._on_run(result)
        self._last, self._missing = result, ""

    def _settled(self, found: list[Source]) -> list[Source]:
        """Return the sources that are there now, seen after all of them had begun.

        A file that is renamed while files are listed may be missed, and one may be looked at before its last bytes
        were written and the next file was begun. What follows must not be read before these bytes.
        """
        for _ in range(MOST_LOOKS):
            before, found = {each.path for each in found}, self._filled()
            if {each.path for each in found} == before:
                break
        return found

    def _filled(self) -> list[Source]:
        """Return the sources that are there now; those without a byte are just being made."""
        try:
            return [each for each in self._sources.find() if each.size or each.problem != EMPTY]
        except NothingThere as error:
            # Files that were read may have been removed, and others may come.
            self._missing = "" if self._last else f": {error}"
            return []

    def manifest(self) -> Manifest:
        """Return what the tables hold now; what is no manifest is refused by the first run."""
        with suppress(OutputRefused):
            return Manifest.in_folder(self._request.out)
        return Manifest()

    def _taken(self) -> KnownSources:
        """Return the sources that are in the tables now."""
        with suppress(OutputRefused):
            return KnownSources.in_folder(self._request.out)
        return KnownSources()

    def result(self) -> PipelineResult:
        """Return the outcome of all runs."""
        rows = {name: count - self._rows.get(name, 0) for name, count in self.manifest().rows().items()}
        read = _current([each for each in self._taken() if each.run not in self._runs])
        return PipelineResult(
            run=self._last.run if self._last else "",
            manifest=StorageFolder(self._request.out).place(MANIFEST),
            rows={name: rows[name] for name in SCHEMAS if name in rows},
            read=len(read),
            known=self._known,
            problems=[(each.name, each.problem) for each in read if each.problem and not each.cut],
            seconds=time.monotonic() - self._begun,
            forgotten=self._forgotten,
        )


def _current(records: list[SourceRecord]) -> list[SourceRecord]:
    """Return the last entry of each source: one is known by its first record, and by its name before that is there."""
    by_name = {each.name: each for each in records}
    by_first = {(each.stamp, each.first): each for each in records}
    return [
        each for each in records if each is (by_first[each.stamp, each.first] if each.first else by_name[each.name])
    ]


class CaptureStream:
    """Tables that grow with their sources, made in a thread of its own."""

    def __init__(self, request: PipelineRequest, *, spark: Any, every_s: float, on_run: OnRun | None) -> None:
        self.result: PipelineResult | None = None
        """What the last run read and wrote."""
        self.error: BaseException | None = None
        """Why the stream ended by itself."""
        self._request = request
        self._spark = spark
        self._every_s = every_s
        self._on_run = on_run
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mqttpub-stream", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            follow(self._request, self._stop.wait, every_s=self._every_s, on_run=self._keep, spark=self._spark)
        except BaseException as error:
            self.error = error

    def _keep(self, result: PipelineResult) -> None:
        self.result = result
        if self._on_run:
            self._on_run(result)

    def stop(self) -> None:
        """End after the commit of the run that is at work, and raise what ended the stream before."""
        self._stop.set()
        self.await_termination()

    def await_termination(self, timeout_s: float | None = None) -> bool:
        """Wait until the stream has ended, at most so long; returns whether it has. Raises what ended it."""
        self._thread.join(timeout_s)
        if self.error:
            raise self.error
        return not self._thread.is_alive()

    def __enter__(self) -> "CaptureStream":
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()
