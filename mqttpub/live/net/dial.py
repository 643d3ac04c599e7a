"""Making the socket: through paho where that is possible, within one deadline."""

import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

from .deadline import left, tcp, within
from .target import Target
from .transport import Transport


def dial(target: Target, until_s: float, timeout_s: float, make: Callable[[], Any]) -> Any:
    """Return a socket to the broker with all its layers; `make` is paho's method for it.

    Raises Unusable, before anything is sent, for a value that cannot be in the request of a WebSocket.
    """
    transport = target.transport
    if transport.kind == "unix":
        return unix_socket(transport.path, until_s)
    if transport.kind == "websocket":
        from .websocket import check

        check(target)
    sock = make() if _at_once(target) else within(until_s - time.monotonic(), make)
    _without_delay(sock)
    if transport.kind == "websocket":
        from .websocket import upgrade

        return upgrade(sock, target, until_s, timeout_s)
    return sock


def _at_once(target: Target) -> bool:
    """Whether neither a name server nor a proxy can delay paho beyond its own timeout."""
    host = target.host
    return not target.transport.proxy and (host == "localhost" or ":" in host or host.replace(".", "").isdigit())


def _without_delay(sock: Any) -> None:
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def connected(target: Target, until_s: float) -> Any:
    """Return a TCP connection to the broker, through a proxy only where the target names one.

    paho itself would also obey the environment variable mqtt_proxy.
    """
    transport = target.transport
    if transport.proxy is None:
        return tcp((target.host, target.port), transport.bind, until_s)
    from .proxy import through

    return through(transport.proxy, target, until_s)


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
    if not isinstance(sock, ssl.SSLSocket):
        try:
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            return  # the connection is lost, which the next read reports


def describe(sock: Any, transport: Transport) -> list[str]:
    """Return a line for each layer of a connection that is more than TCP."""
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
