"""Limits that the other end announced: packet size, QoS, RETAIN, messages in flight, problem information (5.0)."""

from itertools import islice

from ...spec.packets import Packet, Publish
from ...spec.properties import REASON_STRING, USER_PROPERTY
from ...spec.versions import V5
from ..registry import InRuns, TestPoint, cite, rule
from .state import CLIENT, ENDLESS, SERVER, ConnectionState, Peer, Stretch

_EXPLANATIONS = (REASON_STRING, USER_PROPERTY)
"""Properties that explain a problem."""

_SIZE = (cite("3.2.2-15"), cite("3.1.2-24"))
_ENLARGED = {
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
"""By packet type: neither Reason String nor User Property may make it larger than Maximum Packet Size."""
_WINDOW = (cite("3.3.4-7"), cite("3.3.4-9"))
_QUOTA = cite("4.9.0-2")
_FIRST_QUOTA = cite("4.9.0-1")

SIZED = tuple(TestPoint(law) for law in _SIZE)
ENLARGED = {code: tuple(TestPoint(law) for law in laws) for code, laws in _ENLARGED.items()}
QOS = TestPoint(cite("3.2.2-11"))
RETAINED = TestPoint(cite("3.2.2-14"))
WINDOW = tuple(TestPoint(law, _QUOTA, _FIRST_QUOTA) for law in _WINDOW)
PROBLEM = TestPoint(cite("3.1.2-29"))
_MAY_EXPLAIN = (2, 3, 14)
"""CONNACK, PUBLISH and DISCONNECT may always have them (5.0: 3.1.2.11.7)."""


def check_constrained(state: ConnectionState, packet: Packet, peer: Peer) -> None:
    """Check a packet of a peer whose `constrained` is set."""
    if peer.limits.packet_size_bytes != ENDLESS:
        _check_size(state, packet, peer)
    if peer.side == SERVER and not state.problem_information and packet.code not in _MAY_EXPLAIN:
        _check_problem_information(state, packet)


def _check_size(state: ConnectionState, packet: Packet, peer: Peer) -> None:
    """Check a packet against the Maximum Packet Size of its receiver."""
    state.exercised[SIZED[peer.side]] += 1
    laws = []
    for index, row in enumerate(_EXPLANATIONS if packet.code in _ENLARGED else ()):
        if any(id == row.id for id, _ in getattr(packet, "properties", None) or ()):
            state.exercised[ENLARGED[packet.code][index]] += 1
            laws.append((_ENLARGED[packet.code][index], f"properties.{row.key}"))
    maximum = peer.limits.packet_size_bytes
    if state.size_bytes <= maximum:
        return
    # The most specific statement comes first; it is the one that is cited.
    (law, path), *also = (*laws, (_SIZE[peer.side], "remaining_length"))
    message = f"{packet.name} has {state.size_bytes} bytes, but Maximum Packet Size of the {peer.other.name} is"
    state.fault(law, path, f"{message} {maximum} (packet {peer.limits.number})", *(other for other, _ in also))


def _check_problem_information(state: ConnectionState, packet: Packet) -> None:
    state.exercised[PROBLEM] += 1
    given = {id for id, _ in getattr(packet, "properties", None) or ()}
    for row in _EXPLANATIONS:
        if row.id in given:
            message = f"{packet.name} has {row.label}, but CONNECT has Request Problem Information 0"
            state.fault(PROBLEM.law, f"properties.{row.key}", message)
            return


def _until_limit(stretch: Stretch, row: int, stop: int) -> int:
    """Return the first message beyond a limit."""
    peer, limits = stretch.peer, stretch.peer.limits
    if not limits.known or stretch.state.version is not V5:
        return stop
    if stretch.is_client and (limits.qos < 2 or not limits.retain):
        firsts = enumerate(stretch.columns.first[row:stop], row)
        stop = next((at for at, first in firsts if first >> 1 & 3 > limits.qos or first & 1 > limits.retain), stop)
    room = max(limits.receive_maximum - peer.in_flight, 0)
    if len(stretch.begun(row, stop)) <= room:
        return stop
    begun = (at for at, id in enumerate(stretch.columns.packet_id[row:stop], row) if id)
    return next(islice(begun, room, None))


def _count_limited(stretch: Stretch, row: int, stop: int) -> None:
    if not stretch.peer.limits.known or stretch.state.version is not V5:
        return
    begun = len(stretch.begun(row, stop))
    stretch.count(WINDOW[stretch.peer.side], begun)
    if stretch.is_client:
        stretch.count(QOS, begun)
        stretch.count(RETAINED, stretch.retained(row, stop))


@rule(Publish, runs=InRuns(_until_limit, _count_limited))
def publish_limits(state: ConnectionState, packet: Publish, peer: Peer) -> None:
    """PUBLISH keeps to the receiver's limits on QoS, RETAIN and messages in flight."""
    limits = peer.limits
    if not limits.known or state.version != V5:
        return
    if packet.retain and peer.side == CLIENT:
        state.exercised[RETAINED] += 1
        if not limits.retain:
            message = f"RETAIN is 1, but Retain Available of the server is 0 (packet {limits.number})"
            state.fault(RETAINED.law, "retain", message)
    if packet.qos:
        _check_qos(state, packet, peer)


def _check_qos(state: ConnectionState, packet: Publish, peer: Peer) -> None:
    limits = peer.limits
    if peer.side == CLIENT:
        state.exercised[QOS] += 1
        if packet.qos > limits.qos:
            message = f"QoS is {packet.qos}, but Maximum QoS of the server is {limits.qos}"
            state.fault(QOS.law, "qos", f"{message} (packet {limits.number})")
    state.exercised[WINDOW[peer.side]] += 1
    if peer.in_flight > limits.receive_maximum and not packet.dup:
        also = () if peer.finished else (_FIRST_QUOTA,)
        message = f"{peer.in_flight} PUBLISH packets of QoS 1 and 2 are unacknowledged, but Receive Maximum of the"
        message = f"{message} {peer.other.name} is {limits.receive_maximum} (packet {limits.number})"
        state.fault(_WINDOW[peer.side], "packet_id", message, _QUOTA, *also)
