"""An explained term as a JSON record."""

from collections.abc import Callable
from typing import Any

from ...spec.concepts import Concept
from ...spec.declare import Field, Packet
from ...spec.packets import PACKETS
from ...spec.properties import PROPERTIES, PropertyRow
from ...spec.reason_codes import Codes, Reason
from ...spec.versions import Version
from .terms import NamedField, fields_of, senders_of


def _packet_json(cls: type[Packet]) -> dict[str, Any]:
    return {
        "packet": cls.name, "type": cls.code, "section": cls.section, "meaning": cls.__doc__,
        "senders": sorted(end.value for end in cls.senders), "since": cls.since.label,
        "fields": [_field_json(field) for _, field in fields_of(cls)],
        "properties": [row.label for row in PROPERTIES.values() if cls.name in row.packets],
        "reason_codes": sorted(Codes(cls.name).rows[Version.V5]),
    }  # fmt: skip


def _property_json(row: PropertyRow) -> dict[str, Any]:
    return {
        "property": row.label, "id": row.id, "type": row.type.name, "section": row.section, "meaning": row.doc,
        "packets": sorted(row.packets), "repeatable": sorted(row.repeatable), "unit": row.unit,
    }  # fmt: skip


def _reason_json(row: Reason) -> dict[str, Any]:
    senders = {name: [WORDS[end] for end in ends] for name, ends in senders_of(row).items()}
    ends = {end for each in senders_of(row).values() for end in each}
    return {**_row_json(row), "sender": "".join(end for end in "cs" if end in ends), "senders": senders}


WORDS = {end.value[0]: end.value for cls in PACKETS.values() for end in cls.senders}


def _concept_json(concept: Concept) -> dict[str, Any]:
    return {"concept": concept.name, "section": concept.section, "meaning": concept.text, "see": concept.see}


def _named_field_json(named: NamedField) -> dict[str, Any]:
    places = ({"packet": cls.name, "group": group or None, **_field_json(field)} for cls, group, field in named.places)
    return {"field": named.label, "places": list(places)}


def _field_json(field: Field) -> dict[str, Any]:
    return {
        "key": field.key, "label": field.label, "type": field.type.name if field.type else field.shape,
        "mask": field.mask, "doc": field.doc,
    }  # fmt: skip


def _row_json(row: Any) -> dict[str, Any]:
    return {key: sorted(value) if isinstance(value, frozenset) else value for key, value in row._asdict().items()}


RECORDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "packet": _packet_json,
    "property": _property_json,
    "reason": _reason_json,
    "statement": _row_json,
    "concept": _concept_json,
    "field": _named_field_json,
}
