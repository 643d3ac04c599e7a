"""A small server that stands on lab/serving: an echo."""

from typing import Any

from mqttpub.lab.serving.layers import PLAIN, Layers
from mqttpub.lab.serving.served_socket import ServedSocket
from mqttpub.lab.serving.server import Server, loopback

MOST_WAITING = 1 << 18
"""Bytes that wait for a peer, above which nothing is read from it."""
LINGER_S = 0.5


class Echoed:
    """A socket that gets what it sends."""

    def __init__(self, server: Server, sock: Any) -> None:
        self.socket = ServedSocket(server, sock, self)

    def received(self, data: bytes) -> None:
        """Send bytes back; wait with more while they are not read."""
        self.socket.write(data)
        if data.endswith(b"BYE"):
            self.socket.finish(LINGER_S)
        if len(self.socket.output) > MOST_WAITING:
            self.socket.pause()

    def drained(self) -> None:
        """Read again."""
        self.socket.resume()

    def ended(self) -> bool:
        """End too, once everything is sent back."""
        self.socket.shut()
        return True

    def gone(self, why: str) -> None:
        """Do nothing."""


class Echo(Server):
    """Sends everything back, and ends a connection after BYE."""

    def __init__(self, layers: Layers = PLAIN) -> None:
        super().__init__(loopback("127.0.0.1", 0, "the echo"), layers=layers)

    def accepted(self, sock: Any) -> None:
        """Serve a client."""
        Echoed(self, sock)
