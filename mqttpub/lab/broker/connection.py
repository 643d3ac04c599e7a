"""The server's end of one connection: its state, what is written to it, and why it ends.

It knows nothing of sockets. The server passes received bytes to `dispatch.receive`, writes `output`, closes the
connection once `closing` holds the reason, and calls `lost` when it is gone.
"""

from ...codec.connect_version import connect_layout
from ...codec.framing import frame_length
from ...codec.stream import Stream
from ...spec.declare import Packet
from ...spec.packets import Pubrel
from ...spec.versions import Direction, Version
from ...wire.cursor import Overlong
from .hub import Hub
from .message import Delivery
from .refusal import (
    KEEP_ALIVE,
    MALFORMED,
    TAKEN_OVER,
    TOO_LARGE,
    connack,
    disconnect,
    fitting,
    reasons,
)
from .session import BrokerSession

ENDLESS = 268_435_460
"""Size of the largest packet that MQTT can write."""


class ClientConnection:
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
        self.version_known = False
        """Whether a CONNECT named the version, so that the client can be answered."""
        self.session: BrokerSession | None = None
        self.heard = hub.clock()
        """When the last bytes were received, on the clock of the hub."""
        self.silence = hub.limits.patience
        """Seconds the client may be silent; 0 for no limit."""
        self.keep_alive = 0
        """Keep Alive in seconds, that of the client or of the broker."""
        self.window = hub.limits.window
        self.largest = ENDLESS
        """Maximum Packet Size of the client."""
        self.verbose = True
        """Request Problem Information."""
        self.aliases: dict[int, str] = {}
        """What the client's Topic Aliases stand for."""
        self.alias_size = 0
        """Characters of these Topic Names."""
        self.watch()

    # packets out

    def send(self, packet: Packet) -> bool:
        """Write a packet; return False if it is larger than the client accepts, or the connection is closing."""
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
        """Write a packet; close the connection if the client does not accept one so large."""
        if not self.send(packet) and self.open:
            self.close(f"{packet.name} is larger than the client's Maximum Packet Size")

    def acknowledge(self, cls: type[Packet], packet_id: int, code: int = 0, text: str = "") -> None:
        """Write a packet that answers by Packet Identifier, and since 5.0 with a Reason Code."""
        if self.version < Version.V5 or not code:
            self.answer(cls(packet_id=packet_id))
        else:
            why = reasons(text) if self.verbose else ()
            self.answer(cls(packet_id=packet_id, reason_code=code, properties=why or None))

    # what a session calls (session.Link)

    @property
    def open(self) -> bool:
        """Whether packets can be sent."""
        return self.closing is None

    def deliver(self, delivery: Delivery, packet_id: int | None = None, dup: bool = False) -> bool:
        """Send a PUBLISH; return False, having sent nothing, if it is larger than the client accepts."""
        return self.send(delivery.packet(self.version, self.hub.clock(), packet_id, dup))

    def release(self, packet_id: int) -> None:
        """Send a PUBREL."""
        self.acknowledge(Pubrel, packet_id)

    def taken_over(self) -> None:
        """Close, because the client has connected again (5.0: 3.1.4-3)."""
        why = "another connection has this Client Identifier"
        self.dismiss(TAKEN_OVER, why)
        self.lost(why)

    # the end

    def lost(self, why: str) -> None:
        """Note that the connection is gone, or effectively gone."""
        self.closing = self.closing or why
        self.hub.timers.cancel(self)
        session, self.session = self.session, None
        if session:
            self.hub.event("disconnect", self.name, self.closing)
            self.hub.detach(session)

    def close(self, why: str) -> None:
        """Ask the server to close the connection once the output is written."""
        self.closing = why
        self.hub.dirty[self] = None

    def refuse(self, code: int, text: str) -> None:
        """Close because of what the client did."""
        if self.open:
            self.hub.event("refusal", self.name, text)
            self.dismiss(code, text)

    def dismiss(self, code: int, text: str) -> None:
        """Close, with a CONNACK or DISCONNECT that gives the reason if the version has one."""
        packet = (disconnect if self.session else connack)(self.version, code, text)
        if self.version_known and packet:
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
        """Set the version of the connection; None if its first packet is not a CONNECT."""
        self.version_known = version is not None
        self.version = version or self.version

    def watch(self) -> None:
        """Schedule `overdue` for when the client has been silent too long."""
        if self.silence:
            self.hub.timers.set(self, self.heard + self.silence, self.overdue)
        else:
            self.hub.timers.cancel(self)

    def overdue(self) -> None:
        """Close if nothing was received.

        Received bytes only move `heard`, so that a packet costs no timer operation.
        """
        if not self.open:
            return
        if self.hub.clock() < self.heard + self.silence:
            self.watch()
        elif self.session is None:
            self.refuse(KEEP_ALIVE, f"no CONNECT within {self.silence:g} s")
        else:
            self.refuse(KEEP_ALIVE, f"nothing came for {self.silence:g} s, 1.5 times the Keep Alive")
