"""What happens on a connection, in the order in which it was seen."""

from typing import NamedTuple

from ..spec.versions import Direction, Version


class Endpoints(NamedTuple):
    """The two ends of a Network Connection."""

    number: int
    """Counted from 1, in the order in which the connections begin."""
    client: str
    """Address and port, `10.0.0.1:50000` or `[fe80::1]:50000`; empty when nothing tells it."""
    server: str
    begun: bool = False
    """Whether its beginning was seen, so that the first packet of each end is the first one that it sent."""


class PacketSeen(NamedTuple):
    """A whole control packet."""

    ends: Endpoints
    time: int | None
    """Nanoseconds since 1970, of the record that completed the packet; None when nothing tells it."""
    record: int
    """The record of the capture that completed the packet, counted from 1; 0 outside captures."""
    data: bytes
    offset: int
    """Where the packet begins in the bytes of its direction."""
    direction: Direction | None
    version: Version
    guessed: bool
    """Whether the version rests on evidence other than the CONNECT of this connection."""


class GapSeen(NamedTuple):
    """Bytes that are missing or are no packet."""

    ends: Endpoints
    time: int | None
    record: int
    offset: int
    """Where the gap begins in the bytes of its direction."""
    direction: Direction | None
    length: int | None
    """Bytes; None when the gap goes on to the end of the stream."""
    data: bytes
    """What is there of the bytes (they may be cut to the first 64), empty when they were never captured."""
    message: str
    """What happened, as a sentence: `1,448 bytes are missing from the capture`."""
    malformed: bool
    """Whether the peer sent this, as opposed to a fault of the capture."""


class Closed(NamedTuple):
    """An end closed its side, or reset the connection, or the capture ended."""

    ends: Endpoints
    time: int | None
    record: int
    direction: Direction | None
    """The end that closed; None for the end of the capture."""
    how: str
    """`FIN`, `RST` or `end`."""


class Remark(NamedTuple):
    """Something worth knowing about a connection: a guessed version, a WebSocket upgrade, TLS."""

    ends: Endpoints
    time: int | None
    record: int
    direction: Direction | None
    message: str


Event = PacketSeen | GapSeen | Closed | Remark
