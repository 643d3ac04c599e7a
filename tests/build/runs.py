"""Runs of packets, made from packets in context one by one."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np

from mqttpub.spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.traffic.context import PacketInContext, TrafficItem
from mqttpub.traffic.runs import PacketRun, RunArrays, RunColumns

ACKS = (Puback, Pubrec, Pubrel, Pubcomp)


def with_runs(items: Iterable[TrafficItem]) -> Iterator[TrafficItem | PacketRun]:
    """Yield what a capture holds, with as many packets in runs as possible."""
    for whose, group in groupby(items, _whose):
        found: list[Any] = list(group)
        yield from found if whose is None else [run_of(found)]


def run_of(items: list[PacketInContext]) -> PacketRun:
    """Return packets of one end as a run."""
    first, packets = items[0], [each.packet for each in items]
    events = [each.event for each in items]
    data = [each.data for each in events]
    begin = [sum(map(len, data[:index])) for index in range(len(data))]
    columns = RunColumns()
    columns.buffer, columns.first = b"".join(data), bytes(each[0] for each in data)
    columns.begin, columns.size = begin, [len(each) for each in data]
    columns.time_ns = [each.time for each in events]
    columns.record, columns.offset = [each.record for each in events], [each.offset for each in events]
    columns.packet_id = [getattr(each, "packet_id", 0) or 0 for each in packets]
    columns.topic = [getattr(each, "topic", "") for each in packets]
    columns.payload_begin = [
        at + len(each) - len(getattr(packet, "payload", b""))
        for at, each, packet in zip(begin, data, packets, strict=True)
    ]
    columns.reason = [getattr(each, "reason_code", None) for each in packets]
    columns.arrays = _arrays(columns)
    event = first.event
    assert event.direction
    return PacketRun(columns, 0, len(items), event.ends, event.direction, event.version, event.guessed, first.client)


def _arrays(columns: RunColumns) -> RunArrays | None:
    """Return columns as arrays, if all times are in an array."""
    times = columns.time_ns
    if any(time is None or time >= 1 << 63 for time in times):
        return None
    names = ["", *dict.fromkeys(columns.topic)]
    topics = [
        names.index(topic, 1) if code >> 4 == Publish.code else 0
        for code, topic in zip(columns.first, columns.topic, strict=True)
    ]
    reasons = [-1 if reason is None else reason for reason in columns.reason]
    return RunArrays(
        np.array(times), np.frombuffer(columns.first, np.uint8), np.array(columns.packet_id),
        np.array(columns.begin), np.array(columns.payload_begin), np.array(columns.begin) + np.array(columns.size),
        np.array(topics), np.array(reasons), names,
    )  # fmt: skip


def _whose(item: TrafficItem) -> Any:
    """Return what the packets of a run have in common; None for what is in none."""
    if not isinstance(item, PacketInContext) or item.findings or not item.event.direction:
        return None
    packet, event = item.packet, item.event
    if isinstance(packet, Publish):
        if packet.dup or (item.topic and item.topic.alias is not None):
            return None
    elif not isinstance(packet, ACKS) or packet.properties or not packet.packet_id:
        return None
    return event.ends, event.direction, event.version, event.guessed, item.client
