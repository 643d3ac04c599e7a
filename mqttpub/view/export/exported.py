"""The bytes of packets and gaps as files hold them: without secrets, and only where it is known which end sent them."""

from ...codec.framing import frame_length
from ...common.escape import escape
from ...spec.versions import Direction, Version
from ...traffic.events import GapSeen, PacketSeen
from ...wire.cursor import Overlong
from ..packet.masking import without_secrets


class ExportedBytes:
    """The bytes of one file; without `secrets`, asterisks stand for those of secrets."""

    def __init__(self, *, secrets: bool) -> None:
        self._secrets = secrets
        self.masked = False
        """Whether a secret was masked."""
        self.left_out = 0
        """Packets of which it is not known which end sent them."""

    def packet(self, event: PacketSeen) -> bytes:
        """Return the bytes of a packet, and count it if it is not known which end sent it."""
        self.left_out += event.direction is None
        return self._shown(event.data, event.version, event.direction)

    def gap(self, event: GapSeen) -> tuple[bytes, str]:
        """Return the bytes of a gap that read back as the same fault, empty if none do, and what happened."""
        if event.direction is None or not _reads_back(event):
            return b"", escape(event.message)
        # A packet that cannot be read has any version: 5.0 has all secrets.
        data = self._shown(event.data, Version.V5, event.direction)
        rest = "" if event.length in (None, len(data)) else f"; only its first {len(data)} bytes are written"
        return data, f"{escape(event.message)}{rest}"

    def _shown(self, data: bytes, version: Version, direction: Direction | None) -> bytes:
        if self._secrets:
            return data
        masked = without_secrets(data, version, direction)
        self.masked = self.masked or masked != data
        return masked


def _reads_back(event: GapSeen) -> bool:
    """Whether the bytes are there and MQTT is at fault, not the layer that carried them."""
    if event.length is not None:
        return bool(event.data) and (event.malformed or len(event.data) == event.length)
    try:
        frame_length(event.data)
    except Overlong:
        return event.malformed
    return False
