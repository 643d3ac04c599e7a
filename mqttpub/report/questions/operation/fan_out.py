"""Fan-out: how many deliveries to subscribers follow a message of a publisher.

MQTT has no identifier of a message from end to end, so this is an estimate: a delivery belongs to the last PUBLISH of a
client with the same topic and the same payload that was captured at most `WITHIN_S` before. It is wrong where a client
repeats a message within that time, where a delivery waited longer, and where the capture has only one of the two.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ....common.words import counted, number, share
from ....traffic.statistics import PERCENTILES
from ....view.terminal.cells import Line
from ...engines import WHOLE_PACKETS
from ...listing import Listing, lines
from ...markup import NAME, NUMBER, TEXT
from ...plots import Bar, bars, drawn
from ...question import TOP, Answers, Contents, Question, ReportTables, Section, Stage
from ...sections import NO_TOPIC, about, listed, ranked
from ...sql import SECOND_US, percentiles, placed
from ...words import latency_text, name_text

WITHIN_S = 10
"""Seconds between a message and its deliveries, at most."""
CLASSES = (*range(5), *(step * 10**power for power in range(6) for step in (5, 10, 20)))
"""The least fan-out of each class."""
_KEY = "PARTITION BY resolved_topic, payload_bytes, content ORDER BY at, published DESC, capture, frame, pos"
_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND"
_SENT = f"""
    SELECT resolved_topic, payload_bytes, xxhash64(payload) AS content, capture, frame, pos, retain,
        unix_micros(time) AS at, direction = 'client' AS published
    FROM {{{WHOLE_PACKETS}}}
    WHERE type = 'PUBLISH' AND time IS NOT NULL AND resolved_topic IS NOT NULL AND direction IS NOT NULL
        AND error IS NULL AND NOT coalesce(dup, false)
"""
_FOLLOWING = f"""
    SELECT *, count_if(published) OVER ({_KEY} {_ROWS} CURRENT ROW) AS number,
        at - max(if(published, at, NULL)) OVER ({_KEY} {_ROWS} CURRENT ROW) <= {WITHIN_S * SECOND_US} AS near,
        at - max(if(published, at, NULL)) OVER ({_KEY} {_ROWS} 1 PRECEDING) <= {WITHIN_S * SECOND_US} AS again
    FROM ({_SENT})
"""
_DELIVERED = "NOT published AND coalesce(near, false)"
_LOST = "NOT published AND NOT coalesce(near, false)"
_SUMS = ", ".join(
    f"coalesce(sum({each}), 0) AS {each}" for each in ("messages", "deliveries", "retained", "unmatched", "repeated")
)
_MESSAGES = f"""
    SELECT resolved_topic AS topic, count_if(published) AS messages, count_if({_DELIVERED}) AS deliveries,
        count_if({_LOST} AND retain) AS retained, count_if({_LOST} AND NOT retain) AS unmatched,
        count_if(published AND coalesce(again, false)) AS repeated,
        max(at) FILTER (WHERE {_DELIVERED}) - min(at) FILTER (WHERE published) AS last_us
    FROM ({_FOLLOWING}) GROUP BY resolved_topic, payload_bytes, content, number
"""
"""SQL for messages with their deliveries; a row without a message has deliveries before the first one."""
_LEAST = " ".join(f"WHEN deliveries < {above} THEN {least}" for least, above in pairwise(CLASSES))
OF_CLASS, OF_TOPIC, OF_ALL = 1, 2, 3
"""What a row is about: a class, a topic, or all."""
_NAMES = {OF_CLASS: "class", OF_TOPIC: "topic", OF_ALL: "all"}
_COUNTED = f"""
    SELECT fan_class, topic, last_us, count(last_us) AS times, {_SUMS},
        max(deliveries) FILTER (WHERE messages > 0) AS most, count_if(messages > 0 AND deliveries = 0) AS undelivered
    FROM (SELECT *, if(messages > 0, CASE {_LEAST} ELSE {CLASSES[-1]} END, NULL) AS fan_class FROM ({_MESSAGES}))
    GROUP BY 1, 2, 3
"""
_THRICE = f"""
    SELECT grouping, if(grouping = {OF_CLASS}, fan_class, NULL) AS fan_class,
        if(grouping = {OF_TOPIC}, topic, NULL) AS topic, last_us, times, messages, deliveries, retained, unmatched,
        repeated, most, undelivered
    FROM {{counted}} LATERAL VIEW explode(array({OF_CLASS}, {OF_TOPIC}, {OF_ALL})) AS grouping
"""
_QUERY = f"""
    WITH grouped AS (
        SELECT grouping, fan_class, topic, {_SUMS}, max(most) AS most, coalesce(sum(undelivered), 0) AS undelivered,
            {percentiles("last_us")} AS delays_us
        FROM ({placed(_THRICE, "grouping, fan_class, topic", "last_us")}) GROUP BY grouping, fan_class, topic
    )
    SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY grouping ORDER BY deliveries DESC, messages DESC, topic) AS place
        FROM grouped
    ) WHERE grouping != {OF_TOPIC} OR place <= {TOP} ORDER BY grouping, fan_class, place
"""


class FanOut(NamedTuple):
    """Messages and their deliveries: of a class of fan-out, of a topic, or in total."""

    grouping: int
    fan_class: int | None
    """The least fan-out of the class; None where there is no message."""
    topic: str | None
    messages: int
    deliveries: int
    retained: int
    """FanOut without a message before them that are marked as retained."""
    unmatched: int
    """All other deliveries without a message before them."""
    repeated: int
    """Messages within WITHIN_S of an equal one."""
    most: int | None
    """The most deliveries of a message."""
    undelivered: int
    delays_us: Sequence[int] | None
    """Percentiles of the time from a message to its last delivery."""
    place: int = 0

    @property
    def without_message(self) -> int:
        """FanOut without a message before them."""
        return self.retained + self.unmatched


def _ask(tables: ReportTables) -> list[FanOut]:
    return tables.rows(FanOut, _QUERY, counted=tables.engine.kept(_COUNTED, tables.named(_COUNTED)))


def _whole(found: Sequence[FanOut]) -> FanOut | None:
    return next((row for row in found if row.grouping == OF_ALL), None)


# the page


def _contents(found: Sequence[FanOut], answers: Answers) -> Contents:
    whole = _whole(found)
    if not whole or not whole.messages + whole.without_message:
        return [about("No PUBLISH with a topic, a time and a known sender was seen.")]
    if not whole.messages:
        return [about("No PUBLISH of a client was captured, so deliveries have nothing to belong to.")]
    if not whole.deliveries + whole.without_message:
        return [about("No PUBLISH of a server was captured, so nothing is known about deliveries.")]
    explained = about(
        "How many PUBLISH of servers follow a PUBLISH of a client. This is an estimate, because MQTT does not mark "
        "which message a delivery comes from: a delivery belongs to the last message with the same topic and payload "
        f"in the {WITHIN_S} s before it. Re-deliveries (DUP) do not count. Equal messages that follow one another "
        f"within {WITHIN_S} s share their deliveries wrongly, and what a session kept for longer, a bridge renamed, or "
        "another capture holds is missed."
    )
    return [explained, about(_sentence(whole)), *_classes(found), *listed(_topics(found))]


def _sentence(whole: FanOut) -> str:
    """Return the sums of messages and deliveries."""
    mean = whole.deliveries / whole.messages
    text = (
        f"{counted(whole.messages, 'message')} got {counted(whole.deliveries, 'delivery', 'deliveries')}, "
        f"{mean:.2f} on average and {number(whole.most or 0)} at most; {number(whole.undelivered)} got none. "
        f"{counted(whole.without_message, 'delivery', 'deliveries')} had no message before "
        f"({number(whole.retained)} of them retained), and {counted(whole.repeated, 'message')} repeated an "
        f"equal one within {WITHIN_S} s."
    )
    if whole.delays_us:
        delays = (f"p{each} {latency_text(us)}" for each, us in zip(PERCENTILES, whole.delays_us, strict=True))
        text += f" The last delivery came after {', '.join(delays)}."
    return text


def _classes(found: Sequence[FanOut]) -> Contents:
    classes = [(_class(row.fan_class, row), row) for row in found
               if row.grouping == OF_CLASS and row.fan_class is not None]  # fmt: skip
    whole = sum(row.messages for _, row in classes)
    values = [
        Bar(label, 0, row.messages, "server",
            f"{label}: {counted(row.messages, 'message')}, {share(row.messages, whole)}")
        for label, row in classes
    ]  # fmt: skip
    columns = [("deliveries", TEXT), ("messages", NUMBER), ("of all", NUMBER), ("deliveries in all", NUMBER)]
    cells = [
        [label, number(row.messages), share(row.messages, whole), number(row.deliveries)] for label, row in classes
    ]
    title = "Messages by number of deliveries"
    return [drawn(bars(title, values, [("messages", "server")])), *ranked(title, columns, cells)]


def _class(least: int, row: FanOut) -> str:
    return number(least) if least == row.most else f"{number(least)} to {number(row.most or 0)}"


def _topics(found: Sequence[FanOut]) -> Listing:
    """Return the topics with the most deliveries."""
    columns = [("topic", NAME), ("messages", NUMBER), ("deliveries", NUMBER), ("mean", NUMBER), ("most", NUMBER),
               ("none", NUMBER), ("last one, p50", NUMBER), ("last one, p99", NUMBER), ("retained", NUMBER),
               ("no message", NUMBER)]  # fmt: skip
    cells = []
    for row in found:
        if row.grouping != OF_TOPIC or not row.deliveries + row.without_message:
            continue
        p50, *_, p99 = row.delays_us or (None,) * len(PERCENTILES)
        mean = f"{row.deliveries / row.messages:.2f}" if row.messages else "-"
        cells.append([
            name_text(row.topic, NO_TOPIC), number(row.messages), number(row.deliveries), mean, number(row.most or 0),
            number(row.undelivered), latency_text(p50), latency_text(p99), number(row.retained), number(row.unmatched),
        ])  # fmt: skip
    return Listing("Topics with the most deliveries", columns, cells, (0, 1, 2, 3, 4, 7))


# the terminal


def _lines(found: Sequence[FanOut], answers: Answers, width: int) -> Iterator[Line]:
    whole = _whole(found)
    if whole and whole.deliveries:
        yield from lines(_topics(found)._replace(caption="Estimated deliveries of a message, by topic"), width)


def _record(found: Sequence[FanOut], answers: Answers) -> Mapping[str, Any]:
    return {"fan_out": [_values(row) for row in found]}


def _values(row: FanOut) -> dict[str, Any]:
    values = row._asdict()
    for name in ("grouping", "fan_class", "place"):
        del values[name]
    return {"top": _NAMES[row.grouping], "class": row.fan_class, **values}


FAN_OUT = Question(
    Stage.THOROUGH, _ask, sections=(Section("fan-out", "Fan-out", _contents),), blocks=(_lines,), record=_record
)
