"""All findings of one packet by itself."""

from ...codec.tree import Decoded, Finding
from ...spec.declare import only_sender
from ...spec.versions import Direction
from ..fault import end_at_fault
from .rules import rule_findings
from .specific import specific
from .values import value_findings
from .view import PacketView


def lint(decoded: Decoded, direction: Direction | None = None) -> list[Finding]:
    """Return the findings of a packet by itself, in the order of its bytes; those of the decoder are among them.

    `direction` is the sender, if it is known and `decoded` does not say it. One fault causes one finding, under the
    most specific statement; its `reason` is the Reason Code of the answer, if MQTT 5.0 names one. The sender is at
    fault.
    """
    packet = PacketView(decoded, direction)
    ruled = list(rule_findings(packet))
    replaced = {found.path for rule, found in ruled if rule.instead}
    found = [each for each in value_findings(packet) if each.path not in replaced]
    found.extend(each for _, each in ruled)
    found = [*specific(packet), *(each for each in found if each.span.start < packet.sure)]
    if packet.shared is not None:
        found = [each for each in found if each.span.start < packet.shared]
    sender = packet.direction or only_sender(decoded.code, decoded.version)
    for each in found:
        each.at_fault = end_at_fault(each.statement, sender)
    return sorted(found, key=lambda each: (each.span.start, each.span.stop, -each.mask))
