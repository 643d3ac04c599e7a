"""Packets a second on one core: packets, decode, and tshark, on the same traffic.

    python tests/benchmarks/decode.py [--packets 200000] [--rounds 3] [--pcap FILE]

Two connections, MQTT 5.0 and 3.1.1: PUBLISH of QoS 0, 1 and 2 with their acknowledgements, the
5.0 ones with properties, several packets in a TCP segment. `decode_packet` and `decode` get the bytes of
each segment, as a socket would give them; tshark reads the same segments from a capture file.
"""

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.encode import encode
from mqttpub.codec.stream import Stream
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connack, Connect, Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.spec.versions import Direction, Version

SEGMENT = 1400
"""Bytes after which a segment is sent."""
BATCH = 48
"""Messages that are sent before their acknowledgements come."""
TSHARK = "tshark -n -r {} -Y mqtt -T fields -e mqtt.topic -e mqtt.msgid"
START_UP = "of that, start-up"
Read = Callable[[bytes, Version], object]


class Segment(NamedTuple):
    """What one TCP segment carries."""

    version: Version
    """It also tells the connection: there is one for each version."""
    direction: Direction
    packets: tuple[bytes, ...]


# Traffic


def traffic(count: int) -> Iterator[Segment]:
    """Yield segments with `count` packets or a few more."""
    made, first = 0, 0
    for version in (Version.V5, Version.V311):
        yield from _segments(version, Direction.CLIENT, [Connect(client_id=f"bench-{version.label}", will=None)])
        yield from _segments(version, Direction.SERVER, [Connack()])
        made += 2
    while made < count:
        for version in (Version.V5, Version.V311):
            for segment in _batch(version, range(first, first + BATCH)):
                made += len(segment.packets)
                yield segment
        first += BATCH


def _batch(version: Version, numbers: Iterable[int]) -> Iterator[Segment]:
    sent = [_message(number, version) for number in numbers]
    twice = [Pubrel(packet_id=each.packet_id or 0) for each in sent if each.qos == 2]
    yield from _segments(version, Direction.CLIENT, sent)
    yield from _segments(version, Direction.SERVER, [_answer(each) for each in sent if each.qos])
    yield from _segments(version, Direction.CLIENT, twice)
    yield from _segments(version, Direction.SERVER, [Pubcomp(packet_id=each.packet_id) for each in twice])


def _message(number: int, version: Version) -> Publish:
    qos = number % 3
    return Publish(
        qos=qos,
        topic=f"plant/{number % 7}/line/{number % 31}/temperature",
        packet_id=number % 0xFFFF + 1 if qos else None,
        properties=_properties(number) if version == Version.V5 else (),
        payload=b'{"value": %d, "unit": "C", "seq": %d}' % (number % 90, number),
    )


def _properties(number: int) -> tuple[Property, ...]:
    return (
        Property(0x02, 3600),
        Property(0x03, "application/json"),
        Property(0x26, ("trace", f"{number:08x}")),
    )


def _answer(message: Publish) -> Packet:
    answer = Puback if message.qos == 1 else Pubrec
    return answer(packet_id=message.packet_id or 0)


def _segments(version: Version, direction: Direction, packets: Iterable[Packet]) -> Iterator[Segment]:
    waiting: list[bytes] = []
    for data in (encode(packet, version) for packet in packets):
        if sum(map(len, waiting)) + len(data) > SEGMENT:
            yield Segment(version, direction, tuple(waiting))
            waiting.clear()
        waiting.append(data)
    if waiting:
        yield Segment(version, direction, tuple(waiting))


# The capture file (Ethernet, IPv4, TCP)


def write_pcap(path: Path, segments: Iterable[Segment]) -> None:
    """Write segments as a capture, one millisecond apart."""
    sequence: dict[tuple[Version, Direction], int] = {}
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 1))
        for index, segment in enumerate(segments):
            key = segment.version, segment.direction
            payload = b"".join(segment.packets)
            frame = _ethernet(segment, sequence.get(key, 1), payload)
            sequence[key] = sequence.get(key, 1) + len(payload) & 0xFFFFFFFF
            file.write(struct.pack("<IIII", index // 1000, index % 1000 * 1000, len(frame), len(frame)) + frame)


def _ethernet(segment: Segment, sequence: int, payload: bytes) -> bytes:
    client, server = (b"\x0a\x00\x00\x01", 50000 + segment.version), (b"\x0a\x00\x00\x02", 1883)
    ends = (client, server) if segment.direction is Direction.CLIENT else (server, client)
    (source, from_port), (target, to_port) = ends
    tcp = struct.pack(">HHIIBBHHH", from_port, to_port, sequence, 1, 0x50, 0x18, 0xFFFF, 0, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(payload), 0, 0, 64, 6, 0, source, target)
    return bytes(12) + b"\x08\x00" + ip + tcp + payload


# Measuring


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = perf_counter()
    work()
    return perf_counter() - began


def run_streams(segments: Iterable[tuple[Version, Direction, bytes]], read: Read) -> int:
    """Cut both directions of both connections into packets, read each, return how many there were."""
    count = 0
    streams = {(version, end): Stream(end, version) for version in Version for end in Direction}
    for version, direction, chunk in segments:
        for frame in streams[version, direction].feed(chunk):
            read(frame.data, version)
            count += 1
    return count


def run_tshark(pcap: Path, *more: str) -> int:
    """Return how many topics tshark found."""
    command = [*TSHARK.format(pcap).split(), *more]
    lines = subprocess.run(command, check=True, capture_output=True).stdout.splitlines()
    return sum(len(line.split(b"\t")[0].split(b",")) for line in lines if not line.startswith(b"\t"))


def measure(segments: list[Segment], pcap: Path, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of every round; the ways take turns, so that a slow minute hits all."""
    chunks = [(each.version, each.direction, b"".join(each.packets)) for each in segments]
    ways: dict[str, Callable[[], Any]] = {
        "Stream": lambda: run_streams(chunks, lambda data, version: None),
        "Stream + packets": lambda: run_streams(chunks, decode_packet),
        "Stream + decode": lambda: run_streams(chunks, decode),
    }
    if shutil.which("tshark"):
        ways["tshark -T fields"] = lambda: run_tshark(pcap)
        ways[START_UP] = lambda: run_tshark(pcap, "-c", "1")
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            took[name].append(seconds(way))
    return took


def report(took: dict[str, list[float]], count: int) -> Iterator[str]:
    """Yield a line for each way: the median of its rounds, its rate, and its ratio."""
    fastest = median(took["Stream + packets"])
    for name, times in took.items():
        middle = median(times)
        rate = (
            "" if name == START_UP else f"{count / middle:12,.0f} packets/s{middle / fastest:8.2f} x as long as packets"
        )
        yield f"{name:20}{middle:9.3f} s{rate}\n"


def check(segments: list[Segment], pcap: Path) -> None:
    """Make sure that all of them read the same packets."""
    chunks = [(each.version, each.direction, b"".join(each.packets)) for each in segments]
    packets = [(data, each.version) for each in segments for data in each.packets]
    if run_streams(chunks, lambda data, version: None) != len(packets):
        raise SystemExit("Stream did not yield the packets that were written")
    if any(decode_packet(*each) != decode(*each).packet for each in packets[:5000]):
        raise SystemExit("decode_packet and decode differ")
    if shutil.which("tshark") and run_tshark(pcap) != sum(data[0] >> 4 == 3 for data, _ in packets):
        raise SystemExit("tshark found another number of PUBLISH packets")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="packets a second on one core: packets, decode, tshark")
    parser.add_argument("--packets", type=int, default=200_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--pcap", type=Path, help="keep the capture here")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        pcap = options.pcap or Path(folder) / "traffic.pcap"
        segments = list(traffic(options.packets))
        write_pcap(pcap, segments)
        check(segments, pcap)
        count = sum(len(each.packets) for each in segments)
        size = sum(len(data) for each in segments for data in each.packets)
        sys.stdout.write(f"{count:,} packets, {size:,} bytes, {len(segments):,} segments, {options.rounds} rounds\n")
        sys.stdout.writelines(report(measure(segments, pcap, options.rounds), count))


if __name__ == "__main__":
    main()
