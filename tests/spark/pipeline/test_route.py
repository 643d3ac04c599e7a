"""Sources are divided among tasks, and their records among buckets, each exactly once."""

import json
from pathlib import Path

import numpy as np
import pytest

from mqttpub.columns.reassemble.state import SOURCE_BITS
from mqttpub.columns.reassemble.stretches import joined
from mqttpub.spark.pipeline import route
from mqttpub.spark.pipeline.job import BUCKETS, BlobRow, Job, SourceResult, Unit
from mqttpub.spark.pipeline.route import COUNTS, SourceCounts, is_large, parts, units
from mqttpub.spark.pipeline.sources import Source, examine
from tests.build.fleet import capture, rotated


def job_of(*sizes: int, before: tuple[str, ...] = ()) -> Job:
    return Job(tuple(Source(str(index), "", size) for index, size in enumerate(sizes)), "", "", before=before)


def job_with(*paths: Path) -> Job:
    return Job(tuple(examine(str(path), str(path)) for path in paths), "", "")


def test_tasks_get_about_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "SMALLEST", 10)
    found = units(job_of(*[30] * 100), 4)
    assert [sum(unit.size for unit in each) for each in found] == [780, 780, 780, 660]
    assert [unit.source for each in found for unit in each] == list(range(100))
    assert units(job_of(), 4) == []


def test_few_bytes_are_few_tasks() -> None:
    (one,) = units(job_of(*[1_000] * 500), 16)
    assert len(one) == 500


def test_a_large_capture_is_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "SMALLEST", 2_000)
    path = tmp_path / "a.pcap"
    path.write_bytes(capture(1, clients=4, messages=40))
    job = job_with(path)
    (given,) = units(job, 100)
    assert is_large(job, given)
    found = parts(job, given[0])
    assert len(found) == path.stat().st_size // 2_000
    assert [each.stop for each in found] == [*(each.start for each in found[1:]), None]
    assert not is_large(job, [found[0]]) or len(found) > 1


def test_texts_and_compressed_captures_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "SMALLEST", 10)
    path = tmp_path / "a.txt"
    path.write_text("c0 00\n" * 100)
    (given,) = units(job_with(path), 100)
    assert not is_large(job_with(path), given)


def rows_of(job: Job, given: list[Unit]) -> tuple[list[BlobRow], list[BlobRow]]:
    """Return the rows with records, and those with counts."""
    rows = list(route.route(job, given))
    return [row for row in rows if row.major != COUNTS], [row for row in rows if row.major == COUNTS]


@pytest.mark.parametrize("size", [300, 4 << 20])
def test_every_record_with_tcp_is_in_one_bucket(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "SMALLEST", size)
    monkeypatch.setattr(route, "BLOCK", 1_000)
    paths = rotated(capture(2, clients=6, messages=10), tmp_path, 3)
    job = job_with(*paths)
    numbers: list[tuple[int, int]] = []
    counts = SourceCounts(job)
    for given in units(job, 100):
        for each in [[one] for one in parts(job, given[0])] if is_large(job, given) else [given]:
            rows, each_bucket = rows_of(job, each)
            assert [row.key for row in each_bucket] == list(range(BUCKETS))
            counts.add(each_bucket[0].blob)
            for row in rows:
                found = joined([(0, memoryview(row.blob))])
                assert found.number.tolist() == sorted(found.number.tolist())
                assert found.number[0] > row.minor
                numbers += ((row.major, number) for number in found.number.tolist())
    results = counts.results
    assert sorted(numbers) == [(index, n) for index in range(3) for n in range(1, results[index].records + 1)]
    assert counts.before == {0: 0, 1: results[0].records, 2: results[0].records + results[1].records}
    assert counts.ends == {}


def counted(job: Job, *found: tuple[int, int, SourceResult]) -> SourceCounts:
    """Return counts that tasks sent, one for each part."""
    counts = SourceCounts(job)
    for each in found:
        counts.add(json.dumps(["", [each]]).encode())
    return counts


def test_parts_after_an_error_of_the_system_do_not_count() -> None:
    found = counted(
        job_of(100, 100, before=("earlier",)),
        (0, 21, SourceResult(10, last_ns=30)), (0, 11, SourceResult(4, "Input/output error", unread=True, last_ns=20)),
        (0, 1, SourceResult(10, last_ns=10)), (1, 1, SourceResult(5, "offset 9: broken", last_ns=40)),
    )  # fmt: skip
    assert found.results == {
        0: SourceResult(14, "Input/output error", unread=True, last_ns=20),
        1: SourceResult(5, "offset 9: broken", last_ns=40),
    }
    assert found.ends == {1: 14}
    assert found.before == {1: 0, 2: 14}
    assert found.continuous(np.array([0, 1, 2])).tolist() == [0, 0, 14]
    assert found.last == (2 << SOURCE_BITS | 5, 40)
