"""Captures as Arrow tables, those that `mqttpub pipeline` writes."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..common.errors import UserError
from ..common.extras import EXTRAS, missing, needs

if TYPE_CHECKING:
    import pyarrow as pa


class Tables(NamedTuple):
    """The tables of captures; `mqttpub help pipeline` lists their columns."""

    packets: "pa.Table"
    """A row for each control packet."""
    exchanges: "pa.Table"
    """A row for each PUBLISH with its acknowledgements, and each other request with its answer."""
    connections: "pa.Table"
    findings: "pa.Table"
    """A row for each violation of a statement."""


def tables(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Tables:
    """Return captures as Arrow tables: packets, exchanges, connections and findings.

    `source` is a path, a folder or a pattern, or several; rotated files are read as one capture. Times are
    microseconds since 1970 in UTC. The tables are held in memory; `mqttpub pipeline` writes those of any size to files.
    Needs the extra `columns`. Raises UserError for a source that is missing or cannot be read to its end,
    RuntimeError and OSError where the temporary files cannot be written, and ModuleNotFoundError without numpy and
    pyarrow.
    """
    from tempfile import TemporaryDirectory

    if lacking := missing(*EXTRAS["columns"]):
        raise ModuleNotFoundError(needs("mqttpub.tables", lacking, "columns"))
    from pyarrow import parquet

    from ..spark.pipeline.run import PipelineRequest, run
    from ..spark.pipeline.tables import SCHEMAS

    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    with TemporaryDirectory(prefix="mqttpub-") as folder:
        result = run(
            PipelineRequest(tuple(os.fspath(each) for each in paths), folder, on_spark=False, mode="append", lint=True)
        )
        if result.problems:
            name, problem = result.problems[0]
            raise UserError(f"{name}: {problem}")
        made = {}
        for name in Tables._fields:
            path = os.path.join(folder, name)
            table = parquet.read_table(path) if os.path.isdir(path) else SCHEMAS[name].empty_table()
            made[name] = table
    return Tables(**made)
