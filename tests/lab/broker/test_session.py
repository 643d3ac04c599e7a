"""The state of one client that outlives its connections."""

import pytest

from mqttpub.lab.broker.limits import Limits
from mqttpub.lab.broker.message import Delivery, Message
from mqttpub.lab.broker.refusal import PROTOCOL, Refusal
from mqttpub.lab.broker.session import BrokerSession
from mqttpub.live.publish.sender import PUBACK, PUBCOMP, PUBREC
from tests.lab.peer import props


class Wire:
    """A connection that notes what is sent."""

    def __init__(self, window: int = 100, largest: int = 1000) -> None:
        self.open = True
        self.window = window
        self.largest = largest
        self.sent: list[str] = []

    def deliver(self, delivery: Delivery, packet_id: int | None = None, dup: bool = False) -> bool:
        if len(delivery.message.payload) > self.largest:
            return False
        self.sent.append(f"{delivery.message.topic} {packet_id}{' dup' if dup else ''}")
        return True

    def release(self, packet_id: int) -> None:
        self.sent.append(f"release {packet_id}")

    def taken_over(self) -> None:
        self.open = False

    def news(self) -> list[str]:
        sent, self.sent = self.sent, []
        return sent


def session(limits: Limits | None = None) -> BrokerSession:
    """Return a session whose clock stands still."""
    return BrokerSession("c", limits or Limits(), lambda: 0.0)


def offer(to: BrokerSession, *topics: str, qos: int = 1, size: int = 1) -> list[bool]:
    """Give a session messages with these topics."""
    return [to.offer(Delivery(Message(topic, bytes(size), qos=qos), qos)) for topic in topics]


def test_no_more_is_under_way_than_the_window_allows() -> None:
    ours, wire = session(), Wire(window=2)
    ours.resume(wire)
    assert offer(ours, "a", "b", "c", "d") == [True] * 4
    assert wire.news() == ["a 1", "b 2"]
    assert ours.waiting == 2
    assert ours.acknowledge(PUBACK, 2, 0)
    assert wire.news() == ["c 3"]
    assert offer(ours, "z", qos=0) == [True]
    assert wire.news() == ["z None"]


def test_a_qos_2_message_is_under_way_until_pubcomp() -> None:
    ours, wire = session(), Wire(window=1)
    ours.resume(wire)
    offer(ours, "a", "b", qos=2)
    assert ours.acknowledge(PUBREC, 1, 0)
    assert ours.acknowledge(PUBREC, 1, 0)
    assert wire.news() == ["a 1"]
    assert ours.acknowledge(PUBCOMP, 1, 0)
    assert wire.news() == ["b 2"]
    assert not ours.acknowledge(PUBCOMP, 1, 0)


def test_a_refusing_pubrec_ends_the_exchange() -> None:
    ours, wire = session(), Wire(window=1)
    ours.resume(wire)
    offer(ours, "a", "b", qos=2)
    assert ours.acknowledge(PUBREC, 1, 0x97)
    assert wire.news() == ["a 1", "b 2"]


@pytest.mark.parametrize(
    ("qos", "codes", "text"),
    [
        (1, [PUBREC], "PUBREC with Packet Identifier 1, but PUBACK is awaited"),
        (1, [PUBCOMP], "PUBCOMP with Packet Identifier 1, but PUBACK is awaited"),
        (2, [PUBACK], "PUBACK with Packet Identifier 1, but PUBREC is awaited"),
        (2, [PUBCOMP], "PUBCOMP with Packet Identifier 1, but PUBREC is awaited"),
        (2, [PUBREC, PUBACK], "PUBACK with Packet Identifier 1, but PUBCOMP is awaited"),
    ],
)
def test_an_answer_out_of_order_is_refused(qos: int, codes: list[int], text: str) -> None:
    ours = session()
    ours.resume(Wire())
    offer(ours, "a", qos=qos)
    *before, last = codes
    for code in before:
        ours.acknowledge(code, 1, 0)
    with pytest.raises(Refusal, match=text) as caught:
        ours.acknowledge(last, 1, 0)
    assert caught.value.code == PROTOCOL


def test_what_was_under_way_is_sent_again_in_order() -> None:
    ours, wire = session(), Wire()
    ours.resume(wire)
    offer(ours, "a", qos=1)
    offer(ours, "b", "c", qos=2)
    ours.acknowledge(PUBREC, 2, 0)
    ours.link = None
    offer(ours, "d")
    assert offer(ours, "z", qos=0) == [False]
    again = Wire(window=2)
    ours.resume(again)
    assert again.news() == ["a 1 dup", "release 2"]
    ours.acknowledge(PUBACK, 1, 0)
    assert again.news() == ["c 3 dup"]
    ours.acknowledge(PUBCOMP, 2, 0)
    assert again.news() == ["d 4"]


def test_an_acknowledgement_may_come_before_the_repetition() -> None:
    ours = session()
    ours.resume(Wire())
    offer(ours, "a", "b", "c")
    again = Wire(window=1)
    ours.resume(again)
    ours.acknowledge(PUBACK, 2, 0)
    ours.acknowledge(PUBACK, 1, 0)
    assert again.news() == ["a 1 dup", "c 3 dup"]


def test_a_message_that_is_too_large_counts_as_sent() -> None:
    ours, wire = session(), Wire(largest=10)
    ours.resume(wire)
    assert offer(ours, "a", size=11) == [True]
    assert offer(ours, "b") == [True]
    assert wire.news() == ["b 2"]
    assert ours._held == next(iter(ours.outgoing.values())).delivery.message.size
    ours.resume(Wire(largest=0))
    assert not ours.outgoing
    assert ours._held == 0


def test_nothing_is_sent_into_a_connection_that_is_over() -> None:
    ours, wire = session(), Wire()
    ours.resume(wire)
    wire.open = False
    assert offer(ours, "a") == [True]
    assert wire.news() == []
    assert not ours.online
    assert ours.waiting == 1


def test_what_expired_while_it_waited_is_not_sent() -> None:
    now = 0.0
    ours = BrokerSession("c", Limits(), lambda: now)
    for topic, lifetime in (("a", 5), ("b", 50)):
        message = Message(topic, qos=1, properties=props(message_expiry_interval=lifetime))
        ours.offer(Delivery(message, 1))
    now = 6.0
    wire = Wire()
    ours.resume(wire)
    assert wire.news() == ["b 1"]


def test_a_queue_has_its_limits() -> None:
    ours = session(Limits(queue=2))
    assert offer(ours, "a", "b", "c") == [True, True, False]
    ours = session(Limits(held=1000))
    assert offer(ours, "a", "b", size=600) == [True, False]
    assert offer(ours, "c", size=100) == [True]


def test_packet_identifiers_go_around_those_in_use() -> None:
    ours, wire = session(), Wire(window=5)
    ours.resume(wire)
    offer(ours, "first")
    for _ in range(0xFFFF):
        offer(ours, "a")
        wire.sent.clear()
        assert ours._last_id != 1
        ours.acknowledge(PUBACK, ours._last_id, 0)
    assert ours._last_id == 2
    assert list(ours.outgoing) == [1]
