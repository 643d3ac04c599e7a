"""An explained term as lines for the screen."""

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from ...spec.concepts import Concept
from ...spec.constraints import Constraint
from ...spec.declare import Field, Packet
from ...spec.properties import PROPERTIES, PropertyRow
from ...spec.reason_codes import REASONS, Reason
from ...spec.statements import CLASSES, PARTIES, Statement, statement
from ...spec.versions import Version
from ...view.terminal.cells import Line
from .terms import RETURN_CODES, NamedField, fields_of, senders_of


def _packet_text(cls: type[Packet]) -> Iterator[Line]:
    yield [(cls.name, "type"), (f"  packet type {cls.code}  section {cls.section}", "dim")]
    yield [(cls.__doc__ or "", "")]
    since = f", since MQTT {cls.since.label}" if cls.since > Version.V31 else ""
    yield [(f"sent by {_senders(cls)}{since}", "")]
    yield []
    for group, field in fields_of(cls):
        yield from _field_text(group, field)
    names = [row.label for row in PROPERTIES.values() if cls.name in row.packets]
    if names:
        yield [("properties  ", "label"), (", ".join(names), "property")]
    codes = [row for row in REASONS if cls.name in row.packets]
    if codes:
        yield []
        yield [("reason codes", "label")]
        yield from ([(f"  0x{row.code:02x}  ", "reason"), (f"{row.name}: {row.meaning}", "")] for row in codes)


def _senders(cls: type[Packet]) -> str:
    ends = " and ".join(sorted(end.value for end in cls.senders))
    before = " and ".join(sorted(end.value for end in cls.senders_before_5))
    return ends if ends == before or cls.since == Version.V5 else f"{ends} (before 5.0: {before})"


def _field_text(group: str, field: Field) -> Iterator[Line]:
    size = f"bits {field.mask:08b}" if field.mask else field.type.name if field.type else f"list of {field.item.name}"
    versions = _versions(field)
    title = f"{group} {field.label}" if group else field.label
    line: Line = [(f"  {title:<24}", field.kind or "label"), (f" {size}", "")]
    extra = [
        text for text in (versions, field.unit, field.doc, f"only with {field.when}" if field.when else "") if text
    ]
    yield [*line, (f"  {'; '.join(extra)}", "dim")] if extra else line
    if isinstance(field.names, dict):
        yield [(" " * 27 + ", ".join(f"{value} {name}" for value, name in field.names.items()), "dim")]
    for law in _laws((*field.limits, *field.each)):
        yield [(f"{'':27}{law}", "dim")]


def _versions(field: Field) -> str:
    if field.since > Version.V31:
        return f"since {field.since.label}"
    return f"until {field.until.label}" if field.until < Version.V5 else ""


def _laws(limits: tuple[Constraint, ...]) -> Iterator[str]:
    for limit in limits:
        ids = [id for version in reversed(Version) if (id := limit.ref.id(version))]
        texts = dict.fromkeys(statement(id).text for id in ids)
        for text in texts:
            yield f"{', '.join(id for id in ids if statement(id).text == text)}: {text}"


def _property_text(row: PropertyRow) -> Iterator[Line]:
    yield [(row.label, "property"), (f"  property 0x{row.id:02x} ({row.id})  section {row.section}", "dim")]
    yield [(row.doc[0].upper() + row.doc[1:] + ".", "")]
    yield [("type      ", "label"), (f"{row.type.name}{f', in {row.unit}' if row.unit else ''}", "")]
    yield [("allowed   ", "label"), (", ".join(sorted(row.packets)), "")]
    many = ", ".join(sorted(row.repeatable)) if row.repeatable else "never"
    yield [("repeated  ", "label"), ("everywhere" if row.repeatable == row.packets else many, "")]
    if row.names:
        yield [("values    ", "label"), (", ".join(f"{value} {name}" for value, name in row.names.items()), "")]
    yield from ([("rule      ", "label"), (law, "")] for law in _laws(row.limits))


def _reason_text(row: Reason) -> Iterator[Line]:
    yield [(f"0x{row.code:02x}", "reason"), (f"  {row.code}  ", "dim"), (row.name, "reason")]
    yield [(row.meaning, "")]
    yield [("carried by  ", "label"), (", ".join(sorted(row.packets)), "")]
    yield [("sent by     ", "label"), (_reason_senders(row), "")]


def _reason_senders(row: Reason) -> str:
    """Return who sends a code; for each packet type if that differs."""
    by_ends: dict[str, list[str]] = {}
    for packet, ends in senders_of(row).items():
        by_ends.setdefault(ends, []).append(packet)
    if len(by_ends) == 1:
        return PARTIES[next(iter(by_ends))] + (", before 5.0" if row in RETURN_CODES else "")
    return "; ".join(f"{PARTIES[ends]} in {', '.join(names)}" for ends, names in by_ends.items())


def _concept_text(concept: Concept) -> Iterator[Line]:
    yield [(concept.name, "heading"), (f"  section {concept.section}", "dim")]
    yield [(concept.text, "")]
    if concept.see:
        yield [("see also  ", "label"), (", ".join(concept.see), "")]


def _named_field_text(named: NamedField) -> Iterator[Line]:
    yield [(named.label, "heading"), ("  field", "dim")]
    shown: dict[tuple[Any, ...], tuple[Line, ...]] = {}
    packets: dict[tuple[Any, ...], list[str]] = {}
    for cls, group, field in named.places:
        lines = tuple(_field_text(group, field))
        key = tuple(part for line in lines for part in line)
        shown[key] = lines
        packets.setdefault(key, []).append(cls.name)
    for key, lines in shown.items():
        yield [("of ", "label"), (", ".join(packets[key]), "type")]
        yield from lines


def _statement_text(row: Statement) -> Iterator[Line]:
    yield [(row.id, row.severity), (f"  MQTT {row.version}  section {row.section}", "dim")]
    yield [(row.text, "")]
    yield [("binds     ", "label"), (PARTIES[row.who], "")]
    yield [("severity  ", "label"), (row.severity, row.severity)]
    yield [("checked   ", "label"), (f"class {row.visibility}: {CLASSES[row.visibility]}", "")]
    if row.equivalents:
        yield [("see also  ", "label"), (", ".join(row.equivalents), "")]


TEXTS: dict[str, Callable[[Any], Iterator[Line]]] = {
    "packet": _packet_text,
    "property": _property_text,
    "reason": _reason_text,
    "statement": _statement_text,
    "concept": _concept_text,
    "field": _named_field_text,
}


def wrapped(lines: Iterator[Line], width: int) -> Iterator[Line]:
    """Wrap the last text of each line at the edge of the screen."""
    for line in lines:
        used = sum(len(text) for text, _ in line[:-1])
        if not line or used + len(line[-1][0]) <= width:
            yield line
            continue
        text, style = line[-1]
        start = len(text) - len(text.lstrip())
        first, *rest = textwrap.wrap(text.strip(), max(width - used - start, 20)) or [""]
        yield [*line[:-1], (" " * start + first, style)]
        yield from ([(" " * (used + start) + each, style)] for each in rest)
