"""The annotated dump: every byte of a packet with its field, its value and its findings."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...codec.tree import Decoded, Finding
from ...common.words import plural
from ..terminal.cells import Line, Segment, measure
from .layout import Columns, bit_row, byte_row, detail, padded
from .marks import Marks, Row, sentence, under_bits, under_bytes
from .outline import Outline, OutlineEntry
from .values import describe

if TYPE_CHECKING:
    from .formatted import PayloadFormat

_FACTS = ("qos", "packet_id", "reason_code")


def annotate(
    decoded: Decoded, *, width: int = 80, limit: int | None = 256, secrets: bool = False,
    payloads: "PayloadFormat | None" = None,
) -> Iterator[Line]:  # fmt: skip
    """Yield the lines of the dump of one packet, none wider than `width` (60 or more).

    At most `limit` bytes of each value are shown, with the number of the rest; secrets are masked unless `secrets`.
    Payloads are read in the format `payloads`, if there is one. Each finding appears once, below the first byte that it
    is about.
    """
    columns = Columns.fitting(width, len(decoded.data))
    outline = Outline(decoded, limit=limit, secrets=secrets, room=columns.detail - 4, payloads=payloads)
    entries = list(outline.entries())
    sheet = Sheet(decoded, columns.labelled(entries), limit)
    for entry in entries:
        yield from sheet.entry(entry)
    yield from sheet.rest()


def headline(decoded: Decoded, *, width: int = 80, packet_id: str = "") -> Line:
    """Return the line above a dump: direction, packet type, main facts, size and version.

    `packet_id` takes the place of a Packet Identifier.
    """
    facts = [fact for name in _FACTS if (fact := _fact(decoded, name, packet_id))]
    size = [
        (f"{len(decoded.data)} {plural(len(decoded.data), 'byte')}", "length"),
        (f"MQTT {decoded.version.label}", ""),
    ]
    line = _spaced([(_mark(decoded) + decoded.name, "type"), *facts, *size])
    return line if measure(line) <= width else _spaced([line[0], *size])


def _mark(decoded: Decoded) -> str:
    return f"{decoded.direction.mark} " if decoded.direction else ""


def _fact(decoded: Decoded, name: str, packet_id: str) -> Segment | None:
    node = decoded.root.child(name)
    if node is None or node.kind == "gap":
        return None
    if name == "qos":
        return f"QoS {node.value}", "flag"
    if name == "packet_id":
        return f"id {packet_id or node.value}", "id"
    words = describe(node, decoded).inline
    return " ".join(text.strip() for text, _ in words if text.strip()), node.kind


def _spaced(line: Line) -> Line:
    return [segment for each in line for segment in (("  ", ""), each)][1:]


def plain(lines: Iterable[Line]) -> str:
    """Return lines as text without colour."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


class Sheet:
    """Draws entries one by one, each with the findings below it."""

    def __init__(self, decoded: Decoded, columns: Columns, limit: int | None) -> None:
        self.data = decoded.data
        self.columns = columns
        self.limit = limit
        self.marks = Marks(decoded.findings, len(decoded.data))

    def rest(self) -> Iterator[Line]:
        """Yield the findings whose place has no byte in the dump."""
        for finding in self.marks.rest():
            yield from sentence(finding, self.columns.width)

    def entry(self, entry: OutlineEntry) -> Iterator[Line]:
        """Yield the rows of an entry and its findings."""
        words = detail(entry, self.columns)
        left, at = self.columns.left, 0
        for line, beside in self.bits(entry) if entry.mask else self.bytes(entry):
            if beside and at < len(words):
                yield [*padded(line, left), *words[at]]
                at += 1
            else:
                yield line
        for right in words[at:]:
            yield [(" " * left, ""), *right]

    def bits(self, entry: OutlineEntry) -> Iterator[Row]:
        """Yield the row of a bit field and its findings."""

        def wanted(finding: Finding) -> bool:
            return bool(finding.mask & entry.mask) and not finding.mask & entry.later

        found = self.marks.take(entry.at, entry.at + 1, wanted)
        yield bit_row(self.data[entry.at], entry.mask, entry.kind, self.columns), True
        yield from under_bits(found, entry.mask, self.columns)

    def bytes(self, entry: OutlineEntry) -> Iterable[Row]:
        """Return the rows of bytes and their findings, with the number of bytes left out between and after the rows."""
        return self.marked(entry) if self.marks.anchors else self.unmarked(entry)

    def unmarked(self, entry: OutlineEntry) -> list[Row]:
        """Return the rows of bytes of a packet without findings."""
        data, columns, start, stop, step = self.data, self.columns, entry.start, entry.stop, self.columns.per_row
        cut = self.cut(entry)
        rows = [
            (byte_row(data, entry.parts, at, at + step if at + step < cut else cut, columns), True)
            for at in range(start, cut, step)
        ]
        if cut < stop:
            rows.append(self.left_out(stop - cut))
        return rows

    def marked(self, entry: OutlineEntry) -> Iterator[Row]:
        """Yield the rows of bytes of a packet with findings, each row with those below it."""
        shown = entry.start
        for start, stop in self.rows(entry):
            if start > shown:
                yield self.left_out(start - shown)
            found = self.marks.take(start, stop, lambda finding: not (entry.octet and finding.mask))
            yield byte_row(self.data, entry.parts, start, stop, self.columns), True
            yield from under_bytes(found, start, stop, self.columns)
            shown = stop
        if shown < entry.stop:
            yield self.left_out(entry.stop - shown)

    def cut(self, entry: OutlineEntry) -> int:
        """Return the byte after the last one of an entry that is shown in any case."""
        stop = entry.stop
        return stop if self.limit is None else min(stop, entry.content + self.limit)

    def rows(self, entry: OutlineEntry) -> Iterator[tuple[int, int]]:
        """Yield the runs of bytes to show: those up to the limit, then only rows with findings."""
        start, stop, step = entry.start, entry.stop, self.columns.per_row
        cut = self.cut(entry)
        for at in range(start, cut, step):
            yield at, min(at + step, cut)
        shown = cut
        for anchor in self.marks.within(cut, stop):
            if anchor >= shown:
                at = anchor - (anchor - start) % step
                yield max(at, shown), min(at + step, stop)
                shown = at + step

    def left_out(self, count: int) -> Row:
        """Return a row that says how many bytes are not shown."""
        return [(" " * self.columns.hex, ""), (f"... {count} {plural(count, 'more byte')}", "dim")], True
