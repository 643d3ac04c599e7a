"""The language of --filter."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.traffic.context import PacketInContext, TrafficItem
from mqttpub.traffic.events import Event, GapSeen
from mqttpub.traffic.query import PacketFilter
from tests.build.events import (
    CLIENT,
    Dialog,
    aliased,
    known,
    linted,
    redelivered,
    subscribed,
    talks,
    walkthrough,
)

WRONG = bytes.fromhex("38050001746869")
"""A PUBLISH with DUP and QoS 0."""


def picked(text: str, events: list[Event]) -> list[str]:
    """Return the types of the packets that a filter picks, and GAP and so on."""
    chosen = PacketFilter.parse(text)
    return [_word(each) for each in linted(events) if _matches(chosen, each)]


def _matches(chosen: PacketFilter, each: TrafficItem) -> bool:
    return chosen.matches(*each) if isinstance(each, PacketInContext) else chosen.matches(each)


def _word(each: TrafficItem) -> str:
    return type(each.packet).__name__ if isinstance(each, PacketInContext) else type(each).__name__


WALK = walkthrough().events
PANEL = subscribed().events[:5] + subscribed().events[404:]
ALIASED = aliased().events


@pytest.mark.parametrize(
    ("text", "events", "expected"),
    [
        ("type=PUBLISH", WALK, ["Publish"] * 3),
        ("type=puback,PUBREC", WALK, ["Puback", "Pubrec"]),
        ("type=PUBLISH qos=2", WALK, ["Publish"]),
        ("type=PUBACK,qos=2", WALK, ["Puback", "Publish"]),
        ("type=CONNECT,dup", redelivered(), ["Connect", "Connect", "Publish"]),
        ("!type=PUBLISH,PUBACK id=25674,4546", WALK, ["Pubrec", "Pubrel", "Pubcomp"]),
        ("id=0x11c2 direction=server", WALK, ["Pubrec", "Pubcomp"]),
        ("reason=0x10", WALK, ["Puback", "Pubrec"]),
        ("reason=135", PANEL, ["Suback", "Pubrec"]),
        ("topic=client/#", ALIASED, ["Publish"] * 4),
        ("topic=+/topic direction=server", ALIASED, ["Publish"] * 2),
        ("alias=7", ALIASED, ["Publish"]),
        ("topic=secret/# type=SUBSCRIBE", PANEL, ["Subscribe"]),
        ("topic=alarms/# retain", PANEL, ["Publish"]),
        ("dup", redelivered(), ["Publish"]),
        ("client=meter-* connection=2 type=CONNECT", redelivered(), ["Connect"]),
        ("client=10.0.0.2:50002 !type=PUBLISH,PUBACK,CONNECT,CONNACK", redelivered(), ["Pubrel", "Pubcomp", "Closed"]),
        ("client=nobody", redelivered(), []),
        ("version=3.1.1", WALK, []),
        ("version=5 type=DISCONNECT", WALK, ["Disconnect"]),
        ("finding", [*Dialog().client(WRONG).events, *WALK], ["NoneType"]),
        ("finding=MQTT5-3.3.1-2", Dialog().client(WRONG).events, ["NoneType"]),
        ("finding=mqtt5-3.3.1-*", Dialog().client(WRONG).events, ["NoneType"]),
        ("finding=MQTT5-3.3.1", Dialog().client(WRONG).events, ["NoneType"]),
        ("finding=3.3.1-2", Dialog().client(WRONG).events, ["NoneType"]),
        ("finding=[MQTT-3.3.1-2]", Dialog().client(WRONG).events, ["NoneType"]),
        ("finding=3.3.1-3", Dialog().client(WRONG).events, []),
        ("severity=error", Dialog().client(WRONG).events, ["NoneType"]),
        ("severity=note", Dialog().client(WRONG).events, []),
        ("!finding", [*Dialog().client(WRONG).events, *WALK[:1]], ["Connect"]),
        ("!!finding", Dialog().client(WRONG).events, ["NoneType"]),
        ("! type=PUBLISH , !qos=0", WALK[2:4], ["Publish"]),
        ("direction=server", subscribed().events[404:405], ["GapSeen"]),
        ("", WALK[:2], ["Connect", "Connack"]),
        ('client="panel\x1b[2J" type=CONNECT', PANEL, ["Connect"]),
    ],
)
def test_picked_packets(text: str, events: list[Event], expected: list[str]) -> None:
    assert picked(text, events) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("payload=21.5", [0, 4]),
        ("payload=TEMP", []),
        ("payload=hot", []),
        (r'payload="\"temp\": 21"', [0]),
        ("payload=temp*}", [0]),
        ("payload=}*temp", []),
        ("payload=gr\u00fc\u00df", [1]),
        ("payload=hex:00ff", [2]),
        ('payload="hex:00 FF",\u00fc', [1, 2]),
        ("payload=gone", [3]),
        ("payload=*", [0, 1, 2, 3, 4, 5]),
        ("!payload=*", [6]),
    ],
)
def test_payloads_are_searched(text: str, expected: list[int]) -> None:
    from mqttpub.spec.packets import Connect, Pingreq, Publish, Will

    payloads = (b'{"temp": 21.5}', "gr\u00fc\u00dfe".encode(), b"\x01\x00\xff")
    packets = [
        *(Publish(topic="hot", payload=each) for each in payloads),
        Connect(client_id="a", will=Will(topic="hot", payload=b"gone")),
        Publish(topic="", payload=b"\xff21.5"), Publish(topic="hot"), Pingreq(),
    ]  # fmt: skip
    seen = list(linted(Dialog().client(*packets).events))
    assert [index for index, each in enumerate(seen) if _matches(PacketFilter.parse(text), each)] == expected


def test_quotation_marks_keep_a_value_together() -> None:
    from mqttpub.spec.packets import Publish

    events = Dialog().client(Publish(topic='a b,c/"d"'), Publish(topic="a"), Publish(topic="b,c=d")).events
    assert len(picked(r'topic="a b,c/\"d\""', events)) == 1
    assert len(picked('topic="a b,c"/+', events)) == 1
    assert len(picked('topic=a,"b,c=d"', events)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type=PUBLSH", "character 6: 'PUBLSH' is not a packet type (CONNECT, "),
        ("qos=1 typ=PUBLISH", "character 7: 'typ=' is not a term (type=, topic=, "),
        ("typ=PUBLISH", "severity=, record=, dup, retain, finding)"),
        ("qos=1 dupe", "character 7: 'dupe' is not a term (type=, "),
        ("payload=", "character 9: '' is not a payload (text, or hex: and two digits for each byte)"),
        ("payload=hex:0f0", "character 9: 'hex:0f0' is not a payload"),
        ("qos=4", "character 5: '4' is not a QoS (0 to 3)"),
        ("id=1,70000", "character 6: '70000' is not a Packet Identifier (0 to 65535)"),
        ("id=0xzz", "character 4: '0xzz' is not a Packet Identifier"),
        ("id=\u0663", "character 4: '\u0663' is not a Packet Identifier"),
        ("topic=a/#/b", "character 7: 'a/#/b' is not a Topic Filter"),
        ("topic=", "character 7: '' is not a Topic Filter"),
        ("version=9", "character 9: '9' is not an MQTT version (3.1, 3.1.1, 5)"),
        ("direction=up", "character 11: 'up' is not a direction (client, server)"),
        ("finding=3.3.1-20", "character 9: no statement is called '3.3.1-20'"),
        ("severity=bad", "character 10: 'bad' is not a severity (error, warning, note)"),
        ("dup,", "character 5: a term is missing"),
        (", dup", "character 1: a term is missing"),
        ("dup !", "character 6: a term is missing"),
        ('  topic="a', "character 9: a quotation mark is not closed"),
    ],
)
def test_an_error_in_a_filter_names_its_character(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        PacketFilter.parse(text)
    assert "\n" not in str(caught.value)


@given(st.text(st.sampled_from('tdq=!, "\\a1topicdup*')))
def test_any_text_is_a_filter_or_a_value_error(text: str) -> None:
    try:
        chosen = PacketFilter.parse(text)
    except ValueError as error:
        place = re.match(r"character (\d+): ", str(error))
        assert place
        assert 1 <= int(place[1]) <= len(text) + 1
    else:
        assert all(isinstance(_matches(chosen, each), bool) for each in known(ALIASED))


@settings(max_examples=15)
@given(talks(), st.sampled_from(("topic=a/#", "id=1", "dup", "reason=0", "client=c*", "finding", "connection=1")))
def test_a_term_and_its_negation_divide_all_packets(events: list[Event], term: str) -> None:
    yes, no = PacketFilter.parse(term), PacketFilter.parse(f"!{term}")
    assert all(_matches(yes, each) != _matches(no, each) for each in linted(events))


def test_a_gap_has_no_topic() -> None:
    (gap,) = Dialog().gap(CLIENT, 5, "gone").events
    assert isinstance(gap, GapSeen)
    for term in ("type=PUBLISH", "topic=#", "id=1", "qos=0", "dup", "reason=0", "version=5", "payload=*", "alias=1"):
        assert not PacketFilter.parse(term).matches(gap)
