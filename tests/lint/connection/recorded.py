"""Real conversations, recorded by a proxy on loopback."""

import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from mqttpub.codec.decode import decode
from mqttpub.codec.stream import ConnectionStreams
from mqttpub.codec.tree import Finding
from mqttpub.lint.connection import Conversation, Tally
from mqttpub.lint.packet.check import lint
from mqttpub.spec.versions import Direction, Version


class Piece(NamedTuple):
    """Bytes that passed, or an end that closed (no bytes)."""

    time: int
    direction: Direction
    data: bytes


class Pair:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.sockets = {Direction.CLIENT: client, Direction.SERVER: server}
        self.pieces: list[Piece] = []
        self.open = set(Direction)

    def move(self, direction: Direction) -> bool:
        """Pass on what an end sent; return whether it may send more."""
        try:
            data = self.sockets[direction].recv(65536)
        except OSError:
            data = b""
        self.pieces.append(Piece(time.monotonic_ns(), direction, data))
        other = self.sockets[Direction.SERVER if direction is Direction.CLIENT else Direction.CLIENT]
        with suppress(OSError):
            other.sendall(data) if data else other.shutdown(socket.SHUT_WR)
        if not data:
            self.open.discard(direction)
        if not self.open:
            for each in self.sockets.values():
                each.close()
        return bool(data)


class Recorder:
    """A proxy before a broker, and what passed it."""

    def __init__(self, broker: int) -> None:
        self.broker = broker
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.pairs: list[Pair] = []
        self._stop = threading.Event()

    def serve(self) -> None:
        """Forward bytes until stopped."""
        with selectors.DefaultSelector() as selector, self.listener:
            selector.register(self.listener, selectors.EVENT_READ)
            while not self._stop.is_set():
                for key, _ in selector.select(0.05):
                    if key.data is None:
                        self._accept(selector)
                        continue
                    pair, direction = key.data
                    if not pair.move(direction):
                        selector.unregister(key.fileobj)
            for pair in self.pairs:
                for each in pair.sockets.values():
                    each.close()

    def stop(self) -> None:
        """End `serve`."""
        self._stop.set()

    def _accept(self, selector: selectors.BaseSelector) -> None:
        client, _ = self.listener.accept()
        pair = Pair(client, socket.create_connection(("127.0.0.1", self.broker)))
        self.pairs.append(pair)
        for direction, each in pair.sockets.items():
            selector.register(each, selectors.EVENT_READ, (pair, direction))


@contextmanager
def recorder(broker: int) -> Iterator[Recorder]:
    """Run a proxy before a broker."""
    made = Recorder(broker)
    thread = threading.Thread(target=made.serve)
    thread.start()
    try:
        yield made
    finally:
        made.stop()
        thread.join()


def judged(pair: Pair) -> tuple[list[Finding], Tally, Version]:
    """Return all that is found in a recorded connection, in its packets and between them."""
    talk, stream, found = Conversation(), ConnectionStreams(), list[Finding]()
    for when, direction, data in list(pair.pieces):
        for frame in stream.feed(direction, data):
            decoded = decode(frame.data, frame.version, direction=direction)
            found += lint(decoded) + talk.packet(decoded, when)
        if not data:
            found += talk.closed(direction, "FIN", when)
    return found, talk.tally, talk.version
