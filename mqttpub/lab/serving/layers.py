"""TLS and WebSocket on accepted sockets."""

import socket
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...live.net.transport import Tls

if TYPE_CHECKING:
    import ssl


class Layering(Protocol):
    """What puts layers on accepted sockets."""

    def on(self, sock: socket.socket) -> Any:
        """Return a socket with its layers, which does not block; raises OSError for one that is lost already."""


class Layers(NamedTuple):
    """What lies between TCP and MQTT on the connections of a listener."""

    tls: "ssl.SSLContext | None" = None
    websocket: bool = False

    def on(self, sock: socket.socket) -> Any:
        """Return a socket with its layers, which does not block and shakes hands when it is first read from.

        Raises OSError for a connection that is lost already.
        """
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        layered: Any = sock
        if self.tls:
            layered = self.tls.wrap_socket(layered, server_side=True, do_handshake_on_connect=False)
        if self.websocket:
            from .websocket import ServerWebSocket

            layered = ServerWebSocket(layered)
        return layered


PLAIN = Layers()


def server_context(tls: Tls) -> "ssl.SSLContext":
    """Return the context of a server with this certificate and key; raises Unusable for files that cannot be used."""
    import ssl

    from ...live.net.tls_settings import apply

    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    apply(made, tls)
    return made
