"""Captures of clients that talk at the same time, in segments that do not care about packets, in rotated files."""

import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random

from mqttpub.spec.versions import Version
from tests.build.frames import SentSegment, pcap_of
from tests.build.story import SIDES, Said, said

HEADER = 24
"""Bytes in front of the first record."""
ACKS = ("", "< puback i=$i", "< pubrec i=$i; > pubrel i=$i; < pubcomp i=$i")
"""What follows a message of each QoS."""


def talk(random: Random, number: int, messages: int) -> Iterator[Said]:
    """Yield what one client and its server say; some acks never come, and some messages come twice."""
    version = (Version.V5, Version.V311)[number % 2]
    yield from said(f"> connect id=client-{number:03} ka=60; < connack", version)
    yield from said(f"> subscribe i1 f=to/{number}/#; < suback i1 c=00", version)
    for id in range(2, messages + 2):
        qos = random.randrange(3)
        payload, topic = random.randbytes(random.randrange(40)), f"from/{number}/{random.randrange(4)}"
        words = f"t={topic} p=${{p}} q{qos}" + (" i=$i" if qos else "")
        yield from said(f"> publish {words}", version, i=id, p=payload)
        if qos and random.random() < 0.2:
            yield from said(f"> publish {words} d1", version, i=id, p=payload)
        if random.random() >= 0.1:
            yield from said(ACKS[qos], version, i=id)


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
    for _, side, data, _ in talk(random, number, messages):
        at = random.randrange(1, len(data)) if random.random() < 0.2 else len(data)
        yield from (SentSegment(number, SIDES[side], part) for part in (data[:at], data[at:]) if part)


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
