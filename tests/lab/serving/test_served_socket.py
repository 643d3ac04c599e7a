"""One socket in a loop, where that of the system cannot be made to do it at will."""

import selectors
import socket
import time
from typing import Any

from mqttpub.lab.serving.served_socket import ServedSocket
from mqttpub.lab.serving.timers import Timers


class Loop:
    """A loop that never turns."""

    def __init__(self) -> None:
        self.selector: selectors.BaseSelector = selectors.DefaultSelector()
        self.timers = Timers()
        self.clock = time.monotonic
        self.sockets: dict[ServedSocket, None] = {}


class User:
    """Notes what is said about a socket."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def received(self, data: bytes) -> None:
        """Note bytes."""
        self.said.append(data)

    def drained(self) -> None:
        """Do nothing."""

    def ended(self) -> bool:
        """Close at the end of the peer."""
        return False

    def gone(self, why: str) -> None:
        """Note why it is closed."""
        self.said.append(why)


class Broken:
    """A socket whose peer has sent its last words and then reset the connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sock, name)

    def send(self, data: bytes) -> int:
        """Fail as the system does."""
        raise ConnectionResetError(104, "Connection reset by peer")


def test_the_last_words_of_a_peer_are_read_when_it_cannot_be_written_to() -> None:
    ours, its = socket.socketpair()
    its.sendall(b"why I go")
    its.close()
    loop, user = Loop(), User()
    served = ServedSocket(loop, Broken(ours), user)
    served.write(b"hello?")
    assert user.said == [b"why I go", "the connection broke: Connection reset by peer"]
    assert served.was_reset
    assert not served.open
    loop.selector.close()
