"""Topic Aliases: each direction has its own, within what the receiver allowed (5.0: 3.3.2.3.4)."""

from ...common.lru import WeightedLru
from ...spec.packets import Publish
from ...spec.properties import TOPIC_ALIAS, value_of
from ...traffic.aliases import Aliases
from ..registry import InRuns, TestPoint, cite, rule
from .state import ConnectionState, Peer

MEMORY = 2 << 20
"""Characters of Topic Names that are remembered for one connection; when some were dropped, no alias is reported."""

_NONE = (cite("3.2.2-18"), cite("3.1.2-27"))
_ABOVE = (cite("3.2.2-17"), cite("3.1.2-26"))
_ABOVE_ALSO = (cite("3.3.2-9"), cite("3.3.2-11"))

USED = TestPoint(cite("3.3.4/alias-unset"))
_ACCEPTED = (cite("3.3.2-12"), cite("3.3.2-10"))
ALIASED = tuple(TestPoint(*laws) for laws in zip(_NONE, _ABOVE, _ABOVE_ALSO, _ACCEPTED, strict=True))


UNALIASED = InRuns()
"""No packet in a run has a Topic Alias."""


@rule(Publish, runs=UNALIASED)
def aliased(state: ConnectionState, packet: Publish, peer: Peer) -> None:
    """A Topic Alias is in range, and was set before it is used without a Topic Name."""
    state.topic = packet.topic or None
    alias = value_of(packet.properties, TOPIC_ALIAS) if packet.properties else None
    if not alias:
        # A rule of the packet by itself reports 0.
        peer.aliases_valid &= alias is None
        return
    if state.aliases is None:
        state.aliases = Aliases(WeightedLru(MEMORY))
    topic = state.aliases.resolve(packet, peer.direction)
    assert topic.alias
    if peer.limits.known:
        _in_range(state, topic.alias, peer)
    if packet.topic:
        return
    state.exercised[USED] += 1
    state.topic = topic.name
    if topic.name is None and not topic.forgotten and state.complete:
        message = f"Topic Alias {topic.alias} is without a Topic Name, but the {peer.name} did not set it"
        state.fault(USED.law, "properties.topic_alias", f"{message} on this connection")
        peer.aliases_valid = False


def _in_range(state: ConnectionState, alias: int, peer: Peer) -> None:
    state.exercised[ALIASED[peer.side]] += 1
    maximum, announced = peer.limits.alias_maximum, f"(packet {peer.limits.number})"
    if alias <= maximum:
        return
    peer.aliases_valid = False
    if maximum:
        law = _ABOVE[peer.side]
        message = f"Topic Alias is {alias}, but Topic Alias Maximum of the {peer.other.name} is {maximum} {announced}"
    else:
        law = _NONE[peer.side]
        message = f"Topic Alias is {alias}, but the {peer.other.name} set no Topic Alias Maximum {announced}"
    state.fault(law, "properties.topic_alias", message, _ABOVE_ALSO[peer.side])
