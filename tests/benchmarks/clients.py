"""What the benchmarks of clients share: brokers and sinks to send to, and the lines of a file."""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.build.brokers import plain

PING, PONG = b"\xc0\0", b"\xd0\0"


def unlimited(port: int) -> list[str]:
    """Return the settings of a broker that drops no message."""
    return [*plain(port), "max_queued_messages 0", "max_connections -1"]


def numbered(folder: Path, count: int, size: int = 62) -> Path:
    """Write lines of so many characters."""
    path = folder / "lines"
    path.write_bytes(b"".join(b"%-*d\n" % (size, number) for number in range(count)))
    return path


@contextmanager
def sink() -> Iterator[int]:
    """Answer CONNECT and PINGREQ on many connections, and read all else away."""
    selector = selectors.DefaultSelector()
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as server:
        selector.register(server, selectors.EVENT_READ)
        running = True

        def serve() -> None:
            buffer = bytearray(1 << 20)
            while running:
                for key, _ in selector.select(0.2):
                    if key.fileobj is server:
                        selector.register(server.accept()[0], selectors.EVENT_READ)
                        continue
                    sock = key.fileobj
                    assert isinstance(sock, socket.socket)
                    size = sock.recv_into(buffer)
                    if not size:
                        selector.unregister(sock)
                        sock.close()
                    elif buffer.startswith(b"\x10"):
                        sock.sendall(bytes.fromhex("2003000000"))
                    elif buffer.endswith(PING, 0, size):
                        sock.sendall(PONG)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield int(server.getsockname()[1])
        finally:
            running = False
            thread.join()
