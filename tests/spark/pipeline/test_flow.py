"""Whatever the parts, buckets, tasks and runs, the tables are those of records that are read one by one."""

import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.spark.pipeline import route, task
from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spark.pipeline.job import buckets_for
from mqttpub.spark.pipeline.manifest import Manifest
from mqttpub.spark.pipeline.task import JOINED
from tests.build.containers import damaged
from tests.build.fleet import capture, rotated
from tests.build.known_captures import truth
from tests.build.troubled_captures import troubled
from tests.paths import CAPTURES, MORNING
from tests.spark.running import Rows, alone, in_one_process, piped, tables

__all__ = ["alone"]
pytestmark = pytest.mark.usefixtures("alone")
TASKS = [1, 3, 16, 64]
TEXT = (
    "> 10 0d 00 04 4d 51 54 54 05 02 00 3c 00 00 00\n< 20 03 00 00 00\n> 32 08 00 01 61 00 01 00 68 69\n< 40 02 00 02\n"
)
"""A client whose message is acknowledged with another Packet Identifier."""


@pytest.fixture(params=[200, route.SMALLEST], ids=["parts", "whole"])
def smallest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks read parts of captures as well."""
    monkeypatch.setattr(route, "SMALLEST", request.param)
    monkeypatch.setattr(route, "BLOCK", 5_000)


@cache
def rows_of(path: Path) -> dict[str, Rows]:
    """Return the rows of a capture that ships, which several tests compare with theirs."""
    return in_one_process([path])


@pytest.mark.usefixtures("smallest")
@pytest.mark.parametrize("tasks", TASKS)
@pytest.mark.parametrize("path", sorted(CAPTURES.iterdir()), ids=lambda path: path.stem)
def test_tables_of_a_capture(path: Path, tasks: int, tmp_path: Path) -> None:
    piped(path, out=tmp_path / "out", partitions=tasks, lint=True)
    assert tables(tmp_path / "out") == rows_of(path)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", TASKS)
def test_tables_of_a_compressed_capture(tasks: int, tmp_path: Path) -> None:
    piped(MORNING, out=tmp_path / "out", partitions=tasks, lint=True)
    assert tables(tmp_path / "out") == rows_of(MORNING)


@pytest.mark.parametrize("seed", [1, 2])
def test_buckets_may_become_more_from_run_to_run(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = rotated(capture(seed, clients=23, messages=60), tmp_path / "in", 5)
    (tmp_path / "in" / "text").write_text(TEXT)
    used: list[int] = []
    for number, path in enumerate(files):
        # Fewer than before are not possible.
        monkeypatch.setattr(pipeline, "buckets_for", lambda tasks, count=[1, 2, 1, 16, 16][number]: count)
        given = [path, tmp_path / "in" / "text"] if number == 1 else [path]
        piped(*given, out=tmp_path / "out", mode="resume", lint=True)
        used.append(Manifest.in_folder(tmp_path / "out").settings["buckets"])
    assert used == [1, 2, 2, 16, 16]
    monkeypatch.setattr(pipeline, "buckets_for", lambda tasks: 1)
    piped(*files[:2], tmp_path / "in" / "text", out=tmp_path / "once", mode="resume", lint=True)
    piped(*files[2:], out=tmp_path / "once", mode="resume", lint=True)
    assert tables(tmp_path / "out") == tables(tmp_path / "once")


@pytest.mark.parametrize(("tasks", "buckets"), [(1, 16), (8, 16), (9, 32), (129, 512), (1600, 4096), (9999, 4096)])
def test_there_are_two_buckets_for_each_task(tasks: int, buckets: int) -> None:
    assert buckets_for(tasks) == buckets


def written(files: list[bytes], folder: Path) -> list[Path]:
    """Write captures and return their paths."""
    folder.mkdir()
    paths = [folder / f"{number}.pcap" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    return paths


@pytest.mark.slow
@pytest.mark.usefixtures("smallest")
@pytest.mark.parametrize("tasks", TASKS)
def test_tables_of_rotated_captures(tasks: int, tmp_path: Path) -> None:
    paths = written(truth(tasks, connections=9, messages=30, files=4).files, tmp_path / "in")
    piped(*paths, out=tmp_path / "out", partitions=tasks, lint=True)
    assert tables(tmp_path / "out") == in_one_process(paths)


@pytest.mark.slow
@pytest.mark.usefixtures("smallest")
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(each, marks=pytest.mark.long) for each in range(4, 10))])
def test_tables_of_broken_captures(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    files = [damaged(random, each) for each in truth(seed, connections=5, messages=20, files=1 + seed % 3).files]
    paths = written(files, tmp_path / "in")
    whole, out = in_one_process(paths), tmp_path / "out"
    problems = set()
    for tasks in TASKS:
        problems.add(str(piped(*paths, out=out, partitions=tasks, lint=True, mode="overwrite").problems))
        found = tables(out)
        assert {name: rows for name, rows in found.items() if rows} == whole
    # Where and how a file is broken does not depend on tasks either.
    assert len(problems) == 1


@pytest.mark.slow
@settings(max_examples=8)
@given(troubled(), st.sampled_from((1, 16)), st.sampled_from((1, JOINED)))
def test_tables_of_connections_in_trouble(data: bytes, tasks: int, joined: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        (path,) = written([data], Path(folder, "in"))
        # Buckets are read a blob at a time, or as a whole.
        patch.setattr(task, "JOINED", joined)
        patch.setattr(route, "SMALLEST", 200)
        patch.setattr(route, "BLOCK", 700)
        piped(path, out=Path(folder, "out"), partitions=tasks, lint=True)
        found = tables(Path(folder, "out"))
        assert {name: rows for name, rows in found.items() if rows} == in_one_process([path])


@pytest.mark.slow
@pytest.mark.usefixtures("smallest")
@pytest.mark.parametrize("turns", [[1, 3], [16, 1, 64], [3, 3, 3, 3]])
def test_a_resumed_run_may_have_other_tasks(turns: list[int], tmp_path: Path) -> None:
    paths, out = rotated(capture(7, clients=8, messages=12), tmp_path / "in", len(turns)), tmp_path / "out"
    for path, tasks in zip(paths, turns, strict=True):
        piped(path, out=out, partitions=tasks, lint=True, mode="resume")
    assert tables(out) == in_one_process(paths)


def test_connections_of_texts_are_apart_from_those_of_captures(tmp_path: Path) -> None:
    (path,) = written([capture(3, clients=3, messages=5)], tmp_path / "in")
    texts = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for number, text in enumerate(texts):
        text.write_text(TEXT + "> c0 00\n" * number)
    apart = Counter[str]()
    for each in (path, *texts):
        piped(each, out=tmp_path / each.stem, lint=True)
        apart += _lines(tables(tmp_path / each.stem))
    piped(path, *texts, out=tmp_path / "out", lint=True)
    assert _lines(tables(tmp_path / "out")) == apart
    assert tables(tmp_path / "out")["findings"]


def _lines(found: dict[str, list[dict[str, Any]]]) -> Counter[str]:
    return Counter(f"{name}: {row}" for name, rows in found.items() for row in rows)
