"""PUBLISH packets whose Topic Name and properties came before: these are read without decoding and judging them again.

A subscription brings few topics and many messages, and a message that is decoded and judged takes eight times as long
(tests/benchmarks/subscribe.py).
"""

from ..codec.fast_decode import Irregular
from ..codec.framing import publish_head
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
        self._version = version
        self._heads: BoundedMemo[bytes, Head] = BoundedMemo(MOST_HEADS)

    def find(self, data: bytes) -> tuple[Head, int | None, bytes] | None:
        """Return head, Packet Identifier and payload of a PUBLISH whose head is known; None for any other packet."""
        if data[0] not in FIRST_BYTES:
            return None
        try:
            begin, topic_end, id_end, at = publish_head(data, self._version)
            packet_id = data[topic_end] << 8 | data[topic_end + 1] if id_end > topic_end else None
        except (IndexError, Irregular):
            return None
        head = self._heads.get(data[begin:topic_end] + data[id_end:at])
        # A Packet Identifier of 0 is for the decoder to judge.
        if head is None or packet_id == 0:
            return None
        return head, packet_id, data[at:]

    def learn(self, packet: Publish, data: bytes) -> None:
        """Remember the head of a PUBLISH that was judged, unless its rules depend on more than the head."""
        if data[0] not in FIRST_BYTES or any(id in _DEPENDING for id, _ in packet.properties):
            return
        try:
            begin, topic_end, id_end, at = publish_head(data, self._version)
        except (IndexError, Irregular):
            return
        key = data[begin:topic_end] + data[id_end:at]
        if len(key) <= LONGEST_BYTES:
            self._heads.keep(key, (packet.topic, packet.properties))
