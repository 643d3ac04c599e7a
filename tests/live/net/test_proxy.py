"""Proxies of each kind, and what their refusals say."""

import socket
import threading
import time

import pytest

from mqttpub.live.failures import NotConnected
from mqttpub.live.net import proxy as proxies
from mqttpub.live.net.http_connect import request
from mqttpub.live.net.target import Target
from mqttpub.live.net.transport import Transport
from tests.build.brokers import Broker, free_port
from tests.cli.requested import requested
from tests.fakes import Peer, scripted
from tests.live.relays import head, http, relay, socks4, socks5
from tests.live.ways import SHORT, kept, layers, publish, to, trusting, websocket

pytestmark = pytest.mark.slow

PROXIES = {
    "socks5": ("socks5://127.0.0.1:{}", socks5(), "localhost"),
    "socks5h": ("socks5h://127.0.0.1:{}", socks5(), "localhost"),
    "socks5h, user": ("socks5h://me%40x:s%3Acret@127.0.0.1:{}", socks5(b"me@x", b"s:cret"), "localhost"),
    "socks4": ("socks4://127.0.0.1:{}", socks4, "localhost"),
    "http": ("http://127.0.0.1:{}", http(), "localhost"),
    "http, user": ("http://me:s%3Acret@localhost:{}", http(user=b"me:s:cret"), "localhost"),
    "socks5, IPv6": ("socks5://127.0.0.1:{}", socks5(), "::1"),
    "socks5h, IPv6": ("socks5h://127.0.0.1:{}", socks5(), "::1"),
    "http, IPv6": ("http://127.0.0.1:{}", http(), "::1"),
    "http, IPv6, user": ("http://m%C3%A9:secret@127.0.0.1:{}", http(user="mé:secret".encode()), "::1"),
}


@pytest.mark.broker
@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("kind", ["tcp", "tls", "ws", "wss"])
def test_a_message_arrives_through_a_proxy(name: str, kind: str, brokers: Broker) -> None:
    url, negotiate, host = PROXIES[name]
    if host == "::1" and kind == "tcp":
        kind = "ipv6"
    tls = trusting(brokers) if kind in ("tls", "wss") else None
    with relay(negotiate) as proxy:
        way = Transport(tls=tls) if kind in ("tcp", "tls", "ipv6") else websocket(tls)
        shown = layers(to(brokers, kind, way._replace(proxy=url.format(proxy.port)), host=host))
    assert kept(brokers) == b"x"
    asked_host, asked_port = proxy.asked[0]
    assert asked_port == brokers.ports[kind]
    assert asked_host == host if name != "socks5" else asked_host in ("127.0.0.1", "::1")
    assert shown[0].startswith("through proxy ")
    assert shown[0].endswith(f":{proxy.port}")
    assert "cret" not in shown[0]
    assert len(shown) == 1 + (tls is not None) + (way.kind == "websocket")


def test_the_proxy_looks_up_names_that_we_do_not_know(brokers: Broker) -> None:
    with relay(lambda sock: ("127.0.0.1", brokers.ports["tcp"]) if socks5()(sock) else None) as proxy:
        url = f"socks5h://127.0.0.1:{proxy.port}"
        publish(Target("broker.invalid", 1883, transport=Transport(proxy=url)))


@pytest.mark.broker
def test_five_megabytes_through_a_proxy(brokers: Broker) -> None:
    payload = bytes(range(256)) * 20_480
    with relay(socks5()) as proxy:
        url = f"socks5h://127.0.0.1:{proxy.port}"
        publish(to(brokers, "wss", websocket(trusting(brokers), proxy=url)), payload, timeout=20)
    assert kept(brokers) == payload


def closing(sock: socket.socket) -> None:
    """Be a proxy that hears a request out and closes."""
    head(sock)


REFUSED = "refused to connect to broker.invalid:1883: "
REFUSING = {
    "socks5 refused": ("socks5h://", socks5(refusal=5), REFUSED + "0x05: Connection refused"),
    "socks5 ruleset": ("socks5h://", socks5(refusal=2), REFUSED + "0x02: Connection not allowed by ruleset"),
    "socks5 user": (
        "socks5h://me:wrong@", socks5(b"me", b"right"), "refused the user: SOCKS5 authentication failed",
    ),
    "socks5 no user": ("socks5h://", socks5(b"me", b"right"), "refused the user: All offered"),
    "http 403": ("http://", http("403 Forbidden"), REFUSED + "403 Forbidden"),
    "http 407": ("http://", http(user=b"me:right"), REFUSED + "407 Proxy Authentication Required"),
    "http user": ("http://me:wrong@", http(user=b"me:right"), "refused the user: 407 Proxy Authentication Required"),
    "http 502": ("http://", http("502 Bad Gateway"), REFUSED + "502 Bad Gateway"),
    "http without a reason": ("http://", http("503"), REFUSED + "503"),
    "closes": ("socks5h://", lambda sock: None, "broke off: "),
    "http closes": ("http://", closing, "broke off: Connection closed unexpectedly"),
    "no HTTP": ("http://", lambda sock: sock.sendall(b"\x15\x03\x01"), "does not speak HTTP"),
    "endless": (
        "http://", lambda sock: sock.sendall(b"HTTP/1.1 200 " + b"x" * 70_000),
        "broke off: its answer has more than 65536 bytes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSING)
def test_a_refusing_proxy_is_named_without_its_password(name: str) -> None:
    scheme, negotiate, sentence = REFUSING[name]
    with relay(negotiate) as proxy:
        transport = Transport(proxy=f"{scheme}127.0.0.1:{proxy.port}")
        with pytest.raises(NotConnected) as caught:
            publish(Target("broker.invalid", 1883, transport=transport))
    said = str(caught.value)
    assert said.startswith(f"the proxy {scheme.replace(':wrong', '')}127.0.0.1:{proxy.port} ")
    assert sentence in said
    assert "\n" not in said


def test_a_proxy_that_is_not_there_is_named() -> None:
    port = free_port()
    with pytest.raises(NotConnected) as caught:
        publish(Target(transport=Transport(proxy=f"http://127.0.0.1:{port}")))
    assert str(caught.value) == f"cannot connect to the proxy http://127.0.0.1:{port}: Connection refused"
    with pytest.raises(NotConnected) as caught:
        publish(Target(transport=Transport(proxy="http://proxy.invalid")))
    assert str(caught.value) == "cannot resolve host 'proxy.invalid'"


def test_a_proxy_that_says_nothing_is_left_at_the_deadline() -> None:
    def silent(sock: socket.socket) -> None:
        head(sock)
        assert not sock.recv(1), "the client leaves"

    with relay(silent) as proxy, pytest.raises(NotConnected) as caught:
        publish(Target(transport=Transport(proxy=f"http://127.0.0.1:{proxy.port}")), timeout=SHORT)
    shown = f"http://127.0.0.1:{proxy.port}"
    assert str(caught.value) == f"no answer from localhost:1883 through the proxy {shown} within {SHORT:g} s"


@pytest.mark.parametrize("scheme", ["http", "socks4", "socks5", "socks5h"])
def test_a_handshake_that_drips_ends_at_the_deadline_and_not_later(scheme: str) -> None:
    """Each byte comes in time, but all of them never do; nothing may continue in the background."""
    ended: list[bool] = []

    def dripping(sock: socket.socket) -> None:
        socks = b"\5\0\5\0\0\3\xff"
        answer = {"http": b"HTTP/1.1 200 " + b"x" * 100, "socks4": b"\0Z", "socks5": socks, "socks5h": socks}[scheme]
        try:
            for byte in answer + bytes(100):
                sock.sendall(bytes((byte,)))
                time.sleep(SHORT / 4)
        except OSError:
            ended.append(True)

    before = threading.active_count()
    with relay(dripping) as proxy:
        began_s = time.monotonic()
        with pytest.raises(NotConnected, match="no answer from localhost:1883 through the proxy"):
            publish(Target(transport=Transport(proxy=f"{scheme}://127.0.0.1:{proxy.port}")), timeout=SHORT)
        assert time.monotonic() - began_s < 4 * SHORT + 5
    assert ended == [True], "the client has closed its socket"
    assert threading.active_count() == before


def test_a_user_of_a_socks_proxy_may_have_any_characters() -> None:
    with relay(socks5("mé".encode(), "pä:ß".encode(), refusal=5)) as proxy:
        url = f"socks5h://m%C3%A9:p%C3%A4%3A%C3%9F@127.0.0.1:{proxy.port}"
        with pytest.raises(NotConnected, match="0x05: Connection refused"):
            publish(Target("broker.invalid", 1883, transport=Transport(proxy=url)))


def test_what_comes_together_with_the_answer_belongs_to_the_broker() -> None:
    """A broker does not speak first, but a proxy may deliver its answer and more in any pieces."""

    def proxy(peer: Peer) -> None:
        head(peer.sock)
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n" + bytes.fromhex("20 03 00 00 00"))
        peer.packet()
        peer.packet()
        peer.send("40 02 00 01")
        peer.packet()

    with scripted(proxy) as port:
        publish(Target(transport=Transport(proxy=f"http://127.0.0.1:{port}")))


def test_connect_names_the_host_as_urls_do() -> None:
    assert request("::1", 1883, None) == b"CONNECT [::1]:1883 HTTP/1.1\r\nHost: [::1]:1883\r\n\r\n"
    assert request("bücher.example", 80, None).startswith(b"CONNECT xn--bcher-kva.example:80 HTTP/1.1\r\n")
    for host in ("a\r\nX: y", "a b"):
        with pytest.raises(ValueError, match="is not a host"):
            request(host, 1, None)


@pytest.mark.broker
@pytest.mark.parametrize("variable", ["mqtt_proxy", "all_proxy", "http_proxy", "https_proxy", "socks_proxy"])
def test_no_variable_but_ours_names_a_proxy(variable: str, brokers: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """paho alone would go through mqtt_proxy, and nobody would see it."""
    monkeypatch.setenv(variable, f"http://127.0.0.1:{free_port()}")
    assert layers(to(brokers, "tcp")) == []


def test_our_variable_names_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQTTPUB_PROXY", "http://h:1")
    assert requested().target.transport.proxy == "http://h:1"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://a", "it does not begin with any of socks5h://, socks5://, socks4://, http://"),
        ("me:secret@h:1080", "it does not begin with any of"),
        ("http://u:secret@", "it has no host"),
        ("http://u:secret", "its port is not a number"),
        ("http://u:se/cret@h", "its port is not a number"),
        ("http://u:secret\u2100@h\u2100:x", "its port is not a number"),
        ("http://u:secret@[::1", "its IPv6 address has no ]"),
        ("http://u:secret@h\r\nSecret: 1", "its port is not a number|no host name has"),
        ("http://u:%ff@h", "its password is not UTF-8"),
        ("http://u:secret@h%0d%0aSecret", "a character that no host name has"),
    ],
)
def test_a_malformed_proxy_url_is_refused_without_showing_its_password(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        proxies.parse(url)
    assert "cret" not in str(caught.value)
