"""Clients of servers under test, over each of the layers."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from mqttpub.lab.serving.layers import Layers, server_context
from mqttpub.live.net.dial import open_socket
from mqttpub.live.net.target import Target
from mqttpub.live.net.transport import Tls, Transport
from mqttpub.live.tap import NoPayload
from tests.build.certificates import Authority

Way = tuple[Layers, Transport]
TCP = Transport()
KINDS = ["TCP", "TLS", "WS", "WSS"]


def ways(folder: Path) -> Callable[[str], Way]:
    """Return a function that returns the layers of a listener, and the transport of a client to it."""
    ca = Authority(folder)
    pair = ca.signed("server")

    def made(kind: str) -> Way:
        with_tls, websocket = kind in ("TLS", "WSS"), kind in ("WS", "WSS")
        return (
            Layers(server_context(Tls(cert=str(pair.cert), key=str(pair.key))) if with_tls else None, websocket),
            Transport("websocket" if websocket else "tcp", "/mqtt", tls=Tls(str(ca.cert)) if with_tls else None),
        )

    return made


@contextmanager
def connected(port: int, transport: Transport = TCP) -> Iterator[Any]:
    """Yield a client's socket, which blocks for some seconds at most."""
    sock = open_socket(Target("127.0.0.1", port, transport=transport), time.monotonic() + 5, 5)
    getattr(getattr(sock, "line", None), "sock", sock).settimeout(10)
    try:
        yield sock
    finally:
        sock.close()


def everything(sock: Any, size: int) -> bytes:
    """Return the next bytes."""
    data = bytearray()
    while len(data) < size:
        try:
            piece = sock.recv(min(65536, size - len(data)))
        except NoPayload:
            continue
        if not piece:
            break
        data += piece
    return bytes(data)


def sent(sock: Any, data: bytes) -> threading.Thread:
    """Send bytes from a thread."""

    def work() -> None:
        left = memoryview(data)
        while left:
            left = left[sock.send(bytes(left[:65536])) :]

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def flood(sock: Any) -> NoReturn:
    """Send for ever, and read nothing."""
    while True:
        sock.send(bytes(65536))
