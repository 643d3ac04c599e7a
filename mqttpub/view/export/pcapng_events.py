"""The events of captures and other inputs as a pcapng file, with findings as comments."""

from collections.abc import Callable, Sequence

from ... import __version__
from ...codec.tree import Finding
from ...common.escape import escape
from ...traffic.context import PacketInContext, TrafficItem
from ...traffic.events import Closed, Endpoints, GapSeen, PacketSeen, Remark
from .exported import ExportedBytes
from .pcapng import PcapngWriter, place


class CaptureOfEvents:
    """Writes events as a capture of plain MQTT; without `secrets`, asterisks stand for their bytes.

    Findings and remarks are comments of the packet that they are about, those about no packet of the next one.
    What was captured of a packet that cannot be read is written, too.
    """

    def __init__(self, write: Callable[[bytes], object], *, secrets: bool = False) -> None:
        self._writer = PcapngWriter(write, f"mqttpub {__version__}")
        self.bytes = ExportedBytes(secrets=secrets)
        self._pending: dict[int, list[str]] = {}
        """Comments about connections for their next packets."""

    def add(self, known: TrafficItem) -> None:
        """Write what an event says."""
        if isinstance(known, PacketInContext):
            self._packet(known.event, known.findings or ())
        elif isinstance(known, Closed):
            self._writer.closed(known.ends.number, known.direction, known.how, known.time, self._taken(known.ends))
        elif isinstance(known, GapSeen):
            self._gap(known)
        elif isinstance(known, Remark):
            self._pending.setdefault(known.ends.number, []).append(escape(known.message))

    def _packet(self, event: PacketSeen, findings: Sequence[Finding]) -> None:
        comments, data = [*self._taken(event.ends), *map(_comment, findings)], self.bytes.packet(event)
        if event.direction is None:
            self._pending[event.ends.number] = [*comments, f"it is not known which end sent {data[:64].hex()}"]
            return
        self._begin(event)
        self._writer.packet(event.ends.number, event.direction, data, event.time, comments)

    def _gap(self, event: GapSeen) -> None:
        data, message = self.bytes.gap(event)
        comments = [*self._taken(event.ends), message]
        if event.direction is None or not data:
            self._pending[event.ends.number] = comments
            return
        self._begin(event)
        self._writer.packet(event.ends.number, event.direction, data, event.time, comments)

    def _begin(self, event: PacketSeen | GapSeen) -> None:
        ends = event.ends
        if self._writer.is_open(ends.number):
            return
        self._writer.opened(ends.number, place(ends.client), place(ends.server), event.time, handshake=ends.begun)

    def _taken(self, ends: Endpoints) -> list[str]:
        return self._pending.pop(ends.number, [])


def _comment(finding: Finding) -> str:
    statement = f" ({finding.statement})" if finding.statement else ""
    return f"{finding.severity}: {escape(finding.message)}{statement}"
