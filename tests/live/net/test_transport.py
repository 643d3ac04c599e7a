"""Every way to a real mosquitto, and ports that are not what they should be."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, repeat
from pathlib import Path

import pytest

from mqttpub.live import session
from mqttpub.live.failures import NotConnected, PeerFault
from mqttpub.live.net.target import Target
from mqttpub.live.net.transport import Tls, Transport
from mqttpub.live.publish.publisher import publish_all
from mqttpub.live.publish.sender import Publication
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.versions import Version
from tests.build.brokers import Broker
from tests.fakes import Peer, Script, scripted
from tests.live.ways import LARGE, SHORT, TIMEOUT, WAYS, kept, layers, publish, saying, to, ws

pytestmark = pytest.mark.slow


@pytest.mark.broker
@pytest.mark.parametrize("name", WAYS)
def test_a_message_arrives(name: str, brokers: Broker) -> None:
    payload = name.encode()
    assert not publish(WAYS[name](brokers), payload).refused
    assert kept(brokers) == payload


@pytest.mark.broker
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_large_message_arrives(name: str, qos: int, brokers: Broker) -> None:
    payload = bytes(range(256)) * 20_480
    assert not publish(WAYS[name](brokers), payload, qos=qos, timeout=60).refused
    assert kept(brokers) == payload


@pytest.mark.broker
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("version", [Version.V31, Version.V311])
def test_an_older_version_ends_cleanly(
    name: str, version: Version, brokers: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "LINGER_S", 60.0)
    target = WAYS[name](brokers)._replace(version=version).changed(client_id="test")
    message = Publication.of(Publish(topic="older", payload=b"x"), version)
    began_s = time.monotonic()
    assert len(publish_all(target, [message], timeout_s=60)) == 1
    assert time.monotonic() - began_s < 30, "the broker's close ends the wait, not the clock"


@pytest.mark.broker
def test_many_messages_arrive_over_wss(brokers: Broker) -> None:
    target = WAYS["WSS"](brokers).changed(client_id="many")
    messages = [Publication.of(Publish(topic="many", qos=2, payload=bytes(1000)), target.version) for _ in range(2000)]
    exchanges = publish_all(target, messages, timeout_s=TIMEOUT)
    assert len(exchanges) == 2000
    assert not any(exchange.refused for exchange in exchanges)


@pytest.mark.broker
def test_the_broker_sees_the_bound_address(brokers: Broker) -> None:
    publish(WAYS["bind"](brokers))
    assert "New connection from 127.0.0.9" in brokers.log.read_text()


@pytest.mark.broker
def test_a_plain_connection_has_no_layers_to_show(brokers: Broker) -> None:
    assert [layers(WAYS[name](brokers)) for name in ("TCP", "bind", "unix")] == [[], [], []]


# ports of another kind


FOREIGN = {
    "TLS": (saying(bytes.fromhex("15 03 01 00 02 02 46")), NotConnected, "127.0.0.1:{} speaks TLS"),
    "HTTP": (saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), NotConnected, "127.0.0.1:{} speaks HTTP"),
    "SSH": (saying(b"SSH-2.0-x\r\n"), NotConnected, "127.0.0.1:{} speaks SSH"),
    "SUBSCRIBE": (saying(bytes.fromhex("82 00")), PeerFault, "SUBSCRIBE with an error at offset 0"),
    "nothing": (saying(b""), NotConnected, "127.0.0.1:{} closed the connection before CONNACK"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_port_that_speaks_no_mqtt_is_named(name: str) -> None:
    script, kind, sentence = FOREIGN[name]
    with scripted(script) as port, pytest.raises(kind) as caught:
        publish(Target("127.0.0.1", port))
    assert sentence.format(port) in str(caught.value)


def test_a_unix_socket_where_nobody_listens_is_not_connected(tmp_path: Path) -> None:
    missing, stale = tmp_path / "missing", tmp_path / "stale"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(stale))
    said = {}
    for path in (missing, stale):
        with pytest.raises(NotConnected) as caught:
            publish(Target(transport=Transport("unix", str(path))))
        said[path] = str(caught.value)
    assert said == {
        missing: f"cannot connect to {missing}: No such file or directory",
        stale: f"cannot connect to {stale}: Connection refused",
    }


def test_an_address_that_is_not_ours_is_named(brokers: Broker) -> None:
    with pytest.raises(NotConnected) as caught:
        publish(to(brokers, "tcp", Transport(bind="192.0.2.77")))
    port = brokers.ports["tcp"]
    assert str(caught.value) == f"cannot connect to localhost:{port} from 192.0.2.77: Cannot assign requested address"


# the deadline

SILENT: dict[str, Callable[[int], Target]] = {
    "TLS": lambda port: Target("127.0.0.1", port, transport=Transport(tls=Tls(insecure=True))),
    "WS": ws,
    "WSS": lambda port: ws(port, tls=Tls(insecure=True)),
    "socks5": lambda port: Target(transport=Transport(proxy=f"socks5://127.0.0.1:{port}")),
    "socks4": lambda port: Target(transport=Transport(proxy=f"socks4://127.0.0.1:{port}")),
    "http": lambda port: Target(transport=Transport(proxy=f"http://127.0.0.1:{port}")),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_silent_peer_is_given_up_in_time(name: str) -> None:
    said = pytest.raises(NotConnected, match=r"no answer .*within 0\.5 s")
    with scripted(lambda peer: peer.wait()) as port, said:
        publish(SILENT[name](port), timeout=SHORT)


def trickling(answer: bytes) -> Script:
    """Return a script that says a little from time to time, and never what would end the answer."""

    def script(peer: Peer) -> None:
        peer.sock.recv(65536)
        peer.sock.settimeout(SHORT / 3)
        for byte in chain(answer, repeat(0x78)):
            peer.sock.sendall(bytes((byte,)))
            with suppress(TimeoutError):
                if not peer.sock.recv(65536):
                    return

    return script


TRICKLES = {
    "TLS": b"\x16\x03\x03\x10\x00\x02\x00\x00",
    "WS": b"HTTP/1.1 101 Switching",
    # A thread waits for the whole answer, so it is a short one.
    "socks5": b"\x05\x00\x05\x00\x00\x03\x08",
    "http": b"HTTP/1.1 200 OK",
}


@pytest.mark.parametrize("name", TRICKLES)
def test_a_peer_that_trickles_is_given_up_in_time(name: str) -> None:
    said = pytest.raises(NotConnected, match=r"no answer .*within 0\.5 s")
    with scripted(trickling(TRICKLES[name])) as port, said:
        publish(SILENT[name](port), timeout=SHORT)


def test_connect_goes_unchanged_over_every_way(brokers: Broker) -> None:
    target = WAYS["WSS"](brokers)._replace(connect=Connect(client_id="me", keep_alive=7))
    assert target.place == f"wss://localhost:{brokers.ports['wss']}/mqtt"
    assert target.changed(keep_alive=9).transport is target.transport
