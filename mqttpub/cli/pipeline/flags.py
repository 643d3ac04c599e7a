"""The values of the flags of `pipeline`, for the modules that act on them."""

from dataclasses import dataclass

WITHOUT = "none"
"""The master that stands for no Spark."""


@dataclass(frozen=True)
class PipelineFlags:
    """The arguments and flags of one call, as click parsed them; the names are those of the flags."""

    source: tuple[str, ...]
    out: str | None
    format: str
    mode: str
    partition_by: tuple[str, ...]
    target_file_size: int
    resume: bool
    tail: bool
    every: float | None
    report: str | None
    metrics: str | None
    against: str | None
    summary: bool | None
    as_json: bool
    quiet: bool
    since: str | None
    until: str | None
    topic: tuple[str, ...]
    payload: str
    lint: bool
    port: tuple[int, ...]
    key_log: str | None
    master: str | None
    conf: tuple[str, ...]
    partitions: int | None
    verbose: bool
