"""One JSON object for each packet."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from mqttpub.codec.tree import Finding
from mqttpub.common.times import iso
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
    Will,
)
from mqttpub.spec.versions import Version
from mqttpub.traffic.context import PacketInContext
from mqttpub.traffic.events import Event, GapSeen, PacketSeen
from mqttpub.view.traffic.facts import name_of
from mqttpub.view.traffic.summary_json import JsonLines
from mqttpub.wire.cursor import Span
from tests.build.events import CLIENT, SERVER, START, Dialog, aliased, known, linted, talks, walkthrough
from tests.view.drawn import compare

FINDING = Finding("error", "pingreq", Span(0, 1), "is wrong", "A")
COMMON = {
    "connection": 1, "client": None, "address": "10.0.0.1:50001", "server": "10.0.0.99:1883", "direction": "client",
    "version": "5.0",
}  # fmt: skip


def records(events: list[Event], findings: Any = ()) -> list[dict[str, Any]]:
    """Return the objects of a conversation."""
    summary = JsonLines()
    return [json.loads(summary.line(each)) for each in known(events, findings)]


def own(packet: Packet | bytes, version: Version = Version.V5) -> dict[str, Any]:
    """Return what one object says beyond what all say."""
    (found,) = records(Dialog(version=version).client(packet).events, None)
    return {key: value for key, value in found.items() if key not in ("record", "time", *COMMON)}


def test_the_json_lines_are_as_recorded(update: bool) -> None:
    summary = JsonLines()
    talk = walkthrough().client(bytes.fromhex("38050001746869"))
    compare("summary.jsonl", "\n".join(summary.line(each) for each in linted(talk.events)), update)


def test_keys_and_their_order() -> None:
    (found,) = records(Dialog().client(Publish(topic="a", qos=1, packet_id=7, payload=b"hi")).events)
    assert [*found.items()] == [
        ("record", 1), ("time", "2023-09-07T08:12:33.124456Z"), *COMMON.items(), ("type", "PUBLISH"), ("qos", 1),
        ("dup", False), ("retain", False), ("packet_id", 7), ("topic", "a"), ("length", 10), ("payload_length", 2),
        ("verdict", "ok"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("packet", "expected"),
    [
        (Pingreq(), {"type": "PINGREQ", "length": 2}),
        (Puback(packet_id=1), {"type": "PUBACK", "packet_id": 1, "length": 4}),
        (
            Puback(packet_id=1, reason_code=0x10),
            {"type": "PUBACK", "packet_id": 1, "reason_code": 16, "reason": "No matching subscribers", "length": 5},
        ),
        (Disconnect(), {"type": "DISCONNECT", "length": 2}),
        (
            Disconnect(reason_code=0x77),
            {"type": "DISCONNECT", "reason_code": 0x77, "reason": "reason 0x77", "length": 3},
        ),
        (
            Connack(session_present=True),
            {"type": "CONNACK", "reason_code": 0, "reason": "Success", "session_present": True, "length": 5},
        ),
        (
            Connect(client_id="c\n", clean_start=False, password=b"s3cret", will=Will(topic="w")),
            {
                "type": "CONNECT", "client_id": "c\n", "keep_alive": 60, "clean_start": False, "will_topic": "w",
                "length": 31,
            },
        ),
        (
            Subscribe(packet_id=2, subscriptions=(Subscription(filter="a/#"), Subscription(filter='"'))),
            {"type": "SUBSCRIBE", "packet_id": 2, "filters": ["a/#", '"'], "length": 15},
        ),
        (
            Unsubscribe(packet_id=2, filters=("a",)),
            {"type": "UNSUBSCRIBE", "packet_id": 2, "filters": ["a"], "length": 8},
        ),
        (
            Suback(packet_id=2, reason_codes=(1, 0x87)),
            {
                "type": "SUBACK", "packet_id": 2, "reason_codes": [1, 0x87],
                "reasons": ["Granted QoS 1", "Not authorized"], "length": 7,
            },
        ),
        (
            Unsuback(packet_id=2, reason_codes=()),
            {"type": "UNSUBACK", "packet_id": 2, "reason_codes": [], "reasons": [], "length": 5},
        ),
        (b"\x30\x00", {
            "type": "PUBLISH", "qos": 0, "dup": False, "retain": False, "unreadable": True, "length": 2,
        }),
        (b"\x00\x00", {"type": "TYPE 0", "unreadable": True, "length": 2}),
    ],
)  # fmt: skip
def test_the_members_of_each_packet_type(packet: Packet | bytes, expected: dict[str, Any]) -> None:
    assert own(packet) == expected


def test_the_older_words_for_reason_codes() -> None:
    assert own(Connack(reason_code=5), Version.V311)["reason"] == "not authorized"
    assert own(Suback(packet_id=1, reason_codes=(0x80,)), Version.V311)["reasons"] == ["Failure"]


def test_an_alias_stands_beside_the_topic_that_it_means() -> None:
    found = [(each["topic"], each.get("alias")) for each in records(aliased().events) if each["type"] == "PUBLISH"]
    assert found[:4] == [("client/topic", 1), ("server/topic", 1)] * 2
    assert found[-1] == (None, 7)


def test_the_client_is_named_from_its_connect_on() -> None:
    talk = Dialog().client(Pingreq(), Connect(client_id='a"b'), Pingreq()).server(Connack())
    assert [(each["client"], each["direction"]) for each in records(talk.events)] == [
        (None, "client"), ('a"b', "client"), ('a"b', "client"), ('a"b', "server"),
    ]  # fmt: skip


def test_findings_follow_the_verdict() -> None:
    summary = JsonLines()
    (known_packet,) = linted(Dialog().client(bytes.fromhex("38050001746869")).events)
    found = json.loads(summary.line(known_packet))
    assert found["verdict"] == "MQTT5-3.3.1-2"
    assert [each["statement"] for each in found["findings"]] == ["MQTT5-3.3.1-2", "MQTT5-2.2.2.1/short"]
    assert found["findings"][0]["mask"] == 8


def test_many_findings_are_cut_and_counted() -> None:
    (packet,) = known(Dialog().client(Pingreq()).events)
    assert isinstance(packet, PacketInContext)
    found = json.loads(JsonLines().line(packet._replace(findings=[FINDING] * 130)))
    assert (len(found["findings"]), found["findings_left_out"]) == (100, 30)


def test_gaps_remarks_and_ends_have_lines_of_their_own() -> None:
    talk = (
        Dialog().client(Connect(client_id="a")).gap(SERVER, 9, "9 bytes\n").closes(CLIENT, "RST").remark("note\udc80")
    )
    _, gap, closed, remark = records(talk.events)
    assert (gap["event"], gap["client"], gap["length"], gap["message"]) == ("gap", "a", 9, "9 bytes\n")
    assert (closed["event"], closed["how"], closed["direction"]) == ("closed", "RST", "client")
    assert (remark["event"], remark["direction"], remark["message"]) == ("remark", None, {"hex": "6e6f746580"})


def test_a_guessed_version_is_marked() -> None:
    (event,) = Dialog().client(Pingreq()).events
    assert isinstance(event, PacketSeen)
    summary = JsonLines()
    shown = [
        json.loads(summary.packet(event._replace(guessed=guessed), Pingreq())).get("guessed")
        for guessed in (True, False)
    ]
    assert shown == [True, None]


def test_strings_that_are_not_utf8_are_bytes() -> None:
    assert own(b"\x30\x05\x00\x02a\xff\x00")["topic"] == {"hex": "61ff"}


@pytest.mark.parametrize("offset", [0, 1, 999, 1000, 999_999_999, -START - 1])
def test_times_are_those_of_iso(offset: int) -> None:
    talk = Dialog().client(Pingreq())
    summary = JsonLines()
    for at in (START, START + offset, START):
        talk.events = [each._replace(time=at) for each in talk.events]
        (found,) = known(talk.events)
        assert json.loads(summary.line(found))["time"] == iso(at)
    (silent,) = known([talk.events[0]._replace(time=None)])
    assert json.loads(summary.line(silent))["time"] is None


def test_memory_of_texts_is_bounded() -> None:
    summary = JsonLines(most_kept=3)
    for number in range(1, 10):
        talk = Dialog(number).client(Publish(topic=f"t{number}"), Publish(topic="x" * 2000))
        for each in known(talk.events):
            found = json.loads(summary.line(each))
            assert (found["connection"], found["topic"][0]) == (number, found["topic"][0])
    assert len(summary.heads) <= 3
    assert len(summary.topics) <= 3
    assert max(map(len, summary.topics)) < 1000
    for each in known(Dialog().client(Connect(client_id="x" * 2000)).events):
        assert json.loads(summary.line(each))["client"] == "x" * 2000
    assert all(len(head[0]) < 1000 for head in summary.heads.values())


@settings(max_examples=15)
@given(talks())
def test_every_line_is_an_object_with_the_values_of_the_packet(events: list[Event]) -> None:
    summary = JsonLines()
    for each in linted(events):
        line = summary.line(each)
        assert line.isascii()
        assert line.isprintable()
        found = json.loads(line)
        event = each.event if isinstance(each, PacketInContext) else each
        assert (found["record"], found["connection"]) == (event.record, event.ends.number)
        assert found["time"] == (None if event.time is None else iso(event.time))
        if isinstance(each, PacketInContext):
            compare_values(found, each)
        elif isinstance(each, GapSeen):
            assert found["length"] == each.length


def compare_values(found: dict[str, Any], each: PacketInContext) -> None:
    """Check an object against the values of its packet."""
    packet = each.packet
    assert (found["type"], found["length"]) == (name_of(each.event.data), len(each.event.data))
    assert ("unreadable" in found) == (packet is None)
    for key in ("packet_id", "qos", "dup", "retain", "reason_code", "keep_alive", "session_present"):
        if key in found and packet is not None:
            assert found[key] == getattr(packet, key)
    if isinstance(packet, Publish):
        assert found["payload_length"] == len(packet.payload)
        assert found.get("packet_id") == packet.packet_id


def test_a_topic_is_quoted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten million lines have no time for `json.dumps`."""
    calls: list[object] = []

    def dumps(*given: Any, **more: Any) -> str:
        calls.append(given)
        return json.dumps(*given, **more)

    monkeypatch.setattr("mqttpub.view.traffic.summary_json.dumps", dumps)
    summary = JsonLines()
    talk = Dialog(version=Version.V311).client(*(Publish(topic=f"t/{each % 5}") for each in range(100)))
    talk.server(*[Puback(packet_id=1)] * 100)
    for each in known(talk.events):
        summary.line(each)
    addresses = 2
    assert len(calls) == 5 + addresses
