"""A client whose packets pass fault rules on their way, in both directions."""

from collections.abc import Callable
from typing import Any

from ...spec.versions import Direction
from ..faults.faults import Faults
from ..faults.lane import FaultedEnd
from ..serving.served_socket import Loop
from .client import BrokerClient
from .hub import Connection, Hub

MOST_UNWRITTEN_BYTES = 1 << 16
"""Output of a socket that waits for its client to read, above which the rest stays where the broker bounds it."""


class FaultedClient(BrokerClient):
    """The connection of one client, its socket, and the link of faults between the two."""

    def __init__(
        self, loop: Loop, sock: Any, hub: Hub, gone: Callable[[Connection], object], faults: Faults, label: str
    ) -> None:  # fmt: skip
        super().__init__(loop, sock, hub, gone)
        ends: dict[Direction, FaultedEnd] = {Direction.CLIENT: _ToBroker(self), Direction.SERVER: _ToClient(self)}
        self.link = faults.link(label, None, ends, loop)

    def _output(self) -> bytearray:
        return bytearray()

    def received(self, data: bytes) -> None:
        """Pass received bytes on to the broker, through the rules; hold the client up while too much is held."""
        self.link.received(Direction.CLIENT, data)
        if self.link.full(Direction.CLIENT):
            self.socket.pause()

    def reached(self, data: bytes) -> None:
        """Let the broker act on what the rules have left."""
        super().received(data)
        if self.socket.paused and not self.link.full(Direction.CLIENT):
            self.socket.resume()

    def flush(self) -> None:
        """Pass pending output on to the client, through the rules, and then the end of the connection."""
        closing, output = self.connection.closing is not None, self.connection.output
        if output and (closing or self._takes_more):
            data = bytes(output)
            output.clear()
            self.link.received(Direction.SERVER, data)
        if closing:
            self.connection.lost("closed")
            self.link.ended(Direction.SERVER)

    @property
    def _takes_more(self) -> bool:
        return len(self.socket.output) < MOST_UNWRITTEN_BYTES and not self.link.full(Direction.SERVER)

    def drained(self) -> None:
        """Go on with output that had to wait."""
        self.flush()

    def ended(self) -> bool:
        """Take the end of the client: it reaches the broker after what is held."""
        self.link.ended(Direction.CLIENT)
        return not self.link.passes(Direction.CLIENT)

    def lost(self, why: str) -> None:
        """Note that the client is gone for the broker; the socket ends with the next turn."""
        self.connection.lost(why)
        self.connection.hub.dirty[self.connection] = None

    def written(self, data: bytes) -> None:
        """Write what the rules have left for the client; output that had to wait for it goes on with the next turn."""
        self.socket.write(data)
        if self.connection.output:
            self.connection.hub.dirty[self.connection] = None

    def gone(self, why: str) -> None:
        """Forget the connection."""
        self.link.close()
        super().gone(why)


class _ToBroker:
    """The broker, as the end that packets of the client go to."""

    def __init__(self, client: FaultedClient) -> None:
        self._client = client

    def write(self, data: bytes) -> None:
        """Let the broker act on bytes."""
        self._client.reached(data)

    def close(self) -> None:
        """End the connection of the broker; the session stays what it is, and the will is due."""
        self._client.lost("the client closed the connection")

    def reset(self) -> None:
        """End the connection of the broker."""
        self._client.lost("a fault reset the connection")


class _ToClient:
    """The socket of a client, as the end that packets of the broker go to."""

    def __init__(self, client: FaultedClient) -> None:
        self._client = client

    def write(self, data: bytes) -> None:
        """Write bytes, on their own as far as the socket takes them at once."""
        self._client.written(data)

    def close(self) -> None:
        """Close the socket once everything is written."""
        self._client.socket.finish(self._client.connection.hub.limits.linger)

    def reset(self) -> None:
        """Break the connection off."""
        self._client.socket.abort("a fault reset the connection")
