"""The embedded broker: a small one on loopback, for experiments and tests."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..serving.server import Server, loopback
from .client import BrokerClient
from .hub import Connection, Hub, OnEvent
from .limits import LIMITS, Limits
from .refusal import STOPPING

if TYPE_CHECKING:
    from ..faults.faults import Faults


class Broker(Server):
    """A broker for MQTT 3.1, 3.1.1 and 5.0 on a loopback address; port 0 takes a free one.

    `with Broker() as broker:` runs it in a thread; `serve` runs it here. Sessions and retained
    messages live as long as the object, so it can be stopped and started again on its port.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, *, on_event: OnEvent | None = None,
        limits: Limits = LIMITS, users: Mapping[str, bytes] | None = None, faults: "Faults | None" = None,
    ) -> None:  # fmt: skip
        address = loopback(host, port, "the embedded broker")
        self.hub = Hub(time.monotonic, limits=limits, on_event=on_event, users=users)
        super().__init__(address, clock=self.hub.clock, timers=self.hub.timers)
        self.clients: dict[Connection, BrokerClient] = {}
        self._faults = faults
        self._accepted = 0
        """Clients so far; faults name a connection by its number."""

    def accepted(self, sock: Any) -> None:
        """Serve a client, if there is room for it."""
        if len(self.clients) >= self.hub.limits.clients:
            sock.close()
            return
        client = self._client(sock)
        self.clients[client.connection] = client

    def _client(self, sock: Any) -> BrokerClient:
        if not self._faults:
            return BrokerClient(self, sock, self.hub, self.clients.pop)
        from .faulted import FaultedClient

        self._accepted += 1
        return FaultedClient(self, sock, self.hub, self.clients.pop, self._faults, str(self._accepted))

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
