"""Proxies: what their URL says, and the way through them."""

import socket
from typing import NamedTuple

from .deadline import left, tcp
from .handshake import Handshake, ProxyFailed
from .http_connect import connect_http
from .socks import connect_socks4, connect_socks5
from .target import Target
from .transport import authority
from .urls import split

CONNECT = {"socks5h": connect_socks5, "socks5": connect_socks5, "socks4": connect_socks4, "http": connect_http}
"""The handshake of each scheme of a proxy's URL."""
PORTS = {"socks5h": 1080, "socks5": 1080, "socks4": 1080, "http": 8080}
LOCAL_NAMES = ("socks5",)
"""Schemes with which the client looks up the name of the broker, and not the proxy."""


class Proxy(NamedTuple):
    """A proxy, as its URL describes it."""

    scheme: str
    host: str
    port: int
    username: str | None
    password: str

    @property
    def shown(self) -> str:
        """The URL without the password."""
        user = f"{self.username}@" if self.username else ""
        return f"{self.scheme}://{user}{authority(self.host, self.port)}"


def parse(url: str) -> Proxy:
    """Return what a URL says; raises ValueError without the URL, for it may hold a password."""
    scheme, parts, _ = split(url, CONNECT)
    try:
        password = (parts.password or b"").decode()
    except UnicodeDecodeError:
        raise ValueError("its password is not UTF-8") from None
    return Proxy(
        scheme=scheme, host=parts.host, port=parts.port or PORTS[scheme], username=parts.username or None,
        password=password,
    )  # fmt: skip


def through(url: str, target: Target, until_s: float) -> socket.socket:
    """Return a socket to a broker beyond a proxy.

    Raises ProxyFailed, TimeoutError at the deadline, gaierror for a broker and ValueError for a host that does not
    exist.
    """
    proxy = parse(url)
    sock = _reach(proxy, target.transport.bind, until_s)
    username = None if proxy.username is None else proxy.username.encode()
    try:
        host = _looked_up(target.host) if proxy.scheme in LOCAL_NAMES else target.host
        handshake = Handshake(sock, until_s, proxy.shown, target.place)
        CONNECT[proxy.scheme](handshake, host, target.port, username, proxy.password.encode())
        sock.settimeout(left(until_s))
    except BaseException:
        sock.close()
        raise
    return sock


def _reach(proxy: Proxy, bind: str | None, until_s: float) -> socket.socket:
    """Return a connection to the proxy itself."""
    try:
        return tcp((proxy.host, proxy.port), bind, until_s)
    except TimeoutError:
        raise
    except socket.gaierror as error:
        raise ProxyFailed(f"cannot resolve host '{proxy.host}'") from error
    except OSError as error:
        raise ProxyFailed(f"cannot connect to the proxy {proxy.shown}: {error.strerror}") from error


def _looked_up(host: str) -> str:
    """Return an address of a host, an IPv4 address where there is one: few proxies have IPv6."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return str(min(found, key=lambda each: each[0])[4][0])
