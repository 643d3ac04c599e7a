"""Seconds, processor time and peak memory of a report on tables of many rows, on DuckDB and on Spark.

The tables are those of a capture of the tests, repeated with other times, connections and records, for a thousand times
its clients. `--rows` is how many packets there are; the other tables grow with them.
"""

import json
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
_COLUMNS = {
    "frame": f"frame + {RECORDS} * copy", "first_frame": f"first_frame + {RECORDS} * copy",
    "connection": "connection || '/' || copy", "client_id": f"client_id || '/' || copy % {CLIENTS}",
    **{name: f'"{name}" + to_microseconds({PERIOD_US} * (copy // {CLIENTS}))' for name in ("time", "begin", "end")},
}  # fmt: skip
"""SQL of DuckDB for the columns that differ from copy to copy."""
_PAGE = """
import sys
from mqttpub.report.answers import summary
from mqttpub.report.engines.answering import answering
from mqttpub.report.page import write_page
from mqttpub.spark.session.session import Settings, session

def write(running):
    with answering(running, [sys.argv[1]], None) as engine:
        write_page(sys.argv[2], engine, sys.argv[1], summary(engine, sys.argv[1]))

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
            known = [each[0] for each in connection.sql(f"DESCRIBE SELECT * FROM {source}").fetchall()]
            changed = ", ".join(f'{sql} AS "{column}"' for column, sql in _COLUMNS.items() if column in known)
            path = folder / name / "part-1.parquet"
            connection.execute(f"""
                COPY (SELECT * REPLACE ({changed}) FROM range({copies}) AS copies(copy), {source})
                TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 1000000)
            """)
            ((count,),) = connection.sql(f"SELECT count(*) FROM read_parquet('{path}')").fetchall()
            part = next(each for each in manifest["parts"] if each["table"] == name)
            parts.append({**part, "path": f"{name}/{path.name}", "rows": count})
    (folder / MANIFEST).write_text(json.dumps({**manifest, "parts": parts, "states": []}))
