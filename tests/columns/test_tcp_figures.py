"""How TCP carried connections, compared with what tshark says of the same segments."""

import shutil
import subprocess
from collections import Counter
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mqttpub.columns.connections import Connections
from mqttpub.columns.decode.context import Memory
from mqttpub.columns.decode.decode import decode
from mqttpub.columns.read import read
from mqttpub.columns.scan.records import BLOCK
from tests.build import variations
from tests.build.variations import ETHERNET, CapturedFrame
from tests.columns.packet_rows import rows
from tests.paths import MORNING, PLANT, QOS2

MS = 1_000_000
_FIELDS = ("retransmission", "out_of_order", "zero_window", "initial_rtt")
_WAYS = (("client", "server"), ("server", "client"))
_NAMES = ("retransmissions", "out_of_order", "zero_windows")


def shown(row: dict[str, Any], end: str) -> str:
    """Return address and port of an end."""
    return f"{row[f'{end}_address']}:{row[f'{end}_port']}"


def without_window(frame: CapturedFrame) -> CapturedFrame:
    """Return a frame whose sender can take nothing more."""
    at = ETHERNET + (frame.ip[0] & 15) * 4 + 14
    return frame.wrapped(frame.data[:at] + b"\0\0" + frame.data[at + 2 :])


def troubled(given: list[CapturedFrame], random: Random) -> list[CapturedFrame]:
    """Return frames of which some come again or after the next one, soon or not so soon, and some close the window."""
    made: list[CapturedFrame] = []
    wait_ns = 0
    overtaken: CapturedFrame | None = None
    for plain, after in zip(given, [*given[1:], given[-1]], strict=True):
        frame = plain._replace(time=plain.time + wait_ns)
        made.append(without_window(frame) if random.random() < 0.1 else frame)
        if overtaken:
            wait_ns += random.choice((1, 40)) * MS
            made.append(overtaken._replace(time=plain.time + wait_ns))
            overtaken = None
        elif frame.payload and after.payload and frame.half == after.half and random.random() < 0.2:
            overtaken = made.pop()
        elif frame.payload and random.random() < 0.15:
            wait_ns += random.choice((1, 40)) * MS
            made.append(plain._replace(time=plain.time + wait_ns))
    return made


def by_tshark(path: Path, ends_us: dict[str, int]) -> dict[str, Counter[str]]:
    """Return the figures of what each end sent, by tshark, up to a time."""
    names = ["frame.time_epoch", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport"]
    names += [f"tcp.analysis.{each}" for each in _FIELDS]
    command = ["tshark", "-r", str(path), "-T", "fields", *(word for each in names for word in ("-e", each))]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    found = {each: Counter[str]() for each in ends_us}
    for line in lines:
        time, source, port, target, other, *said = line.split("\t")
        name = f"{source}:{port} {target}:{other}"
        if int(Decimal(time) * 1_000_000) > ends_us.get(name, 0):
            continue
        found[name].update(name for name, value in zip(_NAMES, said, strict=False) if value)
        if said[3]:
            found[name]["rtt"] = int(Decimal(said[3]) * 1_000_000)
    return found


def by_columns(path: Path, block: int) -> list[dict[str, Any]]:
    """Return the rows of connections."""
    connections, memory, made = Connections(), Memory(), list[dict[str, Any]]()
    for batch in read([path], block=block):
        made += rows(connections.add(decode(batch, memory=memory), batch))
    return made + rows(connections.finish())


@pytest.mark.tshark
@pytest.mark.parametrize(("path", "seed"), [(QOS2, 0), (QOS2, 1), (PLANT, 1), (PLANT, 2), (MORNING, 1)])
def test_figures_are_those_of_tshark(path: Path, seed: int, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path)
    frames = [each for each in variations.frames(tmp_path / path.name) if each.ip[0] >> 4 == 4]
    made = tmp_path / "made.pcap"
    made.write_bytes(variations.pcap(troubled(frames, Random(seed)) if seed else frames))
    found = by_columns(made, BLOCK)
    assert by_columns(made, 5000) == found
    ends = {f"{shown(row, one)} {shown(row, other)}": row["end_time"] for row in found for one, other in _WAYS}
    theirs = by_tshark(made, ends)
    for row in found:
        for one, other in _WAYS:
            counts = theirs[f"{shown(row, one)} {shown(row, other)}"]
            assert {name: row[f"{one}_{name}"] for name in _NAMES} == {name: counts[name] for name in _NAMES}, row
            assert "rtt" not in counts or counts["rtt"] == row["handshake_rtt_us"]
    if seed:
        assert all(sum(counts[name] for counts in theirs.values()) for name in ("retransmissions", "zero_windows"))
    if path == PLANT:
        assert sum(counts["out_of_order"] for counts in theirs.values())
