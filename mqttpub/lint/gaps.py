"""What is wrong with bytes that a peer sent and that are no packet."""

from ..codec.decode import decode
from ..codec.nodes import Finding, finding
from ..conversation.events import GapSeen
from ..spec import structure
from ..spec.terms import Version
from ..wire.span import Span


def wrong(event: GapSeen, version: Version) -> Finding:
    """Return the finding for such bytes, at their Remaining Length where that is to blame.

    What keeps MQTT from being read at all, such as a fault of WebSocket, breaks no statement.
    """
    decoded = decode(event.data, version, direction=event.direction)
    length = decoded.root.child("remaining_length")
    for each in decoded.findings:
        if each.statement == structure.LENGTH.id(version) and event.message.startswith(each.message):
            return each
    if event.length is None or length is None:
        return Finding("error", decoded.root.name, Span(0, min(len(event.data), 1)), event.message, "")
    path = f"{decoded.root.name}.{length.name}"
    return finding(structure.SHORT.id(version), path, length.span, event.message)
