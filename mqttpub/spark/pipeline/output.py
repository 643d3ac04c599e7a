"""The folder of tables during a run, which becomes visible completely or not at all.

What counts is the manifest, one object. On this machine tasks write under `_staging-RUN/`, which readers
of Parquet folders ignore. When all are done the driver writes the journal `_commit.json`, which lists every
rename and removal: from that moment the run counts, and where the driver was stopped, the next run completes
it. Object stores cannot rename, so there tasks write files under their final names, of which nobody knows
before the manifest names them; it is replaced on condition that no other run did. Files that no manifest
names are removed after the next commit.

The logs of Delta and Iceberg tables follow the manifest one by one: each shows a run completely or not at all, but
a run that is stopped in between is in some of them only, until the next run on the folder has written the others.
A log gets what a run adds and replaces, and is otherwise left to whoever else writes to it.
"""

import errno
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...common.files import replace_whole
from ..lake.content import OPEN, LoggedFile, LoggedRun, LoggedTable
from ..lake.logs import LOGGED, LogNotWritten, follow
from ..storage.files import BadLocation, reason
from ..storage.folder import StorageFolder
from ..storage.lock import LOCK, FolderLock, FolderLocked, locked
from ..storage.objects import ObjectChanged, StoredObject
from .checkpoint import StateError
from .job import STATE, TableFile, TaskResult
from .manifest import MANIFEST, SHARED, KnownSources, Manifest, OutputRefused, check_inside, read_object
from .states import check
from .tables import SCHEMAS
from .writers import DERIVED, dividing, partition_values

JOURNAL = "_commit.json"
STAGING = "_staging-"
DRAFTS = (f"{MANIFEST}.new", f"{JOURNAL}.new")
_OURS = re.compile(rf"({STATE}/|[a-z]+/(.*/)?(part|open)-)[0-9]{{8}}T[0-9]{{6}}-[0-9a-f]{{6}}-[^/]+")
"""Names of files that tasks write."""
_RUN = re.compile(r"/(?:part|open)-([0-9]{8}T[0-9]{6}-[0-9a-f]{6})-[^/]+$")
"""The name of the run in one of them."""


class LogsOutdated(RuntimeError):
    """The manifest has a run that the log of a table does not show yet; the message is one sentence."""

    status = 74


class Output:
    """A folder of tables, for one run; open it with `opened`."""

    def __init__(self, folder: StorageFolder, run: str, lock: FolderLock) -> None:
        self.folder = folder
        self.run = run
        self.before = Manifest()
        """The manifest before the run."""
        self._lock = lock
        self._seen: StoredObject | None = None

    @cached_property
    def known(self) -> KnownSources:
        """The sources that are in the tables before the run; raises OutputRefused."""
        return KnownSources.named(self.folder, self.before)

    @property
    def staging(self) -> str:
        """The path or URL below which tasks write files, with the names that they have in the manifest."""
        return self.folder.place(f"{STAGING}{self.run}") if self.folder.is_local else self.folder.name

    def begin(self, mode: str) -> None:
        """Read what is there; raises OutputRefused where the mode does not allow tables in the folder."""
        self._seen = self.folder.stored(MANIFEST)
        if self._seen is None:
            _check_empty(self.folder)
            return
        if mode == "error":
            raise OutputRefused(f"{self.folder} already holds tables; choose --mode overwrite or append, or --resume")
        place = self.folder.place(MANIFEST)
        self.before = Manifest.of(read_object(self._seen.data, place), place)
        if not self.folder.is_local:
            # The last run may have been stopped in between; in a local folder the journal says so.
            _follow(self.folder, self.before)
        if mode == "resume":
            _check_states(self.folder, self.before)

    def commit(
        self, rows: Iterable[TaskResult], after: Manifest, *, replaced: Iterable[TableFile] = (),
        known: KnownSources | None = None,
    ) -> Manifest:  # fmt: skip
        """Make the files of the tasks visible, remove those they replace, and return the new manifest.

        `after` is the manifest without the files of this run, whose states and parts come from `rows`, and `known` are
        the sources that are in the tables then, if these change. Raises OutputRefused if another run committed since
        this one began, or a file is not as its task wrote it.
        """
        rows = sorted(rows)
        gone = {part.path for part in replaced}
        joined = {name for row in rows for name in row.joined}
        states = [row.state for row in rows if row.state]
        # Without states, no later run replaces a file.
        parts = [
            part._replace(open=part.open and bool(states)) for row in rows for part in row.parts
            if part.path not in joined
        ]  # fmt: skip
        self._check_written(parts, states)
        after = replace(
            after, parts=(*(part for part in after.parts if part.path not in gone), *parts),
            states=tuple(states) or after.states,
        )  # fmt: skip
        if known is not None:
            after = replace(after, sources=f"{STATE}/{self.run}-sources")
            known.write(StorageFolder(self.staging), after.sources)
        dropped = [name for name in self.before.saved if name not in after.saved]
        if not _is_logged(after):
            dropped += gone
        if self.folder.is_local:
            new = [name for name in after.saved if name not in self.before.saved]
            self._rename([*(part.path for part in parts), *new], dropped, after)
        else:
            self._replace_manifest(after, joined)
        return after

    def _check_written(self, parts: list[TableFile], states: list[str]) -> None:
        """Raise OutputRefused where a file of a task is not here or differs: another machine may have it instead."""
        if not parts and not states:
            return
        found = StorageFolder(self.staging).files()
        for name, size in [*((part.path, part.bytes) for part in parts), *((name, None) for name in states)]:
            if name not in found or size not in (None, found[name]):
                raise OutputRefused(f"{self.folder.place(name)} is not here as a task wrote it; {SHARED}")

    def _rename(self, names: list[str], dropped: list[str], after: Manifest) -> None:
        """Write the journal, and do what it says."""
        staging = f"{STAGING}{self.run}"
        renames = [(f"{staging}/{name}", name) for name in names]
        journal = {"manifest": after.dumps(), "rename": renames, "remove": sorted(dropped)}
        _write(Path(self.folder.place(JOURNAL)), journal)
        _carry_out(Path(self.folder.name))

    def _replace_manifest(self, after: Manifest, joined: set[str]) -> None:
        """Replace the manifest if it still is what it was when the run began, and remove what it does not name.

        `joined` are files of this run that it does not name either, which the logs have never seen.
        """
        try:
            self._lock.check()
            self._seen = self.folder.swap(MANIFEST, _json(after.dumps()), self._seen)
        except FolderLocked as error:
            raise OutputRefused(f"{error}; nothing of this run is in the tables") from None
        except ObjectChanged:
            raise OutputRefused(
                f"another run committed to {self.folder} while this one ran; nothing of this run is in the tables"
            ) from None
        _follow(self.folder, after)
        # Only now: before, a run that was taken for dead could still have committed its files.
        kept = {*after.saved, *(part.path for part in after.parts)}
        ours = [name for name in self.folder.files() if _OURS.fullmatch(name) and name not in kept]
        if _is_logged(after):
            ours = [name for name in ours if name.startswith(f"{STATE}/") or name in joined]
        self.folder.remove(ours)


@contextmanager
def opened(place: str | os.PathLike[str], run: str, mode: str) -> Iterator[Output]:
    """Give a folder to write to, by its path or URL, locked for others; raises OutputRefused.

    `mode` is error (the folder must be empty), overwrite (tables of mqttpub are replaced), append or
    resume. Interrupted runs are completed or removed first.
    """
    try:
        folder = StorageFolder(place)
        if folder.is_local:
            with _opened_here(folder, run, mode) as output:
                yield output
            return
        with locked(folder, run) as lock:
            output = Output(folder, run, lock)
            output.begin(mode)
            yield output
    except FolderLocked as error:
        raise OutputRefused(str(error)) from None
    except BadLocation as error:
        raise OutputRefused(str(error)) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT) or (error.filename is None and folder.is_local):
            raise
        raise OutputRefused(f"cannot write to {error.filename or folder}: {reason(error)}") from None


@contextmanager
def _opened_here(folder: StorageFolder, run: str, mode: str) -> Iterator[Output]:
    path = Path(folder.name)
    path.mkdir(parents=True, exist_ok=True)
    if not any((path / name).exists() for name in (LOCK, JOURNAL, MANIFEST)):
        # mqttpub has never written here, so there is nothing to clean up.
        _check_empty(folder)
    with locked(folder, run) as lock:
        _carry_out(path)
        _clean(path)
        output = Output(folder, run, lock)
        output.begin(mode)
        Path(output.staging).mkdir()
        try:
            yield output
        finally:
            shutil.rmtree(output.staging, ignore_errors=True)
            _clean(path)


def _is_logged(manifest: Manifest) -> bool:
    """Return whether the tables have logs, to whose own maintenance all removals of files are left.

    Readers of an earlier version may need a file that a run replaced, and others may have replaced it before.
    """
    return bool(manifest.runs) and manifest.runs[-1].get("format") in LOGGED


def _follow(folder: StorageFolder, manifest: Manifest) -> None:
    """Bring the logs of the tables in line with a manifest, if their format has logs; raises LogsOutdated."""
    if not _is_logged(manifest):
        return
    last = manifest.runs[-1]
    try:
        for table in logged_tables(folder, last["divided"], manifest):
            follow(last["format"], table)
    except LogNotWritten as error:
        raise LogsOutdated(
            f"the run {last['run']} is in {folder.place(MANIFEST)}, but {error}; the next run on the folder writes it"
        ) from None


def logged_tables(folder: StorageFolder, partition_by: Sequence[str], manifest: Manifest) -> Iterator[LoggedTable]:
    """Yield the tables in a folder, with what a manifest tells their logs."""
    runs = tuple(LoggedRun(each["run"], each["number"], each["mode"]) for each in manifest.runs)
    for name, schema in SCHEMAS.items():
        divided = dividing(schema, partition_by)
        derived = [pa.field(each, DERIVED[each].type) for each in divided if each not in schema.names]
        place = folder.place(name) if not folder.is_local else os.path.abspath(folder.place(name))
        files = tuple(_logged(part, divided) for part in manifest.parts if part.table == name)
        whole = pa.schema([*schema, *derived, pa.field(OPEN, pa.bool_())])
        yield LoggedTable(name, place, whole, (*divided, OPEN), files, runs)


def _logged(part: TableFile, divided: Sequence[str]) -> LoggedFile:
    values = {**partition_values(part.path), OPEN: str(part.open).lower()}
    path, found = part.path.partition("/")[2], _RUN.search(part.path)
    assert found
    return LoggedFile(path, part.rows, part.bytes, tuple(values[name] for name in (*divided, OPEN)), found[1])


def _check_empty(folder: StorageFolder) -> None:
    """Raise OutputRefused for a folder with files of others; those of a run that was stopped do not count."""
    if folder.is_local:
        foreign = sorted(name for name in os.listdir(folder.name) if name != LOCK)
    else:
        foreign = sorted(name for name in folder.files() if not name.startswith(LOCK) and not _OURS.fullmatch(name))
    if foreign:
        raise OutputRefused(f"{folder} holds files that are not tables of mqttpub, such as {foreign[0]}")


def _check_states(folder: StorageFolder, manifest: Manifest) -> None:
    """Raise OutputRefused where a state of an earlier run is missing or changed."""
    try:
        check(map(folder.place, manifest.states))
    except StateError as error:
        raise OutputRefused(f"{error}; --mode overwrite reads everything again") from None


def _clean(folder: Path) -> None:
    """Remove the files of runs that were stopped before their commit; no run is active, as the folder is locked."""
    for name in os.listdir(folder):
        if name.startswith(STAGING):
            shutil.rmtree(folder / name, ignore_errors=True)
        elif name in DRAFTS:
            (folder / name).unlink(missing_ok=True)


def _carry_out(folder: Path) -> None:
    """Complete the journal, if there is one; can be repeated from any point."""
    path = folder / JOURNAL
    if not path.exists():
        return
    journal = read_object(path.read_bytes(), path)
    try:
        manifest = Manifest.of(journal["manifest"], path)
        check_inside(path, [*(name for pair in journal["rename"] for name in pair), *journal["remove"]])
    except (TypeError, KeyError, AttributeError):
        raise OutputRefused(f"cannot read {path}: it is not a journal of mqttpub") from None
    for old, new in journal["rename"]:
        target = folder / new
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            os.replace(folder / old, target)
    _write(folder / MANIFEST, journal["manifest"])
    _follow(StorageFolder(folder), manifest)
    # Not before, as a reader may have the manifest or the log that names them.
    for name in journal["remove"]:
        (folder / name).unlink(missing_ok=True)
        _remove_empty(folder, (folder / name).parent)
    path.unlink()


def _remove_empty(folder: Path, place: Path) -> None:
    """Remove empty folders from `place` up to `folder`."""
    while place != folder:
        try:
            place.rmdir()
        except OSError:
            return
        place = place.parent


def _write(path: Path, value: dict[str, Any]) -> None:
    """Write JSON, as a whole or not at all."""
    replace_whole(path, _json(value), path.with_name(f"{path.name}.new"))


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()
