"""What the page and the terminal say about payloads."""

from ...common.escape import escape
from ...common.words import counted
from .answers import PayloadAnswers, Row, SchemaVersion, changed
from .sessions import FAULTS

MOST_PATHS = 8
"""Paths that a sentence names."""
_LEFT = {
    "hash": "The tables have the SHA-256 of each payload in its place (--payload hash), which says nothing about it.",
    "drop": "The tables have no payloads (--payload drop).",
}
UNDECODED = "Sparkplug B was not decoded: the package protobuf is missing (pip install 'mqttpub[spark]')."


def not_kept(answers: PayloadAnswers) -> str:
    """Return the sentence on payloads that are not in the tables; empty if they are."""
    return _LEFT.get(answers.kept, "")


def form_text(version: SchemaVersion, before: SchemaVersion | None) -> str:
    """Return what is new in a form, compared with the one that appeared before; of the first one, all of it."""
    if before is None or before.kind != version.kind:
        paths = [f"{path} ({type})" for path, type in version.paths.items()]
        was = f" (was {before.kind})" if before else ""
        return f"{version.kind}{was}" + (f" with {_listed(paths)}" if paths else "")
    came, went, other = changed(before, version)
    parts = [
        f"new {_listed([f'{path} ({version.paths[path]})' for path in came])}" if came else "",
        f"without {_listed(went)}" if went else "",
        f"{_listed([f'{path} now {new} (was {old})' for path, old, new in other])}" if other else "",
    ]
    return "; ".join(filter(None, parts)) or "differs in what is left out"


def _listed(texts: list[str]) -> str:
    more = len(texts) - MOST_PATHS
    return ", ".join([*texts[:MOST_PATHS], *([f"{more} more"] if more > 0 else [])])


def node_name(row: Row) -> str:
    """Return group and name of an edge node, or the name of a host."""
    name = row["node"] if row["host"] else f"{row['group']}/{row['node']}"
    return escape(name) if row["node"] else "(other topics)"


def remarks(answers: PayloadAnswers) -> list[str]:
    """Return sentences on JSON that schemas do not show completely."""
    repeated, cut = (sum(row[name] for row in answers.kinds) for name in ("repeated", "cut"))
    return [
        *([f"{counted(repeated, 'message')} of JSON had an object with two members of one name."] if repeated else []),
        *([f"Of {counted(cut, 'message')} of JSON the schema leaves out what is deep or long."] if cut else []),
    ]  # fmt: skip


def faults_text(row: Row) -> str:
    """Return the faults of an edge node, with their numbers."""
    return ", ".join(f"{FAULTS[name]} ({row[name]:,})" for name in FAULTS if row[name]) or "none"
