"""The packets in bytes that somebody wrote down."""

from collections.abc import Iterable, Iterator

from ...codec.connect_version import answer_form, connect_layout, connect_version
from ...codec.stream import LostSync, Stream
from ...spec.declare import only_sender
from ...spec.packets import Connect
from ...spec.versions import Direction, Version
from ...traffic.events import GAP_BYTES, Endpoints, Event, GapSeen, PacketSeen
from .source import TextPiece

MARKS = {">": Direction.CLIENT, "<": Direction.SERVER}


def packets_from_text(
    pieces: Iterable[TextPiece],
    *,
    version: Version | None = None,
    direction: Direction | None = None,
    cut: bool = False,
) -> Iterator[Event]:
    """Yield the packets of pieces, as one connection; a CONNECT after other packets begins another connection.

    `version` is that of packets before a CONNECT, `direction` the sender of pieces without a mark. Packets without a
    version have the newest one until `reading.version` settles it. With `cut`, bytes at the end of a piece that are
    not a complete packet become a packet too; otherwise a gap.
    """
    ends, seen, given, asked = Endpoints(1, "", ""), False, version, False
    for piece in pieces:
        sender = MARKS.get(piece.mark) or direction
        stream = Stream(sender)
        stream.offset = piece.start
        try:
            for frame in stream.feed(piece.data):
                code, form = frame.data[0] >> 4, version
                if code == Connect.code:
                    announced = connect_version(frame.data)
                    form = version = announced or given
                    asked = announced is not None
                    ends = ends._replace(number=ends.number + seen)
                elif asked and version and (sender or only_sender(code)) is Direction.SERVER:
                    form, asked = answer_form(frame.data, version), False
                seen = True
                yield _packet(ends, frame.data, frame.offset, sender, form, piece.time_ns)
            left, message, malformed = stream.pending, "the packet is cut short", False
        except LostSync as lost:
            left, message, malformed = piece.data[lost.offset - piece.start :], lost.message, True
        if left and cut:
            yield _packet(ends, left, stream.offset, sender, version, piece.time_ns)
        elif left:
            held = left[:GAP_BYTES]
            yield GapSeen(ends, piece.time_ns, 0, stream.offset, sender, len(left), held, message, malformed)


def _packet(
    ends: Endpoints, data: bytes, offset: int, sender: Direction | None, version: Version | None, time_ns: int | None
) -> PacketSeen:
    announced = connect_version(data) if data[0] >> 4 == Connect.code else version
    known = announced or connect_layout(data) or Version.V5
    return PacketSeen(ends, time_ns, 0, data, offset, sender, known, announced is None)
