"""A conversation as a script that people read and change, and that programs play, judge and draw again."""

import itertools
from collections.abc import Iterator

from ...common.escape import escape
from ...common.times import seconds
from ...script.writer import ConnectionWriter
from ...spec.versions import Version
from ...traffic.events import Closed, Event, GapSeen, PacketSeen
from .exported import ExportedBytes

SHORTEST_WAIT_NS = 100_000_000
"""Pauses below a tenth of a second are left out: a step takes no time when it is played."""
HEADING = "# A script of mqttpub: `mqttpub help script` explains it."
"""The first line of every script, by which a file is known as one."""


class ScriptText:
    """Makes the lines of a script from the events of all connections, in their order.

    The first connection has no label, the others are `[2]`, `[3]` and so on. Without `secrets`, the bytes of secrets
    become asterisks.
    """

    def __init__(self, *, secrets: bool = False) -> None:
        self.bytes = ExportedBytes(secrets=secrets)
        self._numbers = itertools.count(1)
        self._first: int | None = None
        self._version: Version | None = None
        self._time: int | None = None
        self._writers: dict[int, ConnectionWriter] = {}

    def lines(self, event: Event) -> Iterator[str]:
        """Yield the lines of an event."""
        yield from self._wait(event.time)
        if isinstance(event, PacketSeen):
            yield from self._packet(event)
        elif isinstance(event, GapSeen):
            yield from self._gap(event)
        elif isinstance(event, Closed):
            yield from self._closed(event)
        else:
            yield f"# {escape(event.message)}"

    def _wait(self, time: int | None) -> Iterator[str]:
        before, self._time = self._time, time if time is not None else self._time
        if before is not None and time is not None and time - before >= SHORTEST_WAIT_NS:
            # Rounded to the millisecond.
            yield f"+{seconds(time - before + 500_000, digits=3).rstrip('0').rstrip('.')}"

    def _packet(self, event: PacketSeen) -> Iterator[str]:
        data = self.bytes.packet(event)
        if event.direction is None:
            yield f"# it is not known which end sent {data.hex()}"
            return
        yield from self._begin(event)
        writer = self._writers[event.ends.number]
        if event.version == writer.version:
            yield self._labelled(event, writer.step(data, event.direction))
        else:
            yield self._labelled(event, f"{event.direction.mark} raw {data.hex()}")

    def _begin(self, event: PacketSeen | GapSeen) -> Iterator[str]:
        number = event.ends.number
        if number in self._writers:
            return
        if self._first is None:
            self._first = number
        version = event.version if isinstance(event, PacketSeen) else self._version or Version.V5
        if version != self._version:
            self._version = version
            yield f"version {version.label}"
        self._writers[number] = ConnectionWriter(version, self._numbers)
        if not event.ends.begun and event.ends.client:
            yield self._labelled(event, "mid")

    def _gap(self, event: GapSeen) -> Iterator[str]:
        data, message = self.bytes.gap(event)
        yield f"# {message}"
        yield from self._begin(event)
        if event.direction and data:
            yield self._labelled(event, f"{event.direction.mark} raw {data.hex()}")
        else:
            yield self._labelled(event, "gap")

    def _closed(self, event: Closed) -> Iterator[str]:
        if event.direction and event.ends.number in self._writers:
            yield self._labelled(event, f"{event.direction.value} {event.how}")
        elif event.how == "end":
            self._writers.pop(event.ends.number, None)

    def _labelled(self, event: PacketSeen | GapSeen | Closed, text: str) -> str:
        number = event.ends.number
        return text if number == self._first else f"[{number}] {text}"
