"""A run becomes visible completely or not at all, wherever it is interrupted."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mqttpub.spark.pipeline.checkpoint import dumps, load
from mqttpub.spark.pipeline.job import SourceResult, TableFile, TaskResult
from mqttpub.spark.pipeline.manifest import JOURNAL, MANIFEST, Manifest, Output, OutputRefused, SourceRecord, opened
from mqttpub.spark.pipeline.sources import Source

READS = (SourceResult(3),)


def stage(output: Output, bucket: int, text: str, *, table: str = "packets", open: bool = False) -> TaskResult:
    """Do what a task does."""
    path = f"{table}/type=A/{bucket}-99-x-0.parquet"
    (output.staging / path).parent.mkdir(parents=True, exist_ok=True)
    (output.staging / path).write_text(text)
    (output.staging / f"state-{bucket}").write_bytes(dumps(f"state {text}"))
    return TaskResult(bucket, (TableFile(table, path, 1, len(text), open),), READS, f"state-{bucket}")


def visible(folder: Path) -> list[str]:
    """Return the contents of the files that a reader of tables sees."""
    shown = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.read_text() for path in shown if not any(part[0] == "_" for part in path.parts))


def put(folder: Path, run: str, mode: str, *texts: str, open: bool = False) -> Manifest:
    """Write some files in one run."""
    with opened(folder, run, mode) as output:
        rows = [stage(output, bucket, text, open=open) for bucket, text in enumerate(texts)]
        keep = output.before if mode in ("append", "resume") else Manifest()
        gone = [part for part in output.before.parts if mode == "overwrite" or part.open]
        after = replace(keep, parts=output.before.parts, runs=(*keep.runs, {"run": run}), buckets=len(rows))
        return output.commit(rows, after, replaced=gone)


def test_nothing_is_visible_before_all_is(tmp_path: Path) -> None:
    with opened(tmp_path, "1", "error") as output:
        rows = [stage(output, 0, "a"), stage(output, 1, "b")]
        assert visible(tmp_path) == []
        after = output.commit(rows, Manifest(buckets=2))
        assert visible(tmp_path) == ["a", "b"]
    assert sorted(os.listdir(tmp_path)) == ["_lock", MANIFEST, "_state", "packets"]
    assert Manifest.load(tmp_path / MANIFEST) == after
    assert [load(tmp_path / name, str) for name in after.states] == ["state a", "state b"]
    assert after.rows() == {"packets": 2}


def test_values_that_no_row_refers_to_are_dropped(tmp_path: Path) -> None:
    with opened(tmp_path, "1", "error") as output:
        stage(output, 7, "of a task that was killed")
        output.commit([stage(output, 0, "a")], Manifest())
    assert visible(tmp_path) == ["a"]


def test_modes(tmp_path: Path) -> None:
    put(tmp_path, "1", "error", "a", "b")
    with pytest.raises(OutputRefused, match="already holds tables"):
        put(tmp_path, "2", "error", "c")
    assert visible(tmp_path) == ["a", "b"]
    put(tmp_path, "3", "append", "c")
    assert visible(tmp_path) == ["a", "b", "c"]
    put(tmp_path, "4", "overwrite", "d")
    assert visible(tmp_path) == ["d"]
    assert len(Manifest.load(tmp_path / MANIFEST).states) == 1
    assert len(list((tmp_path / "_state").iterdir())) == 1


@pytest.mark.parametrize("name", ["mine.txt", "_staging-mine/mine.txt", f"{MANIFEST}.new"])
def test_files_of_others_are_not_touched(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    for mode in ("error", "overwrite", "append", "resume"):
        with pytest.raises(OutputRefused, match=f"not tables of mqttpub, such as {re.escape(name.partition('/')[0])}"):
            put(tmp_path, "1", mode, "a")
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]


def test_open_files_are_replaced(tmp_path: Path) -> None:
    put(tmp_path, "1", "resume", "a", open=True)
    put(tmp_path, "2", "resume", "b", open=True)
    assert visible(tmp_path) == ["b"]


def test_files_without_a_state_are_not_replaced(tmp_path: Path) -> None:
    put(tmp_path, "1", "resume", "a", open=True)
    with opened(tmp_path, "2", "append") as output:
        row = stage(output, 0, "b", open=True)._replace(state="")
        after = output.commit([row], output.before)
    assert [(part.rows, part.open) for part in after.parts] == [(1, True), (1, False)]
    put(tmp_path, "3", "resume", "c", open=True)
    assert visible(tmp_path) == ["b", "c"]


def test_a_full_disk_is_not_reported_as_a_refused_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "x")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        put(tmp_path, "1", "error", "a")


class Killed(BaseException):
    """Stands for the end of the process."""


def kill_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Callable[[], int]:
    """Let the process end at the n-th change of the file system; return how many there were."""
    count = 0

    def counted(real: Callable[..., None]) -> Callable[..., None]:
        def change(*given: object, **more: object) -> None:
            nonlocal count
            count += 1
            if count == number:
                raise Killed
            real(*given, **more)

        return change

    monkeypatch.setattr(os, "replace", counted(os.replace))
    monkeypatch.setattr(Path, "unlink", counted(Path.unlink))
    # A process that is killed cleans nothing up.
    monkeypatch.setattr(shutil, "rmtree", lambda *given, **more: None)
    return lambda: count


@pytest.mark.parametrize("mode", ["overwrite", "resume"])
def test_killed_at_any_moment_the_run_is_there_or_not(tmp_path: Path, mode: str) -> None:
    number, seen = 0, set()
    while True:
        number += 1
        folder = tmp_path / str(number)
        put(folder, "1", "error", "a", "b", open=True)
        with pytest.MonkeyPatch.context() as patch:
            changes = kill_at(patch, number)
            try:
                put(folder, "2", mode, "c", "d", "e", open=True)
            except Killed:
                pass
            else:
                assert changes() < number
                break
        with opened(folder, "3", "append") as output:
            parts = output.before.parts
        shown = visible(folder)
        assert shown in (["a", "b"], ["c", "d", "e"])
        assert sorted((folder / part.path).read_text() for part in parts) == shown
        assert all(name[0] != "_" or name in ("_lock", MANIFEST, "_state") for name in os.listdir(folder))
        seen.add(len(shown))
    assert seen == {2, 3}


def test_two_runs_do_not_write_at_once(tmp_path: Path) -> None:
    with (
        opened(tmp_path, "1", "error"),
        pytest.raises(OutputRefused, match="another run writes"),
        opened(tmp_path, "2", "error"),
    ):
        pass


def test_a_write_error_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputRefused, match=r"cannot write to .*file"), opened(tmp_path / "file" / "out", "1", "error"):
        pass


WHOLE: dict[str, Any] = {"layout": 2, "runs": [], "sources": [], "parts": [], "states": []}
PART = {"table": "packets", "path": "packets/a", "rows": 1, "bytes": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot read .*_manifest.json: Expecting"),
        ("[]", "cannot read .*: it holds no JSON object"),
        ("\xff", "cannot read .*: 'utf-8' codec"),
        ('{"layout": 0}', "was written by another version of mqttpub; write to a new folder"),
        ('{"layout": 2}', "cannot read .*: it is not a manifest of mqttpub"),
        (json.dumps(WHOLE | {"parts": ["x"]}), "it is not a manifest of mqttpub"),
        (json.dumps(WHOLE | {"parts": 3}), "it is not a manifest of mqttpub"),
        (json.dumps(WHOLE | {"sources": [{}]}), "it is not a manifest of mqttpub"),
        (json.dumps(WHOLE | {"more": 1}), "it is not a manifest of mqttpub"),
        (json.dumps(WHOLE | {"parts": [PART | {"path": "/etc/passwd"}]}), "names a file outside of its folder: /etc"),
        (json.dumps(WHOLE | {"states": ["_state/../../x"]}), "names a file outside of its folder"),
    ],
)
def test_a_broken_manifest_is_reported(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(OutputRefused, match=words):
        put(tmp_path, "1", "append", "a")
    assert visible(tmp_path) == []


@pytest.mark.parametrize(
    ("journal", "words"),
    [
        ("{", "cannot read .*_commit.json: Expecting"),
        ("{}", "cannot read .*: it is not a journal of mqttpub"),
        (json.dumps({"manifest": WHOLE, "rename": [], "remove": 3}), "it is not a journal of mqttpub"),
        (json.dumps({"manifest": [], "rename": [], "remove": []}), "it is not a journal of mqttpub"),
        (json.dumps({"manifest": WHOLE, "rename": [], "remove": ["../victim"]}), "names a file outside of its folder"),
        (json.dumps({"manifest": WHOLE, "rename": [["../victim", "a"]], "remove": []}), "names a file outside"),
        (json.dumps({"manifest": WHOLE, "rename": [["a", "/b"]], "remove": []}), "names a file outside"),
    ],
)
def test_a_broken_journal_is_reported_and_not_carried_out(tmp_path: Path, journal: str, words: str) -> None:
    folder, victim = tmp_path / "out", tmp_path / "victim"
    put(folder, "1", "error", "a")
    victim.write_text("mine")
    (folder / JOURNAL).write_text(journal)
    with pytest.raises(OutputRefused, match=words):
        put(folder, "2", "append", "b")
    assert (victim.read_text(), visible(folder)) == ("mine", ["a"])


# sources that come again


def known_of(*taken: SourceRecord) -> Manifest:
    return Manifest(sources=taken)


def test_a_source_is_known_whole_grown_and_shrunk() -> None:
    first, second = (
        SourceRecord("a", 70_000, 65_536, "d", "1", 30, stamp=7),
        SourceRecord("a", 90_000, 65_536, "d", "2", 40, stamp=7),
    )
    known = known_of(first, second)

    def taken(size: int, digest: str = "d", stamp: int | None = 7) -> SourceRecord | None:
        return known.taken(Source("a", "", size, stamp=stamp, head=min(size, 65_536), digest=digest))

    assert taken(90_000) == taken(95_000) == taken(80_000) == taken(66_000) == second
    # What is shorter than what was looked at is known by the time of its first record.
    assert taken(500, "short") == second
    assert taken(500, "short", 8) is taken(500, "short", None) is taken(90_000, "other") is None


def test_a_source_without_records_is_known_by_all_of_it() -> None:
    known = known_of(SourceRecord("a", 24, 24, "d", "1"))
    same = Source("b", "", 24, head=24, digest="d")
    assert known.taken(same) == known.sources[0]
    assert known.taken(same._replace(size=90, head=90)) is known.taken(same._replace(digest="e")) is None
    # What a text begins with is of its own.
    assert known.taken(same._replace(size=90, capture=False)) == known.sources[0]


def test_an_entry_without_records_does_not_hide_a_source() -> None:
    read, left = (
        SourceRecord("a", 100, 100, "d", "1", 30, stamp=7),
        SourceRecord("a", 200, 100, "d", "2", 0, "only with --resume"),
    )
    assert known_of(read, left).taken(Source("a", "", 200, head=100, digest="d")) == read


def test_it_survives_json() -> None:
    whole = Manifest(
        runs=({"run": "1"},), sources=(SourceRecord("a", 1, 2, "d", "1", 3, "p", 4),),
        parts=(TableFile("t", "p", 1, 2, True),),
        buckets=2, states=("s",),
    )  # fmt: skip
    assert Manifest.of(json.loads(json.dumps(whole.dumps()))) == whole
