"""The connection that paho makes, with a tap around its socket."""

import time
from typing import Any

from paho.mqtt.client import Client as PahoClient
from paho.mqtt.enums import CallbackAPIVersion

from ...codec.encode import encode
from ..failures import NotConnected
from ..tap import Observer, Tap
from .target import Target
from .transport import Transport


class PahoConnection(PahoClient):
    """paho's client; every byte of its socket passes the tap.

    paho makes the socket and keeps the connection alive. Its CONNECT is replaced by that of the target,
    because paho cannot set everything that a CONNECT may contain.
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

    def _create_socket(self) -> Any:
        from .dial import dial

        target = self._target
        sock = dial(target, self._until_s, self.connect_timeout, super()._create_socket)
        connect = encode(target.connect, target.version)
        self.tap = Tap(sock, target.version, self._observer, connect=connect, packet_limit=self._packet_limit)
        if connected := getattr(self._observer, "connected", None):
            connected(self.describe())
        return self.tap

    def _create_socket_connection(self) -> Any:
        from .dial import connected

        return connected(self._target, self._until_s)

    def secure(self) -> None:
        """Set up TLS for paho, where the target uses it."""
        target = self._target
        if target.transport.tls:
            from .tls import context

            self.tls_set_context(context(target, self._until_s, self.connect_timeout))

    def establish(self) -> Tap:
        """Connect and send CONNECT; raises NotConnected."""
        target = self._target
        try:
            self.secure()
            self.connect(target.host, target.port, target.connect.keep_alive, target.transport.bind or "")
        except (OSError, ValueError) as error:
            from .errors import explain

            raise NotConnected(explain(error, target, self.connect_timeout)) from error
        assert self.tap is not None
        return self.tap

    def describe(self) -> list[str]:
        """Return a line for each layer between client and broker: proxy, TLS, WebSocket."""
        if self._target.transport._replace(bind=None) == Transport() or self.tap is None:
            return []
        from .dial import describe

        return describe(self.tap.sock, self._target.transport)
