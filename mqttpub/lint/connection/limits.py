"""What the other end told it accepts: sizes, QoS, RETAIN, unacknowledged messages, information on problems."""

from ...spec.packets import Packet, Publish
from ...spec.properties import BY_KEY
from ...spec.versions import Version
from ..registry import TestPoint, cite, rule
from .state import CLIENT, ENDLESS, SERVER, Peer, State

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

SIZED = tuple(TestPoint(law) for law in _SIZE)
WITH_REASON = {code: TestPoint(laws[0]) for code, laws in _PUSHED.items()}
WITH_USER = {code: TestPoint(laws[1]) for code, laws in _PUSHED.items()}
QOS = TestPoint(_QOS)
RETAINED = TestPoint(_RETAIN)
WINDOW = tuple(TestPoint(law, _QUOTA, _FIRST_QUOTA) for law in _WINDOW)
PROBLEM = TestPoint(_PROBLEM)
_EXEMPT = (2, 3, 14)


def check_constrained(state: State, packet: Packet, peer: Peer) -> None:
    """Check a packet from an end that was told a size, or not to explain problems."""
    if peer.limits.packet_size_bytes != ENDLESS:
        sized(state, packet, peer)
    if peer.side == SERVER and not state.problem_information and packet.code not in _EXEMPT:
        _explained(state, packet)


def sized(state: State, packet: Packet, peer: Peer) -> None:
    """Check a packet against the receiver's Maximum Packet Size."""
    state.exercised[SIZED[peer.side]] += 1
    given = {id for id, _ in getattr(packet, "properties", None) or ()}
    laws = []
    for id, occasions, index in ((_REASON_STRING, WITH_REASON, 0), (_USER_PROPERTY, WITH_USER, 1)):
        if id in given and packet.code in _PUSHED:
            state.exercised[occasions[packet.code]] += 1
            laws.append((_PUSHED[packet.code][index], "properties." + ("reason_string", "user_property")[index]))
    if state.size_bytes <= peer.limits.packet_size_bytes:
        return
    message = f"{packet.name} takes {state.size_bytes} bytes, but the Maximum Packet Size of the {peer.other.name} is"
    laws.append((_SIZE[peer.side], "remaining_length"))
    (law, path), *also = laws
    message = f"{message} {peer.limits.packet_size_bytes} (packet {peer.limits.number})"
    state.fault(law, path, message, *(other for other, _ in also))


def _explained(state: State, packet: Packet) -> None:
    state.exercised[PROBLEM] += 1
    for id, _ in getattr(packet, "properties", None) or ():
        if id in (_REASON_STRING, _USER_PROPERTY):
            key, label = (
                ("reason_string", "Reason String") if id == _REASON_STRING else ("user_property", "User Property")
            )
            message = f"{label} is in {packet.name}, but CONNECT has Request Problem Information 0"
            state.fault(_PROBLEM, f"properties.{key}", message)
            return


@rule(Publish)
def within(state: State, packet: Publish, peer: Peer) -> None:
    """PUBLISH keeps to the receiver's limits on QoS, RETAIN and unacknowledged messages."""
    limits = peer.limits
    if not limits.known or state.version != Version.V5:
        return
    if packet.retain and peer.side == CLIENT:
        state.exercised[RETAINED] += 1
        if not limits.retain:
            message = f"publish.retain is 1, but Retain Available of the server is 0 (packet {limits.number})"
            state.fault(_RETAIN, "retain", message)
    if packet.qos:
        _above(state, packet, peer)


def _above(state: State, packet: Publish, peer: Peer) -> None:
    limits = peer.limits
    if peer.side == CLIENT:
        state.exercised[QOS] += 1
        if packet.qos > limits.qos:
            message = f"publish.qos is {packet.qos}, but Maximum QoS of the server is {limits.qos}"
            state.fault(_QOS, "qos", f"{message} (packet {limits.number})")
    state.exercised[WINDOW[peer.side]] += 1
    if peer.in_flight > limits.receive_maximum and not packet.dup:
        also = () if peer.finished else (_FIRST_QUOTA,)
        message = f"{peer.in_flight} PUBLISH packets of QoS 1 and 2 are unacknowledged, but Receive Maximum of the"
        message = f"{message} {peer.other.name} is {limits.receive_maximum} (packet {limits.number})"
        state.fault(_WINDOW[peer.side], "packet_id", message, _QUOTA, *also)
