"""MQTT, and what is not quite MQTT, over a network that loses, repeats and cuts."""

from collections.abc import Iterator
from random import Random

from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.spec.packets import Connect
from mqttpub.spec.versions import Version
from tests.build.containers import Pcapng, RawRecord
from tests.build.frames import FIN, LINKS, RST, START, SYN, TIMESTAMPS, UDP, LinkLayer, Wire, ipv4, ipv6
from tests.build.network import SimulatedConnection, Trouble
from tests.build.pieces import CONNACKS, CONNECTS, PINGREQ, PINGRESP, puback, publish

TROUBLES = (
    Trouble(),
    Trouble(again=20),
    Trouble(again=30, late=30, fragmented=10, probes=10),
    Trouble(again=5, late=5, lost=3),
    Trouble(fragmented=30),
    Trouble(lost=20),
)
V5 = Version.V5
LARGE = publish(bytes(20_000))
REQUEST = b"GET /mqtt HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"
ODD = (
    b"\xff\xff\xff\xff\xff\x01",
    b"\x10",
    b"\x30\xff\xff\xff\x7f",
    b"\x30\x80\x00",
    b"\x16\x03\x01\x00\x05hello",
    REQUEST,
)
"""What is no MQTT, or is a packet that is too large, or whose length is not as short as it could be."""


@st.composite
def spoken(draw: st.DrawFn, first: bytes, version: Version) -> bytes:
    """Return what one end sends."""
    usual = st.sampled_from((publish(version=version), puback(version=version), PINGREQ, PINGRESP))
    sized = st.builds(lambda size: publish(bytes(size), version), st.sampled_from((0, 90, 118, 119, 130, 500, 3000)))
    again = st.sampled_from([*CONNECTS.values(), encode(Connect(client_id="x" * 200), V5)])
    odd = st.sampled_from((*ODD, LARGE))
    each = st.one_of(usual, usual, usual, sized, sized, again) if draw(st.integers(0, 3)) else st.one_of(usual, odd)
    rest = draw(st.lists(each, max_size=30))
    start = draw(st.sampled_from((first, first, first, b"")))
    # All of it may be one segment.
    return (start + b"".join(rest))[:60_000] or PINGREQ


@st.composite
def troubled(draw: st.DrawFn) -> bytes:
    """Return a pcapng of a few connections, each below its own link layer or below several."""
    random = draw(st.randoms(use_true_random=False))
    trouble = draw(st.sampled_from(TROUBLES))
    links = list(LINKS.values())
    queues: list[tuple[Iterator[list[bytes]], list[LinkLayer]]] = []
    for number in range(draw(st.integers(1, 4))):
        version = draw(st.sampled_from(Version))
        isn = draw(st.tuples(*[st.integers(0, 2**32 - 1) | st.integers(2**32 - 300, 2**32 - 1)] * 2))
        options = draw(st.sampled_from((b"", TIMESTAMPS)))
        # Ports are used again by a later connection, or by one at the same time.
        port = 50_000 + draw(st.sampled_from((number, 0)))
        wire = Wire(draw(st.sampled_from((4, 6))), isn=isn, port=port, options=options)
        streams = draw(spoken(CONNECTS[version], version)), draw(spoken(CONNACKS[version], version))
        talk = SimulatedConnection(random, wire, streams, trouble, opened=draw(st.sampled_from((True, True, False))))
        own = random.sample(links, draw(st.sampled_from((1, 1, 2))))
        queues.append((_with_ends(talk, wire, draw(st.sampled_from((0, FIN, RST, SYN)))), own))
    others = iter([[packet] for packet in _OTHERS] * draw(st.integers(0, 3)))
    queues.append((others, links))
    return _merged(queues, random, draw(st.sampled_from("<>")))


def _with_ends(talk: SimulatedConnection, wire: Wire, flag: int) -> Iterator[list[bytes]]:
    yield from talk.packets()
    if flag:
        for side in (0, 1):
            yield [wire.packet(side, len(talk.streams[side]), flags=flag | 16, ack=len(talk.streams[1 - side]))]


_ENDS = (b"\x0a\0\0\1", b"\x0a\0\0\2")
_OTHERS = (
    ipv4(_ENDS, bytes(8), protocol=UDP),
    ipv4(_ENDS, bytes(40), protocol=UDP),
    ipv6((bytes(16), bytes(16)), bytes(60), protocol=UDP),
    ipv4(_ENDS, bytes(20), protocol=51),
    ipv4(_ENDS, bytes(40), options=b"\x94\x04\0\0"),
    ipv4(_ENDS, bytes(40), total=0),
    ipv4(_ENDS, bytes(40), total=30),
    ipv4(_ENDS, bytes(3)),
    b"\x45",
    b"\x00" * 60,
)


def _merged(queues: list[tuple[Iterator[list[bytes]], list[LinkLayer]]], random: Random, order: str) -> bytes:
    """Write packets of all connections in turn."""
    file = Pcapng()
    file.section(order)
    numbers = {link.type: number for number, link in enumerate({each.type: each for each in LINKS.values()}.values())}
    for number, kind in enumerate(numbers):
        # Interfaces count in different units; one of them in powers of two.
        file.interface(kind, 0, (6, 9, 0x80 | 10, 3)[number % 4])
    ticks = (1_000_000, 1_000_000_000, 1 << 10, 1000)
    written = 0
    while queues:
        queue, links = random.choice(queues)
        packets = next(queue, None)
        if packets is None:
            queues.remove((queue, links))
            continue
        for packet in packets:
            written += 1
            link = random.choice(links)
            number = numbers[link.type]
            time = (START + written * 1_000_000) * ticks[number % 4] // 1_000_000_000
            cut = random.choice((0,) * 30 + (1, 30))
            frame = link.frame(packet)
            file.enhanced(number, RawRecord(time, frame[: len(frame) - cut], cut))
    return file.written().data
