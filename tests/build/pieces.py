"""Pieces of TCP connections, as reassembly hands them on, and what becomes of them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from mqttpub.capture.protocol.demux import MqttDemux
from mqttpub.capture.types import Chunk, End, Flow, Missing, Piece
from mqttpub.codec.encode import encode
from mqttpub.codec.framing import frame_length
from mqttpub.spec.packets import Connack, Connect, Packet, Pingreq, Pingresp, Puback, Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Event, GapSeen, PacketSeen, Remark

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
V31, V311, V5 = Version
SIDES = {CLIENT: 0, SERVER: 1}


def flow(port: int = 4711, *, opened: bool = True, number: int = 1, client_port: int = 50_000) -> Flow:
    """Return a connection whose side 0 is the client."""
    return Flow(number, (f"10.0.0.1:{client_port}", f"10.0.0.2:{port}"), (client_port, port), opened)


class Script:
    """Builds pieces, one record after the other."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.pieces: list[Piece] = []

    def _next(self) -> tuple[int, int]:
        record = len(self.pieces) + 1
        return record * 1000, record

    def send(self, end: Direction, *chunks: bytes) -> "Script":
        """Add chunks that an end sends."""
        for data in chunks:
            self.pieces.append(Chunk(self.flow, SIDES[end], *self._next(), data))
        return self

    def miss(self, end: Direction, length: int) -> "Script":
        """Add bytes of an end that were not captured."""
        message = f"{length} bytes are missing from the capture"
        self.pieces.append(Missing(self.flow, SIDES[end], *self._next(), length, message))
        return self

    def end(self, how: str = "FIN", *ends: Direction) -> "Script":
        """Add the end of some sides, or of all that was captured."""
        sides: list[int | None] = [SIDES[end] for end in ends]
        for side in sides or [None]:
            self.pieces.append(End(self.flow, side, *self._next(), how))
        return self

    def events(self, **settings: Any) -> list[Event]:
        """Return what becomes of all that."""
        return events(self.pieces, **settings)


def events(pieces: Iterable[Piece], **settings: Any) -> list[Event]:
    """Return what becomes of pieces."""
    streams = MqttDemux(**settings)
    return [*(event for piece in pieces for event in streams.feed(piece)), *streams.finish()]


def packets_in(found: Iterable[Event]) -> list[PacketSeen]:
    return [each for each in found if isinstance(each, PacketSeen)]


def seen(found: Iterable[Event], direction: Direction | None = None) -> list[bytes]:
    """Return the packets of one direction, or of all."""
    return [each.data for each in found if isinstance(each, PacketSeen) and direction in (None, each.direction)]


def gaps(found: Iterable[Event]) -> list[GapSeen]:
    return [each for each in found if isinstance(each, GapSeen)]


def remarks(found: Iterable[Event]) -> list[str]:
    return [each.message for each in found if isinstance(each, Remark)]


def bites(data: bytes) -> list[bytes]:
    """Return single bytes."""
    return [data[at : at + 1] for at in range(len(data))]


def publish(payload: bytes = b"hello", version: Version = V5, **more: Any) -> bytes:
    """Return a PUBLISH."""
    return encode(Publish(topic="a/b", payload=payload, **more), version)


def puback(packet_id: int = 1, version: Version = V5) -> bytes:
    return encode(Puback(packet_id=packet_id), version)


CONNECTS = {version: encode(Connect(client_id="me"), version) for version in Version}
CONNACKS = {version: encode(Connack(), version) for version in Version}
PINGREQ, PINGRESP = encode(Pingreq(), V5), encode(Pingresp(), V5)


class Sent(NamedTuple):
    """What the two ends of a connection send."""

    version: Version
    packets: list[tuple[Direction, bytes]]

    def of(self, end: Direction) -> list[bytes]:
        """Return the packets of one end."""
        return [data for who, data in self.packets if who is end]

    def stream(self, end: Direction) -> bytes:
        """Return the bytes that one end sends."""
        return b"".join(self.of(end))


def sent(version: Version, conversation: Iterable[tuple[Direction, Packet]]) -> Sent:
    """Return a conversation in bytes."""
    return Sent(version, [(end, encode(packet, version)) for end, packet in conversation])


@st.composite
def chunked(draw: st.DrawFn, packets: Sequence[tuple[Direction, bytes]]) -> list[tuple[Direction, bytes]]:
    """Return what both ends send in chunks cut anywhere; those of one end keep their order."""
    left = {end: b"".join(data for who, data in packets if who is end) for end in Direction}
    # Most chunks are small, so that headers are cut; at last comes all that is left.
    sizes = draw(st.lists(st.tuples(st.sampled_from(Direction), st.integers(1, 9) | st.integers(1, 300)), max_size=40))
    cut: list[tuple[Direction, bytes]] = []
    for end, size in sizes:
        cut.append((end, left[end][:size]))
        left[end] = left[end][size:]
    return [(end, data) for end, data in [*cut, *left.items()] if data]


def boundaries(stream: bytes) -> list[int]:
    """Return where the packets of a stream begin, and where it ends."""
    found = [0]
    while length := frame_length(stream, found[-1]):
        found.append(found[-1] + length)
    return found


def tiles(found: Iterable[Event], direction: Direction) -> list[tuple[int, int | None]]:
    """Return the places of packets and gaps of one direction: offset and length."""
    return [
        (each.offset, len(each.data) if isinstance(each, PacketSeen) else each.length)
        for each in found
        if isinstance(each, (PacketSeen, GapSeen)) and each.direction is direction
    ]


def assert_tiled(found: Iterable[Event], direction: Direction, size: int) -> None:
    """Check that packets and gaps follow one another without a hole up to the end."""
    at: int | None = 0
    for offset, length in tiles(found, direction):
        assert offset == at
        at = None if length is None else offset + length
    assert at in (None, size)
