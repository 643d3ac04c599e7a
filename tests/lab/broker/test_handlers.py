"""What the broker does with each packet of a connected client."""

from typing import Any

import pytest

from mqttpub.lab.broker.limits import Limits
from mqttpub.spec.packets import (
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from mqttpub.spec.versions import Version
from tests.lab.peer import EACH, V5, V31, V311, Lab, prop, props

each_version = pytest.mark.parametrize("version", EACH)


@each_version
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_publish_is_answered_as_its_qos_demands(version: Version, qos: int) -> None:
    peer = Lab().connect(version=version)
    assert peer.subscribe("t", qos=0) == (0,)
    sent = Publish(topic="t", payload=b"x", qos=qos, packet_id=77 if qos else None)
    got = peer.send(sent).got()
    assert got[0] == Publish(topic="t", payload=b"x")
    assert got[1:] == {0: [], 1: [Puback(packet_id=77)], 2: [Pubrec(packet_id=77)]}[qos]
    if qos == 2:
        assert peer.ask(Pubrel(packet_id=77)) == Pubcomp(packet_id=77)


@pytest.mark.parametrize(("version", "code"), [(V5, 0x10), (V311, None), (V31, None)])
@pytest.mark.parametrize("qos", [1, 2])
def test_the_publisher_hears_that_nobody_subscribes(version: Version, code: int | None, qos: int) -> None:
    assert Lab().connect(version=version).publish("t", qos=qos).reason_code == code


@pytest.mark.parametrize(("version", "code"), [(V5, 0x90), (V311, None), (V31, None)])
@pytest.mark.parametrize("topic", ["$SYS/x", "$share/g/x", "a/" * 200])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_some_topics_are_not_taken(version: Version, code: int | None, topic: str, qos: int) -> None:
    lab = Lab()
    peer = lab.connect(version=version)
    peer.subscribe(topic if topic.startswith("$SYS") else "#")
    answer = peer.publish(topic, qos=qos, retain=True)
    assert answer is None if not qos else answer.reason_code == code
    assert peer.messages() == []
    assert len(lab.hub.retained) == 0
    assert not peer.over


def test_a_qos_2_message_is_passed_on_once() -> None:
    lab = Lab()
    peer, other = lab.connect(), lab.connect("other")
    other.subscribe("t", qos=0)
    sent = Publish(topic="t", qos=2, packet_id=7)
    for dup in (False, True, True):
        assert peer.ask(sent.replace(dup=dup)) == Pubrec(packet_id=7)
    assert peer.ask(Pubrel(packet_id=7)) == Pubcomp(packet_id=7)
    assert peer.ask(sent) == Pubrec(packet_id=7)
    assert [each.dup for each in other.messages()] == [False, False]


def test_a_qos_2_message_is_passed_on_once_across_connections() -> None:
    lab = Lab()
    other = lab.connect("other")
    other.subscribe("t", qos=0)
    more: dict[str, Any] = {"clean_start": False, "properties": props(session_expiry_interval=9)}
    lab.connect(**more).send(Publish(topic="t", qos=2, packet_id=7)).drop()
    again = lab.connect(**more)
    assert again.ask(Publish(topic="t", qos=2, packet_id=7, dup=True)) == Pubrec(packet_id=7)
    assert len(other.messages()) == 1


@pytest.mark.parametrize(("version", "code"), [(V5, 0x91), (V311, None)])
def test_a_packet_identifier_may_be_in_use(version: Version, code: int | None) -> None:
    peer = Lab().connect(version=version)
    peer.ask(Publish(topic="t", qos=2, packet_id=7))
    assert peer.ask(Publish(topic="t", qos=1, packet_id=7)).reason_code == code
    wish = Subscribe(packet_id=7, subscriptions=(Subscription(filter="t", qos=1),))
    assert peer.ask(wish).reason_codes == (code or 1,)


@pytest.mark.parametrize(("version", "code"), [(V5, 0x92), (V311, None), (V31, None)])
def test_unknown_packet_identifiers_are_answered(version: Version, code: int | None) -> None:
    lab = Lab()
    peer = lab.connect(version=version)
    assert peer.ask(Pubrel(packet_id=3)).reason_code == code
    assert peer.ask(Pubrec(packet_id=3)).reason_code == code
    assert peer.send(Puback(packet_id=3), Pubcomp(packet_id=3)).got() == []
    if version == V5:
        assert peer.send(Pubrec(packet_id=3, reason_code=0x80)).got() == []
    assert lab.kinds().count("stray") == 3 + (version == V5)
    assert not peer.over


def test_too_many_unreleased_messages_end_the_connection() -> None:
    peer = Lab(Limits(receive=2)).connect()
    for packet_id in (1, 2):
        peer.ask(Publish(topic="t", qos=2, packet_id=packet_id))
    assert isinstance(peer.ask(Publish(topic="t", qos=2, packet_id=1, dup=True)), Pubrec)
    assert isinstance(peer.ask(Publish(topic="t", qos=1, packet_id=3)), Puback)
    peer.ask(Pubrel(packet_id=1))
    assert isinstance(peer.ask(Publish(topic="t", qos=2, packet_id=4)), Pubrec)
    assert peer.ask(Publish(topic="t", qos=2, packet_id=5)).reason_code == 0x93


def test_there_is_no_receive_maximum_before_5() -> None:
    peer = Lab(Limits(receive=2)).connect(version=V311)
    for packet_id in range(1, 10):
        assert isinstance(peer.ask(Publish(topic="t", qos=2, packet_id=packet_id)), Pubrec)


@pytest.mark.parametrize(("fields", "code"), [({"qos": 2, "packet_id": 1}, 0x9B), ({"retain": True}, 0x9A)])
def test_use_of_a_feature_that_is_not_offered_ends_the_connection(fields: dict[str, Any], code: int) -> None:
    lab = Lab(Limits(qos=1, retain=False))
    assert lab.connect().ask(Publish(topic="t", **fields)).reason_code == code
    assert lab.connect(version=V311).send(Publish(topic="t", **fields)).got() == []
    assert lab.connect().subscribe("t", qos=2) == (1,)


def test_a_topic_alias_stands_for_the_last_topic_it_was_given() -> None:
    lab = Lab()
    other = lab.connect("other")
    other.subscribe("#")
    peer = lab.connect()
    for topic, alias in (("a", 1), ("b", 10), ("", 1), ("", 10), ("c", 1), ("", 1)):
        peer.publish(topic, properties=props(topic_alias=alias))
    got = other.messages()
    assert [each.topic for each in got] == ["a", "b", "a", "b", "c", "c"]
    assert {each.properties for each in got} == {()}
    peer.drop()
    assert lab.connect().ask(Publish(topic="", properties=props(topic_alias=1))).reason_code == 0x82


@pytest.mark.parametrize(("version", "codes"), [(V5, (0, 1, 2, 0x8F)), (V311, (0, 1, 2, 0x80)), (V31, (0, 1, 2, 1))])
def test_suback_has_a_code_for_each_filter(version: Version, codes: tuple[int, ...]) -> None:
    lab = Lab()
    peer = lab.connect(version=version)
    many = [Subscription(filter=str(qos), qos=qos) for qos in (0, 1, 2)]
    suback = peer.ask(Subscribe(packet_id=3, subscriptions=(*many, Subscription(filter="/" * 200, qos=1))))
    assert suback == Suback(packet_id=3, reason_codes=codes)
    assert lab.hub.sessions["c"].filters == {"0", "1", "2"}


def test_subscriptions_have_a_limit() -> None:
    peer = Lab(Limits(subscriptions=2)).connect()
    assert peer.subscribe("a", "b", "c", "a") == (2, 2, 0x97, 2)


@pytest.mark.parametrize(("version", "codes"), [(V5, (0, 0x11)), (V311, ()), (V31, ())])
def test_unsuback_tells_what_there_was(version: Version, codes: tuple[int, ...]) -> None:
    peer = Lab().connect(version=version)
    peer.subscribe("a", "b")
    assert peer.ask(Unsubscribe(packet_id=4, filters=("a", "a/b"))) == Unsuback(packet_id=4, reason_codes=codes)
    peer.publish("a")
    peer.publish("b")
    assert [each.topic for each in peer.messages()] == ["b"]


def test_a_delivery_that_began_is_finished_after_unsubscribe() -> None:
    peer = Lab().connect()
    peer.subscribe("t")
    peer.send(Publish(topic="t", qos=2, packet_id=5))
    first = next(each.packet_id for each in peer.got() if isinstance(each, Publish) and each.packet_id)
    peer.ask(Unsubscribe(packet_id=4, filters=("t",)))
    assert peer.ask(Pubrec(packet_id=first)) == Pubrel(packet_id=first)
    assert peer.send(Pubcomp(packet_id=first)).got() == []


@each_version
def test_a_ping_is_answered(version: Version) -> None:
    assert Lab().connect(version=version).ask(Pingreq()) == Pingresp()


def test_an_answer_out_of_order_ends_the_connection() -> None:
    peer = Lab().connect()
    peer.subscribe("t", qos=2)
    peer.publish("t", qos=1)
    assert peer.ask(Pubrec(packet_id=1)).reason_code == 0x82


def test_the_clients_receive_maximum_is_respected() -> None:
    lab = Lab()
    slow, busy = lab.connect("slow", properties=props(receive_maximum=2)), lab.connect("busy")
    slow.subscribe("#")
    for index in range(5):
        busy.publish(str(index), qos=1 + index % 2)
        busy.publish("z")
    got = slow.got()
    assert [each.topic for each in got if each.qos] == ["0", "1"]
    assert sum(each.topic == "z" for each in got) == 5
    slow.acknowledge(got[0])
    assert [each.topic for each in slow.got()] == ["2"]
    assert slow.ask(Pingreq()) == Pingresp()


def test_a_disconnect_with_0x04_sends_the_will() -> None:
    assert Lab().connect().send(Disconnect(reason_code=4)).over == "the client disconnects with 0x04"


def test_a_reason_string_tells_why() -> None:
    peer = Lab().connect()
    assert prop(peer.publish("t", qos=1), "reason_string") is None
    assert prop(peer.publish("$SYS/t", qos=1), "reason_string") == "this broker accepts no messages to this topic"
