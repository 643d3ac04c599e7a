"""The result of decoding: nodes with their places, and findings."""

from collections.abc import Iterator
from typing import Any

from ..spec.declare import Field, Packet
from ..spec.properties import PropertyRow
from ..spec.versions import Direction, Version
from ..wire.cursor import Span


class Node:
    """A value and its place.

    `mask` has the bits that the value takes of its one byte; 0 means whole bytes. A node without children is a leaf;
    the leaves of a packet cover each of its bits exactly once.
    """

    __slots__ = ("children", "field", "kind", "label", "mask", "name", "prefix", "row", "span", "value")

    def __init__(
        self, name: str, span: Span, value: Any = None, *, mask: int = 0, kind: str = "", label: str = "",
        field: Field | None = None, row: PropertyRow | None = None, prefix: int = 0,
    ) -> None:  # fmt: skip
        self.name = name
        self.span = span
        self.value = value
        self.mask = mask
        self.kind = kind
        """Family of the value: type flag length id topic property reason number text payload secret
        reserved gap; nodes of the kinds `octet`, `group`, `list` and `properties` only have children."""
        self.label = label
        """Its name in the specification."""
        self.field = field
        """Its declaration, if it has one."""
        self.row = row
        """The property that it is part of, if any."""
        self.prefix = prefix
        """Number of bytes at the start of the span that hold the length of the value."""
        self.children: list[Node] = []

    def leaves(self) -> Iterator["Node"]:
        """Yield the leaves in the order of their bytes."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def child(self, name: str) -> "Node | None":
        """Return the first descendant with this name, except inside lists and properties; None if there is none."""
        for node in self.children:
            if node.name == name:
                return node
            if node.kind in ("octet", "group") and (found := node.child(name)):
                return found
        return None

    def walk(self, path: str = "") -> Iterator[tuple[str, "Node"]]:
        """Yield every node with its dotted path; a byte that only holds bits is not part of the path."""
        own = path if self.kind == "octet" and path else f"{path}.{self.name}" if path else self.name
        yield own, self
        for child in self.children:
            yield from child.walk(own)

    def __repr__(self) -> str:
        return f"Node({self.name!r}, {self.span.start}-{self.span.stop}, {self.value!r}, mask={self.mask:#x})"


class Finding:
    """A violation, or something worth knowing, at one place of a packet."""

    __slots__ = ("at_fault", "mask", "message", "path", "reason", "severity", "span", "statement")

    def __init__(
        self, severity: str, path: str, span: Span, message: str, statement: str, *,
        mask: int = 0, reason: int | None = None, at_fault: Direction | None = None,
    ) -> None:  # fmt: skip
        self.severity = severity
        """error, warning or note."""
        self.path = path
        self.span = span
        self.mask = mask
        self.message = message
        """What the bytes hold and what they should hold."""
        self.statement = statement
        """Full id of the statement, such as MQTT5-3.3.1-2."""
        self.reason = reason
        """Reason Code with which a receiver answers the violation in MQTT 5.0; None if there is none."""
        self.at_fault = at_fault
        """The end that violates the statement; None while nobody has said it, and where it is unknown."""

    @property
    def whose(self) -> str:
        """Return in words which end is at fault; empty if that is unknown."""
        return f"fault of the {self.at_fault.value}" if self.at_fault else ""

    def __repr__(self) -> str:
        place, end = f"{self.span.start}-{self.span.stop}", self.at_fault.value if self.at_fault else None
        return f"Finding({self.severity} {self.path} {place} {self.message!r} {self.statement} at_fault={end})"


def finding(
    id: str, path: str, span: Span, message: str, *,
    mask: int = 0, reason: int | None = None, at_fault: Direction | None = None,
) -> Finding:  # fmt: skip
    """Return a finding with the severity of statement `id`; raises KeyError for an unknown id."""
    from ..spec.statements import statement

    severity = statement(id).severity
    return Finding(severity, path, span, message, id, mask=mask, reason=reason, at_fault=at_fault)


class Decoded:
    """One decoded packet: its bytes, its tree and the findings about its structure."""

    __slots__ = ("data", "direction", "findings", "offset", "packet", "root", "type", "version")

    def __init__(
        self, data: bytes, root: Node, version: Version, *, type: type[Packet] | None, offset: int = 0,
        direction: Direction | None = None, findings: list[Finding] | None = None, packet: Packet | None = None,
    ) -> None:  # fmt: skip
        self.data = data
        self.root = root
        self.version = version
        self.type = type
        """The class of the packet; None for packet type 0 and types that the version does not have."""
        self.offset = offset
        """Offset of the packet in its stream; spans count from the packet."""
        self.direction = direction
        self.findings = findings if findings is not None else []
        self.packet = packet
        """The values; None if bytes are missing for some of them."""

    @property
    def name(self) -> str:
        """The name of the packet in the specification, such as PUBLISH."""
        return self.type.name if self.type else f"TYPE {self.data[0] >> 4}" if self.data else "NOTHING"

    @property
    def code(self) -> int:
        """The packet type, the upper four bits of the first byte (5.0: 2.1.2)."""
        return self.data[0] >> 4 if self.data else 0

    def at(self, path: str) -> Node | None:
        """Return the node with this dotted path, such as `publish.topic`; None if there is none."""
        return next((node for own, node in self.root.walk() if own == path), None)
