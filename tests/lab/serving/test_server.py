"""Servers on real sockets: an echo with each layer."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mqttpub.lab.serving.ending import resets
from mqttpub.lab.serving.layers import server_context
from mqttpub.live.failures import Unusable
from mqttpub.live.net.transport import Tls
from tests.build.certificates import Authority
from tests.lab.serving.clients import KINDS, Way, connected, everything
from tests.lab.serving.servers import Echo
from tests.lab.sockets import eventually


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_come_back_whole_and_in_order(kind: str, way: Callable[[str], Way]) -> None:
    layers, transport = way(kind)
    data = bytes(index * 7 % 251 for index in range(1_000_001))
    with Echo(layers) as echo:
        with connected(echo.port, transport) as sock:
            # One thread: Python's ssl before 3.13 has no lock for two.
            for begin in range(0, len(data), 8192):
                piece = data[begin : begin + 8192]
                while piece:
                    gone = sock.send(piece)
                    assert everything(sock, gone) == piece[:gone]
                    piece = piece[gone:]
        assert eventually(lambda: not echo.sockets)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stays", [False, True])
def test_the_end_is_said_after_the_last_byte(kind: str, stays: bool, way: Callable[[str], Way]) -> None:
    layers, transport = way(kind)
    with Echo(layers) as echo:
        with connected(echo.port, transport) as sock:
            if kind == "TLS":
                sock.suppress_ragged_eofs = False  # so that TLS has to say that it ends
            sock.send(b"good BYE")
            assert everything(sock, 9) == b"good BYE"
            assert not stays or eventually(lambda: not echo.sockets)
        assert eventually(lambda: not echo.sockets)


@pytest.mark.parametrize("kind", ["TLS", "WS", "WSS"])
@pytest.mark.parametrize("garbage", [b"", b"\x16\x03\x01\x02", b"\0" * 70_000, b"GET / HTTP/1.1\r\n\r\n", b"\r\n" * 9])
def test_garbage_ends_its_own_connection_only(kind: str, garbage: bytes, way: Callable[[str], Way]) -> None:
    layers, transport = way(kind)
    with Echo(layers) as echo:
        with socket.create_connection(("127.0.0.1", echo.port)) as stranger, suppress(OSError):
            stranger.sendall(garbage)
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(65536):
                continue
        assert eventually(lambda: not echo.sockets)
        with connected(echo.port, transport) as sock:
            sock.send(b"x")
            assert everything(sock, 1) == b"x"


def waited(event: threading.Event) -> None:
    """Wait for an event."""
    assert event.wait(10)


@pytest.mark.parametrize("kind", KINDS)
def test_many_last_words_are_not_answered_one_within_the_other(kind: str, way: Callable[[str], Way]) -> None:
    layers, transport = way(kind)
    goes_on = threading.Event()
    with Echo(layers) as echo:
        with connected(echo.port, transport) as sock:
            sock.send(b"x")
            assert everything(sock, 1) == b"x"
            echo.call(lambda: waited(goes_on))
            for _ in range(2000):  # each in a record or frame of its own, which are read one by one
                sock.send(b"x")
            resets(sock)
        goes_on.set()
        assert eventually(lambda: not echo.sockets)


def test_a_server_starts_again_on_its_port() -> None:
    echo = Echo()
    ports = set()
    for _ in range(2):
        with echo:
            ports.add(echo.port)
            with connected(echo.port) as sock:
                sock.send(b"x")
                assert everything(sock, 1) == b"x"
                echo.stop()
                assert everything(sock, 1) == b""
    assert len(ports) == 1


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    mine, other = ca.signed("mine"), ca.signed("other")
    with pytest.raises(Unusable, match="is not the key of"):
        server_context(Tls(cert=str(mine.cert), key=str(other.key)))
