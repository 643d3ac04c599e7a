"""Fields of dumps: the rows of a field from its bytes alone, once the tree of one packet has shown what it is.

Values that no packet had before are the rule in some fields, such as the Packet Identifier and the payload. Their rows
differ from earlier ones in bytes and words only, if the words are as long: a *stencil* has gaps for these.
"""

import re
from collections.abc import Iterator, Sequence

from ...codec.tree import Node
from ...common.escape import ascii_column, remark
from ...wire.cursor import Span, variable_integer
from ...wire.types import VARIABLE
from ..terminal.cells import cells, text_of
from ..terminal.style import Palette
from .dump import Sheet
from .layout import Columns, beside, label_rows, text_rows
from .marks import Marks
from .outline import Outline, OutlineEntry
from .payload import classify, pretty
from .texts import KnownTexts
from .values import notation, quoted, unit_of

NO_MARKS = Marks((), 0)
LONGEST_FIELD = 256
"""Bytes of the longest field that is drawn with a stencil."""
FIRST_STENCILS = 64
"""Stencils that are made for a field even if none of them is used again."""
_PLAIN = re.compile(rb"(?! *[\[{])[ !#-\[\]-~]+").fullmatch
"""Content that is shown as it is between quotation marks: ASCII, nothing that is escaped, not the beginning of JSON."""


class FieldStencil:
    """The rows of a field with gaps for the bytes and the words of its value."""

    __slots__ = ("beside", "first", "text")

    def __init__(self, text: str = "", first: int = 0, beside: int = 0) -> None:
        self.text = text
        """The rows as a format; for each row that has them, the hex of its bytes, their characters, and words.

        Rows beside which nothing stands have one gap for both hex and characters.
        """
        self.first = first
        """The first row with words of the value; the rows after it have one each, as long as there are words."""
        self.beside = beside
        """Rows with text beside their bytes."""


_Words = tuple[object, tuple[str, ...]]
"""The words that depend on the bytes of a value, one for each row, and how they are laid out.

Fields of one place whose words are laid out alike have the same stencil.
"""
NONE = FieldStencil()
"""For fields that are drawn without a stencil."""


class FieldPlan:
    """A field with its bits, and how its rows are drawn from its bytes."""

    def __init__(
        self, entries: Sequence[OutlineEntry], columns: Columns, outline: Outline, limit: int | None,
        stencils: KnownTexts[FieldStencil],
    ) -> None:  # fmt: skip
        self.name = entries[-1].nodes[0].name if len(entries) == 1 and entries[-1].nodes else ""
        """The name of a field of its own; empty for bits and properties."""
        self._entries = entries
        self._columns = columns
        self._outline = outline
        self._limit = limit
        self._stencils = stencils
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
        self._node = last = first.nodes[-1] if first.nodes else Node("", Span(0, 0))
        self._skip = int(first.style == "property")
        """Bytes before the value, which are the identifier of a property."""
        self._is_number = isinstance(last.value, int)
        self._has_names = bool(last.field.names if last.field else last.row and last.row.names)
        self._notation, self._unit = notation(last.kind), unit_of(last)
        self._is_pair = first.style == "property" and len(first.nodes) == 3
        self._is_blob = isinstance(last.value, bytes)
        self._is_payload = last.kind == "payload"
        if self._is_payload and outline.payloads:
            self._longest = 0
        self._made = self._used = 0
        """How often a stencil was made, and one was used."""

    def draw(self, data: bytes, start: int, end: int, palette: Palette, marks: Marks | None = None) -> str:
        """Return the rows of the field at this place, and the findings in it, each line with its end."""
        if self._is_text and not marks and not palette.color:
            # A field that no packet had before comes here in nearly every packet; styled text takes twice as long.
            return self._text(data, start, end)
        sheet = self._sheet
        sheet.data = self._outline.decoded.data = data
        sheet.marks = marks or NO_MARKS
        lines: list[str] = []
        for entry in self._entries:
            _move(entry, data, start, end)
            lines += map(palette.text, sheet.entry(self._outline.again(entry)))
        sheet.data = self._outline.decoded.data = b""
        sheet.marks = NO_MARKS
        lines.append("")
        return "\n".join(lines)

    # rows of whole bytes as they are without colours

    def _text(self, data: bytes, start: int, end: int) -> str:
        """Return the rows of a field of whole bytes."""
        found = self.filling(data, start, end)
        if found is None:
            return _joined(self._rows(data, start, end))
        stencil, gaps = found
        return stencil.text % gaps

    def filling(self, data: bytes, start: int, end: int) -> tuple[FieldStencil, tuple[str, ...]] | None:
        """Return a stencil for the rows of the field at this place, and what belongs into its gaps.

        None where no stencil fits. Stencils have no colours.
        """
        if not self._is_text or end - start > self._longest:
            return None
        found = self._words(data, start, end)
        if found is None:
            return None
        layout, words = found
        key = self, start, end, layout
        stencil = self._stencils.get(key)
        if stencil is None:
            # To make a stencil takes as long as to draw several fields.
            if self._made > FIRST_STENCILS + self._used // 4:
                return None
            self._made += 1
            stencil = self._stencil(data, start, end, words)
            self._stencils.keep(key, stencil, len(stencil.text))
        self._used += 1
        return (stencil, self._gaps(stencil, data[start:end], words)) if stencil.text else None

    def _gaps(self, stencil: FieldStencil, content: bytes, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return what belongs into the gaps of a stencil."""
        step, ascii, width = self._columns.per_row, self._columns.ascii, self._columns.bytes
        shown = content.hex(" ")
        if len(content) <= step:
            return (shown, ascii_column(content), *words) if ascii else (shown, *words)
        characters = ascii_column(content) if ascii else ""
        gaps: list[str] = []
        row, first, last, beside = 0, stencil.first, stencil.first + len(words), stencil.beside
        for at in range(0, len(content), step):
            octets = shown[3 * at : 3 * (at + step) - 1]
            if row >= beside:
                # Lines have no spaces at their ends.
                gaps.append((octets.ljust(width) + characters[at : at + step]).rstrip() if ascii else octets)
            else:
                gaps.append(octets)
                if ascii:
                    gaps.append(characters[at : at + step])
                if first <= row < last:
                    gaps.append(words[row - first])
            row += 1
        gaps += words[max(row - first, 0) :]
        return tuple(gaps)

    def _words(self, data: bytes, start: int, end: int) -> _Words | None:
        """Return the words for a value, None for those that stencils have no gaps for."""
        at = start + self._skip
        if self._is_number:
            if self._has_names:
                return None
            shown = self._notation(_integer(self._node, data, at, end), self._unit)
            return len(shown), (shown,)
        if self._is_pair:
            middle = at + 2 + (data[at] << 8 | data[at + 1])
            words = [*_quoted(data[at + 2 : middle]), *_quoted(data[middle + 2 : end])]
            if len(words) != 2:
                return None
            return (middle, *map(cells, words)), (" = ".join(words),)
        content = data[at + self._node.prefix : end]
        if _PLAIN(content):
            return end - at, (f'"{content.decode("ascii")}"',)
        return self._blob_words(content) if self._is_blob else _laid_out(_quoted(content))

    def _blob_words(self, content: bytes) -> _Words | None:
        kind, text = classify(content)
        if kind == "binary":
            return kind, ()
        if kind == "text" or (kind == "json" and not self._is_payload):
            # Either is shown as text, with its kind beside it.
            return _laid_out(_quoted(content), kind)
        if kind != "json":
            return None
        lines = list(pretty(text, self._outline.room))
        words = tuple([remark(line) for _, line in lines])
        return (kind, *[(depth, cells(word)) for (depth, _), word in zip(lines, words, strict=True)]), words

    def _stencil(self, data: bytes, start: int, end: int, words: tuple[str, ...]) -> FieldStencil:
        """Return the stencil of a field; NONE if its words are broken, or stand where a stencil has no gaps."""
        columns, above = self._columns, len(self._label.above)
        rows, is_inline = self._word_rows(data, start, end)
        first = above if is_inline else above + 1
        if words and len(rows) != first + len(words):
            return NONE
        formats = [row.replace("%", "%%") for row in rows]
        for at, word in enumerate(words, first):
            row = rows[at]
            begin = len(self._begin) if is_inline else len(row) - len(row.lstrip(" "))
            if not row.startswith(word, begin):
                return NONE
            before, after = row[:begin].replace("%", "%%"), row[begin + len(word) :].replace("%", "%%")
            formats[at] = f"{before}%s{after}"
        return FieldStencil(_joined(list(_byte_formats(formats, start, end, columns))), first, len(rows))

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
    if _PLAIN(content):
        return [f'"{content.decode("ascii")}"']
    return quoted(content.decode("utf-8", "surrogateescape"))


def _laid_out(words: list[str], kind: str = "") -> _Words:
    return (kind, *map(cells, words)), tuple(words)


def _joined(rows: list[str]) -> str:
    rows.append("")
    return "\n".join(rows)


def _byte_formats(words: list[str], start: int, end: int, columns: Columns) -> Iterator[str]:
    """Yield rows with gaps for the bytes from `start` to `end`, beside these formats of the field column."""
    padded = f"%-{columns.bytes}s" + (f"%-{columns.per_row + 2}s" if columns.ascii else "")
    places = range(start, end, columns.per_row)
    for row in range(max(len(places), len(words))):
        beside = words[row].rstrip() if row < len(words) else ""
        if row < len(places):
            yield f"{places[row]:0{columns.digits}x}  {padded if beside else '%s'}{beside}"
        else:
            yield f"{' ' * columns.left}{beside}".rstrip()


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
    type = (
        node.row.type
        if node.row and node.name != "identifier"
        else node.field.type or node.field.item
        if node.field
        else VARIABLE
    )
    if type is not VARIABLE:
        return int.from_bytes(data[start:stop], "big")
    found = variable_integer(data, start, stop)
    assert found
    return found[0]
