"""Growing captures to tables: whatever is appended or new is a run that continues the last one.

A capture may still be written, be renamed by a ring, or vanish. What counts is in the manifest: a loop that was killed
continues as `pipeline --resume` does, and loses or doubles nothing.
"""

import threading
from collections.abc import Callable
from typing import Any

from .pipeline.engine import Failed
from .pipeline.manifest import OutputRefused
from .pipeline.run import OnProgress, PipelineRequest, PipelineResult, run
from .pipeline.sources import EMPTY, NothingThere, Source, SourceList
from .session.session import session
from .storage.files import as_path

OnRun = Callable[[PipelineResult], None]


def follow(
    request: PipelineRequest, ended: Callable[[float], bool], *, every_s: float,
    on_progress: OnProgress | None = None, on_run: OnRun | None = None, spark: Any = None,
) -> None:  # fmt: skip
    """Turn sources into tables, and go on with what is appended to them or new, until `ended` returns True.

    `ended` is called between two looks with the seconds to wait, and `on_run` with the result of each run that had
    something to read. `request.mode` does not count. Raises what `run` raises, after the last commit.
    """
    request = request._replace(mode="resume")
    sources = SourceList(as_path(each) for each in request.sources)
    if request.on_spark and spark is None:
        with session(request.settings) as made:
            follow(request, ended, every_s=every_s, on_progress=on_progress, on_run=on_run, spark=made)
        return
    last = None
    while True:
        found = _filled(sources)
        if found and found != last:
            try:
                result = run(request, on_progress, found=found, spark=spark)
            except (OutputRefused, Failed):
                # A ring may have removed or begun anew what was just there.
                if _filled(sources) == found:
                    raise
                found = []
            else:
                if on_run and (result.read or last is None):
                    on_run(result)
        last = found
        if ended(every_s):
            return


def _filled(sources: SourceList) -> list[Source]:
    """Return the sources that are there now; those without a byte are just being made."""
    try:
        return [each for each in sources.find() if each.size or each.problem != EMPTY]
    except NothingThere:
        # Files that were read may have been removed, and others may come.
        return []


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
