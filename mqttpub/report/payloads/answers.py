"""The answers about payloads, as plain values."""

from typing import Any, NamedTuple

Row = dict[str, Any]
"""A row of an answer: values by column."""


class SchemaVersion(NamedTuple):
    """A form that the payloads of a topic had: a kind, and for JSON a schema."""

    kind: str
    paths: dict[str, str]
    """Types by path, for objects and arrays of JSON."""
    messages: int
    first: Row
    """The first message: `time` in microseconds since 1970, `capture`, `frame`, and `who` sent it."""
    last: Row


class TopicDrift(NamedTuple):
    """A topic whose payloads changed their form."""

    topic: str
    receiver: str
    """The client that received the messages; empty where they were captured from their publishers."""
    messages: int
    changes: int
    """How often a message had another form than the one before."""
    forms: int
    """How many forms there were."""
    versions: tuple[SchemaVersion, ...]
    """The first of them, in the order in which they appeared."""


class SparkplugAnswers(NamedTuple):
    """What Sparkplug B shows: edge nodes with most faults first, and hosts."""

    totals: Row
    """Sums over all edge nodes: messages, births, deaths, missing, faults; with the numbers of `nodes` and `hosts`."""
    nodes: list[Row]
    """The first edge nodes, as `sessions.NODE` has them."""
    hosts: list[Row]
    """Host applications, in the same form."""


class PayloadAnswers(NamedTuple):
    """What is known of the payloads."""

    kept: str = "keep"
    """What the tables have of payloads: keep, hash or drop; there are answers only for keep."""
    kinds: tuple[Row, ...] = ()
    """Messages from clients and from servers, bytes and topics by kind, the most frequent first."""
    drifting: int = 0
    """How many topics changed their form."""
    drift: tuple[TopicDrift, ...] = ()
    """The topics that changed most often."""
    sparkplug: SparkplugAnswers | None = None
    """None if there are no topics of Sparkplug B."""
    undecoded: bool = False
    """Whether there are, but the package that decodes them is missing."""


def changed(before: SchemaVersion, after: SchemaVersion) -> tuple[list[str], list[str], list[tuple[str, str, str]]]:
    """Return the paths that came, those that went, and those with other types: path, type before, type after."""
    came = [path for path in after.paths if path not in before.paths]
    went = [path for path in before.paths if path not in after.paths]
    both = [
        (path, before.paths[path], type)
        for path, type in after.paths.items()
        if before.paths.get(path, type) != type
    ]  # fmt: skip
    return came, went, both
