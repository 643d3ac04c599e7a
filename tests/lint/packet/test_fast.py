"""What `is_clean` accepts has no error in the full check either."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.lint.packet.check import lint
from mqttpub.lint.packet.fast import is_clean
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Disconnect,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
    Will,
)
from mqttpub.spec.versions import Direction, Version
from tests.strategies import packets


def errors(packet: Packet, version: Version) -> list[str]:
    """Return the statements that the full look finds broken, whoever sent the packet."""
    data = encode(packet, version)
    return [
        finding.statement
        for direction in Direction
        if packet.may_send(direction, version)
        for finding in lint(decode(data, version), direction)
        if finding.severity == "error"
    ]


@given(st.data(), st.sampled_from(Version), st.booleans())
def test_sound_packets_have_no_error(data: st.DataObject, version: Version, valid: bool) -> None:
    packet = data.draw(packets(version, valid=valid))
    if is_clean(packet, version):
        assert errors(packet, version) == []


SOUND = [
    Publish(topic="a", payload=b"x"),
    Publish(topic="", properties=(Property(0x23, 1),), qos=1, packet_id=1),
    Puback(packet_id=1, reason_code=0x10),
    Connack(properties=(Property(0x21, 20), Property(0x22, 10))),
    Suback(packet_id=1, reason_codes=(0, 0x87)),
    Connect(client_id="a", username="me", password=b"\0", keep_alive=0, clean_start=False),
    Disconnect(),
    Subscribe(packet_id=1, subscriptions=(Subscription(filter="$share/g/a/#", qos=2), Subscription(filter="+"))),
    Unsubscribe(packet_id=1, filters=("a/#",)),
    Unsuback(packet_id=1, reason_codes=(0, 0x11)),
]


@pytest.mark.parametrize("packet", SOUND, ids=repr)
def test_the_common_packets_need_no_full_look(packet: Packet) -> None:
    assert is_clean(packet, Version.V5)


UNSOUND = [
    Subscribe(packet_id=1, subscriptions=(Subscription(filter="a"), Subscription(filter="a/#/b"))),
    Subscribe(packet_id=1, subscriptions=(Subscription(filter=""),)),
    Subscribe(packet_id=1, subscriptions=(Subscription(filter="$share/g/a", no_local=True),)),
    Subscribe(packet_id=1, subscriptions=(Subscription(filter="a", qos=3),)),
    Subscribe(packet_id=1, subscriptions=(Subscription(filter="a", retain_handling=3),)),
    Subscribe(packet_id=1, subscriptions=(Subscription(filter="a", reserved=1),)),
    Subscribe(packet_id=1, subscriptions=()),
    Subscribe(packet_id=1, properties=(Property(0x0B, 0),), subscriptions=(Subscription(filter="a"),)),
    Unsubscribe(packet_id=1, filters=("a#",)),
    Unsuback(packet_id=1, reason_codes=(1,)),
    Publish(topic="a/+"),
    Publish(topic=""),
    Publish(topic="a\n"),
    Publish(topic="a", dup=True),
    Publish(topic="a", qos=3, packet_id=1),
    Publish(topic="a", qos=1, packet_id=0),
    Publish(topic="a", qos=1),
    Publish(topic="a", properties=(Property(0x23, 0),)),
    Publish(topic="a", properties=(Property(0x23, 1), Property(0x23, 2))),
    Publish(topic="a", properties=(Property(0x21, 1),)),
    Publish(topic="a", properties=(Property(0x7E, b""),)),
    Publish(topic="a", properties=(Property(0x26, ("a", "\0")),)),
    Publish(topic="a", properties=(Property(0x0B, 1),)),
    Puback(packet_id=0),
    Puback(packet_id=1, reason_code=0x92),
    Puback(packet_id=1, flags=3),
    Connack(session_present=True, reason_code=0x87),
    Connack(properties=(Property(0x16, b"x"),)),
    Suback(packet_id=1, reason_codes=(3,)),
    Connect(),
    Connect(client_id="a\0"),
    Connect(client_id="a", password=b""),
    Connect(client_id="a", will_qos=1),
    Connect(client_id="a", will_retain=True),
    Connect(client_id="a", will_flag=True),
    Connect(client_id="a", will=Will(topic="a")),
    Connect(client_id="a", protocol_level=6),
    Connect(client_id="a", reserved=True),
    Connect(client_id="a", properties=(Property(0x21, 1),)),
    Disconnect(reason_code=0x8B),
    Disconnect(reason_code=0, properties=(Property(0x1C, "b"),)),
]


@pytest.mark.parametrize("packet", UNSOUND, ids=repr)
def test_what_may_be_wrong_gets_the_full_look(packet: Packet) -> None:
    assert not is_clean(packet, Version.V5)
