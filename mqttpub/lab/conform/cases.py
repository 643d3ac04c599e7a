"""The cases: scripts with the statements that they decide."""

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from ...common.bad_text import BadText
from ...common.times import SECOND_NS
from ...script.reader import read_script
from ...script.steps import SilenceStep, Step, WaitStep
from ...spec.statements import statement, statements
from ...spec.versions import Direction, Version

VERSIONS = {version.label: version for version in Version}
VISIBLE = ("A", "B", "B*", "BL", "C2")
"""Classes of statements that a peer can be put to the test on."""
WITHOUT = "without.toml"
"""The file that says why statements have no case."""


class ConformCase(NamedTuple):
    """One case, for one version."""

    name: str
    """Unique among all cases."""
    title: str
    """What the peer must do, in a sentence."""
    version: Version
    statements: tuple[str, ...]
    """Full ids of the statements of this version that `then` decides; lint may find others."""
    given: tuple[Step, ...]
    """The steps before; a peer that does otherwise there cannot be put to the test."""
    then: tuple[Step, ...]
    """The steps that a peer must fulfil."""
    is_thorough: bool = False
    """Whether it is only for a broker that nobody else uses."""
    is_websocket: bool = False
    """Whether it needs a connection over WebSocket."""
    may_close: bool = False
    """Whether a peer that closes the connection in `then` keeps its statements as well."""

    def decided_by(self, step: Step) -> frozenset[str]:
        """Return the statements that a step of `then` decides: those whose ids stand in the comment of its line.

        A line without ids decides those that stand in no comment.
        """
        return decided_by(step, self.statements, self.then)

    @property
    def wait_s(self) -> float:
        """How long it waits, whatever the peer does."""
        waits = (step.wait_ns for step in (*self.given, *self.then) if isinstance(step, WaitStep | SilenceStep))
        return sum(waits) / SECOND_NS


def decided_by(step: Step, ids: Sequence[str], then: Sequence[Step]) -> frozenset[str]:
    """Return which of the statements of a case one of its steps decides."""
    own = _named_in(step, ids)
    return own or frozenset(ids).difference(*(_named_in(each, ids) for each in then))


def _named_in(step: Step, ids: Sequence[str]) -> frozenset[str]:
    words = step.word.source.rpartition(" # ")[2].split() if " # " in step.word.source else []
    return frozenset(id for id in ids if id in words)


@cache
def cases(version: Version) -> tuple[ConformCase, ...]:
    """Return the cases of a version, in the order of their files."""
    return tuple(_case(entry, version) for entry in entries(Direction.SERVER) if version.label in entry["versions"])


def without_case(version: Version, peer: Direction = Direction.SERVER) -> dict[str, str]:
    """Return why statements of a version that bind an end have no case, by full id."""
    text = case_folder(peer).joinpath(WITHOUT).read_text("utf-8")
    return {id: why for why, ids in tomllib.loads(text).items() for id in ids if statement(id).version == version.label}


def in_reach(version: Version, peer: Direction = Direction.SERVER) -> list[str]:
    """Return the full ids of the statements of a version that an end can be put to the test on."""
    every = statements(version.label)
    return [each.id for each in every if each.visibility in VISIBLE and each.bound in (peer, None)]


def case_folder(peer: Direction) -> Traversable:
    """Return the folder with the cases for an end."""
    folder = files(__package__).joinpath("cases")
    return folder if peer is Direction.SERVER else folder.joinpath(peer.value)


def entries(peer: Direction) -> list[dict[str, Any]]:
    """Return the entries of the files of cases for an end, in their order."""
    found: list[dict[str, Any]] = []
    for file in sorted(case_folder(peer).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml") and file.name != WITHOUT:
            for name, entry in tomllib.loads(file.read_text("utf-8")).items():
                found.append({"name": name, "versions": list(VERSIONS), **entry})
    return found


def _case(entry: dict[str, Any], version: Version) -> ConformCase:
    name = entry["name"]
    return ConformCase(
        name=name, title=entry["title"], version=version,
        statements=of_version(entry.get("statements", ()), version),
        given=script(entry, "given"), then=script(entry, "then"),
        is_thorough=entry.get("thorough", False), is_websocket=entry.get("websocket", False),
        may_close=entry.get("may_close", False),
    )  # fmt: skip


def script(entry: dict[str, Any], key: str) -> tuple[Step, ...]:
    """Return the steps of a script of an entry, which is for all of its versions."""
    lines = [f"version {' '.join(entry['versions'])}", *entry.get(key, "").splitlines()]
    try:
        return tuple(read_script(lines))
    except BadText as error:
        place = f"{entry['name']}, {key}, line {error.line - 1}, column {error.column}"
        raise ValueError(f"{place}: {error}") from None


def of_version(ids: Sequence[str], version: Version, peer: Direction = Direction.SERVER) -> tuple[str, ...]:
    """Return the ids of a version among these; without any, those that say the same in it as the ids of 5.0."""
    reach = in_reach(version, peer)
    named = [id for id in reach if id in ids]
    if named:
        return tuple(named)
    of_5 = {id for id in ids if statement(id).version == Version.V5.label}
    same = {each for id in of_5 for each in statement(id).equivalents}
    return tuple(id for id in reach if id in same or not of_5.isdisjoint(statement(id).equivalents))
