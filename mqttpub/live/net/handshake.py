"""A handshake with a proxy on a connected socket: reads and writes within one deadline, and how it can fail."""

import socket

from .deadline import left


class ProxyRefused(OSError):
    """The proxy does not connect to the broker; the text is the reason that it gives."""


class ProxyUserRefused(ProxyRefused):
    """The proxy does not accept the user; the text is the reason that it gives."""


class ProxyBroke(ProxyRefused):
    """The proxy broke the protocol or the connection; the text follows the name of the proxy."""


class Handshake:
    """The socket of a handshake. Raises TimeoutError at the deadline, ProxyBroke where the proxy closes."""

    def __init__(self, sock: socket.socket, until_s: float) -> None:
        self._sock = sock
        self._until_s = until_s

    def send(self, data: bytes) -> None:
        """Send all bytes."""
        self._sock.settimeout(left(self._until_s))
        try:
            self._sock.sendall(data)
        except ConnectionError as error:
            raise ProxyBroke(f"broke off: {error.strerror}") from error

    def read(self, count: int) -> bytes:
        """Return exactly `count` bytes; what comes after them belongs to the broker."""
        data = b""
        while len(data) < count:
            self._sock.settimeout(left(self._until_s))
            try:
                piece = self._sock.recv(count - len(data))
            except ConnectionError as error:
                raise ProxyBroke(f"broke off: {error.strerror}") from error
            if not piece:
                raise ProxyBroke("broke off: Connection closed unexpectedly")
            data += piece
        return data
