"""Ways to break the first byte and other bytes of bits."""

from collections.abc import Iterator

from mqttpub.spec.versions import Direction, Version
from tests.lint.breaking import Draft, Fault, Labels, Subject, way
from tests.lint.packet_parts import FIRST

TYPE = Labels("2.1.2/type", "2.2.1/type", "2.1/type")
OLD_TYPE = TYPE._replace(v5="")
DIRECTION = Labels("2.1.2/direction", "2.2.1/direction", "2.1/direction")
RESERVED = Labels("2.1.3-1", "2.2.2-1")
RESERVED_OF = {
    "PUBREL": Labels("3.6.1-1", "3.6.1-1"),
    "SUBSCRIBE": Labels("3.8.1-1", "3.8.1-1"),
    "UNSUBSCRIBE": Labels("3.10.1-1", "3.10.1-1"),
    "DISCONNECT": Labels("3.14.1-1", "3.14.1-1"),
    "AUTH": Labels("3.15.1-1"),
}
"""Packets whose reserved bits have a statement of their own."""
RIGHT = {"PUBREL": 2, "SUBSCRIBE": 2, "UNSUBSCRIBE": 2}
OLD_QOS = {
    "PUBREL": Labels(v31="3.6/qos"),
    "SUBSCRIBE": Labels(v31="3.8/qos"),
    "UNSUBSCRIBE": Labels(v31="3.10/qos"),
}
"""Packets that say QoS 1 in 3.1."""
OLD_DUP = Labels(v31="2.1/dup-where")
OLD_BITS = Labels(v31="2.6/header")
OLD_RETAIN = Labels(v31="2.1/retain-where")
QOS_3 = Labels("3.3.1-4", "3.3.1-4", "2.1/qos3")
DUP_0 = Labels("3.3.1-2", "3.3.1-2", "3.3/dup-qos0 2.1/dup-where")
NO_ID = Labels("2.2.1-2")
PROPERTY_SHORT = Labels("2.2.2.1/short")
PROPERTY_UNKNOWN = Labels("2.2.2.2/unknown")


@way("packet type 0", TYPE)
def type_0(packet: Subject) -> Iterator[Draft]:
    yield from packet.raw(bytes((packet.first & 15,)) + packet.data[1:], TYPE, (0, 1), 0xF0)


@way("packet type 15 before 5.0", OLD_TYPE)
def type_15(packet: Subject) -> Iterator[Draft]:
    yield from packet.raw(bytes((packet.first | 0xF0,)) + packet.data[1:], OLD_TYPE, (0, 1), 0xF0)


FROM_CLIENT = ("CONNECT", "SUBSCRIBE", "UNSUBSCRIBE", "PINGREQ")
FROM_SERVER = ("CONNACK", "SUBACK", "UNSUBACK", "PINGRESP")


@way("sent by the wrong end", DIRECTION)
def wrong_end(packet: Subject) -> Iterator[Draft]:
    only = (*FROM_CLIENT, *FROM_SERVER, *(("DISCONNECT",) if packet.version < Version.V5 else ()))
    if packet.name in only:
        other = Direction.SERVER if packet.direction is Direction.CLIENT else Direction.CLIENT
        yield from packet.raw(packet.data, DIRECTION, (0, 1), 0xF0, sender=other)


@way("reserved bits of the first byte", RESERVED, *RESERVED_OF.values(), every=True)
def reserved(packet: Subject) -> Iterator[Draft]:
    if packet.name == "PUBLISH":
        return
    for value in range(16):
        if value != RIGHT.get(packet.name, 0):
            yield from packet.set_bits(FIRST, value, RESERVED_OF.get(packet.name, RESERVED), 0x0F)


@way("a flag of the first byte that has no use in 3.1", OLD_DUP, OLD_BITS, OLD_RETAIN)
def old_flags(packet: Subject) -> Iterator[Draft]:
    if packet.name == "PUBLISH":
        return
    yield from packet.set_bits(FIRST, 0x01, OLD_RETAIN, 0x01)
    if packet.name not in OLD_QOS:
        yield from packet.set_bits(FIRST, 0x08, OLD_DUP, 0x08)
        for qos in (1, 2, 3):
            yield from packet.set_bits(FIRST, qos << 1, OLD_BITS, 0x06)


@way("all flags of the first byte that have no use in 3.1", OLD_DUP, OLD_BITS, OLD_RETAIN)
def all_old_flags(packet: Subject) -> Iterator[Draft]:
    if packet.name != "PUBLISH" and packet.name not in OLD_QOS:
        marks = (Fault(OLD_DUP, FIRST, mask=8), Fault(OLD_BITS, FIRST, mask=6), Fault(OLD_RETAIN, FIRST, mask=1))
        yield from packet.flagged(FIRST, 0, 0x0F, *marks)


@way("another QoS than 1 where 3.1 says 1", *OLD_QOS.values())
def old_qos(packet: Subject) -> Iterator[Draft]:
    if packet.name in OLD_QOS:
        for qos in (0, 2, 3):
            # With QoS 0 a DUP would be a second fault.
            if qos or not packet.first & 8:
                yield from packet.set_bits(FIRST, qos << 1, OLD_QOS[packet.name], 0x06)


@way("PUBLISH with QoS 3", QOS_3)
def qos_3(packet: Subject) -> Iterator[Draft]:
    if packet.name == "PUBLISH" and packet.at("packet_id"):
        yield from packet.set_bits(FIRST, 0x06, QOS_3, 0x06)


@way("DUP with QoS 0", DUP_0)
def dup_qos_0(packet: Subject) -> Iterator[Draft]:
    if packet.name == "PUBLISH" and not packet.at("packet_id"):
        yield from packet.set_bits(FIRST, 0x08, DUP_0, 0x08)


@way("a Packet Identifier with QoS 0", NO_ID, PROPERTY_SHORT, PROPERTY_UNKNOWN)
def stray_id(packet: Subject) -> Iterator[Draft]:
    """The two bytes are read as the Property Length and what follows it, which makes no sense."""
    id = packet.at("packet_id")
    if packet.name != "PUBLISH" or not id or packet.version < Version.V5:
        return
    left = len(packet.data) - packet.places["packet_id"].start - 1
    numbers = [(Fault(PROPERTY_UNKNOWN, "packet_id", (1, 2)), bytes((1, 0x7E)))]
    if left < 0x7F:
        longer = packet.random.randint(left + 1, 0x7F)
        numbers.append((Fault(PROPERTY_SHORT, "packet_id", (0, 1)), bytes((longer, 1))))
    for fault, number in numbers:
        hint = Fault(NO_ID, "packet_id")
        yield from packet.flagged(FIRST, 0x0E, 0, fault, hint, more={"packet_id": id._replace(inside=number)})


CONNACK_BITS = Labels("3.2.2-1", "3.2.2.1/reserved")
OLD_CONNACK = Labels(v31="2.6/connack")
REFUSED = Labels("3.2.2-6", "3.2.2-4")


@way("reserved connect acknowledge flags", CONNACK_BITS, OLD_CONNACK, every=True)
def connack_flags(packet: Subject) -> Iterator[Draft]:
    if packet.name == "CONNACK":
        for value in range(1, 256):
            if not value & 1:
                yield from packet.set_bits("connect_acknowledge_flags", value, CONNACK_BITS, 0xFE)
            if packet.version == Version.V31:
                yield from packet.set_bits("connect_acknowledge_flags", value, OLD_CONNACK, 0xFF)


@way("Session Present beside a refusal", REFUSED)
def refused_session(packet: Subject) -> Iterator[Draft]:
    code = packet.at("reason_code")
    if packet.name == "CONNACK" and code and code.inside != b"\0":
        yield from packet.set_bits("connect_acknowledge_flags", 1, REFUSED, 0x01)


OPTIONS = "subscriptions.subscription_options"
OPTION_BITS = Labels("3.8.3-5")
OLD_OPTION_BITS = Labels(v311="3.8.3/options", v31="2.6/qos-byte")
RETAIN_HANDLING_3 = Labels("3.8.3.1/retain-handling")
OPTION_QOS_3 = Labels("3.8.3.1/qos", "3.8.3/options", "3.8/qos3")
SHARED_NO_LOCAL = Labels("3.8.3-4")


@way("reserved subscription options", OPTION_BITS, OLD_OPTION_BITS, every=True)
def option_bits(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of(OPTIONS):
        for value in (0x40, 0x80, 0xC0):
            yield from packet.set_bits(piece.name, value, OPTION_BITS, 0xC0)
        for value in range(4, 256, 4):
            yield from packet.set_bits(piece.name, value, OLD_OPTION_BITS, 0xFC)


@way("Retain Handling 3", RETAIN_HANDLING_3)
def retain_handling_3(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of(OPTIONS):
        yield from packet.set_bits(piece.name, 0x30, RETAIN_HANDLING_3, 0x30)


@way("a subscription with QoS 3", OPTION_QOS_3)
def option_qos_3(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of(OPTIONS):
        yield from packet.set_bits(piece.name, 0x03, OPTION_QOS_3, 0x03)


@way("No Local on a shared subscription", SHARED_NO_LOCAL)
def shared_no_local(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of(OPTIONS):
        filter = packet.pieces[piece.name.replace("subscription_options", "filter")]
        if filter.text.startswith("$share/"):
            yield from packet.set_bits(piece.name, 0x04, SHARED_NO_LOCAL, 0x04)
