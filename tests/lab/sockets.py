"""Clients of a running broker on plain sockets."""

import socket
import time
from collections.abc import Callable
from typing import Any

from mqttpub.codec.encode import encode
from mqttpub.codec.stream import Stream
from mqttpub.lab.broker.server import Broker
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Connack, Connect, Pingreq, Pingresp
from mqttpub.spec.versions import Direction, Version
from tests.lab.peer import V5, read


class Wire:
    """A connection to a broker; use it in a `with`."""

    def __init__(self, port: int, version: Version = V5, *, host: str = "127.0.0.1", small: bool = False) -> None:
        self.version = version
        self.sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.sock.settimeout(10)
        if small:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.connect((host, port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = Stream(Direction.SERVER)
        self.ready: list[Packet] = []

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *error: object) -> None:
        self.sock.close()

    def connect(self, client_id: str = "c", **fields: Any) -> "Wire":
        """Send a CONNECT that is accepted."""
        connack = self.ask(Connect(client_id=client_id, **fields))
        assert isinstance(connack, Connack)
        assert connack.reason_code == 0
        return self

    def send(self, *packets: Packet | bytes) -> "Wire":
        """Send packets, or bytes as they are, in one piece."""
        self.sock.sendall(b"".join(each if isinstance(each, bytes) else encode(each, self.version) for each in packets))
        return self

    def receive(self) -> bytes:
        """Return what comes next; acknowledged at once, because mosquitto waits for that before it writes more."""
        if hasattr(socket, "TCP_QUICKACK"):
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return self.sock.recv(65536)

    def next(self) -> Any:
        """Return the next packet; None when the broker has closed."""
        while not self.ready:
            data = self.receive()
            if not data:
                return None
            self.ready += [read(frame.data, self.version) for frame in self.stream.feed(data)]
        return self.ready.pop(0)

    def ask(self, *packets: Packet | bytes) -> Any:
        """Send something and return the next packet."""
        return self.send(*packets).next()

    def rest(self) -> list[Any]:
        """Return all packets until the broker closes."""
        return list(iter(self.next, None))


def alive(broker: Broker) -> bool:
    """Whether a new client is served."""
    with Wire(broker.port) as wire:
        return bool(wire.connect("probe").ask(Pingreq()) == Pingresp())


def eventually(true: Callable[[], object], within: float = 5.0) -> bool:
    """Wait until something is true."""
    end = time.monotonic() + within
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
