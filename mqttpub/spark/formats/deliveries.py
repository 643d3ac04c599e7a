"""Recognizing re-deliveries in a session, so that each message is stored once.

At QoS 2 a message is identified by its Packet Identifier until its PUBREL (5.0: 4.3.3). At QoS 1 the
protocol leaves this to the receiver. A broker that did not receive our PUBACK sends the message again
on the next connection, with DUP and the same Packet Identifier (5.0: 4.4), and it can only be one of
the last messages, as many as Receive Maximum allows to be unacknowledged. So a message counts as a
re-delivery if it comes on a resumed session, has DUP, and has the Packet Identifier, topic and payload
of one of those. Only a different message that is equal in all of these, and that was in flight at the
moment of a crash, would be dropped by mistake.
"""

import struct
from collections import deque
from hashlib import blake2b
from typing import NamedTuple

from ...codec.framing import publish_head
from ...spec.versions import Version

DIGEST = 8
"""Bytes in the digest of topic and payload."""
_COUNT = struct.Struct("<I")
_IDENTIFIER = struct.Struct("<H")
_TAKEN = struct.Struct(f"<H{DIGEST}s")


class MessageKey(NamedTuple):
    """The parts of a PUBLISH with a Packet Identifier that identify a re-delivery."""

    qos: int
    dup: bool
    packet_id: int
    digest: bytes
    """Digest of topic and payload, but not of properties, which may change while a message waits."""


def message_key(data: bytes) -> MessageKey | None:
    """Return the key of a complete and valid PUBLISH of MQTT 5.0; None at QoS 0."""
    qos = data[0] >> 1 & 3
    if not qos:
        return None
    begin, topic_end, id_end, payload_begin = publish_head(data, Version.V5)
    text, packet_id = data[begin + 2 : topic_end], int.from_bytes(data[topic_end:id_end], "big")
    digest = blake2b(text, digest_size=DIGEST, person=len(text).to_bytes(2, "big"))
    digest.update(memoryview(data)[payload_begin:])
    return MessageKey(qos, data[0] & 8 != 0, packet_id, digest.digest())


class Deliveries:
    """Remembers the messages that a broker may send again; `window` is the Receive Maximum."""

    def __init__(self, window: int) -> None:
        self._open: set[int] = set()
        """Packet Identifiers of QoS 2 messages that were received and not released."""
        self._last: deque[tuple[int, bytes]] = deque(maxlen=window)
        self._doubted: dict[int, bytes] = {}
        """Digests by Packet Identifier of the QoS 1 messages that may come again on this connection."""

    def connected(self, session_present: bool) -> None:
        """Begin with a new connection."""
        if session_present:
            self._doubted = dict(self._last)
            return
        self._doubted = {}
        self._open.clear()
        self._last.clear()

    def known(self, message: MessageKey) -> bool:
        """Return whether a message was received before."""
        if message.qos == 2:
            return message.packet_id in self._open
        return message.dup and self._doubted.get(message.packet_id) == message.digest

    def take(self, message: MessageKey) -> None:
        """Remember a message, new or re-delivered."""
        if message.qos == 2:
            self._open.add(message.packet_id)
            return
        if self._doubted.pop(message.packet_id, None) != message.digest or not message.dup:
            self._last.append((message.packet_id, message.digest))

    def release(self, packet_id: int) -> bool:
        """Forget the message that a PUBREL releases; return whether there was one."""
        known = packet_id in self._open
        self._open.discard(packet_id)
        return known

    def pack(self) -> bytes:
        """Return the state that must outlive the program, as bytes."""
        open_ids = b"".join(map(_IDENTIFIER.pack, sorted(self._open)))
        return _COUNT.pack(len(self._open)) + open_ids + b"".join(_TAKEN.pack(*each) for each in self._last)

    def unpack(self, data: bytes) -> None:
        """Restore the state that `pack` returned."""
        (count,) = _COUNT.unpack_from(data)
        rest = _COUNT.size + count * _IDENTIFIER.size
        self._open = {id for (id,) in _IDENTIFIER.iter_unpack(data[_COUNT.size : rest])}
        self._last.clear()
        self._last.extend((id, digest) for id, digest in _TAKEN.iter_unpack(data[rest:]))
        self._doubted = {}
