"""The tree of topics: what is sent below each level."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ....common.words import counted, number, share
from ....view.terminal.cells import Line
from ...listing import Listing, lines
from ...markup import NAME, NUMBER
from ...question import Answers, Contents, Question, ReportTables, Section, Stage
from ...sections import about, listed
from ...sql import WHO
from ...words import name_text

DEPTH = 6
"""Levels; what is deeper counts for the level above."""
WIDTH = 8
"""Levels below one level, at most."""
MOST_LEVELS = 120
"""Levels in all, at most."""
MOST_LINES = 12
"""Levels on the terminal, at most."""
_FETCHED = 20 * MOST_LEVELS
"""Levels with the most messages that are fetched; those below a level that is not shown are then left out."""
_INDENT = "\u00a0\u00a0"
_COUNTS = {
    "messages": "count(*)", "bytes": "sum(packet_bytes)", "client_messages": "count_if(direction = 'client')",
    "server_messages": "count_if(direction = 'server')", "client_retained": "count_if(retain AND direction = 'client')",
    "server_retained": "count_if(retain AND direction = 'server')",
    **{f"qos{qos}": f"count_if(qos = {qos})" for qos in range(3)},
}  # fmt: skip
_QUERY = f"""
    WITH each AS (
        SELECT resolved_topic AS topic, split(resolved_topic, '/') AS levels, {WHO} AS who,
            {", ".join(f"{sql} AS {name}" for name, sql in _COUNTS.items())}
        FROM {{packets}} WHERE type = 'PUBLISH' AND resolved_topic IS NOT NULL GROUP BY resolved_topic, who
    ), level AS (
        SELECT depth, array_join(slice(levels, 1, depth), '/') AS name,
            array_join(slice(levels, 1, greatest(depth - 1, 0)), '/') AS above,
            count(DISTINCT topic) AS topics, {", ".join(f"sum({name}) AS {name}" for name in _COUNTS)},
            count(DISTINCT if(client_messages > 0, who, NULL)) AS publishers
        FROM each LATERAL VIEW explode(sequence(0, least(size(levels), {DEPTH}))) AS depth GROUP BY 1, 2, 3
    )
    SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY depth, above ORDER BY messages DESC, name) AS place FROM level
    ) WHERE place <= {WIDTH} ORDER BY messages DESC, depth, name LIMIT {_FETCHED}
"""


class TopicLevel(NamedTuple):
    """A level of topics with all that is below it, or what remains of the level above beside its other rows."""

    depth: int
    """0 for the root."""
    name: str
    above: str
    topics: int
    messages: int
    bytes: int
    client_messages: int
    server_messages: int
    client_retained: int
    server_retained: int
    qos0: int
    qos1: int
    qos2: int
    publishers: int | None
    """None for what remains, as these can be the same as those of other rows."""
    place: int = 0
    """Among the levels below the same one."""
    others: bool = False
    """Whether this is what remains, messages on the very topic of the level above included."""
    indent: int = 0
    """The depth at which the row is shown."""
    label: str = ""
    """Its name below the row above."""

    def without(self, inner: Sequence["TopicLevel"]) -> "TopicLevel":
        """Return what remains below this level beside those levels."""
        sums = {name: getattr(self, name) - sum(getattr(each, name) for each in inner) for name in (*_COUNTS, "topics")}
        return self._replace(**sums, depth=self.depth + 1, others=True, publishers=None)


def _ask(tables: ReportTables) -> list[TopicLevel]:
    """Return the levels of topics with the most messages, a level after that above it."""
    return _arranged(tables.rows(TopicLevel, _QUERY))


def _arranged(rows: list[TopicLevel]) -> list[TopicLevel]:
    """Return levels whose levels above are shown too, each followed by those below it and what remains of them.

    A level has at least the messages of each one below it, so it comes before these in the rows. One that is all that
    there is below another takes the place of that.
    """
    below: dict[tuple[int, str], list[TopicLevel]] = {}
    shown: set[tuple[int, str]] = set()
    for row in rows:
        above = row.depth - 1, row.above
        if len(shown) < MOST_LEVELS and (row.depth == 0 or above in shown):
            shown.add((row.depth, row.name))
            below.setdefault(above, []).append(row)
    found: list[TopicLevel] = []
    waiting = [(0, 0, row) for row in below.get((-1, ""), [])]
    while waiting:
        indent, cut, row = waiting.pop()
        inner = [] if row.others else below.get((row.depth, row.name), [])
        if len(inner) == 1 and row.depth and inner[0].messages == row.messages:
            waiting.append((indent, cut, inner[0]))
            continue
        found.append(row._replace(indent=indent, label=row.name[cut:]))
        rest = [row.without(inner)] if inner else []
        cut = len(row.name) + 1 if row.depth else 0
        waiting += [(indent + 1, cut, each) for each in (*rest, *reversed(inner)) if each.messages]
    return found


# the page


def _contents(found: Sequence[TopicLevel], answers: Answers) -> Contents:
    if not found or not found[0].messages:
        return [about("No PUBLISH with a known topic was seen.")]
    return [
        about(
            "Messages are all PUBLISH packets with a known topic, re-deliveries included. Publishers are the clients "
            "that sent some. RETAIN of a client asks the server to keep the message; from a server it marks one that "
            "was kept, unless the subscription asks for the flag of the publisher (Retain As Published). Levels with "
            "nothing beside them are shown together, and others are the smaller levels and the level's own topic."
        ),
        *listed(_listing(found)),
    ]


def _listing(rows: Sequence[TopicLevel]) -> Listing:
    columns = [("topics", NAME), ("messages", NUMBER), ("of clients", NUMBER), ("of servers", NUMBER),
               ("bytes", NUMBER), ("RETAIN of clients", NUMBER), ("RETAIN of servers", NUMBER), ("QoS 0", NUMBER),
               ("QoS 1", NUMBER), ("QoS 2", NUMBER), ("publishers", NUMBER)]  # fmt: skip
    cells = [
        [_label(row), *map(number, (row.messages, row.client_messages, row.server_messages, row.bytes)),
         share(row.client_retained, row.client_messages), share(row.server_retained, row.server_messages),
         *(share(count, row.messages) for count in (row.qos0, row.qos1, row.qos2)),
         "-" if row.publishers is None else number(row.publishers)]
        for row in rows
    ]  # fmt: skip
    return Listing("Topics by level", columns, cells, (0, 1, 4, 8, 9, 10))


def _label(row: TopicLevel) -> str:
    if not row.depth:
        return f"all {counted(row.topics, 'topic')}"
    indent = _INDENT * row.indent
    if row.others:
        return f"{indent}{counted(row.topics, 'other')}"
    return f"{indent}{name_text(row.label, '(empty)')}"


# the terminal


def _lines(found: Sequence[TopicLevel], answers: Answers, width: int) -> Iterator[Line]:
    if len(found) > 1:
        # Levels with the most messages: those above them have at least as many.
        most = sorted((row.messages for row in found), reverse=True)[:MOST_LINES]
        shown = [row for row in found if row.messages >= most[-1]][:MOST_LINES]
        yield from lines(_listing(shown), width, MOST_LINES)


def _record(found: Sequence[TopicLevel], answers: Answers) -> Mapping[str, Any]:
    return {"topic_tree": [_values(row) for row in found]}


def _values(row: TopicLevel) -> dict[str, Any]:
    values = row._asdict()
    del values["place"]
    if not row.others:
        del values["others"]
    return values


TOPIC_TREE = Question(
    Stage.THOROUGH, _ask, sections=(Section("topics", "Topic tree", _contents),), blocks=(_lines,), record=_record
)
