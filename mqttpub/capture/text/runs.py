"""Long runs of bytes, cut at the ends of packets, so that their size does not matter."""

from collections.abc import Iterable, Iterator

from ...codec.stream import LostSync, Stream
from .source import BadText, TextPiece

LARGE = 1 << 16
"""Bytes above which a run is split; without a packet among them, it is not MQTT."""
MOST_LOST = 1 << 20
"""Bytes that are read after a place where no packet can begin."""

RunPart = tuple[TextPiece, bool]
"""Some bytes of a run, and whether more of them follow."""


def cut(parts: Iterable[RunPart]) -> Iterator[TextPiece]:
    """Yield runs as pieces of whole packets; the bytes left at the end of a run are in its last piece.

    Raises BadText for a long run without a packet, and after one in which no packet can begin any more.
    """
    run: _LongRun | None = None
    for piece, more in parts:
        if run is None and not more:
            yield piece
            continue
        run = run or _LongRun(piece)
        yield from run.add(piece)
        if not more:
            yield from run.end()
            run = None


class _LongRun:
    def __init__(self, piece: TextPiece) -> None:
        self.piece = piece
        """The piece that is being built, without its bytes."""
        self.stream = Stream()
        self.fed = 0
        self.line = piece.line
        """The line at which the packet in progress begins."""
        self.packets: list[bytes] = []
        self.size = 0
        self.found = False
        """Whether one of the packets has a valid type."""
        self.rest: bytearray | None = None
        """The bytes after a place where no packet can begin."""

    def add(self, piece: TextPiece) -> Iterator[TextPiece]:
        """Add the next bytes, and yield a piece if there are enough for one."""
        if self.rest is None:
            self._feed(piece.data, piece.line)
        else:
            self.rest += piece.data
        if not self.found and self.size >= LARGE:
            raise BadText(f"there is no MQTT packet in {self.size:,} bytes", self.piece.line)
        if self.rest is not None and len(self.rest) > MOST_LOST:
            yield from self.end()
            message = (
                f"no packet can begin at offset {self.stream.offset:,}, and only {MOST_LOST:,} bytes after it are read"
            )
            raise BadText(message, piece.line)
        if self.size >= LARGE:
            yield self._made(b"".join(self.packets))

    def _feed(self, data: bytes, line: int) -> None:
        self._begin(line)
        self.fed += len(data)
        try:
            for frame in self.stream.feed(data):
                self.packets.append(frame.data)
                self.size += len(frame.data)
                self.found = self.found or frame.data[0] >> 4 > 0
                self.line = line
        except LostSync:
            self.rest = bytearray(self.stream.pending)

    def _begin(self, line: int) -> None:
        if self.fed == self.stream.offset:
            self.line = line
            if not self.packets:
                self.piece = self.piece._replace(line=line)

    def end(self) -> Iterator[TextPiece]:
        """Yield the bytes that are left, if any."""
        left = self.stream.pending if self.rest is None else self.rest[:MOST_LOST]
        if data := b"".join([*self.packets, left]):
            yield self._made(data)

    def _made(self, data: bytes) -> TextPiece:
        made = self.piece._replace(data=data)
        self.piece = made._replace(data=b"", start=made.start + len(data), line=self.line)
        self.packets, self.size = [], 0
        return made
