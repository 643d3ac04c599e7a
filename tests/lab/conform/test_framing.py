"""A broker that breaks WebSocket below MQTT is caught, and one that keeps it is not."""

import socket
from collections.abc import Callable
from typing import Any

import pytest

from mqttpub.lab.serving.layers import Layers
from mqttpub.lab.serving.websocket import ServerWebSocket
from mqttpub.spec.versions import Version
from tests.lab.conform.proving import FRAMED, MutantRow, against, broken, changed, named, unchanged

BINARY = 0x82
"""The first byte of a frame with binary data."""
BREAKS: dict[str, Callable[[bytes], bytes]] = {
    "6.0.0-1": lambda data: b"\x81" + data[1:] if data[0] == BINARY else data,
    "6.0.0-4": lambda data: data.replace(b"Sec-WebSocket-Protocol: mqtt\r\n", b""),
    "6.0.0/frames": lambda data: b"\xc2" + data[1:] if data[0] == BINARY else data,
}
"""What a broker writes instead of what it should, by the label of the statement that it breaks: a text frame, an answer
to the upgrade without subprotocol, a frame with a reserved bit."""
VERSIONS = [Version.V5, Version.V311]


class Writing:
    """A socket that writes something else."""

    def __init__(self, sock: socket.socket, instead: Callable[[bytes], bytes]) -> None:
        self._sock = sock
        self._instead = instead

    def send(self, data: bytes) -> int:
        """Send something else than these bytes."""
        self._sock.sendall(self._instead(bytes(data)))
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class Broken(Layers):
    """WebSocket over such a socket."""

    instead: Callable[[bytes], bytes]

    def on(self, sock: socket.socket) -> Any:
        """Return the WebSocket."""
        sock.setblocking(False)
        return ServerWebSocket(Writing(sock, self.instead))


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_a_broker_that_keeps_websocket_is_called_that(version: Version) -> None:
    for name in ("websocket", "websocket-split"):
        case = named(version, name)
        result = against(case, unchanged(case), layers=Layers(websocket=True))
        assert (result.verdict, result.why, broken(result)) == ("kept", "", set())


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("label", BREAKS)
def test_wrong_frames_and_answers_are_caught(version: Version, label: str) -> None:
    layers = Broken(websocket=True)
    layers.instead = BREAKS[label]
    case = named(version, "websocket")
    found = broken(against(case, unchanged(case), layers=layers))
    assert found == {f"{version.prefix}-{label}"} < FRAMED[version]


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_a_broker_that_wants_packets_to_be_messages_is_caught(version: Version) -> None:
    case, label = named(version, "websocket-split"), f"{version.prefix}-6.0.0-2"
    row = MutantRow((label,), version, case.name, "< puback i1", "server FIN")
    assert broken(against(case, changed(case, row), layers=Layers(websocket=True))) == {label}
