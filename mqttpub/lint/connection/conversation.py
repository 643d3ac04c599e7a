"""The rules of one connection, packet by packet."""

from ...codec.connect_version import unknown_level
from ...codec.decode import decode
from ...codec.tree import Decoded, Finding, finding
from ...spec.declare import Packet, only_sender
from ...spec.packets import Connack, Connect, declared
from ...spec.versions import Direction, Version
from ...traffic.runs import PacketRun
from ...wire.cursor import Span
from ..fault import Fault, end_at_fault
from ..packet.view import PacketView
from ..registry import SEVERITIES, Check, Tally, check_tables, run_tables
from . import acks, aliases, auth, close, connect, deliver, keepalive, limits, loopback, publish, subscribe
from .must_close import MALFORMED, note_server_must_close
from .run import advance, followers
from .state import CLIENT, ConnectionState, Peer

RULE_MODULES = (
    connect, auth, keepalive, publish, acks, limits, aliases, subscribe, deliver, loopback, close,
)  # fmt: skip
"""The rules see a packet in this order."""

NO_FINDINGS: list[Finding] = []
"""What most packets have; not to be changed."""
_CHECKS = check_tables(RULE_MODULES)
_FOLLOWERS = tuple(map(followers, run_tables(RULE_MODULES)))
_NO_CHECKS: tuple[Check, ...] = ()
_CLIENT = Direction.CLIENT
"""Found faster than an attribute of an Enum class."""


class Conversation:
    """The rules of one Network Connection.

    `version` is that of its packets, if it is known before the CONNECT. `complete` says that the capture holds
    the connection from its first byte. Times are nanoseconds of any clock.
    """

    __slots__ = ("_broken", "_state")

    def __init__(self, version: Version | None = None, *, complete: bool = True) -> None:
        self._state = ConnectionState(version or Version.V5, complete=complete)
        self._broken: dict[str, int] = {}

    @property
    def version(self) -> Version:
        """The version of the connection, as far as it is known."""
        return self._state.version

    def packet(self, decoded: Decoded, time: int | None = None) -> list[Finding]:
        """Return the findings that the next packet causes, given those before it.

        Findings of the packet by itself come from `lint.packet`. If the sender is not known and either end may
        send the packet, it counts as a gap.
        """
        direction = decoded.direction or (only_sender(decoded.type.code, decoded.version) if decoded.type else None)
        if direction is None:
            self.gap(None, None)
            return []
        self._set_version(decoded.version)
        faults = self._run(decoded.packet, decoded.type, decoded.data, direction, time)
        return [self._finding(fault, decoded, direction) for fault in faults]

    def fast(
        self, data: bytes, packet: Packet | None, direction: Direction, time: int | None = None,
        version: Version | None = None,
    ) -> list[Finding]:  # fmt: skip
        """Do the same as `packet` for a packet that was read without places; it is decoded only if a rule is violated.

        `packet` is what `codec.decode.decode_packet(data, version)` returned. Do not change the list.
        """
        kind = type(packet) if packet is not None else self._kind(data, version)
        if version is not None and version is not self._state.version:
            self._set_version(version)
        faults = self._run(packet, kind, data, direction, time)
        if not faults:
            return NO_FINDINGS
        decoded = decode(data, self._state.version, direction=direction)
        return [self._finding(fault, decoded, direction) for fault in faults]

    def run(self, run: PacketRun, row: int) -> int:
        """Follow a run from a row up to a packet that may have a finding here; return its row, or where the run ends.

        The packets before it have none. That packet is for `fast`; then the rest of the run may be followed.
        """
        return advance(self._state, run, row, _FOLLOWERS)

    def _kind(self, data: bytes, version: Version | None) -> type[Packet] | None:
        """Return the type of a packet that could not be read."""
        return declared(data[0] >> 4, version or self._state.version) if data else None

    def gap(self, direction: Direction | None, length: int | None) -> None:
        """Forget what missing bytes may have changed, whoever sent them.

        Call it before the packets with which the other end reacts to them.
        """
        self._state.forget()

    def closed(self, direction: Direction | None, how: str, time: int | None = None) -> list[Finding]:
        """Return findings for what was left undone when an end closed (`FIN`, `RST`) or the capture ended (`end`).

        `direction` is the end that closed, None at the end of the capture.
        """
        state = self._state
        state.time_ns = time
        state.faults = []
        close.closed(state, _peer(state, direction) if direction else None, how)
        return [self._finding(fault, None, None) for fault in state.faults]

    @property
    def tally(self) -> Tally:
        """How often each statement was put to the test and violated up to now."""
        exercised: dict[str, int] = {}
        for point, count in self._state.exercised.items():
            for id in dict.fromkeys(point.ids(self._state.version)):
                exercised[id] = exercised.get(id, 0) + count
        for id, count in self._broken.items():
            exercised[id] = max(count, exercised.get(id, 0))
        return Tally(exercised, dict(self._broken))

    # one packet

    def _set_version(self, version: Version) -> None:
        """Follow the version of the packets until a CONNECT announces one; a guess may still change before."""
        if not self._state.version_announced:
            self._state.version = version

    def _run(
        self, packet: Packet | None, kind: type[Packet] | None, data: bytes, direction: Direction, time: int | None
    ) -> list[Fault]:
        # This runs once for each packet of a capture, so it takes as few steps as it can.
        state = self._state
        peer = state.client if direction is _CLIENT else state.server
        side = peer.side
        state.number += 1
        state.time_ns, state.data, state.size_bytes = time, data, len(data)
        peer.packets += 1
        if state.faults:
            state.faults = []
        if state.check_order[side]:
            connect.check_packet_order(state, packet, kind, peer)
        if packet is None:
            self._unreadable(kind, peer)
        else:
            if peer.constrained:
                limits.check_constrained(state, packet, peer)
            for check in _CHECKS[side].get(type(packet), _NO_CHECKS):
                check(state, packet, peer)
        if time is not None:
            last = state.client.last_ns
            if last is not None and time - last > state.client.silence_ns:
                (keepalive.check_server_tolerates_silence if side else keepalive.check_silence)(state, packet, peer)
            peer.last_ns = time
        # Thousands of conversations may be open, and some packets are long.
        state.data, state.topic = b"", None
        return state.faults

    def _unreadable(self, kind: type[Packet] | None, peer: Peer) -> None:
        state = self._state
        number, first_connect = state.number, kind is Connect and not state.connect_number
        state.forget()
        if peer.side == CLIENT and not first_connect:
            note_server_must_close(state, MALFORMED)
        if first_connect:
            state.connect_number = number
            state.connect_error = "it cannot be read"
            state.version_announced = unknown_level(state.data) is None
        if kind is Connack and peer.side != CLIENT:
            state.connack_number = number

    # findings

    def _finding(self, fault: Fault, decoded: Decoded | None, sender: Direction | None) -> Finding:
        """Return the finding for a fault, at its place in the packet; without a packet, it is about the connection."""
        version = self._state.version
        id = fault.law.id(version)
        for each in dict.fromkeys((id, *(law.id(version) for law in fault.also))):
            if each:
                self._broken[each] = self._broken.get(each, 0) + 1
        if decoded is None:
            found = finding(id, "connection", Span(0, 0), fault.message)
        else:
            found = PacketView(decoded).located(fault, id)
        if fault.severity:
            found.severity = max(found.severity, fault.severity, key=SEVERITIES.index)
        found.at_fault = end_at_fault(id, sender, fault.at_fault)
        return found


def _peer(state: ConnectionState, direction: Direction) -> Peer:
    return state.client if direction is Direction.CLIENT else state.server
