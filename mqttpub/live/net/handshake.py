"""A handshake with a proxy on a connected socket: reads and writes within one deadline, and how it can fail."""

import socket

from .deadline import left


class ProxyFailed(OSError):
    """The proxy does not lead to the broker; the text is one sentence."""


class Handshake:
    """The socket of a handshake with `proxy`, the way to `place`; both are named in sentences.

    Raises TimeoutError at the deadline, ProxyFailed where the proxy closes.
    """

    def __init__(self, sock: socket.socket, until_s: float, proxy: str, place: str) -> None:
        self._sock = sock
        self._until_s = until_s
        self._proxy = proxy
        self._place = place

    def broken(self, how: str) -> ProxyFailed:
        """Return the failure of a proxy that broke the protocol or the connection."""
        return ProxyFailed(f"the proxy {self._proxy} {how}")

    def user_refused(self, reason: str) -> ProxyFailed:
        """Return the failure of a proxy that does not accept the user."""
        return self.broken(f"refused the user: {reason}")

    def refused(self, reason: str) -> ProxyFailed:
        """Return the failure of a proxy that does not connect to the broker."""
        return self.broken(f"refused to connect to {self._place}: {reason}")

    def send(self, data: bytes) -> None:
        """Send all bytes."""
        self._sock.settimeout(left(self._until_s))
        try:
            self._sock.sendall(data)
        except ConnectionError as error:
            raise self.broken(f"broke off: {error.strerror}") from error

    def read(self, count: int) -> bytes:
        """Return exactly `count` bytes; what comes after them belongs to the broker."""
        data = b""
        while len(data) < count:
            self._sock.settimeout(left(self._until_s))
            try:
                piece = self._sock.recv(count - len(data))
            except ConnectionError as error:
                raise self.broken(f"broke off: {error.strerror}") from error
            if not piece:
                raise self.broken("broke off: Connection closed unexpectedly")
            data += piece
        return data
