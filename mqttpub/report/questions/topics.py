"""Who talks most: the topics, and the clients, with the most messages and the most bytes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...common.words import counted, number, share
from ...traffic.volume import ALIAS_SIZE
from ...view.terminal.cells import Line
from ..listing import ROWS, count_cell, titled_table
from ..markup import NAME, NUMBER, folded
from ..plots import Bar, bars, drawn, stack
from ..question import Answers, Contents, Question, Ranking, ReportTables, Section, Stage
from ..sections import NAMED, NO_TOPIC, NOBODY, SIDES, about, ranked
from ..sql import TALLY
from ..words import name_text, ranked_label
from .clients import BRIEF_NOBODY, CLIENTS, ClientCounts, by_side, summed
from .traffic import TRAFFIC

BRIEF_NO_TOPIC = "(alias not set, or not UTF-8)"
_SAVED = f"""
    CASE WHEN version != '5.0' OR topic_alias IS NULL THEN 0 WHEN topic != '' THEN -{ALIAS_SIZE}
    ELSE coalesce(octet_length(resolved_topic) - {ALIAS_SIZE}, 0) END
"""
_NAMED = "count_if(version = '5.0' AND topic_alias IS NULL AND error IS NULL)"
_SAVABLE = f"greatest(0, ({_NAMED} - 1) * (max(octet_length(resolved_topic)) - {ALIAS_SIZE}) - {ALIAS_SIZE})"
_QUERY = f"""
    SELECT resolved_topic AS who, connection, direction, {TALLY}, count(*) AS messages,
        sum(payload_bytes) AS payload, sum(octet_length(topic)) AS topic_bytes, sum({_SAVED}) AS saved,
        count_if(topic_alias IS NOT NULL AND topic = '') AS aliased, coalesce({_SAVABLE}, 0) AS savable,
        {by_side("count_if(direction = '{}')", "messages")}
    FROM {{packets}} WHERE type = 'PUBLISH' GROUP BY 1, 2, 3
"""


class TopicCounts(NamedTuple):
    """The PUBLISH of a topic."""

    who: str | None
    """The Topic Name."""
    messages: int = 0
    bytes: int = 0
    payload: int = 0
    topic_bytes: int = 0
    """Bytes of the Topic Name, as often as it was sent."""
    saved: int = 0
    """Bytes that Topic Aliases saved; below 0 if they cost more."""
    aliased: int = 0
    """Messages with a Topic Alias instead of a Topic Name."""
    savable: int = 0
    """Bytes that a Topic Alias could save."""
    client_messages: int = 0
    server_messages: int = 0


Talker = ClientCounts | TopicCounts
Talkers = Ranking[ClientCounts] | Ranking[TopicCounts]


def _ask(tables: ReportTables) -> Ranking[TopicCounts]:
    sums, orders = TopicCounts._fields[1:], ("messages", "bytes", "savable")
    second = dict.fromkeys(orders, "messages")
    return tables.ranking(
        TopicCounts, summed(_QUERY, sums), dict.fromkeys(sums, "sum"), {name: name for name in orders}, second
    )


# the page


def _contents(found: Ranking[TopicCounts], answers: Answers) -> Contents:
    if not answers[TRAFFIC].kinds:
        return [about("There are no packets.")]
    return [*_talkers("client", answers[CLIENTS].ranking, NOBODY), *_talkers("topic", found, NO_TOPIC)]


def _talkers(noun: str, found: Talkers, unknown: str) -> Contents:
    content: Contents = []
    if rows := found.top("messages"):
        values: list[Bar] = []
        for row, name, label in _named(rows, unknown):
            sides = zip((row.client_messages, row.server_messages), SIDES[:2], strict=True)
            values += stack(
                label, ((part, hue, f"{name}: {number(part)} messages {side}") for part, (side, hue) in sides)
            )
        plot = bars(f"{noun.capitalize()}s with the most messages", values, SIDES[:2])
        content += [drawn(plot), *_numbers(noun, found, unknown, "messages")]
    if rows := found.top("bytes"):
        values = [
            Bar(label, 0, row.bytes, "client", f"{name}: {number(row.bytes)} bytes")
            for row, name, label in _named(rows, unknown)
        ]
        plot = bars(f"{noun.capitalize()}s with the most bytes", values, (("of both", "client"),))
        content += [drawn(plot), folded("The numbers of this plot", *_numbers(noun, found, unknown, "bytes"))]
    return content or [about(f"No {noun} was seen.")]


def _named(rows: Sequence[Talker], unknown: str) -> Iterator[tuple[Talker, str, str]]:
    """Yield the rows of a plot with their names and their labels."""
    for rank, row in enumerate(rows[:NAMED], 1):
        name = name_text(row.who, unknown)
        yield row, name, ranked_label(rank, name)


def _numbers(noun: str, found: Talkers, unknown: str, by: str) -> Contents:
    rows: Sequence[Talker] = found.top(by)
    columns = [("", NUMBER), (noun, NAME), ("messages", NUMBER), ("of clients", NUMBER), ("of servers", NUMBER),
               ("bytes", NUMBER), ("of all bytes", NUMBER)]  # fmt: skip
    numbers = [
        [str(rank), name_text(row.who, unknown),
         *map(number, (row.messages, row.client_messages, row.server_messages, row.bytes)),
         share(row.bytes, found.total.bytes)]
        for rank, row in enumerate(rows, 1)
    ]  # fmt: skip
    return ranked(f"First {len(rows)} of {counted(found.number, noun)}, by {by}", columns, numbers)


# the terminal


def _client_lines(found: Ranking[TopicCounts], answers: Answers, width: int) -> Iterator[Line]:
    return _lines("Clients with most bytes", answers[CLIENTS].ranking, BRIEF_NOBODY, "text", width)


def _topic_lines(found: Ranking[TopicCounts], answers: Answers, width: int) -> Iterator[Line]:
    return _lines("Topics with most bytes", found, BRIEF_NO_TOPIC, "topic", width)


def _lines(heading: str, found: Talkers, unknown: str, style: str, width: int) -> Iterator[Line]:
    rows: Sequence[Talker] = found.top("bytes")
    if rows:
        yield from titled_table(heading, ("", "messages", "bytes", "of all"), (
            [(name_text(row.who, unknown), style), count_cell(row.messages), count_cell(row.bytes, "length"),
             (share(row.bytes, found.total.bytes), "dim")]
            for row in rows[:ROWS]
        ), width)  # fmt: skip


def _record(found: Ranking[TopicCounts], answers: Answers) -> Mapping[str, Any]:
    return {"topics": found.record()}


TOPICS = Question(
    Stage.ALWAYS, _ask, sections=(Section("talkers", "Top talkers", _contents),), blocks=(_client_lines, _topic_lines),
    record=_record,
)  # fmt: skip
