"""Packets as a pcapng file that any tool for captures opens, with the TCP around them made up.

The format is the Internet-Draft draft-ietf-opsawg-pcapng, the link layer LINKTYPE_RAW: each record is an IP packet.
"""

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from struct import Struct, pack

from ...common.times import SECOND_NS
from ...spec.versions import Direction
from ...traffic.events import address_and_port

LINKTYPE_RAW = 101
PORT = 1883
"""The port that tools know as that of MQTT."""
FIRST_CLIENT_PORT = 49_152
"""The first port of the dynamic range, for clients whose own is not known."""
LARGEST_SEGMENT_BYTES = 65_495
"""Payload of a TCP segment in an IPv4 packet, at most."""
MOST_COMMENT_BYTES = 1024
"""Bytes of a comment, at most."""
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
_SNAP = 1 << 18
_WINDOW = 65_535
_APART = 1 << 20
"""How far the first sequence numbers of two connections are apart."""
_COMMENT, _END = 1, 0
_HEAD = Struct("<IIIIIII")
_TCP = Struct(">HHIIBBHHH")
_IPV4 = Struct(">BBHHHBBH")
_IP_SUM = 0x4500 + 0x4000 + (64 << 8 | 6)
_TCP_SUM = 6 + (5 << 12) + _WINDOW
"""The words that are the same in all headers."""
_SIDES = {Direction.CLIENT: 0, Direction.SERVER: 1}

Place = tuple[str, int]
"""Address and port of an end."""


class _MadeConnection:
    """The made-up TCP connection around the packets of one."""

    __slots__ = ("addresses", "closing", "ip_sum", "ports", "sent", "tcp_sum")

    def __init__(self, ends: tuple[bytes, bytes], ports: tuple[int, int], first: int) -> None:
        client, server = ends
        self.addresses = client + server, server + client
        """Source and target of what each side sends."""
        self.ports = ports, (ports[1], ports[0])
        # What the checksums of all segments have in common; both are sums of 16-bit words (RFC 1071).
        sum = int.from_bytes(client, "big") + int.from_bytes(server, "big")
        self.ip_sum = sum + _IP_SUM
        self.tcp_sum = sum + ports[0] + ports[1] + _TCP_SUM
        self.sent = [first, first]
        """Sequence numbers of what each side sends next."""
        self.closing: Direction | None = None


class PcapngWriter:
    """Writes a capture, each block with one call of `write`, so that the file is whole after each of them.

    `application` is the name of the program. Times are nanoseconds since 1970; one that is None, or before the one
    above it, becomes that of the record above.
    """

    def __init__(self, write: Callable[[bytes], object], application: str) -> None:
        self._write = write
        self._connections: dict[int, _MadeConnection] = {}
        self._time_ns = 0
        header = pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + _options([(4, application.encode())])
        interface = pack("<HHI", LINKTYPE_RAW, 0, _SNAP) + _options([(2, b"mqttpub"), (9, b"\x09")])
        write(_block(0x0A0D0D0A, header) + _block(1, interface))

    def opened(
        self, number: int, client: Place, server: Place, time_ns: int | None, *, comments: Iterable[str] = (),
        handshake: bool = True,
    ) -> None:  # fmt: skip
        """Begin a connection; without `handshake`, as one whose beginning was not captured.

        An end whose address is not one, or is of another family than the other's, is taken as 127.0.0.1. The port of
        the server is always that of plain MQTT; a comment names another one.
        """
        ends = _addresses(client[0], server[0])
        ports = client[1] or FIRST_CLIENT_PORT + number % 16_000, PORT
        notes = [] if server[1] in (0, PORT) else [f"the server's port is {server[1]}"]
        # Other sequence numbers distinguish a connection from an earlier one between the same ports.
        made = self._connections[number] = _MadeConnection(ends, ports, number * _APART & 0xFFFFFFFF)
        if handshake:
            self._record([self._segment(made, 0, SYN)], time_ns, [*comments, *notes])
            self._record([self._segment(made, 1, SYN | ACK)], time_ns, ())
            self._record([self._segment(made, 0, ACK)], time_ns, ())

    def is_open(self, number: int) -> bool:
        """Whether a connection has begun, and has neither been reset nor closed by both ends."""
        return number in self._connections

    def packet(
        self, number: int, direction: Direction, data: bytes, time_ns: int | None, comments: Iterable[str] = ()
    ) -> None:
        """Write the bytes that one end of an open connection sends; the comments stand at the first segment."""
        made = self._connections[number]
        side = _SIDES[direction]
        pieces = range(0, len(data), LARGEST_SEGMENT_BYTES)
        segments = [self._segment(made, side, PSH | ACK, data[at : at + LARGEST_SEGMENT_BYTES]) for at in pieces]
        self._record(segments, time_ns, comments)

    def closed(
        self, number: int, direction: Direction | None, how: str, time_ns: int | None, comments: Iterable[str] = ()
    ) -> None:
        """End a connection as one of its ends did, by FIN or RST; None is the end of the capture, which ends both."""
        made = self._connections.get(number)
        if made is None:
            return
        if direction is not None:
            flags = RST | ACK if how == "RST" else FIN | ACK
            self._record([self._segment(made, _SIDES[direction], flags)], time_ns, comments)
        if direction is None or how == "RST" or made.closing not in (None, direction):
            del self._connections[number]
        else:
            made.closing = direction

    def _segment(self, made: _MadeConnection, side: int, flags: int, payload: bytes = b"") -> bytes:
        """Return the next IP packet of a side, and count its bytes as sent."""
        addresses, sent, size = made.addresses[side], made.sent[side], 20 + len(payload)
        ack = made.sent[1 - side] if flags & ACK else 0
        made.sent[side] = (sent + len(payload) + bool(flags & (SYN | FIN))) & 0xFFFFFFFF
        rest = (int.from_bytes(payload, "big") << 8 * (size % 2)) % 0xFFFF
        tcp = _TCP.pack(
            *made.ports[side], sent, ack, 5 << 4, flags, _WINDOW,
            _checksum(made.tcp_sum + size + sent + ack + flags + rest), 0,
        )  # fmt: skip
        if len(addresses) == 32:
            return pack(">IHBB", 6 << 28, size, 6, 64) + addresses + tcp + payload
        sum = _checksum(made.ip_sum + 20 + size)
        return _IPV4.pack(0x45, 0, 20 + size, 0, 0x4000, 64, 6, sum) + addresses + tcp + payload

    def _record(self, packets: Iterable[bytes], time_ns: int | None, comments: Iterable[str]) -> None:
        self._time_ns = max(self._time_ns, time_ns or 0)
        high, low = divmod(self._time_ns, 1 << 32)
        blocks, notes = [], [(_COMMENT, _cut(text)) for text in comments]
        for data in packets:
            options = _options(notes) if notes else b""
            notes = []
            padding = b"\0" * (-len(data) % 4)
            total = _HEAD.size + len(data) + len(padding) + len(options) + 4
            blocks += [_HEAD.pack(6, total, 0, high, low, len(data), len(data)), data, padding, options]
            blocks.append(pack("<I", total))
        self._write(b"".join(blocks))


def _block(kind: int, body: bytes) -> bytes:
    total = 12 + len(body)
    return pack("<II", kind, total) + body + pack("<I", total)


def _options(given: Iterable[tuple[int, bytes]]) -> bytes:
    written = b"".join(pack("<HH", code, len(value)) + value + b"\0" * (-len(value) % 4) for code, value in given)
    return written + pack("<HH", _END, 0)


def _cut(text: str) -> bytes:
    """Return a comment as UTF-8, cut between characters if it is very long."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MOST_COMMENT_BYTES:
        return data
    return data[:MOST_COMMENT_BYTES].decode("utf-8", "ignore").encode() + "…".encode()


def _checksum(sum: int) -> int:
    """Return the checksum of the Internet of words with this sum (RFC 1071).

    A longer number counts as the sum of its words, because 0x10000 is 1 modulo 0xFFFF.
    """
    return 0xFFFF - sum % 0xFFFF


def _addresses(client: str, server: str) -> tuple[bytes, bytes]:
    found = [_address(client), _address(server)]
    if len(found[0]) != len(found[1]):
        found = [each if len(each) == 4 else b"\x7f\0\0\1" for each in found]
    return found[0], found[1]


def _address(text: str) -> bytes:
    try:
        return ip_address(text.partition("%")[0]).packed
    except ValueError:
        return b"\x7f\0\0\1"


def place(shown: str) -> Place:
    """Return address and port of an end as events name it, `10.0.0.1:1883` or `[::1]:1883`; port 0 if it has none."""
    address, port = address_and_port(shown)
    return address, port or 0


def seconds(time_s: float) -> int:
    """Return a time in seconds since 1970 as nanoseconds."""
    return int(time_s * SECOND_NS)
