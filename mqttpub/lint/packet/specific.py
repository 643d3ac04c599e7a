"""The findings of the decoder, under the most specific statement that applies."""

from collections.abc import Iterator

from ...codec.tree import Finding, finding
from ...spec import constraints
from ...spec.constraints import StatementRef
from ...spec.declare import Packet
from ...spec.packets import Connack, Disconnect, Pingreq, Pingresp, Puback, Pubcomp, Pubrec, Pubrel, Unsuback
from ...wire.cursor import Cursor, Short
from ...wire.types import BINARY
from ..fault import Fault
from ..registry import cite
from .view import PacketView

LENGTHS: dict[type[Packet], tuple[int, StatementRef]] = {
    Connack: (2, cite(v311="3.2.1/length", v31="3.2/length")),
    Puback: (2, cite(v311="3.4.1/length", v31="3.4/length")),
    Pubrec: (2, cite(v311="3.5.1/length", v31="3.5/length")),
    Pubrel: (2, cite(v311="3.6.1/length", v31="3.6/length")),
    Pubcomp: (2, cite(v311="3.7.1/length", v31="3.7/length")),
    Unsuback: (2, cite(v311="3.11.1/length", v31="3.11/length")),
    Pingreq: (0, cite(v311="3.12.1/length", v31="3.12/length")),
    Pingresp: (0, cite(v311="3.13.1/length", v31="3.13/length")),
    Disconnect: (0, cite(v311="3.14.1/length", v31="3.14/length")),
}
"""Remaining Length in bytes of packets that have only one before 5.0, and the statement."""

_WILL = cite("3.1.2-9", "3.1.2-9", "2.2/will-present")
_ID = cite(v311="2.3.1-1", v31="2.4/present")
ABSENT = {
    "connect.client_id": cite("3.1.3-3", "3.1.3-3"),
    "connect.will.properties": _WILL,
    "connect.will.topic": _WILL,
    "connect.will.payload": _WILL,
    "connect.username": cite("3.1.2-17", "3.1.2-19"),
    "connect.password": cite("3.1.2-19", "3.1.2-21"),
    "publish.topic": cite("3.3.2-1", "3.3.2-1", "3.3/topic"),
    "publish.packet_id": _ID,
    "subscribe.packet_id": _ID,
    "unsubscribe.packet_id": _ID,
    "suback.packet_id": cite(v31="2.4/present"),
}
"""Statements that a field must be present; violated when the packet ends before its first byte."""

LEFT_OVER = (
    (1, ("username_flag",), cite("3.1.2-16", "3.1.2-18"), "a User Name"),
    (1, ("password_flag",), cite("3.1.2-18", "3.1.2-20"), "a Password"),
    (2, ("username_flag", "password_flag"), cite("3.1.2-16", "3.1.2-18"), "a User Name and a Password"),
    (2, ("will_flag",), cite(v311="3.1.2-11"), "as many fields as a will has"),
)
"""Fields at the end of CONNECT that no flag announced: how many, flags that are 0, statement, what they are."""


def specific(packet: PacketView) -> Iterator[Finding]:
    """Yield the findings of the decoder, each under the statement that describes it best."""
    found = packet.decoded.findings
    if wrong := _wrong_length(packet):
        yield wrong
        general = {law.id(packet.version) for law in (constraints.SHORT, constraints.TRAILING)}
        found = [each for each in found if each.statement not in general]
    for each in found:
        yield _left_over(packet, each) or _absent(packet, each) or each


def _wrong_length(packet: PacketView) -> Finding | None:
    """Return the finding for a wrong fixed Remaining Length; the faults that follow from it are not reported."""
    place = packet.at("remaining_length")
    given = LENGTHS.get(packet.decoded.type) if packet.decoded.type else None
    if not given or not place:
        return None
    length, law = given
    if place.node.value == length or not law.id(packet.version):
        return None
    message = f"Remaining Length is {place.node.value}, but must be {length}"
    return packet.finding(Fault(place, message, law))


def _absent(packet: PacketView, found: Finding) -> Finding | None:
    law = ABSENT.get(found.path, StatementRef())
    return _cited(law.id(packet.version), found) if not found.span.length else None


def _left_over(packet: PacketView, found: Finding) -> Finding | None:
    length = packet.at("remaining_length")
    if found.path != "connect.trailing" or not length:
        return None
    if found.span.start >= length.node.span.stop + length.node.value:
        return None
    count = _fields_in(packet, found)
    for fields, flags, law, words in LEFT_OVER:
        id = law.id(packet.version)
        if id and fields == count and not any(packet.value(flag) for flag in flags):
            listed = " and ".join(packet.label_at(flag) for flag in flags)
            message = f"{found.span.length} bytes are left over that read as {words}, but {listed} is 0"
            return _cited(id, found, message)
    return None


def _fields_in(packet: PacketView, found: Finding) -> int:
    """Return how many length-prefixed values fill the bytes at fault exactly; 0 if they do not."""
    cursor, count = Cursor(packet.decoded.data, *found.span), 0
    try:
        while cursor.pos < cursor.end:
            BINARY.read(cursor)
            count += 1
    except Short:
        return 0
    return count


def _cited(id: str, found: Finding, message: str = "") -> Finding | None:
    if not id:
        return None
    return finding(id, found.path, found.span, message or found.message, mask=found.mask, reason=found.reason)
