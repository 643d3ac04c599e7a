"""Seconds, processor time and peak memory of a report on tables of many rows, on DuckDB and on Spark.

The tables are those of a capture of the tests, repeated with other times, connections and records, for a thousand times
its clients. `--rows` is how many packets there are; the other tables grow with them.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from mqttpub.spark.pipeline.engine.local import cores
from mqttpub.spark.pipeline.manifest import MANIFEST, Manifest
from tests.benchmarks.harness import run
from tests.paths import MORNING
from tests.spark.running import piped

CLIENTS = 1000
"""Times that the clients are repeated; then come later hours of the same ones."""
PERIOD_US = 4 * 3_600_000_000
"""Longer than the capture."""
RECORDS = 1_000_000
"""More than the capture has."""
_MOVED = f"""
    "{{name}}" + to_microseconds({PERIOD_US} * (copy // {CLIENTS}) + (hash(copy) % 1000000)::BIGINT)
"""
_OWN_TOPIC = f"if({{name}} = '' OR {{name}} LIKE 'spBv1.0/%', {{name}}, {{name}} || '/' || copy % {CLIENTS})"
_COLUMNS = {
    **dict.fromkeys(("frame", "first_frame", "last_frame"), f"{{name}} + {RECORDS} * copy"),
    "connection": "connection || '/' || copy", "client_id": f"client_id || '/' || copy % {CLIENTS}",
    "topic": _OWN_TOPIC, "resolved_topic": _OWN_TOPIC,
    "latency_us": "latency_us + (hash(copy, first_frame, first_pos) % 1000000)::BIGINT",
}  # fmt: skip
"""SQL of DuckDB for the columns that differ from copy to copy, beside all times."""
_PAGE = """
import sys
from mqttpub.report.answers import details, summary
from mqttpub.report.engines.answering import answering
from mqttpub.report.page import write_page
from mqttpub.spark.session.session import Settings, session

def write(running):
    with answering(running, [sys.argv[1]], None) as engine:
        write_page(sys.argv[2], sys.argv[1], details(engine, sys.argv[1], summary(engine, sys.argv[1])))

if sys.argv[3] == "none":
    write(None)
else:
    with session(Settings(sys.argv[3])) as made:
        write(made)
"""


def lines(folder: Path, *, rows: int = 100_000_000, tables: Path | None = None) -> Iterator[str]:
    """Yield a line for each engine; `tables` are made before, and are left there."""
    made = tables or folder / "tables"
    if not (made / MANIFEST).exists():
        _make(made, folder / "few", rows)
    counts = ", ".join(f"{count:,} {name}" for name, count in Manifest.in_folder(made).rows().items())
    yield counts
    for master in ("none", f"local[{cores()}]"):
        took = run([sys.executable, "-c", _PAGE, str(made), str(folder / "page.html"), master], watched=True)
        yield f"{master:10} {took.seconds:8.1f} s {took.cpu_s:8.1f} CPU-s {took.peak_mb:8.0f} MB"


def _make(folder: Path, few: Path, rows: int) -> None:
    """Write the tables, with a manifest that names them."""
    import duckdb

    piped(MORNING, out=few, on_spark=False, lint=True)
    manifest = json.loads((few / MANIFEST).read_text())
    copies = -(-rows // Manifest.in_folder(few).rows()["packets"])
    parts = []
    with duckdb.connect(config={"preserve_insertion_order": "false"}) as connection:
        for name in sorted({part["table"] for part in manifest["parts"]}):
            (folder / name).mkdir(parents=True)
            source = f"read_parquet('{few}/{name}/*.parquet')"
            columns = connection.sql(f"DESCRIBE SELECT * FROM {source}").fetchall()
            found = ((column, _changed(column, kind)) for column, kind, *_ in columns)
            changed = ", ".join(f'{sql} AS "{column}"' for column, sql in found if sql)
            path = folder / name / "part-1.parquet"
            connection.execute(f"""
                COPY (SELECT * EXCLUDE (copy) REPLACE ({changed}) FROM range({copies}) AS copies(copy), {source})
                TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 1000000)
            """)
            ((count,),) = connection.sql(f"SELECT count(*) FROM read_parquet('{path}')").fetchall()
            part = next(each for each in manifest["parts"] if each["table"] == name)
            parts.append({**part, "path": f"{name}/{path.name}", "rows": count})
    sources = folder / manifest["sources"]
    sources.parent.mkdir()
    shutil.copyfile(few / manifest["sources"], sources)
    (folder / MANIFEST).write_text(json.dumps({**manifest, "parts": parts, "states": []}))


def _changed(column: str, kind: str) -> str:
    """Return SQL for a column of a copy; empty if it is the same in all."""
    return (_MOVED if kind.startswith("TIMESTAMP") else _COLUMNS.get(column, "")).format(name=column)
