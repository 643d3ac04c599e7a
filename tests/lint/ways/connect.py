"""Ways to break a CONNECT: its name, its flags, and the fields that they announce."""

from collections.abc import Iterator

from mqttpub.spec.versions import Version
from tests.lint.breaking import Draft, Fault, Labels, Subject, way
from tests.lint.packet_parts import BODY, Piece
from tests.lint.ways.cuts import OLD_PASSWORD, OLD_USER, PASSWORD, USER_NAME, WILL
from tests.lint.ways.lengths import TRAILING, promised

NAME = Labels("3.1.2-1", "3.1.2.1/name", "2.2/name")
LEVEL = Labels("3.1.2.2/level", "3.1.2.2/level", "2.2/version")
BIT_0 = Labels("3.1.2-3", "3.1.2-3", "2.6/connect-flags")
WILL_QOS_3 = Labels("3.1.2-12", "3.1.2-14", "2.2/will-qos")
WILL_QOS_ALONE = Labels("3.1.2-11", "3.1.2-13 3.1.2-11", "2.2/will-unused")
WILL_RETAIN_ALONE = Labels("3.1.2-13", "3.1.2-15 3.1.2-11", "2.2/will-unused")
STRAY_USER = Labels("3.1.2-16", "3.1.2-18", "2.1/trailing")
STRAY_PASSWORD = Labels("3.1.2-18", "3.1.2-20", "2.1/trailing")
STRAY_BOTH = Labels("3.1.2-16 3.1.2-18", "3.1.2-18 3.1.2-20", "2.1/trailing")
STRAY_WILL = Labels(v311="3.1.2-11 3.1.2-18 3.1.2-20", v31="2.1/trailing")
PASSWORD_ALONE = Labels(v311="3.1.2-22", v31="2.2/password-alone")
NAMELESS = Labels(v311="3.1.3-7")
CLIENT_ID = Labels(v31="3.1/client-id")
TWELVE = Labels(v31="3.1/twelve")
ASCII = Labels(v31="3.1/will-ascii")
FLAGS = "connect_flags"
USER, PASS, RETAIN, QOS, HAS_WILL, CLEAN = 0x80, 0x40, 0x20, 0x18, 0x04, 0x02


def flags(packet: Subject) -> int | None:
    """Return the connect flags of a CONNECT that has all the fields that they announce."""
    octet = packet.at(FLAGS)
    if octet is None or promised(packet):
        return None
    assert isinstance(octet.inside, bytes)
    return octet.inside[0]


@way("another protocol name", NAME)
def name(packet: Subject) -> Iterator[Draft]:
    if piece := packet.at("protocol_name"):
        for other in ("MQTT", "MQIsdp", "mqtt", "MQTTX", "MQT", "MQISDP", "M", "é", "HTTP/1.1"):
            if other != piece.text:
                yield from packet.put(piece, other.encode(), NAME, "inside")
        for data in (b"MQ\xff\xff", b"\0\0\0\0"):
            yield from packet.put(piece, data, NAME, "inside")
        yield from packet.put(piece, b"", NAME)


@way("another protocol level", LEVEL)
def level(packet: Subject) -> Iterator[Draft]:
    """Not one that makes it the CONNECT of another version."""
    levels = {
        Version.V5: [number for number in range(256) if number & 0x7F >= 5 and number != 5],
        Version.V311: [0x84],
        Version.V31: [0, 1, 2, 0x80, 0x81, 0x82, 0x83],
    }
    if piece := packet.at("protocol_level"):
        for number in levels[packet.version]:
            yield from packet.put(piece, bytes((number,)), LEVEL)


@way("bit 0 of the connect flags", BIT_0)
def bit_0(packet: Subject) -> Iterator[Draft]:
    if packet.at(FLAGS):
        yield from packet.set_bits(FLAGS, 1, BIT_0, 1)


@way("a will with QoS 3", WILL_QOS_3)
def will_qos_3(packet: Subject) -> Iterator[Draft]:
    if packet.at("will.topic"):
        yield from packet.set_bits(FLAGS, QOS, WILL_QOS_3, QOS)


@way("Will QoS without a will", WILL_QOS_ALONE)
def will_qos_alone(packet: Subject) -> Iterator[Draft]:
    if packet.at(FLAGS) and not packet.at("will.topic"):
        for qos in (1, 2, 3):
            yield from packet.set_bits(FLAGS, qos << 3, WILL_QOS_ALONE, QOS)


@way("Will Retain without a will", WILL_RETAIN_ALONE)
def will_retain_alone(packet: Subject) -> Iterator[Draft]:
    if packet.at(FLAGS) and not packet.at("will.topic"):
        yield from packet.set_bits(FLAGS, RETAIN, WILL_RETAIN_ALONE, RETAIN)


@way("a flag without its field", USER_NAME, PASSWORD, WILL, OLD_USER, OLD_PASSWORD)
def flag_without_field(packet: Subject) -> Iterator[Draft]:
    octet = flags(packet)
    if octet is None:
        return
    none, user = not octet & (USER | PASS), octet & (USER | PASS) == USER
    if none:
        yield from packet.flagged(FLAGS, 0, USER, _end(packet, USER_NAME))
        yield from packet.flagged(FLAGS, 0, USER, Fault(OLD_USER, FLAGS, mask=USER))
        if not octet & HAS_WILL:
            yield from packet.flagged(FLAGS, 0, HAS_WILL, _end(packet, WILL))
    if none and packet.version == Version.V5:
        yield from packet.flagged(FLAGS, 0, PASS, _end(packet, PASSWORD))
    if user:
        yield from packet.flagged(FLAGS, 0, PASS, _end(packet, PASSWORD))
        yield from packet.flagged(FLAGS, 0, PASS, Fault(OLD_PASSWORD, FLAGS, mask=PASS))


def _end(packet: Subject, labels: Labels) -> Fault:
    return Fault(labels, BODY, "end")


@way("a field without its flag", STRAY_USER, STRAY_PASSWORD, STRAY_BOTH, STRAY_WILL, TRAILING)
def field_without_flag(packet: Subject) -> Iterator[Draft]:
    octet = flags(packet)
    if octet is None:
        return
    both = octet & (USER | PASS)
    if not both:
        yield from packet.append(b"\0\4user", STRAY_USER)
        yield from packet.append(b"\0\0", STRAY_USER)
        yield from packet.append(b"\0\4user\0\4pass", STRAY_BOTH)
        if not octet & HAS_WILL:
            yield from packet.append(b"\0\1t\0\2hi", STRAY_WILL)
    if both == USER:
        yield from packet.append(b"\0\4pass", STRAY_PASSWORD)
        yield from _cleared(packet, USER, "username", STRAY_USER)
    if both == USER | PASS:
        yield from _cleared(packet, PASS, "password", STRAY_PASSWORD)
        unlike_a_will = octet & HAS_WILL or packet.version == Version.V5
        yield from packet.append(b"\0\1t\0\2hi", TRAILING if unlike_a_will else STRAY_WILL)


def _cleared(packet: Subject, flag: int, field: str, labels: Labels) -> Iterator[Draft]:
    return packet.flagged(FLAGS, flag, 0, Fault(labels, field))


@way("a password without a user name before 5.0", PASSWORD_ALONE)
def password_alone(packet: Subject) -> Iterator[Draft]:
    octet = flags(packet)
    if octet is not None and octet & (USER | PASS) == USER | PASS:
        fault = Fault(PASSWORD_ALONE, FLAGS, mask=PASS)
        yield from packet.flagged(FLAGS, USER, 0, fault, more={"username": ()})


@way("an empty client id that asks for its session in 3.1.1", NAMELESS)
def nameless(packet: Subject) -> Iterator[Draft]:
    if packet.at(FLAGS):
        id = packet.pieces["client_id"]._replace(inside=b"")
        yield from packet.flagged(FLAGS, CLEAN, 0, Fault(NAMELESS, "client_id"), more={"client_id": id})


@way("a client id of no or more than 23 characters in 3.1", CLIENT_ID)
def client_id(packet: Subject) -> Iterator[Draft]:
    if piece := packet.at("client_id"):
        yield from packet.put(piece, b"", CLIENT_ID)
        for text in ("x" * 24, "é" * 24, "x" * 300):
            yield from packet.put(piece, text.encode(), CLIENT_ID, "inside")


@way("a user name or password of more than 12 characters in 3.1", TWELVE)
def twelve(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of("username", "password"):
        for size in (13, 40):
            yield from packet.put(piece, b"x" * size, TWELVE, "inside")


@way("a will message that is not ASCII in 3.1", ASCII)
def will_ascii(packet: Subject) -> Iterator[Draft]:
    if piece := packet.at("will.payload"):
        assert isinstance(piece, Piece)
        for bad in (b"\x80", "é".encode(), b"\xff\xff"):
            yield from packet.put(piece, b"a" + bad + b"b", ASCII, (1, 1 + len(bad)))
