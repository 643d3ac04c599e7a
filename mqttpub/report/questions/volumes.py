"""What bytes are used for: payload and overhead, what Topic Aliases save, and properties."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...common.words import counted, number, share
from ...spec.properties import PROPERTIES
from ...wire.types import BINARY, BYTE, PAIR, STRING, U16, U32, VARIABLE
from ..markup import NAME, NUMBER, TEXT, table
from ..plots import Bar, bars, drawn
from ..question import TOP, Answers, Contents, Question, ReportTables, Section, Stage
from ..sections import NO_TOPIC, about, ranked
from ..words import name_text
from .topics import TOPICS, TopicCounts
from .traffic import ACKS

MOST_PROPERTIES = 2 * TOP
"""Properties that are listed."""
_HEADER = """
    CASE WHEN packet_bytes <= 129 THEN 2 WHEN packet_bytes <= 16386 THEN 3
        WHEN packet_bytes <= 2097155 THEN 4 ELSE 5 END
"""
"""SQL for the bytes of a fixed header, whose length takes one to four (5.0: 1.5.5)."""
_SUMS = f"""
    SELECT sum(packet_bytes) AS bytes, sum(packet_bytes) FILTER (WHERE publish) AS publish,
        sum(payload_bytes) FILTER (WHERE whole) AS payload, sum({_HEADER}) FILTER (WHERE whole) AS headers,
        sum(octet_length(topic) + 2) FILTER (WHERE whole) AS topics,
        sum(if(qos > 0, 2, 0)) FILTER (WHERE whole) AS ids,
        sum(packet_bytes) FILTER (WHERE whole) AS known,
        sum(packet_bytes) FILTER (WHERE type IN ({", ".join(f"'{each}'" for each in ACKS)})) AS acks
    FROM (SELECT *, type = 'PUBLISH' AS publish, type = 'PUBLISH' AND error IS NULL AS whole FROM {{packets}})
"""
_TEXT = "octet_length(each.value)"
_NUMBER = "CAST(each.value AS bigint)"
_SIZES = {
    BYTE: "1", U16: "2", U32: "4", STRING: f"2 + {_TEXT}", PAIR: f"4 + octet_length(each.key) + {_TEXT}",
    BINARY: f"2 + ({_TEXT} - 4) div 2",
    VARIABLE: f"1 + if({_NUMBER} > 127, 1, 0) + if({_NUMBER} > 16383, 1, 0) + if({_NUMBER} > 2097151, 1, 0)",
}  # fmt: skip
"""SQL for the bytes of property values by type; the tables hold binary data as `hex:` and two digits per byte."""
_SIZE = " ".join(f"WHEN {row.id} THEN 1 + {_SIZES[row.type]}" for row in PROPERTIES.values() if not row.secret)
_PROPERTIES = f"""
    SELECT each.id AS id, each.name AS name, count(*) AS times, sum(CASE each.id {_SIZE} END) AS bytes
    FROM (SELECT explode(concat(coalesce(properties, array()), coalesce(will_properties, array()))) AS each
          FROM {{packets}} WHERE size(properties) > 0 OR size(will_properties) > 0)
    GROUP BY 1, 2 ORDER BY bytes DESC, id LIMIT {MOST_PROPERTIES}
"""


class ByteSums(NamedTuple):
    """Bytes of all packets and of some of them; None where there are none."""

    bytes: int | None
    publish: int | None
    """Of all PUBLISH; what follows, but for `acks`, is of those that are not malformed."""
    payload: int | None
    headers: int | None
    topics: int | None
    ids: int | None
    known: int | None
    """All of their bytes."""
    acks: int | None


class PropertyCount(NamedTuple):
    """How often a property was sent."""

    id: int
    name: str
    times: int
    bytes: int | None
    """None for one whose value the tables do not have, as it is secret."""


class Volumes(NamedTuple):
    """What bytes are used for."""

    purposes: Mapping[str, int]
    """Bytes by purpose; their sum is all bytes."""
    properties: Sequence[PropertyCount]


def _ask(tables: ReportTables) -> Volumes:
    (sums,) = tables.rows(ByteSums, _SUMS)
    return Volumes(_purposes(sums), tables.rows(PropertyCount, _PROPERTIES))


def _purposes(sums: ByteSums) -> dict[str, int]:
    every, publish, payload, headers, topics, ids, known, acks = (value or 0 for value in sums)
    return {
        "payload": payload, "fixed headers of PUBLISH": headers, "Topic Names": topics,
        "Packet Identifiers of PUBLISH": ids, "properties of PUBLISH": known - payload - headers - topics - ids,
        "unreadable PUBLISH": publish - known, ", ".join(ACKS): acks, "all other packets": every - publish - acks,
    }  # fmt: skip


def _contents(found: Volumes, answers: Answers) -> Contents:
    whole = sum(found.purposes.values())
    if not whole:
        return [about("There are no packets.")]
    there = {name: count for name, count in found.purposes.items() if count}
    values = [
        Bar(name, 0, count, "good" if name == "payload" else "client",
            f"{name}: {number(count)} bytes, {share(count, whole)}")
        for name, count in there.items()
    ]  # fmt: skip
    topics = answers[TOPICS]
    return [
        drawn(bars("Bytes by purpose", values, (("payload", "good"), ("overhead", "client")))),
        table("Bytes", [("", TEXT), ("bytes", NUMBER), ("of all", NUMBER)],
              [[name, number(count), share(count, whole)] for name, count in there.items()]),
        about(_aliases(topics.total)), *_savable(topics.top("savable")), *_properties(found.properties),
    ]  # fmt: skip


def _aliases(topics: TopicCounts) -> str:
    used = f"{counted(topics.aliased, 'PUBLISH packet')} had a Topic Alias instead of a Topic Name"
    saved = topics.saved
    kept = f"aliases saved {counted(saved, 'byte')}" if saved >= 0 else f"aliases cost {counted(-saved, 'byte')} more"
    more = f"would save {number(topics.savable)} if the receivers allow as many"
    return f"{used}; in total, {kept}, and aliases for all repeated topics on connections of MQTT 5.0 {more}."


def _savable(rows: Sequence[TopicCounts]) -> Contents:
    if not rows:
        return []
    columns = [("topic", NAME), ("messages", NUMBER), ("bytes of its name", NUMBER), ("could be saved", NUMBER)]
    cells = [[name_text(row.who, NO_TOPIC), *map(number, (row.messages, row.topic_bytes, row.savable))] for row in rows]
    return ranked("Topics that would save the most with an alias", columns, cells)


def _properties(rows: Sequence[PropertyCount]) -> Contents:
    if not rows:
        return [about("No packet has a property.")]
    columns = [("property", TEXT), ("times", NUMBER), ("bytes", NUMBER)]
    cells = [
        [row.name.replace("_", " "), number(row.times), "-" if row.bytes is None else number(row.bytes)] for row in rows
    ]
    return ranked("Properties, including those of wills", columns, cells)


VOLUMES = Question(Stage.PAGE, _ask, sections=(Section("bytes", "Overhead and aliases", _contents),))
