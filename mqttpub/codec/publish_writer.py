"""Many PUBLISH packets that differ in payload and Packet Identifier only (tests/benchmarks/publish.py)."""

from ..spec.declare import Property
from ..spec.packets import Publish
from ..spec.properties import TOPIC_ALIAS
from ..spec.versions import Version
from ..wire.types import STRING, VARIABLE
from .encode import encode_properties

DUP = 0b1000
MOST_HEADS = 256
"""Payload lengths whose headers a writer keeps; there can be a thousand writers."""
LONGEST_HEAD_BYTES = 256
"""Length of the longest headers that are kept."""


class PublishWriter:
    """Writes the same bytes as `encode`, with everything but payload and Packet Identifier encoded in advance."""

    __slots__ = ("_after", "_before", "_first", "_fixed", "_heads", "_identified", "packet", "qos", "version")

    def __init__(self, packet: Publish, version: Version) -> None:
        self.packet = packet
        """The values; its payload and Packet Identifier are ignored."""
        self.version = version
        self.qos = packet.qos
        self._identified = packet.qos > 0
        self._first = 0x30 | packet.dup << 3 | packet.qos << 1 | packet.retain
        self._before = STRING.write(packet.topic)
        self._after = encode_properties(packet.properties) if version >= Version.V5 else b""
        self._fixed = len(self._before) + len(self._after)
        self._heads: dict[int, bytes] = {}
        """What `_head` returns for the usual packets, by length of the payload."""
        # No BoundedMemo: `join` reads it for each payload, which takes a tenth longer from a subclass of dict (timeit).

    def write(self, payload: bytes, packet_id: int | None, *, dup: bool = False) -> bytes:
        """Return the bytes of the packet; raises ValueError if they are more than a packet can have."""
        identified = packet_id is not None
        if identified is self._identified and not dup:
            head = self._heads.get(len(payload)) or self._remember(len(payload))
        else:
            head = self._head(len(payload), identified, self._first | DUP if dup else self._first)
        if packet_id is None:
            return head + payload
        return b"".join((head, packet_id.to_bytes(2, "big"), self._after, payload))

    def _head(self, payload_bytes: int, identified: bool, first: int) -> bytes:
        """Return what comes before the Packet Identifier, or before the payload where there is none."""
        remaining = self._fixed + (2 if identified else 0) + payload_bytes
        length = bytes((remaining,)) if remaining < 128 else VARIABLE.write(remaining)
        return b"%c%b%b%b" % (first, length, self._before, b"" if identified else self._after)

    def _remember(self, payload_bytes: int) -> bytes:
        head = self._head(payload_bytes, self._identified, self._first)
        if len(head) <= LONGEST_HEAD_BYTES:
            if len(self._heads) >= MOST_HEADS:
                self._heads.clear()
            self._heads[payload_bytes] = head
        return head

    def join(self, payloads: list[bytes]) -> bytes:
        """Return the bytes of one QoS 0 packet for each payload, one after the other."""
        heads = self._heads
        try:
            return b"".join([part for payload in payloads for part in (heads[len(payload)], payload)])
        except KeyError:
            return b"".join([self.write(payload, None) for payload in payloads])

    def size(self, payload: bytes) -> int:
        """Return the length of the packet in bytes, fixed header included."""
        remaining = self._fixed + (2 if self.qos else 0) + len(payload)
        return 1 + (1 if remaining < 128 else len(VARIABLE.write(remaining))) + remaining

    def aliased(self, alias: int, *, first: bool) -> "PublishWriter":
        """Return a writer of the same packet with a Topic Alias; only with `first` has it the Topic Name too."""
        properties = (*self.packet.properties, Property(TOPIC_ALIAS.id, alias))
        topic = self.packet.topic if first else ""
        return PublishWriter(self.packet.replace(topic=topic, properties=properties), self.version)
