"""The tree of a packet as a list of entries, one per field, in wire order."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...codec.tree import Decoded, Node
from ...wire.cursor import Span
from ...wire.types import REST
from .masking import clipped, hidden
from .values import MISSING, NOTHING, About, describe, pair

if TYPE_CHECKING:
    from .formatted import PayloadFormat


class ByteRun(NamedTuple):
    """A run of bytes that is shown in one style."""

    start: int
    stop: int
    style: str
    masked: bool = False


class OutlineEntry(NamedTuple):
    """One field: its bytes or bits, its name, and the words for its value."""

    label: str
    style: str
    depth: int
    about: About = NOTHING
    parts: tuple[ByteRun, ...] = ()
    at: int = 0
    """The byte that `mask` applies to."""
    mask: int = 0
    """The bits of the field; 0 for a field of whole bytes or of none."""
    content: int = 0
    """The first byte of the value, after identifier and length."""
    octet: bool = False
    """Whether entries for the bits of this byte follow."""
    later: int = 0
    """Bits of the same byte that later entries show."""
    kind: str = ""
    nodes: tuple[Node, ...] = ()
    """The leaves that it shows, or the byte that has the bits."""

    @property
    def start(self) -> int:
        """Its first byte."""
        return self.parts[0].start if self.parts else self.at

    @property
    def stop(self) -> int:
        """The byte after its last one."""
        return self.parts[-1].stop if self.parts else self.at


class Outline:
    """Walks the tree of one packet and makes its entries."""

    def __init__(
        self, decoded: Decoded, *, limit: int | None, secrets: bool, room: int, payloads: "PayloadFormat | None" = None
    ) -> None:
        self.decoded = decoded
        self.limit = limit
        self.secrets = secrets
        self.room = room
        self.payloads = payloads
        self.hidden: tuple[Span, ...] = () if secrets else hidden(decoded)

    def entries(self) -> Iterator[OutlineEntry]:
        """Yield the entries of the whole packet."""
        for node in self.decoded.root.children:
            yield from self.node(node, 0)
        yield from self.nothing()

    def node(self, node: Node, depth: int) -> Iterator[OutlineEntry]:
        """Yield the entries of a node and of all nodes below it."""
        walk = _WALKS.get(node.kind, Outline.leaf)
        return walk(self, node, depth)

    def leaf(self, node: Node, depth: int) -> Iterator[OutlineEntry]:
        """Yield the entry of bytes or bits without nodes below them."""
        if node.mask:
            yield OutlineEntry(
                node.label, _label(node), depth, self.about(node), at=node.span.start, mask=node.mask, kind=node.kind,
                nodes=(node,),
            )  # fmt: skip
        else:
            yield self.run(node.label, _label(node), depth, self.about(node), [node])

    def octet(self, node: Node, depth: int) -> Iterator[OutlineEntry]:
        """Yield the entry of a byte, then those of its bits."""
        yield self.run(node.label, "label", depth, NOTHING, [node])._replace(octet=True)
        later = 0xFF
        for child in node.children:
            later &= ~child.mask
            for entry in self.leaf(child, depth + 1):
                yield entry._replace(later=later)

    def group(self, node: Node, depth: int) -> Iterator[OutlineEntry]:
        """Yield the heading of a group, such as the will, then the entries of its fields."""
        yield OutlineEntry(node.label, "label", depth)
        for child in node.children:
            yield from self.node(child, depth + 1)

    def items(self, node: Node, depth: int) -> Iterator[OutlineEntry]:
        """Yield the entries of a list, numbered from 1 if it has several elements of one field each."""
        several = len(node.children) > 1
        for number, child in enumerate(node.children, 1):
            for entry in self.node(child, depth):
                single = not child.children and several and child.kind != "gap"
                yield entry._replace(label=f"{entry.label} {number}") if single else entry

    def properties(self, node: Node, depth: int) -> Iterator[OutlineEntry]:
        """Yield the entry of the Property Length, then those of the properties."""
        for child in node.children[:1]:
            yield from self.node(child, depth)
        for child in node.children[1:]:
            yield from self.node(child, depth + 1)

    def property(self, node: Node, depth: int) -> Iterator[OutlineEntry]:
        """Yield the one entry of a property with its identifier."""
        label = node.label or node.children[0].label
        yield self.run(label, "property", depth, self.value(node.children), node.children)

    def value(self, parts: Sequence[Node]) -> About:
        """Return the words for the value of a property; `parts` are its identifier and the rest."""
        last = parts[-1]
        if last.kind == "gap":
            return self.about(last)
        if last.name == "name":
            return pair(last, None, self.decoded, self.limit)
        if last.name == "identifier":
            return MISSING
        return pair(parts[1], last, self.decoded, self.limit) if len(parts) == 3 else self.about(last)

    def nothing(self) -> Iterator[OutlineEntry]:
        """Yield an entry for a last field that is present but empty."""
        packet = self.decoded.packet
        if packet and packet.layout and packet.layout[-1].type is REST:
            field = packet.layout[-1]
            if not getattr(packet, field.key):
                empty = [("empty", field.kind)]
                yield OutlineEntry(field.label_in(self.decoded.version), "label", 0, About(empty, empty, ()))

    def about(self, node: Node) -> About:
        """Return the words for the value of a node."""
        about = describe(node, self.decoded, limit=self.limit, secrets=self.secrets, room=self.room)
        if self.payloads and node.kind == "payload":
            content = self.decoded.data[node.span.start + node.prefix : node.span.stop]
            return self.payloads.about(content, about, limit=self.limit, room=self.room)
        return about

    def again(self, entry: OutlineEntry) -> OutlineEntry:
        """Return an entry as it is now that its nodes have other places and values."""
        nodes = entry.nodes
        if entry.mask:
            return entry._replace(about=self.about(nodes[0]), at=nodes[0].span.start)
        if not nodes:
            return entry
        if not self.secrets:
            self.hidden = tuple(
                Span(each.span.start + each.prefix, each.span.stop) for each in nodes if each.kind == "secret"
            )
        return self.run(entry.label, entry.style, entry.depth, self.words(entry), nodes)._replace(octet=entry.octet)

    def words(self, entry: OutlineEntry) -> About:
        """Return the words for the value of a field of whole bytes."""
        if entry.octet:
            return NOTHING
        return self.value(entry.nodes) if entry.style == "property" else self.about(entry.nodes[0])

    # bytes

    def run(self, label: str, style: str, depth: int, about: About, nodes: Sequence[Node]) -> OutlineEntry:
        """Return the entry of nodes whose bytes follow one another."""
        parts = [part for node in nodes for part in _parts(node)]
        content = parts[-1].start if parts else 0
        masked = [piece for part in parts for piece in _masked(part, self.hidden)] if self.hidden else parts
        return OutlineEntry(label, style, depth, about, tuple(masked), content=content, nodes=tuple(nodes))


_WALKS = {
    "octet": Outline.octet,
    "group": Outline.group,
    "list": Outline.items,
    "properties": Outline.properties,
    "property": Outline.property,
}


_STYLES = {"octet": "flag"}


def _label(node: Node) -> str:
    return node.kind if node.kind in ("gap", "reserved") else "label"


def _parts(node: Node) -> Iterator[ByteRun]:
    start, stop = node.span
    middle = min(start + node.prefix, stop)
    if node.prefix:
        yield ByteRun(start, middle, "length")
    style = "property" if node.name == "identifier" and node.row else _STYLES.get(node.kind, node.kind)
    if middle < stop or not node.prefix:
        yield ByteRun(middle, stop, style)


def _masked(part: ByteRun, spans: Sequence[Span]) -> Iterator[ByteRun]:
    """Return a part cut where secret bytes begin and end."""
    at = part.start
    for start, stop in clipped(spans, part.start, part.stop):
        if start > at:
            yield part._replace(start=at, stop=start)
        yield part._replace(start=start, stop=stop, masked=True)
        at = stop
    if at < part.stop:
        yield part._replace(start=at)
