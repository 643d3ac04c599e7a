"""A proxy on real sockets: bytes, ends and back pressure, with each layer on either side."""

import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from mqttpub.lab.broker.server import Broker
from mqttpub.lab.faults.faults import Faults
from mqttpub.lab.faults.rules import fault_rule
from mqttpub.lab.proxy import link
from mqttpub.lab.proxy.link import MOST_WAITING
from mqttpub.lab.serving.served_socket import READ
from mqttpub.live.net.transport import Tls, Transport
from tests.lab.proxy.proxies import NotingProxy
from tests.lab.serving.clients import KINDS, Way, connected, everything, flood, sent
from tests.lab.serving.servers import Echo
from tests.lab.sockets import Wire, alive, eventually

DATA = bytes(index * 7 % 251 for index in range(1_000_001))
RESET = struct.pack("ii", 1, 0)


@pytest.fixture
def proxied() -> Iterator[tuple[Broker, NotingProxy]]:
    """A broker, and a proxy before it."""
    with Broker() as broker, NotingProxy(broker.port) as proxy:
        yield broker, proxy


def test_bytes_and_ends_are_passed_on(proxied: tuple[Broker, NotingProxy]) -> None:
    broker, proxy = proxied
    with Wire(proxy.port) as wire:
        wire.connect("c")
        assert len(broker.clients) == 1
    assert eventually(lambda: not (broker.clients or proxy.sockets or proxy.links))
    assert proxy.ends() == ["closed by the client"]
    assert proxy.timers.next() is None


@pytest.mark.parametrize(("below", "above"), [("TLS", "TCP"), ("TCP", "TLS"), ("WS", "WSS"), ("WSS", "WS")])
def test_any_layers_may_lie_on_either_side(below: str, above: str, way: Callable[[str], Way]) -> None:
    layers, to_echo = way(above)
    front, to_proxy = way(below)
    with Echo(layers) as echo, NotingProxy(echo.port, to_echo, front) as proxy:
        with connected(proxy.port, to_proxy) as sock:
            # One thread: Python's ssl before 3.13 has no lock for two.
            for begin in range(0, len(DATA), 8192):
                piece = DATA[begin : begin + 8192]
                while piece:
                    gone = sock.send(piece)
                    assert everything(sock, gone) == piece[:gone]
                    piece = piece[gone:]
        assert eventually(lambda: not echo.sockets and not proxy.sockets)


def test_one_end_may_close_and_still_read() -> None:
    with Echo() as echo, NotingProxy(echo.port) as proxy:
        with connected(proxy.port) as sock:
            sender = sent(sock, DATA)
            assert everything(sock, 500_000) == DATA[:500_000]
            sender.join(10)
            sock.shutdown(socket.SHUT_WR)
            assert everything(sock, len(DATA)) == DATA[500_000:]
            assert everything(sock, 1) == b""
        assert eventually(lambda: not echo.sockets and not proxy.sockets)


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_reader_slows_its_own_connection_only(kind: str, way: Callable[[str], Way]) -> None:
    layers, transport = way(kind)
    with Echo(layers) as echo, NotingProxy(echo.port, transport) as proxy:
        with connected(proxy.port) as slow, connected(proxy.port) as quick:
            slow.settimeout(0.2)
            with pytest.raises(TimeoutError):
                flood(slow)
            assert eventually(lambda: [each.events & READ for each in proxy.sockets if each.paused] == [0, 0])
            assert all(len(each.output) < 2 * MOST_WAITING for each in [*proxy.sockets, *echo.sockets])
            quick.send(b"still here")
            assert everything(quick, 10) == b"still here"
        assert eventually(lambda: not echo.sockets and not proxy.sockets)


@pytest.mark.parametrize("by", ["client", "broker"])
@pytest.mark.parametrize("how", ["FIN", "RST"])
def test_an_end_reaches_the_other_side_as_what_it_is(by: str, how: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, NotingProxy(server.getsockname()[1]) as proxy:
        with connected(proxy.port) as client:
            broker, _ = server.accept()
            broker.settimeout(10)
            ending, other = (client, broker) if by == "client" else (broker, client)
            ending.sendall(b"last words")
            assert everything(other, 10) == b"last words"
            if how == "RST":
                ending.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                ending.close()
                with pytest.raises(ConnectionResetError):
                    other.recv(1)
            else:
                ending.shutdown(socket.SHUT_WR)
                assert other.recv(1) == b""
            broker.close()
        assert eventually(lambda: not proxy.links)
        assert proxy.ends() == [f"{'reset' if how == 'RST' else 'closed'} by the {by}"]


def test_what_the_broker_said_before_it_closed_reaches_a_client_that_goes_on_sending() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, NotingProxy(server.getsockname()[1]) as proxy:
        with connected(proxy.port) as client:
            broker, _ = server.accept()
            client.sendall(b"hello")
            assert everything(broker, 5) == b"hello"
            broker.sendall(b"go away")
            broker.close()
            assert everything(client, 7) == b"go away"
            with suppress(OSError):
                flood(client)
        assert eventually(lambda: not proxy.links)


def test_an_end_that_never_closes_is_not_awaited_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "HALF_OPEN_S", 0.1)
    monkeypatch.setattr(link, "LINGER_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server, NotingProxy(server.getsockname()[1]) as proxy:
        with connected(proxy.port):
            broker, _ = server.accept()
        with broker:
            assert eventually(lambda: not proxy.links)


def test_a_broker_that_never_answers_holds_nobody_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, Broker() as broker:
        transport = Transport(tls=Tls(insecure=True))
        with NotingProxy(silent.getsockname()[1], transport, timeout_s=1.0) as proxy:
            silent.settimeout(10)
            # Once the proxy has called there, another target does not change where this client goes.
            with connected(proxy.port) as waiting, silent.accept()[0]:
                proxy.target = proxy.target._replace(port=broker.port, transport=Transport())
                with Wire(proxy.port) as wire:
                    wire.connect("c")
                    assert proxy.ends() == []
                assert everything(waiting, 1) == b""
            assert eventually(lambda: len(proxy.ends()) == 2)
            assert "closed: no answer to the TLS handshake from" in "".join(proxy.ends())


def test_a_broker_that_accepts_and_says_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "LINGER_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with NotingProxy(port, timeout_s=0.2) as proxy, connected(proxy.port) as client:
            client.sendall(b"\x10")
            assert everything(client, 1) == b""
            client.close()
            assert eventually(lambda: not proxy.links)
            assert proxy.ends() == [f"closed: 127.0.0.1:{port} accepted it, but sent nothing within 0.2 s"]


def test_a_broker_that_is_down_is_named_and_the_client_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with NotingProxy(port) as proxy, connected(proxy.port) as sock:
        assert everything(sock, 1) == b""
        assert eventually(proxy.ends)
        assert proxy.ends() == [f"closed: cannot connect to 127.0.0.1:{port}: Connection refused"]


def test_a_client_that_is_gone_before_the_broker_answers_leaves_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, NotingProxy(server.getsockname()[1]) as proxy:
        for _ in range(20):
            client = socket.create_connection(("127.0.0.1", proxy.port))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            client.close()
        with connected(proxy.port):
            assert eventually(lambda: len(proxy.sockets) == 2 and len(proxy.links) == 1)


@pytest.mark.parametrize("garbage", [b"", b"\x16\x03\x01\x02", b"\0" * 70_000, b"GET / HTTP/1.1\r\n\r\n"])
@pytest.mark.parametrize("kind", ["TLS", "WSS"])
def test_garbage_before_the_layers_ends_its_own_connection_only(
    kind: str, garbage: bytes, way: Callable[[str], Way]
) -> None:
    layers, transport = way(kind)
    with Echo() as echo, NotingProxy(echo.port, layers=layers) as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port)) as stranger, suppress(OSError):
            stranger.sendall(garbage)
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(65536):
                continue
        assert eventually(lambda: not proxy.links)
        with connected(proxy.port, transport) as sock:
            sock.send(b"x")
            assert everything(sock, 1) == b"x"


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.long)])
def test_connects_in_a_row_leave_nothing(count: int, proxied: tuple[Broker, NotingProxy]) -> None:
    broker, proxy = proxied

    def quiet() -> bool:
        return not (broker.clients or proxy.sockets or proxy.links)

    with Wire(proxy.port) as wire:
        wire.connect("first")
    assert eventually(quiet)
    files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for index in range(count):
        with socket.create_connection(("127.0.0.1", proxy.port)) as sock:
            if index % 50 == 0:
                sock.sendall(b"\xff\xff")
    assert eventually(lambda: len(proxy.events) == 2 * (count + 1), 60)
    assert eventually(quiet)
    # Those of another test may have gone since.
    assert len(os.listdir("/proc/self/fd")) <= files
    assert threading.active_count() <= threads
    assert proxy.timers.next() is None
    assert alive(broker)


def faulty(*rules: str) -> Faults:
    """Return rules for faults, which nobody is told of."""
    return Faults([fault_rule(each) for each in rules], 1, lambda report: None)


def test_what_a_fault_holds_is_written_before_the_end_of_its_client() -> None:
    delay = faulty("type=PINGREQ delay 300ms")
    with socket.create_server(("127.0.0.1", 0)) as server, NotingProxy(server.getsockname()[1], faults=delay) as proxy:
        with connected(proxy.port) as client:
            client.sendall(b"\xc0\0\xe0\0")
        broker, _ = server.accept()
        with broker:
            broker.settimeout(10)
            assert everything(broker, 100) == b"\xc0\0\xe0\0"
        assert eventually(lambda: not proxy.links)
        assert proxy.timers.next() is None


def test_a_full_hold_slows_the_sender_and_loses_nothing() -> None:
    packet = b"\x30\x80\x80\x04" + b"\0\1a" + bytes(65536 - 3)
    delay = faulty("type=PUBLISH delay 100ms")
    with Echo() as echo, NotingProxy(echo.port, faults=delay) as proxy, connected(proxy.port) as client:
        sender = sent(client, packet * 64)
        assert everything(client, len(packet) * 64) == packet * 64
        sender.join(10)
        client.shutdown(socket.SHUT_WR)
        assert everything(client, 1) == b""


@pytest.mark.slow
def test_a_slow_reader_gets_everything_though_both_ends_have_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "LINGER_S", 0.005)
    data = DATA * 4
    with socket.create_server(("127.0.0.1", 0)) as server, NotingProxy(server.getsockname()[1]) as proxy:
        with Wire(proxy.port, small=True) as wire:
            broker, _ = server.accept()
            for each in proxy.sockets:
                each.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            wire.sock.shutdown(socket.SHUT_WR)

            def send() -> None:
                broker.sendall(data)
                broker.close()

            sender = threading.Thread(target=send)
            sender.start()
            got = bytearray()
            while piece := wire.sock.recv(16384):
                got += piece
                time.sleep(0.001)
            sender.join(10)
            assert got == data
        assert eventually(lambda: not proxy.links)


def test_a_broker_that_has_answered_may_be_silent() -> None:
    with Echo() as echo, NotingProxy(echo.port, timeout_s=0.5) as proxy, connected(proxy.port) as client:
        client.sendall(b"x")
        assert everything(client, 1) == b"x"
        assert proxy.timers.next() is None


def test_a_connection_to_the_broker_that_comes_too_late_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[Callable[[Any], None]] = []
    monkeypatch.setattr(link, "dial", lambda owner, target, timeout_s, done: late.append(done))
    ours, its = socket.socketpair()
    with NotingProxy(1) as proxy, connected(proxy.port) as client:
        assert eventually(lambda: late)
        proxy.stop()
        assert everything(client, 1) == b""
        late[0](its)
        assert ours.recv(1) == b""
        ours.close()
