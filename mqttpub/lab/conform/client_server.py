"""The server's end of a case for a client: a correct broker, with an act between it and the client."""

import time
from collections.abc import Callable
from typing import Any

from ...capture.protocol.websocket import BINARY, TEXT
from ...codec.decode import decode_packet
from ...codec.encode import encode
from ...codec.stream import ConnectionStreams, Frame, LostSync, Stream
from ...lint.connection.keepalive import KEEP_ALIVE, KEEP_ALIVE_BY_SERVER
from ...live.tap import ByteObserver
from ...script.packets import StepContext, packet_bytes
from ...script.steps import PacketStep
from ...spec.declare import Packet
from ...spec.packets import Connack, Connect, Disconnect, Pingreq, Pingresp
from ...spec.properties import SERVER_KEEP_ALIVE, value_of
from ...spec.reason_codes import FAILURE
from ...spec.statements import statement
from ...spec.versions import Direction, Version
from ..broker.connection import ClientConnection
from ..broker.dispatch import receive
from ..broker.hub import Hub
from ..broker.limits import Limits
from ..broker.refusal import UNSPECIFIED
from ..serving.ending import BROKE
from ..serving.served_socket import ServedSocket
from ..serving.server import Server, loopback
from .acting import Acting
from .client_cases import ClientCase
from .client_layers import ClientSocket, ShownLayers
from .framing import frame_fault, offer_faults
from .judge import MOST_PACKETS, Broken, CaseJudge

MOST_CONNECTIONS = 20
"""Connections of a client in one case."""
MOST_PACKET_BYTES = 1 << 24
"""Size of the largest packet that is cut out of what a client sends."""
MOST_BYTES = 1 << 26
"""Bytes that a client may send in one case."""
NO_WEBSOCKET = "only a connection over WebSocket shows it"
"""Why a case for WebSocket ends where a client connects without."""
_BY_US, _STOPS = "reset", "the server stops"
"""Why a socket is closed, where it is not by the client."""


class CaseServer(Server):
    """The server of one case, on a free port of a loopback address."""

    def __init__(
        self, case: ClientCase, timeout_s: float, record: Callable[[Any, str], ByteObserver | None], host: str,
        tls: Any = None,
    ) -> None:  # fmt: skip
        self.hub = Hub(time.monotonic, limits=Limits(**case.limits))
        super().__init__(
            loopback(host, 0, "the server of a case"), layers=ShownLayers(tls, TEXT if case.is_text else BINARY),
            clock=self.hub.clock, timers=self.hub.timers,
        )  # fmt: skip
        self.case = case
        self.judge = CaseJudge(Direction.CLIENT)
        self.acting = Acting(case.act, case.version, timeout_s, self.clock, self.timers) if case.act else None
        self.record = record
        self.links: dict[ClientConnection, CaseLink] = {}
        """Those that are open."""
        self.connections = 0
        self.version: Version | None = None
        """The version of the first CONNECT."""
        self.broke = ""
        """How a connection broke before the first CONNECT."""
        self.moved_s = self.clock()
        """When the last packet passed, or a connection began or ended."""
        self.excess = ""
        """What a client did too much of, so that the case ends."""
        self._bytes = 0

    def accepted(self, sock: Any) -> None:
        """Serve a connection of the client, as long as they are not too many."""
        self.moved_s = self.clock()
        if self.connections >= MOST_CONNECTIONS:
            self.excess = f"the client connected more than {MOST_CONNECTIONS} times"
            sock.close()
            return
        self.connections += 1
        link = CaseLink(self, sock, str(self.connections))
        self.links[link.connection] = link

    def settle(self) -> None:
        """Write what the packets of this turn led to."""
        dirty = self.hub.dirty
        while dirty:
            connection, _ = dirty.popitem()
            link = self.links.get(connection)  # type: ignore[call-overload]
            if link:
                link.flush()

    def saw(self, data: bytes) -> None:
        """Note that a packet passed; one that only keeps the connection alive is no sign of life."""
        if data[0] >> 4 not in (Pingreq.code, Pingresp.code):
            self.moved_s = self.clock()
        self._bytes += len(data)
        if self._bytes > MOST_BYTES:
            self.excess = f"more than {MOST_BYTES:,} bytes passed"
        if self.judge.is_full:
            self.excess = f"more than {MOST_PACKETS:,} packets passed"


class CaseLink:
    """One connection of the client: its socket, the broker's end of it, and the judge between them."""

    def __init__(self, server: CaseServer, sock: ClientSocket, label: str) -> None:
        self.server = server
        self.connection = _CaseConnection(server.hub, self._was_silent)
        self.is_over = False
        """Whether the client has ended it."""
        self.has_parted = False
        """Whether the client has left, and has not sent DISCONNECT with a Reason Code of an error."""
        self._has_refused = False
        self._judged = server.judge.connection(label, server.case.version)
        self._recorder = server.record(sock, label)
        self._cut = ConnectionStreams(max_packet=MOST_PACKET_BYTES)
        self._ends: set[Direction] = set()
        self._is_servers = False
        """Whether the Keep Alive is that of CONNACK."""
        self._layered = sock
        self.socket = ServedSocket(server, sock, self)

    # from the client

    def received(self, data: bytes) -> None:
        """Judge bytes of the client, and let what the act leaves reach the broker."""
        self.connection.heard = self.server.clock()
        for frame in self._frames(Direction.CLIENT, data):
            if self.server.excess:
                return
            packet = self._judge(frame)
            if isinstance(packet, Connect) and frame.version:
                self._connects(frame.version)
            elif isinstance(packet, Disconnect):
                self._has_refused = (packet.reason_code or 0) >= FAILURE
                self.has_parted = not self._has_refused
            acting = self.server.acting
            if not (acting and acting.takes(self, frame, packet)):
                self.pass_on(frame)

    def _connects(self, version: Version) -> None:
        """Note the version of the client, and what carries it."""
        self.server.version = self.server.version or version
        if websocket := self._layered.websocket:
            self.server.judge.broken += offer_faults(websocket.subprotocol, version)
        elif self.server.case.is_websocket:
            self.server.excess = NO_WEBSOCKET

    def _frames(self, direction: Direction, data: bytes) -> list[Frame]:
        """Return the packets that bytes complete; what is no packet comes as it is."""
        if self._recorder:
            self._recorder.passed(time.time(), direction, data)
        stream = self._cut.streams[direction]
        if stream.lost:
            return [Frame(data, stream.offset, direction, self._cut.version)]
        found: list[Frame] = []
        try:
            found.extend(self._cut.feed(direction, data))
        except LostSync:
            found.append(Frame(stream.pending, stream.offset, direction, self._cut.version))
        return found

    def _judge(self, frame: Frame) -> Packet | None:
        self.server.saw(frame.data)
        return self._judged(time.time(), frame)

    def pass_on(self, frame: Frame) -> None:
        """Let a packet reach the end that it is for."""
        if frame.direction is Direction.SERVER:
            self.write(frame.data)
            return
        try:
            receive(self.connection, frame.data)
        except Exception as error:
            self.connection.refuse(UNSPECIFIED, f"the broker failed: {error!r}")
        self.flush()

    def ended(self) -> bool:
        """Take the client's end."""
        self._closed("FIN")
        return False

    def _closed(self, how: str) -> None:
        if not self.is_over:
            self.is_over, self.has_parted = True, not self._has_refused
            self.server.moved_s = self.server.clock()
            self._end(Direction.CLIENT, how)
            if self.server.acting:
                self.server.acting.ended(self)

    def gone(self, why: str) -> None:
        """Forget the connection."""
        del self.server.links[self.connection]
        self.connection.lost(why)
        websocket = self._layered.websocket
        if websocket and websocket.fault:
            version = self.server.version or self.server.case.version
            self.server.judge.broken.append(frame_fault(websocket.fault, version))
        if why not in (_BY_US, _STOPS, "closed"):
            _, broke, how = why.partition(BROKE)
            if broke and self.server.version is None:
                self.server.broke = how
            self._closed("RST" if broke or self.socket.was_reset else "FIN")

    # to the client

    def flush(self) -> None:
        """Send what the broker has written, and end the connection where the broker does."""
        output = bytes(self.connection.output)
        self.connection.output.clear()
        for frame in Stream(Direction.SERVER, self.connection.version).feed(output):
            self._send(frame)
        if self.connection.closing is not None and self.socket.open and not self.socket.ending:
            self.connection.lost("closed")
            self._end(Direction.SERVER, "FIN")
            self.socket.finish(self.server.hub.limits.linger)

    def _send(self, frame: Frame) -> None:
        """Send a packet of the broker as the case has it, unless the act takes it."""
        packet = decode_packet(frame.data, self.connection.version)
        step = self.server.case.connack
        if step and isinstance(packet, Connack) and self.connection.version is Version.V5:
            packet = _with(packet, step)
            frame = frame._replace(data=encode(packet, self.connection.version))
            self._keep_alive(packet)
        acting = self.server.acting
        if not (acting and acting.takes(self, frame, packet)):
            self.pass_on(frame)

    def write(self, data: bytes, slice_bytes: int = 0) -> None:
        """Write bytes to the client, `slice_bytes` at a time if that is not 0."""
        if not self.socket.open or Direction.SERVER in self._ends:
            return
        for frame in self._frames(Direction.SERVER, data):
            self._judge(frame)
        size = slice_bytes or max(len(data), 1)
        for at in range(0, len(data), size):
            self.socket.output += data[at : at + size]
            self.socket.flush()

    def finish(self, how: str) -> None:
        """End the server's side, with FIN or RST."""
        if not self.socket.open:
            return
        self._end(Direction.SERVER, how)
        if how == "FIN":
            self.socket.shut()
        else:
            self.socket.abort(_BY_US)

    def drained(self) -> None:
        """Do nothing: what a case writes is little, and the broker bounds what it has to say."""

    def _keep_alive(self, connack: Connack) -> None:
        """Hold the client to the Keep Alive of a CONNACK."""
        seconds = value_of(connack.properties, SERVER_KEEP_ALIVE)
        if seconds is not None:
            self._is_servers, self.connection.silence = True, 1.5 * seconds
            self.connection.watch()

    def _was_silent(self, seconds: float) -> None:
        """Note that the client was silent for one and a half times its Keep Alive."""
        laws = (*KEEP_ALIVE_BY_SERVER.laws, *KEEP_ALIVE.laws) if self._is_servers else KEEP_ALIVE.laws
        whose = "Server Keep Alive" if self._is_servers else "Keep Alive"
        message = f"the client was silent for {seconds:g} s, one and a half times its {whose}"
        ids = [id for law in laws if (id := law.id(self.connection.version))]
        self.server.judge.broken += [Broken(id, message, statement(id).severity, None) for id in ids]

    def _end(self, end: Direction, how: str) -> None:
        """Judge and record the end of the connection by one of its ends, once."""
        if end not in self._ends:
            self._ends.add(end)
            self._judged.closed(time.time(), end, how)
            if self._recorder:
                self._recorder.closed(time.time(), end, how)


class _CaseConnection(ClientConnection):
    """The broker's end of a connection, which says so where the client is silent for too long."""

    def __init__(self, hub: Hub, was_silent: Callable[[float], None]) -> None:
        self._was_silent = was_silent
        super().__init__(hub)

    def overdue(self) -> None:
        """Note a silence of a connected client that is too long, before the broker closes the connection."""
        if self.open and self.session is not None and self.hub.clock() >= self.heard + self.silence:
            self._was_silent(self.silence)
        super().overdue()


def _with(connack: Connack, step: PacketStep) -> Connack:
    """Return a CONNACK of 5.0 with what a step says in it; the rest stays."""
    said = decode_packet(packet_bytes(step, StepContext(Version.V5, {}, {})), Version.V5)
    new = getattr(said, "properties", None) or ()
    gone = {each.id for each in new} | {each.row.id for each in step.absent}
    kept = tuple(each for each in connack.properties or () if each.id not in gone)
    return connack.replace(properties=(*kept, *new))
