"""Many PUBLISH packets that differ in payload and Packet Identifier only (tests/benchmarks/publish.py)."""

from ..spec.declare import Property
from ..spec.packets import Publish
from ..spec.properties import TOPIC_ALIAS
from ..spec.versions import Version
from ..wire.types import STRING, VARIABLE
from .encode import encode_properties

DUP = 0b1000
MOST_HEADS = 10_000
"""Largest number of payload lengths whose fixed and variable header is cached."""


class PublishWriter:
    """Writes the same bytes as `encode`, with everything but payload and Packet Identifier encoded in advance."""

    __slots__ = ("_after", "_before", "_first", "_fixed", "_heads", "packet", "qos", "version")

    def __init__(self, packet: Publish, version: Version) -> None:
        self.packet = packet
        """The values; its payload and Packet Identifier are ignored."""
        self.version = version
        self.qos = packet.qos
        self._first = 0x30 | packet.dup << 3 | packet.qos << 1 | packet.retain
        self._before = STRING.write(packet.topic)
        self._after = encode_properties(packet.properties) if version >= Version.V5 else b""
        self._fixed = len(self._before) + len(self._after)
        self._heads: dict[int, bytes] = {}

    def write(self, payload: bytes, packet_id: int | None, *, dup: bool = False) -> bytes:
        """Return the bytes of the packet; raises ValueError if they are more than a packet can have."""
        first = self._first | DUP if dup else self._first
        identifier = b"" if packet_id is None else packet_id.to_bytes(2, "big")
        remaining = self._fixed + len(identifier) + len(payload)
        length = bytes((remaining,)) if remaining < 128 else VARIABLE.write(remaining)
        return b"%c%b%b%b%b%b" % (first, length, self._before, identifier, self._after, payload)

    def join(self, payloads: list[bytes]) -> bytes:
        """Return the bytes of one QoS 0 packet for each payload, one after the other."""
        heads = self._heads
        try:
            return b"".join([part for payload in payloads for part in (heads[len(payload)], payload)])
        except KeyError:
            if len(heads) > MOST_HEADS:
                heads.clear()
            for length in {len(payload) for payload in payloads}:
                heads[length] = self.write(bytes(length), None)[: -length or None]
            return b"".join([part for payload in payloads for part in (heads[len(payload)], payload)])

    def size(self, payload: bytes) -> int:
        """Return the length of the packet in bytes, fixed header included."""
        remaining = self._fixed + (2 if self.qos else 0) + len(payload)
        return 1 + (1 if remaining < 128 else len(VARIABLE.write(remaining))) + remaining

    def aliased(self, alias: int, *, first: bool) -> "PublishWriter":
        """Return a writer of the same packet with a Topic Alias; only with `first` has it the Topic Name too."""
        properties = (*self.packet.properties, Property(TOPIC_ALIAS.id, alias))
        topic = self.packet.topic if first else ""
        return PublishWriter(self.packet.replace(topic=topic, properties=properties), self.version)
