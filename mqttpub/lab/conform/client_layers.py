"""What lies between TCP and MQTT on the connections of a client: the first bytes that it sends show it."""

import socket
from typing import Any, NamedTuple

from ...capture.protocol.websocket import BINARY
from ..serving.layers import PLAIN
from ..serving.websocket import ServerWebSocket

TLS_HANDSHAKE = b"\x16\x03"
"""Type and major version of a TLS record with a ClientHello (RFC 8446, 5.1); as MQTT, no client could send them."""
UPGRADE = b"GET "


class ShownLayers(NamedTuple):
    """TLS and WebSocket where a client begins them."""

    tls: Any = None
    """The context of a server; None where no client may begin TLS."""
    opcode: int = BINARY
    """The kind of data frames that the server sends."""

    def on(self, sock: socket.socket) -> "ClientSocket":
        """Return a socket that does not block; raises OSError for a connection that is lost already."""
        return ClientSocket(PLAIN.on(sock), self)


class ClientSocket:
    """A socket that takes on TLS and WebSocket when it is first read from, if its first bytes begin them.

    All but reading is left to the outermost layer.
    """

    def __init__(self, sock: Any, layers: ShownLayers) -> None:
        self.sock = sock
        self.websocket: ServerWebSocket | None = None
        self._layers = layers
        self._is_secured = self._is_begun = False
        """Whether its first bytes have been looked at, and those above TLS."""

    def recv(self, count: int) -> bytes:
        """Return what the outermost layer does; raises ConnectionError for TLS where there is no certificate."""
        if not self._is_secured:
            self._secure()
        data: bytes = self.sock.recv(count)
        if not self._is_begun:
            self._is_begun = True
            if data.startswith(UPGRADE):
                self.sock = self.websocket = ServerWebSocket(
                    self.sock, data, opcode=self._layers.opcode, is_strict=False
                )
                return self.websocket.recv(count)
        return data

    def _secure(self) -> None:
        """Begin TLS if the client does; raises BlockingIOError before its first bytes are there."""
        first = self.sock.recv(len(TLS_HANDSHAKE), socket.MSG_PEEK)
        if first == TLS_HANDSHAKE:
            if self._layers.tls is None:
                raise ConnectionError("the client begins TLS, but its command does not name {cafile}")
            self.sock = self._layers.tls.wrap_socket(self.sock, server_side=True, do_handshake_on_connect=False)
        self._is_secured = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sock, name)
