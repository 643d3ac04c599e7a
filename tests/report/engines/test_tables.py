"""The tables of a folder, in any format, as the queries of a report get them."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.orc
import pyarrow.parquet
import pytest

from mqttpub.report.answers import summary
from mqttpub.report.engines import duck, tables
from mqttpub.report.engines.spark import SparkQueries
from mqttpub.report.engines.tables import frames
from mqttpub.report.questions.comparison import COMPARISON
from mqttpub.report.questions.operation.churn import CHURN
from mqttpub.report.questions.traffic import TRAFFIC
from mqttpub.spark.pipeline.manifest import Manifest
from mqttpub.spark.storage.folder import StorageFolder
from tests.paths import QOS2
from tests.spark.running import piped

ADDED = "closed_time"
"""A column of connections, which tables did not have at first."""


def without_a_column(out: Path | str) -> None:
    """Rewrite the table connections of a folder as if that column did not exist."""
    folder = StorageFolder(out)
    for part in Manifest.in_folder(out).parts:
        if part.table != "connections":
            continue
        path = f"{folder.at.path}/{part.path}"
        with folder.at.system.open_input_file(path) as file:
            data = file.read()
        form = part.path.rpartition(".")[2]
        with folder.at.system.open_output_stream(path) as file:
            file.write(_FORMS[form](data))


def _columns(module: Any) -> Any:
    def rewritten(data: bytes) -> Any:
        table = module.read_table(pyarrow.BufferReader(data))
        made = pyarrow.BufferOutputStream()
        module.write_table(table.drop_columns([ADDED]), made)
        return made.getvalue()

    return rewritten


def _csv(data: bytes) -> bytes:
    rows = [re.findall(rb'(?:"(?:[^"]|"")*"|[^,"])+|(?<=,)(?=,|$)', line) for line in data.splitlines()]
    at = rows[0].index(b'"%s"' % ADDED.encode())
    assert {len(row) for row in rows} == {len(rows[0])}
    return b"".join(b",".join(row[:at] + row[at + 1 :]) + b"\n" for row in rows)


def _json(data: bytes) -> bytes:
    rows = [json.loads(line) for line in data.splitlines()]
    times = [row.pop(ADDED, None) for row in rows]
    assert any(times)
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


_FORMS = {"parquet": _columns(pyarrow.parquet), "orc": _columns(pyarrow.orc), "csv": _csv, "json": _json}


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame in one order."""
    return sorted((row.asDict(recursive=True) for row in frame.collect()), key=repr)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "stored"), [*((form, False) for form in _FORMS), *((form, True) for form in duck.FORMATS)]
)
def test_a_column_that_tables_lack_is_null(
    form: str, stored: bool, spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    piped(QOS2, out=out, on_spark=False, file_format=form, partition_by=("version",))
    if stored:
        # Tasks open the files themselves, as they do for URLs.
        monkeypatch.setattr(tables, "is_url", lambda given: True)
    whole = rows_of(frames(spark, out)["connections"])
    assert any(row[ADDED] for row in whole)
    without_a_column(out)
    assert rows_of(frames(spark, out)["connections"]) == [{**row, ADDED: None} for row in whole]


@pytest.mark.long
def test_a_run_is_compared_with_tables_that_lack_a_column(spark: Any, tmp_path: Path) -> None:
    check_comparison(SparkQueries(spark), tmp_path, form="csv", thorough=True)


def test_a_run_is_compared_with_such_tables_without_spark(tmp_path: Path) -> None:
    with duck.connected() as session:
        check_comparison(session, tmp_path, form="parquet", thorough=True)


def check_comparison(session: Any, folder: Path, *, form: str, thorough: bool) -> None:
    """Compare a run with the same run in tables without the column."""
    out, other = folder / "out", folder / "other"
    piped(QOS2, out=out, on_spark=False)
    piped(QOS2, out=other, on_spark=False, file_format=form)
    without_a_column(other)
    found = summary(session, out, other, thorough=thorough)
    old = found[COMPARISON].then
    # How long connections lasted is counted to their last packets instead.
    same = {TRAFFIC: old[TRAFFIC]._replace(sources=found[TRAFFIC].sources, runs=found[TRAFFIC].runs)}
    assert old.replaced({**same, CHURN: found.get(CHURN)}) == found.replaced({COMPARISON: None})


@pytest.mark.parametrize("form", duck.FORMATS)
def test_a_column_that_tables_lack_is_null_without_spark(form: str, tmp_path: Path) -> None:
    piped(QOS2, out=tmp_path / "out", on_spark=False, file_format=form)
    with duck.connected() as session:
        found = summary(session, tmp_path / "out", thorough=False)
    without_a_column(tmp_path / "out")
    with duck.connected() as session:
        assert summary(session, tmp_path / "out", thorough=False) == found
        query = f"SELECT count(*) AS rows, count({ADDED}) AS known FROM {{connections}}"
        (row,) = session.rows(query, session.tables(tmp_path / "out"), {})
    assert (row["rows"], row["known"]) == (6, 0)
