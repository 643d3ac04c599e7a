"""The silences of clients, compared with their Keep Alive."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ....common.words import counted, number
from ....spec.properties import SERVER_KEEP_ALIVE
from ....view.terminal.cells import Line
from ...listing import Listing, lines
from ...markup import NAME, NUMBER, TEXT
from ...question import Answers, Contents, Question, Ranking, ReportTables, Section, Stage
from ...sections import NOBODY, about, listed
from ...sql import SECOND_US, WHO
from ...words import name_text, span_text, time_text
from .churn import FOLLOWED

TIMED_OUT = 0x8D
"""Reason Code of DISCONNECT: Keep Alive timeout (5.0: 3.14.2.1)."""
GRACE = 1.5
"""The server must end a connection after so many times its Keep Alive (5.0: 3.1.2-22)."""
_SPOKEN = """
    SELECT connection, direction, unix_micros(time) AS at,
        unix_micros(lag(time) OVER (PARTITION BY connection, direction ORDER BY time, frame, pos)) AS before
    FROM {packets} WHERE time IS NOT NULL AND direction = 'client'
"""
_HEARD = f"""
    SELECT connection, count(*) AS timed, max(at) AS last_at,
        max(struct(at - before AS silence_us, before AS since)) FILTER (WHERE before IS NOT NULL) AS longest
    FROM ({_SPOKEN}) GROUP BY connection
"""
_GIVEN = f"""
    SELECT connection, min_by(CAST(each.value AS int), at) AS server_keep_alive
    FROM (SELECT connection, time AS at, explode(properties) AS each FROM {{packets}} WHERE type = 'CONNACK')
    WHERE each.id = {SERVER_KEEP_ALIVE.id} GROUP BY connection
"""
_LEFT = "if(disconnected_by IS DISTINCT FROM 'client' AND left_at IS NOT NULL AND last_at IS NOT NULL, {}, NULL)"
_JUDGED = f"""
    SELECT *, silence.silence_us / {SECOND_US} / nullif(allowed_s, 0) AS ratio
    FROM (
        SELECT {WHO} AS who, coalesce(timed = client_packets, false) AS whole,
            coalesce(server_keep_alive, keep_alive) AS allowed_s, server_keep_alive IS NOT NULL AS by_server,
            disconnected_by = 'server' AND disconnect_reason_code = {TIMED_OUT} AS timed_out,
            greatest(longest, {_LEFT.format("struct(left_at - last_at AS silence_us, last_at AS since)")}) AS silence
        FROM (SELECT *, unix_micros(least(until, next_begin)) AS left_at FROM ({FOLLOWED}))
            LEFT JOIN ({_HEARD}) USING (connection) LEFT JOIN ({_GIVEN}) USING (connection)
        WHERE keep_alive IS NOT NULL
    )
"""
"""SQL for connections with CONNECT: the longest silence of the client, up to its end or the next one of the client.

One is whole if the table has all packets of its client with their times; without them there is no silence to measure.
"""
_MEASURED = "whole AND allowed_s > 0"
_WORST = "ratio, silence.silence_us AS silence_us, allowed_s, silence.since AS since"
_QUERY = f"""
    SELECT who, connections, off, by_server, unmeasured, late, missed, timed_out, worst.ratio AS ratio,
        worst.silence_us AS silence_us, worst.allowed_s AS allowed_s, worst.since AS since
    FROM (
        SELECT who, count(*) AS connections, count_if(allowed_s = 0) AS off, count_if(by_server) AS by_server,
            count_if(allowed_s > 0 AND NOT whole) AS unmeasured, count_if({_MEASURED} AND ratio > 1) AS late,
            count_if({_MEASURED} AND ratio > {GRACE}) AS missed, count_if(coalesce(timed_out, false)) AS timed_out,
            max(struct({_WORST})) FILTER (WHERE {_MEASURED} AND ratio IS NOT NULL) AS worst
        FROM ({_JUDGED}) GROUP BY who
    )
"""


class ClientSilences(NamedTuple):
    """The connections with CONNECT of a client, and its longest silence compared with Keep Alive."""

    who: str | None
    connections: int = 0
    off: int = 0
    """Connections whose Keep Alive was turned off."""
    by_server: int = 0
    """Connections whose Keep Alive the server chose."""
    unmeasured: int = 0
    late: int = 0
    """Connections with a silence longer than Keep Alive."""
    missed: int = 0
    """Connections with one of more than GRACE times as long."""
    timed_out: int = 0
    """Connections that the server ended for that."""
    ratio: float = 0
    """The greatest ratio of a silence and Keep Alive."""
    silence_us: int | None = None
    """That silence; None in totals, as what follows."""
    allowed_s: int | None = None
    since: int | None = None
    """Its beginning in microseconds since 1970."""


_SUMS = ("connections", "off", "by_server", "unmeasured", "late", "missed", "timed_out")
_TOTALS = {**dict.fromkeys(_SUMS, "sum"), "ratio": "max", **dict.fromkeys(("silence_us", "allowed_s", "since"), "")}


def _ask(tables: ReportTables) -> Ranking[ClientSilences]:
    return tables.ranking(ClientSilences, _QUERY, _TOTALS, {"ratio": "ratio"}, "connections")


# the page


def _contents(found: Ranking[ClientSilences], answers: Answers) -> Contents:
    if not found.total.connections:
        return [about("No CONNECT was captured, so no Keep Alive is known.")]
    explained = about(
        "The longest time between two packets of a client on one connection, or from its last packet to the end of the "
        "connection or the next connection of the client, as seen at the point of capture. A client must not be silent "
        "for longer than its Keep Alive (MQTT5-3.1.2-20), for which Server Keep Alive in CONNACK takes precedence; "
        f"after {GRACE} times as long the server must end the connection (MQTT5-3.1.2-22)."
    )
    return [explained, about(_sentence(found.total)), *listed(_longest(found))]


def _sentence(whole: ClientSilences) -> str:
    """Return how many connections were measured, and how many clients were too late."""
    measured = whole.connections - whole.off - whole.unmeasured
    counts = f"{number(whole.late)} had a longer silence, and {number(whole.missed)} one of more than {GRACE} times"
    parts = [f"of {counted(measured, 'connection')} with a Keep Alive, {counts} as long"]
    if not measured:
        parts = ["no connection had a Keep Alive that it could be compared with"]
    if whole.timed_out:
        parts.append(f"the server ended {number(whole.timed_out)} with 0x{TIMED_OUT:02x}, Keep Alive timeout")
    if whole.off:
        parts.append(f"{counted(whole.off, 'connection')} had Keep Alive turned off")
    if whole.unmeasured:
        parts.append(
            f"{counted(whole.unmeasured, 'connection')} could not be measured, since the table does not have all "
            "packets of the client with their times"
        )
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _longest(found: Ranking[ClientSilences], least_late: int = 0) -> Listing:
    """Return the clients whose silence was the longest compared with their Keep Alive."""
    columns = [("client", NAME), ("silence", NUMBER), ("Keep Alive", NUMBER), ("ratio", NUMBER), ("silent since", TEXT),
               ("connections", NUMBER), ("late", NUMBER), (f"above {GRACE}", NUMBER),
               ("timed out", NUMBER)]  # fmt: skip
    cells = [
        [name_text(row.who, NOBODY), span_text(row.silence_us or 0), f"{number(row.allowed_s or 0)} s",
         f"{row.ratio:.2f}", time_text(row.since),
         *map(number, (row.connections, row.late, row.missed, row.timed_out))]
        for row in found.top("ratio") if row.late >= least_late
    ]  # fmt: skip
    return Listing("Longest silences compared with Keep Alive", columns, cells, (0, 1, 2, 3, 5, 6, 7))


# the terminal


def _lines(found: Ranking[ClientSilences], answers: Answers, width: int) -> Iterator[Line]:
    if found.total.late:
        yield from lines(_longest(found, least_late=1), width)
    elif found.total.ratio:
        yield [("Silences longer than Keep Alive: none", "heading")]


def _record(found: Ranking[ClientSilences], answers: Answers) -> Mapping[str, Any]:
    return {"silences": found.record()}


SILENCES = Question(
    Stage.THOROUGH, _ask, sections=(Section("silences", "Silences and Keep Alive", _contents),), blocks=(_lines,),
    record=_record,
)  # fmt: skip
