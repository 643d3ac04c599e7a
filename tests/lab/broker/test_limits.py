"""What CONNACK announces as a limit holds: with the Reason Code of MQTT 5.0, and for clients of older versions too."""

from typing import Any

import pytest

from mqttpub.lab.broker.limits import Limits
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Connect, Pingreq, Pingresp, Publish, Suback, Subscribe, Subscription, Will
from mqttpub.spec.versions import Version
from tests.lab.peer import V5, V31, V311, Lab, prop, props

MANY = {"receive_maximum": 100, "maximum_packet_size": 1 << 20, "topic_alias_maximum": 10}
"""What is announced in any case."""


def wish(filter: str, **properties: Any) -> Subscribe:
    return Subscribe(packet_id=1, properties=props(**properties), subscriptions=(Subscription(filter=filter),))


def message(**fields: Any) -> Publish:
    return Publish(**{"topic": "t", "packet_id": 1 if fields.get("qos") else None, **fields})


LIMITED: list[tuple[Limits, dict[str, Any], Packet, int, Packet]] = [
    (Limits(qos=0), {"maximum_qos": 0}, message(qos=1), 0x9B, message(qos=0)),
    (Limits(qos=1), {"maximum_qos": 1}, message(qos=2), 0x9B, message(qos=1)),
    (Limits(retain=False), {"retain_available": 0}, message(retain=True), 0x9A, message()),
    (Limits(packet=40), {"maximum_packet_size": 40}, message(payload=bytes(40)), 0x95, message(payload=bytes(30))),
    (Limits(aliases=2), {"topic_alias_maximum": 2}, message(properties=props(topic_alias=3)), 0x94,
     message(properties=props(topic_alias=2))),
    (Limits(wildcards=False), {"wildcard_subscription_available": 0}, wish("a/+"), 0xA2, wish("a")),
    (Limits(identifiers=False), {"subscription_identifier_available": 0}, wish("a", subscription_identifier=1), 0xA1,
     wish("a")),
    (Limits(shared=False), {"shared_subscription_available": 0}, wish("$share/g/a"), 0x9E, wish("a")),
    (Limits(alias_size=5), {}, message(topic="a/long/one", properties=props(topic_alias=1)), 0x97,
     message(topic="short", properties=props(topic_alias=1))),
]  # fmt: skip


@pytest.mark.parametrize(("limits", "announced", "refused", "code", "accepted"), LIMITED)
def test_a_limit_is_announced_and_enforced(
    limits: Limits, announced: dict[str, Any], refused: Packet, code: int, accepted: Packet
) -> None:
    lab = Lab(limits)
    peer = lab.connect()
    said = {each.id: each.value for each in peer.connack.properties}
    assert said == {each.id: each.value for each in props(**{**MANY, **announced})}
    assert peer.send(accepted, accepted, Pingreq()).got()[-1] == Pingresp()
    assert peer.ask(refused).reason_code == code
    assert peer.over


@pytest.mark.parametrize("fields", [
    {"will": Will(topic="w"), "will_qos": 1}, {"will": Will(topic="w"), "will_retain": True},
])  # fmt: skip
def test_a_will_beyond_a_limit_is_refused_by_connack(fields: dict[str, Any]) -> None:
    code = 0x9B if "will_qos" in fields else 0x9A
    assert Lab(Limits(qos=0, retain=False)).peer().ask(Connect(client_id="c", **fields)).reason_code == code


def test_any_qos_may_be_asked_for_whatever_the_maximum_is() -> None:
    assert Lab(Limits(qos=0)).connect().subscribe("a", "b", qos=2) == (0, 0)


@pytest.mark.parametrize(("version", "codes"), [(V311, (0x80, 0x80, 0)), (V31, (1, 1, 1))])
def test_before_5_a_subscription_that_is_not_offered_fails_alone(version: Version, codes: tuple[int, ...]) -> None:
    lab = Lab(Limits(wildcards=False, shared=False))
    peer = lab.connect(version=version)
    wanted = tuple(Subscription(filter=each, qos=codes[-1]) for each in ("a/#", "$share/g/a", "a"))
    assert peer.ask(Subscribe(packet_id=1, subscriptions=wanted)) == Suback(packet_id=1, reason_codes=codes)
    assert lab.hub.sessions["c"].filters == {"a"}


def test_a_refused_subscription_leaves_none_of_its_packet() -> None:
    lab = Lab(Limits(wildcards=False))
    peer = lab.connect(properties=props(session_expiry_interval=60))
    wanted = (Subscription(filter="a"), Subscription(filter="#"))
    assert peer.ask(Subscribe(packet_id=1, subscriptions=wanted)).reason_code == 0xA2
    assert lab.hub.sessions["c"].filters == set()


@pytest.mark.parametrize(
    ("asked", "said", "lasts"), [(30, None, 30), (60, None, 60), (61, 60, 60), (0xFFFFFFFF, 60, 60)]
)
def test_a_session_lasts_as_long_as_the_broker_allows(asked: int, said: int | None, lasts: int) -> None:
    lab = Lab(Limits(expiry=60))
    peer = lab.connect(properties=props(session_expiry_interval=asked))
    assert prop(peer.connack, "session_expiry_interval") == said
    peer.drop()
    lab.wait(lasts - 1)
    assert "c" in lab.hub.sessions
    lab.wait(1)
    assert "c" not in lab.hub.sessions


def test_nor_can_disconnect_or_an_old_client_make_it_last_longer() -> None:
    lab = Lab(Limits(expiry=60))
    new = lab.connect("new", properties=props(session_expiry_interval=1))
    new.bye(reason_code=0, properties=props(session_expiry_interval=900))
    lab.connect("old", V311, clean_start=False).drop()
    lab.wait(59)
    assert set(lab.hub.sessions) == {"new", "old"}
    lab.wait(1)
    assert not lab.hub.sessions


@pytest.mark.parametrize(("version", "asked", "silence"), [(V5, 60, 15.0), (V5, 0, 15.0), (V311, 60, 90.0)])
def test_the_keep_alive_of_the_server_replaces_that_of_the_client(version: Version, asked: int, silence: float) -> None:
    lab = Lab(Limits(keep_alive=10))
    peer = lab.connect(version=version, keep_alive=asked)
    if version == V5:
        assert prop(peer.connack, "server_keep_alive") == 10
    lab.wait(silence - 0.5)
    assert peer.over is None
    lab.wait(1)
    assert peer.over


@pytest.mark.parametrize(("asked", "said"), [({}, None), ({"request_response_information": 0}, None),
                                             ({"request_response_information": 1}, "replies/")])  # fmt: skip
def test_response_information_is_for_those_who_ask(asked: dict[str, Any], said: str | None) -> None:
    lab = Lab(Limits(response_information="replies/"))
    assert prop(lab.connect(properties=props(**asked)).connack, "response_information") == said
    assert prop(Lab().connect(properties=props(**asked)).connack, "response_information") is None
