"""Whatever two ends send, the rules never fail and use little memory."""

import tracemalloc
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.encode import encode
from mqttpub.lint.connection import Conversation
from mqttpub.lint.connection.connect import is_ordinary
from mqttpub.lint.connection.conversation import RULE_MODULES
from mqttpub.lint.connection.state import Identifiers
from mqttpub.lint.packet.check import lint
from mqttpub.lint.registry import check_tables
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connack, Connect, Publish, Subscribe, Subscription
from mqttpub.spec.properties import TOPIC_ALIAS, TOPIC_ALIAS_MAXIMUM
from mqttpub.spec.versions import Direction, Version
from tests.strategies import conversations, directions, encoded, packets, versions

times = st.none() | st.integers(0, 10**12)


@pytest.mark.slow
@given(st.data(), versions)
@settings(max_examples=30)
def test_valid_packets_in_any_order(data: st.DataObject, version: Version) -> None:
    talk = Conversation()
    for direction, packet in data.draw(conversations(version, max_size=20)):
        raw, time = encode(packet, version), data.draw(times)
        for each in talk.packet(decode(raw, version, direction=direction), time):
            assert each.statement.startswith(version.prefix)
            assert 0 <= each.span.start <= each.span.stop <= len(raw)
    for end in (*Direction, None):
        talk.closed(end, "FIN" if end else "end", data.draw(times))


@given(st.data(), versions)
@settings(max_examples=30)
def test_any_packets_decoded_or_read(data: st.DataObject, version: Version) -> None:
    whole, fast = Conversation(version), Conversation(version)
    for raw in data.draw(st.lists(st.binary(max_size=12) | encoded(version, valid=False), max_size=10)):
        direction, time = data.draw(directions), data.draw(times)
        found = whole.packet(decode(raw, version, direction=direction), time)
        assert repr(found) == repr(fast.fast(raw, decode_packet(raw, version), direction, time, version))
    assert whole.tally == fast.tally


def test_a_sender_that_nobody_knows() -> None:
    talk = Conversation()
    for packet in (Connect(client_id="a"), Connack()):
        assert talk.packet(decode(encode(packet, Version.V5))) == []
    assert talk.tally.exercised["MQTT5-3.2.0-2"] == 1
    assert talk.packet(decode(encode(Publish(topic="a", qos=1, packet_id=1), Version.V5))) == []
    publish = decode(encode(Publish(topic="a", qos=1, packet_id=1), Version.V5), direction=Direction.CLIENT)
    assert talk.packet(publish) == []


def test_the_version_is_that_of_connect() -> None:
    talk = Conversation(Version.V5)
    talk.packet(decode(encode(Connect(client_id="a"), Version.V31)))
    assert talk.version is Version.V31


def test_a_message_names_the_packet_before() -> None:
    talk = Conversation(Version.V311)
    one, other = (Publish(topic="a", qos=1, packet_id=7, payload=payload) for payload in (b"x", b"y"))
    talk.packet(decode(encode(one, Version.V311), Version.V311, direction=Direction.CLIENT))
    found = talk.packet(decode(encode(other, Version.V311), Version.V311, direction=Direction.CLIENT))
    says = "Packet Identifier 7 is in use by PUBLISH (packet 1), but a new request must have another"
    assert [(each.path, each.span, each.message) for each in found] == [("publish.packet_id", (5, 7), says)]


def test_the_order_of_the_checks_of_a_message() -> None:
    names = [[check.__name__ for check in side[Publish]] for side in check_tables(RULE_MODULES)]
    assert names == [
        ["published", "publish_limits", "aliased", "sent"],
        ["published", "publish_limits", "aliased", "delivered", "received"],
    ]


def test_a_set_of_identifiers_holds_what_was_added_in_8_kib() -> None:
    kept, random = Identifiers(), Random(1)
    assert not kept
    chosen = random.sample(range(65536), 1000)
    for count, id in enumerate(chosen):
        kept.add(id)
        assert id in kept
        assert (chosen[-1] in kept) == (count == 999)
    assert kept
    assert sum(id in kept for id in range(65536)) == 1000


@pytest.mark.slow
def test_a_long_conversation_takes_bounded_memory() -> None:
    talk, alias = Conversation(), TOPIC_ALIAS.id
    client, server, v5 = Direction.CLIENT, Direction.SERVER, Version.V5
    told = (Property(TOPIC_ALIAS_MAXIMUM.id, 65535),)
    talk.packet(decode(encode(Connect(client_id="a"), v5), v5, direction=client))
    talk.packet(decode(encode(Connack(properties=told), v5), v5, direction=server))
    tracemalloc.start()
    for index in range(400):
        wanted = (Subscription(filter=f"{index}/{'x' * 2000}/+"),)
        name = f"{index}/{'x' * 30000}"
        sent = (
            Subscribe(packet_id=index + 1, subscriptions=wanted),
            Publish(topic=name, payload=bytes(30000), retain=True, properties=(Property(alias, index + 1),)),
        )
        for packet in sent:
            talk.fast(encode(packet, v5), packet, client, index, v5)
        talk.fast(encode(sent[1], v5), Publish(topic=name, retain=True), server, index, v5)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 8_000_000


@given(st.data(), versions, st.booleans())
@settings(max_examples=30)
def test_anis_ordinary_connect_has_no_error(data: st.DataObject, version: Version, valid: bool) -> None:
    packet = data.draw(packets(version, valid, direction=Direction.CLIENT if valid else None, code=Connect.code))
    raw = encode(packet, version) + data.draw(st.sampled_from((b"", b"\0")))
    read = decode_packet(raw, version)
    if isinstance(read, Connect) and is_ordinary(read, version, len(raw)):
        assert [each for each in lint(decode(raw, version)) if each.severity == "error"] == []


def test_most_connects_areis_ordinary() -> None:
    for version in Version:
        for more in ({}, {"username": "me"}, {"username": "me", "password": b"\0"}):
            raw = encode(Connect(client_id="a", **more), version)
            read = decode_packet(raw, version)
            assert isinstance(read, Connect)
            assert is_ordinary(read, version, len(raw))
