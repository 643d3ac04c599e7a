"""All that one packet shows to be wrong."""

from ...codec.tree import Decoded, Finding
from ...spec.versions import Direction
from .rules import broken
from .specific import refined
from .values import judged
from .view import PacketView


def lint(decoded: Decoded, direction: Direction | None = None) -> list[Finding]:
    """Return what is wrong with a packet by itself, in the order of its bytes.

    Contains what the decoder found. `direction` says who sent the packet, if that is known
    and the packet does not carry it. One fault gives one finding, with the most specific
    statement; `reason` is the Reason Code of the answer, where 5.0 names one.
    """
    packet = PacketView(decoded, direction)
    ruled = list(broken(packet))
    replaced = {found.path for rule, found in ruled if rule.instead}
    found = [each for each in judged(packet) if each.path not in replaced]
    found.extend(each for _, each in ruled)
    found = [*refined(packet), *(each for each in found if each.span.start < packet.sure)]
    if packet.shared is not None:
        found = [each for each in found if each.span.start < packet.shared]
    return sorted(found, key=lambda each: (each.span.start, each.span.stop, -each.mask))
