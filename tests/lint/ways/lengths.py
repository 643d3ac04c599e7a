"""Ways to break lengths: Variable Byte Integers, lengths of strings, the Property Length, the Remaining Length."""

from collections.abc import Iterator

from mqttpub.spec.versions import Version
from mqttpub.wire.types import VARIABLE
from tests.lint.breaking import Draft, Fault, Labels, Subject, way
from tests.lint.packet_parts import BODY, Piece, variable

SHORTEST = Labels("1.5.5-1", "2.2.3/shortest", "2.1/shortest")
FIVE = Labels("1.5.5/length", "2.2.3/length", "2.1/length")
SHORT = Labels("2.1.4/short", "2.2.3/short", "2.1/short")
TRAILING = Labels("2.1.4/trailing", "2.2.3/trailing", "2.1/trailing")
PROPERTY_SHORT = Labels("2.2.2.1/short")
FIXED = {
    "CONNACK": (2, Labels(v311="3.2.1/length", v31="3.2/length")),
    "PUBACK": (2, Labels(v311="3.4.1/length", v31="3.4/length")),
    "PUBREC": (2, Labels(v311="3.5.1/length", v31="3.5/length")),
    "PUBREL": (2, Labels(v311="3.6.1/length", v31="3.6/length")),
    "PUBCOMP": (2, Labels(v311="3.7.1/length", v31="3.7/length")),
    "UNSUBACK": (2, Labels(v311="3.11.1/length", v31="3.11/length")),
    "PINGREQ": (0, Labels(v311="3.12.1/length", v31="3.12/length")),
    "PINGRESP": (0, Labels(v311="3.13.1/length", v31="3.13/length")),
    "DISCONNECT": (0, Labels(v311="3.14.1/length", v31="3.14/length")),
}
"""Packets whose Remaining Length is always the same before 5.0."""
FIXED_LENGTHS = tuple(labels for _, labels in FIXED.values())


def fixed(packet: Subject) -> Labels | None:
    """Return the statement about the one Remaining Length that a packet may have, if there is one."""
    return FIXED[packet.name][1] if packet.version < Version.V5 and packet.name in FIXED else None


def lengths(packet: Subject) -> list[Piece]:
    """Return what follows a length that is a Variable Byte Integer."""
    return [each for each in packet.pieces.values() if each.counted is VARIABLE]


def numbers(packet: Subject) -> list[Piece]:
    """Return what is a Variable Byte Integer itself: property identifiers, Subscription Identifiers."""
    return [each for each in packet.pieces.values() if each.type is VARIABLE or each.name.endswith(".id")]


@way("a Variable Byte Integer that is longer than need be", SHORTEST)
def not_shortest(packet: Subject) -> Iterator[Draft]:
    for piece in lengths(packet):
        place = packet.places[piece.name]
        right = packet.data[place.start : place.inside]
        for size in range(len(right) + 1, 5):
            yield from packet.count(piece, _padded(right, size), SHORTEST)
    for piece in numbers(packet):
        assert isinstance(piece.inside, bytes)
        for size in range(len(piece.inside) + 1, 5):
            yield from packet.put(piece, _padded(piece.inside, size), SHORTEST)


def _padded(right: bytes, size: int) -> bytes:
    value = sum((byte & 0x7F) << 7 * index for index, byte in enumerate(right))
    return variable(value, size)


@way("a Variable Byte Integer with a fifth byte", FIVE)
def fifth_byte(packet: Subject) -> Iterator[Draft]:
    four = bytes(packet.random.randint(0x80, 0xFF) for _ in range(4))
    for piece in lengths(packet):
        for data in (four + b"\0", four + b"\x7f", b"\x80\x80\x80\x80\1"):
            changes = {piece.name: piece._replace(length=data)}
            yield from packet.change(changes, Fault(FIVE, piece.name, "first four"))
    for piece in numbers(packet):
        yield from packet.put(piece, four + b"\1", FIVE, (0, 4))


@way("a Remaining Length beyond the end of the packet", SHORT, *FIXED_LENGTHS)
def remaining_beyond(packet: Subject) -> Iterator[Draft]:
    body = packet.pieces[BODY]
    right = len(packet.data) - packet.places[BODY].inside
    for more in (1, packet.random.randint(2, 100), 268_435_455 - right):
        yield from packet.count(body, variable(right + more), fixed(packet) or SHORT)


@way("cut off, with the Remaining Length as it was", SHORT)
def cut_off(packet: Subject) -> Iterator[Draft]:
    place = packet.places[BODY]
    for stop in range(len(packet.data)):
        # What is at fault: the Remaining Length that promises more, or what there is of it.
        span = (min(1, stop), min(stop, place.inside))
        yield from packet.raw(packet.data[:stop], SHORT, span)


@way("bytes behind the end of the packet", TRAILING)
def behind(packet: Subject) -> Iterator[Draft]:
    size = len(packet.data)
    for more in (b"\0", b"\xff", b"\xc0\0", packet.random.randbytes(9)):
        yield from packet.raw(packet.data + more, TRAILING, (size, size + len(more)))


@way("bytes left over in the Remaining Length", TRAILING, *FIXED_LENGTHS)
def left_over(packet: Subject) -> Iterator[Draft]:
    if packet.name in ("PUBLISH", "SUBSCRIBE", "SUBACK", "UNSUBSCRIBE"):
        return
    if packet.name == "UNSUBACK" and packet.version == Version.V5:
        return
    if packet.version == Version.V5 and packet.name in ACKS and not packet.at("properties"):
        return
    if packet.name == "CONNECT" and promised(packet):
        return
    # One byte, or a length that runs out: no field that CONNECT could have here.
    for more in (b"\0", b"\xff", b"\xff\xff\0"):
        if labels := fixed(packet):
            yield from packet.append(more, labels, "length", BODY)
        else:
            yield from packet.append(more, TRAILING)


def promised(packet: Subject) -> bool:
    """Whether flags of a CONNECT announce a user name or a password that is not there, as 3.1 allows."""
    values = vars(packet.packet)
    return any(values[f"{name}_flag"] and values[name] is None for name in ("username", "password"))


ACKS = ("PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "DISCONNECT", "AUTH")


@way("a length of a string or of data beyond the end", SHORT, PROPERTY_SHORT)
def value_beyond(packet: Subject) -> Iterator[Draft]:
    for piece in packet.pieces.values():
        place = packet.places[piece.name]
        if not piece.counted or piece.counted is VARIABLE:
            continue
        inside = next((each for each in lengths(packet)[::-1] if piece.name.startswith(f"{each.name}.")), None)
        end = packet.places[(inside or packet.pieces[BODY]).name].stop
        for length in (end - place.inside + 1, 0xFFFF):
            if length <= 0xFFFF:
                labels = PROPERTY_SHORT if inside else SHORT
                yield from packet.count(piece, length.to_bytes(2, "big"), labels)


@way("a Property Length beyond the end of the packet", PROPERTY_SHORT)
def properties_beyond(packet: Subject) -> Iterator[Draft]:
    for piece in packet.of("properties"):
        left = len(packet.data) - packet.places[piece.name].inside
        for more in (1, packet.random.randint(2, 100), 268_435_455 - left):
            yield from packet.count(piece, variable(left + more), PROPERTY_SHORT)


@way("a Property Length that cuts a property in half", PROPERTY_SHORT)
def property_halved(packet: Subject) -> Iterator[Draft]:
    """The Property Length ends within a value; the bytes at fault are what is left of that value."""
    for piece in packet.of("properties"):
        whole = packet.places[piece.name]
        for each in piece.pieces:
            for value in each.pieces[1:]:
                place = packet.places[value.name]
                for stop in range(place.start, place.stop):
                    labels = PROPERTY_SHORT
                    span = (place.start, place.inside) if stop >= place.inside > place.start else (place.start, stop)
                    count = variable(stop - whole.inside)
                    if len(count) == whole.inside - whole.start:
                        data = packet.data[: whole.start] + count + packet.data[whole.inside :]
                        yield from packet.raw(data, labels, span)
