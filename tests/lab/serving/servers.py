"""Small servers that stand on lab/serving: an echo, and a proxy."""

from typing import Any

from mqttpub.lab.serving.dialing import dial
from mqttpub.lab.serving.layers import PLAIN, Layers
from mqttpub.lab.serving.served_socket import ServedSocket
from mqttpub.lab.serving.server import Server, loopback
from mqttpub.live.failures import Failure
from mqttpub.live.net.target import Target

MOST_WAITING = 1 << 18
"""Bytes that wait for a peer, above which nothing is read from the other."""
LINGER_S = 0.5


class Half:
    """One end of a pair of sockets: what comes is written to the other, which may be itself."""

    def __init__(self, server: Server, sock: Any) -> None:
        self.socket = ServedSocket(server, sock, self)
        self.other: Half = self

    def received(self, data: bytes) -> None:
        """Pass bytes on; wait with more where the other end does not read them."""
        other = self.other.socket
        other.output += data
        other.flush()
        if data.endswith(b"BYE"):
            other.finish(LINGER_S)
        if len(other.output) > MOST_WAITING:
            self.socket.pause()

    def drained(self) -> None:
        """Read from the other end again."""
        self.other.socket.resume()

    def ended(self) -> bool:
        """Pass the end on; the other direction goes on."""
        self.other.socket.shut()
        return True

    def gone(self, why: str) -> None:
        """End the other end too."""
        self.other.socket.finish(LINGER_S)


class Echo(Server):
    """Sends everything back, and ends a connection after BYE."""

    def __init__(self, layers: Layers = PLAIN) -> None:
        super().__init__(loopback("127.0.0.1", 0, "the echo"), layers=layers)

    def accepted(self, sock: Any) -> None:
        """Serve a client."""
        Half(self, sock)


class Proxy(Server):
    """Passes bytes on between clients and a target."""

    def __init__(self, target: Target, layers: Layers = PLAIN, timeout_s: float = 5.0) -> None:
        super().__init__(loopback("127.0.0.1", 0, "the proxy"), layers=layers)
        self.target = target
        self.timeout_s = timeout_s
        self.failures: list[str] = []

    def accepted(self, sock: Any) -> None:
        """Read nothing from a client before there is somebody to read it."""
        client = Half(self, sock)
        client.socket.pause()

        def done(made: Any) -> None:
            if isinstance(made, Failure):
                self.failures.append(str(made))
                client.socket.close("no upstream")
                return
            upstream = Half(self, made)
            client.other, upstream.other = upstream, client
            client.socket.resume()

        dial(self, self.target, self.timeout_s, done)
