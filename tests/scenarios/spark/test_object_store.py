"""The pipeline reads from an object store what it reads from a folder, and writes the same tables to it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mqttpub.spark.pipeline.manifest import Manifest, OutputRefused
from mqttpub.spark.storage.files import open_file
from mqttpub.spark.storage.folder import StorageFolder
from tests.build.fleet import capture, rotated
from tests.build.object_store import ObjectStore
from tests.spark.running import alone as alone
from tests.spark.running import piped, tables


def named(place: str | Path) -> dict[str, list[str]]:
    """Return the rows of all tables of a manifest, with the last part of each capture's name."""
    found: dict[str, list[str]] = {}
    for part in Manifest.in_folder(place).parts:
        with open_file(StorageFolder(place).place(part.path)) as file:
            rows = pq.ParquetFile(file).read().to_pylist()
        divided = [each for each in part.path.split("/") if "=" in each]
        found.setdefault(part.table, []).extend(
            repr(({**row, "capture": row["capture"].rpartition("/")[2]}, divided)) for row in rows
        )
    return {name: sorted(rows) for name, rows in found.items()}


@pytest.fixture
def ring(s3: str, s3_server: ObjectStore, tmp_path: Path) -> list[Path]:
    """Put a rotated capture into the bucket below `ring`, and return it as files of this machine."""
    paths = rotated(capture(3), tmp_path / "ring", 3)
    for path in paths:
        s3_server.put(s3[len("s3://") :], f"ring/{path.name}", path.read_bytes())
    return paths


@pytest.mark.usefixtures("alone")
def test_captures_at_urls_give_the_same_tables(s3: str, ring: list[Path], tmp_path: Path) -> None:
    piped(tmp_path / "ring", out=tmp_path / "paths")
    piped(f"{s3}/ring", out=tmp_path / "urls")
    assert named(tmp_path / "urls") == named(tmp_path / "paths")
    assert {row["capture"] for row in tables(tmp_path / "urls")["packets"]} == {f"{s3}/ring/{p.name}" for p in ring}
    assert not list(tmp_path.rglob("sources"))


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_tables_in_a_store_are_those_in_a_folder(s3: str, ring: list[Path], tmp_path: Path) -> None:
    given: list[dict[str, Any]] = [{}, {"partition_by": ("date", "type"), "lint": True}]
    for options in given:
        name = f"out-{len(options)}"
        for out in (tmp_path / name, f"{s3}/{name}"):
            piped(f"{s3}/ring", out=out, **options)
        assert named(f"{s3}/{name}") == named(tmp_path / name)
        assert StorageFolder(f"{s3}/{name}").files().keys() == {
            "_manifest.json", *Manifest.in_folder(f"{s3}/{name}").saved,
            *(part.path for part in Manifest.in_folder(f"{s3}/{name}").parts),
        }  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_resumed_runs_in_a_store_equal_one_run(s3: str, ring: list[Path], tmp_path: Path) -> None:
    piped(tmp_path / "ring", out=tmp_path / "once")
    for path in ring:
        piped(path, out=f"{s3}/out", mode="resume")
    assert named(f"{s3}/out") == named(tmp_path / "once")
    piped(f"{s3}/ring", out=f"{s3}/out", mode="resume")
    assert named(f"{s3}/out") == named(tmp_path / "once")
    piped(ring[0], out=f"{s3}/out", mode="overwrite")
    piped(ring[0], out=tmp_path / "first")
    assert named(f"{s3}/out") == named(tmp_path / "first")


@pytest.mark.usefixtures("alone")
def test_sources_among_the_tables_are_refused(s3: str, ring: list[Path]) -> None:
    with pytest.raises(OutputRefused, match="the tables need a folder without sources"):
        piped(f"{s3}/ring/*", out=s3.replace("s3:", "s3a:"))


@pytest.mark.long
@pytest.mark.usefixtures("alone")
def test_the_program_reads_writes_and_reports_in_a_store(s3: str, ring: list[Path], tmp_path: Path) -> None:
    # A process of its own, whose tasks inherit the place and the key of the store.
    page = tmp_path / "report.html"
    command = ["pipeline", f"{s3}/ring/*.pcap", "--out", f"{s3}/out", "--report", str(page)]
    command += ["--partition-by", "type", "--master", "local[2]"]
    done = subprocess.run([sys.executable, "-m", "mqttpub", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith(f": {s3}/out")
    assert "secret-of-the-tests" not in done.stderr + done.stdout
    assert all(path.name in page.read_text() for path in ring)
    piped(tmp_path / "ring", out=tmp_path / "out", partition_by=("type",))
    assert named(f"{s3}/out") == named(tmp_path / "out")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("file_format", ["parquet", "delta"])
def test_nothing_is_left_of_files_that_were_joined(s3: str, ring: list[Path], file_format: str) -> None:
    piped(*ring, out=f"{s3}/joined", on_spark=False, partitions=20, file_format=file_format)
    parts = {part.path for part in Manifest.in_folder(f"{s3}/joined").parts}
    assert {name for name in StorageFolder(f"{s3}/joined").files() if name.endswith("-0.parquet")} == parts
