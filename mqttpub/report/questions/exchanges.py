"""Exchanges: how often each outcome occurred, and how long the answers took."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...traffic.statistics import PERCENTILES
from ...view.terminal.cells import Line
from ..listing import count_cell, titled_table
from ..question import Answers, Question, ReportTables, Stage
from ..sections import ENDS
from ..sql import ANSWERED, measured
from ..words import latency_text

_NAMED = "client_id, sender, packet_id"
_RESUMED = f"(SELECT DISTINCT {_NAMED} FROM {{exchanges}} WHERE resumed AND client_id != '') USING ({_NAMED})"
"""SQL: the few names under which a message continued on the next connection of its client."""
_NEXT = f"lead(resumed) OVER (PARTITION BY {_NAMED}, qos > 0 ORDER BY begin_time, capture, first_frame, first_pos)"
"""SQL: whether the next exchange with the same Packet Identifier continues this one."""
ENDED = f"""(
    SELECT *, {ANSWERED}, coalesce(outcome = 'unfinished' AND {_NEXT}, false) AS continued
    FROM {{exchanges}} LEFT SEMI JOIN {_RESUMED}
    UNION ALL SELECT *, {ANSWERED}, false AS continued FROM {{exchanges}} LEFT ANTI JOIN {_RESUMED}
)"""
"""SQL for exchanges with the columns `answered` and `continued`: a later row describes the same message.

Only where a message continued must rows be sorted, which all of them would be too many for.
"""
OUTCOMES = ("complete", "refused", "unfinished", "superseded", "orphan")
_STYLES = {"complete": "", "refused": "error"}
_SUMS = {
    **{each: f"count_if(outcome = '{each}' AND NOT continued)" for each in OUTCOMES},
    "continued": "count_if(continued)", "dups": "sum(dups)",
}  # fmt: skip
_QUERY = f"{measured(ENDED, {'kind': 'kind', 'sender': 'sender'}, _SUMS)} ORDER BY kind, sender"


class ExchangeKind(NamedTuple):
    """Exchanges of one kind with one sender of the request.

    A message that continued on the next connection of its client counts once, by its outcome there.
    """

    kind: str
    sender: str | None
    complete: int
    refused: int
    unfinished: int
    superseded: int
    orphan: int
    continued: int
    """The number of rows of the table that are left out, as the message continued."""
    dups: int
    answers: int
    longest: int | None
    """Of the latencies of answers, in microseconds."""
    percentiles: Sequence[int] | None
    """Of the same, in the order of PERCENTILES."""

    @property
    def outcomes(self) -> Mapping[str, int]:
        """The numbers of exchanges by outcome, in the order of OUTCOMES."""
        counts = self.complete, self.refused, self.unfinished, self.superseded, self.orphan
        return dict(zip(OUTCOMES, counts, strict=True))

    @property
    def requested(self) -> int:
        """The number of exchanges whose request was captured, so that each is one message or subscription."""
        return self.complete + self.refused + self.unfinished + self.superseded


def _ask(tables: ReportTables) -> list[ExchangeKind]:
    return tables.rows(ExchangeKind, _QUERY)


# the terminal


def _outcomes(found: Sequence[ExchangeKind], answers: Answers, width: int) -> Iterator[Line]:
    if not found:
        return
    outcomes = [each for each in OUTCOMES if any(row.outcomes[each] for row in found)]
    yield from titled_table("Exchanges", ("", "asked by", *outcomes, "DUP"), (
        [(row.kind, "type"), (ENDS[row.sender], ""),
         *(count_cell(row.outcomes[each], _STYLES.get(each, "warning")) for each in outcomes), count_cell(row.dups)]
        for row in found
    ), width, 2)  # fmt: skip


def _latencies(found: Sequence[ExchangeKind], answers: Answers, width: int) -> Iterator[Line]:
    rows = [row for row in found if row.answers]
    if not rows:
        return
    columns = ("", "asked by", "count", *(f"p{each}" for each in PERCENTILES), "max")
    yield from titled_table("Time from a request to its last ack", columns, (
        [(row.kind, "type"), (ENDS[row.sender], ""), count_cell(row.answers),
         *((latency_text(each), "number") for each in (*(row.percentiles or ()), row.longest))]
        for row in rows
    ), width, 2)  # fmt: skip


# JSON


def _record(found: Sequence[ExchangeKind], answers: Answers) -> Mapping[str, Any]:
    rows = []
    for row in found:
        values = row._asdict()
        for name in ("answers", "longest", "percentiles"):
            del values[name]
        named = {f"p{each}_us": us for each, us in zip(PERCENTILES, row.percentiles or (), strict=False)}
        rows.append({**values, "answered": row.answers, **named, "max_us": row.longest})
    return {"exchanges": rows}


EXCHANGES = Question(Stage.ALWAYS, _ask, blocks=(_outcomes, _latencies), record=_record)
