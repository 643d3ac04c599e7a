"""Small proxies and a wire tap on loopback, each connection in threads of its own."""

import base64
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from mqttpub.spec.versions import Direction

Place = tuple[str, int]
Negotiate = Callable[[socket.socket], Place | None]
"""Talks to a client until it has said where it wants to go; None when it is to be turned away."""


class Passed(NamedTuple):
    """Bytes that passed a relay."""

    connection: int
    """Number of the connection, from 0."""
    direction: Direction
    data: bytes


class Relay:
    """What a relay was asked for, and what passed it."""

    def __init__(self, negotiate: Negotiate, *, keeps: bool) -> None:
        self.port = 0
        self.asked: list[Place] = []
        self.passed: list[Passed] = []
        """What passed, if the relay `keeps` it."""
        self._negotiate = negotiate
        self._keeps = keeps

    def halves(self) -> dict[tuple[int, Direction], bytes]:
        """Return what each end of each connection sent."""
        found: dict[tuple[int, Direction], bytearray] = {}
        for number, direction, data in self.passed:
            found.setdefault((number, direction), bytearray()).extend(data)
        return {half: bytes(data) for half, data in found.items()}

    def serve(self, sock: socket.socket) -> None:
        """Relay one connection until both ends have closed."""
        with sock:
            sock.settimeout(10)
            place = self._negotiate(sock)
            if place is None:
                return
            number = len(self.asked)
            self.asked.append(place)
            with socket.create_connection(place, timeout=10) as beyond:
                back = threading.Thread(target=self._copy, args=(beyond, sock, number, Direction.SERVER))
                back.start()
                self._copy(sock, beyond, number, Direction.CLIENT)
                back.join()

    def _copy(self, source: socket.socket, sink: socket.socket, number: int, direction: Direction) -> None:
        try:
            while data := source.recv(65536):
                if self._keeps:
                    self.passed.append(Passed(number, direction, data))
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return


@contextmanager
def relay(negotiate: Negotiate, *, keeps: bool = True) -> Iterator[Relay]:
    """Run a relay on a free port of loopback."""
    made = Relay(negotiate, keeps=keeps)
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        made.port = server.getsockname()[1]

        def accept() -> None:
            while True:
                sock, _ = server.accept()
                if not running:
                    sock.close()
                    return
                threads.append(threading.Thread(target=_quietly, args=(made, sock)))
                threads[-1].start()

        running = True
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield made
        finally:
            running = False
            socket.create_connection(("127.0.0.1", made.port)).close()
            for thread in (accepting, *threads):
                thread.join(12)


def _quietly(made: Relay, sock: socket.socket) -> None:
    try:
        made.serve(sock)
    except OSError:
        return


def straight_to(port: int) -> Negotiate:
    """Return what makes a relay a wire to a port of loopback."""
    return lambda sock: ("127.0.0.1", port)


def socks5(user: bytes = b"", password: bytes = b"", refusal: int = 0) -> Negotiate:
    """Return what makes a relay a SOCKS5 proxy (RFC 1928, 1929)."""

    def negotiate(sock: socket.socket) -> Place | None:
        _, count = exactly(sock, 2)
        methods = exactly(sock, count)
        method = 2 if user else 0
        if method not in methods:
            sock.sendall(b"\x05\xff")
            return None
        sock.sendall(bytes((5, method)))
        if user and not _logged_in(sock, user, password):
            return None
        kind = exactly(sock, 4)[3]
        host = _host(sock, kind)
        (port,) = struct.unpack(">H", exactly(sock, 2))
        sock.sendall(bytes((5, refusal, 0, 1, 0, 0, 0, 0, 0, 0)))
        return None if refusal else (host, port)

    return negotiate


def _logged_in(sock: socket.socket, user: bytes, password: bytes) -> bool:
    given = exactly(sock, exactly(sock, 2)[1]), exactly(sock, exactly(sock, 1)[0])
    right = given == (user, password)
    sock.sendall(bytes((1, not right)))
    return right


def _host(sock: socket.socket, kind: int) -> str:
    if kind == 3:
        return exactly(sock, exactly(sock, 1)[0]).decode()
    family, size = (socket.AF_INET, 4) if kind == 1 else (socket.AF_INET6, 16)
    return socket.inet_ntop(family, exactly(sock, size))


def socks4(sock: socket.socket) -> Place | None:
    """Be a SOCKS4A proxy."""
    _, _, port, address = struct.unpack(">BBH4s", exactly(sock, 8))
    _until_zero(sock)
    named = address[:3] == bytes(3)
    host = _until_zero(sock).decode() if named else socket.inet_ntoa(address)
    sock.sendall(bytes((0, 0x5A, 0, 0, 0, 0, 0, 0)))
    return host, port


def _until_zero(sock: socket.socket) -> bytes:
    text = b""
    while (byte := exactly(sock, 1)) != b"\0":
        text += byte
    return text


def http(answer: str = "200 Connection established", user: bytes = b"") -> Negotiate:
    """Return what makes a relay an HTTP proxy that knows CONNECT; an IPv6 address stands in brackets."""

    def negotiate(sock: socket.socket) -> Place | None:
        request = head(sock)
        said = answer if not user or _presented(request) == user else "407 Proxy Authentication Required"
        host, _, port = request.split()[1].rpartition(":")
        if ":" in host and not (host.startswith("[") and host.endswith("]")):
            said = "400 Bad Request"
        sock.sendall(f"HTTP/1.1 {said}\r\nProxy-Agent: test\r\n\r\n".encode())
        return (host.strip("[]"), int(port)) if said.startswith("200") else None

    return negotiate


def _presented(request: str) -> bytes:
    """Return the user and the password of a request."""
    lines = (line.partition(": ") for line in request.splitlines())
    value = next((value for name, _, value in lines if name == "Proxy-Authorization"), "")
    return base64.b64decode(value.removeprefix("Basic "))


def head(sock: socket.socket) -> str:
    """Return the head of an HTTP request."""
    text = b""
    while not text.endswith(b"\r\n\r\n"):
        text += exactly(sock, 1)
    return text.decode()


def exactly(sock: socket.socket, count: int) -> bytes:
    """Return so many bytes; raises ConnectionError when the other side closes before."""
    data = b""
    while len(data) < count:
        chunk = sock.recv(count - len(data))
        if not chunk:
            raise ConnectionError
        data += chunk
    return data
