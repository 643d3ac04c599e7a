"""What was captured: packets by kind and over time, connections by how they closed, the period, and the sources."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...common.times import iso
from ...common.words import number
from ...spark.pipeline.manifest import KnownSources, Manifest
from ..markup import NUMBER, TEXT, Markup, folded, table
from ..plots import drawn, stacked
from ..question import Answers, Contents, Question, ReportTables, Section, Stage
from ..rows import plain
from ..sections import SIDES, about, side
from ..sql import MOST_BINS, TALLY, Bins, bin_sql, bins_of
from ..words import step, time_text

ACKS = ("PUBACK", "PUBREC", "PUBREL", "PUBCOMP")
_GROUPS = (
    ("PUBLISH of clients", "client"), ("PUBLISH of servers", "server"), ("acks", "ack"),
    ("subscriptions", "subscription"), ("connections", "connection"), ("pings and others", "ping"),
)  # fmt: skip
"""Names and colours of the groups of packet types."""
_GROUP = {
    **dict.fromkeys(ACKS, 2), **dict.fromkeys(("SUBSCRIBE", "SUBACK", "UNSUBSCRIBE", "UNSUBACK"), 3),
    **dict.fromkeys(("CONNECT", "CONNACK", "DISCONNECT", "AUTH"), 4),
}  # fmt: skip

_KIND = "type, if(type = 'PUBLISH', qos, NULL) AS qos, direction"
_KINDS = f"""
    SELECT {_KIND}, min(type_code) AS code, {TALLY}, count_if(error IS NOT NULL) AS malformed,
        count_if(time IS NULL) AS untimed, unix_micros(min(time)) AS first, unix_micros(max(time)) AS last
    FROM {{packets}} GROUP BY 1, 2, 3 ORDER BY code, qos, direction
"""
_CONNECTIONS = """
    SELECT closed_by, closed_how, count(*) AS connections, sum(gaps) AS gaps FROM {connections}
    GROUP BY closed_by, closed_how ORDER BY connections DESC, closed_by, closed_how
"""


class PacketsOfKind(NamedTuple):
    """Packets of one type, QoS and direction."""

    type: str
    qos: int | None
    """Of PUBLISH; None for all other types."""
    direction: str | None
    code: int
    packets: int
    bytes: int
    malformed: int
    untimed: int
    """Packets without a time."""
    first: int | None
    """Microseconds since 1970."""
    last: int | None


class ClosedConnections(NamedTuple):
    """Connections by which end closed them first, and how."""

    closed_by: str | None
    closed_how: str | None
    connections: int
    gaps: int | None


class PacketsOfBin(NamedTuple):
    """Packets of one type, QoS and direction in an interval."""

    bin: int | None
    type: str
    qos: int | None
    direction: str | None
    packets: int
    bytes: int


class PacketTotals(NamedTuple):
    """Totals of all packets, and their period."""

    packets: int
    bytes: int
    malformed: int
    untimed: int
    first: int | None
    """Microseconds since 1970."""
    last: int | None

    @property
    def length_us(self) -> int | None:
        """The length of the period in microseconds; None without times."""
        return None if self.first is None or self.last is None else self.last - self.first


class Traffic(NamedTuple):
    """The packets and connections of the tables."""

    kinds: Sequence[PacketsOfKind] = ()
    closed: Sequence[ClosedConnections] = ()
    sources: Sequence[str] = ()
    """Unique names, in the order of capture."""
    runs: Sequence[str] = ()
    """The time at which each run that read them began, as ISO 8601."""
    bins: Bins | None = None
    """The intervals of `course`; None if no packet has a time."""
    course: Sequence[PacketsOfBin] = ()

    @property
    def totals(self) -> PacketTotals:
        """The totals over all kinds of packets."""
        kinds = self.kinds
        times = [time for kind in kinds for time in (kind.first, kind.last) if time is not None]
        return PacketTotals(
            sum(kind.packets for kind in kinds), sum(kind.bytes for kind in kinds),
            sum(kind.malformed for kind in kinds), sum(kind.untimed for kind in kinds),
            *((min(times), max(times)) if times else (None, None)),
        )  # fmt: skip

    @property
    def connections(self) -> int:
        """The number of connections."""
        return sum(row.connections for row in self.closed)

    def bins_of(self, most: int, least_us: int = 1) -> Bins | None:
        """Return the intervals of the period, at most `most`; None if no packet has a time."""
        return bins_of(self.totals.first, self.totals.last, most, least_us)


def _ask(tables: ReportTables) -> Traffic:
    sources = dict.fromkeys(KnownSources.in_folder(tables.folder).names(by_time=True))
    runs = (run["begun"] for run in Manifest.in_folder(tables.folder).runs)
    return Traffic(
        tables.rows(PacketsOfKind, _KINDS), tables.rows(ClosedConnections, _CONNECTIONS), tuple(sources), tuple(runs)
    )


def _complete(tables: ReportTables, found: Traffic) -> Traffic:
    bins = found.bins_of(MOST_BINS)
    if not bins:
        return found
    query = f"""
        SELECT {bin_sql("time", bins)} AS bin, {_KIND}, {TALLY} FROM {{packets}}
        GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    """
    return found._replace(bins=bins, course=[row for row in tables.rows(PacketsOfBin, query) if row.bin is not None])


# the page


def _contents(found: Traffic, answers: Answers) -> Contents:
    if not found.kinds:
        return [about("There are no packets.")]
    kinds, bins = _kinds(found.kinds), found.bins
    if not bins or not found.course:
        return [about("No packet has a time, so there is nothing to show over time."), kinds]
    packets = _binned(found.course, len(_GROUPS), _group, lambda row: row.packets)
    bytes = _binned(found.course, len(SIDES), lambda row: side(row.direction), lambda row: row.bytes)
    width = step(bins.width)
    plots = [
        drawn(stacked(f"Packets per {width}", _GROUPS, _parts(bins, packets), bins.period)),
        drawn(stacked(f"Bytes per {width}", SIDES, _parts(bins, bytes), bins.period)),
    ]
    columns = [("from", TEXT), *((name, NUMBER) for name, _ in (*_GROUPS, *SIDES))]
    none = [0] * len(_GROUPS), [0] * len(SIDES)
    numbers = [
        [time_text(bins.begin(at)), *map(number, packets.get(at, none[0])), *map(number, bytes.get(at, none[1]))]
        for at in bins.numbers()
    ]
    caption = f"Packets by type, and bytes by sender, per {width}"
    return [*plots, folded("The numbers of both plots", table(caption, columns, numbers)), kinds]


def _group(row: PacketsOfBin) -> int:
    return (row.direction == "server") if row.type == "PUBLISH" else _GROUP.get(row.type, len(_GROUPS) - 1)


def _binned(
    rows: Sequence[PacketsOfBin], count: int, place: Callable[[PacketsOfBin], int],
    value: Callable[[PacketsOfBin], int],
) -> dict[int, list[int]]:  # fmt: skip
    found: dict[int, list[int]] = {}
    for row in rows:
        assert row.bin is not None, "rows without a time are left out"
        found.setdefault(row.bin, [0] * count)[place(row)] += value(row)
    return found


def _parts(bins: Bins, binned: dict[int, list[int]]) -> Iterator[tuple[int, int, str, Sequence[int]]]:
    for at in sorted(binned):
        begin = bins.begin(at)
        yield begin, begin + bins.width, time_text(begin), binned[at]


def _kinds(kinds: Sequence[PacketsOfKind]) -> Markup:
    sums: dict[tuple[str, int | None], list[int]] = {}
    for row in kinds:
        added = sums.setdefault((row.type, row.qos), [0] * 2 * len(SIDES))
        at = 2 * side(row.direction)
        added[at] += row.packets
        added[at + 1] += row.bytes
    columns = [("packet", TEXT), *((f"{what}{sent}", NUMBER) for sent, _ in SIDES for what in ("", "bytes "))]
    unknown = any(each[-2] for each in sums.values())
    rows = [[name if qos is None else f"{name} QoS {qos}", *map(number, each)] for (name, qos), each in sums.items()]
    kept = len(columns) if unknown else len(columns) - 2
    return table("Packets by type", columns[:kept], [row[:kept] for row in rows])


# JSON


def _record(found: Traffic, answers: Answers) -> Mapping[str, Any]:
    totals = found.totals
    return {
        "begin": None if totals.first is None else iso(totals.first * 1000),
        "end": None if totals.last is None else iso(totals.last * 1000),
        "packets": totals.packets, "bytes": totals.bytes, "malformed": totals.malformed,
        "connections": plain(found.closed),
        "kinds": [
            {"type": row.type, "qos": row.qos, "direction": row.direction, "packets": row.packets, "bytes": row.bytes}
            for row in found.kinds
        ],
    }  # fmt: skip


TRAFFIC = Question(
    Stage.ALWAYS, _ask, _complete, sections=(Section("traffic", "Traffic over time", _contents),), record=_record
)
