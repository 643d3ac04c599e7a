"""Packets that differ from an earlier one in Packet Identifier and payload only: nearly all of those sent in bulk.

Such a *twin* needs no search for its fields: its text is that of the other one, with gaps for what differs.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from ...common.escape import ascii_column
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from ...spec.properties import PAYLOAD_FORMAT_INDICATOR
from .field_plan import FieldPlan, FieldStencil
from .texts import KnownTexts
from .values import notation

PUBLISH = Publish.code
ACKS = frozenset(kind.code for kind in (Puback, Pubrec, Pubrel, Pubcomp))
LONGEST_ACK = 8
"""Bytes of the longest acknowledgement that has twins."""
LONGEST_HEAD = 512
"""Bytes of the longest head of a PUBLISH that has twins."""
ID_BYTES = 2
ID_GAPS = 3
NOTHING: tuple[FieldStencil, tuple[str, ...]] = (FieldStencil(), ())
"""For twins that have the same payload."""
_words = notation("id")


def may_have_twins(choices: Sequence[int], differ: Collection[str]) -> bool:
    """Whether packets have twins with these deciding bytes (see `field_ends`) and these names of fields that differ."""
    code = choices[0] >> 4
    if code == PUBLISH and PAYLOAD_FORMAT_INDICATOR.id not in choices[1:]:
        return bool(differ) and {"packet_id", "payload"}.issuperset(differ)
    # Whether a payload suits that property depends on its bytes.
    return code in ACKS and set(differ) == {"packet_id"}


def head_of(data: bytes) -> bytes:
    """Return what a packet has in common with its twins, except for bytes between Packet Identifier and payload.

    That is a PUBLISH up to the end of its Topic Name. Empty for packets that have no twins.
    """
    try:
        code, length = data[0] >> 4, data[1]
        if code == PUBLISH and (length < 0x80 or data[2] < 0x80):
            start = 2 if length < 0x80 else 3
            return data[: start + 2 + (data[start] << 8 | data[start + 1])]
        if code in ACKS and len(data) <= LONGEST_ACK:
            return data[:2] + data[4:]
    except IndexError:
        return b""
    return b""


class Headline(NamedTuple):
    """The line above the rows of a packet, in two parts; the second has its end."""

    before: str
    numbered: bool
    """Whether the Packet Identifier stands between them; there may be no room for it."""
    after: str


class Gap(NamedTuple):
    """A field that differs between twins."""

    field: FieldPlan
    start: int
    """The offset of its first byte."""


class TwinGroup:
    """What all twins of one packet have in common."""

    __slots__ = ("id_at", "middle", "middle_at", "payload", "size")

    def __init__(self, data: bytes, head: bytes, id: Gap | None, payload: Gap | None) -> None:
        self.size = len(data)
        self.payload = payload
        self.id_at = id.start if id else 0
        """The offset of the Packet Identifier; 0 if they have none."""
        self.middle_at = self.id_at + ID_BYTES if id else len(head)
        self.middle = data[self.middle_at : payload.start if payload else len(data)]
        """The bytes between head or Packet Identifier and payload."""


class Twins:
    """Draws twins, without colours; keeps at most `most` characters of their texts, and as many of their heads."""

    def __init__(self, most: int) -> None:
        self._groups: KnownTexts[TwinGroup] = KnownTexts(most)
        """By side and head."""
        self._texts: KnownTexts[str] = KnownTexts(most)
        """Formats by group, digits of the Packet Identifier, and stencil of the payload."""

    def clear(self) -> None:
        """Forget everything."""
        self._groups.clear()
        self._texts.clear()

    def draw(self, data: bytes, side: int, between: str) -> tuple[str, int] | None:
        """Return the text of a packet with a line below the headline, and its Packet Identifier; 0 if it has none.

        `side` stands for version and direction. None for a packet that is not a twin, or whose text is not known.
        """
        # Every packet of a bulk run passes here, so this takes as few calls as possible.
        group = self._groups.get((side, head_of(data)))
        if group is None or len(data) != group.size or not data.startswith(group.middle, group.middle_at):
            return None
        stencil, gaps = NOTHING
        if group.payload:
            found = group.payload.field.filling(data, group.payload.start, group.size)
            if found is None:
                return None
            stencil, gaps = found
        at = group.id_at
        if not at:
            text = self._texts.get((group, 0, stencil))
            return (text % (between, *gaps), 0) if text else None
        octets = data[at : at + ID_BYTES]
        number = octets[0] << 8 | octets[1]
        shown = str(number)
        text = self._texts.get((group, len(shown), stencil))
        if not text or not number:
            return None
        return text % (shown, between, octets.hex(" "), ascii_column(octets), _words(number, ""), *gaps), number

    def learn(
        self, data: bytes, side: int, headline: Headline, rows: Sequence[str], id: Gap | None, payload: Gap | None
    ) -> None:
        """Remember a packet without findings; `rows` has the text of its rows before, between and after the gaps."""
        head, (before, numbered, after) = head_of(data), headline
        if not head or len(head) > LONGEST_HEAD or (numbered and not id) or not (id or payload):
            return
        filled = [gap.field.filling(data, gap.start, end) for gap, end in _ends(id, payload, len(data))]
        stencils = [found[0] for found in filled if found]
        # The Packet Identifier has bytes, characters and words; on a narrow screen it has no characters.
        if len(stencils) < len(filled) or (id and filled[0] and len(filled[0][1]) != ID_GAPS):
            return
        group = self._groups.get((side, head))
        if group is None or len(data) != group.size or not data.startswith(group.middle, group.middle_at):
            group = TwinGroup(data, head, id, payload)
            self._groups.keep((side, head), group, len(head) + len(group.middle))
        parts = [_escaped(before), ("%s" if numbered else "%.0s") if id else "", _escaped(after), "%s"]
        for each, stencil in zip_longest(rows, stencils):
            parts += [_escaped(each), stencil.text if stencil else ""]
        text = "".join(parts)
        digits = len(str(data[id.start] << 8 | data[id.start + 1])) if id else 0
        self._texts.keep((group, digits, stencils[-1] if payload else NOTHING[0]), text, len(text))


def _ends(id: Gap | None, payload: Gap | None, size: int) -> Iterator[tuple[Gap, int]]:
    """Yield the gaps with the offsets where their fields end."""
    if id:
        yield id, id.start + ID_BYTES
    if payload:
        yield payload, size


def _escaped(text: str) -> str:
    """Return text as a format."""
    return text.replace("%", "%%")
