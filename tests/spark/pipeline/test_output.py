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

from mqttpub.spark.pipeline import states
from mqttpub.spark.pipeline.checkpoint import dumps, loads
from mqttpub.spark.pipeline.job import SourceResult, TableFile, TaskResult
from mqttpub.spark.pipeline.manifest import MANIFEST, Manifest, OutputRefused
from mqttpub.spark.pipeline.output import JOURNAL, Output, opened
from mqttpub.spark.storage import lock
from mqttpub.spark.storage.folder import StorageFolder
from tests.build.object_store import ObjectStore

READS = ((0, 1, SourceResult(3)),)


RUN = "20260131T000000-00000{}"


def stage(output: Output, bucket: int, text: str, *, open: bool = False) -> TaskResult:
    """Do what a task does."""
    folder, tag = StorageFolder(output.staging), f"{RUN.format(output.run)}-{bucket}-99-x"
    path, state = f"packets/type=A/{'open' if open else 'part'}-{tag}-0.parquet", f"_state/{tag}"
    with folder.create(path) as file:
        file.write(text.encode())
    saved = states.StateFile(folder, state)
    saved.add(bucket, dumps(f"state {text}"))
    saved.close()
    return TaskResult(tag, (TableFile("packets", path, 1, len(text), open),), READS, state)


def visible(folder: Path) -> list[str]:
    """Return the contents of the files that a reader of tables sees."""
    shown = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.read_text() for path in shown if not any(part[0] == "_" for part in path.parts))


def put(folder: Path | str, run: str, mode: str, *texts: str, open: bool = False) -> Manifest:
    """Write some files in one run."""
    with opened(folder, run, mode) as output:
        rows = [stage(output, bucket, text, open=open) for bucket, text in enumerate(texts)]
        keep = output.before if mode in ("append", "resume") else Manifest()
        gone = [part for part in output.before.parts if mode == "overwrite" or (mode == "resume" and part.open)]
        after = replace(keep, parts=output.before.parts, runs=(*keep.runs, {"run": run}))
        return output.commit(rows, after, replaced=gone)


def test_nothing_is_visible_before_all_is(tmp_path: Path) -> None:
    with opened(tmp_path, "1", "error") as output:
        rows = [stage(output, 0, "a"), stage(output, 1, "b")]
        assert visible(tmp_path) == []
        after = output.commit(rows, Manifest())
        assert visible(tmp_path) == ["a", "b"]
    assert sorted(os.listdir(tmp_path)) == ["_lock", MANIFEST, "_state", "packets"]
    assert Manifest.load(tmp_path / MANIFEST) == after
    saved = [each for name in after.states for each in states.read(str(tmp_path / name))]
    assert [(bucket, loads(state)) for bucket, state in saved] == [(0, "state a"), (1, "state b")]
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


WHOLE: dict[str, Any] = {"layout": 3, "runs": [], "sources": "", "parts": [], "states": []}
PART = {"table": "packets", "path": "packets/a", "rows": 1, "bytes": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot read .*_manifest.json: Expecting"),
        ("[]", "cannot read .*: it holds no JSON object"),
        ("\xff", "cannot read .*: 'utf-8' codec"),
        ('{"layout": 0}', "was written by another version of mqttpub: read the captures again, into a new folder"),
        ('{"layout": 3}', "cannot read .*: it is not a manifest of mqttpub"),
        (json.dumps(WHOLE | {"parts": ["x"]}), "it is not a manifest of mqttpub"),
        (json.dumps(WHOLE | {"parts": 3}), "it is not a manifest of mqttpub"),
        (json.dumps(WHOLE | {"sources": [{}]}), "it is not a manifest of mqttpub"),
        (json.dumps(WHOLE | {"more": 1}), "it is not a manifest of mqttpub"),
        (json.dumps(WHOLE | {"parts": [PART | {"path": "/etc/passwd"}]}), "names a file outside of its folder: /etc"),
        (json.dumps(WHOLE | {"states": ["_state/../../x"]}), "names a file outside of its folder"),
        (json.dumps(WHOLE | {"sources": "../x"}), "names a file outside of its folder"),
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


# object stores


@pytest.fixture
def url(s3: str) -> str:
    return f"{s3}/fleet/tables"


def named(place: str) -> list[str]:
    """Return the contents of the files that the manifest names."""
    folder = StorageFolder(place)
    found = folder.stored(MANIFEST)
    parts = Manifest.of(json.loads(found.data)).parts if found else ()
    return sorted(folder.read(part.path).decode() for part in parts)


def test_modes_keep_their_promises_on_s3(url: str) -> None:
    put(url, "1", "error", "a", "b")
    with pytest.raises(OutputRefused, match=f"{url} already holds tables"):
        put(url, "2", "error", "c")
    assert named(url) == ["a", "b"]
    put(url, "3", "append", "c")
    assert named(url) == ["a", "b", "c"]
    put(url, "4", "overwrite", "d")
    assert named(url) == ["d"]
    put(url, "5", "resume", "e", open=True)
    put(url, "6", "resume", "f", open=True)
    assert named(url) == ["d", "f"]
    # Nothing is left of what was replaced, and nobody holds the lock.
    assert len(StorageFolder(url).files()) == 4


def test_files_of_others_are_not_touched_on_s3(s3: str, url: str, s3_server: ObjectStore) -> None:
    for name in ("mine.txt", "packets/mine.parquet", "_state/mine"):
        s3_server.put(s3[len("s3://") :], f"fleet/tables/{name}", b"mine")
        with pytest.raises(OutputRefused, match=f"holds files that are not tables of mqttpub, such as {name}"):
            put(url, "1", "overwrite", "a")
        StorageFolder(url).remove([name])
    put(url, "1", "error", "a")
    s3_server.put(s3[len("s3://") :], "fleet/tables/packets/mine.parquet", b"mine")
    put(url, "2", "overwrite", "b")
    assert StorageFolder(url).read("packets/mine.parquet") == b"mine"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["overwrite", "resume", "append"])
def test_killed_at_any_moment_the_run_is_in_s3_or_not(url: str, mode: str) -> None:
    number, seen = 0, set()
    while True:
        number += 1
        place = f"{url}-{number}"
        put(place, "1", "error", "a", "b", open=True)
        with pytest.MonkeyPatch.context() as patch:
            changes = kill_in_store(patch, number)
            try:
                put(place, "2", mode, "c", "d", "e", open=True)
            except Killed:
                pass
            else:
                assert changes() < number
                break
        shown = named(place)
        assert shown in (["a", "b"], ["a", "b", "c", "d", "e"] if mode == "append" else ["c", "d", "e"])
        seen.add(len(shown))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lock, "_is_alive", lambda process: False)
            put(place, "3", "append", "z")
        assert named(place) == [*shown, "z"]
        # Whatever the killed run left is gone: manifest, tables, states.
        kept = StorageFolder(place).stored(MANIFEST)
        assert kept
        manifest = Manifest.of(json.loads(kept.data))
        assert set(StorageFolder(place).files()) == {
            MANIFEST, *manifest.states, *(part.path for part in manifest.parts),
        }  # fmt: skip
    assert len(seen) == 2


def kill_in_store(monkeypatch: pytest.MonkeyPatch, number: int) -> Callable[[], int]:
    """Let the process end at the n-th change of the store; return how many there were."""
    count = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*given: object, **more: object) -> Any:
            nonlocal count
            count += 1
            if count >= number:
                # From now on nothing is written, not even the release of the lock.
                raise Killed
            return real(*given, **more)

        return change

    for name in ("create", "swap", "_remove"):
        monkeypatch.setattr(StorageFolder, name, counted(getattr(StorageFolder, name)))
    return lambda: count


def test_of_two_runs_one_is_refused_at_once(url: str) -> None:
    with (
        opened(url, "1", "error"),
        pytest.raises(OutputRefused, match=f"another run writes to {url}: 1 on .*; if that was stopped"),
        opened(url, "2", "error"),
    ):
        pass


def slow_run(url: str, words: str, *, checks: bool = True) -> None:
    """Let a run be taken for dead, and another one commit before it does."""
    with opened(url, "2", "append") as slow:
        stage(slow, 0, "b")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lock, "_is_alive", lambda process: False)
            put(url, "3", "append", "c")
            if not checks:
                patch.setattr(lock._ObjectLock, "check", lambda self: None)
            # It wrote after the other one removed what it did not know.
            row = stage(slow, 0, "b")
            with pytest.raises(OutputRefused, match=words):
                slow.commit([row], slow.before)


def test_a_run_that_was_taken_for_dead_loses(url: str) -> None:
    put(url, "1", "error", "a")
    slow_run(url, r"another run took .*tables over.*nothing of this run is in the tables")
    assert named(url) == ["a", "c"]


def test_a_commit_just_before_that_of_another_run_is_kept(url: str) -> None:
    put(url, "1", "error", "a")
    slow_run(url, r"another run committed to .* while this one ran; nothing of this", checks=False)
    assert named(url) == ["a", "c"]


def test_a_file_that_a_task_did_not_finish_is_refused(url: str) -> None:
    with opened(url, "1", "error") as output:
        row = stage(output, 0, "a")
        StorageFolder(output.staging).remove([row.parts[0].path])
        with pytest.raises(OutputRefused, match="is not here as a task wrote it"):
            output.commit([row], Manifest())
    assert named(url) == []
