"""The manifest names what the runs on a folder committed; as one object, it shows a run completely or not at all."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.arrays import Integers
from ...common.errors import UserError
from ..lake.logs import LOGGED, files
from ..storage.files import BadLocation, is_url, open_file, reason
from ..storage.folder import StorageFolder
from .job import TableFile
from .sources import MANIFEST, Source, same_beginning

__all__ = [
    "LAYOUT", "MANIFEST", "MOST_FILES", "SHARED", "KnownSources", "Manifest", "OutputRefused", "SourceRecord",
    "check_inside", "read_object", "table_files",
]  # fmt: skip

SHARED = "the folder of --out must be shared by this machine and all tasks"
LAYOUT = 3
"""Changes when runs can no longer add to folders of earlier versions."""
BLOCK = 10_000
"""Entries of sources that become columns together."""
MOST_FILES = 10_000
"""Files of tables that a manifest is made for: written whole by each run, it then has 5 MB and costs 0.3 s."""


class OutputRefused(UserError):
    """The output folder does not allow this run."""


class SourceRecord(NamedTuple):
    """A source that is in the tables: a row of the file that the manifest names, with these columns."""

    name: str
    size: int
    head: int
    digest: str
    run: str
    records: int = 0
    problem: str = ""
    stamp: int | None = None
    """Time of the first record, in nanoseconds since 1970."""
    first: str = ""
    """Digest of the frame in it."""
    compressed: bool = False
    end: int = 0
    """Where the record after `records` begins; 0 if a run has to find it."""
    before: str = ""
    """The bytes to read before that record, in hexadecimal."""
    cut: bool = False
    """Whether the problem is only that the end is missing, which may still be written."""


_KINDS = {str: pa.string(), int: pa.int64(), int | None: pa.int64(), bool: pa.bool_()}
_COLUMNS = pa.schema([(name, _KINDS[kind]) for name, kind in SourceRecord.__annotations__.items()])


@dataclass(frozen=True)
class Manifest:
    """The tables and states of a folder, and the runs that wrote them."""

    layout: int = LAYOUT
    runs: tuple[dict[str, Any], ...] = ()
    sources: str = ""
    """The file of the sources that are in the tables, for KnownSources; empty without one."""
    parts: tuple[TableFile, ...] = ()
    states: tuple[str, ...] = ()
    """The files of the state, which `states` describes."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings that must be the same in all runs."""
    columns: str = ""
    """The digest of the columns of all tables; empty for those of a version that did not note it."""

    @classmethod
    def load(cls, place: str | Path) -> "Manifest":
        """Read a manifest by its path or URL; raises OutputRefused."""
        try:
            with open_file(str(place)) as file:
                data = file.read()
        except (OSError, BadLocation) as error:
            why = error if isinstance(place, Path) else reason(error)
            raise OutputRefused(f"cannot read {place}: {why}") from None
        return cls.of(read_object(data, place), place)

    @classmethod
    def in_folder(cls, folder: str | Path) -> "Manifest":
        """Read the manifest of a folder of tables by its path or URL; raises OutputRefused."""
        return cls.load(f"{folder}/{MANIFEST}" if is_url(str(folder)) else Path(folder, MANIFEST))

    @classmethod
    def of(cls, values: dict[str, Any], place: str | Path = MANIFEST) -> "Manifest":
        """Return the manifest in a JSON object; raises OutputRefused for another layout or another kind of object."""
        if values.get("layout") != LAYOUT:
            raise OutputRefused(
                f"{os.path.dirname(place)} was written by another version of mqttpub: read the captures again, into a "
                "new folder"
            )
        try:
            values = {**values, "runs": tuple(values["runs"]), "states": tuple(values["states"])}
            values["parts"] = tuple(TableFile(**each) for each in values["parts"])
            made = cls(**values)
            check_inside(place, [*made.saved, *(part.path for part in made.parts)])
        except (TypeError, KeyError):
            raise OutputRefused(f"cannot read {place}: it is not a manifest of mqttpub") from None
        return made

    def dumps(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        return {**vars(self), "parts": [each._asdict() for each in self.parts]}

    @property
    def saved(self) -> tuple[str, ...]:
        """The files that only a later run reads: those of the state, and that of the sources."""
        return (*self.states, self.sources) if self.sources else self.states

    def rows(self, run: str = "") -> dict[str, int]:
        """Return the number of rows of each table."""
        counts: dict[str, int] = {}
        for part in self.parts:
            if run in part.path:
                counts[part.table] = counts.get(part.table, 0) + part.rows
        return counts


class KnownSources:
    """The sources that are in the tables, in the order of their numbers; as columns, since a million are not rare."""

    def __init__(self, table: pa.Table | None = None) -> None:
        self._table = _COLUMNS.empty_table() if table is None else table.combine_chunks()

    @classmethod
    def of(cls, records: Iterable[SourceRecord]) -> "KnownSources":
        """Return those of some entries."""
        rest, found = iter(records), []
        while some := list(islice(rest, BLOCK)):
            columns = [
                pa.array(column, kind) for column, kind in zip(zip(*some, strict=True), _COLUMNS.types, strict=True)
            ]
            found.append(pa.record_batch(columns, schema=_COLUMNS))
        return cls(pa.Table.from_batches(found, _COLUMNS))

    @classmethod
    def in_folder(cls, folder: str | Path) -> "KnownSources":
        """Read those of a folder of tables by its path or URL; raises OutputRefused."""
        manifest = Manifest.in_folder(folder)
        while True:
            try:
                return cls.named(StorageFolder(folder), manifest)
            except OutputRefused:
                # A run that commits in between removes the file.
                before, manifest = manifest, Manifest.in_folder(folder)
                if manifest == before:
                    raise

    @classmethod
    def named(cls, folder: StorageFolder, manifest: Manifest) -> "KnownSources":
        """Read those that a manifest names; raises OutputRefused."""
        from pyarrow import parquet

        if not manifest.sources:
            return cls()
        place = folder.place(manifest.sources)
        try:
            with open_file(place) as file:
                return cls(parquet.read_table(file, page_checksum_verification=True).cast(_COLUMNS))
        except (OSError, ValueError) as error:
            why = reason(error) if isinstance(error, OSError) else "it is not a list of sources of mqttpub"
            raise OutputRefused(f"cannot read {place}: {why}; --mode overwrite reads all captures again") from None

    def write(self, folder: StorageFolder, name: str) -> None:
        """Write them to a new file, in Parquet; raises OSError."""
        from pyarrow import parquet

        with folder.create(name) as file:
            parquet.write_table(self._table, file, compression="zstd", write_page_checksum=True)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[SourceRecord]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> SourceRecord:
        return SourceRecord(*(column[number].as_py() for column in self._table.columns))

    def first(self, count: int) -> "KnownSources":
        """Return the first so many."""
        return KnownSources(self._table.slice(0, count))

    def joined(self, more: "KnownSources") -> "KnownSources":
        """Return these and then others."""
        return KnownSources(pa.concat_tables([self._table, more._table]))

    def names(self, *, by_time: bool = False) -> list[str]:
        """Return their names, in the order of the numbers or of the first records."""
        order = [("stamp", "ascending"), ("name", "ascending")]
        found: list[str] = (self._table.sort_by(order) if by_time else self._table)["name"].to_pylist()
        return found

    @property
    def runs(self) -> set[str]:
        """The names of the runs that read them."""
        return set(pc.unique(self._table["run"]).to_pylist())

    def taken(self, source: Source) -> SourceRecord | None:
        """Return the entry of a source that is in the tables, whether or not its size has changed; None for a new one.

        Of several entries it is that with the most records.
        """
        # What is computed of an empty table has no chunks, and pyarrow up to 24 crashes on that.
        if not len(self):
            return None
        some = self._as_long(source) if source.stamp is None else chain(self._at(source.stamp), self._without_time)
        same = [each for each in some if _is_same(source, each)]
        alike = [each for each in same if each.compressed == source.compressed] or same
        return max(alike, key=lambda each: (each.records, each.size), default=None)

    def _as_long(self, source: Source) -> Iterator[SourceRecord]:
        """Return the entries of files that begin with the same bytes, or are shorter than what was looked at."""
        head, digest = self._table["head"], self._table["digest"]
        same = pc.and_(pc.equal(head, source.head), pc.equal(digest, source.digest))
        return self._of(self._with_head(pc.or_(same, pc.less(head, source.head))))

    def _at(self, stamp: int) -> Iterator[SourceRecord]:
        """Return the entries with that time of the first record."""
        times, rows = self._by_time
        begin, end = np.searchsorted(times, [stamp, stamp + 1]).tolist()
        return self._of(rows[begin:end])

    @cached_property
    def _by_time(self) -> tuple[Integers, Integers]:
        """The times of first records, in order, and the numbers of their entries."""
        rows = self._with_head(pc.is_valid(self._table["stamp"]))
        times: Integers = self._table["stamp"].take(pa.array(rows)).to_numpy()
        order = np.argsort(times, kind="stable")
        return times[order], rows[order]

    @cached_property
    def _without_time(self) -> list[SourceRecord]:
        """The entries without a time, each of which may be of a file in which there was no whole record yet."""
        return [*self._of(self._with_head(pc.is_null(self._table["stamp"])))]

    def _of(self, rows: Integers) -> Iterator[SourceRecord]:
        return map(self.__getitem__, rows.tolist())

    def _with_head(self, chosen: pa.ChunkedArray) -> Integers:
        rows: Integers = pc.indices_nonzero(pc.and_(chosen, pc.greater(self._table["head"], 0))).to_numpy()
        return rows


def table_files(folder: str | Path) -> dict[str, list[str]]:
    """Return the files of each table that a run wrote, by its name; the folder is a path or URL, and they are below it.

    The log of a table in Delta Lake or Apache Iceberg says more than the manifest, as others may have rewritten files.
    Raises OutputRefused if there is no manifest, and LakeError for a log that cannot be read.
    """
    manifest = Manifest.in_folder(folder)
    found: dict[str, list[str]] = {}
    for part in manifest.parts:
        found.setdefault(part.table, []).append(part.path)
    table_format = manifest.runs[-1]["format"] if manifest.runs else ""
    if table_format not in LOGGED:
        return found
    place = str(folder) if is_url(str(folder)) else os.path.abspath(folder)
    return {name: [f"{name}/{path}" for path in files(table_format, place, name)] for name in found}


def _is_same(source: Source, taken: SourceRecord) -> bool:
    """Return whether a source begins like a recorded one, or is the beginning of it."""
    if source.capture and not taken.records and taken.stamp is None:
        # The heads of empty captures of one format are all equal.
        return (source.size, source.digest) == (taken.size, taken.digest)
    is_first = source.stamp is not None and (source.stamp, source.first) == (taken.stamp, taken.first)
    if source.compressed != taken.compressed:
        return is_first
    if source.size >= taken.size:
        return same_beginning(source, taken.head, taken.digest)
    if source.head == taken.head:
        return source.digest == taken.digest
    return is_first


def read_object(data: bytes, place: str | Path) -> dict[str, Any]:
    """Return the JSON object that a file contains; raises OutputRefused."""
    try:
        value = json.loads(data.decode())
    except ValueError as error:
        raise OutputRefused(f"cannot read {place}: {error}") from None
    if not isinstance(value, dict):
        raise OutputRefused(f"cannot read {place}: it holds no JSON object")
    return value


def check_inside(place: str | Path, names: Iterable[str]) -> None:
    """Raise OutputRefused for names outside of the folder, since files of these names are moved and removed."""
    for name in map(PurePosixPath, names):
        if name.is_absolute() or ".." in name.parts:
            raise OutputRefused(f"{place} names a file outside of its folder: {name}")
