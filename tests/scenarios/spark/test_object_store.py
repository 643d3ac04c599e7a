"""The pipeline reads from an object store what it reads from a folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.build.fleet import capture, rotated
from tests.build.object_store import ObjectStore
from tests.spark.running import alone as alone
from tests.spark.running import piped, tables


def named(folder: Path) -> dict[str, list[str]]:
    """Return the rows of all tables, with the last part of each capture's name."""
    found = tables(folder)
    return {
        name: sorted(repr({**row, "capture": row["capture"].rpartition("/")[2]}) for row in rows)
        for name, rows in found.items()
    }


@pytest.fixture
def ring(s3: str, s3_server: ObjectStore, tmp_path: Path) -> list[Path]:
    """Put a rotated capture into the bucket below `ring`, and return it as files of this machine."""
    paths = rotated(capture(3), tmp_path / "ring", 3)
    for path in paths:
        s3_server.put(s3[len("s3://") :], f"ring/{path.name}", path.read_bytes())
    return paths


@pytest.mark.usefixtures("alone")
def test_captures_behind_urls_give_the_same_tables(s3: str, ring: list[Path], tmp_path: Path) -> None:
    piped(tmp_path / "ring", out=tmp_path / "paths")
    piped(f"{s3}/ring", out=tmp_path / "urls")
    assert named(tmp_path / "urls") == named(tmp_path / "paths")
    assert {row["capture"] for row in tables(tmp_path / "urls")["packets"]} == {f"{s3}/ring/{p.name}" for p in ring}
    assert not list(tmp_path.rglob("sources"))


@pytest.mark.long
def test_tasks_of_spark_open_urls_themselves(s3: str, ring: list[Path], tmp_path: Path) -> None:
    # A process of its own, whose tasks inherit the place and the key of the store.
    command = [sys.executable, "-m", "mqttpub", "pipeline", f"{s3}/ring/*.pcap", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = {row["capture"] for row in tables(tmp_path / "out")["packets"]}
    assert names == {f"{s3}/ring/{path.name}" for path in ring}
