"""One packet as a JSON record, and back."""

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING

from ...codec.connect_version import connect_layout
from ...codec.decode import decode
from ...codec.fast_decode import Irregular, multi_byte
from ...codec.from_json import packet_of
from ...codec.tree import Decoded, Finding, Node
from ...common.lru import BoundedMemo
from ...common.strict_json import dumps
from ...spec.packets import PACKETS, Connect, declared
from ...spec.versions import Direction, Version
from ...wire.cursor import Span
from ...wire.types import PAIR
from ..form.form import Form, Slot
from .masking import hidden, masked_hex
from .record_parts import (
    MOST_KEPT,
    StringTexts,
    begun_text,
    field_parts,
    field_text,
    hex_text,
    list_parts,
    payload_texts,
    property_text,
    record_parts,
    record_text,
    size_text,
    time_text,
    value_text,
    words_text,
)
from .record_source import FieldWriter, field_writer
from .verdict import finding_record

if TYPE_CHECKING:
    from .formatted import PayloadFormat

__all__ = ["RecordWriter", "dumps", "packet_of", "packet_record"]


def packet_record(
    decoded: Decoded, *, time: float | None = None, secrets: bool = False, payloads: "PayloadFormat | None" = None,
    more: str = "",
) -> str:  # fmt: skip
    """Return the JSON record of one packet; `time` is in seconds since 1970.

    Secrets are asterisks of the same length unless `secrets`. Offsets count from the first byte of the packet, except
    that of the packet itself, which counts from the start of its stream. Payloads have their value in the format
    `payloads` beside their bytes. `more` are members that follow, as JSON with a comma in front of each.
    """
    direction = decoded.direction.value if decoded.direction else None
    begun = begun_text(direction, decoded.name, decoded.version.label)
    tree = _TreeParts(decoded, secrets, payloads)
    digits, lists = tree.hex(Span(0, len(decoded.data))), "".join(tree.lists(decoded.root))
    findings = _found(decoded.findings)
    size = len(decoded.data)
    if time is not None:
        begun = time_text(time) + begun
    return record_text(begun, decoded.offset, size, digits, "".join(tree.fields()), lists, findings, more)


BEGIN, OFFSET, HEX, TOPIC, ID, PAYLOAD, MEMBER, END = (
    "begin", "offset", "hex", "topic", "packet_id", "payload", "member", "end",
)  # fmt: skip
"""The slots of records: brace and time, the offset of the packet, its bytes, what says three of its values, the member
for the payload, and what follows from the findings on."""
_SLOTS = frozenset((TOPIC, ID, PAYLOAD))


def record_form(data: bytes, version: Version, direction: Direction) -> Form:
    """Return what the records of packets of one shape have in common with this one, but for the slots above.

    It is a PUBLISH without properties, or an ack.
    """
    decoded = decode(data, version, direction=direction)
    begun, tree = (
        begun_text(direction.value, decoded.name, version.label),
        _TreeParts(decoded, True, None, slots=_SLOTS),
    )
    offset, digits = Slot("", OFFSET), Slot("", HEX)
    parts = record_parts(begun, offset, len(data), digits, tree.fields(), tree.lists(decoded.root))
    return Form.of((Slot("", BEGIN), *parts, Slot("", END)))


class RecordWriter:
    """Writes the records of many packets, as `packet_record` writes them.

    Packets that the decoder has no finding for need no tree: 10 to 14 times as fast (tests/benchmarks/views.py).
    """

    def __init__(self, *, secrets: bool = False, payloads: "PayloadFormat | None" = None) -> None:
        self.secrets = secrets
        self.payloads = payloads
        self.strings = StringTexts()
        self._headers: BoundedMemo[tuple[bytes, Version], str] = BoundedMemo(MOST_KEPT)
        """The fields of the fixed header by its bytes."""
        self._firsts: dict[tuple[int, Version], str] = {}
        """The fields of the first byte by its value."""
        self._kinds: dict[tuple[int, Version, Direction | None], tuple[FieldWriter, str]] = {}
        """By packet type, version and sender: what writes the fields, and the first members of the record."""

    def packet(
        self, data: bytes, version: Version, findings: Sequence[Finding], *, direction: Direction | None = None,
        offset: int = 0, time: float | None = None, more: str = "",
    ) -> str:  # fmt: skip
        """Return the record of a packet with these findings; the other arguments are as in `decode` and above."""
        # Every packet of a capture passes here, so this is one function.
        try:
            length, start = data[1], 2
            if length > 0x7F:
                length, start = multi_byte(data, 1)
            end = start + length
            if end != len(data):
                raise Irregular
            code = data[0] >> 4
            if code == _CONNECT:
                version = connect_layout(data) or version
            kind = code, version, direction
            write, begun = self._kinds.get(kind) or self._kind(kind)
            header = data[:start], version
            out = [self._headers.get(header) or self._header(header, length)]
            secret: list[Span] = []
            lists = write(data, start, end, out, secret, self.strings, self._payload)
        except (Irregular, IndexError):
            decoded = decode(data, version, direction=direction, offset=offset)
            decoded.findings = list(findings)
            return packet_record(decoded, time=time, secrets=self.secrets, payloads=self.payloads, more=more)
        if time is not None:
            begun = time_text(time) + begun
        digits = masked_hex(data, secret, 0, end) if secret else data.hex()
        return record_text(begun, offset, end, digits, ",".join(out), lists, _found(findings) if findings else "", more)

    def _payload(self, content: bytes) -> tuple[str, str]:
        return payload_texts(content, self.payloads)

    def _kind(self, kind: tuple[int, Version, Direction | None]) -> tuple[FieldWriter, str]:
        code, version, direction = kind
        cls = declared(code, version)
        if cls is None:
            raise Irregular
        begun = begun_text(direction.value if direction else None, cls.name, version.label)
        made = self._kinds[kind] = field_writer(code, version, self.secrets), begun
        return made

    def _header(self, header: tuple[bytes, Version], length: int) -> str:
        """Return the fields of the fixed header: those of the first byte, and the Remaining Length."""
        data, version = header
        first = data[0], version
        if first not in self._firsts:
            self._firsts[first] = "".join(_TreeParts(decode(data[:1], version), True, None).fields())
        path = f"{PACKETS[data[0] >> 4].name.lower()}.remaining_length"
        text = f"{self._firsts[first]},{field_text(path, 1, len(data) - 1, 0, str(length), size_text(length))}"
        return self._headers.keep(header, text)


_CONNECT = Connect.code


def _found(findings: Sequence[Finding]) -> str:
    return ",".join(dumps(finding_record(each)) for each in findings)


class _TreeParts:
    """Makes what a record contains from the tree of a packet, with slots for the values of the fields in `slots`."""

    def __init__(
        self, decoded: Decoded, secrets: bool, payloads: "PayloadFormat | None", slots: Container[str] = ()
    ) -> None:
        self.decoded = decoded
        self.secrets = secrets
        self.payloads = payloads
        self.strings = StringTexts()
        self.hidden = () if secrets else hidden(decoded)
        self.slots = slots

    def fields(self) -> Iterator[str]:
        """Yield the parts of all fields."""
        between = ""
        for path, node in self.decoded.root.walk():
            if _is_leaf(node):
                yield between
                yield from self.field(path, node)
                between = ","

    def hex(self, span: Span) -> str:
        """Return bytes in hex, with two asterisks for each secret byte."""
        return masked_hex(self.decoded.data, self.hidden, *span)

    def field(self, path: str, node: Node) -> tuple[str, str, str]:
        value = Slot("", node.name) if node.name in self.slots else value_text(*self.value(node))
        return field_parts(path, node.span.start, node.span.length, node.mask, value)

    def value(self, node: Node) -> tuple[str, str]:
        """Return the value of a leaf, and the value in words, as JSON; a string that JSON lacks is its bytes."""
        content = Span(node.span.start + node.prefix, node.span.stop)
        if isinstance(node.value, str):
            return self.strings[self.decoded.data[content.start : content.stop]]
        words = words_text(node, self.decoded, secrets=self.secrets)
        return hex_text(self.hex(content)) if isinstance(node.value, bytes) else dumps(node.value), words

    def lists(self, node: Node, group: str = "") -> Iterator[str]:
        """Yield the parts of the property lists and the payloads, each with the name of its group."""
        for child in node.children:
            if child.kind == "properties":
                yield from list_parts(f"{group}properties", f"[{','.join(self.properties(child))}]")
            elif child.kind == "payload":
                member = payload_texts(child.value, self.payloads)[1]
                yield from list_parts(f"{group}payload", Slot("", MEMBER) if child.name in self.slots else member)
            elif child.kind == "group":
                yield from self.lists(child, f"{child.name}_")

    def properties(self, node: Node) -> Iterator[str]:
        for each in node.children:
            if each.kind != "property" or (each.row and each.children[-1].kind == "gap") or not each.children[1:]:
                continue
            identifier, *parts = each.children
            values = [self.value(one)[0] for one in parts]
            value = f"[{','.join(values)}]" if each.row and each.row.type is PAIR else values[0]
            yield property_text(identifier.value, each.name, value, each.span.start, each.span.length)


def _is_leaf(node: Node) -> bool:
    return not node.children and node.span.start < node.span.stop
