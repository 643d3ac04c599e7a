"""What the layers of reading a capture hand to one another: records, then pieces of TCP connections."""

from typing import NamedTuple

from ..traffic.events import TcpFigures


class CaptureRecord(NamedTuple):
    """One record of a capture: a frame as a link layer sent it."""

    number: int
    """Counted from 1 through the whole file."""
    time_ns: int | None
    """Nanoseconds since 1970; None where the capture has no time."""
    link: int
    """LINKTYPE_ value: 1 Ethernet, 113 Linux cooked, 276 Linux cooked v2, 101 raw IP, 0 and 108 loopback."""
    data: bytes
    """The captured bytes of the frame."""
    length: int
    """Its length on the wire in bytes, at least that of `data`."""


class Flow(NamedTuple):
    """A TCP connection; side 0 is the end that opened it or, if that was not captured, the one that was seen first."""

    number: int
    """Counted from 1, in the order in which the connections begin."""
    ends: tuple[str, str]
    """Address and port of side 0 and of side 1, `10.0.0.1:50000` or `[fe80::1]:50000`."""
    ports: tuple[int, int]
    opened: bool
    """Whether the capture holds the SYN, so that no byte before the first one is missing."""


class Chunk(NamedTuple):
    """The next bytes of one direction, side 0 or 1."""

    flow: Flow
    side: int
    time_ns: int | None
    record: int
    data: bytes


class Missing(NamedTuple):
    """Bytes of one direction that the capture does not hold."""

    flow: Flow
    side: int
    time_ns: int | None
    record: int
    length: int
    message: str
    """Why, as a sentence: `1448 bytes are missing from the capture`, or `... cut off by the snap length`."""


class End(NamedTuple):
    """A side sent FIN (all its bytes came before this), or RST, or the capture ended."""

    flow: Flow
    side: int | None
    """None at the end of the capture, or where the flow is forgotten to save memory."""
    time_ns: int | None
    record: int
    how: str
    """`FIN`, `RST` or `end`."""
    tcp: TcpFigures | None = None
    """Its pairs are of side 0 and side 1; None where no segments were captured, as in texts."""


class Unreadable(NamedTuple):
    """The rest of one direction, which a layer within TCP, such as WebSocket, cannot read."""

    flow: Flow
    side: int
    time_ns: int | None
    record: int
    message: str
    """Why, as a sentence."""
    data: bytes
    """The first bytes that cannot be read."""
    malformed: bool
    """Whether the sender broke the protocol; False if the capture is incomplete."""


Piece = Chunk | Missing | End
"""What TCP reassembly yields, for each flow and side in the order of the bytes."""


class BadCapture(ValueError):
    """A file that is not a capture, or one that is damaged, and the offset."""

    def __init__(self, message: str, offset: int = 0, *, cut: bool = False) -> None:
        super().__init__(f"offset {offset}: {message}")
        self.message = message
        self.cut = cut
        """Whether only the end is missing, as that of a file that is still being written."""
        self.offset = offset
        """In bytes, from the beginning of the file as it would be uncompressed."""


class NoKeys(Exception):
    """TLS connections cannot be read; the message says why, as a sentence."""
