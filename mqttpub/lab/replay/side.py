"""The client's side of one connection, driven again: its packets in their order, each when it may be sent."""

import math
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Protocol

from ...codec.decode import decode_packet
from ...codec.encode import encode
from ...codec.stream import Frame
from ...common.words import counted
from ...live.failures import Failure
from ...live.limits import ServerLimits, packet_name
from ...spec.declare import Packet
from ...spec.packets import (
    Auth,
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Publish,
    Pubrel,
    Subscribe,
    Unsubscribe,
)
from ...spec.properties import BY_KEY, value_of
from ...spec.versions import Version
from ..raw_client import RawClient
from .comparison import SideComparison
from .deliveries import CAME, CAPTURED, Room
from .exchanges import SideExchanges
from .loop import ReplayLoop
from .outgoing import PlayedPublishes, numbered
from .requests import Gate, Request, SessionState, Step, answer_of, request_of
from .result import Difference, SideResult

SETTLE_S = 2.0
"""How long an end waits for the next of what came before it in the capture."""
LINGER_S = 2.0
"""How long the broker gets to close after the end of a connection."""
MOST_UNSENT_BYTES = 1 << 20
"""Bytes that wait for the socket, above which nothing is added."""
PING_SHARE = 0.7
"""The part of the Keep Alive after which a PINGREQ follows the last packet."""
_SERVER_KEEP_ALIVE = BY_KEY["server_keep_alive"]


class SharedRun(Protocol):
    """What the connections of a replay share."""

    loop: ReplayLoop
    room: Room
    timeout_s: float
    queued_bytes: int
    """Memory of the steps that wait, of all connections."""
    has_connack: bool
    """Whether any CONNACK has come."""
    progress_s: float
    """When a packet last came on any connection, PINGRESP excepted, or one was over."""

    def dial(self, side: "ClientSide", done: Callable[[RawClient | Failure], None]) -> None:
        """Open a connection; `done` is called in a later turn."""

    passed: int
    """How many of the gates that are held are open, from the first on."""

    def hold(self, gate: Gate) -> None:
        """Let nothing that comes later in the capture pass before a gate is open."""

    def wait_for_gates(self, number: int, wake: Callable[[], None]) -> None:
        """Call `wake` once so many of them are open."""

    def differs(self, difference: Difference) -> None:
        """Report a difference."""

    def ended(self, side: "ClientSide", result: SideResult) -> None:
        """Take the result of a connection that is over, in the capture and in the replay."""


class ClientSide:
    """One connection: what is to be sent, what was answered, and what came.

    `do`, `publish`, `ask` and `captured` take what the capture shows, in its order; everything else happens in turns
    of the loop.
    """

    def __init__(self, run: SharedRun, number: int, client: str, version: Version, session: SessionState) -> None:
        self.number = number
        self.client = client
        self.version = version
        self.comparison = SideComparison(number, client, version, run.room)
        self.opening = Request("CONNACK", "", self)
        """The CONNECT; its gate opens with CONNACK."""
        self.end_gate = Gate()
        """Opens when the connection is over."""
        self.connack: Connack | None = None
        self.state = "new"
        """`new`, `dialling`, `connected`, `greeting` (CONNECT is sent), `accepted`, `ending` or `over`."""
        self._run = run
        self._session = session
        self._exchanges = SideExchanges(session, self.comparison, version, self._post)
        self._outgoing = PlayedPublishes(version)
        self._client: RawClient | None = None
        self._queue: deque[Step] = deque()
        self._sent = 0
        self._forbidden = self._too_late = 0
        """Messages that were not sent: because the broker does not allow them, and because the connection was over."""
        self._keep_alive_s = 0.0
        self._blocked_s: float | None = None
        """When the first of what waits began to wait."""
        self._came_s = self._sent_s = run.loop.clock()
        self._waits_for = 0
        """The number of open gates that wakes this side."""
        self._lacking = 0
        """How many messages are awaited no more."""
        self._has_left = False
        """Whether a DISCONNECT was sent."""
        self._is_captured = False
        """Whether the capture has the end of the connection."""
        self._is_complete = True
        """Whether everything that the capture has of the connection was read."""
        self._leaves = False
        """Whether the capture does not show how it ends, so that it ends when all is done."""
        self._is_finished = False

    # what the capture shows

    def do(self, step: Step) -> None:
        """Take what the client does next."""
        if self._is_captured:
            return
        if step.kind != "packet":
            self._is_captured = True
            self._leaves = step.kind == "leave"
            if step.kind == "server":
                self.comparison.server_ended(CAPTURED)
        if self.state == "over":
            self._leave_out(step)
            self._finish()
            return
        if step.is_last and self.comparison.follows_messages:
            step = step._replace(awaits=self.comparison.counts[CAPTURED])
        self._queue.append(step)
        self._run.queued_bytes += step.size_bytes
        self._run.loop.soon(self._advance)

    def publish(self, step: Step, key: Hashable) -> Request | None:
        """Take a PUBLISH of the client; return the request that it is, None for QoS 0 and for one that is not sent.

        `key` names its Packet Identifier in the capture. One with DUP is sent again only on a later connection of the
        session, and only if it is still not acknowledged.
        """
        packet = step.packet
        assert isinstance(packet, Publish)
        request = None
        if packet.qos:
            known = self._session.captured.get(key) if packet.dup else None
            if known and known.side is self:
                return None
            request = known or request_of(packet, step.topic or "", self)
            request.side = self
            self._session.captured[key] = request
        self.do(step._replace(request=request))
        return request

    def ask(self, step: Step, topic: str, key: Hashable) -> None:
        """Take a SUBSCRIBE or an UNSUBSCRIBE of the client."""
        assert isinstance(step.packet, Subscribe | Unsubscribe)
        request = self._session.captured[key] = request_of(step.packet, topic, self)
        self.do(step._replace(request=request))

    def captured(self, packet: Any, key: Hashable, rewrite: Callable[[str], str]) -> None:
        """Take a packet that the server sends in the capture; `rewrite` changes topics."""
        if isinstance(packet, Connack):
            self.opening.captured = (packet.reason_code,)
            self.comparison.answer(self.opening)
            self._show(self.opening)
        elif isinstance(packet, Publish):
            self.comparison.message(CAPTURED, packet, rewrite)
        elif isinstance(packet, Pubrel):
            self.comparison.released(CAPTURED)
        elif isinstance(packet, Disconnect):
            self.comparison.goodbye(CAPTURED, packet)
        elif answer := answer_of(packet):
            request = self._session.captured.get(key)
            if request is None:
                return
            if answer.name == request.answer and request.captured is None:
                request.captured = answer.codes
                self.comparison.answer(request)
            if answer.last:
                del self._session.captured[key]
                self._show(request)

    def _show(self, request: Request) -> None:
        """Note that the capture has the last answer to a request."""
        request.shown_on = self
        if not (request.is_message or request.gate.is_open):
            self._run.hold(request.gate)

    def cut_off(self) -> None:
        """Note that the capture is not read further; what it would still show is not missing."""
        self._is_complete = False

    # what is sent, and when

    def _advance(self) -> None:
        """Do all that may be done now."""
        key = (self, "wait")
        while self._queue and self.state not in ("ending", "over"):
            step = self._queue[0]
            until_s = self._waits(step)
            if until_s is not None:
                if until_s < math.inf:
                    self._run.loop.timers.set(key, until_s, self._advance)
                return
            if self.state == "over":
                return
            self._blocked_s = None
            self._queue.popleft()
            self._run.queued_bytes -= step.size_bytes
            self._act(step)
        self._run.loop.timers.cancel(key)

    def _waits(self, step: Step) -> float | None:
        """Return until when a step waits unless something happens; None where it need not wait."""
        now, timeout_s = self._run.loop.clock(), self._run.timeout_s
        if self._blocked_s is None:
            self._blocked_s = now
        until_s = self._blocked_s + timeout_s
        # What is to open a gate may itself wait for others; where nothing happens any more, nothing opens it.
        gates_until_s = max(self._blocked_s, self._run.progress_s) + timeout_s
        if now < gates_until_s and not self._is_free(step):
            return gates_until_s
        if self.state == "new":
            self.state = "dialling"
            self._run.dial(self, self._dialled)
        if self.state != "accepted":
            # Connecting and CONNACK have deadlines of their own.
            return None if self.state == "connected" else math.inf
        if stuck := self._stuck(step):
            stuck_s = max(self._came_s, self._blocked_s) + timeout_s
            if now >= stuck_s:
                self._fail("end", f"{stuck} within {timeout_s:g} s")
                return None
            return stuck_s
        return self._waits_for_end(step, now, until_s) if step.is_last else None

    def _stuck(self, step: Step) -> str:
        """Return what keeps a step from being done that the broker has to do first; empty for nothing."""
        if step.request and not step.request.done and not self._exchanges.has_room(step.request):
            return "no acknowledgement came"
        return "not everything was sent" if self._client and len(self._client.unsent) > MOST_UNSENT_BYTES else ""

    def _waits_for_end(self, step: Step, now: float, until_s: float) -> float | None:
        """Do so for a step after which not everything comes any more."""
        still_s = max(self._came_s, self._blocked_s or now)
        lacking = step.awaits - self.comparison.counts[CAME]
        if self._exchanges.awaits(self, all=step.kind == "leave"):
            still_s += self._run.timeout_s
        elif step.kind == "server" or lacking > self._lacking:
            # A message that does not come is seldom late.
            still_s = min(still_s + SETTLE_S, until_s)
        if now < still_s:
            return still_s
        self._lacking = max(lacking, 0)
        return None

    def _is_free(self, step: Step) -> bool:
        """Whether everything has been answered that has to be before a step; otherwise its answer wakes this side."""
        if step.gate and not step.gate.is_open:
            step.gate.tell(self._wake)
            return False
        if step.after > self._run.passed and step.after != self._waits_for:
            self._waits_for = step.after
            self._run.wait_for_gates(step.after, self._wake)
        return step.after <= self._run.passed

    def _wake(self) -> None:
        self._run.loop.soon(self._advance)

    def _act(self, step: Step) -> None:
        packet = step.packet
        if step.kind != "packet":
            self._end(step.kind, packet or Disconnect())
        elif isinstance(packet, Connect) and self.state == "connected":
            self._greet(packet, step.data)
        elif isinstance(packet, Publish):
            self._publish(step, packet)
        elif isinstance(packet, Subscribe | Unsubscribe):
            assert step.request
            number = self._exchanges.begin(step.request)
            self._post(encode(packet.replace(packet_id=number), self.version))
        else:
            self._has_left |= isinstance(packet, Disconnect)
            self._post(step.data)

    def _publish(self, step: Step, packet: Publish) -> None:
        request = step.request
        if request and (request.done or request.released):
            # Received on an earlier connection, unlike in the capture.
            return
        try:
            data = self._outgoing.data(
                packet, step.topic, step.data, self._exchanges.limits, dup=bool(request and request.packet_id)
            )
        except ValueError as error:
            self._forbidden += 1
            self.comparison.note("publish", f"not sent: {error}", topic=step.topic or "")
            if request:
                request.gate.open()
            return
        self._sent += 1
        self._post(numbered(data, self._exchanges.begin(request)) if request else data)

    # the connection

    def _dialled(self, made: RawClient | Failure) -> None:
        if isinstance(made, Failure):
            self._fail("connect", str(made))
            return
        if self.state == "over":
            made.close()
            return
        self._client = made
        self.state = "connected"
        self._run.loop.watch(made, self._changed)
        self._advance()

    def _greet(self, packet: Connect, data: bytes) -> None:
        self.state = "greeting"
        self._keep_alive_s = packet.keep_alive
        timeout_s = self._run.timeout_s
        self._run.loop.timers.set(
            (self, "connack"), self._run.loop.clock() + timeout_s,
            lambda: self._fail("CONNACK", f"no CONNACK came within {timeout_s:g} s"),
        )  # fmt: skip
        self._post(data)

    def _post(self, data: bytes) -> None:
        if self._client and self.state != "over":
            self._sent_s = self._run.loop.clock()
            self._client.post(data)
            self._run.loop.watch(self._client, self._changed)

    def _ping(self) -> None:
        """Send a PINGREQ if the Keep Alive asks for one, and look again when the next can be due."""
        loop, after_s = self._run.loop, self._keep_alive_s * PING_SHARE
        if self.state != "accepted" or not after_s:
            return
        if loop.clock() - self._sent_s >= after_s:
            self._post(encode(Pingreq(), self.version))
        loop.timers.set((self, "ping"), self._sent_s + after_s, self._ping)

    def _changed(self, fault: str) -> None:
        """Take what came."""
        client = self._client
        assert client
        while self.state != "over" and (frame := client.take()):
            self._came_s = self._run.loop.clock()
            self._packet(frame)
        if self.state == "over":
            return
        if fault or client.lost:
            self._fail("end", fault or "bytes came that are not a packet")
        elif client.ended:
            if not (self._has_left or self.state == "ending"):
                self.comparison.server_ended(CAME)
            self._over()
        elif self.state == "ending":
            self._close_side(client)
        else:
            self._run.loop.watch(client, self._changed)
            self._advance()

    def _packet(self, frame: Frame) -> None:
        packet = decode_packet(frame.data, frame.version or self.version)
        if not isinstance(packet, Pingresp):
            self._run.progress_s = self._came_s
        if packet is None:
            name = packet_name(frame.data)
            self.comparison.note(name, f"a malformed {name} came")
        elif isinstance(packet, Connack) and self.state == "greeting":
            self._welcomed(packet)
        elif self.state == "greeting" and not isinstance(packet, Auth):
            self._fail("CONNACK", f"{packet.name} came where CONNACK is awaited")
        elif isinstance(packet, Disconnect):
            self.comparison.goodbye(CAME, packet)
        else:
            self._exchanges.packet(packet)

    def _welcomed(self, packet: Connack) -> None:
        self._run.loop.timers.cancel((self, "connack"))
        self.connack = packet
        self._run.has_connack = True
        self.opening.came = (packet.reason_code,)
        self.comparison.answer(self.opening)
        if packet.reason_code:
            self.comparison.is_refused = True
            self._over()
            return
        self.state = "accepted"
        self._keep_alive_s = value_of(packet.properties, _SERVER_KEEP_ALIVE, self._keep_alive_s)
        limits = ServerLimits.of(packet) if self.version == Version.V5 else ServerLimits()
        self._exchanges.connected(limits, session_present=packet.session_present)
        self.opening.end()
        self._ping()

    # its end

    def _end(self, how: str, goodbye: Packet) -> None:
        client = self._client
        assert client
        if how == "RST" and not self._has_left:
            client.reset()
            self._over()
            return
        if how in ("leave", "server") and not self._has_left:
            self._has_left = True
            self._post(encode(goodbye, self.version))
        self.state = "ending"
        self._run.loop.timers.set((self, "linger"), self._run.loop.clock() + LINGER_S, self._over)
        self._close_side(client)

    def _close_side(self, client: RawClient) -> None:
        """Close the sending side once all is written; the broker then closes its own."""
        if client.unsent or client.closed:
            self._run.loop.watch(client, self._changed)
        elif not (self._has_left and hasattr(client.sock, "unwrap")):
            # After DISCONNECT, a broker closes by itself; TLS would close both sides.
            client.finish()
            if client.fileno() < 0:
                self._over()

    def _fail(self, what: str, message: str) -> None:
        self.comparison.note(what, message)
        self.comparison.is_refused = True
        self._over()

    def _over(self) -> None:
        """Close the connection; what waits is not sent."""
        if self.state == "over":
            return
        self.state = "over"
        loop = self._run.loop
        self._run.progress_s = loop.clock()
        for what in ("wait", "connack", "ping", "linger"):
            loop.timers.cancel((self, what))
        if self._client:
            loop.forget(self._client)
            self._client.close()
        self._run.queued_bytes -= sum(step.size_bytes for step in self._queue)
        for step in self._queue:
            self._leave_out(step)
        self._queue.clear()
        self._exchanges.over()
        self.opening.gate.open()
        self.end_gate.open()
        self._finish()

    def _leave_out(self, step: Step) -> None:
        self._too_late += isinstance(step.packet, Publish) and not (step.request and step.request.done)
        if step.request:
            step.request.gate.open()

    def abandon(self) -> None:
        """End the connection at once, as a client does that is interrupted: with DISCONNECT."""
        self.cut_off()
        self._is_captured = True
        if self._client and self.state == "accepted" and not self._has_left:
            self._post(encode(Disconnect(), self.version))
        self._over()
        self._finish()

    def _finish(self) -> None:
        """Report the result, once the connection is over in the capture and in the replay."""
        if not self._is_captured or self._is_finished:
            return
        self._is_finished = True
        comparison, exchanges = self.comparison, self._exchanges
        if self._is_complete:
            exchanges.missing(self, all=self._leaves)
            if self._too_late:
                comparison.note("publish", f"{counted(self._too_late, 'message')} not sent: the connection was over")
        comparison.finish(self._run.differs, complete=self._is_complete)
        deliveries = comparison.deliveries
        self._run.ended(
            self,
            SideResult(
                self.number, self.client, self._sent, exchanges.acknowledged, exchanges.refused,
                self._forbidden + self._too_late,
                deliveries.counts[CAPTURED], deliveries.counts[CAME], comparison.follows_messages,
                comparison.differences,
            ),
        )  # fmt: skip
