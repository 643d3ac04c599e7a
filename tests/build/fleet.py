"""Captures of clients that talk at the same time, in segments that do not care about packets, in rotated files."""

import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random

from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from mqttpub.spec.versions import Direction, Version
from tests.build.frames import SentSegment, pcap_of

HEADER = 24
"""Bytes in front of the first record."""
CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
Step = tuple[Direction, Packet]


def said(random: Random, number: int, messages: int) -> Iterator[Step]:
    """Yield what one client and its server say; some acks never come, and some messages come twice."""
    yield CLIENT, Connect(client_id=f"client-{number:03}", keep_alive=60)
    yield SERVER, Connack()
    yield CLIENT, Subscribe(packet_id=1, subscriptions=(Subscription(filter=f"to/{number}/#"),))
    yield SERVER, Suback(packet_id=1, reason_codes=(0,))
    for index in range(messages):
        id, qos = index + 2, random.randrange(3)
        payload, topic = random.randbytes(random.randrange(40)), f"from/{number}/{random.randrange(4)}"
        packet = Publish(qos=qos, packet_id=id if qos else None, topic=topic, payload=payload)
        yield CLIENT, packet
        if qos and random.random() < 0.2:
            yield CLIENT, packet.replace(dup=True)
        yield from () if random.random() < 0.1 else _acks(qos, id)


def _acks(qos: int, id: int) -> Iterator[Step]:
    if qos == 1:
        yield SERVER, Puback(packet_id=id)
    elif qos == 2:
        yield SERVER, Pubrec(packet_id=id)
        yield CLIENT, Pubrel(packet_id=id)
        yield SERVER, Pubcomp(packet_id=id)


def segments(seed: int, *, clients: int, messages: int) -> Iterator[SentSegment]:
    """Yield what is on the wire: streams cut at random places, those of all connections mixed."""
    random = Random(seed)
    talks = {number: list(_cut(random, number, messages)) for number in range(clients)}
    while talks:
        number = random.choice(sorted(talks))
        yield talks[number].pop(0)
        if not talks[number]:
            del talks[number]


def _cut(random: Random, number: int, messages: int) -> Iterator[SentSegment]:
    version = (Version.V5, Version.V311)[number % 2]
    for direction, packet in said(random, number, messages):
        data = encode(packet, version)
        at = random.randrange(1, len(data)) if random.random() < 0.2 else len(data)
        yield SentSegment(number, direction, data[:at])
        if data[at:]:
            yield SentSegment(number, direction, data[at:])


def capture(seed: int, *, clients: int = 7, messages: int = 30) -> bytes:
    """Return all in one file."""
    return pcap_of(segments(seed, clients=clients, messages=messages))


def rotated(data: bytes, folder: Path, files: int) -> list[Path]:
    """Write a capture as several files, which end anywhere between two records."""
    folder.mkdir(parents=True, exist_ok=True)
    places = [*_records(data), len(data)]
    paths = []
    for number in range(files):
        first, last = (places[(len(places) - 1) * each // files] for each in (number, number + 1))
        path = folder / f"ring-{number:03}.pcap"
        path.write_bytes(data[:HEADER] + data[first:last])
        paths.append(path)
    return paths


def _records(data: bytes) -> Iterator[int]:
    at = HEADER
    while at < len(data):
        yield at
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
