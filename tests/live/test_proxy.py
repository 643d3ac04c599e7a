"""Proxies of each kind, and what their refusals say."""

import pytest

from mqttpub.live import proxy as proxies
from mqttpub.live.connection import Target
from mqttpub.live.failures import NotConnected
from mqttpub.live.transport import Transport
from tests.conftest import free_port
from tests.live.brokers import Broker
from tests.live.relays import http, relay, socks4, socks5
from tests.live.ways import kept, layers, publish, to, trusting, websocket

pytestmark = pytest.mark.slow

PROXIES = {
    "socks5": ("socks5://127.0.0.1:{}", socks5(), "localhost"),
    "socks5h": ("socks5h://127.0.0.1:{}", socks5(), "localhost"),
    "socks5h, user": ("socks5h://me%40x:s%3Acret@127.0.0.1:{}", socks5(b"me@x", b"s:cret"), "localhost"),
    "socks4": ("socks4://127.0.0.1:{}", socks4, "localhost"),
    "http": ("http://127.0.0.1:{}", http(), "localhost"),
    "http, user": ("http://me:secret@localhost:{}", http(), "localhost"),
}


@pytest.mark.broker
@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("kind", ["tcp", "tls", "ws", "wss"])
def test_a_message_arrives_through_a_proxy(name: str, kind: str, brokers: Broker) -> None:
    url, negotiate, host = PROXIES[name]
    tls = trusting(brokers) if kind in ("tls", "wss") else None
    with relay(negotiate) as proxy:
        way = Transport(tls=tls) if kind in ("tcp", "tls") else websocket(tls)
        told = layers(to(brokers, kind, way._replace(proxy=url.format(proxy.port)), host=host))
    assert kept(brokers) == b"x"
    asked_host, asked_port = proxy.asked[0]
    assert asked_port == brokers.ports[kind]
    assert asked_host == "localhost" if name != "socks5" else asked_host in ("127.0.0.1", "::1")
    assert told[0].startswith("through proxy ")
    assert told[0].endswith(f":{proxy.port}")
    assert "cret" not in told[0]
    assert len(told) == 1 + (tls is not None) + (way.kind == "websocket")


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


REFUSED = "refused to connect to broker.invalid:1883: "
REFUSING = {
    "socks5 refused": ("socks5h://", socks5(refusal=5), REFUSED + "0x05: Connection refused"),
    "socks5 ruleset": ("socks5h://", socks5(refusal=2), REFUSED + "0x02: Connection not allowed by ruleset"),
    "socks5 user": (
        "socks5h://me:wrong@", socks5(b"me", b"right"), "refused the user: SOCKS5 authentication failed",
    ),
    "socks5 no user": ("socks5h://", socks5(b"me", b"right"), "refused the user: All offered"),
    "http 403": ("http://", http("403 Forbidden"), REFUSED + "403: Forbidden"),
    "http 407": ("http://", http("407 Proxy Authentication Required"), REFUSED + "407: Proxy Authentication Required"),
    "closes": ("socks5h://", lambda sock: None, "broke off: "),
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
    assert str(caught.value) == "host 'proxy.invalid' is not known"


def test_without_pysocks_its_installation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paho.mqtt.client.socks", None)
    with pytest.raises(NotConnected) as caught:
        publish(Target(transport=Transport(proxy="socks5://127.0.0.1")))
    assert str(caught.value) == "a proxy needs PySocks: pip install 'mqttpub[proxy]'"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://a", "'ftp' is none of socks5h, socks5, socks4, http"),
        ("127.0.0.1:1080", "is none of"),
        ("http://u:secret@", "no host in 'http://'"),
        ("http://a:b", "Port could not be cast"),
    ],
)
def test_the_url_of_a_proxy_is_looked_at(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        proxies.parse(url)
