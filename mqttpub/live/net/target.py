"""Where a connection goes, and the packets it begins and ends with."""

import os
from typing import Any, NamedTuple

from ...spec.packets import Connect, Disconnect
from ...spec.versions import Version
from ..authentication import ScramUser
from .transport import Transport


def client_id(prefix: str = "mqttpub-") -> str:
    """Return a fresh Client Identifier."""
    return prefix + os.urandom(4).hex()


class Target(NamedTuple):
    """Where to connect, and what to say first and last."""

    host: str = "localhost"
    port: int = 1883
    version: Version = Version.V5
    connect: Connect = Connect()
    """The CONNECT to send."""
    disconnect: Disconnect = Disconnect()
    """The DISCONNECT to send at the end."""

    transport: Transport = Transport()
    """How to get there."""
    authentication: ScramUser | None = None
    """Who authenticates in a SCRAM exchange, with the method that CONNECT names; None without one."""

    @property
    def place(self) -> str:
        """The address as text: `host:port`, a path or a ws URL."""
        return self.transport.place(self.host, self.port)

    def changed(self, **connect: Any) -> "Target":
        """Return the target with some values of its CONNECT changed."""
        return self._replace(connect=self.connect.replace(**connect))
