"""Dumps of well-formed packets, drawn from what earlier packets with the same fields have taught.

The first packet with some fields is decoded to its tree. Its *plan* remembers the fields; another packet with the same
ones needs only the places of its own. The rows of a field are drawn as in any other dump, and remembered too: most
fields of most packets hold what an earlier one held at the same place. Fields that hold the same in nearly all packets
of a plan are remembered together, as a *stencil* with gaps for the rows of the others. Findings are drawn with the
field that they are in.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...codec.connect_version import connect_layout
from ...codec.decode import decode
from ...codec.fast_decode import Irregular, reader
from ...codec.field_ends import field_ends
from ...codec.tree import Decoded, Finding
from ...spec.packets import Connect
from ...spec.versions import Direction, Version
from ..terminal.cells import Line
from ..terminal.style import Palette
from .dump import headline
from .field_plan import FieldPlan, FieldStencil
from .layout import NARROWEST, Columns
from .marks import Marks, sentence
from .outline import Outline, OutlineEntry
from .texts import KnownTexts
from .twins import Gap, Headline, Twins, may_have_twins

if TYPE_CHECKING:
    from .formatted import PayloadFormat

MOST_PLANS = 256
MOST_FIELDS = 64
"""Fields of the longest plan; packets with more are drawn from their tree."""
MOST_FIELD_PLANS = 2048
MOST_TEXT = 1 << 20
"""Characters of rows that are remembered, of stencils of packets, and of stencils of fields."""
LONGEST_FIELD = 64
"""Bytes of the longest field whose rows are remembered."""
LONGEST_STENCIL = 512
"""Bytes of the fields that a stencil of a packet shows, at most; its key has them."""
MOST_HEADLINES = 2048
WATCHED = 64
"""Packets of a plan whose fields are compared with earlier ones, before it is settled which of them differ."""
RENEWED = 8192
"""Packets after which the fields are compared again."""
MOST_TWINS = 256
"""Twins that a plan learns before its fields are compared again."""
SELDOM = 16
"""One packet in so many may differ in a field of a stencil."""
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
        self._fields: dict[Any, FieldPlan] = {}
        self._headlines: dict[tuple[_PacketPlan, int, int, int], Headline] = {}
        self._rows: KnownTexts[str] = KnownTexts(MOST_TEXT)
        """Rows of fields, by field, place and bytes."""
        self._stencils: KnownTexts[str] = KnownTexts(MOST_TEXT)
        """Rows of packets as formats with gaps, by plan, and places and bytes of the other fields."""
        self._field_stencils: KnownTexts[FieldStencil] = KnownTexts(MOST_TEXT)
        self._twins = Twins(MOST_TEXT)

    def again(self, data: bytes, version: Version, direction: Direction, between: str = "") -> tuple[str, int] | None:
        """Return what `draw` does, and the Packet Identifier, of a twin of a packet that had no findings.

        Such a packet has none by itself either. None if it is not known to be a twin; 0 for no Packet Identifier.
        """
        return self._twins.draw(data, version << 2 | (1 if direction is Direction.CLIENT else 2), between)

    def draw(
        self, data: bytes, version: Version, direction: Direction | None, findings: Sequence[Finding] = (),
        between: str = "",
    ) -> str | None:  # fmt: skip
        """Return the text of a packet, each line with its end; None if its tree is needed.

        `findings` are all that the packet has; `between` is a line below the headline.
        """
        side = _side(version, direction)
        if not findings and (twin := self._twins.draw(data, side, between)):
            return twin[0]
        if data and data[0] >> 4 == Connect.code:
            version = connect_layout(data) or version
        found = field_ends(data, version)
        if found is None or (findings and not _is_well_formed(data, version, found[0][1])):
            return None
        ends, choices = found
        key = (_side(version, direction), (len(data) - 1 >> 16).bit_length(), len(ends), *choices)
        plan = self._plans.get(key) or self._learn(key, decode(data, version, direction=direction), ends)
        if plan is None:
            return None
        places = [0, *ends]
        headline, number = self._headline(plan, data, ends)
        if findings:
            rows = self._marked(plan, data, places, findings)
        elif plan.is_settled:
            rows = self._gapped(plan, data, places)
            if plan.twins_left and not self.palette.color:
                plan.twins_left -= 1
                self._learn_twin(plan, data, places, side, headline)
        else:
            rows = self._watched(plan, data, places)
        before, numbered, after = headline
        return f"{before}{number if numbered else ''}{after}{between}{rows}"

    def _headline(self, plan: "_PacketPlan", data: bytes, ends: list[int]) -> tuple[Headline, str]:
        """Return the headline of a packet and its Packet Identifier.

        Packets with one length, and as long a Packet Identifier, have the same headline.
        """
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
            parts = self._headlines[key] = Headline(before, bool(found), f"{after}\n")
        return parts, number

    # Rows of the fields of a packet; field `n` begins at `places[n]`.

    def _watched(self, plan: "_PacketPlan", data: bytes, places: Sequence[int]) -> str:
        """Return the rows of a packet, and note which of its fields no earlier packet had."""
        text = "".join([self._row(plan, at, data, places) for at in range(len(plan.fields))])
        plan.count()
        return text

    def _gapped(self, plan: "_PacketPlan", data: bytes, places: Sequence[int]) -> str:
        """Return the rows of a packet: a stencil with the rows of the fields that differ."""
        key: Any = plan
        for first, last in plan.alike:
            start = places[first]
            key = key, start, data[start : places[last]]
        stencil = self._stencils.get(key) or self._stencil(plan, key, data, places)
        # Packet Identifiers seldom come again, and take no longer to draw than to look up and remember.
        gaps = [
            plan.fields[at].draw(data, places[at], places[at + 1], self.palette)
            if at == plan.id_field
            else self._row(plan, at, data, places)
            for at in plan.gaps
        ]
        plan.count()
        return stencil % tuple(gaps)

    def _marked(self, plan: "_PacketPlan", data: bytes, places: Sequence[int], findings: Sequence[Finding]) -> str:
        """Return the rows of a packet, those of fields with findings drawn anew, and findings without a byte."""
        marks, made = Marks(findings, len(data)), []
        for at, (start, end) in enumerate(pairwise(places)):
            if marks.within(start, end):
                made.append(plan.fields[at].draw(data, start, end, self.palette, marks))
            else:
                made.append(self._row(plan, at, data, places))
        for finding in marks.rest():
            made += [f"{self.palette.text(line)}\n" for line in sentence(finding, max(self.width, NARROWEST))]
        return "".join(made)

    def _row(self, plan: "_PacketPlan", at: int, data: bytes, places: Sequence[int]) -> str:
        """Return the rows of a field, which most packets have in common with earlier ones."""
        field, start, end = plan.fields[at], places[at], places[at + 1]
        key = field, start, data[start:end]
        text = self._rows.get(key)
        if text is None:
            plan.misses[at] += 1
            text = field.draw(data, start, end, self.palette)
            if end - start <= LONGEST_FIELD:
                self._rows.keep(key, text, len(text))
        return text

    def _stencil(self, plan: "_PacketPlan", key: Any, data: bytes, places: Sequence[int]) -> str:
        """Return the rows of a packet as a format, with gaps for those that differ."""
        text = "".join(
            "%s" if at in plan.gaps else self._row(plan, at, data, places).replace("%", "%%")
            for at in range(len(plan.fields))
        )
        plan.new_stencils += 1
        if sum(places[last] - places[first] for first, last in plan.alike) <= LONGEST_STENCIL:
            self._stencils.keep(key, text, len(text) + LONGEST_STENCIL)
        return text

    def _learn_twin(
        self, plan: "_PacketPlan", data: bytes, places: Sequence[int], side: int, headline: Headline
    ) -> None:
        rows, gaps = [""], {}
        for at, name in enumerate(plan.names):
            if at in plan.gaps:
                gaps[name] = Gap(plan.fields[at], places[at])
                rows.append("")
            else:
                rows[-1] += self._row(plan, at, data, places)
        self._twins.learn(data, side, headline, rows, gaps.get("packet_id"), gaps.get("payload"))

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
            for known in (self._rows, self._stencils, self._field_stencils, self._twins):
                known.clear()
        fields = [self._field(group, columns, outline) for group in groups]
        plan = self._plans[key] = _PacketPlan(key[3:], decoded, fields, ends)
        _forget_values(decoded)
        return plan

    def _field(self, entries: Sequence[OutlineEntry], columns: Columns, outline: Outline) -> FieldPlan:
        """Return the plan of a field, which packets with other fields may have too."""
        decoded = outline.decoded
        key = decoded.type, decoded.version, columns, *(_signature(entry) for entry in entries)
        field = self._fields.get(key)
        if field is None:
            field = self._fields[key] = FieldPlan(entries, columns, outline, self.limit, self._field_stencils)
        return field


def _side(version: Version, direction: Direction | None) -> int:
    """Return a number for version and direction."""
    return version << 2 | (1 if direction is Direction.CLIENT else 2 if direction else 0)


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

    def __init__(self, choices: Sequence[int], decoded: Decoded, fields: list[FieldPlan], ends: list[int]) -> None:
        self.fields = fields
        self.names = [field.name for field in fields]
        self.twins_left = 0
        """How often a twin may still be learned, which takes as long as to draw several packets."""
        self._choices = choices
        self._decoded = decoded
        self._qos, id, self._reason = (decoded.root.child(name) for name in ("qos", "packet_id", "reason_code"))
        self.id_at, self.reason_at = (ends.index(each.span.start) if each else 0 for each in (id, self._reason))
        """The fields before these; 0 for a packet without them."""
        self.id_field = self.id_at + 1 if self.id_at else 0
        self._watch()

    def _watch(self) -> None:
        self.is_settled = False
        """Whether it is known which fields differ; until then all are drawn one by one."""
        self.gaps: list[int] = []
        """The fields that differ."""
        self.alike: list[tuple[int, int]] = []
        """The first of the fields between gaps, and the one after the last."""
        self.misses = [0] * len(self.fields)
        """How often each field held what was not remembered."""
        self.new_stencils = self.twins_left = self._drawn = 0

    def count(self) -> None:
        """Count a packet; now and then, see which of its fields differ."""
        self._drawn += 1
        if not self.is_settled:
            if self._drawn == WATCHED:
                self._settle([at for at, misses in enumerate(self.misses) if misses > WATCHED // SELDOM])
        elif self._drawn == RENEWED or self.new_stencils > RENEWED // SELDOM:
            self._watch()

    def _settle(self, gaps: list[int]) -> None:
        self.is_settled = True
        self.gaps = gaps
        between = pairwise((-1, *gaps, len(self.fields)))
        self.alike = [(first + 1, last) for first, last in between if first + 1 < last]
        self.twins_left = MOST_TWINS if may_have_twins(self._choices, {self.names[at] for at in gaps}) else 0

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
