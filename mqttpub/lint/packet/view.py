"""One packet as the rules see it: fields and properties by name, and the way from a fault to a finding."""

from typing import Any

from ...codec.tree import Decoded, Finding, Node, finding
from ...spec import constraints
from ...spec.constraints import StatementRef
from ...spec.packets import Connect
from ...spec.properties import WILL
from ...spec.statements import statement
from ...spec.versions import Direction, Version
from ..fault import Fault, Place

OF_SERVER = {"MQTT5-2.2.1-3": "MQTT5-2.2.1-4"}
"""Statements about the client, with the same statement about the server."""


class PacketView:
    """A decoded packet and its sender, if that is known."""

    def __init__(self, decoded: Decoded, direction: Direction | None = None) -> None:
        self.decoded = decoded
        self.version = decoded.version
        self.direction = direction or decoded.direction
        self.whole = decoded.packet is not None and not self._lost(constraints.PROPERTY_UNKNOWN)
        """Whether every field and property was read, so that what is missing was not sent."""
        self.sure = min(self._lost(constraints.PROPERTY_SHORT), default=len(decoded.data) + 1)
        """Up to here the bytes are certainly what they seem to be; after a wrong Property Length nothing is certain."""
        self.shared = self._shared()
        """In a CONNECT whose level no version has, where the fields end that all versions share; else None."""
        self.properties = self._index("properties")
        """The properties by name."""
        self.will_properties = self._index("will.properties")
        self.lists = ((decoded.name, self.properties), (WILL, self.will_properties))
        """The property lists by the names that `PropertyRow.packets` uses."""

    def at(self, path: str) -> Place | None:
        """Return the field with this path (without the name of the packet); None if it is missing or was cut off."""
        node: Node | None = self.decoded.root
        for name in path.split("."):
            node = node.child(name) if node else None
        return Place(f"{self.decoded.root.name}.{path}", node) if node and node.kind != "gap" else None

    def value(self, path: str) -> Any:
        """Return the value of a field; None if it is missing."""
        place = self.at(path)
        return place.node.value if place else None

    def fault(self, path: str, says: str) -> Fault:
        """Return a fault of a field that is present; the message begins with its name."""
        place = self.at(path)
        assert place
        return Fault(place, f"{place.node.label} {says}")

    def label_at(self, path: str) -> str:
        """Return the name that the version of the packet has for a field that is present."""
        place = self.at(path)
        assert place
        return place.node.label

    def finding(self, fault: Fault) -> Finding:
        """Return the finding for a fault of this packet by itself; cites the statement of the packet's version."""
        id = fault.law.id(self.version)
        return self.located(fault, OF_SERVER.get(id, id) if self.direction is Direction.SERVER else id)

    def located(self, fault: Fault, id: str) -> Finding:
        """Return the finding for a fault under this statement.

        A fault of the packet as a whole is placed at the packet type; one whose field was cut off covers the packet.
        """
        place = fault.place if isinstance(fault.place, Place) else self.at(fault.place or "type")
        reason = statement(id).answer
        if place is None:
            root = self.decoded.root
            return finding(id, root.name, root.span, fault.message, reason=reason)
        span = place.node.span if fault.span is None else fault.span
        mask = place.node.mask if fault.mask is None else fault.mask
        return finding(id, place.path, span, fault.message, mask=mask, reason=reason)

    def _shared(self) -> int | None:
        level = self.value("protocol_level") if self.decoded.type is Connect else None
        if level is None or Version.of_level(level):
            return None
        last = self.at("keep_alive")
        return last.node.span.stop if last else len(self.decoded.data) + 1

    def _lost(self, law: StatementRef) -> list[int]:
        """Return where each place ends at which the decoder found this statement violated."""
        id = law.id(self.version)
        return [each.span.stop for each in self.decoded.findings if each.statement == id]

    def _index(self, path: str) -> dict[str, list[Place]]:
        index: dict[str, list[Place]] = {}
        listed = self.at(path)
        for node in listed.node.children if listed else ():
            if node.row and node.kind == "property":
                index.setdefault(node.name, []).append(Place(f"{self.decoded.root.name}.{path}.{node.name}", node))
        return index
