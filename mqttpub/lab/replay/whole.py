"""The client sides of a capture: each of its connections over a connection of its own."""

from typing import Any, NamedTuple

from ...codec.encode import encode
from ...common.lru import BoundedMemo, WeightedLru
from ...live.authentication import METHODS
from ...spec.packets import (
    Connect,
    Disconnect,
    Pingreq,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Unsubscribe,
)
from ...spec.properties import AUTHENTICATION_METHOD, value_of
from ...spec.versions import Direction
from ...traffic.context import PacketInContext
from ...traffic.events import Closed, GapSeen, PacketSeen
from .replay import CaptureReplay
from .requests import Request, SessionState, Step
from .rewrite import Rewrite, is_topic_name, rewrite_filter
from .side import ClientSide

SESSIONS_BYTES = 32 << 20
"""Memory of the sessions that are remembered, by their Client Identifiers."""
MOST_LEFT_OUT = 100_000
"""Connections of which it is remembered that they are left out."""
TOPICS_BYTES = 16 << 20
"""Memory of the topics of which it is remembered who published last."""
ENTRY_BYTES = 1000
"""About what such an entry takes besides the name."""
NO_CONNECT = "connections without their CONNECT"
MASKED = "connections whose password the capture masks (give one with --password-file or -P)"
_DRIVEN = Puback | Pubrec | Pubrel | Pubcomp | Pingreq
"""Packets that the replay sends by itself, when they are due."""


class User(NamedTuple):
    """What takes the place of what the CONNECT packets of a capture say; None where that stays."""

    username: str | None = None
    password: bytes | None = None
    id_prefix: str = ""
    """What comes before each Client Identifier."""


class WholeSides:
    """Makes a connection of each CONNECT, and gives it what its client sent."""

    def __init__(self, run: CaptureReplay, user: User, rewrite: Rewrite) -> None:
        self._run = run
        self._user = user
        self._rewrite = rewrite
        self._sides: dict[int, ClientSide] = {}
        """Those whose end the capture has not shown."""
        self._waiting: dict[int, PacketInContext] = {}
        """CONNECT packets that the filter does not choose; the first packet that it chooses sends them."""
        self._leaving: set[int] = set()
        """Connections whose client has sent DISCONNECT or closed its side."""
        self._left_out: BoundedMemo[int, bool] = BoundedMemo(MOST_LEFT_OUT)
        self._sessions: WeightedLru[str, SessionState] = WeightedLru(SESSIONS_BYTES)
        self._last: WeightedLru[str, Request] = WeightedLru(TOPICS_BYTES)
        """The last message of QoS 1 or 2 of each topic."""

    def packet(self, known: PacketInContext, *, picked: bool) -> None:
        """Take a packet of the capture."""
        event, packet = known.event, known.packet
        number = event.ends.number
        if event.direction is Direction.SERVER:
            side = self._sides.get(number)
            if side and (picked or not isinstance(packet, Publish)):
                side.captured(packet, getattr(packet, "packet_id", None), self._rewrite)
        elif isinstance(packet, Connect) and number not in self._sides:
            self._waiting[number] = known
            if picked:
                self._begin(number)
        else:
            if picked and number in self._waiting:
                self._begin(number)
            side = self._sides.get(number)
            if side is None:
                if picked and number not in self._waiting:
                    self._leave_out(number, NO_CONNECT)
            elif picked or isinstance(packet, Disconnect):
                self._client_packet(side, known)
            elif isinstance(packet, Subscribe):
                side.comparison.follows_messages = False

    def closed(self, event: Closed, *, over: bool) -> None:
        """Take the end of one side of a connection."""
        number = event.ends.number
        self._waiting.pop(number, None)
        side = self._sides.get(number)
        if side:
            has_left = number in self._leaving
            if event.direction is Direction.CLIENT:
                self._leaving.add(number)
                self._end(side, event.how)
            elif event.direction is None or event.how == "end":
                self._end(side, "leave")
            elif not has_left:
                self._end(side, "server")
        if over:
            if side:
                # After DISCONNECT, the server may close, and reset, before the client does.
                self._end(side, "FIN" if number in self._leaving else "leave")
            self._sides.pop(number, None)
            self._leaving.discard(number)

    def gap(self, event: GapSeen) -> None:
        """Take bytes that are missing, which may have been messages."""
        side = self._sides.get(event.ends.number)
        if side is None:
            return
        if event.direction is Direction.CLIENT:
            self._run.left_out["gaps in what clients sent"] += 1
        else:
            self._run.left_out["gaps in what the server sent, so that its messages are not compared"] += 1
            side.comparison.follows_messages = False

    def finish(self) -> None:
        """End the connections that the capture leaves open, with DISCONNECT."""
        for side in self._sides.values():
            self._end(side, "leave")
        self._sides.clear()

    def _end(self, side: ClientSide, how: str) -> None:
        side.do(Step(how, after=self._run.held))
        self._run.hold(side.end_gate)

    def _leave_out(self, number: int, reason: str) -> None:
        if number not in self._left_out:
            self._left_out.keep(number, True)
            self._run.left_out[reason] += 1

    # what the clients do

    def _begin(self, number: int) -> None:
        """Play a connection from its CONNECT on."""
        known = self._waiting.pop(number)
        event, packet = known.event, known.packet
        assert isinstance(packet, Connect)
        if reason := self._obstacle(packet):
            self._leave_out(number, reason)
            return
        packet, data = self._connect(packet, event)
        before = self._sessions.get(packet.client_id)
        session = SessionState() if before is None or packet.clean_start else before
        side = ClientSide(self._run, number, packet.client_id, event.version, session)
        # Which of two connections of a client is the later one decides which of them the server ends.
        gate = before.opened if before else None
        session.opened = side.opening.gate
        if packet.client_id:
            self._sessions.put(packet.client_id, session, ENTRY_BYTES + 4 * len(packet.client_id))
        self._sides[number] = side
        self._run.begin(event.time)
        self._run.play(side)
        side.do(Step(packet=packet, data=data, after=self._run.held, gate=gate))

    def _obstacle(self, packet: Connect) -> str:
        """Return why a connection cannot be played; empty where it can."""
        if method := value_of(packet.properties, AUTHENTICATION_METHOD):
            name = method if method in METHODS else "an Authentication Method"
            return f"connections that authenticate by {name}, of which each proof holds only once"
        masked = packet.password and not packet.password.strip(b"*")
        return MASKED if masked and self._user.password is None else ""

    def _connect(self, packet: Connect, event: PacketSeen) -> tuple[Connect, bytes]:
        """Return a CONNECT with what the user gave, and its bytes."""
        user, changes = self._user, dict[str, Any]()
        if user.username is not None:
            changes |= {"username": user.username, "username_flag": None}
        if user.password is not None:
            changes |= {"password": user.password, "password_flag": None}
        if user.id_prefix and packet.client_id:
            changes["client_id"] = user.id_prefix + packet.client_id
        if packet.will and (topic := self._rewrite(packet.will.topic)) != packet.will.topic:
            changes["will"] = packet.will.replace(topic=topic)
        if not changes:
            return packet, event.data
        packet = packet.replace(**changes)
        return packet, encode(packet, event.version)

    def _client_packet(self, side: ClientSide, known: PacketInContext) -> None:
        event, packet = known.event, known.packet
        if isinstance(packet, _DRIVEN):
            return
        step = Step(packet=packet, data=event.data, after=self._run.held)
        if isinstance(packet, Publish) and packet.qos in (0, 1, 2):
            self._publish(side, step, known)
        elif isinstance(packet, Subscribe):
            named = [each.replace(filter=rewrite_filter(each.filter, self._rewrite)) for each in packet.subscriptions]
            changed = packet.replace(subscriptions=tuple(named))
            first = named[0].filter if named else ""
            side.ask(step._replace(packet=changed), first, packet.packet_id)
        elif isinstance(packet, Unsubscribe):
            filters = tuple(rewrite_filter(each, self._rewrite) for each in packet.filters)
            first = filters[0] if filters else ""
            side.ask(step._replace(packet=packet.replace(filters=filters)), first, packet.packet_id)
        elif isinstance(packet, Disconnect):
            self._leaving.add(side.number)
            side.do(step)
        else:
            # A second CONNECT, QoS 3, what cannot be read: the broker is to see what it saw.
            side.do(step._replace(packet=None))

    def _publish(self, side: ClientSide, step: Step, known: PacketInContext) -> None:
        packet, name = known.packet, known.topic.name if known.topic else None
        assert isinstance(packet, Publish)
        topic = None if name is None else self._rewrite(name)
        if topic != name and not is_topic_name(topic or ""):
            self._run.left_out["messages whose rewritten topic is not a Topic Name"] += 1
            return
        last = self._last.get(topic) if topic else None
        # The broker has to have the message of another client before this one.
        gate = last.gate if last and last.side is not side and last.shown_on else None
        request = side.publish(step._replace(gate=gate, topic=topic), packet.packet_id)
        if request and topic:
            self._last.put(topic, request, ENTRY_BYTES + 4 * len(topic))
        self._run.took(not packet.dup)
