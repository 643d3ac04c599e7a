"""The fields of a packet as tshark shows them: its names, its order, its notation of values."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from ...codec.tree import Decoded, Node
from ...spec.declare import PACKETS
from ...spec.packets import Publish
from ...spec.properties import PropertyRow
from ...spec.versions import Version
from ...wire.cursor import Span
from ...wire.types import BINARY, PAIR, STRING
from ..packet.masking import hidden, masked_hex

PREFIX = "mqtt."
"""The prefix of all field names."""
LONGEST = 200
"""Characters of a value in `showname`; `show` has all of them."""
PROTOCOL = "MQ Telemetry Transport Protocol"
MOST_KEPT = 4096
"""Fields whose text each document keeps for the next packets."""
LONGEST_KEPT = 128
"""Hexadecimal digits of the longest of these fields."""

# Data types, with the numbers that tshark 4.0 writes for them.
NONE, BOOLEAN, UINT8, UINT16, UINT32, UINT64 = 0, 2, 4, 5, 7, 11
TEXT, COUNTED_TEXT, BYTES = 26, 28, 30
_BOTH = (TEXT, COUNTED_TEXT)


class Name(NamedTuple):
    """tshark's name and notation of a field."""

    name: str
    """The name after `mqtt.`."""
    label: str
    type: int
    hex: bool = False
    """Whether the number is shown in hexadecimal."""
    whole: bool = False
    """Whether a byte is shown without its bits."""


NAMES: dict[str, Name] = {
    # bytes that hold bits
    "header": Name("hdrflags", "Header Flags", UINT8, hex=True),
    "connect_flags": Name("conflags", "Connect Flags", UINT8, hex=True),
    "connect_acknowledge_flags": Name("conack.flags", "Acknowledge Flags", UINT8, hex=True),
    "subscription_options": Name("subscription_options", "Subscription Options", UINT8, hex=True),
    "older subscription_options": Name("sub.qos", "Requested QoS", UINT8, whole=True),
    # bits
    "type": Name("msgtype", "Message Type", UINT8),
    "flags": Name("hdr_reserved", "Reserved", UINT8),
    "dup": Name("dupflag", "DUP Flag", BOOLEAN),
    "qos": Name("qos", "QoS Level", UINT8),
    "retain": Name("retain_reserved", "Reserved", UINT8),
    "publish.retain": Name("retain", "Retain", BOOLEAN),
    "username_flag": Name("conflag.uname", "User Name Flag", BOOLEAN),
    "password_flag": Name("conflag.passwd", "Password Flag", BOOLEAN),
    "will_retain": Name("conflag.retain", "Will Retain", BOOLEAN),
    "will_qos": Name("conflag.qos", "QoS Level", UINT8),
    "will_flag": Name("conflag.willflag", "Will Flag", BOOLEAN),
    "clean_start": Name("conflag.cleansess", "Clean Session Flag", BOOLEAN),
    "connect.reserved": Name("conflag.reserved", "(Reserved)", BOOLEAN),
    "connack.reserved": Name("conack.flags.reserved", "Reserved", BOOLEAN),
    "connack.unused": Name("conack.flags.reserved", "Reserved", BOOLEAN),
    "session_present": Name("conack.flags.sp", "Session Present", BOOLEAN),
    "subscriptions.reserved": Name("subscription_options_reserved", "Reserved", UINT8, hex=True),
    "retain_handling": Name("subscription_options_retain", "Retain Handling", UINT8),
    "retain_as_published": Name("subscription_options_rap", "Retain As Published", BOOLEAN),
    "no_local": Name("subscription_options_nl", "No Local", BOOLEAN),
    "subscriptions.qos": Name("subscription_options_qos", "QoS", UINT8),
    # numbers
    "remaining_length": Name("len", "Msg Len", UINT64),
    "protocol_level": Name("ver", "Version", UINT8),
    "keep_alive": Name("kalive", "Keep Alive", UINT16),
    "packet_id": Name("msgid", "Message Identifier", UINT16),
    "older connack.reason_code": Name("conack.val", "Return Code", UINT8),
    "older reason_codes": Name("suback.qos", "Granted QoS", UINT8),
    **{
        f"{packet}.reason_code": Name(f"{packet}.reason_code", "Reason Code", UINT8)
        for packet in ("connack", "puback", "pubrec", "pubrel", "pubcomp", "disconnect", "auth")
    },
    "suback.reason_codes": Name("suback.reason_code", "Reason Code", UINT8),
    "unsuback.reason_codes": Name("unsuback.reason_code", "Reason Code", UINT8),
    # text and bytes
    "protocol_name": Name("protoname", "Protocol Name", TEXT),
    "client_id": Name("clientid", "Client ID", TEXT),
    "will.topic": Name("willtopic", "Will Topic", TEXT),
    "will.payload": Name("willmsg", "Will Message", BYTES),
    "username": Name("username", "User Name", TEXT),
    "password": Name("passwd", "Password", TEXT),
    "topic": Name("topic", "Topic", TEXT),
    "filter": Name("topic", "Topic", TEXT),
    "filters": Name("topic", "Topic", TEXT),
    "payload": Name("msg", "Message", BYTES),
    # properties
    "properties": Name("properties", "Properties", NONE),
    "will.properties": Name("will_properties", "Will Properties", NONE),
    "property_length": Name("property_len", "Total Length", UINT64),
    "identifier": Name("property_id", "ID", UINT8, hex=True),
    "property number": Name("prop_number", "Value", UINT32),
    "property text": Name("prop_string", "Value", TEXT),
    "property bytes": Name("prop_string", "Value", BYTES),
    "property name": Name("prop_key", "Key", TEXT),
    "property value": Name("prop_value", "Value", TEXT),
    "property content_type": Name("property.content_type", "Content Type", COUNTED_TEXT),
    "property topic_alias": Name("property.topic_alias", "Topic Alias", UINT16),
    "property maximum_qos": Name("property.max_qos", "QoS", UINT8),
    "property unknown": Name("prop_unknown", "Unknown Property", BYTES),
    # lengths whose names are not that of the value and `_len`
    "length protoname": Name("proto_len", "Protocol Name Length", UINT16),
    "length prop_string": Name("prop_string_len", "Length", UINT32),
    "length prop_key": Name("prop_key_len", "Key Length", UINT32),
    "length prop_value": Name("prop_value_len", "Value Length", UINT32),
}
"""tshark's names of our fields.

A key names the field in any packet, unless there is a key with its packet or group in front; `older` is for versions
before 5.0, `property` for the value of a property by its key or by its type, `length` for the length before a value.
"""


class Shown(NamedTuple):
    """A field as tshark shows it."""

    name: str
    """With `mqtt.`; empty for bytes that are not a field."""
    label: str
    type: int
    span: Span
    """Counted from the first byte of the packet."""
    mask: int
    show: str
    """The value in tshark's notation, not yet escaped."""
    value: str
    """Its bytes in hex, with two asterisks for each secret byte; for bits, their value in hex."""
    unmasked: str
    """For bits, their byte in hex; otherwise empty."""
    meaning: str
    """The meaning of the value, in the words of the specification."""
    children: tuple["Shown", ...] = ()

    @property
    def words(self) -> str:
        """The label and the value for people."""
        if self.type == NONE:
            return self.label
        named = f"{self.meaning} ({self.show})" if self.meaning else self.show
        if self.type == BOOLEAN:
            named = "Set" if self.show == "1" else "Not set"
        elif len(named) > LONGEST:
            named = f"{named[:LONGEST]}... {len(named) - LONGEST} more characters"
        flags = "".join(f", {each.brief}" for each in self.children if each.brief)
        return f"{self.picture}{self.label}: {named}{flags}"

    @property
    def brief(self) -> str:
        """The summary of a byte of bits: set flags and named numbers."""
        if self.type == BOOLEAN:
            return self.label if self.show == "1" else ""
        return f"{self.label}: {self.meaning}" if self.meaning else ""

    @property
    def picture(self) -> str:
        """The bits at their places in the byte."""
        if not self.mask:
            return ""
        octet = int(self.unmasked, 16)
        marks = "".join(str(octet >> bit & 1) if self.mask >> bit & 1 else "." for bit in range(7, -1, -1))
        return f"{marks[:4]} {marks[4:]} = "


def shown(decoded: Decoded, *, secrets: bool = False) -> tuple[Shown, ...]:
    """Return the fields of a packet as tshark shows them; secrets are asterisks unless `secrets`.

    Where tshark has no field, bytes have a field without a name. Binary properties are bytes here, where tshark shows
    text up to the first zero byte. Topics are those in the packet, even if empty.
    """
    return tuple(_FieldReader(decoded, secrets).fields())


def octets(decoded: Decoded, *, secrets: bool = False) -> str:
    """Return all bytes of a packet in hex, with two asterisks for each secret byte unless `secrets`."""
    return masked_hex(decoded.data, () if secrets else hidden(decoded), 0, len(decoded.data))


class _FieldReader:
    def __init__(self, decoded: Decoded, secrets: bool) -> None:
        self.decoded = decoded
        self.data = decoded.data
        self.hidden = () if secrets else hidden(decoded)
        self.name_before_5 = decoded.version < Version.V5

    def fields(self) -> Iterator[Shown]:
        root = self.decoded.root
        yield from self.inside(root, root.name)
        packet = self.decoded.packet
        if isinstance(packet, Publish) and not packet.payload:
            yield self.whole(NAMES["payload"], Span(len(self.data), len(self.data)), b"")

    def inside(self, node: Node, path: str) -> Iterator[Shown]:
        for child in node.children:
            own = path if child.name.isdecimal() else f"{path}.{child.name}"
            yield from self.shown(child, own)

    def shown(self, node: Node, path: str) -> Iterator[Shown]:
        """Yield the fields of a node; lists, groups and properties are not fields."""
        if node.kind == "gap":
            yield self.gap(node)
        elif node.kind == "octet":
            yield self.octet(node, path)
        elif node.kind == "properties":
            name = self.named(path)
            children = tuple(self.inside(node, path))
            yield Shown(PREFIX + name.name, name.label, NONE, node.span, 0, "", self.hex(node.span), "", "", children)
        elif node.children:
            yield from self.property(node) if node.kind == "property" else self.inside(node, path)
        elif node.kind not in ("group", "list"):
            yield from self.counted(self.named(path), node)

    def named(self, path: str) -> Name:
        """Return tshark's name of a field: that of the longest part of its path that has one."""
        return _named(path, self.name_before_5)

    # bytes with bits

    def octet(self, node: Node, path: str) -> Shown:
        only = node.children[0]
        if only.mask == 0xFF:
            return self.whole(self.named(f"{path.rpartition('.')[0]}.{only.name}"), node.span, only.value)
        name = self.named(path)
        # The byte itself has no value, except where tshark shows it without its bits.
        meaning = self.meaning(node.children[-1]) if name.whole else ""
        holder = path.rpartition(".")[0]
        bits = () if name.whole else tuple(self.bits(child, f"{holder}.{child.name}") for child in node.children)
        made = self.whole(name, node.span, node.value, meaning)
        return made._replace(children=bits)

    def bits(self, node: Node, path: str) -> Shown:
        name = self.named(path)
        value = int(node.value)
        show = _number(name, value)
        octet = f"{self.data[node.span.start]:02x}"
        full = PREFIX + name.name
        return Shown(full, name.label, name.type, node.span, node.mask, show, f"{value:X}", octet, self.meaning(node))

    # properties

    def property(self, node: Node) -> Iterator[Shown]:
        for child in node.children:
            if child.name == "identifier":
                yield self.whole(NAMES["identifier"], child.span, child.value, node.row.label if node.row else "")
            elif child.kind == "gap":
                yield self.gap(child) if node.row else self.whole(NAMES["property unknown"], child.span, child.value)
            elif node.row:
                yield from self.counted(_property_name(node.row, child), child)

    # values

    def counted(self, name: Name, node: Node) -> Iterator[Shown]:
        """Yield the length before a value, if it has one, and the value."""
        start, stop = node.span
        if node.prefix and name.type != COUNTED_TEXT:
            length = NAMES.get(f"length {name.name}") or Name(f"{name.name}_len", f"{name.label} Length", UINT16)
            yield self.whole(length, Span(start, start + node.prefix), stop - start - node.prefix)
            start += node.prefix
        yield self.whole(name, Span(start, stop), node.value, self.meaning(node))

    def whole(self, name: Name, span: Span, value: Any, meaning: str = "") -> Shown:
        """Return a field of whole bytes."""
        show = self.text(name, span) if isinstance(value, str | bytes) else _number(name, int(value))
        return Shown(PREFIX + name.name, name.label, name.type, span, 0, show, self.hex(span), "", meaning)

    def gap(self, node: Node) -> Shown:
        return Shown("", node.label, NONE, node.span, 0, node.label, self.hex(node.span), "", "")

    def text(self, name: Name, span: Span) -> str:
        """Return a string unchanged, bytes as hex separated by colons."""
        start = span.start + 2 if name.type == COUNTED_TEXT else span.start
        value = self.hex(Span(start, span.stop))
        if name.type not in _BOTH:
            return ":".join(value[at : at + 2] for at in range(0, len(value), 2))
        if "*" in value:
            return "*" * (span.stop - start)
        return self.data[start : span.stop].decode("utf-8", "surrogateescape")

    def hex(self, span: Span) -> str:
        return masked_hex(self.data, self.hidden, *span)

    def meaning(self, node: Node) -> str:
        """Return the meaning of a number, or nothing."""
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int):
            return ""
        if node.name == "type":
            return PACKETS[value].name if self.decoded.type else "Reserved"
        if node.field:
            return node.field.meaning(value, self.decoded.version)
        return (node.row.names or {}).get(value, "") if node.row else ""


@lru_cache(1024)
def _named(path: str, name_before_5: bool) -> Name:
    parts = path.split(".")
    keys = [".".join(parts[-2:]), parts[-1]]
    if name_before_5:
        keys = [f"older {key}" for key in keys] + keys
    return next(NAMES[key] for key in keys if key in NAMES)


def _property_name(row: PropertyRow, node: Node) -> Name:
    own = NAMES.get(f"property {row.key}")
    if own:
        return own
    kinds = {PAIR: node.name, STRING: "text", BINARY: "bytes"}
    return NAMES[f"property {kinds.get(row.type, 'number')}"]


def _number(name: Name, value: int) -> str:
    if name.type == BOOLEAN:
        return "1" if value else "0"
    return f"0x{value:02x}" if name.hex else str(value)
