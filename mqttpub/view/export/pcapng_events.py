"""The events of captures and other inputs as a pcapng file, with findings as comments."""

from collections.abc import Callable, Sequence

from ... import __version__
from ...codec.tree import Finding
from ...common.escape import escape
from ...traffic.context import PacketInContext, TrafficItem
from ...traffic.events import Closed, Endpoints, GapSeen, PacketSeen, Remark
from ..packet.masking import without_secrets
from .pcapng import PcapngWriter, place


class CaptureOfEvents:
    """Writes events as a capture of plain MQTT; without `secrets`, asterisks stand for their bytes.

    Findings and remarks are comments of the packet that they are about, those about no packet of the next one.
    Bytes of a gap that were captured are written as they are.
    """

    def __init__(self, write: Callable[[bytes], object], *, secrets: bool = False) -> None:
        self._writer = PcapngWriter(write, f"mqttpub {__version__}")
        self._secrets = secrets
        self._pending: dict[int, list[str]] = {}
        """Comments about connections for their next packets."""
        self.masked = False
        """Whether a secret was masked."""

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
        comments = [*self._taken(event.ends), *map(_comment, findings)]
        if event.direction is None:
            self._pending[event.ends.number] = [*comments, f"it is not known which end sent {event.data[:64].hex()}"]
            return
        data = event.data
        if not self._secrets:
            data = without_secrets(data, event.version, event.direction)
            self.masked = self.masked or data != event.data
        self._begin(event)
        self._writer.packet(event.ends.number, event.direction, data, event.time, comments)

    def _gap(self, event: GapSeen) -> None:
        comments = [*self._taken(event.ends), escape(event.message)]
        if event.direction is None or len(event.data) != event.length:
            self._pending[event.ends.number] = comments
            return
        self._begin(event)
        self._writer.packet(event.ends.number, event.direction, event.data, event.time, comments)

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
