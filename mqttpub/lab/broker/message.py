"""Application messages on their way through the broker."""

from typing import NamedTuple

from ...spec.declare import Properties, Property
from ...spec.packets import Publish
from ...spec.properties import (
    MESSAGE_EXPIRY_INTERVAL,
    SUBSCRIPTION_IDENTIFIER,
    TOPIC_ALIAS,
    WILL_DELAY_INTERVAL,
    value_of,
)
from ...spec.versions import Version

EXPIRY = MESSAGE_EXPIRY_INTERVAL.id
IDENTIFIER = SUBSCRIPTION_IDENTIFIER.id
ALIAS = TOPIC_ALIAS.id
WILL_DELAY = WILL_DELAY_INTERVAL.id

_OWN = {IDENTIFIER, ALIAS, WILL_DELAY}
"""Properties that belong to a connection or to the broker, not to the message."""


class Message:
    """One application message as its publisher sent it."""

    __slots__ = ("arrived", "lifetime", "payload", "properties", "publisher", "qos", "retain", "size", "topic")

    def __init__(
        self, topic: str, payload: bytes = b"", *, qos: int = 0, retain: bool = False,
        properties: Properties = (), publisher: str = "", arrived: float = 0.0,
    ) -> None:  # fmt: skip
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.properties = tuple(each for each in properties if each.id not in _OWN)
        """The properties that are forwarded, in the publisher's order."""
        self.publisher = publisher
        """Client Identifier of its publisher."""
        self.arrived = arrived
        self.lifetime: int | None = value_of(properties, MESSAGE_EXPIRY_INTERVAL)
        """Message Expiry Interval, in seconds."""
        self.size = 64 + len(topic) + len(payload) + sum(_size(each) for each in self.properties)
        """Approximate memory use in bytes."""

    @property
    def summary(self) -> str:
        """The message in a line, with its topic as it came."""
        kept = ", retained" if self.retain else ""
        return f"{self.topic}, QoS {self.qos}{kept}, {len(self.payload)} bytes"

    def expired(self, now: float) -> bool:
        """Whether its lifetime is over."""
        return self.lifetime is not None and now - self.arrived > self.lifetime

    def properties_at(self, now: float) -> Properties:
        """Return its properties with the lifetime that is left (5.0: 3.3.2-6)."""
        if self.lifetime is None:
            return self.properties
        left = max(0, self.lifetime - int(now - self.arrived))
        return tuple(Property(EXPIRY, left) if each.id == EXPIRY else each for each in self.properties)


class Delivery(NamedTuple):
    """A message as it is delivered to one session."""

    message: Message
    qos: int
    retain: bool = False
    identifiers: tuple[int, ...] = ()
    """Subscription Identifiers of the subscriptions that matched."""

    def packet(self, version: Version, now: float, packet_id: int | None, dup: bool) -> Publish:
        """Return the PUBLISH that carries it."""
        message = self.message
        properties: Properties = ()
        if version == Version.V5:
            properties = message.properties_at(now) + tuple(Property(IDENTIFIER, id) for id in self.identifiers)
        return Publish(
            dup=dup, qos=self.qos, retain=self.retain, topic=message.topic, packet_id=packet_id,
            properties=properties, payload=message.payload,
        )  # fmt: skip


def _size(each: Property) -> int:
    parts = each.value if isinstance(each.value, tuple) else (each.value,)
    return 32 + sum(4 if isinstance(part, int) else len(part) for part in parts)
