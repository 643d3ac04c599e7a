"""Faults that tshark has, a test apiece: ours is right on each, and the tshark that is installed shows it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mqttpub.capture.reading import events
from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.stream import LostSync, Stream
from mqttpub.codec.tree import Decoded
from mqttpub.lint.packet.check import lint
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Connack, Connect, Publish, Unsuback, Unsubscribe
from mqttpub.spec.versions import Direction
from mqttpub.traffic.context import ContextTracker
from mqttpub.traffic.events import Endpoints, Event, PacketSeen, Remark
from mqttpub.view.packet.dump import plain
from mqttpub.view.traffic.summary import SummaryLines
from tests.build.frames import PORT, SentSegment, pcap_of
from tests.lab.peer import V5, props
from tests.scenarios.dissection import Dissected, dissected, ours, tshark, version

pytestmark = [pytest.mark.tshark, pytest.mark.slow]

C, S = Direction.CLIENT, Direction.SERVER
MEASURED = (4, 0, 17)
"""The last version of which all this is known."""
CONNECT = encode(Connect(client_id="c"), V5)
Sent = tuple[Direction, Packet | bytes]


def data_of(packet: Packet | bytes) -> bytes:
    """Return the bytes of a packet of 5.0."""
    return packet if isinstance(packet, bytes) else encode(packet, V5)


def read(packet: Packet | bytes, direction: Direction = C) -> Decoded:
    """Return what we read, and judge, of a packet."""
    decoded = decode(data_of(packet), V5, direction=direction)
    decoded.findings = lint(decoded, direction)
    return decoded


class Wireshark:
    """Gives packets to tshark, and notes whether its faults are still there."""

    def __init__(self, folder: Path, note: Callable[[str, object], None]) -> None:
        self.path = folder / "packets.pcap"
        self._note = note

    def show(self, *sent: Sent, words: tuple[str, ...] = (), connected: bool = True) -> list[Dissected]:
        """Return what it shows of packets, each in a segment of its own, behind a CONNECT."""
        self.capture(sent, connected=connected)
        found = dissected(self.path, (PORT,), *words)
        shown = sorted((each for many in found.values() for each in many), key=lambda each: each.frame)
        return shown[1:] if connected else shown

    def said(self, *sent: Sent, words: tuple[str, ...]) -> str:
        """Return what it prints of packets."""
        self.capture(sent)
        return tshark(self.path, *words, ports=(PORT,)).decode()

    def capture(self, sent: tuple[Sent, ...], *, connected: bool = True) -> None:
        """Write the capture."""
        before: tuple[Sent, ...] = ((C, CONNECT),) * connected
        self.path.write_bytes(pcap_of(SentSegment(0, direction, data_of(each)) for direction, each in (*before, *sent)))

    def our_events(self) -> list[Event]:
        """Return what we read of the same capture."""
        with self.path.open("rb") as file:
            return list(events(file))

    def our_packets(self) -> list[PacketSeen]:
        """Return the packets behind the CONNECT that we read of the same capture."""
        found = [each for each in self.our_events() if isinstance(each, PacketSeen)]
        return found[1:] if found[0].data == CONNECT else found

    def fault(self, shows: bool) -> None:
        """Note whether a fault is there; a version that is known to have it must show it."""
        self._note("fault", f"tshark {'.'.join(map(str, version()))} {'has' if shows else 'does not have'} it")
        assert shows or version() > MEASURED


@pytest.fixture
def wireshark(tmp_path: Path, record_property: Callable[[str, object], None]) -> Wireshark:
    """tshark, for one test."""
    return Wireshark(tmp_path, record_property)


def values(shown: Dissected, name: str) -> list[str]:
    """Return what is shown of all fields with a name."""
    return [field.show for field in shown.fields if field.name == name]


def topics(packets: list[PacketSeen]) -> list[str]:
    """Return the topics that we find in packets."""
    following = ContextTracker()
    known = [following.packet(each, decode(each.data, each.version).packet) for each in packets]
    return [each.topic.text for each in known if each.topic]


def seen(data: bytes, direction: Direction = C) -> PacketSeen:
    """Return a packet as reading a capture gives it."""
    return PacketSeen(Endpoints(1, "10.0.0.1:1", "10.0.0.2:1883"), None, 1, data, 0, direction, V5, False)


def message(topic: str, **more: object) -> Publish:
    """Return a PUBLISH with properties."""
    return Publish(topic=topic, properties=props(**more))


CROSSING: list[Sent] = [
    (C, message("client/topic", topic_alias=1)),
    (S, message("server/topic", topic_alias=1)),
    (C, message("", topic_alias=1)),
    (S, message("", topic_alias=1)),
]


def test_w1_each_direction_has_its_own_aliases(wireshark: Wireshark) -> None:
    shown = wireshark.show(*CROSSING)
    assert topics(wireshark.our_packets()) == ["client/topic", "server/topic", "client/topic", "server/topic"]
    wireshark.fault(values(shown[2], "topic") == ["server/topic"])


def test_w2_a_topic_stays_when_its_alias_gets_another(wireshark: Wireshark) -> None:
    sent: list[Sent] = [(C, message(topic, topic_alias=1)) for topic in ("first", "", "second", "")]
    shown = wireshark.show(*sent, words=("-2",))
    assert topics(wireshark.our_packets()) == ["first", "first", "second", "second"]
    wireshark.fault([values(each, "topic") for each in shown[:2]] != [["first"], ["first"]])


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_w3_a_segment_may_end_within_the_remaining_length(wireshark: Wireshark, cut: int) -> None:
    data = data_of(Publish(topic="t", payload=b"x" * 20_000))
    shown = wireshark.show((C, data[:cut]), (C, data[cut:]), (C, b"\xc0\x00"))
    assert [each.data for each in wireshark.our_packets()] == [data, b"\xc0\x00"]
    lost = [values(each, "msgtype") for each in shown] != [["3"], ["12"]]
    if cut == 1:
        assert not lost
    else:
        wireshark.fault(lost)


def test_w4_a_remaining_length_has_four_bytes_at_most_and_no_more_than_needed(wireshark: Wireshark) -> None:
    body = b"\x00\x01t\x00hello"
    for size in (2, 3, 4):
        longer = b"\x30" + bytes((len(body) | 0x80,)) + b"\x80" * (size - 2) + b"\x00" + body
        (found,) = read(longer).findings
        assert (found.statement, tuple(found.span)) == ("MQTT5-1.5.5-1", (1, 1 + size))
        wireshark.fault(not any(each.notes for each in wireshark.show((C, longer))))
    five = b"\x30" + bytes((len(body) | 0x80,)) + b"\x80" * 3 + b"\x00" + body
    (found,) = read(five).findings
    assert (found.message, tuple(found.span)) == ("Remaining Length does not end at its fourth byte", (1, 5))
    with pytest.raises(LostSync):
        list(Stream(C, V5).feed(five))
    wireshark.fault(not any(each.notes for each in wireshark.show((C, five))))


def test_w5_binary_data_is_not_text(wireshark: Wireshark) -> None:
    packet = message("t", correlation_data=b"\x00\xffabc")
    assert values(ours(read(packet)), "prop_string") == ["00:ff:61:62:63"]
    assert read(packet).findings == []
    (shown,) = wireshark.show((C, packet))
    wireshark.fault(values(shown, "prop_string") == [""] and "Trailing stray characters" in " ".join(shown.notes))


def test_w6_every_reason_code_has_its_name(wireshark: Wireshark) -> None:
    refused = Unsuback(packet_id=1, reason_codes=(0x80,)), Connack(reason_code=0x99)
    names = ["Unspecified error", "Payload format invalid"]
    for packet, name in zip(refused, names, strict=True):
        node = next(node for node in read(packet, S).root.leaves() if node.kind == "reason")
        assert node.field
        assert node.field.meaning(node.value, V5) == name
    said = wireshark.said(*((S, packet) for packet in refused), words=("-V",))
    assert "Reason Code:" in said
    wireshark.fault([name for name in names if name in said] == [])
    wireshark.fault(said.count("Reason Code: Unknown") == len(names))


BROKEN = [
    ("QoS 3", "36 07 0001 61 0001 00 78", "3.3.1-4"),
    ("DUP at QoS 0", "38 05 0001 61 00 78", "3.3.1-2"),
    ("Packet Identifier 0", "32 07 0001 61 0000 00 78", "2.2.1-3"),
    ("PUBREL with header bits 0000", "60 02 0001", "3.6.1-1"),
    ("SUBSCRIBE with header bits 0000", "80 07 0001 00 0001 61 00", "3.8.1-1"),
    ("a property twice", "30 08 0001 61 04 0100 0101", "2.2.2.2/repeated"),
    ("a property of CONNACK", "30 07 0001 61 03 210014", "2.2.2.2/not-allowed"),
    ("an unknown property", "30 06 0001 61 02 7e00", "2.2.2.2/unknown"),
    ("a wildcard in a Topic Name", "30 06 0003 612f23 00", "3.3.2-2"),
    ("a Topic Name that is not UTF-8", "30 05 0002 61ff 00", "3.3.2-1"),
    ("a surrogate in a Topic Name", "30 06 0003 eda080 00", "3.3.2-1"),
    ("U+0000 in a Topic Name", "30 04 0001 00 00", "4.7.3-2"),
    ("Topic Alias 0", "30 07 0001 61 03 230000", "3.3.2-8"),
    ("bytes behind a PUBACK", "40 06 0001 00 00 4142", "2.1.4/trailing"),
    ("a Reason Code that PUBACK cannot have", "40 03 0001 01", "3.4.2-1"),
    ("packet type 0", "00 00", "2.1.2/type"),
    ("SUBSCRIBE without a filter", "82 03 0001 00", "3.8.3-2"),
    ("Maximum QoS 3", "82 07 0001 00 0001 61 03", "3.8.3.1/qos"),
    ("Retain Handling 3", "82 07 0001 00 0001 61 30", "3.8.3.1/retain-handling"),
    ("UNSUBSCRIBE without a filter", "a2 03 0001 00", "3.10.3-2"),
    ("Payload Format Indicator 2", "30 06 0001 61 02 0102", "2.2.2.2/range"),
    ("a Property Length behind the packet", "30 04 0001 61 09", "2.2.2.1/short"),
    ("PINGREQ with a byte", "c0 01 00", "2.1.4/trailing"),
    ("Subscription Identifier 0", "82 09 0001 02 0b00 0001 61 00", "2.2.2.2/zero"),
    ("DISCONNECT with header bits", "e1 00", "3.14.1-1"),
]
"""Packets of a client that each break one rule, and its statement in 5.0."""


def test_w7_malformed_packets_are_marked(wireshark: Wireshark) -> None:
    segments = []
    for connection, (name, octets, statement) in enumerate(BROKEN):
        data = bytes.fromhex(octets)
        errors = [found.statement for found in read(data).findings if found.severity == "error"]
        assert errors == [f"MQTT5-{statement}"], name
        segments += [SentSegment(connection, C, CONNECT), SentSegment(connection, C, data)]
    wireshark.path.write_bytes(pcap_of(segments))
    found = dissected(wireshark.path, (PORT,))
    marked = {BROKEN[number][0] for (number, _), shown in found.items() if any(each.notes for each in shown)}
    wireshark.fault(marked <= {"an unknown property", "a Property Length behind the packet", "PINGREQ with a byte"})


def test_w8_without_a_connect_the_version_is_found_all_the_same(wireshark: Wireshark) -> None:
    packet = Publish(topic="t", properties=props(payload_format_indicator=1), payload=b"{}")
    (shown,) = wireshark.show((C, packet), connected=False)
    (seen,) = wireshark.our_packets()
    assert (seen.version, seen.guessed) == (V5, True)
    assert decode(seen.data, seen.version).packet == packet
    assert any(isinstance(each, Remark) and "version 5.0 guessed" in each.message for each in wireshark.our_events())
    wireshark.fault(values(shown, "msg") == ["02:01:01:7b:7d"])


def test_w9_bytes_after_the_properties_of_an_ack_are_not_lost(wireshark: Wireshark) -> None:
    data = bytes.fromhex("40 06 0001 00 00 4142")
    (found,) = read(data).findings
    assert (found.statement, tuple(found.span)) == ("MQTT5-2.1.4/trailing", (6, 8))
    (shown,) = wireshark.show((S, data))
    wireshark.fault(max(field.start + field.size for field in shown.fields) == 6 and not shown.notes)


def test_w10_properties_have_the_names_of_the_specification(wireshark: Wireshark) -> None:
    packet = message("t", message_expiry_interval=60)
    assert [node.label for _, node in read(packet).root.walk() if node.kind == "property"] == [
        "Message Expiry Interval"
    ]
    said = wireshark.said((C, packet), words=("-V",))
    wireshark.fault("Publication Expiry Interval" in said)


NASTY = "a\x1b]0;title\x07\u202eb"


def test_w11_what_a_peer_sends_is_escaped(wireshark: Wireshark) -> None:
    packet = Publish(topic=NASTY)
    known = ContextTracker().packet(seen(data_of(packet)), packet)
    for width in (None, 80):
        line = plain([SummaryLines(width=width).line(known)])
        assert "a\\x1b]0;title\\x07\\u202eb" in line
    said = wireshark.said((C, packet), words=("-T", "fields", "-e", "mqtt.topic"))
    wireshark.fault(NASTY in said)
    wireshark.fault(NASTY in wireshark.said((C, packet), words=()))


def test_w12_the_filters_of_unsubscribe_are_in_the_summary(wireshark: Wireshark) -> None:
    packet = Unsubscribe(packet_id=7, filters=("first/+", "second/#"))
    known = ContextTracker().packet(seen(data_of(packet)), packet)
    line = plain([SummaryLines(width=None).line(known)])
    assert "first/+" in line
    assert "second/#" in line
    said = wireshark.said((C, packet), words=())
    assert "Unsubscribe" in said
    wireshark.fault("first/+" not in said)


# found while real captures were compared


def test_a_property_length_of_two_bytes_is_a_variable_byte_integer(wireshark: Wireshark) -> None:
    packet = message("t", user_property=("k", "v" * 200))
    assert values(ours(read(packet)), "property_len") == ["206"]
    (shown,) = wireshark.show((C, packet))
    assert [field.size for field in shown.fields if field.name == "property_len"] == [2]
    wireshark.fault(values(shown, "property_len") == [str(0xCE01)])


def test_escaped_text_can_be_taken_back(wireshark: Wireshark) -> None:
    one, other = Publish(topic="a\x01b"), Publish(topic="a\x1b")
    mine = [values(ours(read(each)), "topic") for each in (one, other)]
    assert mine == [["a\\x01b"], ["a\\x1b"]]
    wireshark.fault([values(each, "topic") for each in wireshark.show((C, one), (C, other))] == [["a\\x1b"]] * 2)


def test_properties_in_json_are_distinguishable(wireshark: Wireshark) -> None:
    from tests.view.samples import record

    packet = message("t", message_expiry_interval=60, user_property=[("a", "b"), ("c", "d")])
    assert [(each["name"], each["value"]) for each in record(read(packet))["properties"]] == [
        ("message_expiry_interval", 60), ("user_property", ["a", "b"]), ("user_property", ["c", "d"]),
    ]  # fmt: skip
    wireshark.capture(((C, packet),))
    said = json.loads(tshark(wireshark.path, "-T", "json", "--no-duplicate-keys", ports=(PORT,)))
    shown = said[1]["_source"]["layers"]["mqtt"]["mqtt.properties"]
    wireshark.fault(shown["mqtt.property_id"] == ["0x02", "0x26", "0x26"] and shown["mqtt.prop_number"] == "60")
