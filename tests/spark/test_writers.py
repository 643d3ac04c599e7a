"""What a writer is given is in its files, once, whatever they are divided by."""

import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.spark import writers
from mqttpub.spark.writers import Writer

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
def test_every_row_is_in_one_file(batches: list[list[dict[str, object]]], divided: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(writers, "ROWS", 3)
        patch.setattr(writers, "MOST_OPEN", 2)
        writer = Writer(Path(folder), "t", SCHEMA, form="parquet", divided=sorted(divided), tag="x")
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


def hive(divided: set[str]) -> object:
    """Return how folders tell columns, all of them texts."""
    return ds.partitioning(pa.schema([(name, pa.string()) for name in sorted(divided)]), flavor="hive")


def test_files_are_closed_when_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "MOST_OPEN", 2)
    writer = Writer(tmp_path, "t", SCHEMA, form="csv", divided=["name"], tag="x")
    for name in "abcab":
        writer.write(pa.RecordBatch.from_pylist([{"n": 1, "name": name, "time": None}], schema=SCHEMA))
    names = [Path(part.path).parent.name for part in writer.close()]
    assert sorted(names) == ["name=a", "name=a", "name=b", "name=b", "name=c"]
