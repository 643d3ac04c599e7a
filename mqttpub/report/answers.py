"""What a report tells: the answers to its questions, as small as they are shown."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Row = dict[str, Any]
"""A row of an answer, by the names of its columns."""
ALL = "all"
"""Marks the one row of an answer that adds all others up."""

CLIENT, SERVER = "client", "server"
SENDERS = (CLIENT, SERVER, None)
OUTCOMES = ("complete", "refused", "unfinished", "superseded", "orphan")
REQUESTED = OUTCOMES[:-1]
"""Outcomes of what has a request, so that it is a message or a subscription."""
ACKS = ("PUBACK", "PUBREC", "PUBREL", "PUBCOMP")


class Bins(NamedTuple):
    """How time is divided."""

    width: int
    """Microseconds."""
    first: int
    """Number of the first bin, counted in widths from 1970."""
    length: int
    """How many."""

    def begin(self, number: int) -> int:
        """Return the begin of a bin in microseconds since 1970."""
        return number * self.width

    def numbers(self) -> range:
        """Return the numbers of all bins."""
        return range(self.first, self.first + self.length)


class Span(NamedTuple):
    """What there is, and from when to when."""

    packets: int
    bytes: int
    unreadable: int
    untimed: int
    """Packets of which nothing tells the time."""
    first: int | None
    """Microseconds since 1970."""
    last: int | None


class Example(NamedTuple):
    """A packet that breaks a statement."""

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
    """What the table of packets has on it; None where it is not one."""
    began: str = ""
    """The capture in which the connection begins; empty where the finding is about a packet."""
    client: str | None = None
    """The address of the client of that connection."""


class Fault(NamedTuple):
    """Findings of one statement."""

    severity: str
    statement: str
    """Its id; empty for findings of no statement."""
    times: int
    clients: int
    example: Example | None


class Made(NamedTuple):
    """What the tables were made from."""

    sources: tuple[str, ...] = ()
    """Names of captures, each once, in the order in which they were captured."""
    runs: tuple[str, ...] = ()
    """When each run began, as ISO 8601."""


class Summary(NamedTuple):
    """What a terminal shows after each run."""

    connections: list[Row]
    """How they ended: closed_by, closed_how, connections, gaps."""
    kinds: list[Row]
    """Packets by type, QoS and direction, with their bytes, and the times of the first and the last."""
    exchanges: list[Row]
    """By kind and sender: how they ended, and percentiles of their latency in microseconds.

    What went on on the next connection of its client counts once, by how it ended there; `continued`
    says how many rows of the table that leaves out.
    """
    clients: list[Row]
    """Those that are first in something; one row adds all up."""
    topics: list[Row]
    faults: list[Fault] | None
    """None where nothing was judged."""
    made: Made = Made()

    @property
    def span(self) -> Span:
        """What all kinds of packets add up to."""
        times = [row[name] for row in self.kinds for name in ("first", "last") if row[name] is not None]
        sums = (sum(row[name] for row in self.kinds) for name in ("packets", "bytes", "unreadable", "untimed"))
        return Span(*sums, *((min(times), max(times)) if times else (None, None)))


class Details(NamedTuple):
    """What only the page shows."""

    bins: Bins | None
    """None where no packet has a time."""
    traffic: list[Row]
    """Packets and bytes by bin, direction, type, qos."""
    latencies: list[Row]
    """Percentiles by bin and sender."""
    slow_topics: list[Row]
    slow_clients: list[Row]
    links: Bins | None
    """The bins of `worst`."""
    worst: list[Row]
    """Messages of QoS 1 and 2 of clients with a bad link, by who and bin."""
    refused: list[Row]
    properties: list[Row]
    overhead: dict[str, int]
    """Bytes by what they are; their sum is all bytes."""
    unended: list[Row]
    """The first exchanges that never ended."""


def total(rows: Sequence[Row]) -> Row:
    """Return the row that adds all others up."""
    return next(row for row in rows if row["top"] == ALL)


def top(rows: Sequence[Row], by: str) -> Iterator[Row]:
    """Yield the rows that are first in something, in that order."""
    return (row for row in rows if row["top"] == by)


def dup_rate(row: Row, side: str = "") -> float | None:
    """Return the part of the messages of QoS 1 and 2 that are re-deliveries; None where there are none."""
    publishes = row[f"{side}_publishes" if side else "publishes"]
    return row[f"{side}_dups" if side else "dups"] / publishes if publishes else None
