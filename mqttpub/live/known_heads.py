"""PUBLISH packets whose Topic Name and properties came before: these are read without decoding and judging them again.

A subscription brings few topics and many messages, and a message that is decoded and judged takes eight times as long
(tests/benchmarks/subscribe.py).
"""

from ..common.lru import BoundedMemo
from ..spec.declare import Property
from ..spec.packets import Publish
from ..spec.properties import PAYLOAD_FORMAT_INDICATOR, TOPIC_ALIAS
from ..spec.versions import Version

MOST_HEADS = 1000
"""Heads that are remembered."""
LONGEST_BYTES = 512
"""Length of the longest head that is remembered."""
FIRST_BYTES = (0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x3A, 0x3B, 0x3C, 0x3D)
"""First bytes of a PUBLISH that breaks no rule: QoS 3, and DUP at QoS 0, do."""
_DEPENDING = (PAYLOAD_FORMAT_INDICATOR.id, TOPIC_ALIAS.id)
"""Properties whose rules are not about the head alone."""

Head = tuple[str, tuple[Property, ...]]
"""Topic Name and properties."""


class KnownHeads:
    """The Topic Names and properties of one connection, by the bytes that hold them."""

    def __init__(self, version: Version) -> None:
        self._has_properties = version >= Version.V5
        self._heads: BoundedMemo[bytes, Head] = BoundedMemo(MOST_HEADS)

    def find(self, data: bytes) -> tuple[Head, int | None, bytes] | None:
        """Return head, Packet Identifier and payload of a PUBLISH whose head is known; None for any other packet."""
        if data[0] not in FIRST_BYTES:
            return None
        try:
            key, at, packet_id = self._key(data)
        except IndexError:
            return None
        head = self._heads.get(key)
        # A Packet Identifier of 0 is for the decoder to judge.
        if head is None or packet_id == 0:
            return None
        return head, packet_id, data[at:]

    def _key(self, data: bytes) -> tuple[bytes, int, int | None]:
        """Return the bytes that hold the head, the offset of the payload, and the Packet Identifier."""
        start = 2
        while data[start - 1] > 0x7F:
            start += 1
        if start > 2 and not data[start - 1]:
            raise IndexError
        end = start + 2 + (data[start] << 8 | data[start + 1])
        key, packet_id = data[start:end], None
        if data[0] & 0b0110:
            packet_id = data[end] << 8 | data[end + 1]
            end += 2
        if not self._has_properties:
            return key, end, packet_id
        length = data[end]
        if not length:
            return key, end + 1, packet_id
        if length > 0x7F:
            raise IndexError
        at = end + 1 + length
        return key + data[end:at], at, packet_id

    def learn(self, packet: Publish, data: bytes) -> None:
        """Remember the head of a PUBLISH that was judged, unless its rules depend on more than the head."""
        if data[0] not in FIRST_BYTES or any(id in _DEPENDING for id, _ in packet.properties):
            return
        try:
            key, _, _ = self._key(data)
        except IndexError:
            return
        if len(key) <= LONGEST_BYTES:
            self._heads.keep(key, (packet.topic, packet.properties))
