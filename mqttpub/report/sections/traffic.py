"""The section on packets and bytes over time, and by type."""

from collections.abc import Callable, Iterator, Sequence

from ...common.words import number
from ..answers import ACKS, Bins, Row
from ..markup import NUMBER, TEXT, Markup, folded, table
from ..plots import drawn, stacked
from ..words import step, time_text
from .common import SIDES, ReportContext, Section, about, side

GROUPS = (
    ("PUBLISH of clients", "client"), ("PUBLISH of servers", "server"), ("acks", "ack"),
    ("subscriptions", "subscription"), ("connections", "connection"), ("pings and others", "ping"),
)  # fmt: skip
_GROUP = {
    **dict.fromkeys(ACKS, 2), **dict.fromkeys(("SUBSCRIBE", "SUBACK", "UNSUBSCRIBE", "UNSUBACK"), 3),
    **dict.fromkeys(("CONNECT", "CONNACK", "DISCONNECT", "AUTH"), 4),
}  # fmt: skip


def traffic(context: ReportContext) -> Section:
    """Return packets and bytes over time, and packets by type."""
    bins, rows = context.details.bins, context.details.traffic
    if not context.summary.kinds:
        return [about("There are no packets.")]
    content: Section = [_kinds(context)]
    if not bins or not rows:
        return [about("No packet has a time, so there is nothing to show over time."), *content]
    packets, bytes = _binned(rows, "packets", len(GROUPS), _group), _binned(rows, "bytes", len(SIDES), side)
    width = step(bins.width)
    plots = [
        drawn(stacked(f"Packets per {width}", GROUPS, _parts(context, bins, packets))),
        drawn(stacked(f"Bytes per {width}", SIDES, _parts(context, bins, bytes))),
    ]
    columns = [("from", TEXT), *((name, NUMBER) for name, _ in (*GROUPS, *SIDES))]
    numbers = [
        [time_text(bins.begin(at)), *map(number, packets.get(at, [0] * 6)), *map(number, bytes.get(at, [0] * 3))]
        for at in bins.numbers()
    ]
    caption = f"Packets by type, and bytes by sender, per {width}"
    return [*plots, folded("The numbers of both plots", table(caption, columns, numbers)), *content]


def _group(row: Row) -> int:
    return (row["direction"] == "server") if row["type"] == "PUBLISH" else _GROUP.get(row["type"], 5)


def _binned(rows: Sequence[Row], value: str, count: int, place: Callable[[Row], int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in rows:
        found.setdefault(row["bin"], [0] * count)[place(row)] += row[value]
    return found


def _parts(
    context: ReportContext, bins: Bins, binned: dict[int, list[int]]
) -> Iterator[tuple[int, int, str, Sequence[float]]]:
    for at in sorted(binned):
        begin = bins.begin(at)
        yield begin / 1000, (begin + bins.width) / 1000, time_text(begin), binned[at]  # type: ignore[misc]


def _kinds(context: ReportContext) -> Markup:
    sums: dict[tuple[str, int | None], list[int]] = {}
    for row in context.summary.kinds:
        added = sums.setdefault((row["type"], row["qos"]), [0] * 6)
        added[2 * side(row)] += row["packets"]
        added[2 * side(row) + 1] += row["bytes"]
    columns = [("packet", TEXT), *((f"{what}{sent}", NUMBER) for sent, _ in SIDES for what in ("", "bytes "))]
    unknown = any(each[4] for each in sums.values())
    rows = [[name if qos is None else f"{name} QoS {qos}", *map(number, each)] for (name, qos), each in sums.items()]
    kept = len(columns) if unknown else len(columns) - 2
    return table("Packets by type", columns[:kept], [row[:kept] for row in rows])
