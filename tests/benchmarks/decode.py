"""Packets a second on one core: packets, decode, and tshark, on the same traffic.

    python tests/benchmarks/decode.py [--packets 200000] [--rounds 3] [--pcap FILE]

Two connections, MQTT 5.0 and 3.1.1: PUBLISH of QoS 0, 1 and 2 with their acknowledgements, the
5.0 ones with properties, several packets in a TCP segment. `decode_packet` and `decode` get the bytes of
each segment, as a socket would give them; tshark reads the same segments from a capture file.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.stream import Stream
from mqttpub.spec.versions import Direction, Version
from tests.benchmarks.traffic import TWO, Burst, bursts, processor_time_s, stay_on_one_core, tshark, write_pcap

START_UP = "of that, start-up"
Read = Callable[[bytes, Version], object]
Chunk = tuple[Version, Direction, bytes]
"""What one segment carries; there is one connection for each version."""


def chunks_of(sent: Iterable[Burst]) -> list[Chunk]:
    """Return the segments of bursts."""
    return [(burst.version, burst.direction, data) for burst in sent for data in TWO.segments(burst.packets)]


def run_streams(chunks: Iterable[Chunk], read: Read) -> int:
    """Cut both directions of both connections into packets, read each, return how many there were."""
    count = 0
    streams = {(version, end): Stream(end, version) for version in Version for end in Direction}
    for version, direction, chunk in chunks:
        for frame in streams[version, direction].feed(chunk):
            read(frame.data, version)
            count += 1
    return count


def measure(chunks: list[Chunk], pcap: Path, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of every round; the ways take turns, so that a slow minute hits all."""
    ways: dict[str, Callable[[], Any]] = {
        "Stream": lambda: run_streams(chunks, lambda data, version: None),
        "Stream + packets": lambda: run_streams(chunks, decode_packet),
        "Stream + decode": lambda: run_streams(chunks, decode),
    }
    if shutil.which("tshark"):
        ways["tshark -T fields"] = lambda: tshark(pcap)
        ways[START_UP] = lambda: tshark(pcap, "-c", "1")
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            took[name].append(processor_time_s(way))
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


def check(sent: list[Burst], chunks: list[Chunk], pcap: Path) -> None:
    """Make sure that all of them read the same packets."""
    packets = [(data, each.version) for each in sent for data in each.packets]
    if run_streams(chunks, lambda data, version: None) != len(packets):
        raise SystemExit("Stream did not yield the packets that were written")
    if any(decode_packet(*each) != decode(*each).packet for each in packets[:5000]):
        raise SystemExit("decode_packet and decode differ")
    if shutil.which("tshark") and tshark(pcap) != sum(data[0] >> 4 == 3 for data, _ in packets):
        raise SystemExit("tshark found another number of PUBLISH packets")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="packets a second on one core: packets, decode, tshark")
    parser.add_argument("--packets", type=int, default=200_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--pcap", type=Path, help="keep the capture here")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    stay_on_one_core()
    with tempfile.TemporaryDirectory() as folder:
        pcap = options.pcap or Path(folder) / "traffic.pcap"
        sent = list(bursts(options.packets, TWO))
        chunks = chunks_of(sent)
        count = write_pcap(pcap, options.packets, TWO)
        check(sent, chunks, pcap)
        size = sum(len(data) for *_, data in chunks)
        sys.stdout.write(f"{count:,} packets, {size:,} bytes, {len(chunks):,} segments, {options.rounds} rounds\n")
        sys.stdout.writelines(report(measure(chunks, pcap, options.rounds), count))


if __name__ == "__main__":
    main()
