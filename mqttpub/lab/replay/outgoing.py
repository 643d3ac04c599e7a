"""The PUBLISH packets of a capture, as another broker lets them be sent."""

from ...codec.encode import encode
from ...codec.framing import publish_head
from ...codec.publish_writer import PublishWriter
from ...live.limits import ServerLimits
from ...spec.declare import Property
from ...spec.packets import Publish
from ...spec.properties import TOPIC_ALIAS, value_of
from ...spec.versions import Version

DUP = 0b1000


class PlayedPublishes:
    """Writes the PUBLISH packets of one connection, with Topic Aliases as far as the broker allows them."""

    def __init__(self, version: Version) -> None:
        self._version = version
        self._aliases: dict[int, str] = {}
        """Those that were set on this connection."""

    def data(self, packet: Publish, topic: str | None, captured: bytes, limits: ServerLimits, *, dup: bool) -> bytes:
        """Return the bytes of a PUBLISH with some Packet Identifier, which `numbered` replaces.

        `topic` is the Topic Name that it means, None for an alias that was never set, which stays as it is. `captured`
        is its bytes in the capture. Raises ValueError for what the broker does not allow, and for what cannot be
        written.
        """
        written = packet if topic is None else self._named(packet, topic, limits)
        _check(written, captured, limits, self._version)
        if written is packet:
            return bytes((captured[0] & ~DUP | DUP * dup,)) + captured[1:]
        return encode(written.replace(dup=dup), self._version)

    def _named(self, packet: Publish, topic: str, limits: ServerLimits) -> Publish:
        """Return a PUBLISH that names its topic as the broker understands it (5.0: 3.3.2.3.4)."""
        alias = value_of(packet.properties, TOPIC_ALIAS) if packet.properties else None
        if alias is None:
            return packet if topic == packet.topic else packet.replace(topic=topic)
        if not 0 < alias <= limits.topic_alias_maximum:
            rest = tuple(Property(id, value) for id, value in packet.properties if id != TOPIC_ALIAS.id)
            return packet.replace(topic=topic, properties=rest)
        known = self._aliases.get(alias) == topic
        self._aliases[alias] = topic
        name = "" if known and not packet.topic else topic
        return packet if name == packet.topic else packet.replace(topic=name)


def _check(packet: Publish, captured: bytes, limits: ServerLimits, version: Version) -> None:
    """Raise ValueError for a packet beyond the limits of the broker; a topic in place of its alias adds bytes."""
    size_bytes = len(captured) + 4 * len(packet.topic)
    if packet.qos <= limits.maximum_qos and limits.retain_available and size_bytes <= limits.maximum_packet_size:
        return
    if found := limits.violation(PublishWriter(packet, version), packet.payload):
        raise ValueError(found.text)


def numbered(data: bytes, number: int) -> bytes:
    """Return the bytes of a PUBLISH of QoS 1 or 2 with another Packet Identifier."""
    # The place of the identifier is the same in all versions.
    _, at, _, _ = publish_head(data, Version.V311)
    return data[:at] + number.to_bytes(2, "big") + data[at + 2 :]
