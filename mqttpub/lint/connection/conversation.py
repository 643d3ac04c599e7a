"""The rules of one connection, packet by packet."""

from collections.abc import Callable

from ...codec.decode import decode
from ...codec.framing import declared, unknown_level
from ...codec.tree import Decoded, Finding, finding
from ...spec.declare import Packet
from ...spec.packets import Connack, Connect
from ...spec.statements import statement
from ...spec.versions import Direction, Version
from ...wire.span import Span
from ..packet.view import Reading
from . import close as closing
from . import connect as connecting
from . import keepalive, limits
from .must_close import MALFORMED, spoil
from .registry import CHECKS, CLIENT, SEVERITIES, Check, Fault, Tally
from .state import End, State

NOTHING: list[Finding] = []
"""What most packets have; not to be changed."""
_NONE: tuple[Check, ...] = ()
_CLIENT = Direction.CLIENT
_BY_SIDE = CHECKS


class Conversation:
    """The rules of one Network Connection.

    `version` is that of its packets, if it is known before the CONNECT; `complete` says that
    nothing of it was missed. Times are nanoseconds of any clock.
    """

    __slots__ = ("_broken", "_state")

    def __init__(self, version: Version | None = None, *, complete: bool = True) -> None:
        self._state = State(version or Version.V5, complete=complete)
        self._broken: dict[str, int] = {}

    @property
    def version(self) -> Version:
        """The version of the connection, as far as it is known."""
        return self._state.version

    def packet(self, decoded: Decoded, time: int | None = None) -> list[Finding]:
        """Return what is wrong with the next packet in the light of those before it.

        What is wrong with it by itself is for `lint.packet`. A packet whose sender is not
        known, and that either end may send, is taken for a gap.
        """
        direction = decoded.direction or _only_sender(decoded)
        if direction is None:
            self.gap(None, None)
            return []
        self._settle(decoded.version)
        faults = self._take(decoded.packet, decoded.type, decoded.data, direction, time)
        return [self._finding(fault, lambda: decoded) for fault in faults]

    def fast(
        self, data: bytes, packet: Packet | None, direction: Direction, time: int | None = None,
        version: Version | None = None,
    ) -> list[Finding]:  # fmt: skip
        """Do the same for a packet of which only the values were read; it is decoded if it is at fault.

        `packet` is what `codec.values.values(data, version)` returned. The list is not to be changed.
        """
        kind = type(packet) if packet is not None else self._kind(data, version)
        if version is not None and version is not self._state.version:
            self._settle(version)
        faults = self._take(packet, kind, data, direction, time)
        if not faults:
            return NOTHING
        return self._located(faults, lambda: decode(data, self._state.version, direction=direction))

    def _kind(self, data: bytes, version: Version | None) -> type[Packet] | None:
        """Return the type of a packet that could not be read."""
        return declared(data[0] >> 4, version or self._state.version) if data else None

    def gap(self, direction: Direction | None, length: int | None) -> None:
        """Forget what may have changed in bytes that are missing; whose they are and how many makes no difference.

        To be called before the packets with which the other end reacts to them.
        """
        self._state.forget()

    def closed(self, direction: Direction | None, how: str, time: int | None = None) -> list[Finding]:
        """Return what was left undone when an end closed (`FIN`, `RST`), or when the capture ended (None, `end`)."""
        state = self._state
        state.time = time
        state.faults = []
        closing.closed(state, _end(state, direction) if direction else None, how)
        return [self._finding(fault, None) for fault in state.faults]

    @property
    def tally(self) -> Tally:
        """How often each statement was put to the test, and how often broken, up to now."""
        exercised: dict[str, int] = {}
        for occasion, count in self._state.counts.items():
            for id in dict.fromkeys(occasion.ids(self._state.version)):
                exercised[id] = exercised.get(id, 0) + count
        for id, count in self._broken.items():
            exercised[id] = max(count, exercised.get(id, 0))
        return Tally(exercised, dict(self._broken))

    # one packet

    def _settle(self, version: Version) -> None:
        """Take the version of packets, until a CONNECT announces it; what is guessed before may still change."""
        if not self._state.announced:
            self._state.version = version

    def _take(
        self, packet: Packet | None, kind: type[Packet] | None, data: bytes, direction: Direction, time: int | None
    ) -> list[Fault]:
        # This runs once for each packet of a capture.
        state = self._state
        end = state.client if direction is _CLIENT else state.server
        side = end.side
        state.number += 1
        state.time, state.data, state.size = time, data, len(data)
        end.packets += 1
        if state.faults:
            state.faults = []
        if state.watched[side]:
            connecting.manners(state, packet, kind, end)
        if packet is None:
            self._unreadable(kind, end)
        else:
            if end.special:
                limits.special(state, packet, end)
            for check in _BY_SIDE[side].get(kind, _NONE):  # type: ignore[arg-type]
                check(state, packet, end)
        if time is not None:
            last = state.client.last
            if last is not None and time - last > state.client.silence:
                (keepalive.borne if side else keepalive.silent)(state, packet, end)
            end.last = time
        # Thousands of conversations may be open, and the packets of some are long.
        state.data, state.topic = b"", None
        return state.faults

    def _unreadable(self, kind: type[Packet] | None, end: End) -> None:
        state = self._state
        number, wrong = state.number, kind is Connect and not state.connect_number
        state.forget()
        if end.side == CLIENT and not wrong:
            spoil(state, MALFORMED)
        if wrong:
            state.connect_number = number
            state.wrong = "it cannot be read"
            state.announced = unknown_level(state.data) is None
        if kind is Connack and end.side != CLIENT:
            state.connack_number = number

    # findings

    def _located(self, faults: list[Fault], decoded: Callable[[], Decoded]) -> list[Finding]:
        one = decoded()
        return [self._finding(fault, lambda: one) for fault in faults]

    def _finding(self, fault: Fault, decoded: Callable[[], Decoded] | None) -> Finding:
        version = self._state.version
        id = fault.law.id(version)
        for each in dict.fromkeys((id, *(law.id(version) for law in fault.also))):
            if each:
                self._broken[each] = self._broken.get(each, 0) + 1
        if decoded is None:
            made = finding(id, "connection", Span(0, 0), fault.message)
        else:
            made = _placed(id, fault, decoded())
        if fault.severity:
            made.severity = max(made.severity, fault.severity, key=SEVERITIES.index)
        return made


def _placed(id: str, fault: Fault, decoded: Decoded) -> Finding:
    """Return the finding of a fault at its field, or at the packet type where the packet is at fault as a whole."""
    place = Reading(decoded).at(fault.path or "type")
    if place is None:
        return finding(id, decoded.root.name, decoded.root.span, fault.message, reason=statement(id).answer)
    node = place.node
    return finding(id, place.path, node.span, fault.message, mask=node.mask, reason=statement(id).answer)


def _only_sender(decoded: Decoded) -> Direction | None:
    """Return the one end that may send a packet of this type."""
    if decoded.type is None:
        return None
    ends = decoded.type.senders if decoded.version == Version.V5 else decoded.type.senders3
    return next(iter(ends)) if len(ends) == 1 else None


def _end(state: State, direction: Direction) -> End:
    return state.client if direction is Direction.CLIENT else state.server
