"""The embedded broker: a small one on loopback, for experiments and tests."""

import time
from collections.abc import Mapping
from typing import Any

from ..serving.served_socket import ServedSocket
from ..serving.server import Server, loopback
from .connection import ClientConnection
from .dispatch import receive
from .hub import Connection, Hub, OnEvent
from .limits import LIMITS, Limits
from .refusal import STOPPING, UNSPECIFIED


class BrokerClient:
    """The connection of one client and its socket."""

    def __init__(self, broker: "Broker", sock: Any) -> None:
        self.broker = broker
        self.connection = ClientConnection(broker.hub)
        self.socket = ServedSocket(broker, sock, self, self.connection.output)

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
            self.socket.finish(self.broker.hub.limits.linger)

    def drained(self) -> None:
        """Do nothing: what is written to a client that does not read is bounded by the connection."""

    def ended(self) -> bool:
        """Close the connection: a client that has closed its side has no Network Connection any more."""
        return False

    def gone(self, why: str) -> None:
        """Forget the connection."""
        del self.broker.clients[self.connection]
        self.connection.lost(why)


class Broker(Server):
    """A broker for MQTT 3.1, 3.1.1 and 5.0 on a loopback address; port 0 takes a free one.

    `with Broker() as broker:` runs it in a thread; `serve` runs it here. Sessions and retained
    messages live as long as the object, so it can be stopped and started again on its port.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, *, on_event: OnEvent | None = None,
        limits: Limits = LIMITS, users: Mapping[str, bytes] | None = None,
    ) -> None:  # fmt: skip
        address = loopback(host, port, "the embedded broker")
        self.hub = Hub(time.monotonic, limits=limits, on_event=on_event, users=users)
        super().__init__(address, clock=self.hub.clock, timers=self.hub.timers)
        self.clients: dict[Connection, BrokerClient] = {}

    def accepted(self, sock: Any) -> None:
        """Serve a client, if there is room for it."""
        if len(self.clients) >= self.hub.limits.clients:
            sock.close()
            return
        client = BrokerClient(self, sock)
        self.clients[client.connection] = client

    def settle(self) -> None:
        """Write what the packets of this turn led to."""
        dirty = self.hub.dirty
        while dirty:
            connection, _ = dirty.popitem()
            client = self.clients.get(connection)
            if client:
                client.flush()

    def closing(self) -> None:
        """Tell each client that the broker stops; no will is published for that."""
        for connection, client in list(self.clients.items()):
            if connection.session:
                connection.session.will = None
                connection.dismiss(STOPPING, "the broker stops")
            client.flush()
            client.socket.close("the broker stops")
        self.hub.dirty.clear()
