"""The connection to a broker: paho's, with a tap around its socket."""

import time
from importlib.util import find_spec
from typing import Any

from ...codec.encode import encode
from ...common.deferred_import import deferred
from ..failures import NotConnected
from ..tap import Observer, Tap
from .dial import open_socket, show_route
from .target import Target

# paho asks urllib.request for proxies, hashes for its WebSocket, and catches errors of ssl. Importing the three would
# take a fifth of the time of a single publish (tests/benchmarks/startup.py).
# paho asks whether there is an ssl by importing it, which a deferred module without `_ssl` would only answer later.
with deferred("urllib.request", "hashlib", *(["ssl"] if find_spec("_ssl") else [])):
    from paho.mqtt.client import Client as PahoClient
    from paho.mqtt.enums import CallbackAPIVersion


class PahoConnection(PahoClient):
    """paho's client; every byte of its socket passes the tap.

    paho keeps the connection alive. Its CONNECT is replaced by that of the target, because paho cannot set everything
    that a CONNECT may contain.
    """

    def __init__(self, target: Target, observer: Observer | None, timeout_s: float, packet_limit: int) -> None:
        super().__init__(
            CallbackAPIVersion.VERSION2,
            client_id="replaced",
            protocol=int(target.version),  # type: ignore[arg-type]
            reconnect_on_failure=False,
        )
        self.tap: Tap | None = None
        self.connect_timeout = timeout_s
        self._target = target
        self._packet_limit = packet_limit
        self._observer = observer
        self._until_s = time.monotonic() + timeout_s

    def establish(self) -> Tap:
        """Connect, send CONNECT and return the tap; raises NotConnected."""
        target = self._target
        try:
            # paho calls _create_socket.
            self.connect(target.host, target.port, target.connect.keep_alive)
        except (OSError, ValueError) as error:
            from .errors import explain

            raise NotConnected(explain(error, target, self.connect_timeout)) from error
        assert self.tap is not None
        return self.tap

    def _create_socket(self) -> Any:
        target, observer = self._target, self._observer
        sock = open_socket(target, self._until_s, self.connect_timeout)
        connect = encode(target.connect, target.version)
        self.tap = Tap(sock, target.version, observer, connect=connect, packet_limit=self._packet_limit)
        show_route(observer, sock, target.transport)
        return self.tap
