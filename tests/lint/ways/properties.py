"""Ways to break properties, in 5.0."""

from collections.abc import Iterator
from typing import Any

from mqttpub.spec.versions import Direction
from tests.lint.breaking import Draft, Fault, Labels, Subject, way
from tests.lint.packet_parts import Piece, property_piece, variable
from tests.lint.richest import sample

NOT_ALLOWED = Labels("2.2.2.2/not-allowed")
REPEATED = Labels("2.2.2.2/repeated")
UNKNOWN = Labels("2.2.2.2/unknown")
RANGE = Labels("2.2.2.2/range")
ZERO = Labels("2.2.2.2/zero")
ALIAS_0 = Labels("3.3.2-8")
OF_CLIENT = Labels("3.3.4-6")
EXPIRY = Labels("3.14.2-2")
REFERENCE = Labels("4.11/server-reference")
NO_METHOD = Labels("3.1.2.11.10/method")
AUTH_METHOD = Labels("3.15.2.2.2/method")
NO_TEXT = Labels("3.3.2.3.2/utf8")

MESSAGE = "PUBLISH WILL"
ACKS = "CONNACK PUBACK PUBREC PUBREL PUBCOMP SUBACK UNSUBACK DISCONNECT AUTH"
ALLOWED = {
    **dict.fromkeys((0x01, 0x02, 0x03, 0x08, 0x09), MESSAGE),
    0x0B: "PUBLISH SUBSCRIBE",
    0x11: "CONNECT CONNACK DISCONNECT",
    **dict.fromkeys((0x12, 0x13, 0x1A, 0x24, 0x25, 0x28, 0x29, 0x2A), "CONNACK"),
    **dict.fromkeys((0x15, 0x16), "CONNECT CONNACK AUTH"),
    **dict.fromkeys((0x17, 0x19), "CONNECT"),
    0x18: "WILL",
    0x1C: "CONNACK DISCONNECT",
    0x1F: ACKS,
    **dict.fromkeys((0x21, 0x22, 0x27), "CONNECT CONNACK"),
    0x23: "PUBLISH",
    0x26: f"CONNECT SUBSCRIBE UNSUBSCRIBE {MESSAGE} {ACKS}",
}
"""Where each property may stand: Table 2-4 of 5.0."""
FLAGS = (0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A)
"""Properties that are 0 or 1."""
NOT_0 = {0x0B: ZERO, 0x21: ZERO, 0x23: ALIAS_0, 0x27: ZERO}
MORE = "more"


def lists(packet: Subject) -> Iterator[tuple[str, Piece]]:
    """Yield the properties of a packet and of its will, with the name by which the table knows the place."""
    for piece in packet.of("properties"):
        yield ("WILL" if piece.name.startswith("will.") else packet.name), piece


def added(packet: Subject, piece: Piece, new: Piece, *faults: Fault, at: int | None = None) -> Iterator[Draft]:
    """Yield the draft with one more property, somewhere or at a place."""
    index = packet.random.randint(0, len(piece.pieces)) if at is None else at
    inside = (*piece.pieces[:index], new, *piece.pieces[index:])
    return packet.change({piece.name: piece._replace(inside=inside)}, *faults)


def _added_everywhere(packet: Subject, id: int, labels: Labels) -> Iterator[Draft]:
    """Yield the drafts with one more property, in each list."""
    for _, piece in lists(packet):
        yield from added(packet, piece, property_piece(MORE, *sample(id)), Fault(labels, MORE))


def ids(piece: Piece) -> list[int]:
    """Return the identifiers of some properties."""
    return [_id(each) for each in piece.pieces]


def _id(property: Piece) -> int:
    identifier = property.pieces[0].inside
    assert isinstance(identifier, bytes)
    return identifier[0]


@way("a property that the packet may not have", NOT_ALLOWED, every=True)
def not_allowed(packet: Subject) -> Iterator[Draft]:
    for place, piece in lists(packet):
        for id, packets in ALLOWED.items():
            if place not in packets.split():
                yield from added(packet, piece, property_piece(MORE, *sample(id)), Fault(NOT_ALLOWED, MORE))


@way("a property twice", REPEATED)
def twice(packet: Subject) -> Iterator[Draft]:
    for place, piece in lists(packet):
        for index, each in enumerate(piece.pieces):
            if _id(each) == 0x26 or (place, _id(each)) == ("PUBLISH", 0x0B):
                continue
            later = packet.random.randint(index + 1, len(piece.pieces))
            again = each._replace(name=MORE)
            yield from added(packet, piece, again, Fault(REPEATED, MORE), at=later)
            yield from added(packet, piece, again, Fault(REPEATED, each.name), at=index)


@way("a property that does not exist", UNKNOWN)
def unknown(packet: Subject) -> Iterator[Draft]:
    """What follows it cannot be read, up to the end of the properties."""
    numbers = [id for id in range(0x80) if id not in ALLOWED]
    for _, piece in lists(packet):
        for id in (*packet.random.sample(numbers, 5), 0x80, 0x3FFF, 0x4000, 268_435_455):
            identifier = Piece(MORE, variable(id))
            value = Piece("value", packet.random.randbytes(packet.random.randint(0, 4)))
            new = Piece("property", (identifier, value))
            yield from added(packet, piece, new, Fault(UNKNOWN, MORE))


def _put(packet: Subject, id: int, value: Any, labels: Labels) -> Iterator[Draft]:
    """Yield drafts in which a property has a value: the one that is there, or one that is added."""
    for place, piece in lists(packet):
        not_from_client = packet.direction is Direction.CLIENT and (place, id) == ("PUBLISH", 0x0B)
        if place not in ALLOWED[id].split() or not_from_client:
            continue
        new = property_piece(MORE, id, value)
        fault = Fault(labels, f"{MORE}.value")
        there = next((each for each in piece.pieces if _id(each) == id), None)
        if there:
            yield from packet.change({there.name: new}, fault)
        else:
            yield from added(packet, piece, new, fault)


@way("a yes or no that is neither", RANGE)
def not_a_flag(packet: Subject) -> Iterator[Draft]:
    for id in FLAGS:
        for value in (2, 3, 0x7F, 0x80, 0xFE, 0xFF, packet.random.randint(4, 0xFD)):
            yield from _put(packet, id, value, RANGE)


@way("a property that must not be 0", ZERO, ALIAS_0)
def zero(packet: Subject) -> Iterator[Draft]:
    for id, labels in NOT_0.items():
        yield from _put(packet, id, 0, labels)


@way("a Subscription Identifier from a client", OF_CLIENT)
def subscription_of_client(packet: Subject) -> Iterator[Draft]:
    if packet.name == "PUBLISH" and packet.direction is Direction.CLIENT:
        yield from _added_everywhere(packet, 0x0B, OF_CLIENT)


@way("a Session Expiry Interval in a server's DISCONNECT", EXPIRY)
def expiry_of_server(packet: Subject) -> Iterator[Draft]:
    if packet.name == "DISCONNECT" and packet.direction is Direction.SERVER:
        yield from _added_everywhere(packet, 0x11, EXPIRY)


@way("a Server Reference without a redirection", REFERENCE)
def needless_reference(packet: Subject) -> Iterator[Draft]:
    code = packet.at("reason_code")
    if code and code.inside not in (b"\x9c", b"\x9d") and packet.name in ("CONNACK", "DISCONNECT"):
        yield from _added_everywhere(packet, 0x1C, REFERENCE)


@way("Authentication Data without a method", NO_METHOD)
def data_without_method(packet: Subject) -> Iterator[Draft]:
    if packet.name in ("CONNECT", "CONNACK"):
        for place, piece in lists(packet):
            if place == packet.name and not {0x15, 0x16} & set(ids(piece)):
                yield from added(packet, piece, property_piece(MORE, *sample(0x16)), Fault(NO_METHOD, MORE))


@way("AUTH without a method", AUTH_METHOD)
def no_method(packet: Subject) -> Iterator[Draft]:
    """The properties are at fault, with their length; the Reason Code where the packet has none."""
    if packet.name == "AUTH":
        for _, piece in lists(packet):
            rest = tuple(each for each in piece.pieces if _id(each) != 0x15)
            yield from packet.change({piece.name: piece._replace(inside=rest)}, Fault(AUTH_METHOD, piece.name))
            yield from packet.change({piece.name: ()}, Fault(AUTH_METHOD, "reason_code"))


@way("a payload that says it is text and is none", NO_TEXT)
def no_text(packet: Subject) -> Iterator[Draft]:
    for place, piece in lists(packet):
        payload = packet.at("will.payload" if place == "WILL" else "payload")
        if place in MESSAGE.split() and payload:
            rest = tuple(each for each in piece.pieces if _id(each) != 0x01)
            said = piece._replace(inside=(*rest, property_piece(MORE, *sample(0x01))))
            for bad in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80"):
                new = payload._replace(inside=b"a" + bad + "é".encode())
                fault = Fault(NO_TEXT, payload.name, (1, 1 + len(bad)))
                yield from packet.change({payload.name: new, piece.name: said}, fault)
