"""The client side of an HTTP proxy: the method CONNECT (RFC 9110, 9.3.6)."""

import base64

from .handshake import Handshake
from .transport import authority

START = b"HTTP/"
END = b"\r\n\r\n"
MOST_HEAD_BYTES = 1 << 16
"""Bytes that the head of an answer may have."""
UNKNOWN_USER = "407"


def connect_http(proxy: Handshake, host: str, port: int, username: bytes | None, password: bytes) -> None:
    """Ask an HTTP proxy for a host; raises ProxyFailed, and ValueError for an unusable host."""
    user = None if username is None else username + b":" + password
    proxy.send(request(host, port, user))
    status = _status(_head(proxy))
    if status.startswith(UNKNOWN_USER) and user is not None:
        raise proxy.user_refused(status)
    if not status.startswith("2"):
        raise proxy.refused(status or "no status")


def request(host: str, port: int, user: bytes | None) -> bytes:
    """Return the request for a host; raises ValueError for a name that cannot be in it.

    `user` is the name and the password with a colon between.
    """
    name = host if host.isascii() else host.encode("idna").decode()
    if " " in name or not name.isprintable():
        raise ValueError(f"'{host}' is not a host")
    place = authority(name, port)
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if user is not None:
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(user).decode()}")
    return "\r\n".join([*lines, "", ""]).encode()


def _head(proxy: Handshake) -> bytes:
    """Return the head of the answer; what comes after it is the broker's, so it is read byte by byte."""
    head = bytearray()
    while not head.endswith(END):
        head += proxy.read(1)
        if not head.startswith(START[: len(head)]):
            raise proxy.broken("does not speak HTTP")
        if len(head) > MOST_HEAD_BYTES:
            raise proxy.broken(f"broke off: its answer has more than {MOST_HEAD_BYTES} bytes")
    return bytes(head)


def _status(head: bytes) -> str:
    """Return the code and the reason of an answer."""
    line = head.split(b"\r\n", 1)[0].decode("latin-1")
    return line.partition(" ")[2].strip()
