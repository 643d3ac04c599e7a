"""The folder of tables: tasks write beside them, the driver shows all at once or nothing.

Tasks write under `_staging-RUN/`. When all are done the driver writes `_commit.json`, which says
what becomes of every file: from that moment the run counts, and whoever opens the folder next
carries it out where the driver was stopped. Names that begin with `_` are invisible to Spark
and to everything else that reads a folder of Parquet.
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

from .checkpoint import StateError, check
from .replacing import replace_whole
from .sources import Source, same_beginning

MANIFEST, JOURNAL, LOCK, STATE = "_manifest.json", "_commit.json", "_lock", "_state"
STAGING = "_staging-"
SHARED = "the folder of --out has to be one that this machine and all tasks share"
DRAFTS = (f"{MANIFEST}.new", f"{JOURNAL}.new")
LAYOUT = 1
"""Changes when a folder of before can no longer be added to."""


class Refused(ValueError):
    """The output folder does not allow what was asked; the message is one sentence."""

    status = 2


class Part(NamedTuple):
    """A file that a task wrote."""

    table: str
    path: str
    """Below the staging folder as the task wrote it, below the folder of tables in a manifest."""
    rows: int
    bytes: int
    open: bool = False
    """Whether it holds what is not over yet, and what a resumed run replaces."""


class Read(NamedTuple):
    """What a task found in one source."""

    records: int
    """Records of the capture, whichever connection they belong to; packets of a text."""
    problem: str = ""
    """Why not all of it was read, as a sentence."""
    unread: bool = False
    """Whether the rest is there, but the system did not give it: a later run tries again."""


class Row(NamedTuple):
    """What a task returns: all that it wrote, and what it read for that."""

    bucket: int
    parts: tuple[Part, ...]
    reads: tuple[Read | None, ...]
    """For each source, in their order; None for those that another task reads."""
    state: str = ""
    """File below the staging folder with what a later run needs to go on."""
    seconds: float = 0.0
    tag: str = ""
    """What the task calls the files that are for other tasks."""
    places: Any = None
    """Which source holds which record."""
    failure: str = ""
    """Why the task could not write, as a sentence; the run then ends."""
    status: int = 0
    """Exit status of the program for that."""

    def plain(self) -> tuple[Any, ...]:
        """Return it without classes of this module."""
        parts, reads = map(tuple, self.parts), (each and tuple(each) for each in self.reads)
        return tuple({**self._asdict(), "parts": tuple(parts), "reads": tuple(reads)}.values())

    @classmethod
    def of(cls, values: Any) -> "Row":
        """Return the row that is so without classes; raises TypeError for something else."""
        row = cls(*values)
        return row._replace(
            parts=tuple(Part(*each) for each in row.parts), reads=tuple(each and Read(*each) for each in row.reads)
        )


class Taken(NamedTuple):
    """A source that is in the tables."""

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
    """What a folder holds."""

    layout: int = LAYOUT
    runs: tuple[dict[str, Any], ...] = ()
    sources: tuple[Taken, ...] = ()
    parts: tuple[Part, ...] = ()
    buckets: int = 0
    """Into how many buckets the state is divided; 0 without one."""
    states: tuple[str, ...] = ()
    """For each bucket the file with its state."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What has to be the same in all runs."""

    @classmethod
    def load(cls, path: Path) -> "Manifest":
        """Read a manifest; raises Refused."""
        return cls.of(_told(path), path)

    @classmethod
    def of(cls, told: dict[str, Any], path: Path = Path(MANIFEST)) -> "Manifest":
        """Return the manifest that JSON tells; raises Refused for one of another layout, or that is none."""
        if told.get("layout") != LAYOUT:
            raise Refused(f"{path.parent} was written by another version of mqttpub; write to a new folder")
        try:
            told = {**told, "runs": tuple(told["runs"]), "states": tuple(told["states"])}
            told["sources"] = tuple(Taken(**each) for each in told["sources"])
            told["parts"] = tuple(Part(**each) for each in told["parts"])
            made = cls(**told)
        except (TypeError, KeyError):
            raise Refused(f"cannot read {path}: it is no manifest of mqttpub") from None
        _check_inside(path, [*made.states, *(part.path for part in made.parts)])
        return made

    def dumps(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        told = asdict(self)
        told["sources"] = [each._asdict() for each in self.sources]
        told["parts"] = [each._asdict() for each in self.parts]
        return told

    def rows(self, run: str = "") -> dict[str, int]:
        """Return the number of rows of each table."""
        counts: dict[str, int] = {}
        for part in self.parts:
            if run in part.path:
                counts[part.table] = counts.get(part.table, 0) + part.rows
        return counts

    def taken(self, source: Source) -> Taken | None:
        """Return the entry of a source that is in the tables already, whole, or shorter or longer than it is now.

        Of several entries it is the one that tells of the most; others were not read because of it.
        """
        same = [each for each in self.sources if each.head and _is_same(source, each)]
        return max(same, key=lambda each: (each.records, each.size), default=None)


def _is_same(source: Source, taken: Taken) -> bool:
    """Tell whether a source begins like one that was taken, or is the beginning of it."""
    if source.capture and not taken.records and taken.stamp is None:
        # Without any record it holds nothing by which to know it: all captures of a kind begin alike.
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
        """What the folder holds before the run."""

    @property
    def staging(self) -> Path:
        """Where tasks write."""
        return self.folder / f"{STAGING}{self.run}"

    def commit(self, rows: Iterable[Row], after: Manifest, *, replaced: Iterable[Part] = ()) -> Manifest:
        """Make what the tasks wrote visible and take away what it replaces; return what the folder then holds.

        `after` is the manifest without the files of this run, whose states and parts come from `rows`.
        """
        rows = sorted(rows)
        renames = [(part, self._shown(row, part)) for row in rows for part in row.parts]
        states = [(row.state, f"{STATE}/{self.run}-{row.bucket}") for row in rows if row.state]
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

    def _check_staged(self, rows: Iterable[Row]) -> None:
        """Raise Refused where a file is not here as its task wrote it: another machine may have it instead."""
        for row in rows:
            sizes: list[tuple[str, int | None]] = [(part.path, part.bytes) for part in row.parts]
            for name, size in [*sizes, *((row.state, None),) * bool(row.state)]:
                path = self.staging / name
                if not path.is_file() or size not in (None, path.stat().st_size):
                    raise Refused(f"{path} is not here as a task wrote it; {SHARED}")

    def _shown(self, row: Row, part: Part) -> Part:
        """Return a part as everybody sees it; what no state knows, no later run replaces."""
        return part._replace(path=self._visible(row.bucket, part), open=part.open and bool(row.state))

    def _visible(self, bucket: int, part: Part) -> str:
        """Return the name of a part that everybody sees: that of the task's attempt is left out."""
        path = Path(part.path)
        kind = "open" if part.open else "part"
        number = path.stem.rsplit("-", 1)[-1]
        return (path.parent / f"{kind}-{self.run}-{bucket:05}-{number}{path.suffix}").as_posix()


@contextmanager
def opened(folder: Path, run: str, mode: str) -> Iterator[Output]:
    """Give a folder to write to, locked for others; raises Refused.

    `mode` is error (there must be nothing yet), overwrite (what mqttpub wrote there before is
    replaced), append or resume. Runs before that were stopped are finished or removed first.
    """
    output = Output(folder, run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not any((folder / name).exists() for name in (LOCK, JOURNAL, MANIFEST)):
            # Nothing of ours was ever here, so nothing here is to be cleaned up.
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
        raise Refused(f"cannot write to {error.filename}: {error.strerror}") from None


def _before(folder: Path, mode: str) -> Manifest:
    """Return what a folder holds, if the mode allows that it holds something."""
    path = folder / MANIFEST
    if path.exists():
        if mode == "error":
            raise Refused(f"{folder} holds tables already; choose --mode overwrite or append, or --resume")
        made = Manifest.load(path)
        if mode == "resume":
            _check_states(folder, made)
        return made
    _check_empty(folder)
    return Manifest()


def _check_empty(folder: Path) -> None:
    """Raise Refused for a folder of others."""
    foreign = sorted(name for name in os.listdir(folder) if name != LOCK)
    if foreign:
        raise Refused(f"{folder} holds files that are no tables of mqttpub, such as {foreign[0]}")


def _check_states(folder: Path, manifest: Manifest) -> None:
    """Raise Refused where what an earlier run left is not as it left it."""
    try:
        for name in manifest.states:
            check(folder / name)
    except StateError as error:
        raise Refused(f"{error}; --mode overwrite reads everything again") from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other runs out; the lock ends with the process, however that ends."""
    path = folder / LOCK
    # Whatever has this name already keeps what it holds.
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused(f"another run writes to {folder}") from None
        yield


def _clean(folder: Path) -> None:
    """Remove what runs left that were stopped before they counted; none is at work, as the folder is locked."""
    for name in os.listdir(folder):
        if name.startswith(STAGING):
            shutil.rmtree(folder / name, ignore_errors=True)
        elif name in DRAFTS:
            (folder / name).unlink(missing_ok=True)


def _carry_out(folder: Path) -> None:
    """Do what the journal says, if there is one; can be repeated from any point."""
    path = folder / JOURNAL
    if not path.exists():
        return
    journal = _told(path)
    try:
        Manifest.of(journal["manifest"], path)
        _check_inside(path, [*(name for pair in journal["rename"] for name in pair), *journal["remove"]])
    except (TypeError, KeyError, AttributeError):
        raise Refused(f"cannot read {path}: it is no journal of mqttpub") from None
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


def _told(path: Path) -> dict[str, Any]:
    """Return the object that a file holds as JSON; raises Refused."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"cannot read {path}: {error}") from None
    if not isinstance(told, dict):
        raise Refused(f"cannot read {path}: it holds no JSON object")
    return told


def _check_inside(path: Path, names: Iterable[str]) -> None:
    """Raise Refused where a file names others that are not in its folder: what it says is carried out."""
    for name in map(PurePath, names):
        if name.is_absolute() or ".." in name.parts:
            raise Refused(f"{path} names a file outside of its folder: {name}")


def _remove_empty(folder: Path, place: Path) -> None:
    """Remove folders that hold nothing any more."""
    while place != folder:
        try:
            place.rmdir()
        except OSError:
            return
        place = place.parent


def _write(path: Path, told: dict[str, Any]) -> None:
    """Write JSON that is there as a whole or not at all."""
    replace_whole(path, json.dumps(told, indent=1).encode(), path.with_name(f"{path.name}.new"))
