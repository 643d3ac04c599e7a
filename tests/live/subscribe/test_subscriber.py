"""Receiving over one connection and over several, against scripted peers."""

import re
import socket
import threading
import time
from typing import Any

import pytest

from mqttpub.live.failures import ConnectionLost, PeerFault, Refused
from mqttpub.live.net.target import Target
from mqttpub.live.receive import Answering, ReceivedMessage
from mqttpub.live.subscribe.subscriber import SESSION_LOST, SubscribeOptions, Subscriber
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connect, Subscribe, Subscription, Unsubscribe
from mqttpub.spec.properties import (
    RECEIVE_MAXIMUM,
    SESSION_EXPIRY_INTERVAL,
    SUBSCRIPTION_IDENTIFIER,
    TOPIC_ALIAS_MAXIMUM,
)
from tests.fakes import Peer, conversation, scripted_many

NEW, RESUMED = "< 20 03 00 00 00", "< 20 03 01 00 00"
SUBSCRIBE, SUBACK = "> 82 07 00 01 00 00 01 61 02", "< 90 04 00 01 00 02"
ONE, TWO, AGAIN = "34 07 00 01 61 00 07 00 78", "34 07 00 01 61 00 08 00 79", "3c 07 00 01 61 00 07 00 78"
LEAVES = "> e0 00"
MORE = Subscribe(
    packet_id=1, subscriptions=(Subscription(filter="a"), Subscription(filter="b/#", qos=1, no_local=True))
)
BOTH = "> 82 0d 00 01 00 00 01 61 00 00 03 62 2f 23 05"


def subscriber(port: int, said: list[str] | None = None, *, subscribe: Any = None, **given: Any) -> Subscriber:
    """Return a subscriber to QoS 2 of the topic `a`; what it remarks is added to `said`."""
    packet = subscribe or Subscribe(packet_id=1, subscriptions=(Subscription(filter="a", qos=2),))
    target = Target("127.0.0.1", port, connect=Connect(client_id="me", properties=given.pop("properties", ())))
    remarks: list[str] = [] if said is None else said
    names = {"unsubscribes", "resumes"} & set(given)
    more = {name: given.pop(name) for name in names}
    options = SubscribeOptions(**{"timeout_s": 5.0, **given})
    return Subscriber(target, [packet], options, remark=remarks.append, **more)


def receive(made: Subscriber, count: int, taken: list[ReceivedMessage] | None = None) -> list[ReceivedMessage]:
    """Take some messages, and stop; they are added to `taken`, also if a failure ends the run."""
    taken = [] if taken is None else taken
    for messages in made.run():
        while messages and len(taken) < count:
            taken.append(messages.popleft())
        if len(taken) == count:
            made.stop()
    return taken


def test_each_message_is_handed_on_once_and_answered_in_order() -> None:
    talk = conversation(
        NEW, SUBSCRIBE, SUBACK, f"< 32 07 00 01 61 00 05 00 31 {ONE} {TWO} 30 05 00 01 61 00 7a",
        "> 40 02 00 05", "> 50 02 00 07", "> 50 02 00 08", f"< {AGAIN}", "> 50 02 00 07",
        "< 62 02 00 07", "> 70 02 00 07", "< 62 02 00 09", "> 70 03 00 09 92", "< 30 05 00 01 61 00 21",
        "< 62 02 00 08", "> 70 02 00 08", LEAVES,
    )  # fmt: skip
    with scripted_many([talk]) as port:
        taken = receive(made := subscriber(port), 5)
    assert [(each.payload, each.qos, each.packet_id) for each in taken] == [
        (b"1", 1, 5), (b"x", 2, 7), (b"y", 2, 8), (b"z", 0, None), (b"!", 0, None),
    ]  # fmt: skip
    assert made.receiver.most_unanswered == 3


def test_what_the_caller_leaves_is_not_acknowledged() -> None:
    talk = conversation(
        NEW,
        SUBSCRIBE,
        SUBACK,
        f"< 32 07 00 01 61 00 05 00 31 32 07 00 01 61 00 06 00 32 {ONE}",
        "> 40 02 00 05",
        LEAVES,
    )
    with scripted_many([talk]) as port:
        made = subscriber(port)
        assert [each.payload for each in receive(made, 1)] == [b"1"]
    assert [each.payload for each in made.messages] == [b"2", b"x"]


def test_messages_that_come_before_suback_are_handed_on_before_it() -> None:
    talk = conversation(NEW, SUBSCRIBE, "< 33 07 00 01 61 00 05 00 31", "> 40 02 00 05", SUBACK, LEAVES)
    with scripted_many([talk]) as port:
        made, before = subscriber(port), []
        for messages in made.run():
            before += [each.payload for each in messages if made.session is None]
            messages.clear()
            if made.session:
                made.stop()
    assert before == [b"1"]


def test_the_exchange_of_the_last_message_is_completed_before_disconnect() -> None:
    talk = conversation(
        NEW, SUBSCRIBE, SUBACK, f"< {ONE}", "> 50 02 00 07", f"< {TWO} 62 02 00 07", "> 70 02 00 07", LEAVES
    )
    with scripted_many([talk]) as port:
        assert len(receive(made := subscriber(port), 1)) == 1
    assert not made.messages


@pytest.mark.parametrize(
    ("answering", "answers"),
    [
        (Answering(reason_code=0x83), ["> 40 03 00 05 83", "> 50 03 00 07 83"]),
        (Answering(reason_code=0x10), ["> 40 03 00 05 10", "> 50 03 00 07 10", "< 62 02 00 07", "> 70 02 00 07"]),
        (Answering(acknowledge=False), []),
        (Answering(delay_s=0.2), ["> 40 02 00 05", "> 50 02 00 07", "< 62 02 00 07", "> 70 02 00 07"]),
    ],
)
def test_messages_are_answered_otherwise_on_purpose(answering: Answering, answers: list[str]) -> None:
    talk = conversation(NEW, SUBSCRIBE, SUBACK, f"< 32 07 00 01 61 00 05 00 31 {ONE}", *answers, LEAVES)
    with scripted_many([talk]) as port:
        began_s = time.monotonic()
        assert len(receive(made := subscriber(port, answering=answering), 2)) == 2
    assert (time.monotonic() - began_s > 0.2) == bool(answering.delay_s)
    assert made.receiver.unanswered == (0 if answering.acknowledge else 2)


def test_a_refused_message_may_come_again_under_its_identifier() -> None:
    again = f"< {ONE}", "> 50 03 00 07 83"
    with scripted_many([conversation(NEW, SUBSCRIBE, SUBACK, *again, *again, LEAVES)]) as port:
        assert len(receive(subscriber(port, answering=Answering(reason_code=0x83)), 2)) == 2


def test_topic_aliases_are_resolved_on_each_connection_anew() -> None:
    aliased = "< 30 08 00 01 61 03 23 00 01 78 30 08 00 01 62 03 23 00 01 78", "< 30 07 00 00 03 23 00 01 79"
    known = Property(TOPIC_ALIAS_MAXIMUM.id, 2), Property(SESSION_EXPIRY_INTERVAL.id, 60)
    scripts = [
        conversation(NEW, SUBSCRIBE, SUBACK, *aliased), conversation(RESUMED, aliased[1], "> e0 01 82"),
    ]  # fmt: skip
    with scripted_many(scripts) as port:
        made = subscriber(port, properties=known, reconnects=1)
        taken: list[ReceivedMessage] = []
        with pytest.raises(PeerFault, match="alias-unset"):
            receive(made, 9, taken)
    assert [(each.topic, each.payload) for each in taken] == [("a", b"x"), ("b", b"x"), ("b", b"y")]


def test_it_subscribes_again_only_where_the_session_is_gone_and_takes_no_message_twice() -> None:
    last = "< 34 07 00 01 61 00 07 00 31", "> 50 02 00 07", "< 62 02 00 07", "> 70 02 00 07"
    scripts = [
        conversation(NEW, SUBSCRIBE, SUBACK, f"< {ONE}", "> 50 02 00 07"),
        conversation(RESUMED, f"< {AGAIN}", "> 50 02 00 07"),
        conversation(NEW, SUBSCRIBE, SUBACK, *last, LEAVES),
    ]
    said: list[str] = []
    with scripted_many(scripts) as port:
        taken = receive(
            subscriber(port, said, reconnects=None, properties=(Property(SESSION_EXPIRY_INTERVAL.id, 60),)), 2
        )
    assert [each.payload for each in taken] == [b"x", b"1"]
    lost = "the broker closed the connection before it was asked to; connecting again in 0.1 s"
    later = lost.replace("0.1", "0.2")
    assert said == [lost, "connected again", later, SESSION_LOST, "connected again"]


def test_without_reconnect_a_loss_ends_the_run_after_what_came_before_it() -> None:
    with scripted_many([conversation(NEW, SUBSCRIBE, SUBACK, "< 30 05 00 01 61 00 7a")]) as port:
        taken: list[ReceivedMessage] = []
        with pytest.raises(ConnectionLost):
            receive(subscriber(port), 9, taken)
    assert len(taken) == 1


def test_what_came_together_with_the_end_of_the_connection_is_handed_on() -> None:
    begun, ended = threading.Event(), threading.Event()

    def script(peer: Peer) -> None:
        peer.accept(NEW[2:])
        peer.packet()
        peer.send(SUBACK[2:])
        assert begun.wait(10)
        peer.send("30 05 00 01 61 00 7a")
        peer.sock.shutdown(socket.SHUT_WR)
        ended.set()
        peer.wait()

    with scripted_many([script]) as port:
        taken: list[bytes] = []
        made = subscriber(port)
        turns = made.run()
        while not made.session:
            assert not next(turns)
        begun.set()
        assert ended.wait(10)
        with pytest.raises(ConnectionLost):
            taken.extend(each.payload for messages in turns for each in messages)
    assert taken == [b"z"]


def test_a_refused_filter_is_remarked_and_a_refusal_of_all_ends_the_run() -> None:
    some, none = "< 90 05 00 01 00 87 00", "< 90 05 00 01 00 87 8f"
    said: list[str] = []
    with scripted_many([conversation(NEW, BOTH, some, "< 30 06 00 02 62 2f 00 7a", LEAVES)]) as port:
        made = subscriber(port, said, subscribe=MORE)
        receive(made, 1)
    refusal = "the broker refused the Topic Filter 'a': 0x87 Not authorized"
    assert said == [refusal, "the broker grants QoS 0 for the Topic Filter 'b/#', not 1"]
    assert made.refusals == [refusal]
    assert [each.code for each in made.outcomes] == [0x87, 0]
    refusing = conversation(NEW, BOTH, none, LEAVES)
    with scripted_many([refusing]) as port, pytest.raises(Refused, match="'b/#': 0x8f") as caught:
        receive(subscriber(port, subscribe=MORE), 1)
    assert str(caught.value).startswith(refusal)


def test_a_suback_with_another_number_of_codes_is_a_fault() -> None:
    with scripted_many([conversation(NEW, BOTH, SUBACK)]) as port, pytest.raises(PeerFault, match="1 code for 2 Topic"):
        receive(subscriber(port, subscribe=MORE), 1)


def test_it_unsubscribes_and_remarks_what_did_not_exist() -> None:
    gone = Unsubscribe(packet_id=2, filters=("x", "y"))
    talk = conversation(
        NEW, SUBSCRIBE, SUBACK, "> a2 09 00 02 00 00 01 78 00 01 79", "< b0 05 00 02 00 00 11",
        "< 30 05 00 01 61 00 7a", LEAVES,
    )  # fmt: skip
    said: list[str] = []
    with scripted_many([talk]) as port:
        receive(subscriber(port, said, unsubscribes=[gone]), 1)
    assert said == ["the broker answered the UNSUBSCRIBE of 'y': 0x11 No subscription existed"]


def test_what_exceeds_our_receive_maximum_is_kept_and_remarked_once() -> None:
    talk = conversation(
        NEW, SUBSCRIBE, SUBACK, f"< {ONE} {TWO} 34 07 00 01 61 00 09 00 7a", "> 50 02 00 07", "> 50 02 00 08",
        "> 50 02 00 09", "< 62 02 00 07 62 02 00 08 62 02 00 09", "> 70 02 00 07", "> 70 02 00 08", "> 70 02 00 09",
        LEAVES,
    )  # fmt: skip
    said: list[str] = []
    with scripted_many([talk]) as port:
        made = subscriber(port, said, properties=(Property(RECEIVE_MAXIMUM.id, 1),))
        assert len(receive(made, 3)) == 3
    fault = "the broker sent PUBLISH with 1 unacknowledged, but our Receive Maximum is 1 (MQTT5-3.3.4-9)"
    assert said == [f"{fault}: {TWO}; these messages are kept like any other"]
    assert made.receiver.most_unanswered == 3


def test_a_message_left_from_a_lost_connection_is_not_answered_on_the_next() -> None:
    scripts = [
        conversation(NEW, SUBSCRIBE, SUBACK, "< 32 07 00 01 61 00 05 00 31"),
        conversation(NEW, SUBSCRIBE, SUBACK, "< 32 07 00 01 61 00 06 00 32", "> 40 02 00 06", LEAVES),
    ]
    taken: list[ReceivedMessage] = []
    with scripted_many(scripts) as port:
        made = subscriber(port, reconnects=1)
        for messages in made.run():
            if made.connections == 2 and len(messages) == 2:
                taken += messages
                messages.clear()
                made.stop()
    assert [each.payload for each in taken] == [b"1", b"2"]


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("28 00", "'b/#' has a wildcard, but the broker's Wildcard Subscription Available is 0"),
        ("2a 00", "'$share/g/c' is shared, but the broker's Shared Subscription Available is 0"),
        ("29 00", "SUBSCRIBE has a Subscription Identifier, but the broker's Subscription Identifier Available is 0"),
        ("27 00 00 00 19", "SUBSCRIBE has 26 bytes, but the broker's Maximum Packet Size is 25"),
    ],
)
def test_what_connack_forbids_is_not_sent(limit: str, message: str) -> None:
    filters = tuple(Subscription(filter=each) for each in ("b/#", "$share/g/c"))
    packet = Subscribe(packet_id=1, properties=(Property(SUBSCRIPTION_IDENTIFIER.id, 5),), subscriptions=filters)
    size = len(bytes.fromhex(limit))
    connack = f"< 20 {size + 3:02x} 00 00 {size:02x} {limit}"
    refusing = conversation(connack, LEAVES)
    sentence = re.escape(f"not subscribed: {message}")
    with scripted_many([refusing]) as port, pytest.raises(Refused, match=sentence):
        receive(subscriber(port, subscribe=packet), 1)
    forced = "> 82 18 00 01 02 0b 05 00 03 62 2f 23 00 00 0a 24 73 68 61 72 65 2f 67 2f 63 00"
    granted = "< 90 05 00 01 00 00 00"
    with scripted_many([conversation(connack, forced, granted, "< 30 05 00 01 61 00 7a")]) as port:
        assert len(receive(subscriber(port, subscribe=packet, force=True), 1)) == 1


def test_a_message_left_from_a_lost_connection_that_comes_again_is_not_handed_on_twice() -> None:
    scripts = [
        conversation(NEW, SUBSCRIBE, SUBACK, f"< {ONE}"),
        conversation(RESUMED, f"< {AGAIN} {TWO}", "> 50 02 00 07", "> 50 02 00 08", LEAVES),
    ]
    taken: list[bytes] = []
    with scripted_many(scripts) as port:
        made = subscriber(port, reconnects=1, properties=(Property(SESSION_EXPIRY_INTERVAL.id, 60),))
        for messages in made.run():
            if made.connections == 2 and len(messages) == 2:
                taken += [each.payload for each in messages]
                messages.clear()
                made.stop()
    assert taken == [b"x", b"y"]
