"""`pub --inspect`: every packet with its direction, its time and every byte named, as it passes."""

import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...codec.decode import decode
from ...codec.stream import Frame
from ...codec.tree import Decoded, Finding
from ...lint.packet.check import lint
from ...spec.versions import Direction, Version
from ...view.packet.show import Show

if TYPE_CHECKING:
    from .watch import Watch

ACKS = {"PUBACK", "PUBREC", "PUBCOMP"}
MAX_WAITING = 1000
"""Number of gathered packets that are shown at once."""
LONGEST_WAIT_S = 0.1
"""Longest time that a packet waits before it is shown."""


class Inspector:
    """Observes a tap; shows what passed when the connection falls quiet, or when it has waited long enough."""

    def __init__(
        self,
        version: Version,
        *,
        json: bool = False,
        secrets: bool = False,
        full: bool = False,
        watch: "Watch | None" = None,
    ) -> None:
        self.version = version
        self.json = json
        self.secrets = secrets
        self.show = Show(secrets=secrets, full=full)
        self.begun = time.time()
        self.waiting: deque[Any] = deque()
        self._due = 0.0
        """Monotonic time at which the first of what waits is to be shown."""
        self.published: dict[int, float] = {}
        self.watch = watch
        """Checks each packet together with those before it; without it each is checked alone."""

    def __call__(self, now: float, frame: Frame) -> None:
        """Take one packet from the tap."""
        # Findings depend on the time at which the packet passed, not on that at which it is shown.
        self._add(now, (frame, self.watch.findings(now, frame) if self.watch else None))

    def remark(self, text: str) -> None:
        """Show a remark of the program, in order with the packets."""
        if not self.json:
            self._add(time.time(), text)

    def connected(self, layers: list[str]) -> None:
        """Show the layers between client and broker."""
        if self.watch:
            self.watch.connected(layers)
        if self.json and layers:
            self._add(time.time(), {"event": "connection", "layers": layers})
        for layer in layers:
            self.remark(layer)

    def _add(self, now: float, item: Any) -> None:
        if not self.waiting:
            self._due = time.monotonic() + LONGEST_WAIT_S
        self.waiting.append((now, item))

    def show_in_s(self) -> float | None:
        """Return after how many seconds `flush` is due; None where nothing waits."""
        if not self.waiting:
            return None
        return 0.0 if len(self.waiting) >= MAX_WAITING else self._due - time.monotonic()

    def flush(self) -> None:
        """Show what is gathered."""
        while self.waiting:
            now, item = self.waiting.popleft()
            if isinstance(item, str):
                self.show.remark(item)
            elif isinstance(item, dict):
                _print(item)
            else:
                self._packet(now, *item)
        sys.stdout.flush()

    def _packet(self, now: float, frame: Frame, findings: Sequence[Finding] | None) -> None:
        assert frame.direction is not None
        decoded = decode(frame.data, frame.version or self.version, direction=frame.direction, offset=frame.offset)
        decoded.findings = lint(decoded, decoded.direction) if findings is None else list(findings)
        after = self._time_to_ack(decoded, now)
        if self.json:
            self._record(decoded, now, after)
            return
        shown = f"after {(now - self.begun) * 1000:.1f} ms"
        shown += f", {after * 1000:.1f} ms after PUBLISH" if after is not None else ""
        self.show.packet(decoded, time=shown)

    def _record(self, decoded: Decoded, now: float, after: float | None) -> None:
        from ...view.packet.record_json import packet_record

        more = "" if after is None else f',"seconds_after_publish":{round(after, 6)}'
        _print_line(f'{{"event":"packet",{packet_record(decoded, time=now, secrets=self.secrets, more=more)[1:]}')

    def _time_to_ack(self, decoded: Decoded, now: float) -> float | None:
        packet: Any = decoded.packet
        if packet is None or getattr(packet, "packet_id", None) is None:
            return None
        if decoded.name == "PUBLISH" and decoded.direction is Direction.CLIENT:
            self.published[packet.packet_id] = now
        if decoded.name in ACKS and decoded.direction is Direction.SERVER:
            sent = self.published.get(packet.packet_id)
            return None if sent is None else now - sent
        return None


def _print(entry: dict[str, Any]) -> None:
    from ...view.packet.record_json import dumps

    _print_line(dumps(entry))


def _print_line(line: str) -> None:
    import click

    click.echo(line)
