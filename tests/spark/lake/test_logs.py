"""The logs of Delta and Iceberg tables say what the manifest says, whenever a run was stopped."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqttpub.spark.lake.content import LakeError, LoggedFile, LoggedRun, LoggedTable
from mqttpub.spark.lake.logs import LogNotWritten, check, files, follow
from tests.spark.lake.reading import FORMATS, READERS
from tests.spark.lake.reading import catalog as catalog

SCHEMA = pa.schema(
    [
        ("n", pa.int64()), ("qos", pa.int8()), ("name", pa.string()), ("dup", pa.bool_()),
        ("time", pa.timestamp("us", tz="UTC")), ("date", pa.date32()), ("open", pa.bool_()),
    ]
)  # fmt: skip
DIVIDED = ("qos", "name", "dup", "date", "open")
VALUES = (
    ("1", "b/c %41", "true", "2026-01-31", "false"),
    (None, None, None, None, "true"),
    ("2", "ü 'x'", "false", "1969-12-31", "true"),
)
FOLDERS = ("qos=1/name=b%2Fc %2541", "qos=__HIVE_DEFAULT_PARTITION__", "qos=2/name=ü %27x%27")


def run(number: int, mode: str = "append") -> LoggedRun:
    return LoggedRun(f"run-{number}", number, mode)


def table(place: str, *files: LoggedFile, runs: tuple[LoggedRun, ...] = (run(1),)) -> LoggedTable:
    return LoggedTable("packets", f"{place}/packets", SCHEMA, DIVIDED, files, runs)


def written(folder: Path, number: int) -> LoggedFile:
    """Write a file of two rows to one of the folders."""
    path = f"{FOLDERS[number % 3]}/part-{number}.parquet"
    (folder / "packets" / path).parent.mkdir(parents=True, exist_ok=True)
    columns = {"n": [number, None], "time": [0, None]}
    schema = pa.schema([SCHEMA.field("n"), SCHEMA.field("time")])
    pq.write_table(pa.table(columns, schema=schema), folder / "packets" / path)
    return LoggedFile(path, 2, (folder / "packets" / path).stat().st_size, VALUES[number % 3], f"run-{number}")


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize("form", FORMATS)
def test_a_log_gets_what_each_run_adds_and_replaces(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    files = {number: written(folder, number) for number in range(1, 8)}
    runs: list[LoggedRun] = []
    # Files 3 and 6 are final. The log of run 5 could not be written, and run 6 replaces its file.
    for numbers, mode, shown in (
        ([1], "resume", [1]), ([2], "resume", [2]), ([3], "append", [2, 3]), ([3, 4], "resume", [3, 4]),
        ([3, 5], "resume", []), ([3, 6], "resume", [3, 6]), ([7], "overwrite", [7]),
    ):  # fmt: skip
        runs.append(run(numbers[-1], mode))
        kept = tuple(runs[-1:] if mode == "overwrite" else runs)
        for _ in range(2 if shown else 0):
            follow(form, table(str(folder), *(files[number] for number in numbers), runs=kept))
            found = READERS[form](f"{folder}/packets")
            assert {row["n"] for row in found.to_pylist()} == {*shown, None}
            assert found.num_rows == 2 * len(shown)


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize("form", FORMATS)
def test_columns_of_folders_have_their_types_and_values(form: str, tmp_path: Path) -> None:
    files = [written(tmp_path / "lake", number) for number in range(1, 4)]
    follow(form, table(str(tmp_path / "lake"), *files, runs=(run(1), run(2), run(3))))
    found = READERS[form](f"{tmp_path}/lake/packets")
    rows = {
        tuple(None if row[name] is None else str(row[name]).lower() for name in DIVIDED) for row in found.to_pylist()
    }
    assert rows == set(VALUES)
    assert set(found.schema.names) == set(SCHEMA.names)
    assert pa.types.is_date(found.schema.field("date").type)
    assert pa.types.is_boolean(found.schema.field("dup").type)
    assert pa.types.is_integer(found.schema.field("qos").type)


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize("form", FORMATS)
def test_a_log_that_cannot_be_written_is_said(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "packets").write_text("in the way")
    with pytest.raises(LogNotWritten, match=f"^the {form} log of packets cannot be written: "):
        follow(form, table(str(tmp_path / "lake"), LoggedFile("a", 1, 1, VALUES[0], "run-1")))


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize("form", FORMATS)
def test_a_damaged_log_gives_one_sentence(form: str, tmp_path: Path) -> None:
    written_table = table(f"{tmp_path}/lake", written(tmp_path / "lake", 1))
    follow(form, written_table)
    check(form, f"{tmp_path}/lake", [written_table])
    for path in (tmp_path / "lake" / "packets").rglob("*.json"):
        path.write_text("{bad")
    for act in (lambda: check(form, "", [written_table]), lambda: files(form, f"{tmp_path}/lake", "packets")):
        with pytest.raises(LakeError, match=rf"^the {form} log of packets cannot be read: [^<\x1b]+$"):
            act()


@pytest.mark.parametrize("form", FORMATS)
def test_stores_that_the_packages_do_not_know_are_refused(form: str) -> None:
    words = rf"^{form} tables cannot be on memory://, only in a folder or on s3://, .* or hdfs://$"
    with pytest.raises(LakeError, match=words):
        check(form, "memory://x/lake", ())
