"""Ways to break Packet Identifiers and codes."""

from collections.abc import Iterator

from mqttpub.spec.versions import Direction, Version
from tests.lint.breaking import Draft, Labels, Subject, way

REQUEST_ID = Labels("2.2.1-3", "2.3.1-1", "2.4/zero")
SERVER_ID = Labels("2.2.1-4", "2.3.1-1", "2.4/zero")
ACK_ID = Labels("2.2.1/zero", "2.3.1/zero-ack", "2.4/zero")


@way("Packet Identifier 0", REQUEST_ID, SERVER_ID, ACK_ID)
def id_0(packet: Subject) -> Iterator[Draft]:
    if id := packet.at("packet_id"):
        of_publisher = REQUEST_ID if packet.direction is Direction.CLIENT else SERVER_ID
        labels = {"PUBLISH": of_publisher, "SUBSCRIBE": REQUEST_ID, "UNSUBSCRIBE": REQUEST_ID}
        yield from packet.put(id, b"\0\0", labels.get(packet.name, ACK_ID))


MESSAGE = frozenset((0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99))
RELEASE = frozenset((0x00, 0x92))
CODES = {
    "CONNACK": frozenset((0, *range(0x80, 0x8B), 0x8C, 0x90, 0x95, 0x97, *range(0x99, 0x9E), 0x9F)),
    "PUBACK": MESSAGE,
    "PUBREC": MESSAGE,
    "PUBREL": RELEASE,
    "PUBCOMP": RELEASE,
    "SUBACK": frozenset((0, 1, 2, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2)),
    "UNSUBACK": frozenset((0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91)),
    "DISCONNECT": frozenset(
        (0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8B, 0x8C, 0x8D, 0x8E, 0x8F, 0x90, *range(0x93, 0xA3))
    ),
    "AUTH": frozenset((0x00, 0x18, 0x19)),
}
"""The Reason Codes of each packet in 5.0: the tables of 3.2.2.2, 3.4.2.1, 3.5.2.1 and so on; for 0x8C Table 2-6."""
OLD_CODES = {
    ("CONNACK", Version.V311): frozenset(range(6)),
    ("CONNACK", Version.V31): frozenset(range(6)),
    ("SUBACK", Version.V311): frozenset((0, 1, 2, 0x80)),
    ("SUBACK", Version.V31): frozenset((0, 1, 2)),
}
CODE = {
    "CONNACK": Labels("3.2.2-8", "3.2.2-6", "2.2/return-code"),
    "PUBACK": Labels("3.4.2-1"),
    "PUBREC": Labels("3.5.2-1"),
    "PUBREL": Labels("3.6.2-1"),
    "PUBCOMP": Labels("3.7.2-1"),
    "SUBACK": Labels("3.9.3-2", "3.9.3-2", "3.9/code"),
    "UNSUBACK": Labels("3.11.3-2"),
    "DISCONNECT": Labels("3.14.2-1"),
    "AUTH": Labels("3.15.2-1"),
}


@way("a code that is not in the table of the packet", *CODE.values(), every=True)
def unknown_code(packet: Subject) -> Iterator[Draft]:
    """Not where other fields depend on the code: Session Present, Server Reference."""
    known = CODES.get(packet.name) if packet.version == Version.V5 else OLD_CODES.get((packet.name, packet.version))
    flags = packet.at("connect_acknowledge_flags")
    if known is None or packet.carries("server_reference") or (flags and flags.inside != b"\0"):
        return
    for piece in packet.of("reason_code", "reason_codes"):
        for code in set(range(256)) - known:
            yield from packet.put(piece, bytes((code,)), CODE[packet.name])


FOREIGN = {
    ("DISCONNECT", Direction.CLIENT): (
        0x87, 0x89, 0x8B, 0x8C, 0x8D, 0x8E, 0x8F, 0x9A, 0x9B, 0x9C, 0x9D, 0x9E, 0x9F, 0xA0, 0xA1, 0xA2,
    ),
    ("DISCONNECT", Direction.SERVER): (0x04,),
    ("AUTH", Direction.CLIENT): (0x00,),
    ("AUTH", Direction.SERVER): (0x19,),
    ("PUBACK", Direction.CLIENT): (0x10,),
    ("PUBREC", Direction.CLIENT): (0x10,),
}  # fmt: skip
"""Codes that only the other end sends: the sender columns of 3.14.2.1 and 3.15.2.1, the descriptions of 0x10."""


@way("a code that only the other end sends", *(CODE[name] for name, _ in FOREIGN))
def foreign_code(packet: Subject) -> Iterator[Draft]:
    if packet.version == Version.V5 and not packet.carries("server_reference"):
        for piece in packet.of("reason_code"):
            for code in FOREIGN.get((packet.name, packet.direction), ()):
                yield from packet.put(piece, bytes((code,)), CODE[packet.name])
