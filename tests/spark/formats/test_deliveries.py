from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.decode import decode_packet
from mqttpub.codec.encode import encode
from mqttpub.spark.formats.deliveries import Deliveries, message_key
from mqttpub.spark.formats.spool import MESSAGE, Spool, segment_ranges, spool_records
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from tests.strategies import packets_of

WINDOW = 4


def publish(payload: bytes = b"x", *, id: int = 1, qos: int = 1, **more: Any) -> bytes:
    return encode(Publish(topic="t", payload=payload, qos=qos, packet_id=id, **more), Version.V5)


@given(packets_of(Publish, Version.V5))
def test_parts_are_those_that_the_codec_reads(packet: Publish) -> None:
    found = message_key(encode(packet, Version.V5))
    if packet.qos == 0:
        assert found is None
        return
    assert found
    assert (found.qos, found.dup, found.packet_id) == (packet.qos, packet.dup, packet.packet_id)
    other = message_key(encode(packet.replace(properties=(), dup=not packet.dup), Version.V5))
    assert other
    assert other.digest == found.digest
    longer = message_key(encode(packet.replace(payload=packet.payload + b"x"), Version.V5))
    assert longer
    assert longer.digest != found.digest


def test_topic_and_payload_are_kept_apart() -> None:
    one, other = (
        message_key(encode(Publish(topic=topic, payload=payload, qos=1, packet_id=1), Version.V5))
        for topic, payload in (("ab", b"c"), ("a", b"bc"))
    )
    assert one
    assert other
    assert one.digest != other.digest


def test_only_a_resumed_session_re_delivers() -> None:
    first, again = message_key(publish()), message_key(publish(dup=True, properties=(Property(2, 60),)))
    assert first
    assert again
    made = Deliveries(WINDOW)
    made.take(first)
    assert not made.known(again), "within a connection nothing comes again"
    made.connected(True)
    assert not made.known(first), "without DUP it is a new message"
    assert made.known(again)
    made.take(again)
    assert not made.known(again), "once"
    made.connected(True)
    assert made.known(again), "and on the next connection again"
    made.connected(False)
    assert not made.known(again), "a new session knows nothing"


def test_a_packet_identifier_that_was_used_anew_settles_the_one_before() -> None:
    first, other, again = message_key(publish(b"a")), message_key(publish(b"b")), message_key(publish(b"a", dup=True))
    assert first
    assert other
    assert again
    made = Deliveries(WINDOW)
    made.take(first)
    made.connected(True)
    made.take(other)
    assert not made.known(again)


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.integers(1, 9), st.binary(max_size=2))))
def test_packed_deliveries_are_restored(taken: list[tuple[int, int, bytes]]) -> None:
    made, other = Deliveries(WINDOW), Deliveries(WINDOW)
    for qos, id, payload in taken:
        message = message_key(publish(payload, qos=qos, id=id))
        assert message
        made.take(message)
    other.unpack(made.pack())
    assert other.pack() == made.pack()
    for each in (made, other):
        each.connected(True)
    for qos, id, payload in taken:
        message = message_key(publish(payload, qos=qos, id=id, dup=True))
        assert message
        assert made.known(message) == other.known(message)


class Server:
    """A session of a broker that gives the lowest Packet Identifier that is free, and keeps to the protocol."""

    def __init__(self) -> None:
        self.queue: deque[tuple[int, bytes]] = deque()
        self.open: dict[int, tuple[int, bytes, str]] = {}
        """QoS, payload and what is awaited, by Packet Identifier, in order."""

    def again(self) -> list[bytes]:
        """Return what goes out first on a new connection."""
        return [self._packet(id, dup=True) for id in self.open]

    def new(self) -> list[bytes]:
        """Send what Receive Maximum allows."""
        sent = []
        while self.queue and len(self.open) < WINDOW:
            id = next(number for number in range(1, WINDOW + 1) if number not in self.open)
            qos, payload = self.queue.popleft()
            self.open[id] = (qos, payload, "first answer")
            sent.append(self._packet(id, dup=False))
        return sent

    def _packet(self, id: int, dup: bool) -> bytes:
        qos, payload, awaited = self.open[id]
        return b"PUBREL%d" % id if awaited == "PUBCOMP" else publish(payload, id=id, qos=qos, dup=dup)

    def answer(self, id: int) -> list[bytes]:
        """Take an acknowledgement."""
        qos, payload, awaited = self.open[id]
        if qos == 2 and awaited == "first answer":
            self.open[id] = (qos, payload, "PUBCOMP")
            return [self._packet(id, dup=False)]
        del self.open[id]
        return []


def take(spool: Spool, packet: bytes) -> int:
    """Take a packet as the subscriber does, and return the Packet Identifier to answer."""
    if packet.startswith(b"PUBREL"):
        spool.release(0, int(packet[6:]))
        return int(packet[6:])
    spool.message(0, packet)
    message = message_key(packet)
    assert message
    return message.packet_id


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([1, 2]), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 6)), max_size=12),
    st.sampled_from([1, 100, 10_000]),
)
def test_whenever_it_is_killed_each_message_is_there_once(
    qos: list[int], deaths: list[tuple[int, bool, int]], segment: int
) -> None:
    server = Server()
    server.queue.extend((each, b"%d" % number) for number, each in enumerate(qos))
    with TemporaryDirectory() as folder:
        for death in [*deaths, None]:
            spool = Spool(folder, window=WINDOW, segment=segment, wait=0)
            spool.connected(True)
            live(spool, server, death)
            # What was added and not flushed is lost with the program.
            spool.close()
        found = segment_ranges(Path(folder), 0, spool.position)
        kept = [record.data for stretch in found for record in spool_records(stretch) if record.kind == MESSAGE]
    payloads = [
        int(packet.payload) for each in kept if (packet := decode_packet(each, Version.V5)) and type(packet) is Publish
    ]
    assert sorted(payloads) == list(range(len(qos)))


def live(spool: Spool, server: Server, death: tuple[int, bool, int] | None) -> None:
    """Take packets until all are taken, or until death: after so many packets, flushed or not, so many answers sent."""
    way = deque(server.again() + server.new())
    left, flushed, answers = death or (1 << 30, True, 1 << 30)
    while way:
        batch = [way.popleft() for _ in range(min(len(way), 3))]
        ids = [take(spool, packet) for packet in batch[:left]]
        dies = left < len(batch)
        left -= len(batch)
        if dies and not flushed:
            return
        spool.flush()
        for id in ids[: answers if dies else None]:
            way.extend(server.answer(id))
        if dies:
            return
        way.extend(server.new())
