"""The connection to a broker: paho's, with a tap around its socket, built in layers within one deadline."""

import socket
import time
from importlib.util import find_spec
from typing import Any

from ...codec.encode import encode
from ...common.deferred_import import deferred
from ..failures import NotConnected
from ..tap import Observer, Tap
from .deadline import left, tcp, within
from .target import Target
from .transport import Transport

# paho asks urllib.request for proxies, hashes for its WebSocket, and catches errors of ssl. Importing the three would
# take a fifth of the time of a single publish (tests/benchmarks/startup.py).
# paho asks whether there is an ssl by importing it, which a deferred module without `_ssl` would only answer later.
with deferred("urllib.request", "hashlib", *(["ssl"] if find_spec("_ssl") else [])):
    from paho.mqtt.client import Client as PahoClient
    from paho.mqtt.enums import CallbackAPIVersion


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

    def establish(self) -> Tap:
        """Connect, send CONNECT and return the tap; raises NotConnected."""
        target = self._target
        try:
            if target.transport.tls:
                from .tls import context

                self.tls_set_context(context(target, self._until_s, self.connect_timeout))
            # paho calls _create_socket, which calls paho's, which calls _create_socket_connection.
            self.connect(target.host, target.port, target.connect.keep_alive, target.transport.bind or "")
        except (OSError, ValueError) as error:
            from .errors import explain

            raise NotConnected(explain(error, target, self.connect_timeout)) from error
        assert self.tap is not None
        return self.tap

    def _create_socket(self) -> Any:
        target, observer = self._target, self._observer
        sock = self._layers()
        connect = encode(target.connect, target.version)
        self.tap = Tap(sock, target.version, observer, connect=connect, packet_limit=self._packet_limit)
        if connected := getattr(observer, "connected", None):
            connected(describe(sock, target.transport))
        return self.tap

    def _layers(self) -> Any:
        """Return a socket to the broker with all its layers.

        Raises Unusable, before anything is sent, for a value that cannot be in the request of a WebSocket.
        """
        target, transport = self._target, self._target.transport
        if transport.kind == "unix":
            return unix_socket(transport.path, self._until_s)
        if transport.kind == "websocket":
            from .websocket import check

            check(target)
        make = super()._create_socket
        sock: Any = make() if _at_once(target) else within(self._until_s - time.monotonic(), make)
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if transport.kind == "websocket":
            from .websocket import upgrade

            return upgrade(sock, target, self._until_s, self.connect_timeout)
        return sock

    def _create_socket_connection(self) -> Any:
        """Return a TCP connection, through a proxy only where the target names one: paho would obey mqtt_proxy."""
        target, transport = self._target, self._target.transport
        if transport.proxy is None:
            return tcp((target.host, target.port), transport.bind, self._until_s)
        from .proxy import through

        return through(transport.proxy, target, self._until_s)


def _at_once(target: Target) -> bool:
    """Whether neither a name server nor a proxy can delay paho beyond its own timeout.

    TLS can: OpenSSL does not return while a peer sends records without content.
    """
    host = target.host
    is_plain = not (target.transport.proxy or target.transport.tls)
    return is_plain and (host == "localhost" or ":" in host or host.replace(".", "").isdigit())


def unix_socket(path: str, until_s: float) -> Any:
    """Connect to a unix socket; paho would wait for it forever, and would not close it after a failure."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.settimeout(left(until_s))
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    return sock


def half_close(sock: Any) -> None:
    """Close the sending side; not with TLS, which would lose what is still to be read."""
    if not hasattr(sock, "unwrap"):
        try:
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            return  # the connection is lost, which the next read reports


def describe(sock: Any, transport: Transport) -> list[str]:
    """Return a line for each layer between client and broker: proxy, TLS, WebSocket."""
    lines: list[str] = []
    if transport.proxy:
        from .proxy import parse

        lines.append(f"through proxy {parse(transport.proxy).shown}")
    if transport.tls:
        from .tls import describe as describe_tls

        lines += describe_tls(sock.line.sock if transport.kind == "websocket" else sock, transport.tls)
    if transport.kind == "websocket":
        from .websocket import describe as describe_upgrade

        lines.append(describe_upgrade(sock.line.answer, transport.path))
    return lines
