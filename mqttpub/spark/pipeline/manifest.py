"""The manifest names what the runs on a folder committed; as one object, it shows a run completely or not at all."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ..lake.logs import LOGGED, files
from ..storage.files import BadLocation, is_url, open_file, reason
from .job import TableFile
from .sources import MANIFEST, Source, same_beginning

__all__ = [
    "LAYOUT", "MANIFEST", "MOST_FILES", "SHARED", "Manifest", "OutputRefused", "SourceRecord", "check_inside",
    "read_object", "table_files",
]  # fmt: skip

SHARED = "the folder of --out must be shared by this machine and all tasks"
LAYOUT = 2
"""Changes when runs can no longer add to folders of earlier versions."""
MOST_FILES = 10_000
"""Files of tables that a manifest is made for: written whole by each run, it then has 5 MB and costs 0.3 s."""


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
    first: str = ""
    """Digest of the frame in it."""
    compressed: bool = False
    end: int = 0
    """Where the record after `records` begins; 0 if a run has to find it."""
    before: str = ""
    """The bytes to read before that record, in hexadecimal."""
    cut: bool = False
    """Whether the problem is only that the end is missing, which may still be written."""


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
            values["sources"] = tuple(SourceRecord(**each) for each in values["sources"])
            values["parts"] = tuple(TableFile(**each) for each in values["parts"])
            made = cls(**values)
        except (TypeError, KeyError):
            raise OutputRefused(f"cannot read {place}: it is not a manifest of mqttpub") from None
        check_inside(place, [*made.states, *(part.path for part in made.parts)])
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
        # An entry without a time may be of a file in which there was no whole record yet.
        stamps = self._by_stamp if source.stamp is None else (source.stamp, None)
        same = [each for stamp in stamps for each in self._by_stamp.get(stamp, ()) if _is_same(source, each)]
        alike = [each for each in same if each.compressed == source.compressed] or same
        return max(alike, key=lambda each: (each.records, each.size), default=None)

    @cached_property
    def _by_stamp(self) -> dict[int | None, list[SourceRecord]]:
        """The entries by the time of their first record, as thousands of sources are looked up among thousands."""
        found: dict[int | None, list[SourceRecord]] = {}
        for each in self.sources:
            if each.head:
                found.setdefault(each.stamp, []).append(each)
        return found


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
