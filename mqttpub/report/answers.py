"""The answers that a report shows: small results of queries on the tables, as plain values."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .payloads.answers import PayloadAnswers
from .payloads.answers import Row as Row

ALL = "all"
"""Marks the row of an answer that holds the totals."""

CLIENT, SERVER = "client", "server"
SENDERS = (CLIENT, SERVER, None)
OUTCOMES = ("complete", "refused", "unfinished", "superseded", "orphan")
REQUESTED = OUTCOMES[:-1]
"""Outcomes of exchanges whose request was captured, so that each is one message or subscription."""
ACKS = ("PUBACK", "PUBREC", "PUBREL", "PUBCOMP")


class Bins(NamedTuple):
    """Equal intervals of time, numbered from 1970."""

    width: int
    """In microseconds."""
    first: int
    """The number of the first bin."""
    length: int
    """The number of bins."""

    def begin(self, number: int) -> int:
        """Return the beginning of a bin in microseconds since 1970."""
        return number * self.width

    def numbers(self) -> range:
        """Return the numbers of all bins."""
        return range(self.first, self.first + self.length)


class PacketTotals(NamedTuple):
    """Totals of all packets, and their period."""

    packets: int
    bytes: int
    malformed: int
    untimed: int
    """Packets without a time."""
    first: int | None
    """Microseconds since 1970."""
    last: int | None

    @property
    def length_us(self) -> int | None:
        """The length of the period in microseconds; None without times."""
        return None if self.first is None or self.last is None else self.last - self.first


class Example(NamedTuple):
    """The first finding of a statement."""

    capture: str
    frame: int | None
    pos: int | None
    time: int | None
    """Microseconds since 1970."""
    direction: str | None
    type: str | None
    path: str
    message: str
    packet: Row | None
    """Its row in the table of packets; None for a finding about a connection."""
    began: str = ""
    """The capture in which the connection begins; empty for a finding about a packet."""
    client: str | None = None
    """The address of the client of that connection."""
    at_fault: str | None = None
    """The end that breaks the statement; None if that is unknown, and in tables that do not say it."""


class StatementFindings(NamedTuple):
    """The findings of one statement."""

    severity: str
    statement: str
    """Its id; empty for findings without a statement."""
    times: int
    clients: int
    example: Example | None


class Made(NamedTuple):
    """The sources of the tables and the runs that read them."""

    sources: tuple[str, ...] = ()
    """Unique names, in the order of capture."""
    runs: tuple[str, ...] = ()
    """The time at which each run began, as ISO 8601."""


class Churn(NamedTuple):
    """How connections come and go."""

    clients: Sequence[Row] = ()
    """The clients that connect or are taken over most often, and totals; lives are in microseconds."""
    ends: Sequence[Row] = ()
    """Connections by how they ended, by whom, and with which Reason Code."""


class Anomalies(NamedTuple):
    """Intervals in which a client differs from its own past."""

    bins: Bins | None = None
    """The intervals; None if no packet has a time."""
    clients: int = 0
    judged: int = 0
    """Clients with enough earlier intervals."""
    rows: Sequence[Row] = ()
    """By client and measure: the number of anomalies, the interval of the first, and the greatest."""

    @property
    def series(self) -> int:
        """The number of measures of clients with anomalies, of which `rows` has the first."""
        return self.rows[0]["series"] if self.rows else 0


class Summary(NamedTuple):
    """The answers that a terminal shows after each run."""

    connections: list[Row]
    """Numbers of connections by closed_by and closed_how, with their gaps."""
    kinds: list[Row]
    """Packets by type, QoS and direction, with their bytes, and the times of the first and the last."""
    exchanges: list[Row]
    """Outcomes by kind and sender, and percentiles of latency in microseconds.

    A message that continued on the next connection of its client counts once, by its outcome there;
    `continued` is the number of rows of the table that are left out for that.
    """
    clients: list[Row]
    """The top clients by several measures, and the totals."""
    topics: list[Row]
    """The top topics by several measures, and the totals."""
    faults: list[StatementFindings] | None
    """None if nothing was checked."""
    culprits: Sequence[Row] = ()
    """The clients and servers with the most findings, each with its statements, and totals."""
    made: Made = Made()
    payloads: PayloadAnswers | None = None
    """None if nobody asked, as it takes a while."""
    churn: Churn = Churn()
    silences: Sequence[Row] = ()
    """The clients with the longest silences compared with their Keep Alive, and totals."""
    topic_tree: Sequence[Row] = ()
    """Levels of topics, each followed by those below it."""
    fan_out: Sequence[Row] = ()
    """Messages and deliveries by class of fan-out, of the top topics, and in total."""
    anomalies: Anomalies = Anomalies()
    comparison: "Comparison | None" = None
    """With another run; None if there is none to compare."""

    @property
    def span(self) -> PacketTotals:
        """The totals over all kinds of packets."""
        times = [row[name] for row in self.kinds for name in ("first", "last") if row[name] is not None]
        sums = (sum(row[name] for row in self.kinds) for name in ("packets", "bytes", "malformed", "untimed"))
        return PacketTotals(*sums, *((min(times), max(times)) if times else (None, None)))


class Comparison(NamedTuple):
    """What is different in another run."""

    folder: str
    """Of its tables."""
    summary: Summary
    clients: Sequence[Row]
    """Client Identifiers by `kind`: new, gone or both, with `number`, how many there are of that kind."""
    topics: Sequence[Row]
    latencies: Sequence[Row]
    """Percentiles (p50, p95, p99) of latency by run, kind and sender, in microseconds."""


class Details(NamedTuple):
    """The answers that only the page shows."""

    bins: Bins | None
    """None if no packet has a time."""
    traffic: list[Row]
    """Packets and bytes by bin, direction, type, qos."""
    latencies: list[Row]
    """Percentiles by bin and sender."""
    slow_topics: list[Row]
    slow_clients: list[Row]
    links: Bins | None
    """The bins of `worst`."""
    worst: list[Row]
    """Messages of QoS 1 and 2 of the clients with the worst links, by client and bin."""
    refused: list[Row]
    properties: list[Row]
    overhead: dict[str, int]
    """Bytes by purpose; their sum is all bytes."""
    unended: list[Row]
    """The first exchanges that never ended."""
    connect_bins: Bins | None = None
    """The bins of `connects`, of an hour or more."""
    connects: Sequence[Row] = ()
    """Connections by client and bin, of the clients that connect most often."""


def total(rows: Sequence[Row]) -> Row:
    """Return the row of totals."""
    return next(row for row in rows if row["top"] == ALL)


def top(rows: Sequence[Row], by: str) -> Iterator[Row]:
    """Yield the top rows by a measure, in rank order."""
    return (row for row in rows if row["top"] == by)


def dup_rate(row: Row, side: str = "") -> float | None:
    """Return the share of re-deliveries in PUBLISH of QoS 1 and 2, of one side or both; None without any PUBLISH."""
    publishes = row[f"{side}_publishes" if side else "publishes"]
    return row[f"{side}_dups" if side else "dups"] / publishes if publishes else None
