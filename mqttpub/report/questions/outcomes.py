"""How exchanges ended: by outcome, the first that never ended, and refusals by Reason Code."""

from collections.abc import Sequence
from typing import NamedTuple

from ...common.escape import escape
from ...common.words import counted, number, share
from ...spec.reason_codes import FAILURE
from ..markup import NAME, NUMBER, TEXT, table
from ..plots import Bar, bars, drawn, stack
from ..question import TOP, Answers, Contents, Question, ReportTables, Section, Stage
from ..sections import ENDS, NAMED, NO_TOPIC, NOBODY, about, ranked
from ..sql import WHO
from ..words import name_text, reason, time_text
from .exchanges import ENDED, EXCHANGES, OUTCOMES, ExchangeKind
from .traffic import TRAFFIC

MOST_CODES = 2 * TOP
"""Reason Codes that are listed."""
_HUES = dict(zip(OUTCOMES, ("good", "refused", "open", "again", "orphan"), strict=True))
_UNENDED = f"""
    SELECT unix_micros(begin_time) AS time, {WHO} AS who, kind, packet_id,
        coalesce(topic, array_join(filters, ', ')) AS topic, last_type, capture, first_frame AS frame
    FROM {ENDED} WHERE outcome = 'unfinished' AND NOT continued
    ORDER BY begin_time, capture, first_frame, first_pos LIMIT {TOP}
"""
_REFUSED = f"""
    SELECT type, version, code, count(*) AS times, count(DISTINCT who) AS clients
    FROM (SELECT type, version, {WHO} AS who, explode(coalesce(reason_codes, array(reason_code))) AS code
          FROM {{packets}} WHERE reason_code IS NOT NULL OR reason_codes IS NOT NULL)
    WHERE code >= {FAILURE} OR (type = 'CONNACK' AND code > 0)
    GROUP BY type, version, code ORDER BY times DESC, type, version, code LIMIT {MOST_CODES}
"""


class UnendedExchange(NamedTuple):
    """An exchange that never ended."""

    time: int | None
    """When it began, in microseconds since 1970."""
    who: str
    kind: str
    packet_id: int | None
    topic: str | None
    """The topic of a message, or the filters of a subscription."""
    last_type: str
    """The type of its last packet."""
    capture: str
    frame: int


class RefusedCode(NamedTuple):
    """A Reason Code that means a refusal."""

    type: str
    version: str
    code: int
    times: int
    clients: int

    @property
    def text(self) -> str:
        """The code and its name."""
        return reason(self.type, self.code, self.version)


class Outcomes(NamedTuple):
    """Exchanges that never ended, and refusals."""

    unended: Sequence[UnendedExchange]
    """The first of them."""
    refused: Sequence[RefusedCode]


def _ask(tables: ReportTables) -> Outcomes:
    return Outcomes(tables.rows(UnendedExchange, _UNENDED), tables.rows(RefusedCode, _REFUSED))


# exchanges


def _exchanges(found: Outcomes, answers: Answers) -> Contents:
    rows = answers[EXCHANGES]
    if not rows:
        return [about("There are no exchanges: QoS 0 has none, and nobody subscribed.")]
    values: list[Bar] = []
    for row in rows:
        label, whole = f"{row.kind}, {ENDS[row.sender]}", sum(row.outcomes.values())
        values += stack(label, (
            (count, _HUES[outcome], f"{label}: {number(count)} {outcome}, {share(count, whole)}")
            for outcome, count in row.outcomes.items()
        ))  # fmt: skip
    columns = [("kind", TEXT), ("asked by", TEXT), *((each, NUMBER) for each in OUTCOMES), ("DUP", NUMBER)]
    numbers = [[row.kind, ENDS[row.sender], *map(number, row.outcomes.values()), number(row.dups)] for row in rows]
    explained = about(
        "Unfinished: the last ack never came. Superseded: its Packet Identifier was used again before that. Orphan: an "
        f"ack whose request was not captured.{_continued(rows)}"
    )
    colors = [(each, _HUES[each]) for each in OUTCOMES if any(row.outcomes[each] for row in rows)]
    plot = drawn(bars("Exchanges by outcome", values, colors))
    return [explained, plot, table("By kind", columns, numbers), *_unended(found.unended, answers)]


def _continued(rows: Sequence[ExchangeKind]) -> str:
    """Return the sentence on messages that span connections, each with several rows in the table of exchanges."""
    count = sum(row.continued for row in rows)
    if not count:
        return ""
    left = f"{counted(count, 'time')} a connection ended before the last ack, and the message continued on the next "
    return f" {left}connection of its client: it counts once, by its outcome there."


def _unended(rows: Sequence[UnendedExchange], answers: Answers) -> Contents:
    if not rows:
        return []
    columns = [("begin", TEXT), ("client", NAME), ("kind", TEXT), ("Packet Identifier", NUMBER), ("topic", NAME),
               ("last packet", TEXT), ("record", NUMBER), ("capture", NAME)]  # fmt: skip
    numbers = [
        [time_text(row.time), name_text(row.who, NOBODY), row.kind, str(row.packet_id), name_text(row.topic, NO_TOPIC),
         row.last_type, number(row.frame), escape(row.capture)]
        for row in rows
    ]  # fmt: skip
    count = sum(row.unfinished for row in answers[EXCHANGES])
    which = "Unfinished, all of them" if count <= len(rows) else f"Unfinished, the first {len(rows)} of {number(count)}"
    # The head of the page names a single capture.
    kept = len(columns) - (len(answers[TRAFFIC].sources) == 1)
    return ranked(which, columns[:kept], [row[:kept] for row in numbers])


# refusals


def _refused(found: Outcomes, answers: Answers) -> Contents:
    rows = found.refused
    if not rows:
        return [about("No packet has a Reason Code that means a refusal.")]
    names = [f"{row.type} {row.text} ({row.version})" for row in rows[:NAMED]]
    values = [
        Bar(name, 0, row.times, "refused", f"{name}: {number(row.times)}")
        for name, row in zip(names, rows, strict=False)
    ]
    columns = [("packet", TEXT), ("Reason Code", TEXT), ("version", TEXT), ("times", NUMBER), ("clients", NUMBER)]
    numbers = [[row.type, row.text, row.version, number(row.times), number(row.clients)] for row in rows]
    plot = bars("Refused by Reason Code", values, [("times", "refused")])
    return [drawn(plot), *ranked("Reason Codes", columns, numbers)]


ENDINGS = Question(
    Stage.PAGE, _ask,
    sections=(
        Section("exchanges", "Exchanges by outcome", _exchanges), Section("refused", "Refused by Reason Code", _refused)
    ),
)  # fmt: skip
