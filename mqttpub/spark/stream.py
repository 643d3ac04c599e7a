"""Growing captures to tables, from a program or a notebook."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .follow import CaptureStream
    from .pipeline.run import PipelineResult


def stream(
    *sources: str, out: str | Path, spark: Any = None, every_s: float = 10.0,
    on_run: "Callable[[PipelineResult], None] | None" = None, **settings: Any,
) -> "CaptureStream":  # fmt: skip
    """Turn growing captures into the tables of `mqttpub pipeline`, until the stream that it returns is stopped.

    `sources` are files, folders, globs and URLs, `out` the folder of the tables or its URL. `spark` is the session that
    does the work; without one, this process does. Every `every_s` seconds the stream looks for what is new, and
    `on_run` is called with what was read and written. `settings` are fields of PipelineRequest, such as `lint=True`
    or `file_format="delta"`.
    """
    from .follow import CaptureStream
    from .pipeline.run import PipelineRequest

    request = PipelineRequest(sources, out, on_spark=bool(spark), **settings)
    return CaptureStream(request, spark=spark, every_s=every_s, on_run=on_run)
