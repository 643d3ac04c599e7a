"""Fields of dumps: the rows of a field from its bytes alone, once the tree of one packet has shown what it is.

Values that no packet had before are the rule in some fields, such as the Packet Identifier and the payload. Their rows
differ from earlier ones in bytes and words only, if the words are as long: a *stencil* has gaps for these.
"""

import re
from collections.abc import Sequence
from typing import Any

from ...codec.tree import Decoded, Node
from ...common.escape import remark
from ...common.lru import BoundedMemo
from ...wire.cursor import Span, variable_integer
from ...wire.types import VARIABLE, WireType
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
Layout = tuple[object, ...] | None
_Words = tuple[Layout, str]
"""How the words for a value are laid out, and the words, without what is between them.

Fields of one place whose words are laid out alike have the same stencil.
"""


class FieldPlan:
    """A field with its bits, and how its rows are drawn from its bytes."""

    def __init__(
        self, entries: Sequence[OutlineEntry], columns: Columns, outline: Outline, palette: Palette,
        stencils: BoundedMemo[Any, FieldStencil], known: BoundedMemo[Any, str],
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
        self._indent = " " * (columns.detail - self._room)
        self._node = last = first.nodes[-1] if first.nodes else Node("", Span(0, 0))
        self._prefix = last.prefix
        self._skip = int(first.style == "property")
        """Bytes before the value, which are the identifier of a property."""
        self._is_number = isinstance(last.value, int)
        self._has_names = bool(last.field.names if last.field else last.row and last.row.names)
        self.notation, self.unit = notation(last.kind), unit_of(last)
        self._is_string = isinstance(last.value, str)
        self._is_pair = first.style == "property" and len(first.nodes) == 3
        self._is_blob = isinstance(last.value, bytes)
        self._is_variable = self._is_number and _type_of(last) is VARIABLE
        self.is_payload = last.kind == "payload"
        if self.is_payload and outline.payloads:
            self._longest = 0
        self._made = self._made_for_json = self._used = 0
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
        if self.is_payload:
            content = data[start:end]
            stencil, rows = self.known_stencil(content, start, end)
            if rows and not stencil and self._may_make():
                stencil = self.stencil(data, start, end, len(rows))
            if stencil and stencil.text:
                return stencil.with_rows(content, rows)
        found = self.words(data, start, end)
        if found:
            layout, words = found
            if layout and layout[0] == "json":
                self._learn_json(data, start, end)
            stencil = self._stencils.get((self, start, end, layout))
            if stencil is None and self._may_make():
                stencil = self.stencil(data, start, end, layout)
            if stencil and stencil.text:
                self._used += 1
                return stencil.filled(data[start:end], words)
        return _joined(self._rows(data, start, end))

    def _may_make(self) -> bool:
        """Whether there are enough uses for another stencil; to make it takes as long as to draw several fields."""
        return self._made < FIRST_STENCILS + self._used // 4

    def known_stencil(self, content: bytes, start: int, end: int) -> tuple[FieldStencil | None, list[str]]:
        """Return the stencil for a payload at this place, if there is one so far, and the rows of words for it."""
        if end - start > self._longest:
            return None, []
        if PLAIN(content):
            rows = self._plain_rows(content)
            stencil = self._stencils.get((self, start, end, len(rows))) if rows else None
        else:
            rows = []
            stencil = self._stencils.get((self, start, content.translate(_AS_ZERO)))
            if stencil and stencil.leads_with_zero(content):
                stencil = None
        if stencil and stencil.text:
            self._used += 1
        return stencil, rows

    def _plain_rows(self, content: bytes) -> list[str]:
        """Return the rows of words for `PLAIN` content; none if a word is longer than a row."""
        shown, room = f'"{content.decode("ascii")}"', self._room
        return [shown] if len(shown) <= room else [row.rstrip(" ") for row in broken(shown, room)]

    def plain_stencil(self, start: int, end: int, uses: int) -> FieldStencil | None:
        """Return the stencil for `PLAIN` payloads at this place; None if they take several rows, or none is known."""
        self._used += uses
        size = end - start
        fits = size <= self._longest and size + 2 <= self._room
        stencil = self._stencils.get((self, start, end, 1)) if fits else None
        return stencil if stencil and stencil.text else None

    def words(self, data: bytes, start: int, end: int) -> _Words | None:
        """Return the words for the value at this place, and their layout; None where they depend on more than that."""
        if not self._is_text or end - start > self._longest:
            return None
        at = start + self._skip
        if self._is_number:
            if self._has_names:
                return None
            value = _integer(self._node, data, at, end) if self._is_variable else int.from_bytes(data[at:end])
            shown = self.notation(value, self.unit)
            return (len(shown),), shown
        if self._is_pair:
            middle = at + 2 + (data[at] << 8 | data[at + 1])
            name, content = data[at + 2 : middle], data[middle + 2 : end]
            if PLAIN(name) and PLAIN(content):
                return self._laid_out((middle,), f'"{name.decode("ascii")}" = "{content.decode("ascii")}"')
        else:
            content = data[at + self._prefix : end]
            if PLAIN(content):
                return self._laid_out(None, f'"{content.decode("ascii")}"')
        found = self._word_list(data, at, end)
        return (found[0], "".join(found[1])) if found else None

    def _laid_out(self, layout: Layout, text: str) -> _Words:
        """Return ASCII text, which may take several rows, and its layout if it would be this on one row."""
        if len(text) <= self._room:
            return layout, text
        rows = self._fitted(text)
        return (*(layout or ()), "rows", *map(len, rows)), "".join(rows)

    def _fitted(self, text: str) -> list[str]:
        """Return the rows for text below a label, without the spaces at their ends."""
        room = self._room
        if len(text) <= room and text.isascii():
            return [text]
        return [row.rstrip(" ") for row in broken(text, room) or map(text_of, wrap([(text, "")], room))]

    def stencil(self, data: bytes, start: int, end: int, layout: Layout | int) -> FieldStencil:
        """Return the stencil for the rows of the field at this place, with such words; NONE where there is none."""
        key = self, start, end, layout
        stencil = self._stencils.get(key)
        if stencil is None:
            self._made += 1
            stencil = self._stencil(data, start, end)
            self._stencils.keep(key, stencil, KEY + stencil.weight)
        return stencil

    def _learn_json(self, data: bytes, start: int, end: int) -> None:
        """Remember JSON but for its digits: with others it has the same rows, if no number begins with zero."""
        if self._made_for_json < FIRST_STENCILS + self._used // 4:
            self._made_for_json += 1
            stencil = self._stencil(data, start, end, digits=True)
            if stencil.text:
                key = self, start, data[start:end].translate(_AS_ZERO)
                self._stencils.keep(key, stencil, KEY + stencil.weight + end - start)

    def _word_list(self, data: bytes, at: int, end: int) -> tuple[Layout, list[str]] | None:
        """Return the words for the value that begins at `at`, one for each row, and their layout.

        That of `PLAIN` content is another one in `words`, which finds it sooner.
        None for those that stencils have no gaps for.
        """
        if self._is_number:
            shown = self.notation(_integer(self._node, data, at, end), self.unit)
            return (len(shown),), [shown]
        if self._is_pair:
            middle = at + 2 + (data[at] << 8 | data[at + 1])
            words = [*_quoted(data[at + 2 : middle]), *_quoted(data[middle + 2 : end])]
            return self._text_rows([" = ".join(words)], str(middle)) if len(words) == 2 else None
        content = data[at + self._prefix : end]
        kind, text = classify(content) if self._is_blob else ("", "")
        if kind == "json" and self.is_payload:
            lines = list(pretty(text, self._outline.room))
            words = [remark(line) for _, line in lines]
            return (*_layout(words, kind), *[depth for depth, _ in lines]), words
        if kind in ("binary", "empty"):
            return ((kind,), []) if kind == "binary" else None
        # JSON is shown as text, with its kind beside it, where it is no payload.
        return self._text_rows(_quoted(content), kind)

    def _text_rows(self, lines: list[str], kind: str) -> tuple[Layout, list[str]]:
        """Return the words for lines of text, and their layout."""
        rows = [row for line in lines for row in self._fitted(line)]
        return _layout(rows, kind), rows

    def _stencil(self, data: bytes, start: int, end: int, *, digits: bool = False) -> FieldStencil:
        """Return the stencil of a field; NONE if its words are broken, or stand where a stencil has no gaps.

        With `digits`, all but digits is part of the stencil.
        """
        listed = self._word_list(data, start + self._skip, end)
        words = listed[1] if listed else []
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
        fitted = self._broken(data, start, end)
        key = self, end - start
        if fitted and (head := self._known.get(key)) is not None:
            return [*head.split("\n"), *[self._indent + row for row in fitted]], False
        rows, is_inline = self._new_word_rows(data, start, end)
        if fitted:
            head = "\n".join(rows[: -len(fitted)])
            self._known.keep(key, head, KEY + len(head))
        return rows, is_inline

    def _broken(self, data: bytes, start: int, end: int) -> list[str]:
        """Return the rows of `PLAIN` content that is longer than a row; none for anything else."""
        content = data[start + self._skip + self._prefix : end]
        if (
            self._is_pair
            or not self._is_text
            or not self._room - 2 < len(content) <= self._longest
            or not PLAIN(content)
        ):
            return []
        return self._fitted(f'"{content.decode("ascii")}"')

    def _new_word_rows(self, data: bytes, start: int, end: int) -> tuple[list[str], bool]:
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


def _layout(words: list[str], kind: str) -> tuple[object, ...]:
    """Return what two lists of words that are laid out alike have in common."""
    return kind, *map(len, words), *map(cells, words)


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
        if isinstance(node.value, int):
            node.value = _integer(node, data, start, stop)
        start = stop


def _integer(node: Node, data: bytes, start: int, stop: int) -> int:
    if _type_of(node) is not VARIABLE:
        return int.from_bytes(data[start:stop], "big")
    found = variable_integer(data, start, stop)
    assert found
    return found[0]


def _type_of(node: Node) -> WireType | None:
    """Return the data type of a number."""
    if node.row and node.name != "identifier":
        return node.row.type
    return node.field.type or node.field.item if node.field else VARIABLE


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
