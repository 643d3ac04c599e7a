"""What happens on a connection, in order of arrival."""

from typing import NamedTuple

from ..codec.tree import Finding
from ..spec.versions import Direction, Version

SIDES = {None: 0, Direction.CLIENT: 1, Direction.SERVER: 2}
"""Numbers of the ends that send packets, for tables and keys."""
GAP_BYTES = 64
"""Bytes of a gap that its event holds, at most."""


class Endpoints(NamedTuple):
    """The two ends of a Network Connection."""

    number: int
    """Number of the connection, from 1, in the order in which they begin."""
    client: str
    """Address and port, `10.0.0.1:50000` or `[fe80::1]:50000`; empty if unknown."""
    server: str
    begun: bool = False
    """Whether its beginning was seen, so that the first packet of each end is the first that it sent."""


class PacketSeen(NamedTuple):
    """A complete control packet."""

    ends: Endpoints
    time: int | None
    """Nanoseconds since 1970, of the record that completed the packet; None if unknown."""
    record: int
    """Number of the record of the capture that completed the packet, from 1; 0 outside captures."""
    data: bytes
    offset: int
    """Offset of the packet in the bytes of its direction."""
    direction: Direction | None
    version: Version
    guessed: bool
    """Whether the version was inferred from anything but the CONNECT of this connection."""


class GapSeen(NamedTuple):
    """Bytes that are missing or are not a packet."""

    ends: Endpoints
    time: int | None
    record: int
    offset: int
    """Offset of the gap in the bytes of its direction."""
    direction: Direction | None
    length: int | None
    """Length in bytes; None if the gap reaches to the end of the stream."""
    data: bytes
    """The first GAP_BYTES bytes; empty if they were not captured."""
    message: str
    """What happened, as a sentence without a full stop: `1,448 bytes are missing from the capture`."""
    malformed: bool
    """Whether the peer sent these bytes, as opposed to a fault of the capture."""


class Closed(NamedTuple):
    """An end closed its side or reset the connection, or the capture ended."""

    ends: Endpoints
    time: int | None
    record: int
    direction: Direction | None
    """The end that closed; None for the end of the capture."""
    how: str
    """`FIN`, `RST` or `end`."""


class Remark(NamedTuple):
    """A remark about a connection: a guessed version, a WebSocket upgrade, TLS, a finding about its end."""

    ends: Endpoints
    time: int | None
    record: int
    direction: Direction | None
    message: str
    finding: Finding | None = None
    """The finding that the message states; None for all other remarks."""


Event = PacketSeen | GapSeen | Closed | Remark
