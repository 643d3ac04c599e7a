"""The state of one client that outlives its connections (5.0: 4.1)."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ...live.publish.sender import FIRST_ANSWER, NAMES, PUBCOMP, PUBREC, TRANSITIONS
from ...spec.reason_codes import FAILURE
from .limits import Limits
from .message import Delivery, Message
from .refusal import PROTOCOL, Refusal

FOREVER = 0xFFFFFFFF
"""Session Expiry Interval of a session that does not expire."""


class Link(Protocol):
    """What a session needs of its connection."""

    @property
    def open(self) -> bool:
        """Whether packets can be sent."""

    @property
    def window(self) -> int:
        """Most messages sent and not yet acknowledged."""

    def deliver(self, delivery: Delivery, packet_id: int | None = None, dup: bool = False) -> bool:
        """Send a PUBLISH; return False, having sent nothing, if it is larger than the client accepts."""

    def release(self, packet_id: int) -> None:
        """Send a PUBREL."""

    def taken_over(self) -> None:
        """Close, because the client has connected again (5.0: 3.1.4-3)."""


class Flight(NamedTuple):
    """A message that was sent and is not yet acknowledged."""

    delivery: Delivery
    awaits: int
    """Type of the packet that is awaited."""


class BrokerSession:
    """Subscriptions, messages and Packet Identifiers of one client."""

    def __init__(self, client_id: str, limits: Limits, clock: Callable[[], float]) -> None:
        self.client_id = client_id
        self.limits = limits
        self.clock = clock
        self.expiry = 0
        """Session Expiry Interval, in seconds."""
        self.link: Link | None = None
        self.filters: set[str] = set()
        self.incoming: set[int] = set()
        """Packet Identifiers of the client's QoS 2 messages that it has not released."""
        self.outgoing: dict[int, Flight] = {}
        """What the client has not acknowledged, in the order of sending."""
        self.will: Message | None = None
        self.will_delay = 0
        self._repeats: deque[int] = deque()
        """Packet Identifiers of `outgoing` that are still to be sent again on this connection."""
        self._queue: deque[Delivery] = deque()
        self._held = 0
        self._last_id = 0

    @property
    def online(self) -> bool:
        """Whether its client is connected."""
        return self.link is not None and self.link.open

    @property
    def waiting(self) -> int:
        """Messages that were not sent yet."""
        return len(self._queue)

    def resume(self, link: Link) -> None:
        """Continue on a new connection: first the unacknowledged messages, then the queue (5.0: 4.4)."""
        self.link = link
        self._repeats = deque(self.outgoing)
        self._pump()

    def offer(self, delivery: Delivery) -> bool:
        """Send or keep a message; return False when it is dropped."""
        if not delivery.qos:
            return self.link is not None and self.link.deliver(delivery)
        size = delivery.message.size
        if len(self._queue) >= self.limits.queue or self._held + size > self.limits.held:
            return False
        self._queue.append(delivery)
        self._held += size
        self._pump()
        return True

    def acknowledge(self, code: int, packet_id: int, reason: int) -> bool:
        """Take a PUBACK, PUBREC or PUBCOMP; return whether its Packet Identifier was in use.

        Raises Refusal for one that does not fit the connection.
        """
        flight = self.outgoing.get(packet_id)
        if flight is None:
            return False
        if code not in TRANSITIONS[flight.awaits]:
            text = f"{NAMES[code]} with Packet Identifier {packet_id}, but {NAMES[flight.awaits]} is awaited"
            raise Refusal(PROTOCOL, text)
        if code == PUBREC and reason < FAILURE:
            self.outgoing[packet_id] = flight._replace(awaits=PUBCOMP)
        else:
            self._forget(packet_id)
            self._pump()
        return True

    def _forget(self, packet_id: int) -> None:
        self._held -= self.outgoing.pop(packet_id).delivery.message.size
        if packet_id in self._repeats:
            self._repeats.remove(packet_id)

    def _pump(self) -> None:
        """Send what the client's Receive Maximum allows."""
        while self.link and self.link.open and len(self.outgoing) - len(self._repeats) < self.link.window:
            if self._repeats:
                self._repeat(self.link, self._repeats.popleft())
            elif self._queue:
                self._send(self.link, self._queue.popleft())
            else:
                return

    def _repeat(self, link: Link, packet_id: int) -> None:
        flight = self.outgoing[packet_id]
        if flight.awaits == PUBCOMP:
            link.release(packet_id)
        elif not link.deliver(flight.delivery, packet_id, dup=True):
            self._forget(packet_id)

    def _send(self, link: Link, delivery: Delivery) -> None:
        message = delivery.message
        if not message.expired(self.clock()) and link.deliver(delivery, packet_id := self._free_id()):
            self.outgoing[packet_id] = Flight(delivery, FIRST_ANSWER[delivery.qos])
        else:
            self._held -= message.size

    def _free_id(self) -> int:
        """Return the next Packet Identifier that is not in use; the window leaves one free."""
        while True:
            self._last_id = self._last_id % 0xFFFF + 1
            if self._last_id not in self.outgoing:
                return self._last_id
