"""Packets out of bytes that somebody wrote down."""

from collections.abc import Iterable, Iterator

from ..codec.decode import decode
from ..codec.framing import CONNECT
from ..codec.stream import LostSync, Stream
from ..conversation.events import Ends, Event, GapSeen, PacketSeen
from ..lint.packet import lint
from ..spec.terms import Direction, Version
from .sheet import Piece

MARKS = {">": Direction.CLIENT, "<": Direction.SERVER}
MOST_OF_A_GAP = 64
"""Bytes of what is no packet that an event keeps."""


def events(
    pieces: Iterable[Piece], *, version: Version | None = None, direction: Direction | None = None
) -> Iterator[Event]:
    """Yield the packets of pieces, as one connection; a CONNECT after others begins another.

    `version` is that of packets before a CONNECT, `direction` the sender where no mark tells it.
    """
    ends, seen = Ends(1, "", ""), False
    for piece in pieces:
        sender = MARKS.get(piece.mark) or direction
        stream = Stream(sender, version)
        try:
            for frame in stream.feed(piece.data):
                if frame.data[0] >> 4 == CONNECT and seen:
                    ends = ends._replace(number=ends.number + 1)
                seen, version = True, frame.version or version
                told = frame.version or _likelier(frame.data, sender)
                yield PacketSeen(ends, None, 0, frame.data, frame.offset, sender, told, frame.version is None)
            left, message, malformed = stream.pending, "the packet is cut short", False
        except LostSync as lost:
            left, message, malformed = piece.data[lost.offset :], lost.message, True
        if left:
            yield GapSeen(ends, None, 0, stream.offset, sender, len(left), left[:MOST_OF_A_GAP], message, malformed)


def _likelier(data: bytes, direction: Direction | None) -> Version:
    """Return the version in which less is wrong with a packet, as nothing tells it."""

    def errors(version: Version) -> int:
        return sum(each.severity == "error" for each in lint(decode(data, version, direction=direction), direction))

    return min((Version.V5, Version.V311), key=errors)
