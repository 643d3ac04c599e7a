"""SOCKS and HTTP proxies: PySocks speaks SOCKS, CONNECT is our own.

PySocks asks an HTTP proxy for an IPv6 address without its brackets, and loses what the broker
says together with the answer's head.
"""

import socket
from importlib import import_module
from typing import Any, NamedTuple

from ..failures import Unusable
from .deadline import left, tcp
from .transport import authority
from .tunnel import NoAnswer, NoUser, NoWay, connect_through
from .urls import authority as parts_of

KINDS = {"socks5h": ("SOCKS5", True), "socks5": ("SOCKS5", False), "socks4": ("SOCKS4", True), "http": ("HTTP", True)}
"""Schemes of a proxy's URL: PySocks' name, and whether the proxy looks up the name of the broker."""
PORTS = {"SOCKS5": 1080, "SOCKS4": 1080, "HTTP": 8080}


class Proxy(NamedTuple):
    """A proxy, as its URL describes it."""

    scheme: str
    host: str
    port: int
    username: str | None
    password: str | None

    @property
    def shown(self) -> str:
        """The URL without the password."""
        user = f"{self.username}@" if self.username else ""
        return f"{self.scheme}://{user}{authority(self.host, self.port)}"


def parse(url: str) -> Proxy:
    """Return what a URL says; raises ValueError without the URL, for it may hold a password."""
    scheme, found, rest = url.partition("://")
    kind = KINDS.get(scheme.lower())
    if not found or kind is None:
        raise ValueError(f"it does not begin with any of {', '.join(f'{each}://' for each in KINDS)}")
    parts = parts_of(rest.partition("/")[0])
    password = None if parts.password is None else _text(parts.password)
    return Proxy(scheme.lower(), parts.host, parts.port or PORTS[kind[0]], parts.username or None, password or None)


def _text(password: bytes) -> str:
    try:
        return password.decode()
    except UnicodeDecodeError:
        raise ValueError("its password is not UTF-8") from None


def check(url: str) -> None:
    """Raise Unusable for a proxy that needs what is not installed."""
    if parse(url).scheme != "http":
        _pysocks()


def through(url: str, place: tuple[str, int], bind: str | None, until: float) -> socket.socket:
    """Return a socket to a host and port beyond a proxy; raises OSError and ValueError, see `cause`, and Unusable."""
    proxy = parse(url)
    return (_http if proxy.scheme == "http" else _socks)(proxy, place, bind, until)


def _http(proxy: Proxy, place: tuple[str, int], bind: str | None, until: float) -> socket.socket:
    try:
        sock = tcp((proxy.host, proxy.port), bind, until)
    except (TimeoutError, socket.gaierror):
        raise
    except OSError as error:
        raise Unreached(error) from error
    try:
        user = None if proxy.username is None else f"{proxy.username}:{proxy.password or ''}"
        connect_through(sock, *place, user, until)
    except BaseException:
        sock.close()
        raise
    return sock


def _socks(proxy: Proxy, place: tuple[str, int], bind: str | None, until: float) -> Any:
    socks = _pysocks()
    kind, remote = KINDS[proxy.scheme]
    return socks.create_connection(
        place, left(until), (bind, 0) if bind else None,
        proxy_type=getattr(socks, kind), proxy_addr=proxy.host, proxy_port=proxy.port, proxy_rdns=remote,
        proxy_username=proxy.username, proxy_password=proxy.password,
    )  # fmt: skip


def _pysocks() -> Any:
    try:
        return import_module("socks")
    except ImportError:
        raise Unusable("a SOCKS proxy needs PySocks: pip install 'mqttpub[proxy]'", "proxy") from None


# why there is no way


class Unreached(OSError):
    """There is no connection to the proxy itself; named as PySocks does."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.socket_err = error


UNREACHED = "cannot connect to the proxy {proxy}: {reason}"
REFUSED = "the proxy {proxy} refused to connect to {place}: {reason}"
NO_USER = "the proxy {proxy} refused the user: {reason}"
SAYINGS = {
    Unreached.__name__: UNREACHED,
    NoAnswer.__name__: "the proxy {proxy} {reason}",
    NoUser.__name__: NO_USER,
    "ProxyConnectionError": UNREACHED,
    "SOCKS5AuthError": NO_USER,
    "GeneralProxyError": "the proxy {proxy} broke off: {reason}",
}
"""What our exceptions and those of PySocks mean; all others say that the proxy refused."""


def cause(error: OSError, url: str, place: str, timeout: float) -> str | None:
    """Return what went wrong at the proxy as one sentence, or None when it was not the proxy."""
    proxy = parse(url)
    error = _innermost(error)
    below = getattr(error, "socket_err", error)
    if isinstance(below, TimeoutError):
        return f"no answer from {place} through the proxy {proxy.shown} within {timeout:g} s"
    if isinstance(below, socket.gaierror):
        host = proxy.host if below is error else place
        return f"host '{host}' is not known"
    if not isinstance(error, NoWay) and not hasattr(error, "socket_err"):
        return None
    reason = below.strerror if isinstance(below, OSError) and below.strerror else str(error).splitlines()[0]
    return SAYINGS.get(type(error).__name__, REFUSED).format(proxy=proxy.shown, place=place, reason=reason)


def _innermost(error: OSError) -> OSError:
    """Return the error that PySocks has wrapped, as far as it is one of its own."""
    below: Any = getattr(error, "socket_err", None)
    return _innermost(below) if hasattr(below, "socket_err") else error
