"""Packets and conversations judged against the statements of the specification."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from ..codec.encode import encode
from ..codec.stream import LostSync, Stream
from ..codec.tree import Finding
from ..reading.follow import JudgedTraffic
from ..spec.declare import Packet
from ..spec.versions import Direction, Version
from ..traffic.events import Closed, Endpoints, Event, PacketSeen
from .packets import Bytes, decode, direction_of, version_of
from .traffic import findings_in, findings_of

Conversation = Iterable[tuple[str | Direction, Bytes | Packet]]
"""Packets of a connection in their order, each with the end that sends it: `client` or `server`."""


def check(
    what: Bytes | str | Conversation,
    version: str | Version | None = None,
    direction: str | Direction | None = None,
) -> list[Finding]:
    """Return what breaks a statement of the specification, in the order of the packets; an empty list for nothing.

    `what` is bytes of whole packets that one end sent, each checked by itself; or a conversation, whose packets are
    also checked together: pairs of an end and a packet, as `("client", Publish(topic="a"))`, or a text in the notation
    of `mqttpub help script`. `version` is that of packets without a CONNECT before them, None for 5.0 or what a text
    says, and `direction` the sender of bytes. Raises ValueError for a packet that cannot be encoded, and for a text
    that cannot be read.
    """
    asked = None if version is None else version_of(version)
    if isinstance(what, str):
        return findings_in(what.encode(), asked)
    known = asked or Version.V5
    if isinstance(what, Bytes):
        sender = direction_of(direction)
        return [found for data in _cut(bytes(what)) for found in decode(data, known, sender).findings]
    return list(findings_of(JudgedTraffic(_events(what, known))))


def _cut(data: bytes) -> Iterator[bytes]:
    """Yield packets, the last as far as it goes; where no packet can follow, all the rest is taken for one."""
    stream = Stream()
    with suppress(LostSync):
        yield from (frame.data for frame in stream.feed(data))
    if stream.pending:
        yield bytes(stream.pending)


def _events(conversation: Conversation, version: Version) -> Iterator[Event]:
    ends = Endpoints(1, "", "", begun=True)
    offsets = dict.fromkeys(Direction, 0)
    for end, packet in conversation:
        direction = Direction(end)
        data = bytes(packet) if isinstance(packet, Bytes) else encode(packet, version)
        yield PacketSeen(ends, None, 0, data, offsets[direction], direction, version, False)
        offsets[direction] += len(data)
    yield Closed(ends, None, 0, None, "end")
