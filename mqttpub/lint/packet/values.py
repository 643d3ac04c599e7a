"""Single values and properties against the table.

The bytes of a finding are: in a string, the first characters at fault; if the whole string is at fault, the string
without its length, or the length of an empty one; the whole of a property that is not allowed; for an empty list,
the place where it should begin.
"""

from collections.abc import Iterator
from functools import cache

from ...codec.tree import Finding, Node
from ...spec import constraints
from ...spec.constraints import Constraint, InTable, OneOf
from ...spec.declare import Field
from ...spec.properties import WILL
from ...spec.reason_codes import Codes
from ...spec.versions import Version
from ...wire.cursor import Span
from ...wire.types import PAIR
from ..fault import Fault, Place
from .view import PacketView


def value_findings(packet: PacketView) -> Iterator[Finding]:
    """Yield a finding for each value that violates a constraint of its row."""
    for place in _fields(packet.decoded.root, packet.decoded.root.name):
        field = place.node.field
        assert field
        limits = field.each if field.shape == "list" else field.limits
        yield from _value(packet, place, place.node.label, limits)
    yield from _empty_lists(packet)
    for where, index in packet.lists:
        for places in index.values():
            yield from _property(packet, where, places)


def _fields(node: Node, path: str) -> Iterator[Place]:
    for child in node.children:
        own = path if child.kind == "octet" else f"{path}.{child.name}"
        if child.field and child.kind != "list":
            yield Place(own, child)
        elif child.kind != "properties":
            yield from _fields(child, own)


def _empty_lists(packet: PacketView) -> Iterator[Finding]:
    decoded = packet.decoded
    for field in decoded.packet.layout if decoded.packet else ():
        if field.shape != "list" or getattr(decoded.packet, field.key):
            continue
        for limit in demands(field.limits, packet.version, text=False):
            wanted = field.item.__name__ if isinstance(field.item, type) else field.label
            end = max((node.span.stop for node in decoded.root.children if node.kind != "gap"), default=0)
            place = Place(f"{decoded.root.name}.{field.key}", Node(field.key, Span(end, end)))
            message = f"{decoded.name} has no {wanted}, but must have 1 or more"
            yield packet.finding(Fault(place, message, limit.ref))


def _property(packet: PacketView, where: str, places: list[Place]) -> Iterator[Finding]:
    row = places[0].node.row
    assert row
    if where not in row.packets:
        holder = "the will" if where == WILL else where
        for place in places:
            message = f"{row.label} is in {holder}, where it is not allowed"
            yield packet.finding(Fault(place, message, constraints.PROPERTY_PLACE))
        return
    if len(places) > 1 and where not in row.repeatable:
        message = f"{row.label} occurs {len(places)} times, but may occur only once"
        yield packet.finding(Fault(places[1], message, constraints.PROPERTY_TWICE))
    for path, node in places:
        for part in node.children[1:]:
            own, label = (f"{path}.{part.name}", f"{row.label} {part.name}") if row.type is PAIR else (path, row.label)
            if part.row:
                yield from _value(packet, Place(own, part), label, row.limits)


def _value(packet: PacketView, place: Place, label: str, limits: tuple[Constraint, ...]) -> Iterator[Finding]:
    node = place.node
    for limit in demands(limits, packet.version, text=isinstance(node.value, str)):
        says = _broken(limit, node.value, node.field, packet.version)
        if says:
            yield packet.finding(Fault(place, f"{label} {says}", limit.ref, span=_span(place, limit)))


@cache
def demands(limits: tuple[Constraint, ...], version: Version, *, text: bool) -> tuple[Constraint, ...]:
    """Return the constraints that a version has, with those of all strings for text.

    A text that must be one of a few values needs no others.
    """
    own = tuple(limit for limit in limits if limit.ref.id(version))
    if not text or any(isinstance(limit, OneOf) for limit in own):
        return own
    taken = {type(limit) for limit in own}
    common = (limit for limit in constraints.STRINGS if limit.ref.id(version) and type(limit) not in taken)
    return (*own, *common)


def _broken(limit: Constraint, value: object, field: Field | None, version: Version) -> str:
    if not isinstance(limit, InTable):
        return limit.violation(value)
    assert field
    assert isinstance(field.names, Codes)
    assert isinstance(value, int)
    if field.names.legal(value, version):
        return ""
    return f"is 0x{value:02x}, but {field.names.packet} has no such code"


def _span(place: Place, limit: Constraint) -> Span:
    value = place.node.value
    if not value or not isinstance(value, str | bytes):
        return place.node.span
    within = limit.at(value)
    return place.part(value, within) if within else place.text
