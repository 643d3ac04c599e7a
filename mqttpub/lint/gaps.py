"""The finding for bytes of a peer that are not a packet."""

from ..codec.decode import decode
from ..codec.tree import Finding, finding
from ..spec import constraints
from ..spec.constraints import StatementRef
from ..spec.versions import Version
from ..traffic.events import GapSeen
from ..wire.cursor import Span

_TEXT_FRAME = "WebSocket text frame"
_OVERLONG = "Remaining Length does not end"


def gap_finding(event: GapSeen, version: Version) -> Finding:
    """Return the finding for a gap that a peer caused, at the Remaining Length if that is at fault."""
    found = _gap_finding(event, version)
    found.at_fault = event.direction
    return found


def _gap_finding(event: GapSeen, version: Version) -> Finding:
    decoded = decode(event.data, version, direction=event.direction)
    length = decoded.root.child("remaining_length")
    law = _law(event)
    if law is constraints.SHORT and length and length.kind != "gap":
        if length.span.stop + length.value < (event.length or 0):
            law = constraints.TRAILING
        path = f"{decoded.root.name}.{length.name}"
        return finding(law.id(version), path, length.span, event.message)
    for each in decoded.findings:
        if each.statement == law.id(version) and event.message.startswith(each.message):
            return each
    return finding(law.id(version), decoded.root.name, Span(0, min(len(event.data), 1)), event.message)


def _law(event: GapSeen) -> StatementRef:
    """Return the statement that the bytes violate."""
    if event.message.startswith(_OVERLONG):
        return constraints.LENGTH
    if event.length is not None:
        return constraints.SHORT
    # Only the transport can be wrong from here to the end of the stream.
    return constraints.BINARY_FRAMES if event.message.startswith(_TEXT_FRAME) else constraints.TRANSPORT
