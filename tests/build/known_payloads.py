"""A capture of payloads of which everything is known: their forms over time, and the faults of Sparkplug B.

Payloads of Sparkplug B are written byte by byte, as the specification has them, and not by the library that reads them.
"""

import json
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mqttpub.codec.encode import encode
from mqttpub.spec.packets import Connack, Connect, Packet, Publish, Will
from mqttpub.spec.versions import Direction, Version
from tests.build.frames import SentSegment, pcap_of

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
STAMP = 1_700_000_000_000
INT64, DOUBLE = 4, 10


# Sparkplug B, byte by byte


def varint(value: int) -> bytes:
    """Return a number as Protocol Buffers write it: seven bits a byte, the lowest first."""
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def number(field_number: int, value: int) -> bytes:
    """Return a field of a number (wire type 0)."""
    return varint(field_number << 3) + varint(value)


def block(field_number: int, content: bytes) -> bytes:
    """Return a field of bytes, a text or a message (wire type 2)."""
    return varint(field_number << 3 | 2) + varint(len(content)) + content


def metric(name: str | None, alias: int | None, value: float) -> bytes:
    """Return a metric, an int as Int64 and a float as Double."""
    content = block(1, name.encode()) if name is not None else b""
    content += number(2, alias) if alias is not None else b""
    content += number(3, STAMP) + number(4, INT64 if isinstance(value, int) else DOUBLE)
    content += number(11, value) if isinstance(value, int) else varint(13 << 3 | 1) + struct.pack("<d", value)
    return block(2, content)


def sparkplug(seq: int | None, *metrics: bytes, stamp: int = STAMP) -> bytes:
    """Return a payload."""
    return number(1, stamp) + b"".join(metrics) + (number(3, seq) if seq is not None else b"")


# what is known


@dataclass
class KnownMessage:
    """A message as its publisher sent it."""

    topic: str
    payload: bytes
    record: int
    client: int


@dataclass
class KnownNode:
    """An edge node, and what it did."""

    name: str
    devices: tuple[str, ...]
    counts: Counter[str] = field(default_factory=Counter)
    """What happened, by the names of the report."""
    places: list[tuple[str, int]] = field(default_factory=list)
    """Faults and their records."""
    spans: list[list[int]] = field(default_factory=list)
    """Records of births and deaths."""


@dataclass
class KnownPayloads:
    """A capture, and what is in it."""

    capture: bytes
    messages: list[KnownMessage]
    copies: int
    """How many more times the server sent one of them."""
    nodes: list[KnownNode]


class _Wire:
    """The capture as it grows: publishers have connections from 1 on, subscribers those from 100 on."""

    def __init__(self, subscribers: int) -> None:
        self.segments: list[SentSegment] = []
        self.messages: list[KnownMessage] = []
        self.copies = 0
        self.subscribers = range(100, 100 + subscribers)
        self._connected: set[int] = set()
        for each in self.subscribers:
            self.connect(each)

    def say(self, connection: int, side: Direction, packet: Packet) -> int:
        """Send a packet and return its record."""
        self.segments.append(SentSegment(connection, side, encode(packet, Version.V311)))
        return len(self.segments)

    def connect(self, connection: int, will: Will | None = None) -> None:
        """Begin a connection."""
        self.say(connection, CLIENT, Connect(client_id=f"c{connection}", will=will))
        self.say(connection, SERVER, Connack())

    def publish(self, connection: int, topic: str, payload: bytes) -> int:
        """Publish a message, which the server sends to each subscriber, and return its record."""
        record = self.say(connection, CLIENT, Publish(topic=topic, payload=payload))
        self.messages.append(KnownMessage(topic, payload, record, connection))
        self.copy(topic, payload)
        return record

    def copy(self, topic: str, payload: bytes) -> int:
        """Let the server send a message to each subscriber, and return the first record."""
        records = [self.say(each, SERVER, Publish(topic=topic, payload=payload)) for each in self.subscribers]
        self.copies += len(records)
        return records[0]


# forms that drift

FORMS: tuple[Callable[[Random], Any], ...] = (
    lambda random: {"temp": random.random(), "unit": "C"},
    lambda random: {"temp": random.randrange(9), "unit": "C", "pos": {"lat": random.random(), "lon": 4}},
    lambda random: {"unit": None, "temp": str(random.random())},
    lambda random: [{"t": random.randrange(99)}, {"t": None, "ok": True}, random.random()],
    lambda random: random.random(),
    lambda random: {"a.b": [[1], []], "deep": {"x": {"y": {"z": [{"w": "v"}]}}}},
)


def _drifting(wire: _Wire, random: Random, topics: int, messages: int) -> Iterator[None]:
    """Publish on topics, each of which goes from form to form; step by step, so that others come between."""
    forms = [random.sample(range(len(FORMS) + 1), random.randrange(1, 4)) for _ in range(topics)]
    for count in range(messages):
        for topic, own in enumerate(forms):
            alternates = topic % 3 == 0
            form = own[count % len(own)] if alternates else own[count * len(own) // messages]
            text = json.dumps(FORMS[form](random)).encode() if form < len(FORMS) else random.choice((b"ON", b"OFF"))
            wire.publish(1 + topic % 3, f"plant/{topic}/state", text)
        yield


# edge nodes with faults


class _EdgeNode:
    """An edge node that keeps the rules, except those that it is asked to break."""

    def __init__(self, wire: _Wire, random: Random, number: int) -> None:
        self.wire = wire
        self.random = random
        self.connection = 10 + number
        self.known = KnownNode(f"node-{number}", ("pump", "valve")[: 1 + number % 2])
        self.bd_seq = number
        self.seq = 0

    def send(self, type: str, device: str, *metrics: bytes, count: str) -> int:
        """Publish a message with the next sequence number."""
        topic = f"spBv1.0/plant/{type}/{self.known.name}" + (f"/{device}" if device else "")
        record = self.wire.publish(self.connection, topic, sparkplug(self.seq, *metrics))
        self.seq = (self.seq + 1) % 256
        self.known.counts[count] += 1
        self.known.counts["messages"] += 1
        return record

    def fault(self, name: str, record: int) -> None:
        """Note a fault."""
        self.known.counts[name] += 1
        self.known.places.append((name, record))

    def death(self, bd_seq: int, stamp: int) -> tuple[str, bytes]:
        """Return topic and payload of an NDEATH."""
        payload = sparkplug(None, metric("bdSeq", None, bd_seq), stamp=stamp)
        return f"spBv1.0/plant/NDEATH/{self.known.name}", payload

    def session(self, steps: int) -> Iterator[None]:
        """Be born, send data with some faults, and die."""
        self.connection += 1000
        topic, payload = self.death(self.bd_seq, STAMP + self.bd_seq)
        self.wire.connect(self.connection, Will(topic=topic, payload=payload))
        self.birth()
        for step in range(steps):
            self.step(step)
            yield
        self.known.spans[-1].append(self.die())
        yield

    def birth(self) -> None:
        """Send an NBIRTH and a DBIRTH for each device."""
        self.seq = 0
        metrics = metric("bdSeq", None, self.bd_seq), metric("load", 1, 0.5), metric("up", None, 3)
        record = self.send("NBIRTH", "", *metrics, count="births")
        self.known.spans.append([record])
        for at, device in enumerate(self.known.devices):
            self.send("DBIRTH", device, metric("rpm", 10 + at, 7), count="device_births")

    def die(self) -> int:
        """Let the server publish the will; return the record."""
        topic, payload = self.death(self.bd_seq, STAMP + self.bd_seq)
        record = self.wire.copy(topic, payload)
        self.known.counts["deaths"] += 1
        self.known.counts["messages"] += 1
        self.bd_seq += 1
        return record

    def step(self, step: int) -> None:
        """Send data, at times with a fault."""
        device = self.random.choice(self.known.devices)
        alias = 10 + self.known.devices.index(device)
        chance = self.random.randrange(12)
        if chance == 0:
            missing = self.random.randrange(1, 100)
            self.seq = (self.seq + missing) % 256
            self.known.counts["missing"] += missing
            self.fault("gaps", self.send("NDATA", "", metric(None, 1, 0.25), count="data"))
        elif chance == 1:
            self.fault("unknown", self.send("DDATA", device, metric(None, 77, 1), count="data"))
        elif chance == 2:
            record = self.wire.publish(self.connection, f"spBv1.0/plant/NDATA/{self.known.name}", b"\x0a\xff\xff")
            self.known.counts["messages"] += 1
            self.fault("malformed", record)
        elif chance == 3:
            self.fault("unborn", self.send("DDATA", "stranger", metric("x", None, 1), count="data"))
        elif chance == 4:
            self.seq = (self.seq - 5) % 256
            self.fault("backwards", self.send("DDATA", device, metric(None, alias, 2), count="data"))
        elif chance == 5:
            topic, payload = self.death(self.bd_seq + 100, STAMP + step)
            self.known.counts["deaths"] += 1
            self.known.counts["messages"] += 1
            self.fault("bd_seq", self.wire.copy(topic, payload))
        else:
            self.send("DDATA", device, metric(None, alias, self.random.random()), metric("rpm", None, 2), count="data")


def known_payloads(
    seed: int, *, topics: int = 7, messages: int = 20, nodes: int = 3, sessions: int = 2
) -> KnownPayloads:
    """Return a capture of publishers, subscribers and edge nodes, at a server."""
    random = Random(seed)
    wire = _Wire(subscribers=2)
    edge_nodes = [_EdgeNode(wire, random, number) for number in range(nodes)]

    def lived(node: _EdgeNode) -> Iterator[None]:
        for _ in range(sessions):
            yield from node.session(messages)

    going = [_drifting(wire, random, topics, messages), *map(lived, edge_nodes)]
    while going:
        each = random.choice(going)
        if next(each, wire) is wire:
            going.remove(each)
    capture = pcap_of(wire.segments)
    return KnownPayloads(capture, wire.messages, wire.copies, [each.known for each in edge_nodes])
