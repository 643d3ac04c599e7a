"""The manifest knows sources that come again, and survives JSON."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mqttpub.spark.pipeline.job import TableFile
from mqttpub.spark.pipeline.manifest import KnownSources, Manifest, OutputRefused, SourceRecord
from mqttpub.spark.pipeline.sources import Source
from mqttpub.spark.storage.folder import StorageFolder


def known_of(*taken: SourceRecord) -> KnownSources:
    return KnownSources.of(taken)


def test_a_source_is_known_whole_grown_and_shrunk() -> None:
    first, second = (
        SourceRecord("a", 70_000, 65_536, "d", "1", 30, stamp=7, first="f"),
        SourceRecord("a", 90_000, 65_536, "d", "2", 40, stamp=7, first="f"),
    )
    known = known_of(first, second)

    def taken(size: int, digest: str = "d", stamp: int | None = 7, frame: str = "f") -> SourceRecord | None:
        return known.taken(Source("a", "", size, stamp=stamp, head=min(size, 65_536), digest=digest, first=frame))

    assert taken(90_000) == taken(95_000) == taken(80_000) == taken(66_000) == second
    # What is shorter than what was looked at is known by its first record.
    assert taken(500, "short") == second
    assert taken(500, "short", frame="other") is None
    assert taken(500, "short", 8) is taken(500, "short", None) is taken(90_000, "other") is None


def test_a_source_without_records_is_known_by_all_of_it() -> None:
    known = known_of(SourceRecord("a", 24, 24, "d", "1"))
    same = Source("b", "", 24, head=24, digest="d")
    assert known.taken(same) == known[0]
    assert known.taken(same._replace(size=90, head=90)) is known.taken(same._replace(digest="e")) is None
    # What a text begins with is of its own.
    assert known.taken(same._replace(size=90, capture=False)) == known[0]


def test_an_entry_without_records_does_not_hide_a_source() -> None:
    read, left = (
        SourceRecord("a", 100, 100, "d", "1", 30, stamp=7),
        SourceRecord("a", 200, 100, "d", "2", 0, "only with --resume"),
    )
    assert known_of(read, left).taken(Source("a", "", 200, head=100, digest="d")) == read


def test_thousands_of_sources_are_looked_up_among_thousands(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Counter[str]()

    def same_beginning(source: Source, head: int, digest: str) -> bool:
        looked[digest] += 1
        return True

    monkeypatch.setattr("mqttpub.spark.pipeline.manifest.same_beginning", same_beginning)
    known = known_of(*(SourceRecord(f"{n}", 500 + n, 500 + n, "d", "1", 3, stamp=n) for n in range(3_000)))
    for number in range(3_000):
        assert known.taken(Source("a", "", 9_000, stamp=number, head=9_000)) == known[number]
    assert looked == {"d": 3_000}


def test_it_survives_json() -> None:
    whole = Manifest(runs=({"run": "1"},), sources="s", parts=(TableFile("t", "p", 1, 2, True),), states=("t",))
    assert Manifest.of(json.loads(json.dumps(whole.dumps()))) == whole


def test_sources_survive_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqttpub.spark.pipeline.manifest.BLOCK", 2)
    records = [SourceRecord("ü", 1, 2, "d", "1", 3, "p", 1 << 60, "f", True, 4, "00ff", True)]
    records += [SourceRecord(str(number), 1, 2, "e", "2") for number in range(4)]
    KnownSources.of(records[:2]).joined(KnownSources.of(records[2:])).write(StorageFolder(tmp_path), "x")
    found = KnownSources.named(StorageFolder(tmp_path), Manifest(sources="x"))
    assert [*found] == records
    assert [*found.first(3)] == records[:3]
    assert (found.names()[:2], found.runs) == (["ü", "0"], {"1", "2"})


@pytest.mark.parametrize("change", [lambda data: data[:-9], lambda data: data.replace(b"ring", b"rung"), None])
def test_a_file_of_sources_that_is_broken_is_reported(change: Callable[[bytes], bytes] | None, tmp_path: Path) -> None:
    KnownSources.of([SourceRecord("ring", 1, 2, "d", "1")]).write(StorageFolder(tmp_path), "x")
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").unlink()
    if change:
        assert change(data) != data
        (tmp_path / "x").write_bytes(change(data))
    with pytest.raises(OutputRefused, match=r"cannot read .*x: .*; --mode overwrite reads all captures again"):
        KnownSources.named(StorageFolder(tmp_path), Manifest(sources="x"))
