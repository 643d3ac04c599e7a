"""Fields of dumps: the rows of a field from its bytes alone, once the tree of one packet has shown what it is.

Values that no packet had before are the rule in some fields, such as the Packet Identifier and the payload. Their rows
differ from earlier ones in bytes and words only, if the words are as long: a *stencil* has gaps for these.
"""

import re
from collections.abc import Sequence

from ...codec.tree import Decoded, Node
from ...common.escape import remark
from ...common.lru import BoundedMemo
from ...wire.cursor import Span, variable_integer
from ...wire.types import PAIR, STRING, VARIABLE, Integer, WireType
from ..terminal.cells import Line, broken, cells, text_of, wrap
from ..terminal.style import Palette
from .dump import Sheet, headline
from .field_stencil import KEY, NONE, ZERO, FieldStencil, StencilRows
from .layout import Columns, beside, label_rows, room_below, text_rows
from .marks import Marks
from .outline import Outline, OutlineEntry
from .payload import classify, pretty
from .values import notation, quoted, unit_of

NO_MARKS = Marks((), 0)
LONGEST_FIELD = 256
"""Bytes of the longest field that is drawn with a stencil."""
LONGEST_KNOWN = 64
"""Bytes of the longest field whose rows are remembered."""
FIRST_STENCILS = 64
"""Stencils that are made for a field even if none of them is used again."""
PLAIN = re.compile(rb"(?! *[\[{])[ !#-\[\]-~]+").fullmatch
"""Content that is shown as it is between quotation marks: ASCII, nothing that is escaped, not the beginning of JSON."""
_AS_ZERO = bytes(ZERO if chr(code) in "123456789" else code for code in range(256))
_LEADING = re.compile(rb"(?<![.0-9])[1-9](?=[0-9])")
"""The first of several digits, which is zero in no number of JSON, except after the point."""
Layout = tuple[object, ...] | bytes
_Words = tuple[Layout, list[str]]
"""How the words for a value are laid out, and their rows.

Fields of one place and size whose words are laid out alike have the same stencil. JSON is its own layout, with zeros in
place of its digits; its words follow from that.
"""


class FieldPlan:
    """A field with its bits, and how its rows are drawn from its bytes."""

    def __init__(
        self, entries: Sequence[OutlineEntry], columns: Columns, outline: Outline, palette: Palette,
        stencils: "BoundedMemo[StencilKey, FieldStencil]", known: "BoundedMemo[RowsKey, str]",
    ) -> None:  # fmt: skip
        self._entries = entries
        self._columns = columns
        self._outline = outline
        self._palette = palette
        self._limit = limit = outline.limit
        self._stencils = stencils
        self._known = known
        self._sheet = Sheet(outline.decoded, columns, limit)
        self._sheet.data = b""
        first = entries[0]
        self._label = label_rows(first, columns)
        self._begin = f"{text_of(self._label.last):{self._label.value}}"
        """The text before a value that stands beside the label."""
        masked = not outline.secrets and any(node.kind == "secret" for node in first.nodes)
        self._is_text = len(entries) == 1 and bool(first.parts) and not masked
        """Whether its rows can be put together as text, without styles."""
        self._longest = LONGEST_FIELD if limit is None else min(limit, LONGEST_FIELD)
        self._room = room_below(2 * first.depth + 2, columns.detail)
        self._node = last = first.nodes[-1] if first.nodes else Node("", Span(0, 0))
        self._prefix = last.prefix
        self._skip = int(first.style == "property")
        """Bytes before the value, which are the identifier of a property."""
        self._type = _type_of(last)
        self._is_number = _is_number(self._type)
        self._has_names = bool(last.field.names if last.field else last.row and last.row.names)
        self.notation, self.unit = notation(last.kind), unit_of(last)
        self.is_payload = last.kind == "payload"
        if self.is_payload and outline.payloads:
            self._longest = 0
        self._made = self._used = 0
        """How often a stencil was made, and one was used."""

    def rows(self, data: bytes, start: int, end: int) -> str:
        """Return the rows of the field at this place, which most packets have in common with earlier ones."""
        key = self, start, data[start:end]
        text = self._known.get(key)
        if text is None:
            text = self.draw(data, start, end)
            if end - start <= LONGEST_KNOWN:
                self._known.keep(key, text, KEY + len(text))
        return text

    def draw(self, data: bytes, start: int, end: int, marks: Marks | None = None) -> str:
        """Return the rows of the field at this place, and the findings in it, each line with its end."""
        if self._is_text and not marks and not self._palette.color:
            # A field that no packet had before comes here in nearly every packet; styled text takes twice as long.
            return self.text(data, start, end)
        sheet = self._sheet
        sheet.data = self._outline.decoded.data = data
        sheet.marks = marks or NO_MARKS
        lines: list[str] = []
        for entry in self._entries:
            _move(entry, data, start, end)
            lines += map(self._palette.text, sheet.entry(self._outline.again(entry)))
        sheet.data = self._outline.decoded.data = b""
        sheet.marks = NO_MARKS
        lines.append("")
        return "\n".join(lines)

    # rows of whole bytes as they are without colours

    def text(self, data: bytes, start: int, end: int) -> str:
        """Return the rows of a field of whole bytes without colours."""
        # Nearly every packet of a bulk run has a payload that none had before.
        found = self.stencil(data, start, end)
        if found is None:
            return _joined(self._rows(data, start, end))
        stencil, rows = found
        return stencil.filled(data[start:end], rows)

    def stencil(self, data: bytes, start: int, end: int) -> tuple[FieldStencil, list[str]] | None:
        """Return the stencil for the rows of the field at this place, and the rows of words for it.

        None where there is none. To make one takes as long as to draw several fields, so that it needs enough uses.
        """
        words = self._words(data, start, end)
        if words is None:
            return None
        layout, rows = words
        key = self, start, end - start, layout
        stencil = self._stencils.get(key)
        if stencil is None:
            if self._made >= FIRST_STENCILS + self._used // 4:
                return None
            self._made += 1
            stencil = self._stencil(data, start, end, rows, digits=isinstance(layout, bytes))
            self._stencils.keep(key, stencil, KEY + stencil.weight + (len(layout) if isinstance(layout, bytes) else 0))
        if not stencil.text:
            return None
        self._used += 1
        return stencil, rows

    def _words(self, data: bytes, start: int, end: int) -> _Words | None:
        """Return the words for the value at this place, and their layout; None where they depend on more than that."""
        if not self._is_text or end - start > self._longest:
            return None
        at, type = start + self._skip, self._type
        if self._is_number:
            if self._has_names:
                return None
            shown = self.notation(_integer(type, data, at, end), self.unit)
            return (len(shown),), [shown]
        if type is PAIR:
            middle = at + 2 + (data[at] << 8 | data[at + 1])
            words = [*_quoted(data[at + 2 : middle]), *_quoted(data[middle + 2 : end])]
            return self._laid_out([" = ".join(words)], middle) if len(words) == 2 else None
        content = data[at + self._prefix : end]
        if PLAIN(content):
            rows = self._fitted(f'"{content.decode("ascii")}"')
            return (len(rows),), rows
        if self.is_payload:
            digits = content.translate(_AS_ZERO)
            known = self._stencils.get((self, start, end - start, digits))
            if known:
                return None if known.leads_with_zero(data[start:end]) else (digits, [])
        kind, text = classify(content) if type is not STRING else ("", "")
        if kind == "json" and self.is_payload:
            return digits, [remark(line) for _, line in pretty(text, self._outline.room)]
        if kind in ("binary", "empty"):
            return ((kind,), []) if kind == "binary" else None
        # JSON is shown as text, with its kind beside it, where it is no payload.
        return self._laid_out(_quoted(content), kind)

    def _laid_out(self, lines: list[str], *about: object) -> _Words:
        """Return the words for lines of text, and their layout."""
        rows = [row for line in lines for row in self._fitted(line)]
        return (*about, *map(cells, rows)), rows

    def _fitted(self, text: str) -> list[str]:
        """Return the rows for text below a label, without the spaces at their ends."""
        room = self._room
        if len(text) <= room and text.isascii():
            return [text]
        return [row.rstrip(" ") for row in broken(text, room) or map(text_of, wrap([(text, "")], room))]

    def _stencil(self, data: bytes, start: int, end: int, words: list[str], *, digits: bool) -> FieldStencil:
        """Return the stencil of a field; one without text if its words are broken, or stand where it has no gaps.

        With `digits`, all but digits is part of the stencil.
        """
        columns, above, content = self._columns, len(self._label.above), data[start:end]
        rows, is_inline = self._word_rows(data, start, end)
        first = above if is_inline else above + 1
        if words and len(rows) != first + len(words):
            return NONE
        made = StencilRows(columns, content, start, digits=digits)
        for number in range(max(len(range(start, end, columns.per_row)), len(rows))):
            row = rows[number] if number < len(rows) else ""
            word = words[number - first] if first <= number < first + len(words) else ""
            begin = len(self._begin) if is_inline else len(row) - len(row.lstrip(" "))
            if word and not row.startswith(word, begin):
                return NONE
            made.add(row, word, begin)
        if made.runs:
            return NONE
        leading = [found.start() for found in _LEADING.finditer(content)] if digits else []
        return FieldStencil(made.text, made.gaps, made.ends, end - start, leading)

    def _rows(self, data: bytes, start: int, end: int) -> list[str]:
        """Return the rows of a field of whole bytes."""
        entry, columns = self._entries[0], self._columns
        words, _ = self._word_rows(data, start, end)
        cut = end
        if self._limit is not None and end - start > self._limit:
            last = entry.nodes[-1]
            content = last.span.start + last.prefix
            cut = min(end, (content if content < end else last.span.start) + self._limit)
        rows = text_rows(data, start, cut, columns)
        if cut < end:
            rows.append(f"{text_of(self._sheet.left_out(end - cut)[0]):{columns.left}}")
        if len(words) > len(rows):
            rows += [" " * columns.left] * (len(words) - len(rows))
        for at, word in enumerate(words):
            rows[at] += word
        return [row.rstrip() for row in rows]

    def _word_rows(self, data: bytes, start: int, end: int) -> tuple[list[str], bool]:
        """Return the rows of the field column, and whether the value stands beside the label."""
        entry, columns, decoded = self._entries[0], self._columns, self._outline.decoded
        decoded.data = data
        _move(entry, data, start, end)
        about = self._outline.words(entry)
        decoded.data = b""
        inline = text_of(about.inline)
        if inline and self._label.value + cells(inline) <= columns.detail:
            return [*map(text_of, self._label.above), self._begin + inline], True
        return [text_of(line) for line in beside(self._label, about, 2 * entry.depth, columns)], False


def _quoted(content: bytes) -> list[str]:
    if PLAIN(content):
        return [f'"{content.decode("ascii")}"']
    return quoted(content.decode("utf-8", "surrogateescape"))


def _joined(rows: list[str]) -> str:
    rows.append("")
    return "\n".join(rows)


def _move(entry: OutlineEntry, data: bytes, start: int, end: int) -> None:
    """Give the nodes of an entry the places and values that they have in a packet."""
    if entry.mask or entry.octet:
        (node,) = entry.nodes
        node.span = Span(start, end)
        if entry.mask:
            node.value = node.field.pick(data[start]) if node.field else data[start] >> 4
        return
    for node in entry.nodes:
        stop = end
        if node is not entry.nodes[-1]:
            stop = start + (node.prefix + (data[start] << 8 | data[start + 1]) if node.prefix else 1)
        node.span = Span(start, stop)
        if _is_number(type := _type_of(node)):
            node.value = _integer(type, data, start, stop)
        start = stop


def _integer(type: WireType, data: bytes, start: int, stop: int) -> int:
    if type is not VARIABLE:
        return int.from_bytes(data[start:stop], "big")
    found = variable_integer(data, start, stop)
    assert found
    return found[0]


def _is_number(type: WireType) -> bool:
    return type is VARIABLE or isinstance(type, Integer)


def _type_of(node: Node) -> WireType:
    """Return the data type of a value, as it is declared."""
    if node.row and node.name != "identifier":
        return node.row.type
    declared = node.field.type or node.field.item if node.field else VARIABLE
    assert declared
    return declared


StencilKey = tuple[FieldPlan, int, int, Layout]
"""The field, its place and size, and how its words are laid out."""
RowsKey = tuple["FieldPlan | PacketPlan", int, bytes]
"""A field, its place and its bytes; or a plan, and the end and the bytes of the fields that are `alike`."""


class PacketPlan:
    """The fields of packets that differ only in the places and values of these."""

    def __init__(self, choices: Sequence[int], decoded: Decoded, fields: list[FieldPlan], ends: list[int]) -> None:
        self.choices = choices
        """The bytes that decide which fields they have (see `field_ends`)."""
        self.fields = fields
        self._decoded = decoded
        self._qos, id, self._reason = (decoded.root.child(name) for name in ("qos", "packet_id", "reason_code"))
        id_at, reason_at = (ends.index(each.span.start) + 1 if each else 0 for each in (id, self._reason))
        self.id_field, self.reason_field = id_at, reason_at
        """The numbers of these fields; 0 for a packet without one."""
        self.payload_field = len(fields) - 1 if fields[-1].is_payload else 0
        self.alike = self.id_field or self.payload_field or len(fields)
        """How many fields come before those that differ from packet to packet."""

    def headline(self, data: bytes, packet_id: str, reason_code: int, width: int) -> Line:
        """Return the headline of a packet with these values."""
        decoded = self._decoded
        # Nodes belong to fields, which other plans share.
        if self._qos and self._qos.field:
            self._qos.value = self._qos.field.pick(data[0])
        if self._reason:
            self._reason.value = reason_code
        decoded.data = data
        line = headline(decoded, width=width, packet_id=packet_id)
        decoded.data = b""
        return line
