"""Tables in Delta and Iceberg hold the rows of Parquet tables, in any mode and after a run was stopped at its worst."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mqttpub.report.engines.duck import connected
from mqttpub.spark.lake import logs
from mqttpub.spark.lake.content import LakeError
from mqttpub.spark.lake.logs import LogNotWritten
from mqttpub.spark.pipeline import output
from mqttpub.spark.pipeline.manifest import Manifest, OutputRefused
from mqttpub.spark.pipeline.output import LogsOutdated
from tests.build.fleet import capture, rotated
from tests.spark.lake.reading import FORMATS, READERS, reset
from tests.spark.lake.reading import catalog as catalog
from tests.spark.running import alone as alone
from tests.spark.running import piped, tables

pytestmark = pytest.mark.usefixtures("alone", "catalog")
TABLES = ("packets", "exchanges", "connections", "findings")


@pytest.fixture
def ring(tmp_path: Path) -> list[Path]:
    """Write a rotated capture."""
    return rotated(capture(3), tmp_path / "ring", 3)


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    """Return rows with null for what readers do not tell from it: the empty text of a folder, an empty list."""
    return Counter(repr({name: None if value in ("", []) else value for name, value in row.items()}) for row in rows)


def assert_same(form: str, out: Path | str, parquet: Path) -> None:
    """Check the rows of all tables against those of Parquet tables."""
    expected = tables(parquet)
    for name in TABLES:
        found = READERS[form](f"{out}/{name}").to_pylist()
        for row in found:
            del row["date"], row["open"]
        assert counted(found) == counted(expected.get(name, [])), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "store"),
    [
        ("delta", "s3"),
        ("iceberg", "folder"),
        pytest.param("delta", "folder", marks=pytest.mark.long),
        pytest.param("iceberg", "s3", marks=pytest.mark.long),
    ],
)
def test_every_mode_shows_the_rows_of_parquet(
    form: str, store: str, ring: list[Path], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out = f"{request.getfixturevalue('s3')}/lake" if store == "s3" else tmp_path / "lake"
    options: dict[str, Any] = {"file_format": form, "partition_by": ("date", "qos")}
    for path, mode in zip((*ring, ring[0]), ("resume", "resume", "append", "overwrite"), strict=True):
        piped(path, out=out, mode=mode, lint=True, **options)
        piped(path, out=tmp_path / "parquet", mode=mode, lint=True)
        assert_same(form, out, tmp_path / "parquet")
    # No run checked these rows, so the findings of the last one go.
    piped(*ring, out=out, mode="overwrite", **options)
    piped(*ring, out=tmp_path / "parquet", mode="overwrite")
    assert_same(form, out, tmp_path / "parquet")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "store", "mode"),
    [
        *(("delta", "folder", mode) for mode in ("append", "resume", "overwrite")),
        ("delta", "s3", "overwrite"), ("iceberg", "folder", "resume"), ("iceberg", "s3", "append"),
    ],
)  # fmt: skip
def test_a_run_that_stopped_between_two_logs_is_completed_by_the_next(
    form: str, store: str, mode: str, ring: list[Path], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out = f"{request.getfixturevalue('s3')}/lake" if store == "s3" else tmp_path / "lake"
    options: dict[str, Any] = {"lint": True, "file_format": form, "partition_by": ("date",)}
    for path in ring[:2]:
        before = Manifest.in_folder(out).runs if path != ring[0] else ()
        with pytest.MonkeyPatch.context() as patch:
            if before:
                # A run on a store begins by bringing the logs in line, one call for each.
                patch.setattr(output, "follow", stopping(2 if store == "folder" else 2 + len(TABLES)))
                unlogged = rf"^the run .* is in .*, but the {form} log of exchanges cannot"
                with pytest.raises(LogsOutdated, match=unlogged):
                    piped(path, out=out, mode=mode, **options)
            else:
                piped(path, out=out, mode="resume", **options)
        piped(path, out=tmp_path / "parquet", mode="resume" if not before else mode, lint=True)
    assert len(Manifest.in_folder(out).runs) == (1 if mode == "overwrite" else 2)
    # Some logs show the run and others do not, yet no file is gone that one of them names.
    for name in TABLES:
        READERS[form](f"{out}/{name}")
    with pytest.raises(OutputRefused, match="already holds tables"):
        piped(ring[2], out=out, **options)
    piped(ring[1], out=out, mode="append", **options)
    assert_same(form, out, tmp_path / "parquet")
    assert len(Manifest.in_folder(out).runs) == (1 if mode == "overwrite" else 2)


def stopping(number: int) -> Any:
    """Return a function that fails from the n-th call on."""
    count = 0

    def follow(form: str, table: Any) -> None:
        nonlocal count
        count += 1
        if count >= number:
            raise LogNotWritten(f"the {form} log of {table.name} cannot be written: stopped")
        logs.follow(form, table)

    return follow


def joined_delta(place: str) -> None:
    """Join the files of a table."""
    from deltalake import DeltaTable

    DeltaTable(place).optimize.compact()


def joined_iceberg(place: str) -> None:
    """Write the rows of a table into new files."""
    with iceberg_log(place) as log:
        log.overwrite(log.scan().to_arrow())


@contextmanager
def iceberg_log(place: str) -> Iterator[Any]:
    from pyiceberg.catalog import load_catalog

    with load_catalog() as catalog:
        yield catalog.load_table(".".join(place.split("/")[-2:]))


def compacted_delta(place: str) -> None:
    """Join the files of a table, and remove those that it no longer names."""
    from deltalake import DeltaTable

    joined_delta(place)
    DeltaTable(place).create_checkpoint()
    DeltaTable(place).vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)


def compacted_iceberg(place: str) -> None:
    """Write the rows of a table into new files, and remove those that it no longer names."""
    with iceberg_log(place) as log:
        old = [task.file.file_path for task in log.scan().plan_files()]
    joined_iceberg(place)
    with iceberg_log(place) as log:
        expired = [each.snapshot_id for each in log.snapshots() if each.snapshot_id != log.metadata.current_snapshot_id]
        log.maintenance.expire_snapshots().by_ids(expired).commit()
    for each in old:
        Path(each.removeprefix("file://")).unlink()


COMPACTED = {"delta": compacted_delta, "iceberg": compacted_iceberg}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_rows_stay_right_when_others_compact_the_tables_between_runs(
    form: str, ring: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "lake"
    for path, mode in zip((*ring, ring[0]), ("resume", "resume", "resume", "append"), strict=True):
        piped(path, out=out, mode=mode, lint=True, file_format=form, partition_by=("date",))
        piped(path, out=tmp_path / "parquet", mode=mode, lint=True)
        assert_same(form, out, tmp_path / "parquet")
        for name in TABLES:
            COMPACTED[form](f"{out}/{name}")
        assert_same(form, out, tmp_path / "parquet")
    with connected() as session:
        read = session.tables(out)
        for name in TABLES:
            assert read[name].count_rows() == len(tables(tmp_path / "parquet")[name]), "what a report reads"


def test_what_others_delete_stays_deleted_and_a_column_that_others_add_stays(ring: list[Path], tmp_path: Path) -> None:
    from deltalake import DeltaTable, Field

    out = tmp_path / "lake"
    piped(ring[0], out=out, mode="resume", file_format="delta")
    DeltaTable(f"{out}/packets").delete("type = 'PUBLISH'")
    DeltaTable(f"{out}/packets").alter.add_columns([Field("plant", "string")])
    piped(ring[1], out=out, mode="resume", file_format="delta")
    rows = DeltaTable(f"{out}/packets").to_pyarrow_table()
    assert set(rows["plant"].to_pylist()) == {None}
    piped(*ring[:2], out=tmp_path / "parquet")
    expected = [
        row for row in tables(tmp_path / "parquet")["packets"] if row["type"] != "PUBLISH" or "-001" in row["capture"]
    ]
    assert 0 < rows.num_rows == len(expected) < len(tables(tmp_path / "parquet")["packets"])


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_a_commit_is_tried_again_if_others_compact_the_table_at_the_same_time(
    form: str, ring: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deltalake import DeltaTable
    from pyiceberg.table import Table

    ways: dict[str, tuple[Any, str, Callable[[Any], str], Callable[[str], None]]] = {
        "delta": (DeltaTable, "create_write_transaction", lambda log: log.table_uri, joined_delta),
        "iceberg": (Table, "transaction", lambda log: log.location(), joined_iceberg),
    }
    kind, name, place_of, join = ways[form]
    write, overtaken = getattr(kind, name), set[str]()

    def write_later(log: Any, *args: Any, **options: Any) -> Any:
        if (place := place_of(log)) not in overtaken:
            overtaken.add(place)
            join(place)
        return write(log, *args, **options)

    out = tmp_path / "lake"
    for path in ring:
        if path == ring[2]:
            monkeypatch.setattr(kind, name, write_later)
        piped(path, out=out, mode="resume", lint=True, file_format=form, partition_by=("date",))
        piped(path, out=tmp_path / "parquet", mode="resume", lint=True)
    assert len(overtaken) == len(TABLES)
    assert_same(form, out, tmp_path / "parquet")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_what_a_log_cannot_change_is_refused(form: str, ring: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "lake"
    piped(ring[0], out=out, file_format=form, partition_by=("type",))
    words = f"has {form} tables partitioned by type, and their log cannot change that: choose the same, or a new folder"
    for options in ({"file_format": form}, {"file_format": "parquet", "partition_by": ("type",)}):
        with pytest.raises(OutputRefused, match=words):
            piped(ring[0], out=out, mode="overwrite", **options)
    with pytest.raises(OutputRefused, match=f"were made with --format {form}, and new rows must match them"):
        piped(ring[1], out=out, mode="append")


def test_a_table_whose_columns_others_dropped_is_refused(ring: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "lake"
    piped(ring[0], out=out, mode="resume", file_format="iceberg")
    with iceberg_log(f"{out}/packets") as log, log.update_schema() as changes:
        changes.delete_column("error")
    with pytest.raises(
        LakeError, match=r"the log of packets at .* lacks the column error, which mqttpub writes: add it"
    ):
        piped(ring[1], out=out, mode="resume", file_format="iceberg")


def test_parquet_tables_can_be_replaced_by_tables_with_a_log(ring: list[Path], tmp_path: Path) -> None:
    piped(ring[0], out=tmp_path / "lake")
    piped(ring[1], out=tmp_path / "parquet", lint=True)
    piped(ring[1], out=tmp_path / "lake", mode="overwrite", lint=True, file_format="delta", partition_by=("date",))
    assert_same("delta", tmp_path / "lake", tmp_path / "parquet")


def test_wrong_catalogs_are_refused(ring: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(out: Path, words: str) -> None:
        with pytest.raises(LakeError, match=words):
            piped(ring[0], out=out, file_format="iceberg")
        assert not out.exists()

    refused(tmp_path / "a-b", "the namespace of the tables, and 'a-b' is not of letters, digits and underscores")
    piped(ring[0], out=tmp_path / "lake", file_format="iceberg")
    refused(tmp_path / "other" / "lake", r"the catalog has a table lake.packets already, at file://.*/lake/packets")
    monkeypatch.delenv("PYICEBERG_CATALOG__DEFAULT__URI")
    reset()
    refused(tmp_path / "b", "needs a catalog: PYICEBERG_CATALOG__DEFAULT__URI names one, or ~/.pyiceberg.yaml")
    monkeypatch.setenv("PYICEBERG_CATALOG__DEFAULT__URI", f"sqlite:///{tmp_path}/none/catalog.db")
    reset()
    refused(tmp_path / "b", "^the iceberg log of packets cannot be read: .*unable to open database file")
    monkeypatch.setattr(logs, "missing", lambda *packages: list(packages))
    refused(tmp_path / "b", r"^--format iceberg needs pyiceberg: (uv )?pip install 'mqttpub\[iceberg\]'$")
