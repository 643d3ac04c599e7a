"""Workers whose Python has no mqttpub get it from the driver."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import mqttpub
from mqttpub.spark.session.ship import packed
from tests.build.fleet import capture, rotated
from tests.scenarios.spark.test_cluster import master, ran
from tests.spark.bare import bare_python
from tests.spark.running import tables

__all__ = ["master"]
PACKAGE = Path(mqttpub.__file__).parent


def test_the_archive_is_all_of_the_package_and_the_same_every_time(tmp_path: Path) -> None:
    copy = tmp_path / "mqttpub"
    shutil.copytree(PACKAGE, copy)
    one, other = (packed(copy, tmp_path / name) for name in ("one.zip", "other.zip"))
    assert one.read_bytes() == other.read_bytes()
    names = zipfile.ZipFile(one).namelist()
    assert {"mqttpub/__init__.py", "mqttpub/py.typed", "mqttpub/spec/data/statements-5.0.tsv"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or not name.startswith("mqttpub/")]


@pytest.mark.slow
def test_python_imports_from_the_archive(tmp_path: Path) -> None:
    path = packed(PACKAGE, tmp_path / "mqttpub.zip")
    code = (
        f"import sys; sys.path.insert(0, {str(path)!r}); "
        "import mqttpub.spark.pipeline.task as work; print(work.__file__); "
        "from mqttpub.spec.statements import statements; print(len(statements()) > 500)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{path}/mqttpub/spark/pipeline/task.py\nTrue\n"


@pytest.mark.long
def test_a_cluster_without_mqttpub_in_its_python(master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", str(bare_python(tmp_path / "bare")))
    rotated(capture(4, clients=6), tmp_path / "in", 3)
    words: list[Any] = [tmp_path / "in", "--lint", "--conf", "spark.executor.memory=600m"]
    ran(master, tmp_path / "cluster", *words)
    monkeypatch.delenv("PYSPARK_PYTHON")
    ran("local[2]", tmp_path / "local", *words)
    assert tables(tmp_path / "cluster") == tables(tmp_path / "local")
    assert tables(tmp_path / "cluster")["packets"]
