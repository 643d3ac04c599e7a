"""`mqttpub explain`: the rows of the specification's tables in words."""

import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click

from ...spec.concepts import CONCEPTS, Concept
from ...spec.constraints import Constraint
from ...spec.declare import Field, Packet
from ...spec.packets import PACKETS
from ...spec.properties import PROPERTIES, PropertyRow
from ...spec.reason_codes import CONNECT_RETURN_CODES, REASONS, SUBACK_RETURN_CODES, Codes, Reason
from ...spec.statements import CLASSES, PARTIES, Statement, find, statement
from ...spec.versions import Version
from ...view.terminal.cells import Line
from ..flags.base import Command, PlainOption


class TermType(click.ParamType[str]):
    """A word that can be explained, in any of its forms."""

    name = "word"

    @property
    def suggestions(self) -> list[str]:
        """The words that completion offers."""
        return names()


@click.command(
    name="explain",
    cls=Command,
    examples=("mqttpub explain topic alias", "mqttpub explain 0x87", "mqttpub explain MQTT5-3.3.1-2"),
)
@click.argument("word", nargs=-1, type=TermType())
@click.option("--json", "as_json", cls=PlainOption, is_flag=True, help="Print JSON instead.")
def command(word: tuple[str, ...], as_json: bool) -> int:
    """Explain a packet type, property, Reason Code, field, concept or statement.

    WORD is a packet (publish), a property (topic alias, 0x23), a reason code (0x87, not
    authorized), a field (keep alive), a concept (will, wildcards) or the id of a statement or
    section (3.3.1-2, MQTT5-3.3.1-2, 3.3.1). Without WORD, list what there is.
    """
    from ..screen import paged

    with paged():
        return explain(" ".join(word), as_json=as_json) if word else overview(as_json=as_json)


def explained(word: str) -> bool:
    """Return whether a word names something that `explain` knows."""
    return any(_found(word))


def explain(word: str, *, as_json: bool) -> int:
    """Print everything that a word names and return the exit status; raises UsageError if it names nothing."""
    found = list(_found(word)) or list(_begins(word))
    if not found:
        raise click.UsageError(f"'{word}' is not known; {_meant(word)}`mqttpub explain` lists all names")
    if as_json:
        import json

        for thing in found:
            click.echo(json.dumps(_JSON[_kind(thing)](thing), default=list))
        return 0
    from ...view.packet.show import Show

    show = Show()
    for thing in found:
        show.block(_wrapped(_TEXT[_kind(thing)](thing), show.width))
    return 0


def overview(*, as_json: bool) -> int:
    """Print the names of everything that can be explained."""
    if as_json:
        import json

        names = {
            "packets": [cls.name for cls in PACKETS.values()],
            "properties": [row.label for row in PROPERTIES.values()],
            "reasons": sorted({f"0x{row.code:02x} {row.name}" for row in REASONS}),
            "fields": [field.label for field in named_fields()],
            "concepts": [concept.name for concept in CONCEPTS],
        }
        click.echo(json.dumps(names))
        return 0
    from ...view.terminal.width import screen_width

    for cls in PACKETS.values():
        click.echo(f"{cls.code:4}  {cls.name:<12} {cls.__doc__}")
    click.echo()
    for row in PROPERTIES.values():
        click.echo(f"0x{row.id:02x}  {row.label:<34} {row.doc}")
    click.echo()
    for reason in REASONS:
        click.echo(f"0x{reason.code:02x}  {reason.name:<40} {' '.join(sorted(reason.packets))}")
    for title, labels in (("fields", named_fields()), ("concepts", CONCEPTS)):
        click.echo()
        text = f"{title}: {', '.join(each[0] for each in labels)}"
        click.echo("\n".join(textwrap.wrap(text, screen_width())))
    return 0


def names() -> list[str]:
    """Return the words that can be explained, as one types them: packets, properties, reasons, fields and concepts."""
    # A name with a $ would need quotes in a shell.
    return list(dict.fromkeys(label.lower().replace(" ", "-") for label in _labels() if "$" not in label))


def _labels() -> Iterator[str]:
    """Yield the name of everything that can be explained, except statements."""
    yield from (cls.name.lower() for cls in PACKETS.values())
    yield from (row.label for row in PROPERTIES.values())
    yield from (row.name for row in REASONS)
    yield from (field.label for field in named_fields())
    yield from (concept.name for concept in CONCEPTS)


def _found(word: str) -> Iterator[Any]:
    plain = _plain(word)
    number = _number(word)
    yield from (cls for cls in PACKETS.values() if _plain(cls.name) == plain)
    yield from (row for row in PROPERTIES.values() if _plain(row.label) == plain or row.id == number)
    yield from (row for row in (*REASONS, *RETURN_CODES) if _plain(row.name) == plain or row.code == number)
    if number is None:
        yield from (each for each in CONCEPTS if plain in map(_plain, (each.name, *each.aliases)))
        yield from (each for each in named_fields() if plain in each.names)
        yield from find(word)


def _begins(word: str) -> Iterator[Any]:
    """Yield the properties and reason codes whose names begin with the word, such as Session Expiry Interval."""
    plain = _plain(word)
    if plain:
        yield from (row for row in PROPERTIES.values() if _plain(row.label).startswith(plain))
        yield from (row for row in REASONS if _plain(row.name).startswith(plain))


def _plain(word: str) -> str:
    """Return a name without case and punctuation, so that topic-alias, TopicAlias and TOPIC_ALIAS are the same."""
    return "".join(each for each in word.casefold() if each.isalnum() or each in "$+#")


def _meant(word: str) -> str:
    """Return a question that offers the most similar name, or nothing."""
    from difflib import get_close_matches

    by_name = {_plain(label): label for label in _labels()}
    near = get_close_matches(_plain(word), by_name, 1, 0.7)
    return f"did you mean '{by_name[near[0]]}'? " if near else ""


def _number(word: str) -> int | None:
    text = word.strip().lower()
    try:
        return int(text, 16) if text.startswith("0x") else int(text)
    except ValueError:
        return None


def _kind(thing: Any) -> str:
    return "packet" if isinstance(thing, type) else KINDS[type(thing)]


class NamedField(NamedTuple):
    """All fields of one name, with the packets that have each."""

    label: str
    names: frozenset[str]
    """Its names in the specification and in other programs, as `_plain` returns them."""
    places: tuple[tuple[type[Packet], str, Field], ...]
    """Packet, name of the group that contains the field or nothing, and field."""


def named_fields() -> list[NamedField]:
    """Return the fields of all packets by name, without reserved bits."""
    places: dict[str, list[tuple[type[Packet], str, Field]]] = {}
    for cls in PACKETS.values():
        for group, field in _fields(cls):
            if field.label != "Reserved":
                places.setdefault(field.label, []).append((cls, group, field))
    labels = {_plain(label) for label in places}
    return [NamedField(label, _names(label, found, labels), tuple(found)) for label, found in places.items()]


def _names(label: str, found: list[tuple[type[Packet], str, Field]], labels: set[str]) -> frozenset[str]:
    """Return the names of a field, without those that are the label of another field, such as qos."""
    others = {_plain(name) for _, _, field in found for name in (field.name_before_5, field.key) if name}
    return frozenset({_plain(label)} | (others - labels))


KINDS: dict[type, str] = {
    PropertyRow: "property", Reason: "reason", Statement: "statement", Concept: "concept", NamedField: "field",
}  # fmt: skip
RETURN_CODES = (*CONNECT_RETURN_CODES[1:], *(row for row in SUBACK_RETURN_CODES if row.name == "Failure"))
"""Codes before 5.0 that have another name in 5.0."""


# text


def _packet_text(cls: type[Packet]) -> Iterator[Line]:
    yield [(cls.name, "type"), (f"  packet type {cls.code}  section {cls.section}", "dim")]
    yield [(cls.__doc__ or "", "")]
    since = f", since MQTT {cls.since.label}" if cls.since > Version.V31 else ""
    yield [(f"sent by {_senders(cls)}{since}", "")]
    yield []
    for group, field in _fields(cls):
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


def _fields(cls: type[Packet]) -> Iterator[tuple[str, Field]]:
    for field in cls.layout:
        nested = getattr(field.item, "layout", None)
        if nested:
            yield from ((field.label, each) for each in nested if each.shape != "properties")
        elif field.shape != "properties":
            yield "", field


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


def senders_of(row: Reason) -> dict[str, str]:
    """Return the ends that send a code in each packet: those that may send both the code and the packet."""
    senders = {cls.name: {end.value[0] for end in cls.senders} for cls in PACKETS.values()}
    return {name: "".join(end for end in row.sender if end in senders[name]) for name in sorted(row.packets)}


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


_TEXT: dict[str, Callable[[Any], Iterator[Line]]] = {
    "packet": _packet_text,
    "property": _property_text,
    "reason": _reason_text,
    "statement": _statement_text,
    "concept": _concept_text,
    "field": _named_field_text,
}


def _wrapped(lines: Iterator[Line], width: int) -> Iterator[Line]:
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


# JSON


def _packet_json(cls: type[Packet]) -> dict[str, Any]:
    return {
        "packet": cls.name, "type": cls.code, "section": cls.section, "meaning": cls.__doc__,
        "senders": sorted(end.value for end in cls.senders), "since": cls.since.label,
        "fields": [_field_json(field) for _, field in _fields(cls)],
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


_JSON: dict[str, Callable[[Any], dict[str, Any]]] = {
    "packet": _packet_json,
    "property": _property_json,
    "reason": _reason_json,
    "statement": _row_json,
    "concept": _concept_json,
    "field": _named_field_json,
}
