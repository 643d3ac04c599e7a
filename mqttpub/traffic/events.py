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


def address_and_port(end: str) -> tuple[str, int | None]:
    """Return address and port of an end as in `Endpoints`, an address without brackets; what has no port has None."""
    address, colon, port = end.rpartition(":")
    is_bare = ":" in address and not (address.startswith("[") and address.endswith("]"))
    if not colon or is_bare or not (port.isascii() and port.isdecimal() and len(port) <= 5) or int(port) > 0xFFFF:
        return end, None
    return address.strip("[]"), int(port)


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

    def __repr__(self) -> str:
        return _repr(self)


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

    def __repr__(self) -> str:
        return _repr(self)


def _repr(event: PacketSeen | GapSeen) -> str:
    """Return the text of an event, without its bytes if they may hold a password."""
    from ..spec.declare import masked_repr
    from ..spec.packets import WITH_SECRETS

    secret = event.data[:1] and event.data[0] >> 4 in WITH_SECRETS
    return masked_repr(event, event._asdict(), ("data",) if secret else ())


class TcpFigures(NamedTuple):
    """How TCP carried a connection so far; each pair is what the client sent, and the server."""

    retransmissions: tuple[int, int]
    """Segments whose bytes, SYN or FIN were captured before, or which come too late to be only out of order."""
    out_of_order: tuple[int, int]
    """Segments that close a gap within the RTT of the handshake, 3 ms if that is unknown, after what follows them."""
    zero_windows: tuple[int, int]
    """Segments that say that their sender can take nothing more."""
    handshake_ns: int | None
    """From the last SYN to the ACK of the end that sent it; None if one of them was not captured."""

    @property
    def swapped(self) -> "TcpFigures":
        """The same, with the ends the other way round."""
        one, two, three, time_ns = self
        return TcpFigures(one[::-1], two[::-1], three[::-1], time_ns)


class Closed(NamedTuple):
    """An end closed its side or reset the connection, or the capture ended."""

    ends: Endpoints
    time: int | None
    record: int
    direction: Direction | None
    """The end that closed; None for the end of the capture."""
    how: str
    """`FIN`, `RST` or `end`."""
    tcp: TcpFigures | None = None
    """None where no segments were captured, or the client is unknown."""


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
