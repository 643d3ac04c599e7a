"""The folder of tables: a run becomes visible completely or not at all.

Tasks write under `_staging-RUN/`. When all are done the driver writes the journal `_commit.json`,
which lists every rename and removal: from that moment the run counts, and where the driver was
stopped, the next run on the folder completes the journal. Names that begin with `_` are invisible
to Spark and to other readers of Parquet folders.
"""

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from ...common.files import replace_whole
from .checkpoint import StateError
from .job import TableFile, TaskResult
from .sources import Source, same_beginning
from .states import check

MANIFEST, JOURNAL, LOCK, STATE = "_manifest.json", "_commit.json", "_lock", "_state"
STAGING = "_staging-"
SHARED = "the folder of --out must be shared by this machine and all tasks"
DRAFTS = (f"{MANIFEST}.new", f"{JOURNAL}.new")
LAYOUT = 2
"""Changes when runs can no longer add to folders of earlier versions."""


class OutputRefused(ValueError):
    """The output folder does not allow this run; the message is one sentence."""

    status = 2


class SourceRecord(NamedTuple):
    """A source that is in the tables. The manifest holds these fields by name."""

    name: str
    size: int
    head: int
    digest: str
    run: str
    records: int = 0
    problem: str = ""
    stamp: int | None = None
    """Time of the first record, in nanoseconds since 1970."""


@dataclass(frozen=True)
class Manifest:
    """The tables, sources and states of a folder, and the runs that wrote them."""

    layout: int = LAYOUT
    runs: tuple[dict[str, Any], ...] = ()
    sources: tuple[SourceRecord, ...] = ()
    parts: tuple[TableFile, ...] = ()
    states: tuple[str, ...] = ()
    """The files of the state, which `states` describes."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings that must be the same in all runs."""

    @classmethod
    def load(cls, path: Path) -> "Manifest":
        """Read a manifest; raises OutputRefused."""
        return cls.of(_read_object(path), path)

    @classmethod
    def of(cls, values: dict[str, Any], path: Path = Path(MANIFEST)) -> "Manifest":
        """Return the manifest in a JSON object; raises OutputRefused for another layout or another kind of object."""
        if values.get("layout") != LAYOUT:
            raise OutputRefused(f"{path.parent} was written by another version of mqttpub; write to a new folder")
        try:
            values = {**values, "runs": tuple(values["runs"]), "states": tuple(values["states"])}
            values["sources"] = tuple(SourceRecord(**each) for each in values["sources"])
            values["parts"] = tuple(TableFile(**each) for each in values["parts"])
            made = cls(**values)
        except (TypeError, KeyError):
            raise OutputRefused(f"cannot read {path}: it is not a manifest of mqttpub") from None
        _check_inside(path, [*made.states, *(part.path for part in made.parts)])
        return made

    def dumps(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        values = asdict(self)
        values["sources"] = [each._asdict() for each in self.sources]
        values["parts"] = [each._asdict() for each in self.parts]
        return values

    def rows(self, run: str = "") -> dict[str, int]:
        """Return the number of rows of each table."""
        counts: dict[str, int] = {}
        for part in self.parts:
            if run in part.path:
                counts[part.table] = counts.get(part.table, 0) + part.rows
        return counts

    def taken(self, source: Source) -> SourceRecord | None:
        """Return the entry of a source that is in the tables, whether or not its size has changed; None for a new one.

        Of several entries it is that with the most records.
        """
        same = [each for each in self.sources if each.head and _is_same(source, each)]
        return max(same, key=lambda each: (each.records, each.size), default=None)


def _is_same(source: Source, taken: SourceRecord) -> bool:
    """Return whether a source begins like a recorded one, or is the beginning of it."""
    if source.capture and not taken.records and taken.stamp is None:
        # The heads of empty captures of one format are all equal.
        return (source.size, source.digest) == (taken.size, taken.digest)
    if source.size >= taken.size:
        return same_beginning(source, taken.head, taken.digest)
    if source.head == taken.head:
        return source.digest == taken.digest
    return source.stamp is not None and source.stamp == taken.stamp


class Output:
    """A folder of tables, for one run; open it with `opened`."""

    def __init__(self, folder: Path, run: str) -> None:
        self.folder = folder
        self.run = run
        self.before = Manifest()
        """The manifest before the run."""

    @property
    def staging(self) -> Path:
        """Where tasks write."""
        return self.folder / f"{STAGING}{self.run}"

    def commit(self, rows: Iterable[TaskResult], after: Manifest, *, replaced: Iterable[TableFile] = ()) -> Manifest:
        """Make the files of the tasks visible, remove those they replace, and return the new manifest.

        `after` is the manifest without the files of this run, whose states and parts come from `rows`.
        """
        rows = list(rows)
        renames = [(part, self._committed(row, number, part)) for number, row in enumerate(rows) for part in row.parts]
        states = [(row.state, f"{STATE}/{self.run}-{number}") for number, row in enumerate(rows) if row.state]
        gone = {part.path for part in replaced}
        self._check_staged(rows)
        after = replace(
            after,
            parts=(*(part for part in after.parts if part.path not in gone), *(new for _, new in renames)),
            states=tuple(name for _, name in states) or after.states,
        )
        moves = [(old.path, new.path) for old, new in renames] + states
        dropped = [*gone, *(name for name in self.before.states if name not in after.states)]
        journal = {
            "manifest": after.dumps(),
            "rename": [(f"{self.staging.name}/{old}", new) for old, new in moves],
            "remove": sorted(dropped),
        }
        _write(self.folder / JOURNAL, journal)
        _carry_out(self.folder)
        return after

    def _check_staged(self, rows: Iterable[TaskResult]) -> None:
        """Raise OutputRefused where a file of a task is not here or differs: another machine may have it instead."""
        for row in rows:
            sizes: list[tuple[str, int | None]] = [(part.path, part.bytes) for part in row.parts]
            for name, size in [*sizes, *((row.state, None),) * bool(row.state)]:
                path = self.staging / name
                if not path.is_file() or size not in (None, path.stat().st_size):
                    raise OutputRefused(f"{path} is not here as a task wrote it; {SHARED}")

    def _committed(self, row: TaskResult, task: int, part: TableFile) -> TableFile:
        """Return a file with its final name; without a state, no later run replaces it."""
        return part._replace(path=self._visible(task, part), open=part.open and bool(row.state))

    def _visible(self, task: int, part: TableFile) -> str:
        """Return the final name of a file, without the tag of the task's attempt."""
        path = Path(part.path)
        kind = "open" if part.open else "part"
        number = path.stem.rsplit("-", 1)[-1]
        return (path.parent / f"{kind}-{self.run}-{task:05}-{number}{path.suffix}").as_posix()


@contextmanager
def opened(folder: Path, run: str, mode: str) -> Iterator[Output]:
    """Give a folder to write to, locked for others; raises OutputRefused.

    `mode` is error (the folder must be empty), overwrite (tables of mqttpub are replaced), append or
    resume. Interrupted runs are completed or removed first.
    """
    output = Output(folder, run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not any((folder / name).exists() for name in (LOCK, JOURNAL, MANIFEST)):
            # mqttpub has never written here, so there is nothing to clean up.
            _check_empty(folder)
        with _locked(folder):
            _carry_out(folder)
            _clean(folder)
            output.before = _before(folder, mode)
            output.staging.mkdir()
            try:
                yield output
            finally:
                shutil.rmtree(output.staging, ignore_errors=True)
                _clean(folder)
    except OSError as error:
        if error.filename is None or error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise OutputRefused(f"cannot write to {error.filename}: {error.strerror}") from None


def _before(folder: Path, mode: str) -> Manifest:
    """Return the manifest of a folder; raises OutputRefused where the mode does not allow tables in it."""
    path = folder / MANIFEST
    if path.exists():
        if mode == "error":
            raise OutputRefused(f"{folder} already holds tables; choose --mode overwrite or append, or --resume")
        made = Manifest.load(path)
        if mode == "resume":
            _check_states(folder, made)
        return made
    _check_empty(folder)
    return Manifest()


def _check_empty(folder: Path) -> None:
    """Raise OutputRefused for a folder with other files."""
    foreign = sorted(name for name in os.listdir(folder) if name != LOCK)
    if foreign:
        raise OutputRefused(f"{folder} holds files that are not tables of mqttpub, such as {foreign[0]}")


def _check_states(folder: Path, manifest: Manifest) -> None:
    """Raise OutputRefused where a state of an earlier run is missing or changed."""
    try:
        for name in manifest.states:
            check(folder / name)
    except StateError as error:
        raise OutputRefused(f"{error}; --mode overwrite reads everything again") from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other runs out; the lock ends with the process, however that ends."""
    path = folder / LOCK
    # Appending leaves a foreign file of this name unchanged.
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputRefused(f"another run writes to {folder}") from None
        yield


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
    journal = _read_object(path)
    try:
        Manifest.of(journal["manifest"], path)
        _check_inside(path, [*(name for pair in journal["rename"] for name in pair), *journal["remove"]])
    except (TypeError, KeyError, AttributeError):
        raise OutputRefused(f"cannot read {path}: it is not a journal of mqttpub") from None
    for old, new in journal["rename"]:
        target = folder / new
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            os.replace(folder / old, target)
    for name in journal["remove"]:
        (folder / name).unlink(missing_ok=True)
        _remove_empty(folder, (folder / name).parent)
    _write(folder / MANIFEST, journal["manifest"])
    path.unlink()


def _read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; raises OutputRefused."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OutputRefused(f"cannot read {path}: {error}") from None
    if not isinstance(value, dict):
        raise OutputRefused(f"cannot read {path}: it holds no JSON object")
    return value


def _check_inside(path: Path, names: Iterable[str]) -> None:
    """Raise OutputRefused for names outside of the folder, since files of these names are moved and removed."""
    for name in map(PurePath, names):
        if name.is_absolute() or ".." in name.parts:
            raise OutputRefused(f"{path} names a file outside of its folder: {name}")


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
    replace_whole(path, json.dumps(value, indent=1).encode(), path.with_name(f"{path.name}.new"))
