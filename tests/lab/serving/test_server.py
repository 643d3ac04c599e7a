"""Servers on real sockets: an echo with each layer, and a proxy in front of the embedded broker and of a peer that does
not read."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mqttpub.lab.broker.server import Broker
from mqttpub.lab.serving.layers import Layers, server_context
from mqttpub.lab.serving.served_socket import READ
from mqttpub.live.failures import Unusable
from mqttpub.live.net.dial import open_socket
from mqttpub.live.net.target import Target
from mqttpub.live.net.transport import Tls, Transport
from mqttpub.live.tap import NoPayload
from tests.build.certificates import Authority
from tests.lab.serving.servers import MOST_WAITING, Echo, Proxy
from tests.lab.sockets import Wire, alive, eventually

Way = tuple[Layers, Transport]
TCP = Transport()
KINDS = ["TCP", "TLS", "WS", "WSS"]


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Way]:
    """A function that returns the layers of a listener, and the transport of a client to it."""
    ca = Authority(tmp_path_factory.mktemp("serving"))
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


# a proxy


@pytest.fixture
def proxied() -> Iterator[tuple[Broker, Proxy]]:
    """A broker, and a proxy before it."""
    with Broker() as broker, Proxy(Target("127.0.0.1", broker.port)) as proxy:
        yield broker, proxy


def test_a_proxy_passes_both_ends_on(proxied: tuple[Broker, Proxy]) -> None:
    broker, proxy = proxied
    with Wire(proxy.port) as wire:
        wire.connect("c")
        assert len(broker.clients) == 1
    assert eventually(lambda: not broker.clients and not proxy.sockets)


@pytest.mark.parametrize(("below", "above"), [("TLS", "TCP"), ("TCP", "TLS"), ("WS", "WSS"), ("WSS", "WS")])
def test_a_proxy_has_any_layers_on_either_side(below: str, above: str, way: Callable[[str], Way]) -> None:
    data = bytes(index * 7 % 251 for index in range(1_000_001))
    layers, to_echo = way(above)
    front, to_proxy = way(below)
    with Echo(layers) as echo, Proxy(Target("127.0.0.1", echo.port, transport=to_echo), front) as proxy:
        with connected(proxy.port, to_proxy) as sock:
            # One thread: Python's ssl before 3.13 has no lock for two.
            for begin in range(0, len(data), 8192):
                piece = data[begin : begin + 8192]
                while piece:
                    gone = sock.send(piece)
                    assert everything(sock, gone) == piece[:gone]
                    piece = piece[gone:]
        assert eventually(lambda: not echo.sockets and not proxy.sockets)


def test_one_end_may_close_and_still_read() -> None:
    data = bytes(index * 7 % 251 for index in range(1_000_001))
    with Echo() as echo, Proxy(Target("127.0.0.1", echo.port)) as proxy:
        with connected(proxy.port) as sock:
            sender = sent(sock, data)
            assert everything(sock, 500_000) == data[:500_000]
            sender.join(10)
            sock.shutdown(socket.SHUT_WR)
            assert everything(sock, len(data)) == data[500_000:]
            assert everything(sock, 1) == b""
        assert eventually(lambda: not echo.sockets and not proxy.sockets)


def flood(sock: Any) -> NoReturn:
    """Send for ever, and read nothing."""
    while True:
        sock.send(bytes(65536))


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_reader_slows_its_own_connection_only(kind: str, way: Callable[[str], Way]) -> None:
    layers, transport = way(kind)
    with Echo(layers) as echo, Proxy(Target("127.0.0.1", echo.port, transport=transport)) as proxy:
        with connected(proxy.port) as slow, connected(proxy.port) as quick:
            slow.settimeout(0.2)
            with pytest.raises(TimeoutError):
                flood(slow)
            assert eventually(lambda: [each.events & READ for each in proxy.sockets if each.paused] == [0, 0])
            assert all(len(each.output) < 2 * MOST_WAITING for each in [*proxy.sockets, *echo.sockets])
            quick.send(b"still here")
            assert everything(quick, 10) == b"still here"
        assert eventually(lambda: not echo.sockets and not proxy.sockets)


def test_an_upstream_that_never_answers_holds_nobody_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, Broker() as broker:
        transport = Transport(tls=Tls(insecure=True))
        with Proxy(Target("127.0.0.1", silent.getsockname()[1], transport=transport), timeout_s=1.0) as proxy:
            with connected(proxy.port) as waiting:
                assert eventually(lambda: len(proxy.sockets) == 1)
                proxy.target = Target("127.0.0.1", broker.port)
                with Wire(proxy.port) as wire:
                    wire.connect("c")
                    assert proxy.failures == []
                assert everything(waiting, 1) == b""
            assert [each.split(" from ")[0] for each in proxy.failures] == ["no answer to the TLS handshake"]


def test_an_upstream_that_is_down_is_named_and_the_client_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with Proxy(Target("127.0.0.1", port)) as proxy, connected(proxy.port) as sock:
        assert everything(sock, 1) == b""
        assert proxy.failures == [f"cannot connect to 127.0.0.1:{port}: Connection refused"]


@pytest.mark.slow
def test_many_connections_leave_nothing(proxied: tuple[Broker, Proxy]) -> None:
    broker, proxy = proxied
    for index in range(300):
        with Wire(proxy.port) as wire:
            wire.connect(str(index))
    assert eventually(lambda: not broker.clients and not proxy.sockets)
    assert proxy.timers.next() is None
    assert alive(broker)
