"""The terms that can be explained, and those that a word names."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...spec.concepts import CONCEPTS, Concept
from ...spec.declare import Field, Packet
from ...spec.packets import PACKETS
from ...spec.properties import PROPERTIES, PropertyRow
from ...spec.reason_codes import CONNECT_RETURN_CODES, REASONS, SUBACK_RETURN_CODES, Reason
from ...spec.statements import Statement, find


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


def terms_of(word: str) -> Iterator[Any]:
    """Yield everything of that name or number: packets, properties, codes, concepts, fields and statements."""
    plain = _plain(word)
    number = _number(word)
    yield from (cls for cls in PACKETS.values() if _plain(cls.name) == plain)
    yield from (row for row in PROPERTIES.values() if _plain(row.label) == plain or row.id == number)
    yield from (row for row in (*REASONS, *RETURN_CODES) if _plain(row.name) == plain or row.code == number)
    if number is None:
        yield from (each for each in CONCEPTS if plain in map(_plain, (each.name, *each.aliases)))
        yield from (each for each in named_fields() if plain in each.names)
        yield from find(word)


def terms_beginning(word: str) -> Iterator[Any]:
    """Yield the properties and reason codes whose names begin with the word, such as Session Expiry Interval."""
    plain = _plain(word)
    if plain:
        yield from (row for row in PROPERTIES.values() if _plain(row.label).startswith(plain))
        yield from (row for row in REASONS if _plain(row.name).startswith(plain))


def _plain(word: str) -> str:
    """Return a name without case and punctuation, so that topic-alias, TopicAlias and TOPIC_ALIAS are the same."""
    return "".join(each for each in word.casefold() if each.isalnum() or each in "$+#")


def suggestion(word: str) -> str:
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


def kind_of(thing: Any) -> str:
    """Return what a thing is: packet, property, reason, statement, concept or field."""
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
        for group, field in fields_of(cls):
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


def fields_of(cls: type[Packet]) -> Iterator[tuple[str, Field]]:
    """Yield the fields of a packet but its property lists, each after the label of its group, if it is in one."""
    for field in cls.layout:
        nested = getattr(field.item, "layout", None)
        if nested:
            yield from ((field.label, each) for each in nested if each.shape != "properties")
        elif field.shape != "properties":
            yield "", field


def senders_of(row: Reason) -> dict[str, str]:
    """Return the ends that send a code in each packet: those that may send both the code and the packet."""
    senders = {cls.name: {end.value[0] for end in cls.senders} for cls in PACKETS.values()}
    return {name: "".join(end for end in row.sender if end in senders[name]) for name in sorted(row.packets)}
