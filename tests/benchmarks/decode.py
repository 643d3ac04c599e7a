"""Packets a second on one core: packets, decode, and tshark, on the same traffic.

Two connections, MQTT 5.0 and 3.1.1: PUBLISH of QoS 0, 1 and 2 with their acknowledgements, the
5.0 ones with properties, several packets in a TCP segment. `decode_packet` and `decode` get the bytes of
each segment, as a socket would give them; tshark reads the same segments from a capture file.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path

from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.stream import Stream
from mqttpub.spec.versions import Direction, Version
from tests.benchmarks.harness import call, in_turn, middle, stay_on_one_core
from tests.benchmarks.traffic import TWO, Burst, bursts, tshark, write_pcap

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


def check(sent: list[Burst], chunks: list[Chunk], pcap: Path) -> None:
    """Make sure that all of them read the same packets."""
    packets = [(data, each.version) for each in sent for data in each.packets]
    if run_streams(chunks, lambda data, version: None) != len(packets):
        raise SystemExit("Stream did not yield the packets that were written")
    if any(decode_packet(*each) != decode(*each).packet for each in packets[:5000]):
        raise SystemExit("decode_packet and decode differ")
    if tshark(pcap) != sum(data[0] >> 4 == 3 for data, _ in packets):
        raise SystemExit("tshark found another number of PUBLISH packets")


def lines(folder: Path, *, packets: int = 200_000, rounds: int = 3, pcap: Path | None = None) -> Iterator[str]:
    """Yield a line for each way: the median of its rounds, its rate, and its ratio; the capture is kept as `pcap`."""
    stay_on_one_core()
    path = pcap or folder / "traffic.pcap"
    sent = list(bursts(packets, TWO))
    chunks = chunks_of(sent)
    count = write_pcap(path, packets, TWO)
    check(sent, chunks, path)
    size = sum(len(data) for *_, data in chunks)
    yield f"{count:,} packets, {size:,} bytes, {len(chunks):,} segments, {rounds} rounds"
    ways: dict[str, Callable[[], object]] = {
        "Stream": lambda: run_streams(chunks, lambda data, version: None),
        "Stream + packets": lambda: run_streams(chunks, decode_packet),
        "Stream + decode": lambda: run_streams(chunks, decode),
        "tshark -T fields": lambda: tshark(path),
        START_UP: lambda: tshark(path, "-c", "1"),
    }
    took = in_turn({name: partial(call, way) for name, way in ways.items()}, rounds)
    cpu_s = {name: middle(done, attrgetter("cpu_s")) for name, done in took.items()}
    for name, taken in cpu_s.items():
        ratio = taken / cpu_s["Stream + packets"]
        rate = "" if name == START_UP else f"{count / taken:12,.0f} packets/s{ratio:8.2f} x as long as packets"
        yield f"{name:20}{taken:9.3f} s{rate}"
