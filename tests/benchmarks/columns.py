"""Packets a second on one core: a capture to Arrow columns, step by step, and tshark on the same file.

    python tests/benchmarks/columns.py [--mix usual|bulk|many] [--packets 400000] [--rounds 3] [--pcap FILE]

All mixes have connections of MQTT 5.0 and 3.1.1 at the same time, PUBLISH packets and their
acknowledgements: `usual` 32 connections, QoS 0, 1 and 2 with properties, most packets in a TCP segment of
their own; `bulk` 32 connections, short messages of QoS 0 and 1 that fill segments of 1,448 bytes, as do
the acknowledgements; `many` 10,000 connections that take turns, each packet in a segment of its own. All
steps run in one process on one core and take turns with tshark, so that a slow minute hits all.
"""

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pyarrow as pa

from mqttpub.codec.encode import encode
from mqttpub.columns.decode.context import Memory
from mqttpub.columns.decode.decode import decode
from mqttpub.columns.exchanges.pair import Pairing, closes
from mqttpub.columns.read import read
from mqttpub.columns.reassemble.assembly import Batch
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connack, Connect, Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.closings import Closings

SEGMENT = 1448
"""Bytes of payload in a full segment."""
TSHARK = "tshark -n -r {} -Y mqtt -T fields -e mqtt.topic -e mqtt.msgid"
Batches = list[Batch]


# the capture


class Mix(NamedTuple):
    """What connections send, and in what segments."""

    connections: int
    messages: int
    """Messages of a connection that are sent before their acknowledgements come."""
    message: Callable[[int, bool], Publish]
    segments: Callable[[list[bytes]], Iterator[bytes]]


def write_pcap(path: Path, packets: int, mix: Mix) -> int:
    """Write a capture with so many packets or a few more; return how many."""
    written, record = 0, count()
    sequence = [[1, 1] for _ in range(mix.connections)]
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 1))
        for number, direction, burst in _bursts(packets, mix):
            written += len(burst)
            for payload in mix.segments(burst):
                end = direction is Direction.SERVER
                data = _ethernet(number, end, sequence[number], payload)
                sequence[number][end] += len(payload)
                seconds, milliseconds = divmod(next(record), 1000)
                file.write(struct.pack("<IIII", seconds, milliseconds * 1000, len(data), len(data)) + data)
    return written


def _bursts(packets: int, mix: Mix) -> Iterator[tuple[int, Direction, list[bytes]]]:
    """Yield what one end of a connection sends at a time."""
    made = 0
    for turn in count():
        for number in range(mix.connections):
            for direction, burst in _turn(number, turn, mix):
                version = Version.V5 if number % 4 else Version.V311
                yield number, direction, [encode(packet, version) for packet in burst]
                made += len(burst)
            if made >= packets:
                return


def _turn(number: int, turn: int, mix: Mix) -> Iterator[tuple[Direction, list[Packet]]]:
    client, server = Direction.CLIENT, Direction.SERVER
    if turn == 0:
        yield client, [Connect(client_id=f"device-{number}", will=None)]
        yield server, [Connack()]
    first = turn * mix.messages
    sent = [mix.message(each, number % 4 > 0) for each in range(first, first + mix.messages)]
    answered = [(Puback if each.qos == 1 else Pubrec, each.packet_id or 0) for each in sent if each.qos]
    twice = [each.packet_id or 0 for each in sent if each.qos == 2]
    yield client, [*sent]
    yield server, [cls(packet_id=packet_id) for cls, packet_id in answered]
    yield client, [Pubrel(packet_id=packet_id) for packet_id in twice]
    yield server, [Pubcomp(packet_id=packet_id) for packet_id in twice]


def _message(number: int, properties: bool) -> Publish:
    qos = (0, 1, 1, 1, 1, 2)[number % 6]
    found = (Property(0x02, 3600), Property(0x03, "application/json"), Property(0x26, ("trace", f"{number:08x}")))
    return Publish(
        qos=qos,
        topic=f"plant/{number % 7}/line/{number % 31}/temperature",
        packet_id=number % 0xFFFF + 1 if qos else None,
        properties=found[: number % 4] if properties else (),
        payload=b'{"value": %d, "unit": "C", "seq": %d, "quality": "good"}' % (number % 90, number),
    )


def _short_message(number: int, properties: bool) -> Publish:
    return Publish(
        qos=number % 2,
        topic=f"plant/{number % 7}/line/{number % 31}",
        packet_id=number % 0xFFFF + 1 if number % 2 else None,
        payload=b'{"value": %d, "unit": "C"}' % (number % 90 + number),
    )


def _message_of_qos_1(number: int, properties: bool) -> Publish:
    return _short_message(2 * number + 1, properties)


def _segments(burst: list[bytes]) -> Iterator[bytes]:
    """Yield segments as captures have them: of ten packets seven alone, two together, one in two parts."""
    for at in range(0, len(burst), 10):
        ten = burst[at : at + 10]
        yield from ten[:7]
        if ten[7:9]:
            yield b"".join(ten[7:9])
        for split in ten[9:]:
            yield split[: len(split) // 2]
            yield split[len(split) // 2 :]


def _full_segments(burst: list[bytes]) -> Iterator[bytes]:
    """Yield segments as a sender makes them that has much to send."""
    stream = b"".join(burst)
    yield from (stream[at : at + SEGMENT] for at in range(0, len(stream), SEGMENT))


MIXES = {
    "usual": Mix(32, 24, _message, _segments),
    "bulk": Mix(32, 2048, _short_message, _full_segments),
    "many": Mix(10_000, 1, _message_of_qos_1, iter),
}


def _ethernet(number: int, back: bool, sequence: list[int], payload: bytes) -> bytes:
    ends = ((b"\x0a\x00" + number.to_bytes(2), 50000 + number % 100), (b"\x0a\x01\x00\x01", 1883))
    (source, from_port), (target, to_port) = reversed(ends) if back else ends
    ours, theirs = sequence[back] & 0xFFFFFFFF, sequence[not back] & 0xFFFFFFFF
    tcp = struct.pack(">HHIIBBHHH", from_port, to_port, ours, theirs, 0x50, 0x18, 0xFFFF, 0, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(payload), 0, 0, 64, 6, 0, source, target)
    return bytes(12) + b"\x08\x00" + ip + tcp + payload


# the steps


def framed(path: Path) -> Batches:
    """Return the frames of a capture."""
    return list(read([path]))


def decoded(batches: Batches) -> list[pa.RecordBatch]:
    """Return the rows of frames."""
    memory = Memory()
    return [decode(each, capture="traffic.pcap", keys=each.keys, memory=memory) for each in batches]


def paired(batches: Batches, packets: list[pa.RecordBatch]) -> int:
    """Return how many exchanges there are."""
    pairing = Pairing()
    closings: Closings[str] = Closings()
    found = [pairing.add(rows, closes(each, closings, lambda ends, own=each: own.names[ends.number]))  # type: ignore[misc]
             for each, rows in zip(batches, packets, strict=True)]  # fmt: skip
    return sum(len(each) for each in (*found, pairing.finish()))


def to_arrow(path: Path) -> int:
    """Return how many rows a capture has, holding one batch at a time."""
    memory, rows = Memory(), 0
    for each in read([path]):
        rows += len(decode(each, capture="traffic.pcap", keys=each.keys, memory=memory))
    return rows


def tshark(path: Path) -> int:
    """Return how many packets with a topic tshark found."""
    lines = subprocess.run(TSHARK.format(path).split(), check=True, capture_output=True).stdout.splitlines()
    return sum(len(line.split(b"\t")[0].split(b",")) for line in lines if not line.startswith(b"\t"))


def processor() -> float:
    """Return the processor time of this process and those that it ran, as others want the core too."""
    return sum(os.times()[:4])


def measure(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median processor time of each way."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            began = processor()
            way()
            took[name].append(processor() - began)
    return {name: median(times) for name, times in took.items()}


def report(took: dict[str, float], packets: int) -> Iterator[str]:
    """Yield a line for each way: its time, its rate, and how many times as fast as tshark it is."""
    slowest = took.get("tshark -T fields")
    for name, seconds in took.items():
        ratio = f"{slowest / seconds:8.1f} x tshark" if slowest and name != "tshark -T fields" else ""
        yield f"{name:24}{seconds:9.3f} s{packets / seconds:14,.0f} packets/s{ratio}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="packets a second on one core: columns, tshark")
    parser.add_argument("--mix", choices=MIXES, default="usual")
    parser.add_argument("--packets", type=int, default=400_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--pcap", type=Path, help="keep the capture here")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as folder:
        path = options.pcap or Path(folder) / "traffic.pcap"
        packets = write_pcap(path, options.packets, MIXES[options.mix])
        batches = framed(path)
        rows = decoded(batches)
        if sum(len(each) for each in rows) != packets or any(each["error"].null_count < len(each) for each in rows):
            raise SystemExit(f"{sum(len(each) for each in rows)} rows, but {packets} packets were written")
        ways: dict[str, Callable[[], Any]] = {
            "pcap to frames": lambda: framed(path),
            "frames to Arrow": lambda: decoded(batches),
            "packets to exchanges": lambda: paired(batches, rows),
            "pcap to Arrow": lambda: to_arrow(path),
        }
        if shutil.which("tshark"):
            ways["tshark -T fields"] = lambda: tshark(path)
        size = path.stat().st_size
        sys.stdout.write(f"{packets:,} packets, {size:,} bytes, {len(batches)} batches, {options.rounds} rounds\n")
        sys.stdout.writelines(report(measure(ways, options.rounds), packets))


if __name__ == "__main__":
    main()
