"""A form and its slots."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
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
    """Texts with slots between them."""

    parts: tuple[str, ...]
    """Texts and slots in turn; the first and the last are texts."""
    slots: tuple[Slot, ...]

    @classmethod
    def of(cls, drawn: Iterable[str]) -> "Form":
        """Return the form of text that is drawn in these parts, some of which are slots."""
        parts = [""]
        for part in drawn:
            if isinstance(part, Slot):
                parts += [part, ""]
            else:
                parts[-1] += part
        return cls(tuple(parts), tuple(part for part in parts if isinstance(part, Slot)))

    def filled(self, values: Iterable[str]) -> str:
        """Return the text with a value for each slot."""
        # The operator % takes twice as long, as it looks for places in all of a long text.
        parts = [*self.parts]
        parts[1::2] = values
        return "".join(parts)

    def filler(self, kinds: Sequence[str]) -> Callable[[Sequence[str]], str]:
        """Return the function that does the same, from a value for each of these kinds of slots; at least two are used.

        It takes others in vain.
        """
        pick, template = itemgetter(*[kinds.index(slot.kind) for slot in self.slots]), [*self.parts]

        def filled(values: Sequence[str]) -> str:
            parts = template.copy()
            parts[1::2] = pick(values)
            return "".join(parts)

        return filled

    def with_parts(self, values: Iterable[Iterable[str]]) -> "Form":
        """Return the form with text and slots in place of each slot."""
        first, *rest = self.parts[::2]
        drawn = [first]
        for value, text in zip(values, rest, strict=True):
            drawn += [*value, text]
        return Form.of(drawn)
