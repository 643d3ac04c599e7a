"""What a peer breaks of WebSocket below MQTT: the upgrade, and its frames (5.0: 6)."""

from collections.abc import Iterator
from typing import Any

from ...live.failures import PeerFault
from ...live.net.websocket_frames import TEXT
from ...spec.constraints import BINARY_FRAMES, TRANSPORT, StatementRef
from ...spec.statements import statement
from ...spec.versions import Version
from ..serving.websocket import SUBPROTOCOLS, BrokenWebSocket
from .judge import Broken

SUBPROTOCOL = StatementRef("6.0.0-4", "6.0.0-4")
OFFERED = StatementRef("6.0.0-3", "6.0.0-3")
_OPCODE = 0x0F


def upgrade_faults(sock: Any, version: Version) -> Iterator[Broken]:
    """Yield what the answer to the upgrade of an open WebSocket breaks; of other sockets nothing.

    Another subprotocol than mqtt opens no WebSocket.
    """
    if (answer := getattr(getattr(sock, "line", None), "answer", None)) and SUBPROTOCOL.id(version):
        from ...live.net.websocket import HEADER, parsed

        if HEADER.lower() not in parsed(answer)[1]:
            yield _broken(SUBPROTOCOL, version, f"the answer to the upgrade has no {HEADER}, but must name mqtt")


def offer_faults(chosen: str, version: Version) -> Iterator[Broken]:
    """Yield what a client breaks by the subprotocols it offers; one of them, or none, was chosen."""
    if chosen != SUBPROTOCOLS[0] and OFFERED.id(version):
        yield _broken(OFFERED, version, f"the client does not offer the subprotocol {SUBPROTOCOLS[0]}")


def frame_fault(fault: PeerFault | BrokenWebSocket, version: Version) -> Broken:
    """Return what a frame breaks that its end may not send."""
    is_text = bool(fault.data) and fault.data[0] & _OPCODE == TEXT
    return _broken(BINARY_FRAMES if is_text else TRANSPORT, version, str(fault))


def _broken(law: StatementRef, version: Version, message: str) -> Broken:
    id = law.id(version)
    return Broken(id, message, statement(id).severity, None)
