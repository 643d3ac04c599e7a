"""`pub --inspect`: every packet with its direction, its time and every byte named, as it passes."""

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from ...codec.frame_runs import FrameRun
from ...codec.stream import Frame
from ...codec.tree import Finding
from ...lint.packet.judge import PacketJudge
from ...live.shield import SHIELD
from ...spec.declare import Packet
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec
from ...spec.versions import Direction, Version
from ...view.packet.show import Show

if TYPE_CHECKING:
    from ...live.net.dial import Route
    from ...view.packet.record_json import RecordWriter
    from ...view.packet.twins import TwinDumps, TwinTexts
    from .watch import WatchedConnection

ACKS = (Puback, Pubrec, Pubcomp)
ACK_BYTES = frozenset(kind.code << 4 for kind in ACKS)
"""First bytes of these."""
MAX_WAITING = 1000
"""Number of gathered packets that are shown at once."""
FEWEST_TOGETHER = 4
"""Fewest packets that are drawn together."""
LONGEST_WAIT_S = 0.1
"""Longest time that a packet waits before it is shown."""


class _Alike:
    """Packets with one fixed header, of several runs."""

    def __init__(self, run: FrameRun) -> None:
        first = run.data[0]
        self.acknowledges = first in ACK_BYTES and run.direction is Direction.SERVER
        """Whether the packets acknowledge messages that were published."""
        self.publishes = first >> 4 == Publish.code and run.direction is Direction.CLIENT
        self.data: list[bytes] = []
        self.twins: TwinTexts | None = None
        """Their texts, if all can be drawn together."""
        self.times: list[bytes] = []
        """For each packet, the line below its headline."""
        self.texts: Iterator[bytes] = iter(())
        """What is shown of the packets, as UTF-8."""


class Inspector:
    """Observes a tap; shows what passed when the connection falls quiet, or when it has waited long enough."""

    def __init__(
        self,
        version: Version,
        *,
        json: bool = False,
        secrets: bool = False,
        full: bool = False,
        watch: "WatchedConnection | None" = None,
    ) -> None:
        self.version = version
        self.json = json
        self.show = Show(secrets=secrets, full=full, gathers=True)
        self._records = _records(secrets=secrets) if json else None
        self._judge = PacketJudge()
        self.begun = time.time()
        self.waiting: deque[Any] = deque()
        self._waiting_packets = 0
        self._due = 0.0
        """Monotonic time at which the first of what waits is to be shown."""
        self._last = 0.0, ""
        """A time and the words for it, which most packets have in common with the one before."""
        self._last_line: tuple[float, float | None, bytes] = 0.0, None, b""
        """A time, the seconds after a PUBLISH and the line for them."""
        self.published: dict[int, float] = {}
        self.label: LabelledInspector | None = None
        """The connection, of several, whose packets come."""
        self._more = ""
        """What names the connection, of several, whose packets are shown, as the end of a record."""
        self.watch = watch
        """Checks each packet together with those before it; without it each is checked alone."""

    def __call__(self, now: float, frame: Frame) -> None:
        """Take one packet from the tap."""
        # Findings depend on the time at which the packet passed, not on that at which it is shown.
        self._add(now, (frame, *self.watch.judged(now, frame)) if self.watch else (frame, None, None))

    def together(self, now: float, runs: Sequence[FrameRun]) -> None:
        """Take packets that passed together."""
        found = self.watch.judged_together(now, runs) if self.watch else {}
        for run in runs:
            offsets = range(run.offset, run.offset + len(run.data), run.size_bytes)
            if self.json or not found.keys().isdisjoint(offsets):
                for frame in run.frames:
                    self._add(now, (frame, *found.get(frame.offset, (None, None))))
            else:
                self._run(now, run)

    def _run(self, now: float, run: FrameRun) -> None:
        """Take a run whose packets have no findings but those of each packet by itself."""
        packets = run.packets
        if packets <= MAX_WAITING:
            self._add(now, run, packets)
            return
        for part in run.parts(MAX_WAITING):
            self._add(now, part, part.packets)

    def remark(self, text: str) -> None:
        """Show a remark of the program, in order with the packets."""
        if not self.json:
            self._add(time.time(), text)

    def of(self, label: str, watch: "WatchedConnection | None") -> "LabelledInspector":
        """Return the observer of one connection of several."""
        return LabelledInspector(self, label, watch)

    def turn_to(self, connection: "LabelledInspector", watch: "WatchedConnection | None") -> None:
        """Note that what follows is of another connection."""
        self.label, self.watch = connection, watch
        self._add(time.time(), connection, 0)

    def connected(self, route: "Route") -> None:
        """Show the layers between client and broker."""
        if self.watch:
            self.watch.connected(route)
        if self.json and route.layers:
            name = self.label.name if self.label else ""
            self._add(time.time(), {"event": "connection", **_named(name), "layers": route.layers})
        for layer in route.layers:
            self.remark(layer)

    def _add(self, now: float, item: Any, packets: int = 1) -> None:
        if not self.waiting:
            self._due = time.monotonic() + LONGEST_WAIT_S
            self._waiting_packets = 0
        self._waiting_packets += packets
        self.waiting.append((now, item, packets))

    @cached_property
    def _twins(self) -> "TwinDumps":
        from ...view.packet.twins import TwinDumps

        return TwinDumps(self.show.repeated, self._judge.alone)

    def show_in_s(self) -> float | None:
        """Return after how many seconds `flush` is due; None where nothing waits."""
        if not self.waiting:
            return None
        return 0.0 if self._waiting_packets >= MAX_WAITING else self._due - time.monotonic()

    def flush(self) -> None:
        """Show what is gathered."""
        try:
            while self.waiting:
                if isinstance(self.waiting[0][1], FrameRun):
                    # An interrupt within would lose a thousand packets.
                    with self.show.held(), SHIELD:
                        self._runs()
                    continue
                now, item, _ = self.waiting.popleft()
                if isinstance(item, tuple):
                    self._packet(now, *item)
                elif isinstance(item, str):
                    self.show.remark(item)
                elif isinstance(item, LabelledInspector):
                    self._turn_to(item)
                else:
                    sys.stdout.write(_record(item))
        finally:
            self.show.flush()
        sys.stdout.flush()

    def _turn_to(self, connection: "LabelledInspector") -> None:
        """Say that what follows is of another connection."""
        from ...view.packet.record_json import dumps

        self.published = connection.published
        self._more = "".join(f',"{key}":{dumps(value)}' for key, value in _named(connection.name).items())
        if connection.name and not self.json:
            self.show.remark(f"connection {connection.name}")

    def _runs(self) -> None:
        """Show the packets that wait before anything else, drawing those with one fixed header together."""
        # A window is often ten messages, and what a group of packets takes before the first is drawn as much as three
        # packets (tests/benchmarks/inspected.py); so packets of many windows are drawn together, then put in order.
        taken: list[tuple[float, FrameRun, _Alike, int]] = []
        groups: dict[Any, _Alike] = {}
        packets = 0
        while packets < MAX_WAITING and self.waiting and isinstance(run := self.waiting[0][1], FrameRun):
            now, _, count = self.waiting.popleft()
            key = run.data[0], run.size_bytes, run.direction, run.version
            group = groups.get(key)
            if group is None:
                group = groups[key] = _Alike(run)
            group.data.append(run.data)
            taken.append((now, run, group, count))
            packets += count
        for (_, size, direction, version), group in groups.items():
            data = b"".join(group.data)
            if self.show.begun and len(data) >= FEWEST_TOGETHER * size:
                group.twins = self._twins.together(data, size, version or self.version, direction)
        self._in_order(taken, groups.values())

    def _in_order(self, taken: list[tuple[float, FrameRun, _Alike, int]], groups: Iterable[_Alike]) -> None:
        """Show runs, each with its group and the number of its packets."""
        places: list[tuple[int, list[tuple[_Alike, int]]]] = []
        """Places among what is shown, each with the packets that belong there."""
        open: list[tuple[_Alike, int]] | None = None
        for now, run, group, count in taken:
            if group.twins is None:
                open = None
                for frame in run.frames:
                    self._packet(now, frame, None, None)
                continue
            if open is None:
                open = []
                places.append((self.show.reserve(), open))
            open.append((group, count))
            self._add_times(now, group, group.twins.ids, count)
        for group in groups:
            if group.twins:
                group.texts = iter(group.twins.drawn(group.times))
        for place, runs in places:
            texts: list[bytes] = []
            for group, count in runs:
                if count == 1:
                    texts.append(next(group.texts))
                else:
                    texts += islice(group.texts, count)
            self.show.fill(place, b"".join(texts).decode())

    def _add_times(self, now: float, group: "_Alike", all_ids: list[int], count: int) -> None:
        """Add the lines below the headlines of a run whose packets are twins, and note when messages were published."""
        times = group.times
        at = len(times)
        if group.acknowledges:
            sent = [self.published.get(packet_id) for packet_id in all_ids[at : at + count]]
            # What was published together is usually acknowledged together.
            for published, some in groupby(sent):
                times += [self._line(now, None if published is None else now - published)] * len(list(some))
            return
        if count == 1:
            # Messages of any length are each a run; this saves a twentieth of the time (tests/benchmarks/inspected.py).
            if all_ids and group.publishes:
                self.published[all_ids[at]] = now
            times.append(self._line(now, None))
            return
        if all_ids and group.publishes:
            self.published.update(dict.fromkeys(all_ids[at : at + count], now))
        times += [self._line(now, None)] * count

    def _line(self, now: float, after_s: float | None) -> bytes:
        """Return the line below a headline."""
        last = self._last_line
        if last[0] != now or last[1] != after_s:
            last = self._last_line = now, after_s, self.show.below(self._time(now, after_s)).encode()
        return last[2]

    def _packet(self, now: float, frame: Frame, packet: Packet | None, findings: Sequence[Finding] | None) -> None:
        data, offset, direction, version = frame
        assert direction is not None
        version = version or self.version
        if findings is None:
            packet, findings = self._judge.alone(data, version, direction)
        after_s = self._time_to_ack(packet, direction, now)
        if self._records:
            more = self._more + ("" if after_s is None else f',"seconds_after_publish":{round(after_s, 6)}')
            line = self._records.packet(
                data, version, findings, direction=direction, offset=offset, time=now, more=more
            )
            sys.stdout.write(f'{{"event":"packet",{line[1:]}\n')
            return
        self.show.judged(data, version, direction, findings, offset=offset, time=self._time(now, after_s))

    def _time(self, now: float, after_s: float | None) -> str:
        """Return the words for the time of a packet, and for how long after its PUBLISH it came."""
        if now != self._last[0]:
            self._last = now, f"after {(now - self.begun) * 1000:.1f} ms"
        return self._last[1] if after_s is None else f"{self._last[1]}, {after_s * 1000:.1f} ms after PUBLISH"

    def _time_to_ack(self, packet: Any, direction: Direction, now: float) -> float | None:
        """Return the seconds since the PUBLISH that a packet acknowledges, None for any other packet."""
        if isinstance(packet, ACKS) and direction is Direction.SERVER:
            sent = self.published.get(packet.packet_id)
            return None if sent is None else now - sent
        if isinstance(packet, Publish) and packet.packet_id is not None and direction is Direction.CLIENT:
            self.published[packet.packet_id] = now
        return None


class LabelledInspector:
    """Observes one connection of several, and shows what passed among the packets of the others."""

    def __init__(self, inspector: Inspector, label: str, watch: "WatchedConnection | None" = None) -> None:
        self._inspector = inspector
        self.name = label
        self.published: dict[int, float] = {}
        """When the messages of its client passed, by Packet Identifier."""
        self._watch = watch

    def connected(self, route: "Route") -> None:
        """Show the layers of the connection."""
        self._begin()
        self._inspector.connected(route)

    def _begin(self) -> None:
        """Note that what follows is of this connection, unless it was the last one too."""
        if self._inspector.label is not self:
            self._inspector.turn_to(self, self._watch)

    def __call__(self, now: float, frame: Frame) -> None:
        """Take one packet of the connection."""
        self._begin()
        self._inspector(now, frame)

    def together(self, now: float, runs: Sequence[FrameRun]) -> None:
        """Take packets of the connection that passed together."""
        self._begin()
        self._inspector.together(now, runs)

    def over(self) -> None:
        """End the connection."""
        if self._watch:
            self._watch.over()


def _named(connection: str) -> dict[str, str]:
    return {"connection": connection} if connection else {}


def _records(*, secrets: bool) -> "RecordWriter":
    from ...view.packet.record_json import RecordWriter

    return RecordWriter(secrets=secrets)


def _record(entry: dict[str, Any]) -> str:
    from ...view.packet.record_json import dumps

    return f"{dumps(entry)}\n"
