"""Publishing and subscribing against a real mosquitto, and against brokers that do otherwise."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import mqttpub
from mqttpub.api.testing import LoopbackBroker
from tests.build.brokers import Broker, free_port


@pytest.fixture(name="url")
def url_of_mosquitto(mosquitto: int) -> str:
    return f"mqtt://localhost:{mosquitto}"


@pytest.mark.broker
@pytest.mark.parametrize("version", ["3.1", "3.1.1", "5.0"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_what_is_published_is_received(url: str, version: str, qos: int, tmp_path: Path) -> None:
    topic = f"api/{version}/{qos}"
    properties = mqttpub.properties(content_type="text/plain") if version == "5.0" else ()
    with (
        mqttpub.Recorder(tmp_path / "a.pcapng") as recorder,
        mqttpub.subscribe(url, f"{topic}/#", qos=qos, count=1, version=version) as messages,
    ):
        assert messages.granted == {f"{topic}/#": qos}
        [outcome] = mqttpub.publish(
            url, f"{topic}/ä", "grün", qos=qos, properties=properties, version=version, recorder=recorder
        )
        [message] = messages
    assert (outcome.outcome, outcome.succeeded) == ("accepted" if qos else "sent", True)
    assert (message.topic, message.payload, message.qos) == (f"{topic}/ä", "grün".encode(), qos)
    assert message.properties == properties
    sent = [each.packet.name for each in recorder.packets() if each.packet]
    handshake = {0: [], 1: ["PUBACK"], 2: ["PUBREC", "PUBREL", "PUBCOMP"]}[qos]
    assert [name for name in sent if name.startswith("PUB")] == ["PUBLISH", *handshake]
    assert recorder.findings() == []


@pytest.mark.broker
def test_an_iterable_is_read_as_messages_are_sent_and_a_with_sends_the_rest(url: str) -> None:
    taken: list[int] = []

    def endless() -> Iterator[mqttpub.Publish]:
        for number in range(10**9):
            taken.append(number)
            yield mqttpub.Publish(topic="api/endless", qos=1, payload=str(number).encode())

    with contextlib.suppress(StopIteration), mqttpub.publish(url, endless()) as outcomes:
        assert next(iter(outcomes)).packet.payload == b"0"
        raise StopIteration
    assert len(taken) < 10**6
    with mqttpub.subscribe(url, "api/rest", count=3, duration_s=30) as messages:
        with mqttpub.publish(url, [mqttpub.Publish(topic="api/rest", payload=b"%d" % each) for each in range(3)]):
            pass
        assert [each.payload for each in messages] == [b"0", b"1", b"2"]


@pytest.mark.broker
def test_a_message_that_was_not_asked_for_is_not_acknowledged(url: str) -> None:
    kept = mqttpub.Connect(
        client_id="api-kept", clean_start=False, properties=mqttpub.properties(session_expiry_interval=60)
    )
    with mqttpub.subscribe(url, "api/kept", qos=1, connect=kept) as messages:
        with mqttpub.publish(url, [mqttpub.Publish(topic="api/kept", qos=1, payload=b"%d" % n) for n in range(3)]):
            pass
        assert next(iter(messages)).payload == b"0"
    with mqttpub.subscribe(url, "api/kept", qos=1, connect=kept, count=2) as messages:
        assert [each.payload for each in messages] == [b"1", b"2"]


@pytest.mark.broker
def test_no_message_within_a_time(url: str) -> None:
    with mqttpub.subscribe(url, "api/nothing", duration_s=0.1) as messages:
        assert list(messages) == []


@pytest.mark.broker
def test_other_transports(brokers: Broker) -> None:
    trusted = mqttpub.Tls(ca_file=str(brokers.ca.cert))
    for url, tls in (
        (f"mqtts://localhost:{brokers.ports['tls']}", trusted), (f"wss://localhost:{brokers.ports['wss']}", trusted),
        (f"ws://localhost:{brokers.ports['ws']}", None),
    ):  # fmt: skip
        [outcome] = mqttpub.publish(url, "api/way", b"x", qos=1, tls=tls)
        assert outcome.outcome == "accepted"
    with pytest.raises(mqttpub.NotConnected, match="certificate"):
        list(mqttpub.publish(f"mqtts://localhost:{brokers.ports['tls']}", "api/way"))


def test_failures_have_the_statuses_of_the_command() -> None:
    with pytest.raises(mqttpub.NotConnected) as caught:
        list(mqttpub.publish(f"mqtt://localhost:{free_port()}", "a"))
    assert caught.value.status == 3
    with pytest.raises(mqttpub.NotConnected), mqttpub.subscribe(f"mqtt://localhost:{free_port()}", "a"):
        pass


@pytest.mark.mqtt_script("""
> connect
< connack
> publish qos=1 packet_id=$id
< puback packet_id=$id reason_code=0x87
> disconnect
""")
def test_a_refusal_is_an_outcome(mqtt_broker: LoopbackBroker) -> None:
    [outcome] = mqttpub.publish(mqtt_broker.url, "a", qos=1)
    assert (outcome.outcome, outcome.reason_code, outcome.reason) == ("refused", 0x87, "Not authorized")


def test_a_packet_identifier_that_another_message_has_chosen_waits_for_it(mqtt_broker: LoopbackBroker) -> None:
    packets = [mqttpub.Publish(topic="a", qos=1), *[mqttpub.Publish(topic="b", qos=2, packet_id=1)] * 2]
    outcomes = [*mqttpub.publish(mqtt_broker.url, packets)]
    assert [(each.packet.topic, each.packet.packet_id, each.outcome) for each in outcomes] == [
        ("a", 1, "accepted"), ("b", 1, "accepted"), ("b", 1, "accepted")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mqttpub.publish("mqtt://h", "a/+"), "MQTT5-3.3.2-2"),
        (lambda: mqttpub.publish("http://h", "a"), "mqtt://"),
        (lambda: mqttpub.publish("mqtt://u:s3cret@h:port", "a"), "port"),
        (lambda: mqttpub.publish("mqtt://h/topic", "a"), "topic"),
        (lambda: mqttpub.publish("mqtt://h", "a", version="6"), "6"),
        (lambda: mqttpub.publish("mqtt://h", "a", qos=3), "QoS"),
        (lambda: mqttpub.subscribe("mqtt://h", "a/#/b"), "MQTT5-4.7.1-1"),
        (lambda: mqttpub.publish("mqtt://h", [], b"x"), "payload"),
        (lambda: mqttpub.publish("mqtt://h", [], qos=1, retain=True), "qos, retain"),
        (lambda: mqttpub.publish("mqtt://h", [], properties=mqttpub.properties(topic_alias=1)), "properties"),
        (lambda: mqttpub.publish("mqtt://h", "a", timeout_s=float("nan")), "timeout_s"),
        (lambda: mqttpub.publish("mqtt://h", "a", timeout_s=float("inf")), "timeout_s"),
        (lambda: mqttpub.subscribe("mqtt://h", "a", timeout_s=0), "timeout_s"),
        (lambda: mqttpub.subscribe("mqtt://h", "a", duration_s=-1), "duration_s"),
        (lambda: mqttpub.subscribe("mqtt://h", "a", duration_s=float("nan")), "duration_s"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_sent(call: "pytest.Function", words: str) -> None:
    with pytest.raises(mqttpub.UserError, match=words) as caught:
        call()  # type: ignore[operator]
    assert "s3cret" not in str(caught.value)


def test_a_forbidden_packet_of_an_iterable_is_refused_where_it_stands(mqtt_broker: LoopbackBroker) -> None:
    packets = [mqttpub.Publish(topic="a", qos=2), mqttpub.Publish(topic="#"), mqttpub.Publish(topic="b")]
    outcomes: list[mqttpub.PublishOutcome] = []
    with pytest.raises(mqttpub.UserError, match=r"MQTT5-3\.3\.2-2"):
        outcomes.extend(each for each in mqttpub.publish(mqtt_broker.url, packets))
    assert [(each.packet.topic, each.outcome) for each in outcomes] == [("a", "accepted")]


@pytest.mark.mqtt_script("> connect\n< connack\n> publish qos=1\nserver FIN\n")
def test_a_lost_connection_leaves_the_outcome_unknown(mqtt_broker: LoopbackBroker) -> None:
    outcomes: list[mqttpub.PublishOutcome] = []
    with pytest.raises(mqttpub.ConnectionLost) as caught:
        outcomes.extend(each for each in mqttpub.publish(mqtt_broker.url, "a", qos=1))
    assert [each.outcome for each in outcomes] == ["unknown"]
    assert caught.value.status == 6
