"""Rules across the fields of one packet, each with its statements."""

from collections.abc import Callable, Iterator
from functools import cache

from ...codec.decode import decode
from ...codec.tree import Finding
from ...spec import constraints
from ...spec.constraints import SHARE, StatementRef, WellFormed
from ...spec.declare import PACKETS
from ...spec.packets import Auth, Connack, Connect, Disconnect, Puback, Publish, Pubrec, Pubrel, Subscribe, Unsubscribe
from ...spec.reason_codes import Codes
from ...spec.versions import Direction, Version
from ...wire.cursor import Span
from ..fault import Fault, Place
from ..registry import RULES, Rule, rule
from .fast import (
    clean_connack,
    clean_connect,
    clean_disconnect,
    clean_message_ack,
    clean_publish,
    clean_subscribe,
    is_clean,
)
from .view import PacketView


def rule_findings(packet: PacketView) -> Iterator[tuple[Rule, Finding]]:
    """Yield every rule that a packet violates, with the finding."""
    if packet.decoded.type is None:
        return
    for each in _rules(packet.decoded.code, packet.version):
        if each.sender in (None, packet.direction):
            for fault in each.check(packet):
                found = packet.finding(fault._replace(law=each.cites))
                found.severity = each.severity or found.severity
                yield each, found


@cache
def _rules(code: int, version: Version) -> tuple[Rule, ...]:
    return tuple(each for each in RULES if each.cites and PACKETS[code] in each.packets and each.cites.id(version))


# every packet


@rule(*PACKETS.values(), cites=constraints.DIRECTION, runs=is_clean)
def wrong_sender(packet: PacketView) -> Iterator[Fault]:
    """A packet is from an end that never sends this type."""
    kind, place = packet.decoded.type, packet.at("type")
    assert kind
    ends = kind.senders_in(packet.version)
    if packet.direction and packet.direction not in ends and place:
        yield Fault(place, f"{kind.name} is from the {packet.direction.value}, but only the other end sends it")


PacketCheck = Callable[[PacketView], Iterator[Fault]]

_FLAGGED = (Publish, Pubrel, Subscribe, Unsubscribe)
_FLAGLESS = tuple(kind for kind in PACKETS.values() if kind not in (*_FLAGGED, Auth))
_OLD_FLAGS = (
    (0b1000, StatementRef(v31="2.1/dup-where"), "DUP"),
    (0b0110, StatementRef(v31="2.6/header"), "QoS"),
    (0b0001, StatementRef(v31="2.1/retain-where"), "RETAIN"),
)


def _old_flag(mask: int, word: str) -> PacketCheck:
    def check(packet: PacketView) -> Iterator[Fault]:
        place = packet.at("flags")
        if place and (value := place.node.value & mask):
            bits = value // (mask & -mask)
            yield Fault(place, f"{packet.decoded.name} has {word} {bits}, but must have 0", mask=mask)

    return check


for _mask, _law, _word in _OLD_FLAGS:
    rule(*_FLAGLESS, cites=_law, instead=True, runs=is_clean)(_old_flag(_mask, _word))


# CONNECT


@rule(
    Connect,
    cites=StatementRef(v311="3.1.2.2/level", v31="2.2/version"),
    severity="warning",
    instead=True,
    runs=clean_connect,
)
def bridge_level(packet: PacketView) -> Iterator[Fault]:
    """Bridges of mosquitto set bit 7 of the level, a private mark."""
    level = packet.value("protocol_level")
    if level in (Version.V31 | 0x80, Version.V311 | 0x80):
        yield packet.fault("protocol_level", f"is 0x{level:02x}, the mark of a bridge, but must be {level & 0x7F}")


@rule(Connect, cites=StatementRef("3.1.2.2/level", "3.1.2.2/level", "2.2/version"), instead=True, runs=clean_connect)
def unknown_level(packet: PacketView) -> Iterator[Fault]:
    """No version has this level, so the client does not say which one it wants."""
    place = packet.at("protocol_level")
    if place and Version.of_level(place.node.value) is None:
        yield Fault(place, f"{place.node.label} is {place.node.value}, but must be 3, 4 or 5 (MQTT 3.1, 3.1.1, 5.0)")


@rule(Connect, cites=StatementRef("3.1.2-11", "3.1.2-13", "2.2/will-unused"), instead=True, runs=clean_connect)
def will_qos_alone(packet: PacketView) -> Iterator[Fault]:
    """Will QoS without a will."""
    if packet.value("will_flag") is False and (qos := packet.value("will_qos")):
        yield packet.fault("will_qos", f"is {qos}, but Will Flag is 0")


@rule(Connect, cites=StatementRef("3.1.2-13", "3.1.2-15", "2.2/will-unused"), runs=clean_connect)
def will_retain_alone(packet: PacketView) -> Iterator[Fault]:
    """Will Retain without a will."""
    if packet.value("will_flag") is False and packet.value("will_retain"):
        yield packet.fault("will_retain", "is 1, but Will Flag is 0")


@rule(Connect, cites=StatementRef(v311="3.1.2-22", v31="2.2/password-alone"), runs=clean_connect)
def password_alone(packet: PacketView) -> Iterator[Fault]:
    """A password without a user name, which 5.0 allows."""
    if packet.value("password_flag") and packet.value("username_flag") is False:
        yield packet.fault("password_flag", "is 1, but User Name Flag is 0")


def _missing(flag: str, field: str, label: str) -> PacketCheck:
    def check(packet: PacketView) -> Iterator[Fault]:
        if packet.whole and packet.value(flag) and packet.value(field) is None:
            yield packet.fault(flag, f"is 1, but the packet ends before the {label}")

    return check


rule(Connect, cites=StatementRef(v31="2.2/user-flag"), runs=clean_connect)(
    _missing("username_flag", "username", "User Name")
)
rule(Connect, cites=StatementRef(v31="2.2/password-flag"), runs=clean_connect)(
    _missing("password_flag", "password", "Password")
)


@rule(Connect, cites=StatementRef(v31="3.1/twelve"), runs=clean_connect)
def long_credentials(packet: PacketView) -> Iterator[Fault]:
    """3.1 recommends at most 12 characters for user name and password."""
    for path in ("username", "password"):
        place = packet.at(path)
        if place and len(place.node.value) > 12:
            message = f"{place.node.label} has {len(place.node.value)} characters, but at most 12 are recommended"
            yield Fault(place, message, span=place.text)


@rule(Connect, cites=StatementRef(v311="3.1.3-7"), runs=clean_connect)
def nameless_session(packet: PacketView) -> Iterator[Fault]:
    """A client without an identifier asks for a session that outlives the connection."""
    if packet.value("client_id") == "" and packet.value("clean_start") is False:
        yield packet.fault("client_id", f"is empty, but {packet.label_at('clean_start')} is 0")


@rule(Connect, Connack, cites=StatementRef("3.1.2.11.10/method"), runs=is_clean)
def data_without_method(packet: PacketView) -> Iterator[Fault]:
    """Authentication Data without a method, which alone says what the data mean (3.1.2.11.10, 3.2.2.3.18)."""
    if packet.whole and "authentication_method" not in packet.properties:
        for place in packet.properties.get("authentication_data", [])[:1]:
            yield Fault(place, f"{packet.decoded.name} has Authentication Data, but no Authentication Method")


# CONNACK, DISCONNECT, AUTH


@rule(Connack, cites=StatementRef("3.2.2-6", "3.2.2-4"), runs=clean_connack)
def refused_session(packet: PacketView) -> Iterator[Fault]:
    """Session Present together with a refusal."""
    if packet.value("session_present") and (code := packet.value("reason_code")):
        yield packet.fault("session_present", f"is 1, but {packet.label_at('reason_code')} is 0x{code:02x}")


@rule(Connack, Disconnect, cites=StatementRef("4.11/server-reference"), runs=is_clean)
def needless_reference(packet: PacketView) -> Iterator[Fault]:
    """A Server Reference without a redirection."""
    code, name = packet.value("reason_code"), packet.decoded.name
    if code not in (0x9C, 0x9D):
        for place in packet.properties.get("server_reference", [])[:1]:
            yield Fault(place, f"{name} has a Server Reference, but Reason Code is 0x{code:02x}, not 0x9c or 0x9d")


_CODES = {kind.code: Codes(kind.name) for kind in (Disconnect, Auth)}


@rule(Disconnect, cites=StatementRef("3.14.2-1"), runs=clean_disconnect)
@rule(Auth, cites=StatementRef("3.15.2-1"))
def code_of_other_end(packet: PacketView) -> Iterator[Fault]:
    """A Reason Code that only the other end may send; if it is left out, it is 0x00."""
    place, code = packet.at("reason_code"), packet.value("reason_code")
    implied = place is None and packet.whole
    if implied:
        place, code = packet.at("remaining_length"), 0
    row = _CODES[packet.decoded.code].row(code, packet.version)
    if row and place and packet.direction and packet.direction.value[0] not in row.sender:
        says = f"is 0x{row.code:02x} {row.name}{' when left out' if implied else ''}"
        says = f"{says}, from the {packet.direction.value}, but only the other end sends it"
        yield Fault(place, f"Reason Code {says}")


@rule(Disconnect, cites=StatementRef("3.14.2-2"), sender=Direction.SERVER, runs=clean_disconnect)
def expiry_from_server(packet: PacketView) -> Iterator[Fault]:
    """A server does not change the Session Expiry Interval."""
    for place in packet.properties.get("session_expiry_interval", [])[:1]:
        yield Fault(place, "DISCONNECT has a Session Expiry Interval, but a server must not send one")


@rule(Auth, cites=StatementRef("3.15.2.2.2/method"))
def auth_without_method(packet: PacketView) -> Iterator[Fault]:
    """AUTH must name the method, except in its shortest form, which 3.15.2.1 allows."""
    place = packet.at("properties") or packet.at("reason_code")
    if packet.whole and place and "authentication_method" not in packet.properties:
        yield Fault(place, "AUTH has no Authentication Method, but must have one")


# PUBLISH and its acks


@rule(Publish, cites=StatementRef("3.3.1-2", "3.3.1-2", "3.3/dup-qos0"), runs=clean_publish)
def dup_without_qos(packet: PacketView) -> Iterator[Fault]:
    """DUP with QoS 0, which is never sent again."""
    if packet.value("dup") and packet.value("qos") == 0:
        yield packet.fault("dup", "is 1, but QoS is 0")


@rule(Publish, cites=StatementRef("2.2.1-2"), runs=clean_publish)
def stray_id(packet: PacketView) -> Iterator[Fault]:
    """QoS 0, but the properties can be read only if a Packet Identifier comes before them."""
    topic, data = packet.at("topic"), packet.decoded.data
    odd = [law.id(packet.version) for law in (constraints.PROPERTY_SHORT, constraints.PROPERTY_UNKNOWN)]
    lost = any(each.statement in odd and ".property_" in each.path for each in packet.decoded.findings)
    if not topic or not lost or packet.value("qos") != 0:
        return
    other = decode(bytes((data[0] | 0b0010,)) + data[1:], packet.version)
    if not other.findings and isinstance(other.packet, Publish) and other.packet.packet_id:
        span = Span(topic.node.span.stop, topic.node.span.stop + 2)
        path = topic.path.replace("topic", "packet_id")
        message = f"the packet is valid with Packet Identifier {other.packet.packet_id} here, but QoS is 0"
        yield Fault(Place(path, topic.node), message, span=span)


@rule(Publish, cites=StatementRef("3.3.2.1/empty"), runs=clean_publish)
def nameless_message(packet: PacketView) -> Iterator[Fault]:
    """Neither a Topic Name nor a Topic Alias."""
    if packet.whole and packet.value("topic") == "" and "topic_alias" not in packet.properties:
        yield packet.fault("topic", "is empty, but the packet has no Topic Alias")


@rule(Publish, cites=StatementRef("4.7.2/dollar", "4.7.2/dollar"), sender=Direction.CLIENT, runs=clean_publish)
def server_topic(packet: PacketView) -> Iterator[Fault]:
    """Topics that begin with $ are the server's own."""
    place = packet.at("topic")
    if place and place.node.value.startswith("$"):
        fault = packet.fault("topic", "begins with $, but is from the client")
        yield fault._replace(span=place.part("$", (0, 1)))


@rule(Publish, cites=StatementRef("3.3.4-6"), sender=Direction.CLIENT, runs=clean_publish)
def subscription_from_client(packet: PacketView) -> Iterator[Fault]:
    """A Subscription Identifier from the client; only a server knows which subscriptions a message matched."""
    for place in packet.properties.get("subscription_identifier", []):
        yield Fault(place, "PUBLISH has a Subscription Identifier, but is from the client, and only a server sends one")


_UTF8 = WellFormed(StatementRef("3.3.2.3.2/utf8"))


@rule(Publish, Connect, cites=_UTF8.ref, runs=is_clean)
def payload_no_text(packet: PacketView) -> Iterator[Fault]:
    """The payload is not the text that the Payload Format Indicator says it is."""
    in_will = packet.decoded.type is Connect
    place = packet.at("will.payload" if in_will else "payload")
    format = (packet.will_properties if in_will else packet.properties).get("payload_format_indicator")
    # The end of a payload that is cut off may be half a character.
    if not packet.whole or not place or not format or format[0].node.value != 1:
        return
    text = place.node.value.decode("utf-8", "surrogateescape")
    if within := _UTF8.at(text):
        says = f"{place.node.label} {_UTF8.violation(text)}, but Payload Format Indicator is 1"
        yield Fault(place, says, span=place.part(text, within))


@rule(Puback, cites=StatementRef("3.4.2-1"), sender=Direction.CLIENT, severity="warning", runs=clean_message_ack)
@rule(Pubrec, cites=StatementRef("3.5.2-1"), sender=Direction.CLIENT, severity="warning", runs=clean_message_ack)
def subscribers_unknown(packet: PacketView) -> Iterator[Fault]:
    """No matching subscribers from the client; the text reserves it for servers, the table of codes does not."""
    if packet.value("reason_code") == 0x10:
        yield packet.fault("reason_code", "is 0x10 No matching subscribers from the client, but only a server sends it")


# SUBSCRIBE


@rule(Subscribe, cites=StatementRef("3.8.3-4"), runs=clean_subscribe)
def shared_no_local(packet: PacketView) -> Iterator[Fault]:
    """No Local on a shared subscription."""
    listed = packet.at("subscriptions")
    for node in listed.node.children if listed else ():
        filter, flag = node.child("filter"), node.child("no_local")
        if listed and filter and flag and flag.value and filter.value.startswith(SHARE):
            path = f"{listed.path}.{node.name}.no_local"
            yield Fault(Place(path, flag), f"No Local is 1, but the filter begins with {SHARE}")
