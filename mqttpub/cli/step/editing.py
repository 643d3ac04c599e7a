"""Changing the words of a packet, as `edit` of the prompt does."""

from collections.abc import Iterator

from ...codec.from_json import plain_key
from ...common.errors import UserError
from ...script.lex import ScriptWord, steps
from ...script.names import LONG, given, lettered
from ...script.reader import modifier, read_line
from ...script.steps import GivenField, GivenProperty, PacketStep
from ...spec.declare import Packet


def edited(text: str, changes: ScriptWord) -> str:
    """Return the step of a packet, `> NAME WORD...`, with other words.

    A word takes the place of all those of the same field, property or modifier, in whatever spelling; `-NAME` only
    takes them away. Raises BadText with the place in the line that `changes` is from, and UserError for a word to take
    away that the step does not have.
    """
    (step,) = read_line(text)
    assert isinstance(step, PacketStep)
    assert step.packet
    mark, name, *words = steps(text, 1)[0]
    for change in (change for each in steps(changes.text, 1) for change in each):
        at = changes.column - 1 + change.column
        placed = ScriptWord(change.text, changes.line, at, changes.source)
        leaves_out = change.text.startswith("-")
        gone = _names(placed.cut(1).text, step.packet) if leaves_out else _keys(placed, step.packet)
        kept = [word for word in words if not gone & _keys(word, step.packet)]
        if leaves_out and len(kept) == len(words):
            raise UserError(f"the next packet has no word {change.text[1:]!r}")
        words = kept if leaves_out else [*kept, change]
    return " ".join(word.text for word in (mark, name, *words))


def _keys(word: ScriptWord, packet: type[Packet]) -> frozenset[str]:
    """Return what a word gives: names of fields, of properties and of modifiers; raises BadText."""
    if name := modifier(word):
        return frozenset([name])
    return frozenset(map(_key, given(word, packet)))


def _key(each: GivenField | GivenProperty) -> str:
    key = each.row.key if isinstance(each, GivenProperty) else each.field.key
    return f"will.{key}" if each.of_will else key


def _names(name: str, packet: type[Packet]) -> frozenset[str]:
    """Return the keys that a name without a value stands for."""
    return frozenset(_meant(plain_key(name), packet))


def _meant(key: str, packet: type[Packet]) -> Iterator[str]:
    yield LONG.get(key, key)
    if field := lettered(key, packet):
        yield field.key
    if key.startswith("will."):
        yield f"will_{key.removeprefix('will.')}"
