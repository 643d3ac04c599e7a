"""Exchanges: which packets belong together, and how they ended."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from mqttpub.codec.decode import decode_packet
from mqttpub.spec.packets import (
    Connack,
    Connect,
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
from mqttpub.traffic import handshakes as module
from mqttpub.traffic.events import Event, PacketSeen
from mqttpub.traffic.exchanges import Exchanges
from mqttpub.traffic.handshakes import Exchange
from tests.build.events import CLIENT, MS, Dialog, aliased, exchanged, redelivered, talks, walkthrough


def brief(talk: Dialog) -> list[tuple[str, str, list[str]]]:
    """Return sender, outcome and legs of the exchanges of a conversation."""
    return [_brief(each) for each in exchanged(talk.events)]


def _brief(each: Exchange) -> tuple[str, str, list[str]]:
    return each.sender.value if each.sender else "?", each.outcome, [leg.name for leg in each.packets]


def said(packet_id: int, qos: int = 1, **more: Any) -> Publish:
    """Return a message."""
    return Publish(**{"topic": "t", "qos": qos, "packet_id": packet_id, "payload": b"12345", **more})


def test_the_walkthrough() -> None:
    zero, one, two = exchanged(walkthrough().events)
    assert _brief(zero) == ("client", "sent", ["PUBLISH"])
    assert _brief(one) == ("client", "complete", ["PUBLISH", "PUBACK"])
    assert _brief(two) == ("client", "complete", ["PUBLISH", "PUBREC", "PUBREL", "PUBCOMP"])
    assert (one.packet_id, one.qos, one.size_bytes, one.reason, one.duration_ns) == (25674, 1, 23, 0x10, 39 * MS)
    assert [leg.reason for leg in two.packets] == [None, 0x10, 0, 0]
    assert (two.duration_ns, two.client, two.version) == (79 * MS, "mqttx_0c668d0d", Version.V5)
    assert one.topic is not None
    assert one.topic.name == "request"


def test_both_ends_use_the_same_identifiers() -> None:
    talk = Dialog().client(said(1)).server(said(1, 2)).server(Puback(packet_id=1)).client(Pubrec(packet_id=1))
    talk.server(Pubrel(packet_id=1)).client(Pubcomp(packet_id=1))
    assert brief(talk) == [
        ("client", "complete", ["PUBLISH", "PUBACK"]),
        ("server", "complete", ["PUBLISH", "PUBREC", "PUBREL", "PUBCOMP"]),
    ]


@pytest.mark.parametrize(
    ("qos", "refusal"),
    [(1, Puback(packet_id=1, reason_code=0x87)), (2, Pubrec(packet_id=1, reason_code=0x87))],
)
def test_a_refusal_ends_it(qos: int, refusal: Puback | Pubrec) -> None:
    talk = Dialog().client(said(1, qos)).server(refusal).client(said(1, qos)).server(refusal)
    first, second = exchanged(talk.events)
    assert (first.outcome, first.reason, second.outcome) == ("refused", 0x87, "refused")


@pytest.mark.parametrize(("code", "outcome"), [(0x7F, "complete"), (0x80, "refused")])
def test_a_reason_code_from_80_on_refuses(code: int, outcome: str) -> None:
    talk = Dialog().client(said(1)).server(Puback(packet_id=1, reason_code=code))
    assert brief(talk)[0][1] == outcome


def test_a_redelivery_belongs_to_its_exchange() -> None:
    talk = Dialog().client(said(1), said(1, dup=True), said(1, dup=True)).server(Puback(packet_id=1))
    (only,) = exchanged(talk.events)
    assert (only.dups, only.outcome, [leg.dup for leg in only.packets]) == (2, "complete", [False, True, True, False])
    assert only.duration_ns == 3 * MS


def test_without_dup_the_identifier_is_used_again() -> None:
    talk = Dialog().client(said(1), said(1)).server(Puback(packet_id=1))
    assert brief(talk) == [("client", "superseded", ["PUBLISH"]), ("client", "complete", ["PUBLISH", "PUBACK"])]


def test_subscribing() -> None:
    talk = Dialog().client(Subscribe(packet_id=5, subscriptions=(Subscription(filter="a"), Subscription(filter="b/#"))))
    talk.server(Suback(packet_id=5, reason_codes=(1, 0x87)))
    talk.client(Unsubscribe(packet_id=5, filters=("a",))).server(Unsuback(packet_id=5, reason_codes=(0x11,)))
    first, second = exchanged(talk.events)
    assert (first.outcome, first.reason, first.filters, first.qos) == ("refused", 0x87, ("a", "b/#"), None)
    assert (second.outcome, second.reason, second.filters) == ("complete", 0x11, ("a",))


def test_in_31_a_subscription_can_come_again() -> None:
    wanted = Subscribe(packet_id=5, subscriptions=(Subscription(filter="a"),))
    talk = Dialog(version=Version.V31).client(
        wanted, wanted.replace(dup=True), Unsubscribe(packet_id=5, filters=("a",))
    )
    first, second = exchanged(talk.events)
    assert (first.outcome, first.dups, second.outcome) == ("superseded", 1, "unfinished")


def test_acks_without_a_request_are_orphans() -> None:
    talk = Dialog().server(Puback(packet_id=1), Pubrec(packet_id=2)).client(Pubrel(packet_id=2))
    talk.server(Pubcomp(packet_id=2), Suback(packet_id=3, reason_codes=(0,)), Pubrec(packet_id=4, reason_code=0x80))
    talk.client(Pubrel(packet_id=6))
    assert brief(talk) == [
        ("client", "orphan", ["PUBACK"]),
        ("client", "orphan", ["PUBREC", "PUBREL", "PUBCOMP"]),
        ("client", "orphan", ["SUBACK"]),
        ("client", "orphan", ["PUBREC"]),
        ("client", "orphan", ["PUBREL"]),
    ]
    assert [each.duration_ns for each in exchanged(talk.events)] == [None] * 5


def test_the_ack_of_another_qos_is_an_orphan_and_changes_nothing() -> None:
    talk = Dialog().client(said(1, 2)).server(Puback(packet_id=1), Pubrec(packet_id=1))
    assert brief(talk) == [("client", "orphan", ["PUBACK"]), ("client", "unfinished", ["PUBLISH", "PUBREC"])]


def test_a_publish_after_an_orphan_begins_a_new_exchange() -> None:
    talk = Dialog().server(Pubrec(packet_id=1)).client(said(1, 2, dup=True))
    assert brief(talk) == [("client", "orphan", ["PUBREC"]), ("client", "unfinished", ["PUBLISH"])]


def test_packets_without_directions_are_paired() -> None:
    talk = Dialog().says(None, said(1), Puback(packet_id=1))
    assert brief(talk) == [("?", "complete", ["PUBLISH", "PUBACK"])]


def test_qos_3_is_not_an_exchange() -> None:
    assert brief(Dialog().client(bytes.fromhex("3606 0001 74 0001 00"))) == []


def test_a_session_continues_on_the_next_connection() -> None:
    left2, left1, release, again = exchanged(redelivered())
    assert _brief(left2) == ("client", "unfinished", ["PUBLISH", "PUBREC", "PUBREL"])
    assert _brief(left1) == ("client", "unfinished", ["PUBLISH"])
    assert _brief(release) == ("client", "complete", ["PUBREL", "PUBCOMP"])
    assert (release.resumed, release.topic, release.size_bytes, release.ends.number) == (True, left2.topic, 4, 2)
    assert _brief(again) == ("client", "complete", ["PUBLISH", "PUBACK"])
    assert (again.resumed, again.dups, again.duration_ns) == (True, 1, 14 * MS)
    assert release.duration_ns is None


def test_without_a_session_nothing_continues() -> None:
    first = Dialog(1).client(Connect(client_id="a")).server(Connack()).client(said(1, 2)).closes(CLIENT)
    second = Dialog(2).client(Connect(client_id="a")).server(Connack()).client(Pubrel(packet_id=1))
    found = exchanged([*first.events, *second.events])
    assert [(each.outcome, each.resumed) for each in found] == [("unfinished", False), ("orphan", False)]


def test_aliases_are_resolved() -> None:
    names = [each.topic.text for each in exchanged(aliased().events) if each.topic]
    assert names[2:4] == ["client/topic", "server/topic"]
    assert names[-1] == "alias 7 (never set)"


def test_order_is_that_of_arrival() -> None:
    """The PUBACK carries the earlier time."""
    talk = Dialog().client(said(1)).server(Puback(packet_id=1), after=-5 * MS)
    (only,) = exchanged(talk.events)
    assert (only.outcome, only.duration_ns) == ("complete", -5 * MS)


def test_there_is_no_duration_without_times() -> None:
    talk = Dialog()
    talk.time = None
    (only,) = exchanged(talk.client(said(1)).server(Puback(packet_id=1)).events)
    assert only.duration_ns is None


def test_the_packets_of_an_exchange_are_kept_up_to_a_number() -> None:
    talk = Dialog().client(said(1, 2)).server(*[Pubrec(packet_id=1)] * 50).client(Pubrel(packet_id=1))
    (only,) = exchanged(talk.events)
    assert (len(only.packets), only.more) == (module.MOST_PACKETS, 52 - module.MOST_PACKETS)
    assert only.packets[-1].name == "PUBREL"


def test_open_exchanges_are_kept_up_to_a_number() -> None:
    memory_bytes = 10 * (module.ENTRY_BYTES + module.PACKET_BYTES + 4)
    one, two = (
        Dialog(1).client(said(1), said(2)),
        Dialog(2).client(*(said(number) for number in range(1, 10))),
    )
    exchanges = Exchanges(memory_bytes)
    for event in packets([*one.events, *two.events]):
        exchanges.packet(event, decode_packet(event.data, event.version))
    assert exchanges.forgotten == 1
    assert [each.packet_id for each in exchanges.finish(one.ends)] == [2]
    assert [each.packet_id for each in exchanges.finish(two.ends)] == [*range(1, 10)]
    assert list(exchanges.finish(two.ends)) == []
    assert exchanges.weight == 0


def test_an_exchange_alone_is_kept_however_large() -> None:
    talk = Dialog().client(said(1, topic="t" * 500), said(2, topic="t" * 500)).server(Puback(packet_id=2))
    exchanges = Exchanges(memory_bytes=100)
    done = [exchanges.packet(event, decode_packet(event.data, event.version)) for event in packets(talk.events)]
    assert [each.packet_id for each in done if each] == [2]
    assert list(exchanges.finish(talk.ends)) == []


def packets(events: list[Event]) -> Iterator[PacketSeen]:
    """Yield the packets of events."""
    yield from (event for event in events if isinstance(event, PacketSeen))


@settings(max_examples=15)
@given(talks())
def test_every_packet_is_in_one_exchange(events: list[Event]) -> None:
    wanted = (Publish, Puback, Pubrec, Pubrel, Pubcomp, Subscribe, Suback, Unsubscribe, Unsuback)
    read = [decode_packet(event.data, event.version) for event in packets(events)]
    expected = [each for each in read if isinstance(each, wanted) and getattr(each, "qos", 0) != 3]
    found = exchanged(events)
    assert sum(len(each.packets) + each.more for each in found) == len(expected)
    assert sum(each.dups for each in found) == sum(bool(getattr(each, "dup", False)) for each in expected)
    assert all(each.packets and each.outcome for each in found)
