"""Rows of packets of rare types, and of irregular packets: the scalar codec reads them, one by one."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ...codec.connect_version import connect_layout
from ...codec.decode import decode
from ...codec.fast_decode import Irregular, reader
from ...codec.tree import Finding
from ...lint.packet.fast import is_clean
from ...lint.packet.malformed import malformed
from ...spec.declare import Field, Group, Packet, Property
from ...spec.packets import Connack, Connect, Publish
from ...spec.properties import ASSIGNED_CLIENT_IDENTIFIER, PROPERTIES, TOPIC_ALIAS, value_of
from ...spec.versions import Version
from ...wire.types import PAIR, readable
from ..schema import OPTIONS, PACKETS
from .properties import Word, hexadecimal

TAKEN = frozenset(("client_id", "properties"))
"""Fields whose columns depend on more than the packet, or are made elsewhere."""
SECRETS = frozenset(row.id for row in PROPERTIES.values() if row.secret)


class ScalarRow(NamedTuple):
    """One packet, read by the scalar codec."""

    version: Version
    cells: dict[str, Any]
    """Values by column; the other columns are null."""
    properties: list[Word] | None
    alias: int | None
    """The first Topic Alias, or None."""
    client: str | None
    """The Client Identifier in it; empty if there is none, None if it is not UTF-8."""


def read(data: bytes, version: Version, body: int) -> ScalarRow:
    """Return the values of a packet; `body` is where its variable header begins, 0 if its fixed header is irregular."""
    version = connect_layout(data) or version
    packet, finding = _regular(data, version, body) if body else None, None
    if packet is None or not is_clean(packet, version):
        decoded = decode(data, version)
        packet, version, finding = decoded.packet, decoded.version, malformed(decoded)
    return row(packet, version, finding)


def _regular(data: bytes, version: Version, body: int) -> Packet | None:
    try:
        return reader(data[0] >> 4, version)(data, data[0], body, len(data))
    except Irregular:
        return None


def row(packet: Packet | None, version: Version, finding: Finding | None = None) -> ScalarRow:
    """Return the values of a packet by column."""
    cells: dict[str, Any] = dict(_cells(packet, version)) if packet else {}
    if finding:
        cells |= {"error": readable(finding.message), "error_statement": finding.statement}
    found: Iterable[Property] = getattr(packet, "properties", None) or ()
    alias = value_of(found, TOPIC_ALIAS)
    assigned = value_of(found, ASSIGNED_CLIENT_IDENTIFIER, "")
    client = packet.client_id if isinstance(packet, Connect) else assigned if isinstance(packet, Connack) else ""
    alias = alias if isinstance(packet, Publish) else None
    return ScalarRow(version, cells, _words(packet, version), alias, text(client))


def text(value: str) -> str | None:
    """Return a string of a packet as tables hold it: unchanged, or None for one that is not UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


def _cells(group: Group, version: Version, prefix: str = "") -> Iterable[tuple[str, Any]]:
    for field in group.layout:
        name, value = prefix + field.key, getattr(group, field.key)
        if value is None or not field.exists_in(version) or field.kind == "secret":
            continue
        if isinstance(value, Group):
            yield from _cells(value, version, f"{field.key}_")
        elif name == "will_properties":
            yield name, [word._asdict() for word in _words(group, version) or ()]
        elif field.shape == "list":
            yield from _list(field, value, version)
        elif name in PACKETS.names and name not in TAKEN:
            yield name, text(value) if isinstance(value, str) else value


def _list(field: Field, items: tuple[Any, ...], version: Version) -> Iterable[tuple[str, Any]]:
    """Yield the column of a list, or two columns if its items have options."""
    if isinstance(field.item, type):
        yield "filters", [text(item.filter) for item in items]
        yield "subscription_options", [_options(item, version) for item in items]
    else:
        yield field.key, [text(item) if isinstance(item, str) else item for item in items]


def _options(item: Group, version: Version) -> dict[str, Any]:
    return {one.name: getattr(item, one.name) for one in OPTIONS if item.fields[one.name].exists_in(version)}


def _words(group: Group | None, version: Version) -> list[Word] | None:
    """Return the properties of a packet or a will as texts; None if it has none."""
    field = group.fields.get("properties") if group else None
    found = getattr(group, "properties", None)
    if field is None or found is None or not field.exists_in(version):
        return None
    return [_word(each) for each in found]


def _word(property: Property) -> Word:
    id, value = property
    known = PROPERTIES.get(id)
    key = None
    if known is None:
        # An unknown property has no known end, so it holds all properties after it, perhaps secrets.
        return Word(id, f"property_{id}", None, None if SECRETS.intersection(value) else hexadecimal(value))
    if known.type is PAIR:
        key, value = value
    if known.secret:
        return Word(id, known.key, None, None)
    shown = hexadecimal(value) if isinstance(value, bytes) else text(str(value))
    number = value if isinstance(value, int) else None
    return Word(id, known.key, None if key is None else text(key), shown, number)
