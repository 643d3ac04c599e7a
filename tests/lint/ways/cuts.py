"""Ways to end a packet too early, with a Remaining Length that agrees."""

from collections.abc import Iterator

from mqttpub.spec.versions import Version
from tests.lint.breaking import Draft, Fault, Labels, Subject, way
from tests.lint.packet_parts import BODY, Piece, variable
from tests.lint.ways.lengths import FIXED, PROPERTY_SHORT, SHORT, fixed

NO_PROPERTIES = Labels("2.2.2-1")
WILL = Labels("3.1.2-9", "3.1.2-9", "2.2/will-present")
REQUEST_ID = Labels("2.1.4/short", "2.3.1-1", "2.4/present")
USER_NAME = Labels("3.1.2-17", "3.1.2-19")
PASSWORD = Labels("3.1.2-19", "3.1.2-21")
MISSING = {
    ("CONNECT", "client_id"): Labels("3.1.3-3", "3.1.3-3", "2.1/short"),
    ("CONNECT", "will.properties"): WILL,
    ("CONNECT", "will.topic"): WILL,
    ("CONNECT", "will.payload"): WILL,
    ("CONNECT", "username"): USER_NAME,
    ("CONNECT", "password"): PASSWORD,
    ("PUBLISH", "topic"): Labels("3.3.2-1", "3.3.2-1", "3.3/topic"),
    ("PUBLISH", "packet_id"): REQUEST_ID,
    ("SUBSCRIBE", "packet_id"): REQUEST_ID,
    ("UNSUBSCRIBE", "packet_id"): REQUEST_ID,
    ("SUBACK", "packet_id"): Labels("2.1.4/short", "2.2.3/short", "2.4/present"),
}
"""Fields that a statement says must be there; for the others, a field that is cut away is one that is cut short."""
PAIR = Labels("2.1.4/short", "2.2.3/short", "2.1/short 3.8/pairs")
"""A Topic Filter without its options."""
EMPTY = {
    "subscriptions.filter": Labels("3.8.3-2", "3.8.3-3", "3.8/empty"),
    "filters": Labels("3.10.3-2", "3.10.3-2", "3.10/empty"),
    "reason_codes": Labels(v311="3.9.3/empty"),
}
"""Lists that are not empty."""
MAY_END = ("PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "DISCONNECT", "AUTH")
"""Packets that may end before their Reason Code and before their properties in 5.0."""


OF_ID = tuple(FIXED[name][1] for name in ("PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "UNSUBACK"))
OF_CONNACK = FIXED["CONNACK"][1]
"""What says that Remaining Lengths never change, for the packets that have any."""


def leaves(packet: Subject) -> list[Piece]:
    """Return the adjacent pieces after the Remaining Length; the properties count as one."""
    return list(packet.pieces[BODY].pieces)


def ended(packet: Subject, stop: int) -> bytes:
    """Return a packet without its bytes from a place on, with the Remaining Length that fits."""
    body = packet.data[packet.places[BODY].inside : stop]
    return packet.data[:1] + variable(len(body)) + body


def cut(packet: Subject, stop: int, labels: Labels, span: tuple[int, int]) -> Iterator[Draft]:
    """Yield the draft that ends at a place; before 5.0 the Remaining Length itself is at fault, if it is fixed."""
    data = ended(packet, stop)
    by = len(data) - stop
    if law := fixed(packet):
        return packet.raw(data, law, (1, 2))
    return packet.raw(data, labels, (span[0] + by, span[1] + by))


@way("ended before a field", SHORT, *MISSING.values(), PAIR, NO_PROPERTIES, *OF_ID, OF_CONNACK)
def before_field(packet: Subject) -> Iterator[Draft]:
    for piece in leaves(packet):
        start = packet.places[piece.name].start
        if piece.key in (*EMPTY, "payload") or _may_be_absent(packet, piece):
            continue
        labels = NO_PROPERTIES if piece.key == "properties" else SHORT
        if piece.key == "subscriptions.subscription_options":
            labels = PAIR
        labels = MISSING.get((packet.name, piece.name), labels)
        yield from cut(packet, start, labels, (start, start))


def _may_be_absent(packet: Subject, piece: Piece) -> bool:
    if packet.version == Version.V31 and piece.key in ("username", "password"):
        return True
    return packet.version == Version.V5 and packet.name in MAY_END and piece.key in ("reason_code", "properties")


@way("ended before the first item of a list", *EMPTY.values())
def before_list(packet: Subject) -> Iterator[Draft]:
    for piece in leaves(packet):
        if piece.key in EMPTY and piece.name.split(".")[1] == "0" and packet.name != "UNSUBACK":
            start = packet.places[piece.name].start
            yield from cut(packet, start, EMPTY[piece.key], (start, start))


@way("ended within a field", SHORT, PROPERTY_SHORT, *OF_ID)
def within_field(packet: Subject) -> Iterator[Draft]:
    for piece in leaves(packet):
        place = packet.places[piece.name]
        if piece.key == "payload":
            continue
        for stop in range(place.start + 1, place.stop):
            if piece.key == "properties":
                whole = stop >= place.inside
                span = (place.start, place.inside if whole else stop)
                yield from cut(packet, stop, PROPERTY_SHORT if whole else SHORT, span)
            else:
                # Of a string, the length that promises more; of the rest, what there is of it.
                told = piece.counted and stop >= place.inside
                yield from cut(packet, stop, SHORT, (place.start, place.inside if told else stop))


OLD_USER = Labels(v31="2.2/user-flag")
OLD_PASSWORD = Labels(v31="2.2/password-flag")


@way("ended before a user name or password that is announced in 3.1", OLD_USER, OLD_PASSWORD)
def before_credentials(packet: Subject) -> Iterator[Draft]:
    if packet.name != "CONNECT" or packet.version > Version.V31:
        return
    body = packet.pieces[BODY]
    rest = tuple(each for each in body.pieces if each.key not in ("username", "password"))
    marks = Fault(OLD_USER, "connect_flags", mask=0x80), Fault(OLD_PASSWORD, "connect_flags", mask=0x40)
    if packet.at("password"):
        without = tuple(each for each in body.pieces if each.key != "password")
        yield from packet.change({BODY: body._replace(inside=without)}, marks[1])
        yield from packet.change({BODY: body._replace(inside=rest)}, *marks)
    elif packet.at("username"):
        yield from packet.change({BODY: body._replace(inside=rest)}, marks[0])
