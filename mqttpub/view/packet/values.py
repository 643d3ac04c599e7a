"""The value of a field in words: the value itself, its meaning, its size."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from ...codec.tree import Decoded, Node
from ...common.escape import escape, remark
from ...common.words import plural
from ..terminal.cells import Line, Segment
from .payload import classify, pretty


class About(NamedTuple):
    """The words for one value, on one row or on several."""

    inline: Line
    """All of it on one row; empty if it does not fit on one row."""
    head: Line
    """The part beside the label, if `inline` is too long."""
    below: tuple[tuple[int, Line], ...]
    """The rest below the label, each line with its indentation."""


NOTHING = About([], [], ())
MISSING = About([("no value", "gap")], [("no value", "gap")], ())
UNCLAIMED = "not part of any field"
"""The decoder's names for bytes without a field."""
_EMPTY = "empty"
_WORDS = {"text": "text", "json": "JSON", "binary": "binary"}


def describe(node: Node, decoded: Decoded, *, limit: int | None = None, secrets: bool = False, room: int = 80) -> About:
    """Return the words for the value of a leaf, masked unless `secrets`.

    At most `limit` bytes of the value are shown (None: all of them), JSON within `room` terminal cells.
    """
    if node.kind == "gap":
        size = _bytes(node.span.length)
        return _paired([(size if node.label == UNCLAIMED else f"unreadable, {size}", "gap")], [])
    if node.kind == "secret" and not secrets:
        return _masked(node.span.length - node.prefix, limit)
    if isinstance(node.value, int):
        return _number(node, decoded)
    content = decoded.data[node.span.start + node.prefix : node.span.stop]
    if isinstance(node.value, str):
        return _text(content, node.kind, [_size(len(content))], limit)
    return _blob(content, node.kind, limit, room)


def pair(name: Node, value: Node | None, decoded: Decoded, limit: int | None) -> About:
    """Return the words for a name and the value that belongs to it, if the packet has that value."""
    first = describe(name, decoded, limit=limit)
    if value is None:
        return About([*first.inline, ("  ", ""), *MISSING.head], MISSING.head, first.below)
    second = describe(value, decoded, limit=limit)
    size = [(f"{name.span.length - 2} + {value.span.length - 2} bytes", "length")]
    (_, line), *more = second.below
    if first.inline and second.inline:
        line = [*first.inline[:1], (" = ", ""), *line]
        return About([*line, ("  ", ""), *size], size, ((0, line),))
    return About([], size, (*first.below, (0, [("= ", ""), *line]), *more))


@lru_cache(4096)
def _bytes(count: int) -> str:
    return f"{count} {plural(count, 'byte')}"


def _size(count: int) -> Segment:
    return (_bytes(count), "length")


def _paired(value: Line, aside: Line) -> About:
    """Return a value with its meaning beside it, or below it if there is no room."""
    if not aside:
        return About(value, value, ())
    return About([*value, ("  ", ""), *aside], value, ((0, aside),))


# numbers


def _number(node: Node, decoded: Decoded) -> About:
    value = int(node.value)
    if node.name == "identifier" and node.row:
        return _paired([(f"0x{value:02x}", "property")], [(node.row.label, "")])
    shown = number_words(value, node.kind, unit_of(node))
    meaning = _meaning(node, decoded)
    return _paired([(shown, node.kind)], [(meaning, "")] if meaning else [])


def number_words(value: int, kind: str, unit: str) -> str:
    """Return a number in the notation of its kind, or in decimal with its unit."""
    return notation(kind)(value, unit)


def notation(kind: str) -> Callable[[int, str], str]:
    """Return the function that writes numbers of a kind; it takes a number and its unit."""
    return _NOTATION.get(kind, _decimal)


def _decimal(value: int, unit: str) -> str:
    if not unit:
        return str(value)
    return f"{value} {plural(value, unit[:-1])}" if unit.endswith("s") and len(unit) > 1 else f"{value} {unit}"


_NOTATION: dict[str, Callable[[int, str], str]] = {
    "id": lambda value, unit: f"{value} (0x{value:04x})",
    "reason": lambda value, unit: f"0x{value:02x}",
    "length": lambda value, unit: _bytes(value),
}


def unit_of(node: Node) -> str:
    """Return the unit of a number; empty if it has none."""
    """Return the unit of a number; empty if it has none."""
    row = node.row or node.field
    return row.unit if row else ""


def _meaning(node: Node, decoded: Decoded) -> str:
    value, field = node.value, node.field
    if node.name == "type" and field is None:
        return decoded.type.name if decoded.type else "reserved"
    if field is None:
        return (node.row.names or {}).get(value, "") if node.row else ""
    if node.kind == "reason" and field.meaning(value, decoded.version).startswith("reason 0x"):
        return "unknown"
    if value is True:
        return _follows(field.derived, decoded) or field.doc
    return field.meaning(value, decoded.version)


def _follows(derived: str | None, decoded: Decoded) -> str:
    field = decoded.type.fields.get(derived) if derived and decoded.type else None
    return f"{field.label_in(decoded.version)} follows" if field else ""


# strings and bytes


def _masked(count: int, limit: int | None) -> About:
    shown = count if limit is None else min(count, limit)
    value = [("*" * shown, "secret")]
    return _body([value] if count else [], [_size(count)], count - shown)


def _text(content: bytes, kind: str, aside: Line, limit: int | None) -> About:
    shown = content if limit is None or len(content) <= limit else content[: _boundary(content, limit)]
    left = len(content) - len(shown)
    lines = quoted(shown.decode("utf-8", "surrogateescape"), closed=not left)
    return _body([[(line, kind)] for line in lines], aside, left)


def _body(lines: list[Line], aside: Line, left: int) -> About:
    below = [(0, line) for line in lines]
    if left:
        below.append((0, [(f"... {left} more {plural(left, 'byte')}", "dim")]))
    inline = [*lines[0], ("  ", ""), *aside] if len(below) == len(lines) == 1 else aside if not below else []
    return About(inline, aside, tuple(below))


def _boundary(content: bytes, limit: int) -> int:
    """Return where to cut, at or before `limit`, so that no UTF-8 character is cut in half."""
    for stop in range(limit, max(limit - 4, 0), -1):
        if content[stop] & 0xC0 != 0x80:
            return stop
    return limit


def quoted(text: str, *, closed: bool = True) -> list[str]:
    """Return quoted, escaped text, with a line break after each newline; it has no end unless it is `closed`."""
    pieces = [escape(piece).replace('"', '\\"') for piece in text.split("\n")]
    lines = [f"{piece}\\n" for piece in pieces[:-1]]
    if pieces[-1] or not lines:
        lines.append(pieces[-1])
    lines[0] = f'"{lines[0]}'
    lines[-1] += '"' if closed else ""
    return lines


def blob_words(kind: str, size: int) -> str:
    """Return what bytes appear to be, by their kind of `classify`, and how many there are."""
    return f"{_WORDS[kind]}, {_bytes(size)}" if size else _EMPTY


def _blob(content: bytes, kind: str, limit: int | None, room: int) -> About:
    what = classify(content)
    if what.kind == "empty":
        return About([(_EMPTY, kind)], [(_EMPTY, kind)], ())
    aside = [(f"{_WORDS[what.kind]}, ", ""), _size(len(content))]
    if what.kind == "binary":
        return About(aside, aside, ())
    if what.kind == "text" or (limit is not None and len(content) > limit) or kind != "payload":
        return _text(content, kind, aside, limit)
    lines = [(2 * depth, [(remark(line), kind)]) for depth, line in pretty(what.text, room)]
    return About([*lines[0][1], ("  ", ""), *aside] if len(lines) == 1 else [], aside, tuple(lines))
