"""One connection: what is refused, how, and when it is over."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.lab.broker.dispatch import receive
from mqttpub.lab.broker.limits import Limits
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import (
    Auth,
    Connack,
    Connect,
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
    Unsubscribe,
)
from mqttpub.spec.versions import Direction, Version
from tests.lab.peer import EACH, V5, V31, V311, Lab, prop, props
from tests.strategies import packets


def wish(filter: str = "a", **fields: Any) -> Subscribe:
    """Return a SUBSCRIBE for one filter."""
    return Subscribe(packet_id=1, subscriptions=(Subscription(filter=filter, **fields),))


REFUSED: list[tuple[str, Packet | bytes, int]] = [
    ("type 0", b"\0\0", 0x81),
    ("Remaining Length of five bytes", b"\x30\xff\xff\xff\xff\1", 0x81),
    ("Remaining Length longer than need be", b"\xc0\x80\0", 0x81),
    ("too large", b"\x30\xff\xff\xff\x7f", 0x95),
    ("bytes behind PINGREQ", b"\xc0\1\0", 0x81),
    ("PINGREQ with header bits", b"\xc1\0", 0x81),
    ("PUBREL without its header bits", b"\x60\2\0\1", 0x81),
    ("SUBSCRIBE without its header bits", b"\x80\7\0\1\0\0\1a\0", 0x81),
    ("PUBACK cut short", b"\x40\1\0", 0x81),
    ("PUBLISH without a topic", b"\x30\0", 0x81),
    ("topic that leaves the packet", b"\x30\4\0\5ab", 0x81),
    ("Property Length that leaves the packet", b"\x30\4\0\1a\5", 0x81),
    ("unknown property", b"\x30\6\0\1a\2\x7f\0", 0x81),
    ("property of another packet", b"\x30\x07\0\1a\3\x21\0\5", 0x81),
    ("property cut in half", b"\x30\6\0\1a\2\x23\0", 0x81),
    ("QoS 3", Publish(topic="a", qos=3, packet_id=1), 0x81),
    ("DUP at QoS 0", Publish(topic="a", dup=True), 0x82),
    ("PUBLISH with Packet Identifier 0", Publish(topic="a", qos=1, packet_id=0), 0x82),
    ("topic with a wildcard", Publish(topic="a/+"), 0x90),
    ("empty topic", Publish(topic=""), 0x82),
    ("topic that is not UTF-8", Publish(topic="\udcff"), 0x81),
    ("topic with a NUL", Publish(topic="a\0"), 0x81),
    ("Topic Alias 0", Publish(topic="a", properties=props(topic_alias=0)), 0x94),
    ("Topic Alias above the maximum", Publish(topic="a", properties=props(topic_alias=11)), 0x94),
    ("Topic Alias that is not set", Publish(topic="", properties=props(topic_alias=10)), 0x82),
    ("Subscription Identifier from a client", Publish(topic="a", properties=props(subscription_identifier=1)), 0x82),
    ("response topic with a wildcard", Publish(topic="a", properties=props(response_topic="#")), 0x82),
    ("Payload Format Indicator 2", Publish(topic="a", properties=props(payload_format_indicator=2)), 0x82),
    ("content type twice", Publish(topic="a", properties=props(content_type=["a", "b"])), 0x82),
    ("SUBSCRIBE without filters", Subscribe(packet_id=1, subscriptions=()), 0x82),
    ("SUBSCRIBE with Packet Identifier 0", wish().replace(packet_id=0), 0x82),
    ("empty filter", wish(""), 0x82),
    ("filter with a # inside", wish("a/#/b"), 0x8F),
    ("filter with a + in a level", wish("a+/b"), 0x8F),
    ("share without a name", wish("$share//a"), 0x8F),
    ("share without a filter", wish("$share/a/"), 0x8F),
    ("share with a wildcard in its name", wish("$share/a+/b"), 0x8F),
    ("No Local on a shared subscription", wish("$share/a/b", no_local=True), 0x82),
    ("requested QoS 3", wish(qos=3), 0x82),
    ("Retain Handling 3", wish(retain_handling=3), 0x82),
    ("reserved option bits", wish(reserved=1), 0x81),
    ("Subscription Identifier 0", wish().replace(properties=props(subscription_identifier=0)), 0x82),
    ("UNSUBSCRIBE without filters", Unsubscribe(packet_id=1, filters=()), 0x82),
    ("AUTH", Auth(reason_code=0x19, properties=props(authentication_method="x")), 0x82),
    ("AUTH without a method", Auth(), 0x82),
    ("CONNACK from a client", Connack(), 0x82),
    ("SUBACK from a client", Suback(packet_id=1, reason_codes=(0,)), 0x82),
    ("PINGRESP from a client", Pingresp(), 0x82),
    ("a reason that PUBACK cannot have", Puback(packet_id=1, reason_code=0x01), 0x82),
    ("a reason that only servers give", Disconnect(reason_code=0x8E), 0x82),
]
"""Name, what a connected client sends, Reason Code of the DISCONNECT."""


def odd(version: Version) -> st.SearchStrategy[Packet]:
    """Return packets of a client, right or wrong."""
    right, wrong = packets(version, direction=Direction.CLIENT), packets(version, valid=False)
    ours = (Connect, Disconnect)
    return st.one_of(right.filter(lambda each: not isinstance(each, ours)), right, wrong)


named = pytest.mark.parametrize(("sent", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])


@named
def test_version_5_sends_a_reason_and_closes(sent: Packet | bytes, code: int) -> None:
    lab = Lab()
    peer = lab.connect()
    disconnect = peer.send(sent, Pingreq()).one(Disconnect)
    assert hex(disconnect.reason_code) == hex(code), prop(disconnect, "reason_string")
    assert prop(disconnect, "reason_string") == peer.over
    assert lab.kinds() == ["connect", "refusal", "disconnect"]
    assert not lab.hub.sessions


OLD = [
    row for row in REFUSED
    if not (isinstance(row[1], Packet) and (getattr(row[1], "properties", None) or row[1].since == V5))
    and row[0] not in ("Property Length that leaves the packet", "unknown property", "property of another packet",
                       "property cut in half", "a reason that PUBACK cannot have", "a reason that only servers give",
                       "share without a name", "share without a filter", "share with a wildcard in its name",
                       "No Local on a shared subscription", "Retain Handling 3", "reserved option bits",
                       "PUBLISH without a topic", "Remaining Length longer than need be")
]  # fmt: skip


@pytest.mark.parametrize("sent", [row[1] for row in OLD], ids=[row[0] for row in OLD])
def test_3_1_1_just_closes(sent: Packet | bytes) -> None:
    lab = Lab()
    peer = lab.connect(version=V311)
    assert peer.send(sent, Pingreq()).got() == []
    assert peer.over
    assert lab.kinds() == ["connect", "refusal", "disconnect"]


def test_3_1_lets_pass_what_it_only_advises() -> None:
    peer = Lab().connect(version=V31)
    assert peer.ask(b"\x8a\6\0\1\0\1a\0").reason_codes == (0,)
    assert peer.ask(b"\x82\6\0\1\0\1a\xf0").reason_codes == (0,)
    assert peer.ask(b"\xc1\0") == Pingresp()


@named
def test_bytes_may_come_one_at_a_time(sent: Packet | bytes, code: int) -> None:
    peer = Lab().connect()
    for byte in sent if isinstance(sent, bytes) else encode(sent, V5):
        receive(peer.connection, bytes((byte,)))
    assert peer.one(Disconnect).reason_code == code


@pytest.mark.parametrize("version", EACH)
def test_a_conversation_may_come_one_byte_at_a_time(version: Version) -> None:
    peer = Lab().peer(version)
    for packet in (Connect(client_id="c"), wish(qos=2), Publish(topic="a", qos=2, packet_id=3), Pubrel(packet_id=3)):
        for byte in encode(packet, version):
            receive(peer.connection, bytes((byte,)))
    kinds = [type(each) for each in peer.got()]
    assert kinds == [Connack, Suback, Publish, Pubrec, Pubcomp]


@pytest.mark.parametrize("version", EACH)
def test_many_packets_may_come_at_once(version: Version) -> None:
    peer = Lab().connect(version=version)
    many = [Publish(topic="a", qos=1, packet_id=index + 1) for index in range(500)]
    peer.send(wish(qos=0), *many, Pingreq())
    _, *got, pong = peer.got()
    assert [each.packet_id for each in got if isinstance(each, Puback)] == list(range(1, 501))
    assert sum(isinstance(each, Publish) for each in got) == 500
    assert pong == Pingresp()


def test_nothing_after_a_disconnect_is_read() -> None:
    peer = Lab().connect()
    assert peer.send(Disconnect(), Pingreq(), b"\xff").got() == []
    assert peer.over == "the client disconnects"
    peer = Lab().connect()
    peer.send(Disconnect(reason_code=4), Pingreq())
    assert peer.over == "the client disconnects with 0x04"


@pytest.mark.parametrize(("version", "packets"), [(V5, 1), (V311, 0), (V31, 0)])
def test_a_silent_client_is_disconnected(version: Version, packets: int) -> None:
    lab = Lab()
    peer = lab.connect(version=version, keep_alive=10)
    lab.wait(14)
    assert peer.ask(Pingreq()) == Pingresp()
    lab.wait(14.9)
    assert not peer.over
    lab.wait(0.2)
    got = peer.got()
    assert [each.reason_code for each in got] == [0x8D] * packets
    assert peer.over == "nothing came for 15 s, 1.5 times the Keep Alive"
    assert lab.hub.timers.next() is None


def test_without_keep_alive_silence_is_allowed() -> None:
    lab = Lab()
    peer = lab.connect(keep_alive=0)
    assert lab.hub.timers.next() is None
    lab.wait(1e6)
    assert not peer.over


def test_connect_must_come_soon() -> None:
    lab = Lab()
    peer = lab.peer()
    peer.send(b"\x10")
    lab.wait(9)
    peer.send(b"\x10")
    assert not peer.over
    lab.wait(11)
    assert peer.over == "no CONNECT within 10 s"
    assert peer.got() == []


def test_a_connection_that_ends_leaves_nothing_behind() -> None:
    lab = Lab()
    for _ in range(3):
        lab.connect().subscribe("a")
    lab.connect().drop()
    assert not lab.hub.sessions
    assert list(lab.hub.subscriptions.matching("a")) == []
    assert lab.hub.timers.next() is None


def test_a_client_that_does_not_read_is_closed() -> None:
    lab = Lab(Limits(output=10_000))
    lazy = lab.connect("lazy")
    lazy.subscribe("a")
    busy = lab.connect("busy")
    for _ in range(12):
        busy.publish("a", bytes(1000))
    assert lazy.over
    assert lazy.over.startswith("the client does not read: 10")
    assert not lazy.connection.output
    assert not busy.over


def test_what_the_client_finds_too_large_is_left_out() -> None:
    lab = Lab()
    peer = lab.connect(properties=props(maximum_packet_size=30))
    peer.subscribe("#", qos=1)
    other = lab.connect("other")
    other.publish("a", bytes(100), qos=1)
    other.publish("a", bytes(10), qos=1)
    assert [len(each.payload) for each in peer.messages()] == [10]
    answer = peer.ask(Publish(topic="$SYS/a", qos=1, packet_id=1))
    assert answer == Puback(packet_id=1, reason_code=0x90, properties=())


def test_a_suback_that_is_too_large_ends_the_connection() -> None:
    peer = Lab().connect(properties=props(maximum_packet_size=22))
    many = tuple(Subscription(filter=str(index)) for index in range(20))
    assert peer.send(Subscribe(packet_id=1, subscriptions=many)).got() == []
    assert peer.over == "SUBACK is larger than the client's Maximum Packet Size"


def test_reason_strings_are_left_out_if_the_client_says_so() -> None:
    peer = Lab().connect(properties=props(request_problem_information=0))
    assert peer.ask(Publish(topic="$SYS/a", qos=1, packet_id=1)) == Puback(packet_id=1, reason_code=0x90)
    assert prop(peer.send(b"\0\0").one(Disconnect), "reason_string")


def test_a_reason_string_has_an_end() -> None:
    peer = Lab().connect()
    said = prop(peer.ask(wish("a#" + "\U0001f600" * 9000)), "reason_string")
    assert len(said) <= 303


def test_what_would_take_much_memory_is_refused() -> None:
    peer = Lab().connect()
    assert peer.ask(Unsubscribe(packet_id=1, filters=("",) * 33_000)).reason_code == 0x97
    peer = Lab().connect()
    heavy = Publish(topic="a", properties=props(user_property=[("", "")] * 14_000))
    assert peer.ask(heavy).reason_code == 0x97
    peer = Lab().connect()
    assert peer.ask(Publish(topic="a", qos=1, packet_id=1, payload=bytes(1_000_000))).reason_code == 0x10
    assert Lab().peer().ask(Connect(properties=props(user_property=[("", "")] * 80_000))).reason_code == 0x97
    assert peer.send(b"\x30" + b"\xf0\xff\x3f" + bytes(100)).got() == []


def test_a_connect_that_is_too_large_is_answered_in_its_version() -> None:
    start = b"\x10\xff\xff\xff\x7f\0\4MQTT"
    assert Lab().peer().ask(start + b"\5").reason_code == 0x95
    assert Lab().peer(V311).send(start + b"\4").got() == []
    assert Lab().peer().send(b"\x10\xff\xff\xff\x7f").got() == []


@pytest.mark.slow
@given(st.sampled_from(EACH).flatmap(lambda version: st.tuples(st.just(version), st.lists(odd(version), max_size=9))))
def test_strange_packets_never_raise(case: tuple[Version, list[Packet]]) -> None:
    lab = Lab()
    peer = lab.connect(version=case[0])
    peer.subscribe("#")
    for packet in case[1]:
        peer.send(packet).messages()
    lab.wait(10)
    assert lab.connect("next").ask(Pingreq()) == Pingresp()


@given(st.binary(max_size=300), st.booleans(), st.lists(st.integers(1, 40), max_size=20))
def test_bytes_never_raise(data: bytes, connected: bool, cuts: list[int]) -> None:
    lab = Lab()
    peer = lab.connect() if connected else lab.peer()
    for cut in cuts:
        peer.send(data[:cut])
        data = data[cut:]
    peer.send(data).got()
    lab.wait(100)
    assert peer.over
    assert lab.connect("next").ask(Pingreq()) == Pingresp()
