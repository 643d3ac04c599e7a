"""What the other end told it accepts: sizes, QoS, RETAIN, unacknowledged messages, information on problems."""

from ...spec.packets import Packet, Publish
from ...spec.properties import BY_KEY
from ...spec.versions import Version
from .registry import CLIENT, SERVER, Occasion, cite, on
from .state import ENDLESS, End, State

_REASON_STRING = BY_KEY["reason_string"].id
_USER_PROPERTY = BY_KEY["user_property"].id

_SIZE = (cite("3.2.2-15"), cite("3.1.2-24"))
_PUSHED = {
    2: (cite("3.2.2-19"), cite("3.2.2-20")),
    4: (cite("3.4.2-2"), cite("3.4.2-3")),
    5: (cite("3.5.2-2"), cite("3.5.2-3")),
    6: (cite("3.6.2-2"), cite("3.6.2-3")),
    7: (cite("3.7.2-2"), cite("3.7.2-3")),
    9: (cite("3.9.2-1"), cite("3.9.2-2")),
    11: (cite("3.11.2-1"), cite("3.11.2-2")),
    14: (cite("3.14.2-3"), cite("3.14.2-4")),
    15: (cite("3.15.2-2"), cite("3.15.2-3")),
}
"""By packet type: neither a Reason String nor a User Property pushes it over Maximum Packet Size."""
_QOS = cite("3.2.2-11")
_RETAIN = cite("3.2.2-14")
_WINDOW = (cite("3.3.4-7"), cite("3.3.4-9"))
_QUOTA = cite("4.9.0-2")
_FIRST_QUOTA = cite("4.9.0-1")
_PROBLEM = cite("3.1.2-29")

SIZED = tuple(Occasion(law) for law in _SIZE)
WITH_REASON = {code: Occasion(laws[0]) for code, laws in _PUSHED.items()}
WITH_USER = {code: Occasion(laws[1]) for code, laws in _PUSHED.items()}
QOS = Occasion(_QOS)
RETAINED = Occasion(_RETAIN)
WINDOW = tuple(Occasion(law, _QUOTA, _FIRST_QUOTA) for law in _WINDOW)
PROBLEM = Occasion(_PROBLEM)
_EXEMPT = (2, 3, 14)


def special(state: State, packet: Packet, end: End) -> None:
    """Check a packet from an end that was told a size, or not to explain problems."""
    if end.limits.size != ENDLESS:
        sized(state, packet, end)
    if end.side == SERVER and not state.problem_information and packet.code not in _EXEMPT:
        _explained(state, packet)


def sized(state: State, packet: Packet, end: End) -> None:
    """Check a packet against the receiver's Maximum Packet Size."""
    state.counts[SIZED[end.side]] += 1
    given = {id for id, _ in getattr(packet, "properties", None) or ()}
    laws = []
    for id, occasions, index in ((_REASON_STRING, WITH_REASON, 0), (_USER_PROPERTY, WITH_USER, 1)):
        if id in given and packet.code in _PUSHED:
            state.counts[occasions[packet.code]] += 1
            laws.append((_PUSHED[packet.code][index], "properties." + ("reason_string", "user_property")[index]))
    if state.size <= end.limits.size:
        return
    message = f"{packet.name} takes {state.size} bytes, but the Maximum Packet Size of the {end.peer.name} is"
    laws.append((_SIZE[end.side], "remaining_length"))
    (law, path), *also = laws
    message = f"{message} {end.limits.size} (packet {end.limits.number})"
    state.fault(law, path, message, *(other for other, _ in also))


def _explained(state: State, packet: Packet) -> None:
    state.counts[PROBLEM] += 1
    for id, _ in getattr(packet, "properties", None) or ():
        if id in (_REASON_STRING, _USER_PROPERTY):
            key, label = (
                ("reason_string", "Reason String") if id == _REASON_STRING else ("user_property", "User Property")
            )
            message = f"{label} is in {packet.name}, but CONNECT has Request Problem Information 0"
            state.fault(_PROBLEM, f"properties.{key}", message)
            return


@on(Publish)
def within(state: State, packet: Publish, end: End) -> None:
    """PUBLISH keeps to the receiver's limits on QoS, RETAIN and unacknowledged messages."""
    limits = end.limits
    if not limits.known or state.version != Version.V5:
        return
    if packet.retain and end.side == CLIENT:
        state.counts[RETAINED] += 1
        if not limits.retain:
            message = f"publish.retain is 1, but Retain Available of the server is 0 (packet {limits.number})"
            state.fault(_RETAIN, "retain", message)
    if packet.qos:
        _above(state, packet, end)


def _above(state: State, packet: Publish, end: End) -> None:
    limits = end.limits
    if end.side == CLIENT:
        state.counts[QOS] += 1
        if packet.qos > limits.qos:
            message = f"publish.qos is {packet.qos}, but Maximum QoS of the server is {limits.qos}"
            state.fault(_QOS, "qos", f"{message} (packet {limits.number})")
    state.counts[WINDOW[end.side]] += 1
    if end.in_flight > limits.receive_maximum and not packet.dup:
        also = () if end.over else (_FIRST_QUOTA,)
        message = f"{end.in_flight} PUBLISH packets of QoS 1 and 2 are unacknowledged, but Receive Maximum of the"
        message = f"{message} {end.peer.name} is {limits.receive_maximum} (packet {limits.number})"
        state.fault(_WINDOW[end.side], "packet_id", message, _QUOTA, *also)
