"""A scripted peer on a real socket, for faults that no broker makes."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from mqttpub.codec.framing import frame_length
from mqttpub.lab.player import Player, PlayOptions
from mqttpub.lab.raw_client import RawClient
from mqttpub.script.reader import read_script
from mqttpub.spec.versions import Direction

CONNACK = bytes.fromhex("20 03 00 00 00")
"""CONNACK of MQTT 5.0 that accepts."""


class Peer:
    """The broker's end of one connection, as a script uses it."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.sock.settimeout(10)
        self._buffer = b""

    def packet(self) -> bytes:
        """Return the next whole packet from the client, or what came before it closed."""
        while (length := frame_length(self._buffer)) is None or len(self._buffer) < length:
            chunk = self.sock.recv(65536)
            if not chunk:
                rest, self._buffer = self._buffer, b""
                return rest
            self._buffer += chunk
        packet, self._buffer = self._buffer[:length], self._buffer[length:]
        return packet

    def send(self, hexadecimal: str) -> None:
        """Send bytes, written in hex."""
        self.sock.sendall(bytes.fromhex(hexadecimal))

    def trickle(self, hexadecimal: str) -> None:
        """Send bytes one at a time."""
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in bytes.fromhex(hexadecimal):
            self.sock.sendall(bytes((byte,)))

    def accept(self, connack: str = "20 03 00 00 00") -> bytes:
        """Take the CONNECT, answer it, and return it."""
        connect = self.packet()
        self.send(connack)
        return connect

    def reset(self) -> None:
        """Break the connection off with a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def wait(self) -> None:
        """Read until the client closes."""
        while self.sock.recv(65536):
            pass


Script = Callable[[Peer], None]


def answering(
    *answers: str, seen: list[str] | None = None, connack: str = CONNACK.hex(), last: Script = lambda peer: None
) -> Script:
    """Return a script that accepts, answers each packet with the next of these bytes, does the last, and closes.

    What it is sent is added to `seen` in hex.
    """

    def script(peer: Peer) -> None:
        peer.accept(connack)
        for answer in answers:
            packet = peer.packet()
            if seen is not None:
                seen.append(packet.hex(" "))
            peer.send(answer)
        last(peer)

    return script


def conversation(*lines: str) -> Script:
    """Return a script that takes a CONNECT and then plays the server's end of these lines, in the notation of scripts.

    The client sends what they say and nothing else.
    """
    steps = list(read_script(["> connect", *lines]))

    def script(peer: Peer) -> None:
        connection = RawClient(peer.sock, Direction.SERVER)
        # What the client sends afterwards is not of these lines.
        options = PlayOptions(Direction.SERVER, timeout_s=10, quiet_s=0)
        with Player(lambda label, version: connection, options) as player:
            player.play(steps)

    return script


@contextmanager
def scripted_at_once(scripts: list[Script]) -> Iterator[int]:
    """Run a script for each connection to a free port of loopback, all at once, and yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        failures: list[BaseException] = []

        def serve(script: Script) -> None:
            try:
                sock, _ = server.accept()
                with sock:
                    script(Peer(sock))
            except (ConnectionError, TimeoutError):
                return
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=serve, args=(script,), daemon=True) for script in scripts]
        for thread in threads:
            thread.start()
        yield server.getsockname()[1]
        for thread in threads:
            thread.join(12)
        if failures:
            raise failures[0]


@contextmanager
def scripted_many(scripts: list[Script]) -> Iterator[int]:
    """Run a script for each connection to a free port of loopback, in order, and yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        failures: list[BaseException] = []

        def serve() -> None:
            for script in scripts:
                try:
                    sock, _ = server.accept()
                except OSError:
                    return
                with sock:
                    try:
                        script(Peer(sock))
                    except (ConnectionError, TimeoutError):
                        continue
                    except BaseException as error:
                        failures.append(error)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.close()
        thread.join(12)
        if failures:
            raise failures[0]


def scripted(script: Script) -> AbstractContextManager[int]:
    """Run a script for the first connection to a free port of loopback, and yield the port."""
    return scripted_many([script])
