"""A way through an HTTP proxy: the method CONNECT (RFC 9110, 9.3.6)."""

import base64
import socket

from .deadline import left
from .transport import authority

START = b"HTTP/"
END = b"\r\n\r\n"
MOST_HEAD = 1 << 16
"""Bytes that the head of an answer may have."""
UNKNOWN_USER = "407"


class NoWay(OSError):
    """An HTTP proxy does not connect us; the text is what it does instead, or the status it gives."""


class NoUser(NoWay):
    """An HTTP proxy does not take our user; the text is the status it gives."""


class NoAnswer(NoWay):
    """What answers is no HTTP proxy; the text goes behind its name."""


def connect_through(sock: socket.socket, host: str, port: int, user: str | None, until: float) -> None:
    """Ask the proxy at the other end of a socket for a host; raises NoWay, OSError, and ValueError for no host.

    `user` is the name and the password with a colon between.
    """
    asked = request(host, port, user)
    try:
        sock.sendall(asked)
        status = _status(_head(sock, until))
    except ConnectionError as error:
        raise NoAnswer(f"broke off: {error.strerror}") from error
    if status.startswith(UNKNOWN_USER) and user is not None:
        raise NoUser(status)
    if not status.startswith("2"):
        raise NoWay(status or "no status")


def request(host: str, port: int, user: str | None) -> bytes:
    """Return the request for a host; raises ValueError for a name that cannot stand in it."""
    name = host if host.isascii() else host.encode("idna").decode()
    if " " in name or not name.isprintable():
        raise ValueError(f"'{host}' is no host")
    place = authority(name, port)
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if user is not None:
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(user.encode()).decode()}")
    return "\r\n".join([*lines, "", ""]).encode()


def _head(sock: socket.socket, until: float) -> bytes:
    """Return the head of the answer; what comes behind it is the broker's, so it is read byte by byte."""
    head = bytearray()
    while not head.endswith(END):
        sock.settimeout(left(until))
        byte = sock.recv(1)
        head += byte
        if not byte:
            raise NoAnswer("broke off: Connection closed unexpectedly")
        if not head.startswith(START[: len(head)]):
            raise NoAnswer("does not speak HTTP")
        if len(head) > MOST_HEAD:
            raise NoAnswer(f"broke off: its answer goes on behind {MOST_HEAD} bytes")
    return bytes(head)


def _status(head: bytes) -> str:
    """Return the code and the reason of an answer."""
    line = head.split(b"\r\n", 1)[0].decode("latin-1")
    return line.partition(" ")[2].strip()
