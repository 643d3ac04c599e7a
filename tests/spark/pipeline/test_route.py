"""Sources are divided among tasks, and their records among buckets, each exactly once."""

from pathlib import Path

import pytest

from mqttpub.columns.reassemble.stretches import counted, joined
from mqttpub.spark.pipeline import flow, route
from mqttpub.spark.pipeline.job import Job
from mqttpub.spark.pipeline.route import COUNTS, RESULT, is_large, parts, units
from mqttpub.spark.pipeline.shuffle.counts import OwnSources, SourceCounts, source_results
from mqttpub.spark.pipeline.sources import Source, examine
from tests.build.fleet import capture, rotated

JOB = Job("", "", tasks=3)


def sources_of(*sizes: int) -> list[Source]:
    return [Source(str(index), "", size) for index, size in enumerate(sizes)]


def test_tasks_get_about_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "SMALLEST", 10)
    found = units(sources_of(*[30] * 100), JOB._replace(tasks=4))
    assert [sum(unit.size for unit in each) for each in found] == [780, 780, 780, 660]
    assert [unit.number for each in found for unit in each] == list(range(100))
    assert units([], JOB) == []


def test_few_bytes_are_few_tasks() -> None:
    (one,) = units(sources_of(*[1_000] * 500), JOB._replace(tasks=16))
    assert len(one) == 500


def test_very_many_bytes_are_not_many_more_tasks() -> None:
    job = JOB._replace(tasks=4)
    assert len(units(sources_of(*[10 << 20] * 100), job)) == 15
    assert len(units(sources_of(*[10 << 20] * 10_000), job)) == 64
    (large,) = units(sources_of(1 << 40), job)
    assert large[0].size == 1 << 34


def test_a_large_capture_is_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "SMALLEST", 2_000)
    path = tmp_path / "a.pcap"
    path.write_bytes(capture(1, clients=4, messages=40))
    (given,) = units([examine("a", str(path))], JOB._replace(tasks=100))
    assert is_large(given)
    found = parts(given[0])
    assert len(found) == path.stat().st_size // 2_000
    assert [each.stop for each in found] == [*(each.start for each in found[1:]), None]
    assert not is_large([found[0]]) or len(found) > 1


def test_texts_and_compressed_captures_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "SMALLEST", 10)
    path = tmp_path / "a.txt"
    path.write_text("c0 00\n" * 100)
    (given,) = units([examine("a", str(path))], JOB._replace(tasks=100))
    assert not is_large(given)


@pytest.mark.parametrize("size", [300, 4 << 20])
def test_every_record_with_tcp_is_in_one_bucket(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "SMALLEST", size)
    monkeypatch.setattr(route, "BLOCK", 1_000)
    paths = rotated(capture(2, clients=6, messages=10), tmp_path, 3)
    numbers: list[tuple[int, int]] = []
    counts, blobs = SourceCounts(JOB), []
    others: dict[int, int] = {}
    for given in units([examine(str(path), str(path)) for path in paths], JOB._replace(tasks=100)):
        for each in [[one] for one in parts(given[0])] if is_large(given) else [given]:
            rows = list(route.route(JOB, each))
            *each_task, result = rows[-1 - JOB.tasks :]
            assert [(row.key, row.major) for row in each_task] == [(key, COUNTS) for key in range(JOB.tasks)]
            assert result.key == RESULT
            counts.add(each_task[-1].blob)
            blobs.append(result.blob)
            for row in rows[: -1 - JOB.tasks]:
                assert others.setdefault(row.major, counted(memoryview(row.blob))) == counted(memoryview(row.blob))
                found = joined([(0, memoryview(row.blob))])
                assert found.number.tolist() == sorted(found.number.tolist())
                assert found.number[0] > row.minor
                numbers += ((row.major, number) for number in found.number.tolist())
    results = source_results(read for each in flow.results(blobs) for read in each.reads)
    assert sorted(numbers) == [(index, n) for index in range(3) for n in range(1, results[index].records + 1)]
    own = OwnSources(counts)
    for number, before in others.items():
        own.add(number, before)
    assert own.before == {0: 0, 1: results[0].records, 2: results[0].records + results[1].records}
    assert counts.ends == {}
