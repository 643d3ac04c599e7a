"""A socket to a broker with all its layers, opened within one deadline."""

import errno
import socket
import time
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ...common.system import unix_socket
from ..failures import NotConnected
from .deadline import left, tcp, within
from .target import Target
from .transport import Transport


def open_socket(target: Target, until_s: float, timeout_s: float) -> Any:
    """Return a socket to a broker, over TCP or a unix socket, through a proxy, with TLS and WebSocket as `target` says.

    `until_s` is the deadline, a moment of the monotonic clock; `timeout_s` is how long that was, for sentences. Raises
    NotConnected, and Unusable for files and names that no connection could use.
    """
    try:
        return _layers(target, until_s, timeout_s)
    except (OSError, ValueError) as error:
        raise NotConnected(_sentence(error, target, timeout_s)) from error


_TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)


def _sentence(error: Exception, target: Target, timeout_s: float) -> str:
    """Return one sentence about an error before there was a connection."""
    if _out_of_files(error):
        return f"cannot connect to {target.place}: too many open files (`ulimit -n` limits them)"
    from .errors import explain

    return explain(error, target, timeout_s)


def _out_of_files(error: Exception) -> bool:
    if not isinstance(error, socket.gaierror):
        return getattr(error, "errno", None) in _TOO_MANY_FILES
    # Without a free descriptor the name server is not asked, and the error says nothing of why.
    try:
        socket.socket().close()
    except OSError as unopened:
        return unopened.errno in _TOO_MANY_FILES
    return False


def _layers(target: Target, until_s: float, timeout_s: float) -> Any:
    transport = target.transport
    if transport.kind == "unix":
        return _unix_socket(transport.path, until_s)
    if transport.kind == "websocket":
        # Before anything is sent: a value that cannot be in its request.
        from .websocket import check

        check(target)

    def make() -> Any:
        return _secured(target, until_s, timeout_s)

    sock = make() if _at_once(target) else within(until_s - time.monotonic(), make)
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if transport.kind == "websocket":
        from .websocket import upgrade

        return upgrade(sock, target, until_s, timeout_s)
    return sock


def _secured(target: Target, until_s: float, timeout_s: float) -> Any:
    """Return a TCP connection, with TLS if the target says so."""
    if target.transport.tls is None:
        return _tcp(target, until_s)
    from .tls import context, secured

    # Before anything is sent: files and names that cannot be used.
    made = context(target)
    return secured(made, _tcp(target, until_s), target, until_s, timeout_s)


def _at_once(target: Target) -> bool:
    """Whether neither a name server nor a proxy can delay connecting beyond the timeout of the socket.

    TLS can: OpenSSL does not return while a peer sends records without content.
    """
    host = target.host
    is_plain = not (target.transport.proxy or target.transport.tls)
    return is_plain and (host == "localhost" or ":" in host or host.replace(".", "").isdigit())


def _tcp(target: Target, until_s: float) -> socket.socket:
    """Return a TCP connection, through a proxy only where the target names one."""
    transport = target.transport
    if transport.proxy is None:
        return tcp((target.host, target.port), transport.bind, until_s)
    from .proxy import through

    return through(transport.proxy, target, until_s)


def _unix_socket(path: str, until_s: float) -> socket.socket:
    sock = unix_socket()
    try:
        sock.settimeout(left(until_s))
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    return sock


Place = tuple[str, int]
"""Address and port."""
LOCAL = "127.0.0.1"


class Route(NamedTuple):
    """The way that a connection takes below MQTT."""

    layers: list[str]
    """A line for each layer between client and broker: proxy, TLS, WebSocket."""
    client: Place = (LOCAL, 0)
    """The end of this program; 127.0.0.1 and port 0 for a Unix socket."""
    server: Place = (LOCAL, 0)
    """The other end of the socket, which is that of a proxy where there is one."""


@runtime_checkable
class RouteObserver(Protocol):
    """An Observer that takes the way of a connection below MQTT."""

    def connected(self, route: Route) -> None:
        """Begin a connection; called before anything else."""


def show_route(observer: object, sock: Any, transport: Transport) -> None:
    """Give the way of an open socket to an observer that takes it."""
    if isinstance(observer, RouteObserver):
        observer.connected(describe(sock, transport))


def describe(sock: Any, transport: Transport) -> Route:
    """Return the way that an open socket takes."""
    below = sock.line.sock if transport.kind == "websocket" else sock
    return Route(_layer_lines(sock, below, transport), *_ends(below))


def _ends(sock: socket.socket) -> tuple[Place, Place]:
    """Return the addresses of both ends of a socket; those of a connection that is already lost are not known."""
    try:
        ours, theirs = sock.getsockname(), sock.getpeername()
    except OSError:
        return (LOCAL, 0), (LOCAL, 0)
    if not isinstance(ours, tuple):  # the path of a Unix socket
        return (LOCAL, 0), (LOCAL, 0)
    return (ours[0], ours[1]), (theirs[0], theirs[1])


def _layer_lines(sock: Any, below: Any, transport: Transport) -> list[str]:
    lines: list[str] = []
    if transport.proxy:
        from .proxy import parse

        lines.append(f"through proxy {parse(transport.proxy).shown}")
    if transport.tls:
        from .tls import describe as describe_tls

        lines += describe_tls(below, transport.tls)
    if transport.kind == "websocket":
        from .websocket import describe as describe_upgrade

        lines.append(describe_upgrade(sock.line.answer, transport.path))
    return lines
