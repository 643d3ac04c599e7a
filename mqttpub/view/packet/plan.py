"""Dumps of well-formed packets, drawn from what earlier packets with the same fields have taught.

The first packet with some fields is decoded to its tree. Its *plan* remembers the fields; another packet with the same
ones needs only the places of its own. The rows of a field are drawn as in any other dump, and remembered too: most
fields of most packets hold what an earlier one held at the same place. Findings are drawn with the field that they are
in.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ...codec.connect_version import connect_layout
from ...codec.decode import decode
from ...codec.fast_decode import Irregular, reader
from ...codec.field_ends import field_ends
from ...codec.tree import Decoded, Finding
from ...common.lru import BoundedMemo
from ...spec.packets import Connect
from ...spec.versions import Direction, Version
from ..terminal.style import Palette
from .field_plan import LONGEST_KNOWN, FieldPlan, PacketPlan, RowsKey, StencilKey
from .field_stencil import KEY, FieldStencil
from .layout import NARROWEST, Columns
from .marks import Marks, sentence
from .outline import Outline, OutlineEntry

if TYPE_CHECKING:
    from .formatted import PayloadFormat

MOST_PLANS = 256
MOST_FIELDS = 64
"""Fields of the longest plan; packets with more are drawn from their tree."""
MOST_FIELD_PLANS = 2048
MOST_TEXT = 1 << 20
"""Characters of rows that are remembered, and of stencils of fields."""
MOST_HEADLINES = 2048
_NUMBER = "\0"


class Headline(NamedTuple):
    """The line above the rows of a packet, in two parts; the second has its end."""

    before: str
    numbered: bool
    """Whether the Packet Identifier stands between them; there may be no room for it."""
    after: str


class PlannedPacket(NamedTuple):
    """A packet with its fields."""

    plan: PacketPlan
    places: list[int]
    """Where its fields begin, and where it ends."""
    headline: Headline
    number: str
    """Its Packet Identifier, empty if it has none."""

    @property
    def id_place(self) -> int:
        """Where its Packet Identifier begins; 0 for a packet without one."""
        return self.places[self.plan.id_field] if self.plan.id_field else 0

    @property
    def payload_place(self) -> int:
        """Where its payload begins; its end for a packet without one."""
        return self.places[self.plan.payload_field or -1]


class RepeatedDumps:
    """Draws well-formed packets with one palette, at one width; its memory has the bounds above."""

    def __init__(
        self, palette: Palette, *, width: int, limit: int | None, secrets: bool,
        payloads: "PayloadFormat | None" = None,
    ) -> None:  # fmt: skip
        self.palette = palette
        self.width = width
        self.limit = limit
        self.secrets = secrets
        self.payloads = payloads
        self._plans: dict[tuple[int, ...], PacketPlan] = {}
        self._fields: dict[Any, FieldPlan] = {}
        self._headlines: BoundedMemo[tuple[PacketPlan, int, int, int], Headline] = BoundedMemo(MOST_HEADLINES)
        self._rows: BoundedMemo[RowsKey, str] = BoundedMemo(MOST_TEXT)
        """Rows of fields, by field, place and bytes, and of the first fields of packets."""
        self._field_stencils: BoundedMemo[StencilKey, FieldStencil] = BoundedMemo(MOST_TEXT)

    def draw(
        self, data: bytes, version: Version, direction: Direction | None, findings: Sequence[Finding] = (),
        between: str = "",
    ) -> str | None:  # fmt: skip
        """Return the text of a packet, each line with its end; None if its tree is needed.

        `findings` are all that the packet has; `between` is a line below the headline.
        """
        planned = self.planned(data, version, direction, has_findings=bool(findings))
        if planned is None:
            return None
        plan, places, headline, number = planned
        rows = self._marked(plan, data, places, findings) if findings else self._plain(plan, data, places)
        before, numbered, after = headline
        return f"{before}{number if numbered else ''}{after}{between}{rows}"

    def planned(
        self, data: bytes, version: Version, direction: Direction | None, *, has_findings: bool = False
    ) -> PlannedPacket | None:
        """Return the fields of a well-formed packet; None if its tree is needed."""
        if data and data[0] >> 4 == Connect.code:
            version = connect_layout(data) or version
        found = field_ends(data, version)
        if found is None or (has_findings and not _is_well_formed(data, version, found[0][1])):
            return None
        ends, choices = found
        key = (_side(version, direction), (len(data) - 1 >> 16).bit_length(), len(ends), *choices)
        plan = self._plans.get(key) or self._learn(key, decode(data, version, direction=direction), ends)
        if plan is None:
            return None
        places = [0, *ends]
        return PlannedPacket(plan, places, *self._headline(plan, data, places))

    def _headline(self, plan: PacketPlan, data: bytes, places: list[int]) -> tuple[Headline, str]:
        """Return the headline of a packet and its Packet Identifier.

        Packets with one length, and as long a Packet Identifier, have the same headline.
        """
        number, reason = "", 0
        if plan.id_field:
            at = places[plan.id_field]
            number = str(data[at] << 8 | data[at + 1])
        if plan.reason_field:
            reason = data[places[plan.reason_field]]
        key = plan, len(data), len(number), reason
        parts = self._headlines.get(key)
        if parts is None:
            text = self.palette.text(plan.headline(data, _NUMBER * len(number), reason, self.width))
            # A headline without room for it does not have the Packet Identifier.
            before, found, after = text.partition(_NUMBER * len(number)) if number else (text, "", "")
            parts = self._headlines.keep(key, Headline(before, bool(found), f"{after}\n"))
        return parts, number

    # Rows of the fields of a packet; field `n` begins at `places[n]`.

    def _plain(self, plan: PacketPlan, data: bytes, places: Sequence[int]) -> str:
        """Return the rows of a packet without findings."""
        # Packets of a run begin alike: one text for all fields before the Packet Identifier saves a fifth of a dump.
        count = plan.alike
        end = places[count]
        key = plan, end, data[:end]
        text = self._rows.get(key)
        if text is None:
            text = self._fields_rows(plan.fields[:count], data, places)
            if end <= LONGEST_KNOWN:
                self._rows.keep(key, text, KEY + len(text))
        return text + self._fields_rows(plan.fields[count:], data, places[count:])

    def _fields_rows(self, fields: Sequence[FieldPlan], data: bytes, places: Sequence[int]) -> str:
        return "".join([field.rows(data, *place) for field, place in zip(fields, pairwise(places), strict=False)])

    def _marked(self, plan: PacketPlan, data: bytes, places: Sequence[int], findings: Sequence[Finding]) -> str:
        """Return the rows of a packet, those of fields with findings drawn anew, and findings without a byte."""
        marks, made = Marks(findings, len(data)), []
        for field, (start, end) in zip(plan.fields, pairwise(places), strict=True):
            if marks.within(start, end):
                made.append(field.draw(data, start, end, marks))
            else:
                made.append(field.rows(data, start, end))
        for finding in marks.rest():
            made += [f"{self.palette.text(line)}\n" for line in sentence(finding, max(self.width, NARROWEST))]
        return "".join(made)

    def _learn(self, key: tuple[int, ...], decoded: Decoded, ends: list[int]) -> "PacketPlan | None":
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
            self._field_stencils.clear()
        fields = [self._field(group, columns, outline) for group in groups]
        plan = self._plans[key] = PacketPlan(key[3:], decoded, fields, ends)
        _forget_values(decoded)
        return plan

    def _field(self, entries: Sequence[OutlineEntry], columns: Columns, outline: Outline) -> FieldPlan:
        """Return the plan of a field, which packets with other fields may have too."""
        decoded = outline.decoded
        key = decoded.type, decoded.version, columns, *(_signature(entry) for entry in entries)
        field = self._fields.get(key)
        if field is None:
            field = self._fields[key] = FieldPlan(
                entries, columns, outline, self.palette, self._field_stencils, self._rows
            )
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
