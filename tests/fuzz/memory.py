"""Captures that are large, or seem to be, and how much memory the whole program takes to read one."""

import gzip
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from mqttpub.codec.encode import encode
from mqttpub.spec.packets import Connect, Publish, Subscribe, Subscription
from mqttpub.spec.versions import Version
from tests.build.frames import ACK, FIN, SYN, Wire
from tests.fuzz.growth import CONNECT, client_wire, pcap_pieces, said

MB = 1 << 20
ZEROS = bytes(MB)
_PROGRAM = """
import re, sys
import mqttpub.cli.start  # which says how often garbage is looked for
from mqttpub.cli.main import main
if sys.argv.pop(1) == "one by one":
    sys.modules["numpy"] = None  # as if it were not installed
status = main(sys.argv[1:])
sys.stdout.flush()
with open("/proc/self/status") as told:
    sys.stderr.write("\\nHWM " + re.search(r"VmHWM:\\s+(\\d+)", told.read())[1] + "\\n")
"""


class MemoryCase(NamedTuple):
    """A capture that is written piece by piece."""

    pieces: Callable[[], Iterable[bytes]]
    largest: int = 0
    """Bytes of the largest packet, or record, in it."""
    zipped: bool = False

    def written(self) -> Path:
        """Write it, and return where."""
        handle, path = tempfile.mkstemp(prefix="fuzz-")
        with os.fdopen(handle, "wb") as plain, gzip.open(plain, "wb", 1) if self.zipped else plain as file:
            for piece in self.pieces():
                file.write(piece)
        return Path(path)


def peak(path: Path, *flags: str, columns: bool = False) -> int:
    """Return the most kB that `decode` has in memory at once while it reads a file, and remove the file.

    It reads packets one by one, as it does without numpy, or in `columns`.
    """
    reader, wanted = "columns" if columns else "one by one", flags or ("--summary", "--json")
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _PROGRAM, reader, "decode", "-f", str(path), *wanted],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300, check=True,
        )  # fmt: skip
    finally:
        path.unlink()
    found = re.search(rb"\nHWM (\d+)", ran.stderr)
    assert found, ran.stderr
    return int(found[1])


def long_topics() -> Iterator[bytes]:
    """Yield messages with long topics, each another."""
    made = (encode(Publish(topic=f"{at}/" + "x" * 40_000), Version.V5) for at in range(1500))
    yield from pcap_pieces(said([CONNECT, *made], 30_000))


def tiny() -> Iterator[bytes]:
    """Yield 400,000 messages of six bytes, as many as fit into each segment."""
    many = encode(Publish(topic="a"), Version.V5) * 4000
    yield from pcap_pieces(said([CONNECT, *[many] * 100], 1400))


def unacknowledged() -> Iterator[bytes]:
    """Yield messages of QoS 1 with long topics that nobody acknowledges."""
    made = (
        encode(Publish(topic=f"{at}/" + "x" * 1000, qos=1, packet_id=at % 65535 + 1), Version.V5)
        for at in range(15_000)
    )
    yield from pcap_pieces(said([CONNECT, *made], 30_000))


def long_filters() -> Iterator[bytes]:
    """Yield subscriptions with long filters that nobody answers."""
    asked = (Subscription(filter=f"{at}/" + "x/" * 20_000 + "+") for at in range(1000))
    made = (encode(Subscribe(packet_id=at, subscriptions=(each,)), Version.V5) for at, each in enumerate(asked, 1))
    yield from pcap_pieces(said([CONNECT, *made], 30_000))


def long_names() -> Iterator[bytes]:
    """Yield open connections whose clients have long names."""

    def packets() -> Iterator[bytes]:
        for at in range(1500):
            wire = client_wire(at)
            yield wire.packet(0, -1, flags=SYN)
            data = encode(Connect(client_id=f"{at}-" + "y" * 20_000, username="u" * 20_000), Version.V5)
            yield wire.packet(0, 0, data)

    yield from pcap_pieces(packets())


def short_lives() -> Iterator[bytes]:
    """Yield many connections, of which some hundred are open at the same time."""

    def packets() -> Iterator[bytes]:
        for at in range(12_000):
            yield from (client_wire(at).packet(0, -1, flags=SYN), client_wire(at).packet(0, 0, CONNECT))
            if at >= 500:
                yield client_wire(at - 500).packet(0, len(CONNECT), flags=ACK | FIN)
                yield client_wire(at - 500).packet(1, 0, flags=ACK | FIN, ack=len(CONNECT) + 1)

    yield from pcap_pieces(packets())


def out_of_order() -> Iterator[bytes]:
    """Yield long segments behind a hole."""
    wire = Wire()
    yield from pcap_pieces([*wire.opening(), *(wire.packet(0, 10 + at * 60_000, bytes(59_990)) for at in range(1200))])


def specks() -> Iterator[bytes]:
    """Yield segments of one byte with a hole in front of each."""
    wire = Wire()
    yield from pcap_pieces([*wire.opening(), *(wire.packet(0, 10 + at * 2, b"x") for at in range(100_000))])


def large_packet() -> Iterator[bytes]:
    """Yield one packet of 20 MB."""
    yield from pcap_pieces(said([CONNECT, encode(Publish(topic="a", payload=bytes(20_000_000)), Version.V5)], 30_000))


def large_record() -> Iterator[bytes]:
    """Yield a pcap with a record of 15 MB."""
    size = 15 * MB
    yield struct.pack("<IHHiIII", 0xA1B2_3C4D, 2, 4, 0, 0, size, 101) + struct.pack("<IIII", 1, 1, size, size)
    yield from [ZEROS] * 15


def _section() -> bytes:
    return struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28) + struct.pack(
        "<IIHHII", 1, 20, 101, 0, 0, 20
    )


def claimed_record() -> Iterator[bytes]:
    """Yield a pcap with a record of 250 MB."""
    size = 250 * MB
    yield struct.pack("<IHHiIII", 0xA1B2_3C4D, 2, 4, 0, 0, size, 101) + struct.pack("<IIII", 1, 1, size, size)
    yield from [ZEROS] * 250


def claimed_block() -> Iterator[bytes]:
    """Yield a pcapng with a packet of 250 MB."""
    size = 250 * MB
    yield _section() + struct.pack("<7I", 6, size + 32, 0, 0, 0, size, size)
    yield from [ZEROS] * 250


def other_block() -> Iterator[bytes]:
    """Yield a pcapng with 250 MB of what nobody knows."""
    size = 250 * MB
    yield _section() + struct.pack("<II", 0xBAD, size + 12)
    yield from [*[ZEROS] * 250, struct.pack("<I", size + 12)]


MEMORIES = {
    "long topics": MemoryCase(long_topics),
    "tiny": MemoryCase(tiny),
    "unacknowledged": MemoryCase(unacknowledged),
    "long filters": MemoryCase(long_filters),
    "long names": MemoryCase(long_names),
    "short lives": MemoryCase(short_lives),
    "out of order": MemoryCase(out_of_order),
    "specks": MemoryCase(specks),
    "large packet": MemoryCase(large_packet, 20_000_000),
    "large record": MemoryCase(large_record, 15 * MB, zipped=True),
    "other block": MemoryCase(other_block, zipped=True),
    "claimed record": MemoryCase(claimed_record, zipped=True),
    "claimed block": MemoryCase(claimed_block, zipped=True),
}
"""Captures that have to be read in 64 MB and the size of their largest packet."""
