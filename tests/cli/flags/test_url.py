"""A URL names broker, user and topic; explicit flags go before it."""

import pytest

from mqttpub.cli.flags.url import masked_url
from mqttpub.live.net.target import Target
from mqttpub.live.net.urls import BrokerUrl, broker_url
from mqttpub.spec.packets import Connect
from tests.cli.requested import refused, requested

URLS = {
    "mqtt://h": BrokerUrl("mqtt", "h", None),
    "MQTT://h/": BrokerUrl("mqtt", "h", None),
    "mqtts://h:1884/a/b": BrokerUrl("mqtts", "h", 1884, topic="a/b"),
    "mqtt://us%40er:p%3A%2f%00@h/a%2Fb%20c": BrokerUrl("mqtt", "h", None, "us@er", b"p:/\0", "a/b c"),
    "mqtt://me@h": BrokerUrl("mqtt", "h", None, "me"),
    "mqtt://me:@h": BrokerUrl("mqtt", "h", None, "me", b""),
    "mqtt://me:a@b@h": BrokerUrl("mqtt", "h", None, "me", b"a@b"),
    "mqtt://[::1]:1885/t": BrokerUrl("mqtt", "::1", 1885, topic="t"),
    "mqtt://[fe80::1%25eth%2D0]:1885/t": BrokerUrl("mqtt", "fe80::1%eth-0", 1885, topic="t"),
    "mqtt://[fe80::1%eth0]": BrokerUrl("mqtt", "fe80::1%eth0", None),
    "mqtt://[fe80::1%25]": BrokerUrl("mqtt", "fe80::1%25", None),
    "mqtt://h:/t": BrokerUrl("mqtt", "h", None, topic="t"),
    "mqtt://h//t": BrokerUrl("mqtt", "h", None, topic="/t"),
    "mqtt://h/ä?#": BrokerUrl("mqtt", "h", None, topic="ä?#"),
    "ws://h": BrokerUrl("ws", "h", None),
    "wss://me:x@h/mqtt%20?a=b": BrokerUrl("wss", "h", None, "me", b"x", path="/mqtt%20?a=b"),
}


@pytest.mark.parametrize("text", URLS)
def test_the_parts_of_a_url(text: str) -> None:
    assert broker_url(text) == URLS[text]


WRONG = {
    "h": "it does not begin with any of mqtt://, mqtts://, ws://, wss://",
    "http://h": "it does not begin with any of mqtt://, mqtts://, ws://, wss://",
    "mqtt://": "it has no host",
    "mqtt:///t": "it has no host",
    "mqtt://h:0": "its port is not a number from 1 to 65535",
    "mqtt://h:x": "its port is not a number from 1 to 65535",
    "mqtt://h:65536": "its port is not a number from 1 to 65535",
    "mqtt://h:²": "its port is not a number from 1 to 65535",
    "mqtt://[::1": "its IPv6 address has no ]",
    "mqtt://[::1]1": "its IPv6 address has no ]",
    "mqtt://[fe80::1%25%0]": "its host has a % without two hexadecimal digits",
    "mqtt://h/a%2": "its topic has a % without two hexadecimal digits",
    "mqtt://u:%  @h": "its password has a % without two hexadecimal digits",
    "mqtt://%ff@h": "its user name is not UTF-8",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_in_a_url_is_reported_without_the_url(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="it") as caught:
        broker_url(text)
    assert str(caught.value) == WRONG[text]
    assert refused(capsys, "-m", "x", "-L", text) == f"--url: {WRONG[text]}"


def target(*arguments: str) -> Target:
    """Return the target that a message with these flags goes to."""
    return requested(*arguments, plain=("-m", "x", "-i", "me")).target


def test_a_url_names_all_that_is_needed() -> None:
    request = requested("-L", "mqtt://me:x@h:1885/a/b", plain=("-m", "x", "-i", "me"))
    connect = Connect(client_id="me", username="me", password=b"x")
    assert request.target == Target("h", 1885, connect=connect)
    assert [packet.topic for packet in request.packets] == ["a/b"]


def test_the_protocol_chooses_port_and_transport() -> None:
    ports = {each: target("-L", f"{each}://h/t", "-t", "t").port for each in ("mqtt", "mqtts", "ws", "wss")}
    assert ports == {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}
    way = target("-L", "wss://h/a?b", "-t", "t").transport
    assert (way.kind, way.path, way.tls is not None) == ("websocket", "/a?b", True)
    assert target("-L", "mqtt://h/t", "--tls").port == 8883


def test_explicit_flags_go_before_the_url() -> None:
    url = ("-L", "mqtt://me:x@h:1885/a")
    request = requested(
        *url, "-h", "g", "-p", "7", "-u", "you", "--password-file", "/dev/null", "-t", "b", plain=("-m", "x")
    )
    assert (request.target.host, request.target.port) == ("g", 7)
    assert (request.target.connect.username, request.target.connect.password) == ("you", b"")
    assert [packet.topic for packet in request.packets] == ["b"]


def test_a_url_goes_before_weaker_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQTTPUB_HOST", "other")
    monkeypatch.setenv("MQTTPUB_PORT", "7")
    monkeypatch.setenv("MQTTPUB_PASSWORD", "theirs")
    assert target("-L", "mqtt://me:x@h/t")[:2] == ("h", 1883)
    assert target("-L", "mqtt://me:x@h/t").connect.password == b"x"
    assert target("-L", "mqtt://me@h/t").connect.password == b"theirs"
    monkeypatch.setenv("MQTTPUB_URL", "mqtt://third:9/t")
    assert target()[:2] == ("other", 7)


def test_a_url_without_a_topic_needs_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "-m", "x", "-L", "ws://h/topic") == "no topic: give -t, or a URL with one"


def test_a_password_in_a_url_can_be_masked() -> None:
    assert masked_url("mqtt://me:a@b@h:1/t") == "mqtt://me:***@h:1/t"
    assert masked_url("mqtt://h/t") == "mqtt://h/t"
