"""SOCKS and HTTP proxies, which paho reaches with PySocks."""

import socket
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from .failures import NotConnected

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
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{user}{host}:{self.port}"


def parse(url: str) -> Proxy:
    """Return what a URL says; raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in KINDS:
        raise ValueError(f"'{parts.scheme or url}' is none of {', '.join(KINDS)}")
    if not parts.hostname:
        raise ValueError(f"no host in '{_shown(parts)}'")
    return Proxy(
        parts.scheme, parts.hostname, parts.port or PORTS[KINDS[parts.scheme][0]],
        _decoded(parts.username), _decoded(parts.password),
    )  # fmt: skip


def _decoded(text: str | None) -> str | None:
    return unquote(text) if text else None


def _shown(parts: SplitResult) -> str:
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def arguments(url: str, host: str) -> dict[str, Any]:
    """Return what paho's proxy_set takes; raises NotConnected without PySocks."""
    from paho.mqtt import client

    socks: Any = client.socks  # type: ignore[attr-defined]
    if socks is None:
        raise NotConnected("a proxy needs PySocks: pip install 'mqttpub[proxy]'")
    proxy = parse(url)
    kind, remote = KINDS[proxy.scheme]
    if kind == "HTTP" and ":" in host:
        raise NotConnected("PySocks cannot ask an HTTP proxy for an IPv6 address")
    return {
        "proxy_type": getattr(socks, kind), "proxy_addr": proxy.host, "proxy_port": proxy.port, "proxy_rdns": remote,
        "proxy_username": proxy.username, "proxy_password": proxy.password,
    }  # fmt: skip


SAYINGS = {
    "ProxyConnectionError": "cannot connect to the proxy {proxy}: {reason}",
    "SOCKS5AuthError": "the proxy {proxy} refused the user: {reason}",
    "GeneralProxyError": "the proxy {proxy} broke off: {reason}",
}
"""What the exceptions of PySocks mean; all others say that the proxy refused."""
REFUSED = "the proxy {proxy} refused to connect to {place}: {reason}"


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
    if not hasattr(error, "socket_err"):
        return None
    reason = below.strerror if isinstance(below, OSError) and below.strerror else str(error).splitlines()[0]
    return SAYINGS.get(type(error).__name__, REFUSED).format(proxy=proxy.shown, place=place, reason=reason)


def _innermost(error: OSError) -> OSError:
    """Return the error that PySocks has wrapped, as far as it is one of its own."""
    below: Any = getattr(error, "socket_err", None)
    return _innermost(below) if hasattr(below, "socket_err") else error
