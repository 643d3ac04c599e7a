"""Why a packet is malformed: the findings about what cannot be read at all, apart from those about what it says."""

from functools import cache

from ...codec.tree import Decoded, Finding
from ...spec import constraints
from ...spec.statements import statements
from ...spec.versions import Version
from .check import lint
from .specific import specific
from .view import PacketView

ANSWER = 0x81
"""Reason Code Malformed Packet."""


def malformed(decoded: Decoded) -> Finding | None:
    """Return the first finding that makes a packet malformed; None if it is well-formed, whatever else it breaks.

    These are the errors of its structure, and what a receiver answers with Malformed Packet (5.0: 1.2, 4.13); in the
    earlier versions the same demands count. A text that is not UTF-8 makes a packet malformed, even in Java's form.
    """
    structure = {_place(each) for each in specific(PacketView(decoded)) if each.severity == "error"}
    laws = _laws(decoded.version)
    return next((each for each in lint(decoded) if each.statement in laws or _place(each) in structure), None)


def _place(found: Finding) -> tuple[object, ...]:
    return found.span, found.path, found.statement


@cache
def _laws(version: Version) -> frozenset[str]:
    """Return the ids of the statements about values whose violation makes a packet malformed."""
    laws = {each.id for each in statements("5.0") if each.answer == ANSWER}
    for label in ("3.1.1", "3.1"):
        laws |= {each.id for each in statements(label) if laws & {id.lstrip("~") for id in each.equivalents}}
    errors = {each.id for each in statements(version.label) if each.severity == "error"}
    return frozenset(laws & errors | {constraints.JAVA.id(version)} - {""})
