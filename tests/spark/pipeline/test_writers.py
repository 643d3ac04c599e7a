"""Rows that a writer gets are in its files exactly once, whatever the partitioning."""

import os
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.columns.schema import coded
from mqttpub.spark.pipeline import writers
from mqttpub.spark.pipeline.writers import TableWriter
from mqttpub.spark.storage.folder import StorageFolder

SCHEMA = pa.schema([("n", pa.int64()), ("name", pa.string()), ("time", pa.timestamp("us", tz="UTC"))])
rows = st.lists(
    st.fixed_dictionaries(
        {
            "n": st.integers(0, 9),
            "name": st.none() | st.sampled_from(("a", "b/c", "ü %", "..", "")),
            "time": st.none() | st.datetimes(datetime(2020, 1, 1), datetime(2020, 1, 3), timezones=st.just(UTC)),  # noqa: DTZ001
        }
    ),
    max_size=20,
)


@settings(max_examples=25)
@given(batches=st.lists(rows, max_size=4), divided=st.sets(st.sampled_from(("name", "date", "hour"))))
def test_every_row_is_in_one_file(batches: list[list[dict[str, Any]]], divided: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(writers, "ROWS", 3)
        patch.setattr(writers, "MOST_OPEN", 2)
        writer = TableWriter(
            StorageFolder(folder), "t", SCHEMA, file_format="parquet", partition_by=sorted(divided), tag="x"
        )
        for batch in batches:
            writer.write(pa.RecordBatch.from_pylist(batch, schema=SCHEMA))
        parts = writer.close()
        files = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*.parquet")}
        assert files == {part.path for part in parts}
        assert sum(part.rows for part in parts) == sum(map(len, batches))
        if not parts:
            return
        found = ds.dataset(Path(folder, "t"), partitioning=hive(divided)).to_table().to_pylist()
    expected = [row for batch in batches for row in batch]
    for row in expected:
        row["name"] = row["name"] or (None if "name" in divided else row["name"])
    assert Counter((row["n"], row["name"], row["time"]) for row in found) == Counter(
        (row["n"], row["name"], row["time"]) for row in expected
    )
    for row in found:
        time = row["time"]
        assert row.get("date") == (f"{time:%Y-%m-%d}" if time and "date" in divided else None)
        assert row.get("hour") == (f"{time:%Y-%m-%dT%H}" if time and "hour" in divided else None)


@pytest.mark.parametrize("divided", [[], ["name"]])
def test_orc_holds_what_parquet_holds(divided: list[str], tmp_path: Path) -> None:
    made: list[dict[str, Any]] = [
        {"n": 1, "name": "a", "time": datetime(2026, 1, 31, 23, 59, 59, 123456, UTC)},
        {"n": None, "name": None, "time": None},
    ]
    writer = TableWriter(StorageFolder(tmp_path), "t", CODED, file_format="orc", partition_by=divided, tag="x")
    writer.write(pa.RecordBatch.from_pylist(made, schema=CODED))
    parts = writer.close()
    found = ds.dataset([tmp_path / part.path for part in parts], format="orc").to_table()
    assert found.schema.names == [name for name in SCHEMA.names if name not in divided]
    expected = [{name: row[name] for name in found.schema.names} for row in made]
    assert sorted(found.to_pylist(), key=repr) == sorted(expected, key=repr)
    assert all((tmp_path / part.path).stat().st_size == part.bytes for part in parts)


CODED = coded(SCHEMA)


def hive(divided: set[str]) -> object:
    """Return how folders tell columns, all of them texts."""
    return ds.partitioning(pa.schema([(name, pa.string()) for name in sorted(divided)]), flavor="hive")


@pytest.mark.parametrize(("held", "expected"), [(1, "aabbc"), (writers.MOST_HELD, "abc")])
def test_files_are_closed_when_there_are_many(
    held: int, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "MOST_OPEN", 2)
    monkeypatch.setattr(writers, "MOST_HELD", held)
    writer = TableWriter(StorageFolder(tmp_path), "t", SCHEMA, file_format="csv", partition_by=["name"], tag="x")
    for name in "abcab":
        writer.write(pa.RecordBatch.from_pylist([{"n": 1, "name": name, "time": None}], schema=SCHEMA))
    names = [Path(part.path).parent.name for part in writer.close()]
    assert sorted(names) == [f"name={each}" for each in expected]


@pytest.mark.slow
def test_thousands_of_folders_take_little_memory_and_few_open_files(tmp_path: Path) -> None:
    count, most = 1_000, 0
    writer = TableWriter(StorageFolder(tmp_path), "t", SCHEMA, file_format="csv", partition_by=["name"], tag="x")
    begun = pa.total_allocated_bytes()
    for _ in range(4):
        names = pa.array([f"client-{number}" for number in range(count)])
        writer.write(pa.record_batch([pa.array(range(count)), names, pa.nulls(count, SCHEMA[2].type)], schema=SCHEMA))
        most = max(most, len(os.listdir("/proc/self/fd")), pa.total_allocated_bytes() - begun)
        assert len(writer._files) <= writers.MOST_OPEN
    parts = writer.close()
    assert [part.rows for part in parts] == [4] * count
    assert len({part.path for part in parts}) == count
    assert most < 1 << 20


def long_rows(count: int, name: str) -> pa.RecordBatch:
    """Return rows of a thousand bytes each and a little more."""
    return pa.record_batch([[1] * count, [name] * count, [None] * count, [bytes(1000)] * count], schema=LONG)


LONG = SCHEMA.append(pa.field("payload", pa.binary()))


@pytest.mark.parametrize("divided", [[], ["name"]])
def test_rows_wait_until_they_are_many_bytes(
    divided: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "MOST_HELD", 30_000)
    monkeypatch.setattr(writers, "MOST_HELD_BY_ALL", 50_000)
    writer, most = (
        TableWriter(StorageFolder(tmp_path), "t", LONG, file_format="parquet", partition_by=divided, tag="x"),
        0,
    )
    for number in range(200):
        writer.write(long_rows(5, "abcdefgh"[number % 8]))
        waiting = [pending.held for pending in writer._files.values()]
        assert sum(waiting) == writer._held
        most = max(most, sum(waiting))
        assert max(waiting, default=0) <= 30_000
    parts = writer.close()
    assert (writer._held, sum(part.rows for part in parts)) == (0, 1000)
    assert len(parts) == (8 if divided else 1)
    # Few enough to be held, and many enough for row groups that are not tiny.
    assert (30_000 if divided else 20_000) < most <= 50_000
    groups = [pq.ParquetFile(tmp_path / part.path).metadata for part in parts]
    assert sum(each.num_rows for each in groups) == 1000
    assert sum(each.num_row_groups for each in groups) <= 1000 // 5


def test_long_payloads_are_not_held_until_there_are_many(tmp_path: Path) -> None:
    writer = TableWriter(StorageFolder(tmp_path), "t", LONG, file_format="parquet", partition_by=[], tag="x")
    begun = pa.total_allocated_bytes()
    for _ in range(12):
        payload = pa.array([bytes(200_000)] * 50, pa.binary())
        writer.write(pa.record_batch([*(pa.nulls(50, each) for each in SCHEMA.types), payload], schema=LONG))
        del payload
        assert pa.total_allocated_bytes() - begun < 2 * writers.MOST_HELD
    writer.close()
