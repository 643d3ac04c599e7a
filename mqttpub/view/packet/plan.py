"""Dumps of well-formed packets, drawn from what earlier packets with the same fields have taught.

The first packet with some fields is decoded to its tree. Its *plan* remembers the fields; another packet with the same
ones needs only the places of its own. The rows of a field are drawn as in any other dump, and remembered too: most
fields of most packets hold what an earlier one held at the same place. Findings are drawn with the field that they are
in.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...codec.connect_version import connect_layout
from ...codec.decode import decode
from ...codec.fast_decode import Irregular, reader
from ...codec.field_ends import field_ends
from ...codec.tree import Decoded, Finding, Node
from ...spec.packets import Connect
from ...spec.versions import Direction, Version
from ...wire.cursor import Span, variable_integer
from ...wire.types import VARIABLE
from ..terminal.cells import Line, cells, text_of
from ..terminal.style import Palette
from .dump import Sheet, headline
from .layout import NARROWEST, Columns, beside, label_rows, text_rows
from .marks import Marks, sentence
from .outline import Outline, OutlineEntry

if TYPE_CHECKING:
    from .formatted import PayloadFormat

MOST_PLANS = 256
MOST_FIELDS = 64
"""Fields of the longest plan; packets with more are drawn from their tree."""
MOST_FIELD_PLANS = 2048
MOST_TEXT = 1 << 20
"""Characters of rows that are remembered."""
LONGEST_FIELD = 64
"""Bytes of the longest field whose rows are remembered."""
MOST_HEADLINES = 2048
NO_MARKS = Marks((), 0)
_NUMBER = "\0"


class RepeatedDumps:
    """Draws well-formed packets with one palette, at one width; its memory has the bounds above."""

    def __init__(
        self, palette: Palette, *, width: int, limit: int | None, secrets: bool, payloads: "PayloadFormat | None" = None
    ) -> None:
        self.palette = palette
        self.width = width
        self.limit = limit
        self.secrets = secrets
        self.payloads = payloads
        self._plans: dict[tuple[int, ...], _PacketPlan] = {}
        self._fields: dict[Any, _FieldPlan] = {}
        self._headlines: dict[tuple[_PacketPlan, int, int, int], tuple[str, bool, str]] = {}
        self._rows: dict[tuple[_FieldPlan, int, bytes], str] = {}
        self._room = MOST_TEXT
        """Characters that may still be added to `_rows`."""

    def draw(
        self, data: bytes, version: Version, direction: Direction | None, findings: Sequence[Finding] = ()
    ) -> tuple[str, str] | None:
        """Return the headline and the rows of a packet, each line with its end; None if its tree is needed.

        `findings` are all that the packet has.
        """
        if data and data[0] >> 4 == Connect.code:
            version = connect_layout(data) or version
        found = field_ends(data, version)
        if found is None or (findings and not _is_well_formed(data, version, found[0][1])):
            return None
        ends, choices = found
        side = 1 if direction is Direction.CLIENT else 2 if direction else 0
        key = (version << 2 | side, (len(data) - 1 >> 16).bit_length(), len(ends), *choices)
        plan = self._plans.get(key) or self._learn(key, decode(data, version, direction=direction), ends)
        if plan is None:
            return None
        draw = self._marked if findings else self._unmarked
        return self._headline(plan, data, ends), "".join(draw(plan, data, ends, findings))

    def _headline(self, plan: "_PacketPlan", data: bytes, ends: list[int]) -> str:
        """Return the headline of a packet; packets with one length, and as long a Packet Identifier, have the same."""
        number, reason = "", 0
        if plan.id_at:
            at = ends[plan.id_at]
            number = str(data[at] << 8 | data[at + 1])
        if plan.reason_at:
            reason = data[ends[plan.reason_at]]
        key = plan, len(data), len(number), reason
        parts = self._headlines.get(key)
        if parts is None:
            if len(self._headlines) >= MOST_HEADLINES:
                self._headlines.clear()
            text = self.palette.text(plan.headline(data, _NUMBER * len(number), reason, self.width))
            # A headline without room for it does not have the Packet Identifier.
            before, found, after = text.partition(_NUMBER * len(number)) if number else (text, "", "")
            parts = self._headlines[key] = before, bool(found), f"{after}\n"
        before, numbered, after = parts
        return f"{before}{number}{after}" if numbered else before + after

    def _unmarked(
        self, plan: "_PacketPlan", data: bytes, ends: Sequence[int], findings: Sequence[Finding] = ()
    ) -> list[str]:
        """Return the rows of each field of a packet without findings."""
        start, rows, made = 0, self._rows, []
        for field, end in zip(plan.fields, ends, strict=True):
            key = field, start, data[start:end]
            text = rows.get(key)
            if text is None:
                text = field.draw(data, start, end, self.palette)
                if end - start <= LONGEST_FIELD:
                    self._remember(key, text)
            made.append(text)
            start = end
        return made

    def _marked(self, plan: "_PacketPlan", data: bytes, ends: Sequence[int], findings: Sequence[Finding]) -> list[str]:
        """Return the rows of each field of a packet, those with findings drawn anew, and findings without a byte."""
        marks, made = Marks(findings, len(data)), self._unmarked(plan, data, ends)
        for at, (start, end) in enumerate(pairwise((0, *ends))):
            if marks.within(start, end):
                made[at] = plan.fields[at].draw(data, start, end, self.palette, marks)
        for finding in marks.rest():
            made += [f"{self.palette.text(line)}\n" for line in sentence(finding, max(self.width, NARROWEST))]
        return made

    def _remember(self, key: "tuple[_FieldPlan, int, bytes]", text: str) -> None:
        self._room -= len(text) + LONGEST_FIELD
        if self._room < 0:
            self._rows.clear()
            self._room = MOST_TEXT
        self._rows[key] = text

    def _learn(self, key: tuple[int, ...], decoded: Decoded, ends: list[int]) -> "_PacketPlan | None":
        """Return the plan of a packet; None if it has too many fields, or a finding after all."""
        if decoded.findings or decoded.packet is None or len(ends) > MOST_FIELDS:
            return None
        columns = Columns.fitting(self.width, len(decoded.data))
        outline = Outline(
            decoded, limit=self.limit, secrets=self.secrets, room=columns.detail - 4, payloads=self.payloads
        )
        entries = list(outline.entries())
        columns = columns.labelled(entries)
        groups = _by_field(entries)
        if [_end(group) for group in groups] != ends:
            return None
        if len(self._plans) >= MOST_PLANS or len(self._fields) + len(groups) > MOST_FIELD_PLANS:
            self._plans.clear()
            self._fields.clear()
            self._headlines.clear()
            self._rows.clear()
            self._room = MOST_TEXT
        fields = [self._field(group, columns, outline) for group in groups]
        plan = self._plans[key] = _PacketPlan(decoded, fields, ends)
        _forget_values(decoded)
        return plan

    def _field(self, entries: Sequence[OutlineEntry], columns: Columns, outline: Outline) -> "_FieldPlan":
        """Return the plan of a field, which packets with other fields may have too."""
        decoded = outline.decoded
        key = decoded.type, decoded.version, columns, *(_signature(entry) for entry in entries)
        field = self._fields.get(key)
        if field is None:
            field = self._fields[key] = _FieldPlan(entries, columns, outline, self.limit)
        return field


def _is_well_formed(data: bytes, version: Version, start: int) -> bool:
    """Whether the tree of a packet, whose variable header begins at `start`, has no finding of its own."""
    try:
        reader(data[0] >> 4, version)(data, data[0], start, len(data))
    except Irregular:
        return False
    return True


def _by_field(entries: Sequence[OutlineEntry]) -> list[list[OutlineEntry]]:
    """Return the entries of each field that has bytes: its headings, itself and its bits; empty ones with the last."""
    groups: list[list[OutlineEntry]] = []
    waiting: list[OutlineEntry] = []
    for entry in entries:
        if entry.parts:
            groups.append([*waiting, entry])
            waiting = []
        elif entry.mask:
            groups[-1].append(entry)
        else:
            waiting.append(entry)
    groups[-1] += waiting
    return groups


def _end(entries: Sequence[OutlineEntry]) -> int:
    return next(entry.stop for entry in entries if entry.parts)


def _signature(entry: OutlineEntry) -> Any:
    """Return what two entries that are drawn alike have in common, but for their places and values."""
    nodes = (
        (each.name, each.kind, each.field, each.row and each.row.id, each.prefix, each.mask) for each in entry.nodes
    )
    return entry.label, entry.style, entry.depth, entry.mask, entry.later, entry.octet, entry.nodes == (), *nodes


def _forget_values(decoded: Decoded) -> None:
    """Keep of the values of a tree only what kind they are of, so that plans stay small."""
    decoded.data, decoded.packet = b"", None
    for _, node in decoded.root.walk():
        if not isinstance(node.value, int):
            node.value = "" if isinstance(node.value, str) else b""


class _PacketPlan:
    """The fields of packets that differ only in the places and values of these."""

    def __init__(self, decoded: Decoded, fields: "list[_FieldPlan]", ends: list[int]) -> None:
        self.fields = fields
        self._decoded = decoded
        self._qos, id, self._reason = (decoded.root.child(name) for name in ("qos", "packet_id", "reason_code"))
        self.id_at, self.reason_at = (ends.index(each.span.start) if each else 0 for each in (id, self._reason))
        """The fields before these; 0 for a packet without them."""

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


class _FieldPlan:
    """A field with its bits, and how its rows are drawn from its bytes."""

    def __init__(self, entries: Sequence[OutlineEntry], columns: Columns, outline: Outline, limit: int | None) -> None:
        self._entries = entries
        self._columns = columns
        self._outline = outline
        self._limit = limit
        self._sheet = Sheet(outline.decoded, columns, limit)
        first = entries[0]
        self._label = label_rows(first, columns)
        self._begin = f"{text_of(self._label.last):{self._label.value}}"
        """The text before a value that stands beside the label."""
        masked = not outline.secrets and any(node.kind == "secret" for node in first.nodes)
        self._is_text = len(entries) == 1 and bool(first.parts) and not masked
        """Whether its rows can be put together as text, without styles."""

    def draw(self, data: bytes, start: int, end: int, palette: Palette, marks: Marks | None = None) -> str:
        """Return the rows of the field at this place, and the findings in it, each line with its end."""
        decoded, sheet = self._outline.decoded, self._sheet
        sheet.data = decoded.data = data
        sheet.marks = marks or NO_MARKS
        if self._is_text and not marks and not palette.color:
            # A field that no packet had before comes here in nearly every packet; styled text takes twice as long.
            lines = self._text(data, start, end)
        else:
            lines = []
            for entry in self._entries:
                _move(entry, data, start, end)
                lines += map(palette.text, sheet.entry(self._outline.again(entry)))
        sheet.data = decoded.data = b""
        sheet.marks = NO_MARKS
        lines.append("")
        return "\n".join(lines)

    def _text(self, data: bytes, start: int, end: int) -> list[str]:
        """Return the rows of a field of whole bytes as they are without colours."""
        entry, columns = self._entries[0], self._columns
        _move(entry, data, start, end)
        about = self._outline.words(entry)
        inline = text_of(about.inline)
        if inline and not self._label.above and self._label.value + cells(inline) <= columns.detail:
            words = [self._begin + inline]
        else:
            words = [text_of(line) for line in beside(self._label, about, 2 * entry.depth, columns)]
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
