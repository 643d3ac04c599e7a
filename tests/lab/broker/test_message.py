"""Application messages on their way through the broker."""

from typing import Any

from mqttpub.lab.broker.message import Delivery, Message
from tests.lab.peer import V5, V311, props

MANY: dict[str, Any] = {
    "user_property": [("b", "2"), ("a", "1"), ("b", "2")],
    "content_type": "text/plain",
    "correlation_data": b"\x00\xff",
}


def test_the_publishers_properties_are_kept_in_order_and_the_connections_are_not() -> None:
    given = props(topic_alias=3, **MANY, subscription_identifier=4, will_delay_interval=9)
    message = Message("t", properties=given)
    packet = Delivery(message, 1, True, (7, 8)).packet(V5, 0, 11, True)
    assert packet.properties == (*props(**MANY), *props(subscription_identifier=[7, 8]))
    assert (packet.topic, packet.qos, packet.retain, packet.packet_id, packet.dup) == ("t", 1, True, 11, True)


def test_before_5_there_are_no_properties() -> None:
    message = Message("t", properties=props(**MANY))
    assert Delivery(message, 0, False, (7,)).packet(V311, 0, None, False).properties == ()


def test_the_remaining_lifetime_is_sent() -> None:
    message = Message("t", properties=props(content_type="x", message_expiry_interval=10), arrived=100)
    assert message.properties_at(100) == props(content_type="x", message_expiry_interval=10)
    assert message.properties_at(103.9) == props(content_type="x", message_expiry_interval=7)
    assert message.properties_at(200) == props(content_type="x", message_expiry_interval=0)
    assert not message.expired(110)
    assert message.expired(110.1)
    assert not Message("t").expired(1e9)


def test_a_message_knows_about_how_large_it_is() -> None:
    assert Message("t", bytes(1000)).size > 1000
    assert Message("t", properties=props(user_property=[("a" * 500, "b" * 500)])).size > 1000


def test_a_message_is_summed_up_in_a_line() -> None:
    assert Message("t", b"abc", qos=1, retain=True).summary == "t, QoS 1, retained, 3 bytes"
