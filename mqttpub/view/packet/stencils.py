"""Packets that differ from an earlier one in the values of some fields only: nearly all of those sent in bulk.

Such a packet needs no search for its fields: its text is that of the other one, with gaps for the values that differ.
Where the payload is one of them, it is drawn by itself and follows.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple

from ...common.escape import ascii_column
from ...common.lru import BoundedMemo
from ...lint.packet.fast import is_quick
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from ...spec.properties import PAYLOAD_FORMAT_INDICATOR
from .field_plan import PLAIN, FieldPlan, PacketPlan
from .field_stencil import (
    GAP,
    KEY,
    NONE,
    SPACE,
    WORDS,
    Column,
    FieldStencil,
    Gap,
    GapColumns,
    as_format,
    cut_at,
    items_at,
    texts_of,
    without_last_spaces,
)  # fmt: skip

PUBLISH = Publish.code
ACKS = {kind.code: kind for kind in (Puback, Pubrec, Pubrel, Pubcomp)}
_PUBLISH = frozenset(bytes((PUBLISH << 4 | flags,)) for flags in range(16))
LONGEST = 512
"""Bytes of the longest packet, without its payload, that is drawn with a stencil."""
MOST_ALIKE = 4
"""Stencils for packets that begin alike."""
FIRST_STENCILS = 256
"""Stencils that are made whether or not any of them is used again."""
SELDOM = 16
"""After these, a stencil is made for one packet in so many: it takes as long as to draw several packets."""


FEWEST_TOGETHER = 4
"""Fewest payloads with one stencil that are drawn together."""


class Headline(NamedTuple):
    """The line above the rows of a packet, in two parts; the second has its end."""

    before: str
    numbered: bool
    """Whether the Packet Identifier stands between them; there may be no room for it."""
    after: str


class PacketStencil:
    """What packets have in common that differ in the values of some fields only."""

    __slots__ = (
        "bytes", "data", "fields", "fixed", "has_twins", "id", "open", "payload", "places", "plan", "run", "stop",
    )  # fmt: skip

    def __init__(self, plan: PacketPlan, data: bytes, places: Sequence[int], open: Sequence[int]) -> None:
        self.plan = plan
        self.places = places
        """Where its fields begin, and where the packet ends."""
        self.open = open
        """The fields that differ, by their numbers."""
        payload = plan.payload_field
        self.payload = plan.fields[payload] if payload in open else None
        """The payload, if it differs."""
        self.stop = places[payload] if self.payload else len(data)
        """The offset after the last byte that is drawn with gaps."""
        self.data = data[: self.stop]
        """One of the packets, up to there."""
        self.fields = [_words_of(plan.fields[at], places[at], places[at + 1]) for at in open if at != payload]
        """For each other field that differs, the function that returns its words, and its place."""
        self.id = places[plan.id_field] if plan.id_field else 0
        """The offset of the Packet Identifier; 0 for a packet without one."""
        fixed = list(_fixed(plan, data, places, open))
        self.fixed: Callable[[bytes], Any] = itemgetter(*fixed)
        """Returns the bytes that packets have in common."""
        self.bytes = self.fixed(data)
        self.has_twins = _has_twins(plan)
        """Whether packets with other Packet Identifiers and payloads have no findings if one of them has none."""
        self.run: _RunReader | None = None
        """Reads such packets together; made when it is needed."""

    def fits(self, data: bytes) -> bool:
        """Whether a packet differs in no other bytes."""
        return len(data) == self.places[-1] and self.fixed(data) == self.bytes


def _words_of(field: FieldPlan, start: int, end: int) -> tuple[Callable[[bytes, int, int], Any], int, int]:
    # To look up the rows of a Topic Name takes a third of the time of filling them in.
    return field.whole if field.repeats(start, end) else field.words, start, end


def _fixed(plan: PacketPlan, data: bytes, places: Sequence[int], open: Sequence[int]) -> Iterator[slice]:
    """Yield the places of the bytes that packets have in common, neighbours together."""
    begin = end = 0
    for at, field in enumerate(plan.fields):
        start, stop = places[at], places[at + 1]
        for place in field.own(data, start, stop) if at in open else [slice(start, stop)]:
            if place.start > end:
                yield slice(begin, end)
                begin = place.start
            end = place.stop
    yield slice(begin, end)


class _StencilText(NamedTuple):
    format: str
    cut: Callable[[str], Any]
    """Returns what belongs into the gaps, from the hex and the characters of the bytes, and what follows them."""
    ends: Callable[[bytes], Container[int]]
    """Returns the last bytes of rows beside which nothing stands."""
    before: int
    """How many gaps are before that for the line below the headline."""
    twins: "_TwinFormat | None"
    """None where a row may end with spaces, and without twins."""


class _TwinFormat:
    """The text of twins of `size` bytes with all gaps but that for the line below the headline."""

    def __init__(self, text: str, gaps: Sequence[Gap], size: int, last: Sequence[int] = ()) -> None:
        self._text = text
        self.format = text.encode()
        self.gaps = gaps
        self._size = size
        self.columns = GapColumns(gaps, size, last)
        self._plain: _TwinFormat | None = None

    def plain(self, payload: FieldStencil, start: int) -> "_TwinFormat":
        """Return the same with the rows of `PLAIN` payloads that take one row."""
        # Short numbers and words, the usual payloads of bulk runs: one call draws the packet with its payload.
        if self._plain is None:
            gaps = [*self.gaps, *[_moved(gap, 0 if gap.source == WORDS else start) for gap in payload.gaps]]
            last = [start + end for end in payload.ends]
            self._plain = _TwinFormat(self._text + payload.text, gaps, self._size, last)
        return self._plain


class _RunReader:
    """Reads many packets of one length that a stencil fits, one after the other."""

    def __init__(self, stencil: PacketStencil) -> None:
        id, stop, size = stencil.id, stencil.stop, stencil.places[-1]
        before, after = (f"{id}s2x", id + 2) if id else ("", 0)
        self.fixed = Struct(f"{before}{stop - after}s{size - stop}x")
        """Unpacks what they have in common."""
        self.common = self.fixed.unpack(stencil.data + bytes(size - stop))
        self.ids = Struct(f">{id}xH{size - id - 2}x") if id else None
        """Unpacks the Packet Identifier."""
        self.contents = Struct(f"{stop}x{size - stop}s")
        """Unpacks the payload, if it differs."""


class TwinTexts:
    """The texts of packets of one length that differ in Packet Identifier and payload only, as UTF-8."""

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


class PacketStencils:
    """Draws packets without colours; keeps at most `most` characters of their texts, and as many of the packets.

    With `twins`, the packets that a stencil fits differ in Packet Identifier and payload only.
    """

    def __init__(self, most: int, *, twins: bool) -> None:
        self._twins = twins
        self._stencils: BoundedMemo[Any, list[PacketStencil]] = BoundedMemo(most)
        """By side, and the beginning of packets."""
        self._texts: BoundedMemo[Any, _StencilText] = BoundedMemo(most)
        """By stencil, and the layouts of words."""
        self._seen = self._made = 0

    def clear(self) -> None:
        """Forget everything."""
        self._stencils.clear()
        self._texts.clear()

    def twin(self, data: bytes, side: int, between: str) -> tuple[str, int] | None:
        """Return the text of a packet and its Packet Identifier, 0 for none; None if that may not be 0 and is.

        None also where no stencil fits.
        """
        stencil = self.find(data, side)
        if stencil is None or not stencil.has_twins:
            return None
        id = stencil.id
        number = data[id] << 8 | data[id + 1] if id else 0
        text = self.draw(stencil, data, between) if number or not id else None
        return None if text is None else (text, number)

    def together(self, data: bytes, size: int, side: int) -> TwinTexts | None:
        """Return the texts of packets of `size` bytes each if all are twins of an earlier one.

        None also if their Packet Identifiers have different numbers of digits.
        """
        # A column for each gap takes a third of the time of one packet after the other (tests/benchmarks/inspected.py).
        stencil = self.find(data[:size], side)
        if stencil is None or not stencil.has_twins:
            return None
        reader = stencil.run = stencil.run or _RunReader(stencil)
        common = list(reader.fixed.iter_unpack(data))
        if common.count(reader.common) != len(common):
            return None
        ids: list[int] = []
        words: list[str] = []
        key: tuple[object, ...] = (stencil,)
        if reader.ids:
            field = stencil.plan.fields[stencil.plan.id_field]
            ids = [id for (id,) in reader.ids.iter_unpack(data)]
            words = [field.notation(id, field.unit) for id in ids]
            key = stencil, (len(words[0]),)
            if 0 in ids or len(set(map(len, words))) > 1:
                return None
        text = self._texts.get(key)
        if text is None or text.twins is None:
            return None
        self._seen += len(common)
        twins, payloads = text.twins, list[Column]()
        shown = list(_word_columns(words, twins.gaps))
        if payload := stencil.payload:
            contents = [content for (content,) in reader.contents.iter_unpack(data)]
            plain = payload.plain_stencil(stencil.stop, size, len(contents)) if all(map(PLAIN, contents)) else None
            if plain:
                twins = twins.plain(plain, stencil.stop)
                shown.append([b'"%s"' % content for content in contents])
            else:
                payloads = [_payloads(payload, stencil.stop, size, data, contents)]
        columns, has_ends = twins.columns.of(data, iter(shown))
        format = b"\n%s%s" % (twins.format, b"%s" * len(payloads))
        return TwinTexts(format, [*columns, *payloads], text.before, ids, has_ends=has_ends)

    def find(self, data: bytes, side: int) -> PacketStencil | None:
        """Return the stencil that fits a packet; `side` stands for version and direction."""
        for stencil in self._stencils.get((side, self._head(data)), ()):
            if stencil.fits(data):
                return stencil
        return None

    def _head(self, data: bytes) -> bytes:
        """Return the beginning of a packet: a PUBLISH up to its Topic Name, or with `twins` to the end of that."""
        if data[:1] not in _PUBLISH:
            return data[:2]
        start = 4 if data[1:2] < b"\x80" else 5
        return data[: start + int.from_bytes(data[start - 2 : start])] if self._twins else data[:start]

    def draw(self, stencil: PacketStencil, data: bytes, between: str) -> str | None:
        """Return the text of a packet with a line below the headline; None where it has values of another kind."""
        # Every packet of a bulk run passes here.
        self._seen += 1
        key: list[object] = [stencil]
        after = ""
        for words, start, end in stencil.fields:
            found = words(data, start, end)
            if found is None:
                return None
            key.append(found[0])
            after += found[1]
        text = self._texts.get(tuple(key))
        if text is None:
            return None
        payload = stencil.payload
        shown = data[: stencil.stop] if payload else data
        drawn: str = text.format % text.cut(f"{shown.hex(' ')}{ascii_column(shown)}{after}{between}")
        if SPACE in text.ends(shown):
            drawn = without_last_spaces(drawn)
        return drawn + payload.text(data, stencil.stop, len(data)) if payload else drawn

    def learn(self, plan: PacketPlan, data: bytes, places: Sequence[int], side: int, headline: Headline) -> None:
        """Remember a packet without findings."""
        self._seen += 1
        if places[plan.payload_field or -1] > LONGEST or self._made > FIRST_STENCILS + self._seen // SELDOM:
            return
        self._made += 1
        head = side, self._head(data)
        known = self._stencils.get(head, [])
        stencil = next((each for each in known if each.fits(data)), None)
        if stencil is None:
            stencil, rest = self._new(plan, data, places, known)
            self._stencils.keep(head, [stencil, *rest][:MOST_ALIKE], KEY + MOST_ALIKE * (LONGEST + GAP * len(places)))
        self._keep_text(stencil, data, headline)

    def _new(
        self, plan: PacketPlan, data: bytes, places: Sequence[int], known: list[PacketStencil]
    ) -> tuple[PacketStencil, list[PacketStencil]]:
        """Return the stencil of a packet, and the other ones to keep.

        If another packet with the same fields was drawn before, the fields in which they differ become gaps.
        """
        usual = [at for at in (plan.id_field, plan.payload_field) if at]
        if self._twins:
            return PacketStencil(plan, data, places, usual), known
        for other in known:
            if other.plan is not plan or other.places != places:
                continue
            differ = [
                at
                for at, field in enumerate(plan.fields)
                if at not in other.open and data[places[at] : places[at + 1]] != other.data[places[at] : places[at + 1]]
            ]
            if all(plan.fields[at].words(data, places[at], places[at + 1]) for at in differ):
                made = PacketStencil(plan, data, places, sorted((*other.open, *differ)))
                if made.fixed(other.data) == made.bytes:
                    return made, [each for each in known if each is not other]
        return PacketStencil(plan, data, places, usual), known

    def _keep_text(self, stencil: PacketStencil, data: bytes, headline: Headline) -> None:
        plan, places, size = stencil.plan, stencil.places, len(stencil.data)
        text, gaps, ends, key, used = "", list[Gap](), list[int](), list[object]((stencil,)), 0
        number = Gap(WORDS, 0, 0)
        for at, field in enumerate(plan.fields):
            start, end = places[at], places[at + 1]
            if at not in stencil.open:
                text += as_format(field.rows(data, start, end))
            elif field.repeats(start, end):
                layout, words = field.whole(data, start, end)
                text += "%s"
                gaps.append(Gap(WORDS, used, used + len(words)))
                key.append(layout)
                used += len(words)
            elif field is not stencil.payload:
                found = field.words(data, start, end)
                drawn = field.stencil(data, start, end, found[0]) if found else NONE
                if found is None or not drawn.text:
                    return
                text += drawn.text
                gaps += [_moved(gap, used if gap.source == WORDS else start) for gap in drawn.gaps]
                ends += [start + end for end in drawn.ends]
                key.append(found[0])
                if at == plan.id_field:
                    number = Gap(WORDS, used, used + len(str(data[start] << 8 | data[start + 1])))
                used += len(found[1])
        before, numbered, after = headline
        text = f"{as_format(before)}{'%s' if numbered else ''}{as_format(after)}%s{text}"
        if numbered:
            gaps.insert(0, number)
        cuts = [gap.place(0, size, 0) for gap in gaps]
        cuts.insert(int(numbered), slice(4 * size - 1 + used, None))
        twins = None
        if self._twins and not ends:
            twins = _TwinFormat(text, gaps, places[-1])
        made = _StencilText(text, cut_at(cuts), items_at(ends), int(numbered), twins)
        self._texts.keep(tuple(key), made, KEY + (len(text) + GAP * len(cuts)) * (3 if twins else 1))


def _moved(gap: Gap, by: int) -> Gap:
    return Gap(gap.source, gap.start + by, gap.stop + by)


def _word_columns(words: list[str], gaps: Sequence[Gap]) -> Iterator[Column]:
    """Yield the parts of words, all of one length, for those of the gaps that are for WORDS."""
    joined = "".join(words).encode("ascii")
    for source, start, stop in gaps:
        if source == WORDS:
            cut = Struct(f"{start}x{stop - start}s{len(words[0]) - stop}x")
            yield [word for (word,) in cut.iter_unpack(joined)]


def _payloads(field: FieldPlan, start: int, size: int, data: bytes, contents: list[bytes]) -> Column:
    """Return the rows of the payload of each packet of `size` bytes, drawing those together that have one stencil."""
    texts: list[bytes] = [b""] * len(contents)
    alike: dict[FieldStencil, list[tuple[int, bytes, list[str]]]] = {}
    for at, content in enumerate(contents):
        stencil, rows = field.known_stencil(content, start, size)
        if stencil and stencil.text:
            alike.setdefault(stencil, []).append((at, content, rows))
        else:
            texts[at] = field.text(data[at * size : at * size + size], start, size).encode()
    for stencil, found in alike.items():
        if len(found) < FEWEST_TOGETHER:
            for at, content, rows in found:
                texts[at] = stencil.with_rows(content, rows).encode()
        else:
            places, some, all_rows = zip(*found, strict=True)
            for at, text in zip(places, stencil.each_with_rows(some, all_rows), strict=True):
                texts[at] = text
    return texts


def _has_twins(plan: PacketPlan) -> bool:
    """Whether packets that a stencil of `PacketStencils` with twins fits have no findings if one of them has none."""
    code, *properties = plan.choices
    if code >> 4 == PUBLISH:
        # Whether a payload suits that property depends on its bytes.
        return is_quick(Publish) and PAYLOAD_FORMAT_INDICATOR.id not in properties
    return code >> 4 in ACKS and is_quick(ACKS[code >> 4])
