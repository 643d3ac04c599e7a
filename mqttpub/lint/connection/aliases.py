"""Topic Aliases: each direction has its own, within what the receiver allowed."""

from ...spec.packets import Publish
from ...spec.properties import BY_KEY
from .registry import Occasion, cite, on, value_of
from .state import End, State

_ALIAS = BY_KEY["topic_alias"].id

_UNSET = cite("3.3.4/alias-unset")
_NONE = (cite("3.2.2-18"), cite("3.1.2-27"))
_ABOVE = (cite("3.2.2-17"), cite("3.1.2-26"))
_ABOVE_ALSO = (cite("3.3.2-9"), cite("3.3.2-11"))

USED = Occasion(_UNSET)
_ACCEPTED = (cite("3.3.2-12"), cite("3.3.2-10"))
ALIASED = tuple(Occasion(*laws) for laws in zip(_NONE, _ABOVE, _ABOVE_ALSO, _ACCEPTED, strict=True))


@on(Publish)
def aliased(state: State, packet: Publish, end: End) -> None:
    """A Topic Alias is in range, and was set before it stands alone."""
    state.topic = packet.topic or None
    alias = value_of(packet.properties, _ALIAS) if packet.properties else None
    if not alias:
        return
    if end.limits.known:
        _in_range(state, alias, end)
    if packet.topic:
        _set(end, alias, packet.topic)
        return
    state.counts[USED] += 1
    state.topic = end.aliases.get(alias)
    if alias not in end.aliases and state.complete:
        message = f"Topic Alias {alias} is without a Topic Name, but the {end.name} did not set it on this connection"
        state.fault(_UNSET, "properties.topic_alias", message)
        end.range_kept = False


def _in_range(state: State, alias: int, end: End) -> None:
    state.counts[ALIASED[end.side]] += 1
    most, told = end.limits.alias_maximum, f"(packet {end.limits.number})"
    if alias <= most:
        return
    end.range_kept = False
    if most:
        message = f"Topic Alias is {alias}, but Topic Alias Maximum of the {end.peer.name} is {most} {told}"
        state.fault(_ABOVE[end.side], "properties.topic_alias", message, _ABOVE_ALSO[end.side])
    else:
        message = f"Topic Alias is {alias}, but the {end.peer.name} set no Topic Alias Maximum {told}"
        state.fault(_NONE[end.side], "properties.topic_alias", message, _ABOVE_ALSO[end.side])


def _set(end: End, alias: int, topic: str) -> None:
    """Remember an alias; an empty name stands for one that was not kept."""
    room = end.alias_room + len(end.aliases.get(alias, ""))
    kept = topic if len(topic) <= room else ""
    end.alias_room = room - len(kept)
    end.aliases[alias] = kept
