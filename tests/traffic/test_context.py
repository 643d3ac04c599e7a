"""Packets with their client and the topic they mean."""

from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connect, Pingreq, Publish
from mqttpub.traffic.aliases import Topic
from mqttpub.traffic.context import ContextTracker, PacketInContext
from tests.build.events import ALIAS, Dialog, aliased, known


def in_context(talk: Dialog) -> list[PacketInContext]:
    """Return the packets of a conversation."""
    return [each for each in known(talk.events) if isinstance(each, PacketInContext)]


def test_topics_are_those_of_each_direction() -> None:
    names = [each.topic.text for each in in_context(aliased()) if each.topic]
    client, server = ["client/topic"] * 2, ["server/topic"] * 2
    assert names == [
        *(name for pair in zip(client, server, strict=True) for name in pair),
        *["client/other"] * 2, "alias 7 (never set)",
    ]  # fmt: skip
    assert in_context(aliased())[2].topic == Topic("client/topic", 1, True)


def test_the_client_is_known_from_its_connect_on() -> None:
    talk = Dialog().client(Pingreq(), Connect(client_id="a"), Pingreq())
    assert [each.client for each in in_context(talk)] == ["", "a", "a"]


def test_packets_of_two_connections_may_alternate() -> None:
    one, two = Dialog(1).client(Connect(client_id="a")), Dialog(2).client(Connect(client_id="b"))
    for talk in (one, two):
        talk.client(Publish(topic=f"t{talk.ends.number}", properties=(Property(ALIAS, 1),)))
        talk.client(Publish(topic="", properties=(Property(ALIAS, 1),)))
    mixed = [event for pair in zip(one.events, two.events, strict=True) for event in pair]
    found = [each for each in known(mixed) if isinstance(each, PacketInContext)]
    assert [each.client for each in found] == ["a", "b"] * 3
    assert [each.topic.name for each in found if each.topic] == ["t1", "t2"] * 2


def test_a_connection_can_be_forgotten() -> None:
    talk = Dialog().client(Connect(client_id="a"), Publish(topic="t", properties=(Property(ALIAS, 1),)))
    conversations = ContextTracker()
    for each in in_context(talk):
        conversations.packet(each.event, each.packet)
    assert conversations.name(talk.ends) == "a"
    conversations.end(talk.ends)
    assert conversations.name(talk.ends) == ""


def test_a_packet_without_values_has_no_topic() -> None:
    assert in_context(Dialog().client(b"\x30\x00"))[0][1:] == (None, None, "", ())
