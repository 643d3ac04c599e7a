"""The same packets read by tshark: every field that it names has our place, our size and our value."""

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Decoded, Node
from mqttpub.spec.declare import Field, Packet, Property
from mqttpub.spec.packets import PACKETS, Connack, Connect, Publish
from mqttpub.spec.properties import TOPIC_ALIAS
from mqttpub.spec.reason_codes import Codes
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.cursor import Cursor
from mqttpub.wire.types import BINARY, PAIR, STRING, VARIABLE
from tests.build.frames import HEADERS, LARGEST, SentSegment, pcap_of
from tests.strategies import packets as generate
from tests.strategies import senders
from tests.vectors import named, packets

pytestmark = [pytest.mark.tshark, pytest.mark.slow]

EXAMPLES = 12
"""Packets that are generated of each type from each end in each version; some come out the same."""
CONNECTS = {
    Version.V31: named("mqttx pub -V 3.1: CONNECT").data,
    Version.V311: named("mosquitto_pub: CONNECT").data,
    Version.V5: named("mqttx pub -q 1: CONNECT").data,
}


class Shown(NamedTuple):
    """One field: the name that tshark has for it, its place, its value, and its meaning in small letters."""

    name: str
    start: int
    size: int
    value: int | bytes | None
    meaning: str = ""


# ours, by the names of tshark

BITS = {
    "type": "msgtype",
    "publish.dup": "dupflag",
    "publish.qos": "qos",
    "publish.retain": "retain",
    "dup": "dupflag",
    "connect.flags": "hdr_reserved",
    "flags": "hdr_reserved",
    "connect.username_flag": "conflag.uname",
    "connect.password_flag": "conflag.passwd",
    "connect.will_retain": "conflag.retain",
    "connect.will_qos": "conflag.qos",
    "connect.will_flag": "conflag.willflag",
    "connect.clean_start": "conflag.cleansess",
    "connect.reserved": "conflag.reserved",
    "connack.reserved": "conack.flags.reserved",
    "connack.session_present": "conack.flags.sp",
    "connack.unused": "conack.flags.reserved",
    "subscriptions.reserved": "subscription_options_reserved",
    "subscriptions.retain_handling": "subscription_options_retain",
    "subscriptions.retain_as_published": "subscription_options_rap",
    "subscriptions.no_local": "subscription_options_nl",
    "subscriptions.qos": "subscription_options_qos",
    "qos": "qos",
    "retain": "retain_reserved",
}
OCTETS = {
    "header": "hdrflags",
    "connect_flags": "conflags",
    "connect_acknowledge_flags": "conack.flags",
    "subscription_options": "subscription_options",
}
WHOLE = {
    "remaining_length": "len",
    "packet_id": "msgid",
    "property_length": "property_len",
    "identifier": "property_id",
    "protocol_level": "ver",
    "keep_alive": "kalive",
    "payload": "msg",
    "protocol_name": "protoname",
    "client_id": "clientid",
    "will.topic": "willtopic",
    "will.payload": "willmsg",
    "username": "username",
    "password": "passwd",
    "topic": "topic",
    "filter": "topic",
    "filters": "topic",
}
LENGTHS = {"protoname": "proto"}
"""Names of lengths that are not the name of the value and `_len`."""
PROPERTY_NUMBERS = {"topic_alias": "property.topic_alias", "maximum_qos": "property.max_qos"}


def ours(decoded: Decoded) -> Iterator[Shown]:
    """Yield the fields of a tree as tshark would show them."""
    for path, node in decoded.root.walk():
        plain = re.sub(r"\.\d+(?=\.|$)", "", path)
        if node.kind == "octet":
            yield from _octet(node, decoded.version)
        elif node.mask:
            yield from _bits(plain, node, decoded.version)
        elif node.kind == "properties":
            name = "will_properties" if ".will." in path else "properties"
            yield Shown(name, node.span.start, node.span.length, None)
        elif not node.children and node.span.length:
            yield from _property(node) if node.row and node.name != "identifier" else _whole(plain, node, decoded)


def _octet(node: Node, version: Version) -> Iterator[Shown]:
    name = OCTETS[node.name]
    if version < Version.V5 and node.name == "subscription_options":
        name = "sub.qos"
    if version > Version.V31 or node.name != "connect_acknowledge_flags":
        yield Shown(name, node.span.start, 1, node.value)


def _bits(path: str, node: Node, version: Version) -> Iterator[Shown]:
    if version < Version.V5 and ".subscriptions." in path:
        return
    keys = (".".join(path.split(".")[-2:]), node.name)
    yield Shown(next(BITS[key] for key in keys if key in BITS), node.span.start, 1, int(node.value))


def _whole(path: str, node: Node, decoded: Decoded) -> Iterator[Shown]:
    if node.field and node.kind == "reason":
        yield _reason(node, node.field, decoded)
        return
    keys = (".".join(path.split(".")[-2:]), node.name, path.split(".")[-1])
    yield from _split(next(WHOLE[key] for key in keys if key in WHOLE), node)


def _reason(node: Node, field: Field, decoded: Decoded) -> Shown:
    name = f"{decoded.name.lower()}.reason_code"
    if decoded.version < Version.V5:
        name = {"CONNACK": "conack.val", "SUBACK": "suback.qos"}[decoded.name]
    meaning = field.meaning(node.value, decoded.version)
    return Shown(name, node.span.start, 1, node.value, meaning.casefold())


def _split(name: str, node: Node) -> Iterator[Shown]:
    """Yield a value, and its length before it where it has one."""
    start, stop = node.span
    if node.prefix:
        yield Shown(f"{LENGTHS.get(name, name)}_len", start, 2, stop - start - 2)
    value = node.value.encode("utf-8", "surrogateescape") if isinstance(node.value, str) else node.value
    meaning = node.row.label.casefold() if node.row and name == "property_id" else ""
    yield Shown(name, start + node.prefix, stop - start - node.prefix, value, meaning)


def _property(node: Node) -> Iterator[Shown]:
    row = node.row
    assert row is not None
    if row.key == "content_type":
        yield Shown("property.content_type", node.span.start, node.span.length, STRING.write(node.value))
    elif row.type is PAIR:
        yield from _split("prop_key" if node.name == "name" else "prop_value", node)
    elif row.type in (STRING, BINARY):
        yield from _split("prop_string", node)
    else:
        yield from _split(PROPERTY_NUMBERS.get(row.key, "prop_number"), node)


# theirs


@cache
def kinds() -> dict[str, str]:
    """Return the type that tshark gives each of its fields."""
    listed = subprocess.run(["tshark", "-G", "fields"], capture_output=True, check=True, text=True).stdout
    rows = (line.split("\t") for line in listed.splitlines() if "\tmqtt." in line)
    return {row[2]: row[3] for row in rows if row[0] == "F" and row[4] == "mqtt"}


def tshark(capture: Path) -> list[list[Shown]]:
    """Return what tshark shows of each frame, in the order of the wire."""
    command = ["tshark", "-n", "-r", str(capture), "-T", "pdml"]
    ran = subprocess.run(command, capture_output=True, check=True)
    frames = []
    for packet in ElementTree.fromstring(ran.stdout).iter("packet"):
        fields = [field for proto in packet.iterfind("proto") for field in proto.iter("field")]
        malformed = packet.find("proto[@name='_ws.malformed']") is not None
        frames.append([theirs(field) for field in fields if field.get("name", "") in kinds()] + malformed * [MALFORMED])
    return frames


MALFORMED = Shown("malformed", 0, 0, None)
NAMED = ("reason_code", "conack.val", "suback.qos", "property_id")
"""Fields whose values have a name that we have too."""


def theirs(field: ElementTree.Element) -> Shown:
    given = field.attrib
    kind, show = kinds()[given["name"]], given["show"]
    value: int | bytes | None = None
    if kind in ("FT_STRING", "FT_UINT_STRING", "FT_BYTES"):
        value = bytes.fromhex(given.get("value", ""))
    elif kind != "FT_NONE":
        value = int(show, 0)
    meaning = None
    if given["name"].endswith(NAMED):
        meaning = re.search(r": (.*) \((?:0x[0-9a-f]+|\d+)\)$", given["showname"])
    start = int(given["pos"]) - HEADERS
    name, size = given["name"].removeprefix("mqtt."), int(given["size"])
    return Shown(name, start, size, value, meaning[1].casefold() if meaning else "")


# side by side


class Sent(NamedTuple):
    """A packet on its way."""

    connection: int
    direction: Direction
    version: Version
    data: bytes


def examples(version: Version, cls: type[Packet], end: Direction) -> list[Sent]:
    """Return different packets of one type from one end, the same ones every time."""
    made: dict[bytes, Sent] = {}

    @settings(
        derandomize=True, database=None, deadline=None, max_examples=EXAMPLES, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(generate(version, direction=end, code=cls.code))
    def collect(packet: Packet) -> None:
        data = encode(packet, version)
        made[data] = Sent(0, end, version, data)

    collect()
    return list(made.values())


def generated() -> list[Sent]:
    """Return connections of a CONNECT and other packets in any order."""
    sent: list[Sent] = []
    for version in Version:
        kinds = [(cls, end) for cls in PACKETS.values() for end in senders(cls, version)]
        first, *others = (examples(version, cls, end) for cls, end in kinds)
        rest = [one for many in others for one in many]
        Random(version).shuffle(rest)
        for index in range(0, len(rest), len(rest) // len(first) + 1):
            connection = len({one.connection for one in sent})
            chosen = [first[index % len(first)], *rest[index : index + len(rest) // len(first) + 1]]
            sent += [one._replace(connection=connection) for one in chosen]
    return sent


def from_vectors(first: int) -> list[Sent]:
    """Return each vector that is a whole packet, in a connection of its own."""
    sent = []
    asked = [one for one in packets() if one.name not in LEFT_OUT and len(one.data) <= LARGEST]
    whole = [one for one in asked if one.packet and not one.findings]
    for connection, vector in enumerate(whole, first):
        if vector.data[0] >> 4 != Connect.code:
            sent.append(Sent(connection, Direction.CLIENT, vector.version, CONNECTS[vector.version]))
        sent.append(Sent(connection, vector.direction or Direction.CLIENT, vector.version, vector.data))
    return sent


def crossing_aliases(connection: int) -> list[Sent]:
    """Return a connection in which both ends give alias 1 to a topic of their own, and then use it."""
    alias = (Property(TOPIC_ALIAS.id, 1),)
    sent = [Sent(connection, Direction.CLIENT, Version.V5, CONNECTS[Version.V5])]
    for topics in (("client/topic", "server/topic"), ("", "")):
        for end, topic in zip(Direction, topics, strict=True):
            data = encode(Publish(topic=topic, properties=alias), Version.V5)
            sent.append(Sent(connection, end, Version.V5, data))
    return sent


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Sent, list[Shown]]]:
    """Return all packets, each with what tshark shows of it."""
    sent = generated()
    sent += from_vectors(sent[-1].connection + 1)
    sent += crossing_aliases(sent[-1].connection + 1)
    capture = tmp_path_factory.mktemp("tshark") / "packets.pcap"
    capture.write_bytes(pcap_of(SentSegment(one.connection, one.direction, one.data) for one in sent))
    return list(zip(sent, tshark(capture), strict=True))


def test_the_packets_are_of_all_types_and_versions_and_from_both_ends(read: list[tuple[Sent, list[Shown]]]) -> None:
    assert len(read) > 800
    assert {(one.version, one.data[0] >> 4, one.direction) for one, _ in read} >= {
        (version, code, end) for code, cls in PACKETS.items() for version in Version for end in senders(cls, version)
    }


def test_tshark_names_the_same_fields_in_the_same_places(read: list[tuple[Sent, list[Shown]]]) -> None:
    used: Counter[str] = Counter()
    for one, shown in read:
        decoded = decode(one.data, one.version, direction=one.direction)
        mended = [made for field in shown if (made := mend(field, decoded, used)) is not None]
        assert_same(list(ours(decoded)), mended, one)
    assert set(used) == set(DIFFERENCES), "a difference that no packet shows"


def mend(field: Shown, decoded: Decoded, used: Counter[str]) -> Shown | None:
    """Return a field as tshark should show it; None where it should show nothing."""
    made: Shown | None = field
    for reason, change in DIFFERENCES.items():
        if made is not None and (changed := change(made, decoded)) != made:
            used[reason] += 1
            made = changed
    return made


def assert_same(mine: list[Shown], their: list[Shown], one: Sent) -> None:
    missing, more = Counter(mine) - Counter(their), Counter(their) - Counter(mine)
    assert (missing, more) == (Counter(), Counter()), one.data.hex(" ")


# what tshark does otherwise


def _empty_payload(field: Shown, decoded: Decoded) -> Shown | None:
    return None if field.name == "msg" and field.size == 0 else field


def _alias_topic(field: Shown, decoded: Decoded) -> Shown | None:
    if field.name == "topic" and field.size == 0 and decoded.type is Publish:
        topic = next(node for node in decoded.root.leaves() if node.name == "topic")
        return field._replace(start=topic.span.stop)
    return field


def _alias_note(field: Shown, decoded: Decoded) -> Shown | None:
    return None if field.name == "unknown_topic_alias" else field


def _empty_topic(field: Shown, decoded: Decoded) -> Shown | None:
    if field.name != "illegal_topic_length":
        return field
    empty = next(node for node in decoded.root.leaves() if node.name in ("topic", "filter") and node.value == "")
    return Shown("topic", empty.span.stop, 0, b"")


def _big_endian(field: Shown, decoded: Decoded) -> Shown | None:
    if field.name == "property_len" and field.size > 1 and isinstance(field.value, int):
        return field._replace(value=VARIABLE.read(Cursor(field.value.to_bytes(field.size, "big"))))
    return field


def _boolean(field: Shown, decoded: Decoded) -> Shown | None:
    if field.name == "conack.flags.reserved" and field.value and isinstance(decoded.packet, Connack):
        return field._replace(value=decoded.packet.reserved or decoded.packet.unused)
    return field


def _qos_names(field: Shown, decoded: Decoded) -> Shown | None:
    if field.name == "suback.qos" and isinstance(field.value, int):
        return field._replace(meaning=Codes("SUBACK").name(field.value, decoded.version).casefold())
    return field


def _unnamed(field: Shown, decoded: Decoded) -> Shown | None:
    code, name = field.value, decoded.name
    if field.meaning != "unknown" or not isinstance(code, int):
        return field
    missing = (name, code) in (("CONNACK", 0x99), ("UNSUBACK", 0x80))
    return field._replace(meaning=Codes(name).name(code, decoded.version).casefold()) if missing else field


def _foreign(field: Shown, decoded: Decoded) -> Shown | None:
    code, name = field.value, decoded.name
    if field.meaning == "unknown" and isinstance(code, int) and not Codes(name).legal(code, decoded.version):
        return field._replace(meaning=Codes(name).name(code, decoded.version).casefold())
    return field


def _renamed(theirs: str, ours: str) -> Callable[[Shown, Decoded], Shown | None]:
    return lambda field, decoded: field._replace(meaning=field.meaning.replace(theirs, ours))


DIFFERENCES: dict[str, Callable[[Shown, Decoded], Shown | None]] = {
    "an empty payload is shown as a field without bytes": _empty_payload,
    "an empty Topic Name is shown after the properties, as what the alias stands for (W1)": _alias_topic,
    "an alias that was not set is noted in a field without a place": _alias_note,
    "an empty topic without an alias is a note without a place": _empty_topic,
    "a Property Length of more than one byte is shown as a big-endian number": _big_endian,
    "reserved bits of CONNACK are shown as one flag": _boolean,
    "return codes of SUBACK have the names of QoS": _qos_names,
    "return codes of CONNACK say that the connection is refused": _renamed("connection refused: ", ""),
    "CONNACK 0x99 and UNSUBACK 0x80 have no name (W6)": _unnamed,
    "a code that its packet may not carry has no name": _foreign,
    "Message Expiry Interval has the name of a draft (W10)": _renamed("publication expiry", "message expiry"),
    "0x9E and 0xA2 are in the singular": _renamed("subscription not supported", "subscriptions not supported"),
}
"""Each way in which tshark 4.0 differs from us: what it is, and what turns its field into ours."""

LEFT_OUT = {
    "CONNECT of level 6 with properties is read as 5.0": "tshark reads an unknown level without properties",
}
"""Vectors that tshark cannot be asked about, and why."""
