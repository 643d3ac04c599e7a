"""The normative statements of MQTT 5.0, 3.1.1 and 3.1, by id.

The id of a numbered statement is its version and the specification's own label, `MQTT5-3.3.1-2`; other demands have
their section and a word, `MQTT5-2.2.2.2/repeated`.
"""

from functools import cache
from pkgutil import get_data
from typing import NamedTuple

from .versions import Direction, Version

CLASSES = {
    "A": "one packet shows it",
    "A~": "one packet hints at it",
    "B": "one connection shows it",
    "B*": "one connection shows it, once the other end provokes it",
    "BL": "a client that subscribes to what it publishes shows it",
    "C2": "only a second connection shows it",
    "C": "no connection shows it",
}
"""Classes of statements: what it takes to see a violation."""
PARTIES = {"c": "the client", "s": "the server", "cs": "both ends"}
"""Whom a statement binds."""
_ENDS = {end.value[0]: end for end in Direction}
_VERSIONS = {version.prefix: version.label for version in sorted(Version, reverse=True)}


class Statement(NamedTuple):
    """One demand of one version of the specification."""

    id: str
    """Full id, with its version."""
    visibility: str
    """What has to be observed to see a violation.

    A: the bytes of one packet (A~: they only suggest it); B: one connection (B*: only if provoked; BL: only if the
    client receives what it publishes); C2: a second connection or client; C: a violation cannot be seen.
    """
    who: str
    """Whom it binds: c (client), s (server) or cs."""
    severity: str
    """error, warning or note."""
    answer: int | None
    """Reason Code with which a receiver answers a violation; None if the text names none, and before 5.0."""
    equivalents: tuple[str, ...]
    """Ids of the same demand in other versions; `~` precedes one that is only similar."""
    text: str
    """The demand in one sentence, not that of the specification."""

    @property
    def version(self) -> str:
        """Return the version of MQTT: 5.0, 3.1.1 or 3.1."""
        return _VERSIONS[self.id.partition("-")[0]]

    @property
    def label(self) -> str:
        """Return the id without the version: 3.3.1-2 or 2.2.2.2/repeated."""
        return self.id.partition("-")[2]

    @property
    def bound(self) -> Direction | None:
        """Return the end that it binds; None if it binds both."""
        return _ENDS.get(self.who)

    @property
    def section(self) -> str:
        """Return the section of the specification that makes the demand."""
        return self.label.partition("/")[0].partition("-")[0]


def statement(id: str) -> Statement:
    """Return the statement with this full id; raises KeyError."""
    try:
        return _by_id()[id]
    except KeyError:
        raise KeyError(f"{id!r} is not the id of a statement, such as MQTT5-3.3.1-2") from None


def statements(version: str | None = None) -> tuple[Statement, ...]:
    """Return the statements of one or all versions, newest first, in the order of the text.

    Raises ValueError for a version that is not 5.0, 3.1.1 or 3.1.
    """
    if version is None:
        return tuple(row for label in _VERSIONS.values() for row in _load(label))
    if version not in _VERSIONS.values():
        raise ValueError(f"{version!r} is not an MQTT version ({', '.join(_VERSIONS.values())})")
    return _load(version)


def find(text: str) -> list[Statement]:
    """Return the statements with a full id, a label (`[MQTT-3.3.1-2]`, `3.3.1-2`) or in a section; empty if none."""
    wanted = text.strip().removeprefix("[").removesuffix("]").casefold()
    prefix, dash, rest = wanted.partition("-")
    if dash and prefix.startswith("mqtt"):
        wanted = rest
    else:
        prefix = "mqtt"
    among = [row for row in statements() if prefix in ("mqtt", row.id.partition("-")[0].casefold())]
    exact = [row for row in among if row.label.casefold() == wanted]
    return exact or [row for row in among if _lies_in(row.section.casefold(), wanted)]


def matches(term: str, id: str) -> bool:
    """Whether a term names the statement `id`: by its id or label, their beginning, or a pattern with `*` and `?`.

    Raises KeyError for an unknown id.
    """
    term = term.strip().removeprefix("[").removesuffix("]").casefold()
    # The specification's own labels have no version: [MQTT-3.3.1-2].
    plain = term.removeprefix("mqtt-")
    return any(_fits(plain, name.casefold()) for name in (id, statement(id).label))


def _fits(term: str, name: str) -> bool:
    if "*" in term or "?" in term:
        from fnmatch import fnmatchcase

        return fnmatchcase(name, term.replace("[", "[[]"))
    return name == term or (name.startswith(term) and name[len(term)] in ".-/")


def _lies_in(section: str, outer: str) -> bool:
    return section == outer or section.startswith(f"{outer}.")


@cache
def _by_id() -> dict[str, Statement]:
    return {row.id: row for row in statements()}


@cache
def _load(version: str) -> tuple[Statement, ...]:
    # importlib.resources would do the same, but imports much of the standard library.
    data = get_data(__package__, f"data/statements-{version}.tsv")
    assert data
    _, *lines = data.decode().splitlines()
    return tuple(_parse(line) for line in lines)


def _parse(line: str) -> Statement:
    id, visibility, who, severity, answer, equivalents, text = line.split("\t")
    return Statement(
        id, visibility, who, severity, int(answer, 16) if answer else None, tuple(equivalents.split()), text
    )
