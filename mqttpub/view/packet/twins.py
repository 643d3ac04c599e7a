"""Packets of one size that differ in Packet Identifier and payload only: nearly all of those sent in bulk.

The text of such *twins* is that of one of them, with gaps for these values. Many are drawn together: each gap has a
column of what belongs into it.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from struct import Struct
from typing import Any

from ...codec.tree import Finding
from ...common.lru import BoundedMemo
from ...lint.packet.fast import is_quick
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from ...spec.properties import PAYLOAD_FORMAT_INDICATOR
from ...spec.versions import Direction, Version
from .field_plan import PLAIN, FieldPlan, PacketPlan
from .field_stencil import GAP, KEY, WORDS, Column, FieldStencil, Gap, GapColumns, as_format, texts_of
from .plan import MOST_TEXT, PlannedPacket, RepeatedDumps

ACKS = {kind.code: kind for kind in (Puback, Pubrec, Pubrel, Pubcomp)}
LONGEST = 512
"""Bytes of the longest packet, without its payload, that is drawn with its twins."""
FEWEST_TOGETHER = 4
"""Fewest payloads with one stencil that are drawn together."""

Judge = Callable[[bytes, Version, Direction], tuple[Any, Sequence[Finding]]]
"""Returns the values and the findings of a packet by itself."""


class TwinTexts:
    """The texts of twins, as UTF-8."""

    def __init__(self, format: bytes, columns: list[Column], between: int, ids: list[int], *, has_ends: bool) -> None:
        self.ids = ids
        """Their Packet Identifiers; empty if they have none."""
        self._format = format
        self._columns = columns
        self._between = between
        self._has_ends = has_ends

    def drawn(self, between: Column) -> Column:
        """Return the text of each packet, with an empty line before it and its line below the headline."""
        columns = [*self._columns[: self._between], between, *self._columns[self._between :]]
        return texts_of(self._format, columns, has_ends=self._has_ends)


class TwinDumps:
    """Draws twins as `dumps` draws packets without findings, if that has no colours.

    It keeps at most `MOST_TEXT` characters of what twins have in common.
    """

    def __init__(self, dumps: RepeatedDumps, judge: Judge) -> None:
        self._dumps = dumps
        self._judge = judge
        self._forms: BoundedMemo[tuple[PacketPlan, int, int, bytes], _TwinForm | None] = BoundedMemo(MOST_TEXT)
        """By plan, size, digits of the Packet Identifier, and the bytes that twins have in common; None for packets
        that are drawn one by one."""

    def together(self, data: bytes, size: int, version: Version, direction: Direction) -> TwinTexts | None:
        """Return the texts of packets of `size` bytes each if they are twins and have no findings by themselves.

        None also if their Packet Identifiers have different numbers of digits.
        """
        # A column for each gap takes a third of the time of one packet after the other (tests/benchmarks/inspected.py).
        first = data[:size]
        planned = None if self._dumps.palette.color else self._dumps.planned(first, version, direction)
        if planned is None or planned.number == "0":
            return None
        plan, id, stop = planned.plan, planned.id_place, planned.payload_place
        if stop > LONGEST:
            return None
        key = plan, size, len(planned.number), first[:id] + first[id + 2 if id else 0 : stop]
        if key in self._forms:
            form = self._forms[key]
        else:
            # Twins of a packet without findings have none.
            is_clean = _has_twins(plan) and not self._judge(first, version, direction)[1]
            form = _TwinForm.of(planned, first) if is_clean else None
            self._forms.keep(key, form, KEY + stop + (form.weight if form else 0))
        return form.texts(data) if form else None


class _TwinForm:
    """What twins have in common: their text, but for the line below the headline, and their bytes."""

    @classmethod
    def of(cls, planned: PlannedPacket, data: bytes) -> "_TwinForm | None":
        """Return the form of a packet; None where a row above the payload may end with spaces."""
        plan, places, (before, numbered, after), number = planned
        gaps = [Gap(WORDS)] if numbered else []
        text = f"{as_format(before)}{'%s' * numbered}{as_format(after)}%s"
        for field, (start, end) in zip(plan.fields, pairwise(places), strict=True):
            if start == planned.payload_place:
                break
            if not number or start != planned.id_place:
                text += as_format(field.rows(data, start, end))
                continue
            found = field.stencil(data, start, end)
            if found is None or found[0].ends:
                return None
            text += found[0].text
            gaps += found[0].gaps_at(start)
        return cls(planned, data, _GappedText(text, gaps, len(data)))

    def __init__(self, planned: PlannedPacket, data: bytes, format: "_GappedText") -> None:
        plan, id, stop, size = planned.plan, planned.id_place, planned.payload_place, len(data)
        self._id_field = plan.fields[plan.id_field]
        self._payload = plan.fields[plan.payload_field] if plan.payload_field else None
        self._size, self._stop = size, stop
        before, after = (f"{id}s2x", id + 2) if id else ("", 0)
        self._fixed = Struct(f"{before}{stop - after}s{size - stop}x")
        """Unpacks the bytes that twins have in common."""
        self._common = self._fixed.unpack(data)
        self._ids = Struct(f">{id}xH{size - id - 2}x") if id else None
        self._contents = Struct(f"{stop}x{size - stop}s")
        self._between = int(planned.headline.numbered)
        """How many gaps are before that for the line below the headline."""
        self._format = format
        self._with_row: _GappedText | None = None
        """The same with the row of a short payload."""
        self.weight = 3 * (len(format.text) + GAP * len(format.gaps))
        """How many characters of memory it takes."""

    def texts(self, data: bytes) -> TwinTexts | None:
        """Return the texts of packets; None if one of them is no twin, or has an identifier of another width."""
        common = list(self._fixed.iter_unpack(data))
        if common.count(self._common) != len(common):
            return None
        ids: list[int] = []
        shown: list[Column] = []
        """The words for each gap of them."""
        if self._ids:
            ids = [id for (id,) in self._ids.iter_unpack(data)]
            if 0 in ids or len(str(min(ids))) < len(str(max(ids))):
                return None
            shown = [[b"%d" % id for id in ids]] * self._between
            shown.append([self._id_field.notation(id, self._id_field.unit).encode() for id in ids])
        format, payloads = self._format, list[Column]()
        if self._payload:
            contents = [content for (content,) in self._contents.iter_unpack(data)]
            if found := self._format_with_row(self._payload, data, contents):
                format = found
                shown.append([b'"%s"' % content for content in contents])
            else:
                payloads = [_payloads(self._payload, self._stop, data, contents)]
        columns, has_ends = format.columns.of(data, iter(shown))
        whole = b"\n%s%s" % (format.text.encode(), b"%s" * len(payloads))
        return TwinTexts(whole, [*columns, *payloads], self._between, ids, has_ends=has_ends)

    def _format_with_row(self, payload: FieldPlan, data: bytes, contents: list[bytes]) -> "_GappedText | None":
        """Return the format with the rows of payloads if all are `PLAIN` and take one row; None otherwise."""
        # Short numbers and words, the usual payloads of bulk runs: one call draws the packet with its payload.
        found = payload.stencil(data[: self._size], self._stop, self._size) if all(map(PLAIN, contents)) else None
        if found is None or len(found[1]) > 1:
            return None
        if self._with_row is None:
            self._with_row = self._format.with_field(found[0], self._stop)
        return self._with_row


class _GappedText:
    """A text of packets of `size` bytes with gaps; `last` are the last bytes of rows beside which nothing stands."""

    def __init__(self, text: str, gaps: Sequence[Gap], size: int, last: Sequence[int] = ()) -> None:
        self.text = text
        self.gaps = gaps
        self._size = size
        self.columns = GapColumns(gaps, size, last)

    def with_field(self, field: FieldStencil, start: int) -> "_GappedText":
        """Return the same with the rows of one more field, which begins at `start`."""
        gaps = [*self.gaps, *field.gaps_at(start)]
        return _GappedText(self.text + field.text, gaps, self._size, [start + end for end in field.ends])


def _payloads(field: FieldPlan, start: int, data: bytes, contents: list[bytes]) -> Column:
    """Return the rows of the payload of each packet, drawing those together that have one stencil."""
    texts: list[bytes] = [b""] * len(contents)
    alike: dict[FieldStencil, list[tuple[int, bytes, list[str]]]] = {}
    size = start + len(contents[0])
    for at, content in enumerate(contents):
        packet = data[at * size : at * size + size]
        if found := field.stencil(packet, start, size):
            alike.setdefault(found[0], []).append((at, content, found[1]))
        else:
            texts[at] = field.text(packet, start, size).encode()
    for stencil, some in alike.items():
        if len(some) < FEWEST_TOGETHER:
            for at, content, rows in some:
                texts[at] = stencil.filled(content, rows).encode()
        else:
            places, drawn, all_rows = zip(*some, strict=True)
            for at, text in zip(places, stencil.each_filled(drawn, all_rows), strict=True):
                texts[at] = text
    return texts


def _has_twins(plan: PacketPlan) -> bool:
    """Whether twins of a packet without findings have none."""
    code, *properties = plan.choices
    if code >> 4 == Publish.code:
        # Whether a payload suits that property depends on its bytes.
        return is_quick(Publish) and PAYLOAD_FORMAT_INDICATOR.id not in properties
    return code >> 4 in ACKS and is_quick(ACKS[code >> 4])
