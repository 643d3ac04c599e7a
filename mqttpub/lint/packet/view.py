"""One packet as the rules see it: nodes by name, properties by name, and the way to a finding."""

from typing import Any

from ...codec.tree import Decoded, Finding, Node, finding
from ...spec import structure
from ...spec.constraints import Law
from ...spec.packets import Connect
from ...spec.properties import WILL
from ...spec.statements import statement
from ...spec.versions import Direction, Version
from ..fault import Fault, Place

OF_SERVER = {"MQTT5-2.2.1-3": "MQTT5-2.2.1-4"}
"""Statements that bind the client, and those that say the same of the server."""


class PacketView:
    """A decoded packet and the end that sent it, if that is known."""

    def __init__(self, decoded: Decoded, direction: Direction | None = None) -> None:
        self.decoded = decoded
        self.version = decoded.version
        self.direction = direction or decoded.direction
        self.whole = decoded.packet is not None and not self._lost(structure.PROPERTY_UNKNOWN)
        """Whether every field and property was read, so that what is not there was not sent."""
        self.sure = min(self._lost(structure.PROPERTY_SHORT), default=len(decoded.data) + 1)
        """Where the bytes end that are what they seem to be; behind a wrong Property Length nobody knows."""
        self.shared = self._shared()
        """Where the bytes end that mean the same in every version, if its level is that of none; else None."""
        self.properties = self._index("properties")
        """The properties by name."""
        self.will_properties = self._index("will.properties")
        self.lists = ((decoded.name, self.properties), (WILL, self.will_properties))
        """The property lists with the names by which rows know their places."""

    def at(self, path: str) -> Place | None:
        """Return the field with this path, which leaves out the packet's own name; None when it is cut short."""
        node: Node | None = self.decoded.root
        for name in path.split("."):
            node = node.child(name) if node else None
        return Place(f"{self.decoded.root.name}.{path}", node) if node and node.kind != "gap" else None

    def value(self, path: str) -> Any:
        """Return the value of a field; None when it is not there."""
        place = self.at(path)
        return place.node.value if place else None

    def fault(self, path: str, says: str) -> Fault:
        """Return a fault of a field that is there; the message begins with its path."""
        place = self.at(path)
        assert place
        return Fault(place, f"{place.path} {says}")

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

    def _lost(self, law: Law) -> list[int]:
        """Return where the places end at which the decoder found a statement broken."""
        id = law.id(self.version)
        return [each.span.stop for each in self.decoded.findings if each.statement == id]

    def _index(self, path: str) -> dict[str, list[Place]]:
        index: dict[str, list[Place]] = {}
        listed = self.at(path)
        for node in listed.node.children if listed else ():
            if node.row and node.kind == "property":
                index.setdefault(node.name, []).append(Place(f"{self.decoded.root.name}.{path}.{node.name}", node))
        return index
