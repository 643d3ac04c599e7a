"""What all connections share: sessions, subscriptions, retained messages, wills."""

from typing import Any

import pytest

from mqttpub.lab.broker.limits import Limits
from mqttpub.spec.packets import Puback, Publish, Pubrec, Pubrel, Subscribe, Subscription, Will
from mqttpub.spec.versions import Version
from tests.lab.peer import EACH, V5, V31, V311, Lab, Peer, prop, props

each_version = pytest.mark.parametrize("version", EACH)


def topics(peer: Peer) -> list[str]:
    """Return the topics of the messages that came."""
    return [each.topic for each in peer.messages()]


def pair(**fields: Any) -> tuple[Lab, Peer, Peer]:
    """Return a broker with a publisher and a subscriber."""
    lab = Lab()
    return lab, lab.connect("pub"), lab.connect("sub", **fields)


@pytest.mark.parametrize("published", [0, 1, 2])
@pytest.mark.parametrize("granted", [0, 1, 2])
def test_a_message_is_delivered_at_the_lower_qos(published: int, granted: int) -> None:
    _, pub, sub = pair()
    sub.subscribe("t", qos=granted)
    pub.publish("t", qos=published)
    assert [each.qos for each in sub.messages()] == [min(published, granted)]


@pytest.mark.parametrize("to", EACH)
@pytest.mark.parametrize("of", EACH)
def test_versions_may_be_mixed(of: Version, to: Version) -> None:
    lab = Lab()
    sub = lab.connect("sub", to)
    sub.subscribe("t")
    pub = lab.connect("pub", of)
    given = props(user_property=[("b", "1"), ("a", "2")], content_type="x") if of == V5 else ()
    pub.publish("t", b"hi", qos=2, properties=given)
    assert sub.messages() == [
        Publish(topic="t", payload=b"hi", qos=2, packet_id=1, properties=given if to == V5 else ())
    ]


def test_overlapping_subscriptions_give_one_copy_with_all_identifiers() -> None:
    _, pub, sub = pair()
    sub.subscribe("a/+", qos=1, properties=props(subscription_identifier=5))
    sub.subscribe("a/b", qos=2, properties=props(subscription_identifier=3))
    sub.subscribe("#", qos=0)
    pub.publish("a/b", qos=2, properties=props(content_type="x"))
    got = sub.messages()
    assert [each.qos for each in got] == [2]
    assert got[0].properties[:1] == props(content_type="x")
    assert {each.value for each in got[0].properties[1:]} == {3, 5}


def test_no_local_keeps_a_clients_own_messages_away() -> None:
    _, pub, sub = pair()
    for peer in (pub, sub):
        peer.subscribe("t", no_local=True)
    assert pub.publish("t", qos=1, retain=True).reason_code is None
    assert topics(pub) == []
    assert topics(sub) == ["t"]
    pub.subscribe("t", no_local=True)
    assert pub.rest == []
    pub.subscribe("t", no_local=False)
    assert len(pub.rest) == 1


def test_retain_as_published_decides_about_retain() -> None:
    lab, pub, sub = pair()
    keeps = lab.connect("keeps")
    sub.subscribe("t")
    keeps.subscribe("t", retain_as_published=True)
    for retain in (True, False):
        pub.publish("t", retain=retain)
    assert [each.retain for each in sub.messages()] == [False, False]
    assert [each.retain for each in keeps.messages()] == [True, False]


@each_version
def test_a_new_subscription_gets_retained_messages(version: Version) -> None:
    lab = Lab()
    pub, sub = lab.connect("pub"), lab.connect("sub", version)
    pub.publish("a/1", b"old", retain=True)
    pub.publish("a/1", b"new", qos=2, retain=True)
    pub.publish("a/2", b"not kept")
    pub.publish("a/3", b"x", retain=True)
    pub.publish("a/3", b"", retain=True)
    pub.publish("$a/1", b"x", retain=True)
    for _ in range(2):
        sub.subscribe("+/1", qos=1)
        assert [(each.topic, each.payload, each.retain, each.qos) for each in sub.rest] == [("a/1", b"new", True, 1)]
        sub.acknowledge(sub.rest[0])
    sub.subscribe("b", "$a/#")
    assert [each.topic for each in sub.rest] == ["$a/1"]


def test_an_empty_retained_message_is_passed_on() -> None:
    _, pub, sub = pair()
    sub.subscribe("t")
    pub.publish("t", b"", retain=True)
    assert [each.payload for each in sub.messages()] == [b""]


@pytest.mark.parametrize(("handling", "counts"), [(0, [1, 1]), (1, [1, 0]), (2, [0, 0])])
def test_retain_handling(handling: int, counts: list[int]) -> None:
    _, pub, sub = pair()
    pub.publish("t", retain=True)
    for count in counts:
        sub.subscribe("t", retain_handling=handling)
        assert len(sub.rest) == count


def test_a_retained_message_has_the_identifier_of_its_subscription() -> None:
    _, pub, sub = pair()
    pub.publish("t", retain=True)
    sub.subscribe("t", properties=props(subscription_identifier=77))
    assert sub.rest[0].properties == props(subscription_identifier=77)


def test_retained_messages_have_a_limit() -> None:
    lab = Lab(Limits(retained=1000))
    pub = lab.connect()
    assert pub.publish("t", bytes(2000), qos=1, retain=True).reason_code == 0x97
    assert lab.connect("old", V311).publish("t", bytes(2000), qos=1, retain=True).reason_code is None
    assert len(lab.hub.retained) == 0


def test_the_lifetime_of_a_message_shrinks_while_it_waits() -> None:
    lab, pub, _ = pair()
    more: dict[str, Any] = {"clean_start": False, "properties": props(session_expiry_interval=1000)}
    gone = lab.connect("gone", **more)
    gone.subscribe("#")
    gone.drop()
    for topic, lifetime in (("short", 10), ("long", 100)):
        pub.publish(topic, qos=1, retain=True, properties=props(message_expiry_interval=lifetime))
    lab.wait(30.5)
    got = lab.connect("gone", **more).rest
    assert [(each.topic, prop(each, "message_expiry_interval")) for each in got] == [("long", 70)]
    late = lab.connect("late")
    late.subscribe("#")
    assert [(each.topic, prop(each, "message_expiry_interval")) for each in late.rest] == [("long", 70)]


# sessions


@each_version
def test_a_session_gets_what_came_in_its_absence(version: Version) -> None:
    lab = Lab()
    more: dict[str, Any] = {"clean_start": False}
    if version == V5:
        more["properties"] = props(session_expiry_interval=100)
    sub = lab.connect("sub", version, **more)
    sub.subscribe("t", qos=1)
    sub.drop()
    pub = lab.connect("pub")
    assert pub.publish("t", b"0", qos=0) is None
    for payload in (b"1", b"2"):
        assert pub.publish("t", payload, qos=2).reason_code is None
    again = lab.connect("sub", version, **more)
    assert [each.payload for each in again.rest] == [b"1", b"2"]
    again.drop()
    third = lab.connect("sub", version, **more)
    assert [(each.payload, each.dup, each.packet_id) for each in third.rest] == [(b"1", True, 1), (b"2", True, 2)]


def test_a_session_that_starts_clean_gets_nothing() -> None:
    lab = Lab()
    sub = lab.connect("sub", properties=props(session_expiry_interval=100))
    sub.subscribe("t", qos=1)
    sub.drop()
    lab.connect("pub").publish("t", qos=1)
    assert lab.connect("sub").rest == []
    assert lab.connect("pub").publish("t", qos=1).reason_code == 0x10


def test_what_does_not_fit_the_queue_is_dropped_with_a_word() -> None:
    lab = Lab(Limits(queue=1))
    sub = lab.connect("sub", properties=props(session_expiry_interval=100))
    sub.subscribe("t", qos=1)
    sub.drop()
    pub = lab.connect("pub")
    for _ in range(2):
        pub.publish("t", qos=1)
    pub.publish("t")
    assert [event for event in lab.events if event[0] == "drop"] == [("drop", "sub", "a message for t")]


# shared subscriptions


def test_sharers_take_turns() -> None:
    lab = Lab()
    pub = lab.connect("pub")
    sharers = [lab.connect(name) for name in ("a", "b", "c")]
    for peer in sharers:
        peer.subscribe("$share/g/t/+", qos=2, properties=props(subscription_identifier=4))
    other = lab.connect("other")
    other.subscribe("$share/h/t/+")
    for index in range(6):
        pub.publish(f"t/{index}")
    assert [topics(peer) for peer in sharers] == [["t/0", "t/3"], ["t/1", "t/4"], ["t/2", "t/5"]]
    assert len(topics(other)) == 6
    sharers[0].drop()
    for index in range(2):
        pub.publish(f"t/{index}")
    assert [len(sharers[index].messages()) for index in (1, 2)] == [1, 1]


def test_a_sharer_who_is_away_waits_for_his_turn_only_if_nobody_is_there() -> None:
    lab = Lab()
    more: dict[str, Any] = {"properties": props(session_expiry_interval=100), "clean_start": False}
    away, here, pub = lab.connect("away", **more), lab.connect("here"), lab.connect("pub")
    for peer in (away, here):
        peer.subscribe("$share/g/t", qos=1)
    away.drop()
    for _ in range(3):
        pub.publish("t", qos=1)
    assert len(topics(here)) == 3
    here.drop()
    assert pub.publish("t", qos=1).reason_code is None
    assert len(lab.connect("away", **more).rest) == 1


def test_a_shared_subscription_gets_no_retained_messages() -> None:
    _, pub, sub = pair()
    pub.publish("t", retain=True)
    sub.subscribe("$share/g/t")
    assert sub.rest == []
    sub.subscribe("$share/g/t", "t")
    assert len(sub.rest) == 1
    pub.publish("t")
    assert len(topics(sub)) == 2


@pytest.mark.parametrize("after", ["PUBLISH", "PUBREC"])
def test_an_interrupted_qos_2_message_is_finished_with_the_same_sharer(after: str) -> None:
    lab = Lab()  # 4.8.2-4
    more: dict[str, Any] = {"properties": props(session_expiry_interval=100), "clean_start": False}
    first, other, pub = lab.connect("first", **more), lab.connect("other"), lab.connect("pub")
    for peer in (first, other):
        peer.subscribe("$share/g/t", qos=2)
    pub.publish("t", qos=2)
    (sent,) = first.got()
    if after == "PUBREC":
        assert isinstance(first.ask(Pubrec(packet_id=sent.packet_id)), Pubrel)
    first.drop()
    assert other.messages() == []
    again = lab.connect("first", **more).rest
    assert again == [sent.replace(dup=True) if after == "PUBLISH" else Pubrel(packet_id=sent.packet_id)]


def test_a_qos_2_message_is_given_to_nobody_else_when_its_sharer_is_gone() -> None:
    lab = Lab()  # 4.8.2-5
    first, other, pub = lab.connect("first"), lab.connect("other"), lab.connect("pub")
    for peer in (first, other):
        peer.subscribe("$share/g/t", qos=2)
    pub.publish("t", qos=2)
    assert len(first.got()) == 1
    first.drop()
    lab.wait(10)
    assert other.messages() == []


@pytest.mark.parametrize("qos", [1, 2])
def test_a_message_that_a_sharer_refuses_goes_to_nobody_else(qos: int) -> None:
    lab = Lab()  # 4.8.2-6, 4.4.0-2
    first, other, pub = lab.connect("first"), lab.connect("other"), lab.connect("pub")
    for peer in (first, other):
        peer.subscribe("$share/g/t", qos=2)
    pub.publish("t", qos=qos)
    (sent,) = first.got()
    assert first.send((Puback if qos == 1 else Pubrec)(packet_id=sent.packet_id, reason_code=0x80)).got() == []
    assert other.messages() == []
    assert not lab.hub.sessions["first"].outgoing


def test_sharing_works_before_5_too() -> None:
    lab = Lab()
    peers = [lab.connect(name, V311) for name in ("a", "b")]
    for peer in peers:
        peer.subscribe("$share/g/t")
    for _ in range(2):
        peers[0].publish("t")
    assert [len(peer.messages()) for peer in peers] == [1, 1]


# wills


WILL = Will(topic="w", payload=b"gone", properties=props(user_property=[("b", "1"), ("a", "2")]))


def watched(version: Version = V5, **fields: Any) -> tuple[Lab, Peer, Peer]:
    """Return a broker with a client that has a will, and one that waits for it."""
    lab = Lab()
    watcher = lab.connect("watcher")
    watcher.subscribe("w")
    will = fields.pop("will", WILL if version == V5 else WILL.replace(properties=()))
    return lab, lab.connect("c", version, will=will, **fields), watcher


@each_version
def test_a_will_is_published_when_the_connection_breaks(version: Version) -> None:
    _, peer, watcher = watched(version, will_qos=1)
    peer.drop()
    properties = WILL.properties if version == V5 else ()
    assert watcher.messages() == [Publish(topic="w", payload=b"gone", qos=1, packet_id=1, properties=properties)]


@each_version
def test_a_disconnect_cancels_the_will(version: Version) -> None:
    _, peer, watcher = watched(version)
    peer.bye()
    assert topics(watcher) == []


@pytest.mark.parametrize("code", [0x04, 0x80])
def test_a_disconnect_with_another_reason_does_not(code: int) -> None:
    _, peer, watcher = watched()
    peer.bye(reason_code=code)
    assert topics(watcher) == ["w"]


def test_a_refused_client_leaves_its_will() -> None:
    lab, peer, watcher = watched(keep_alive=10)
    peer.send(b"\0\0")
    assert topics(watcher) == ["w"]
    lab.connect("c", will=WILL, keep_alive=10)
    lab.wait(16)
    assert topics(watcher) == ["w"]


@pytest.mark.parametrize("retain", [False, True])
def test_a_will_may_be_retained(retain: bool) -> None:
    lab, peer, _ = watched(will_retain=retain)
    peer.drop()
    assert len(lab.hub.retained) == retain


def delayed(seconds: int, lasting: int = 100) -> tuple[Lab, Peer, Peer]:
    """Return a broker with a client that has a will with a delay."""
    will = Will(topic="w", payload=b"gone", properties=props(will_delay_interval=seconds))
    return watched(will=will, properties=props(session_expiry_interval=lasting))


def test_a_will_may_wait() -> None:
    lab, peer, watcher = delayed(10)
    peer.drop()
    lab.wait(9)
    assert topics(watcher) == []
    lab.wait(2)
    assert [each.properties for each in watcher.messages()] == [()]
    lab.wait(200)
    assert topics(watcher) == []


def test_a_will_waits_no_longer_than_the_session_lasts() -> None:
    lab, peer, watcher = delayed(50, lasting=20)
    peer.drop()
    lab.wait(21)
    assert topics(watcher) == ["w"]
    lab, peer, watcher = delayed(50, lasting=0)
    peer.drop()
    assert topics(watcher) == ["w"]
    assert lab.hub.timers.next() is not None
    lab.wait(60)
    assert topics(watcher) == []


@pytest.mark.parametrize(("clean", "seen"), [(False, []), (True, ["w"])])
def test_a_waiting_will_is_cancelled_by_the_session_going_on(clean: bool, seen: list[str]) -> None:
    lab, peer, watcher = delayed(10)
    peer.drop()
    lab.wait(5)
    lab.connect("c", clean_start=clean, properties=props(session_expiry_interval=100))
    lab.wait(50)
    assert topics(watcher) == seen


@pytest.mark.parametrize(("delay", "clean", "seen"), [(0, False, 1), (10, False, 0), (0, True, 1), (10, True, 1)])
def test_the_will_of_a_connection_that_is_taken_over(delay: int, clean: bool, seen: int) -> None:
    lab, _, watcher = delayed(delay)
    lab.connect("c", clean_start=clean)
    assert len(topics(watcher)) == seen


def test_the_lifetime_of_a_will_counts_from_its_publication() -> None:
    will = Will(topic="w", properties=props(will_delay_interval=10, message_expiry_interval=60))
    lab, peer, watcher = watched(will=will, properties=props(session_expiry_interval=100))
    lab.wait(20)
    peer.drop()
    lab.wait(20)
    assert [prop(each, "message_expiry_interval") for each in watcher.messages()] == [60]


# order and size


def test_messages_of_a_publisher_keep_their_order() -> None:
    lab, pub, _ = pair()
    sub = lab.connect("slow", properties=props(receive_maximum=3))
    sub.subscribe("#", qos=2)
    sent = [(str(index), index % 2 + 1) for index in range(40)]
    for topic, qos in sent:
        pub.publish(topic, qos=qos)
    assert [(each.topic, each.qos) for each in sub.messages()] == sent


def test_the_same_message_is_not_delivered_to_those_who_left() -> None:
    lab, pub, sub = pair(version=V31)
    sub.subscribe("t", "$share/g/t")
    sub.drop()
    assert pub.publish("t", qos=1).reason_code == 0x10
    assert lab.hub.sessions.keys() == {"pub"}


def test_asking_for_retained_messages_again_and_again_has_an_end() -> None:
    lab = Lab(Limits(output=100_000))
    lab.connect("pub").publish("t", bytes(10_000), retain=True)
    greedy = lab.connect("greedy")
    wish = Subscribe(packet_id=1, subscriptions=(Subscription(filter="#"),))
    greedy.send(*[wish] * 1000)
    assert greedy.over
    assert not greedy.connection.output
