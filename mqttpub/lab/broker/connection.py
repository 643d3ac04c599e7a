"""One connection: bytes in, bytes out, and why it is over.

No socket here. The driver calls `receive` with what came and `lost` when the connection is gone;
it writes `output`, and closes the connection once `closing` says why.
"""

from ...codec.decode import decode
from ...codec.framing import connect_layout, frame_length
from ...codec.stream import Frame, LostSync, Stream
from ...codec.tree import Decoded
from ...lint.packet.check import lint
from ...spec.declare import Packet
from ...spec.packets import Connect, Publish, Pubrel
from ...spec.versions import Direction, Version
from ...wire.cursor import Cursor, Overlong, Short
from .connect import admit
from .handlers import HANDLERS
from .hub import Hub
from .message import Delivery
from .refusal import (
    KEEP_ALIVE,
    MALFORMED,
    PROTOCOL,
    QUOTA,
    TAKEN_OVER,
    TOO_LARGE,
    Refusal,
    connack,
    disconnect,
    fitting,
    reasons,
)
from .session import Session

ENDLESS = 268_435_460
"""Size of the largest packet that MQTT can write."""


class Exchange:
    """The server's end of one connection."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.name = ""
        """The Client Identifier, once it is known."""
        self.stream = Stream(Direction.CLIENT, max_packet=hub.limits.packet)
        self.output = bytearray()
        self.closing: str | None = None
        """Why the connection is over, once it is."""
        self.version = Version.V5
        self.told = False
        """Whether a CONNECT has told the version, so that the client can be answered."""
        self.session: Session | None = None
        self.heard = hub.clock()
        """When the last bytes came."""
        self.silence = hub.limits.patience
        """How long the client may be silent; 0 for ever."""
        self.window = hub.limits.window
        self.largest = ENDLESS
        """Maximum Packet Size of the client."""
        self.verbose = True
        """Request Problem Information."""
        self.aliases: dict[int, str] = {}
        """What the client's Topic Aliases stand for."""
        self.watch()

    # what the driver calls

    def receive(self, data: bytes) -> None:
        """Take bytes from the client; whatever they are, nothing is raised."""
        self.heard = self.hub.clock()
        frames = self.stream.feed(data)
        try:
            while self.open and (frame := next(frames, None)) is not None:
                self.take(frame)
        except LostSync as lost:
            self.out_of_sync(lost.message)
        except Refusal as refusal:
            self.refuse(refusal.code, refusal.text)

    def lost(self, why: str) -> None:
        """Take note that the connection is gone, or as good as gone."""
        self.closing = self.closing or why
        self.hub.timers.cancel(self)
        session, self.session = self.session, None
        if session:
            self.hub.event("disconnect", self.name, self.closing)
            self.hub.detach(session)

    # packets in

    def take(self, frame: Frame) -> None:
        """Act on one packet; raises Refusal."""
        code = frame.data[0] >> 4
        if self.session is None:
            self.learn(connect_layout(frame.data))
        if not self.told and code != Connect.code:
            raise Refusal(PROTOCOL, f"the first packet has type {code}, but must be a CONNECT")
        self.measure(frame.data, code)
        decoded = decode(frame.data, self.version, direction=Direction.CLIENT)
        if self.session is None:
            admit(self, decoded)
            return
        if code == Connect.code:
            raise Refusal(PROTOCOL, "a second CONNECT on this connection")
        self.check(decoded)
        HANDLERS[code](self, decoded.packet)

    def measure(self, data: bytes, code: int) -> None:
        """Refuse what would take much more memory and time than bytes; raises Refusal."""
        limits = self.hub.limits
        if code == Publish.code:
            length, limit = _property_length(data, self.version), limits.request
        else:
            length, limit = len(data), limits.connect if code == Connect.code else limits.request
        if length > limit:
            what = "of properties" if code == Publish.code else "in one packet"
            raise Refusal(QUOTA, f"{length} bytes {what}, but this broker takes {limit}")

    def check(self, decoded: Decoded) -> None:
        """Refuse a packet that breaks the specification; raises Refusal."""
        findings = lint(decoded, Direction.CLIENT)
        wrong = [each for each in findings if each.severity == "error"]
        if wrong or decoded.packet is None:
            raise Refusal.of((wrong or findings)[0])

    # packets out

    def send(self, packet: Packet) -> bool:
        """Write a packet; return False when the client does not take one so large, or nothing any more."""
        if not self.open:
            return False
        data = fitting(packet, self.version, self.largest)
        self.output += data
        self.hub.dirty[self] = None
        if len(self.output) > self.hub.limits.output:
            waiting = len(self.output)
            self.output.clear()
            self.close(f"the client does not read: {waiting} bytes wait for it")
        return bool(data)

    def answer(self, packet: Packet) -> None:
        """Write a packet that must not be left out."""
        if not self.send(packet) and self.open:
            self.close(f"{packet.name} is larger than the client's Maximum Packet Size")

    def acknowledge(self, cls: type[Packet], packet_id: int, code: int = 0, text: str = "") -> None:
        """Write a packet that answers by Packet Identifier, and since 5.0 with a Reason Code."""
        if self.version < Version.V5 or not code:
            self.answer(cls(packet_id=packet_id))
        else:
            why = reasons(text) if self.verbose else ()
            self.answer(cls(packet_id=packet_id, reason_code=code, properties=why or None))

    # the connection of a session

    @property
    def open(self) -> bool:
        """Whether packets can be sent."""
        return self.closing is None

    def deliver(self, delivery: Delivery, packet_id: int | None = None, dup: bool = False) -> bool:
        """Send a PUBLISH; return False, having sent nothing, when the client does not take one so large."""
        return self.send(delivery.packet(self.version, self.hub.clock(), packet_id, dup))

    def release(self, packet_id: int) -> None:
        """Send a PUBREL."""
        self.acknowledge(Pubrel, packet_id)

    def taken_over(self) -> None:
        """Close, because the client has connected anew (5.0: 3.1.4-3)."""
        why = "another connection has this Client Identifier"
        self.dismiss(TAKEN_OVER, why)
        self.lost(why)

    # the end

    def close(self, why: str) -> None:
        """Have the driver close the connection after what was written."""
        self.closing = why
        self.hub.dirty[self] = None

    def refuse(self, code: int, text: str) -> None:
        """Close because of what the client did."""
        if self.open:
            self.hub.event("refusal", self.name, text)
            self.dismiss(code, text)

    def dismiss(self, code: int, text: str) -> None:
        """Close, and say why as far as the version has words for it."""
        packet = (disconnect if self.session else connack)(self.version, code, text)
        if self.told and packet:
            self.send(packet)
        if self.open:
            self.close(text)

    def out_of_sync(self, text: str) -> None:
        """Refuse a stream that cannot be cut into packets."""
        start = self.stream.pending
        if self.session is None:
            self.learn(connect_layout(start))
        try:
            frame_length(start)
            self.refuse(TOO_LARGE, text)
        except Overlong:
            self.refuse(MALFORMED, text)

    def learn(self, version: Version | None) -> None:
        """Take the version by which a CONNECT is read; None when there was no CONNECT."""
        self.told = version is not None
        self.version = version or self.version

    def watch(self) -> None:
        """Have `overdue` called when the client was silent for too long."""
        if self.silence:
            self.hub.timers.set(self, self.heard + self.silence, self.overdue)
        else:
            self.hub.timers.cancel(self)

    def overdue(self) -> None:
        """Close if nothing came; what came only moves the time, so that it costs nothing when it comes."""
        if not self.open:
            return
        if self.hub.clock() < self.heard + self.silence:
            self.watch()
        elif self.session is None:
            self.refuse(KEEP_ALIVE, f"no CONNECT within {self.silence:g} s")
        else:
            self.refuse(KEEP_ALIVE, f"nothing came for {self.silence:g} s, 1.5 times the Keep Alive")


def _property_length(data: bytes, version: Version) -> int:
    """Return the Property Length of a PUBLISH; 0 where there is none or it cannot be read."""
    cursor = Cursor(data, 1)
    try:
        cursor.variable()
        cursor.take(cursor.integer(2))
        cursor.take(2 if data[0] & 6 else 0)
        return cursor.variable() if version == Version.V5 else 0
    except (Short, Overlong):
        return 0
