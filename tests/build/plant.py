"""The capture that ships for questions about payloads: an hour of a plant, as its broker saw it.

    python -m tests.build.plant

writes plant.pcap.gz anew. A press gets new firmware, an oven loses its sensor at times, and of three edge nodes of
Sparkplug B one has a bad link and one forgets its births.
"""

import math
import struct
from collections.abc import Iterator

from mqttpub.codec.encode import encode
from mqttpub.common.times import SECOND_NS
from mqttpub.spec.packets import Connack, Connect, Packet, Publish, Suback, Subscribe, Subscription, Will
from mqttpub.spec.versions import Direction, Version
from tests.build.containers import zipped
from tests.build.frames import SentSegment, pcap_of
from tests.build.known_payloads import metric, sparkplug
from tests.paths import PLANT

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
START = 1_772_438_400
"""2026-03-02T08:00:00Z, in seconds since 1970."""
HOUR = 3600
HISTORIAN = 1
"""The connection of the client that subscribes to all of Sparkplug B."""
DEVICES = ("press-1", "oven-2", "scale-3", "label-4", "meter-5")
Sent = tuple[float, int, Direction, Packet]
"""Seconds from the beginning, connection, sender, packet."""


def connected(time: float, connection: int, name: str, will: Will | None = None) -> Iterator[Sent]:
    """Yield the beginning of a connection."""
    yield time, connection, CLIENT, Connect(client_id=name, keep_alive=0, will=will)
    yield time + 0.004, connection, SERVER, Connack()


def published(time: float, connection: int, topic: str, payload: bytes) -> Iterator[Sent]:
    """Yield a message, and its copy for the historian if it is of Sparkplug B."""
    packet = Publish(topic=topic, payload=payload)
    yield time, connection, CLIENT, packet
    if topic.startswith("spBv1.0/"):
        yield time + 0.002, HISTORIAN, SERVER, packet


def devices() -> Iterator[Sent]:
    """Yield what devices send that are not of Sparkplug B."""
    for connection, name in enumerate(DEVICES, 10):
        yield from connected(connection / 10, connection, name)
    for minute in range(1, 60):
        time, wave = minute * 60.0, math.sin(minute / 7)
        newer = f', "rpm": {900 + minute}, "pos": {{"x": {wave:.2f}, "y": 4}}' if minute >= 30 else ""
        press = f'{{"temp": {21 + wave:.1f}, "unit": "C"{newer}}}'
        oven = f'{{"temp": {"null" if minute % 8 == 5 else f"{180 + 9 * wave:.1f}"}, "door": false}}'
        scale = f"{40 + wave:.2f}" if minute != 44 else "OVERLOAD"
        # {"id": minute, "ok": true} in CBOR, and {"kwh": minute} in MessagePack
        label = b"\xa2\x62id\x18" + bytes([24 + minute]) + b"\x62ok\xf5"
        meter = b"\x81\xa3kwh\xcc" + bytes([128 + minute])
        own = (press.encode(), oven.encode(), scale.encode(), label, meter)
        for connection, (name, payload) in enumerate(zip(DEVICES, own, strict=True), 10):
            yield from published(time + connection / 10, connection, f"hall/{name}", payload)


def host() -> Iterator[Sent]:
    """Yield the host application: its subscription, and its states, of which one is its will."""
    yield from connected(0.1, HISTORIAN, "historian")
    yield 0.2, HISTORIAN, CLIENT, Subscribe(packet_id=1, subscriptions=(Subscription(filter="spBv1.0/#"),))
    yield 0.21, HISTORIAN, SERVER, Suback(packet_id=1, reason_codes=(0,))
    for time, connection in ((0.5, 2), (2400, 3)):
        state = b'{"online": %s, "timestamp": %d}'
        stamp = (START + int(time)) * 1000
        topic = "spBv1.0/STATE/scada"
        will = Will(topic=topic, payload=state % (b"false", stamp))
        yield from connected(time, connection, "scada", will)
        yield from published(time + 0.1, connection, topic, state % (b"true", stamp))
        if connection == 2:
            yield 2100, HISTORIAN, SERVER, Publish(topic=topic, payload=state % (b"false", stamp))


class Line:
    """An edge node with a pump."""

    def __init__(self, number: int) -> None:
        self.name = f"line-{number}"
        self.connection = 20 + 10 * number
        self.seq = 0
        self.bd_seq = 0

    def topic(self, type: str, device: str = "") -> str:
        """Return the topic of a message."""
        return f"spBv1.0/plant/{type}/{self.name}" + (f"/{device}" if device else "")

    def say(self, time: float, type: str, *metrics: bytes, device: str = "") -> Iterator[Sent]:
        """Yield a message with the next sequence number."""
        payload = sparkplug(self.seq, *metrics, stamp=(START + int(time)) * 1000)
        self.seq = (self.seq + 1) % 256
        yield from published(time, self.connection, self.topic(type, device), payload)

    def death(self) -> bytes:
        """Return the payload of an NDEATH."""
        return sparkplug(None, metric("bdSeq", None, self.bd_seq))

    def connect(self, time: float) -> Iterator[Sent]:
        """Yield a connection with a will."""
        self.connection += 1
        will = Will(topic=self.topic("NDEATH"), payload=self.death())
        yield from connected(time, self.connection, self.name, will)

    def born(self, time: float) -> Iterator[Sent]:
        """Yield the births of the node and its pump."""
        self.seq = 0
        rebirth = metric("Node Control/Rebirth", None, 0)
        yield from self.say(time, "NBIRTH", metric("bdSeq", None, self.bd_seq), rebirth, metric("load", 1, 0.5))
        yield from self.say(time + 0.1, "DBIRTH", metric("rpm", 2, 900), metric("flow", 3, 1.5), device="pump")

    def data(self, begin: float, end: float) -> Iterator[Sent]:
        """Yield data of the pump, every 30 seconds."""
        for time in range(int(begin), int(end), 30):
            yield from self.say(time, "DDATA", metric(None, 2, 900 + time % 50), device="pump")

    def died(self, time: float) -> Iterator[Sent]:
        """Yield the will, as the historian gets it."""
        yield time, HISTORIAN, SERVER, Publish(topic=self.topic("NDEATH"), payload=self.death())
        self.bd_seq += 1


def lines() -> Iterator[Sent]:
    """Yield the three edge nodes."""
    good, weak, forgetful = Line(1), Line(2), Line(3)
    yield from (*good.connect(1), *good.born(2), *good.data(30, HOUR))
    yield from (*weak.connect(3), *weak.born(4), *weak.data(30, 900))
    for outage in (900, 1800, 2700):
        weak.seq += 4
        yield from (*weak.data(outage, outage + 480), *weak.died(outage + 500))
        yield from (*weak.connect(outage + 560), *weak.born(outage + 561), *weak.data(outage + 570, outage + 900))
    yield from (*forgetful.connect(5), *forgetful.born(6), *forgetful.data(30, 1200), *forgetful.died(1210))
    yield from (*forgetful.connect(1230), *forgetful.data(1240, 1300), *forgetful.born(1310))
    yield from forgetful.say(1320, "DDATA", metric(None, 9, 1), device="pump")
    yield from published(1330, forgetful.connection, forgetful.topic("NDATA"), b"\x08\xff")
    yield from forgetful.data(1350, HOUR)


def capture() -> bytes:
    """Return the capture, not compressed."""
    sent = sorted([*devices(), *host(), *lines()], key=lambda each: each[0])
    data = bytearray(
        pcap_of(SentSegment(connection, side, encode(packet, Version.V311)) for _, connection, side, packet in sent)
    )
    at = 24
    for time, *_ in sent:
        # The records are a millisecond apart, and get the times of the story.
        time_ns = START * SECOND_NS + round(time * 1000) * (SECOND_NS // 1000)
        struct.pack_into("<II", data, at, *divmod(time_ns, SECOND_NS))
        (size,) = struct.unpack_from("<I", data, at + 8)
        at += 16 + size
    return bytes(data)


if __name__ == "__main__":
    PLANT.write_bytes(zipped(capture()))
