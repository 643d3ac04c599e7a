"""The connection of one client and its socket."""

from collections.abc import Callable
from typing import Any

from ..serving.served_socket import Loop, ServedSocket
from .connection import ClientConnection
from .dispatch import receive
from .hub import Connection, Hub
from .refusal import UNSPECIFIED


class BrokerClient:
    """The connection of one client and its socket; `gone` is called with the connection once that is closed."""

    def __init__(self, loop: Loop, sock: Any, hub: Hub, gone: Callable[[Connection], object]) -> None:
        self.connection = ClientConnection(hub)
        self.socket = ServedSocket(loop, sock, self, self._output())
        self._gone = gone

    def _output(self) -> bytearray:
        """Return the output of the socket: what the connection has written."""
        return self.connection.output

    def received(self, data: bytes) -> None:
        """Act on received bytes; a defect of the broker ends one connection, not the broker."""
        try:
            receive(self.connection, data)
        except Exception as error:
            self.connection.refuse(UNSPECIFIED, f"the broker failed: {error!r}")

    def flush(self) -> None:
        """Write pending output; once the connection has ended, detach the session and finish the socket."""
        self.socket.flush()
        if self.connection.closing is not None and self.socket.open and not self.socket.ending:
            self.connection.lost("closed")
            self.socket.finish(self.connection.hub.limits.linger)

    def drained(self) -> None:
        """Do nothing: what is written to a client that does not read is bounded by the connection."""

    def ended(self) -> bool:
        """Close the connection: a client that has closed its side has no Network Connection any more."""
        return False

    def gone(self, why: str) -> None:
        """Forget the connection."""
        self._gone(self.connection)
        self.connection.lost(why)
