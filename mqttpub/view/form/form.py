"""A form and its slots."""

from collections.abc import Iterable
from typing import NamedTuple

from ..terminal.cells import cells

ID, TOPIC, SIZE, PAYLOAD, SPARE = "id", "topic", "size", "payload", "spare"
"""Kinds of slots in lines of packets: Packet Identifier, Topic Name, size and preview of a payload, and the spaces that
narrower values leave."""
FILLER = "x"
"""What is drawn for each character of a value."""


class Slot(str):
    """Text that is drawn in place of a value; a value of the same form is as wide, or has at most `room` cells."""

    __slots__ = ("kind", "room")
    kind: str
    room: int | None
    """None if values are not cut."""

    def __new__(cls, text: str, kind: str, room: int | None = None) -> "Slot":
        """Return a slot in which this text is drawn."""
        made = super().__new__(cls, text)
        made.kind, made.room = kind, room
        return made


def shortened(text: str, short: str) -> str:
    """Return `short` in place of `text`: a slot remains one if its values are shortened like it."""
    return Slot(short, text.kind, cells(short)) if isinstance(text, Slot) and text.kind in (TOPIC, PAYLOAD) else short


def opened(text: str, kind: str) -> list[str]:
    """Return text with a slot in place of its `FILLER`s, which follow one another."""
    at, count = text.find(FILLER), text.count(FILLER)
    return [text[:at], Slot(text[at : at + count], kind), text[at + count :]] if count else [text]


class Form(NamedTuple):
    """Texts and the slots between them."""

    literals: tuple[str, ...]
    """One more than slots."""
    slots: tuple[Slot, ...]
    format: str
    """The same for the operator `%`, which takes a value for each slot."""

    @classmethod
    def of(cls, parts: Iterable[str]) -> "Form":
        """Return the form of text that is drawn in these parts, some of which are slots."""
        literals, slots = [""], list[Slot]()
        for part in parts:
            if isinstance(part, Slot):
                slots.append(part)
                literals.append("")
            else:
                literals[-1] += part
        return cls(tuple(literals), tuple(slots), "%s".join([each.replace("%", "%%") for each in literals]))

    def parts(self, values: Iterable[Iterable[str]]) -> list[str]:
        """Return its parts with other parts in place of each slot."""
        first, *rest = self.literals
        parts = [first]
        for value, literal in zip(values, rest, strict=True):
            parts += [*value, literal]
        return parts
