"""What a rule reports: a fault at a place of a packet, before it has become a finding."""

from typing import NamedTuple

from ..codec.tree import Node
from ..spec.constraints import StatementRef
from ..spec.statements import statement
from ..spec.versions import Direction
from ..wire.cursor import Span

_UNCITED = StatementRef()


class Place(NamedTuple):
    """A node of a decoded packet and its dotted path, `publish.topic`."""

    path: str
    node: Node

    @property
    def text(self) -> Span:
        """The bytes of a string or of binary data, without its length prefix."""
        return Span(self.node.span.start + self.node.prefix, self.node.span.stop)

    def part(self, value: str | bytes, within: tuple[int, int]) -> Span:
        """Return the bytes of some characters (start, stop) of a string, or of some bytes of binary data."""
        ends = within if isinstance(value, bytes) else (_size_bytes(value[:at]) for at in within)
        return Span(*ends).shifted(self.text.start)


def _size_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


class Fault(NamedTuple):
    """A violation of a rule."""

    place: Place | str
    """The field at fault, or its path without the name of the packet; empty for the packet as a whole."""
    message: str
    law: StatementRef = _UNCITED
    """What it violates; rules of single packets leave it out, because `cites` of their declaration says it."""
    also: tuple[StatementRef, ...] = ()
    """Other statements that it violates; a tally counts them, the finding does not cite them."""
    severity: str = ""
    """The finding is at most this severe; empty for the severity of the statement."""
    span: Span | None = None
    """The bytes at fault, where they are not those of the node."""
    mask: int | None = None
    """The bits at fault, where they are not those of the node."""
    at_fault: Direction | None = None
    """The end at fault, where it is not the sender of the packet that shows it."""


def end_at_fault(id: str, sender: Direction | None, said: Direction | None = None) -> Direction | None:
    """Return the end at fault for a violation of statement `id`: the one that the rule `said`, else the sender of the
    packet that shows it, else the only end that the statement binds; None where all are unknown.
    """
    # A packet of the wrong end breaks statements about the other one, but who sent it is at fault.
    return said or sender or statement(id).bound
