"""Packets as PDML."""

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from hypothesis import given

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Decoded
from mqttpub.lint.packet.check import lint
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints, PacketSeen
from mqttpub.view.export.pdml import packet, pdml
from mqttpub.view.export.tshark_fields import shown
from tests.view.samples import BROKEN, CONNECT, SUBSCRIBE, laws, of, wires

ENDS = Endpoints(3, "10.0.0.1:50000", "10.0.0.2:1883")


def seen(data: bytes, time: int | None = 1_700_000_000_123_456_789, ends: Endpoints = ENDS) -> PacketSeen:
    """Return a packet of a capture, from the server."""
    return PacketSeen(ends, time, 12, data, 0, Direction.SERVER, Version.V5, False)


def parsed(packets: Iterable[tuple[Decoded, PacketSeen | None]], secrets: bool = False) -> ElementTree.Element:
    """Return a document as an XML reader sees it."""
    return ElementTree.fromstring("\n".join(pdml(packets, secrets=secrets)))


def test_the_whole_of_a_small_packet() -> None:
    data = bytes.fromhex("34 08 0001 61 0007 00 78 79")
    assert "\n".join(pdml([(decode(data), seen(data))], source='a"b.pcap')) == EXPECTED


EXPECTED = """\
<?xml version="1.0" encoding="utf-8"?>
<pdml version="0" creator="mqttpub" capture_file="a&quot;b.pcap">
<packet>
  <proto name="geninfo" pos="0" showname="General information" size="10">
    <field name="num" pos="0" show="12" showname="Number" value="c" size="10"/>
    <field name="len" pos="0" show="10" showname="Packet Length" value="a" size="10"/>
    <field name="timestamp" pos="0" show="2023-11-14T22:13:20.123456789Z" showname="Captured Time" \
value="1700000000.123456789" size="10"/>
  </proto>
  <proto name="tcp" showname="Transmission Control Protocol, 10.0.0.2:1883 to 10.0.0.1:50000" size="0" pos="0">
    <field name="tcp.stream" showname="Stream index: 2" size="0" pos="0" show="2"/>
  </proto>
  <proto name="mqtt" showname="MQ Telemetry Transport Protocol, PUBLISH" size="10" pos="0">
    <field name="mqtt.hdrflags" showname="Header Flags: 0x34, Message Type: PUBLISH, QoS Level: exactly once" \
size="1" pos="0" show="0x34" value="34">
      <field name="mqtt.msgtype" showname="0011 .... = Message Type: PUBLISH (3)" size="1" pos="0" show="3" \
value="3" unmaskedvalue="34"/>
      <field name="mqtt.dupflag" showname=".... 0... = DUP Flag: Not set" size="1" pos="0" show="0" value="0" \
unmaskedvalue="34"/>
      <field name="mqtt.qos" showname=".... .10. = QoS Level: exactly once (2)" size="1" pos="0" show="2" \
value="2" unmaskedvalue="34"/>
      <field name="mqtt.retain" showname=".... ...0 = Retain: Not set" size="1" pos="0" show="0" value="0" \
unmaskedvalue="34"/>
    </field>
    <field name="mqtt.len" showname="Msg Len: 8" size="1" pos="1" show="8" value="08"/>
    <field name="mqtt.topic_len" showname="Topic Length: 1" size="2" pos="2" show="1" value="0001"/>
    <field name="mqtt.topic" showname="Topic: a" size="1" pos="4" show="a" value="61"/>
    <field name="mqtt.msgid" showname="Message Identifier: 7" size="2" pos="5" show="7" value="0007"/>
    <field name="mqtt.properties" showname="Properties" size="1" pos="7" show="" value="">
      <field name="mqtt.property_len" showname="Total Length: 0" size="1" pos="7" show="0" value="00"/>
    </field>
    <field name="mqtt.msg" showname="Message: 78:79" size="2" pos="8" show="78:79" value="7879"/>
  </proto>
</packet>
</pdml>"""


@laws
@given(wires())
def test_it_is_xml_and_loses_nothing_for_any_bytes(wire: tuple[bytes, Version]) -> None:
    decoded = decode(*wire)
    decoded.findings = lint(decoded)
    text = "\n".join(packet(decoded, secrets=True))
    assert text.replace("\n", "").isprintable()
    element = ElementTree.fromstring(text)
    fields = [field for field in element.iterfind("proto/field") if field.get("name") != "_ws.expert"]
    assert [field.get("show") for field in fields] == [_escaped(each.show) for each in shown(decoded, secrets=True)]
    assert len(element.findall("proto/field[@name='_ws.expert']")) == len(decoded.findings)


def _escaped(text: str) -> str:
    from mqttpub.common.escape import escape

    return escape(text)


def test_foreign_text_is_escaped_and_quoted() -> None:
    topic = "a<b>&\"'\\\x1b[31m\u202e\x85\ud7ff\ufffe"
    text = "\n".join(packet(of(Publish(topic=topic))))
    shows = [field.get("show", "") for field in ElementTree.fromstring(text).iter("field")]
    assert "a<b>&\"'\\\\\\x1b[31m\\u202e\\u0085\\ud7ff\\ufffe" in shows
    assert "\x1b" not in text


def test_bytes_that_are_not_utf_8_are_escaped_one_by_one() -> None:
    element = parsed([(decode(bytes.fromhex("30 06 0003 61fe62 00")), None)])
    (topic,) = (field for field in element.iter("field") if field.get("name") == "mqtt.topic")
    assert (topic.get("show"), topic.get("value")) == ("a\\xfeb", "61fe62")


def test_a_document_of_many_packets() -> None:
    element = parsed((decoded, None) for decoded in [of(CONNECT), of(SUBSCRIBE), *map(decode, BROKEN)])
    assert len(element) == 2 + len(BROKEN)
    assert {proto.get("name") for proto in element.iter("proto")} == {"mqtt"}


def test_packets_are_read_one_at_a_time() -> None:
    def packets() -> Iterable[tuple[Decoded, None]]:
        for number in range(10):
            taken.append(number)
            yield of(Publish(topic="t")), None

    taken: list[int] = []
    lines = pdml(packets())
    assert next(line for line in lines if line == "</packet>")
    assert taken == [0]


def test_secrets_are_masked_unless_asked_for() -> None:
    decoded = of(CONNECT)
    masked = "\n".join(pdml([(decoded, None)]))
    assert "s3cret" not in masked
    assert b"s3cret".hex() not in masked
    assert re.search(r'"mqtt.passwd" showname="Password: \*{7}" size="7" pos="\d+" show="\*{7}" value="\*{14}"', masked)
    assert 'show="s3cret!"' in "\n".join(pdml([(decoded, None)], secrets=True))


def test_findings_are_expert_fields() -> None:
    decoded = decode(bytes.fromhex("38 05 0001 61 00 78"))
    decoded.findings = lint(decoded, Direction.CLIENT)
    (expert,) = parsed([(decoded, None)]).iterfind("packet/proto/field[@name='_ws.expert']")
    assert [(field.get("name"), field.get("show")) for field in expert] == [
        ("_ws.expert.message", decoded.findings[0].message),
        ("_ws.expert.severity", "Error"),
        ("mqttpub.statement", "MQTT5-3.3.1-2"),
        ("mqttpub.at_fault", "client"),
    ]
    assert (expert.get("pos"), expert.get("size")) == ("0", "1")


def test_unknown_values_are_left_out() -> None:
    data = encode(Connect(client_id="c"), Version.V5)
    lines = list(packet(decode(data), seen(data, time=None, ends=Endpoints(1, "", ""))))
    assert [line for line in lines if "timestamp" in line or '"tcp' in line] == []
