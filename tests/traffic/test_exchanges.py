"""Exchanges: which packets belong together, and how they ended."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from mqttpub.codec.decode import decode_packet
from mqttpub.spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback, Subscribe, Unsuback, Unsubscribe
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


ONE = "publish q1 i1 t=t p=12345"
TWO = "publish q2 i1 t=t p=12345"


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
    talk = Dialog().say(f"> {ONE}; < {TWO}; < puback i1; > pubrec i1; < pubrel i1; > pubcomp i1")
    assert brief(talk) == [
        ("client", "complete", ["PUBLISH", "PUBACK"]),
        ("server", "complete", ["PUBLISH", "PUBREC", "PUBREL", "PUBCOMP"]),
    ]


@pytest.mark.parametrize("refused", [f"> {ONE}; < puback i1 c=87", f"> {TWO}; < pubrec i1 c=87"])
def test_a_refusal_ends_it(refused: str) -> None:
    first, second = exchanged(Dialog().say(refused).say(refused).events)
    assert (first.outcome, first.reason, second.outcome) == ("refused", 0x87, "refused")


@pytest.mark.parametrize(("code", "outcome"), [(0x7F, "complete"), (0x80, "refused")])
def test_a_reason_code_from_80_on_refuses(code: int, outcome: str) -> None:
    assert brief(Dialog().say(f"> {ONE}; < puback i1 c={code:02x}"))[0][1] == outcome


def test_a_redelivery_belongs_to_its_exchange() -> None:
    talk = Dialog().say(f"> {ONE}; > {ONE} d1; > {ONE} d1; < puback i1")
    (only,) = exchanged(talk.events)
    assert (only.dups, only.outcome, [leg.dup for leg in only.packets]) == (2, "complete", [False, True, True, False])
    assert only.duration_ns == 3 * MS


def test_without_dup_the_identifier_is_used_again() -> None:
    talk = Dialog().say(f"> {ONE}; > {ONE}; < puback i1")
    assert brief(talk) == [("client", "superseded", ["PUBLISH"]), ("client", "complete", ["PUBLISH", "PUBACK"])]


def test_subscribing() -> None:
    talk = Dialog().say("> subscribe i5 f=a,b/#; < suback i5 c=01,87; > unsubscribe i5 f=a; < unsuback i5 c=11")
    first, second = exchanged(talk.events)
    assert (first.outcome, first.reason, first.filters, first.qos) == ("refused", 0x87, ("a", "b/#"), None)
    assert (second.outcome, second.reason, second.filters) == ("complete", 0x11, ("a",))


def test_in_31_a_subscription_can_come_again() -> None:
    talk = Dialog(version=Version.V31).say("> subscribe i5 f=a; > subscribe i5 f=a d1; > unsubscribe i5 f=a")
    first, second = exchanged(talk.events)
    assert (first.outcome, first.dups, second.outcome) == ("superseded", 1, "unfinished")


def test_acks_without_a_request_are_orphans() -> None:
    talk = Dialog().say(
        "< puback i1; < pubrec i2; > pubrel i2; < pubcomp i2; < suback i3; < pubrec i4 c=80; > pubrel i6"
    )
    assert brief(talk) == [
        ("client", "orphan", ["PUBACK"]),
        ("client", "orphan", ["PUBREC", "PUBREL", "PUBCOMP"]),
        ("client", "orphan", ["SUBACK"]),
        ("client", "orphan", ["PUBREC"]),
        ("client", "orphan", ["PUBREL"]),
    ]
    assert [each.duration_ns for each in exchanged(talk.events)] == [None] * 5


def test_the_ack_of_another_qos_is_an_orphan_and_changes_nothing() -> None:
    talk = Dialog().say(f"> {TWO}; < puback i1; < pubrec i1")
    assert brief(talk) == [("client", "orphan", ["PUBACK"]), ("client", "unfinished", ["PUBLISH", "PUBREC"])]


def test_a_publish_after_an_orphan_begins_a_new_exchange() -> None:
    talk = Dialog().say(f"< pubrec i1; > {TWO} d1")
    assert brief(talk) == [("client", "orphan", ["PUBREC"]), ("client", "unfinished", ["PUBLISH"])]


def test_packets_without_directions_are_paired() -> None:
    talk = Dialog().says(None, Publish(topic="t", qos=1, packet_id=1, payload=b"12345"), Puback(packet_id=1))
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
    first = Dialog(1).say(f"> connect id=a; < connack; > {TWO}").closes(CLIENT)
    second = Dialog(2).say("> connect id=a; < connack; > pubrel i1")
    found = exchanged([*first.events, *second.events])
    assert [(each.outcome, each.resumed) for each in found] == [("unfinished", False), ("orphan", False)]


def test_aliases_are_resolved() -> None:
    names = [each.topic.text for each in exchanged(aliased().events) if each.topic]
    assert names[2:4] == ["client/topic", "server/topic"]
    assert names[-1] == "alias 7 (never set)"


def test_order_is_that_of_arrival() -> None:
    """The PUBACK carries the earlier time."""
    talk = Dialog().say(f"> {ONE}").say("< puback i1", after=-5 * MS)
    (only,) = exchanged(talk.events)
    assert (only.outcome, only.duration_ns) == ("complete", -5 * MS)


def test_there_is_no_duration_without_times() -> None:
    talk = Dialog()
    talk.time = None
    (only,) = exchanged(talk.say(f"> {ONE}; < puback i1").events)
    assert only.duration_ns is None


def test_the_packets_of_an_exchange_are_kept_up_to_a_number() -> None:
    talk = Dialog().say(f"> {TWO}{'; < pubrec i1' * 50}; > pubrel i1")
    (only,) = exchanged(talk.events)
    assert (len(only.packets), only.more) == (module.MOST_PACKETS, 52 - module.MOST_PACKETS)
    assert only.packets[-1].name == "PUBREL"


def test_open_exchanges_are_kept_up_to_a_number() -> None:
    memory_bytes = 10 * (module.ENTRY_BYTES + module.PACKET_BYTES + 4)
    one, two = (
        Dialog(number).say("; ".join(f"> publish q1 i{id} t=t p=12345" for id in range(1, count + 1)))
        for number, count in ((1, 2), (2, 9))
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
    talk = Dialog().say("> publish q1 i1 t=${t}; > publish q1 i2 t=${t}; < puback i2", t="t" * 500)
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
