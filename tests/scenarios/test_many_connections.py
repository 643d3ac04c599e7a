"""A packet costs the same however many connections take turns, with room for all of them and without."""

import sys
from pathlib import Path
from types import FrameType

import pytest

from mqttpub.capture.reading import CaptureEvents
from mqttpub.lint import judge
from mqttpub.reading.follow import JudgedTraffic
from tests.benchmarks.traffic import MIXES, write_pcap

TURNS = 8
"""Packets of each connection."""


def calls_for_each_packet(path: Path, connections: int, room: int) -> float:
    """Return how many functions are called for each packet of connections that take turns."""
    write_pcap(path, TURNS * connections, MIXES["many"]._replace(connections=connections))
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    with path.open("rb") as file:
        traffic = JudgedTraffic(CaptureEvents(file, max_connections=room).events())
        sys.setprofile(count)
        try:
            for _ in traffic:
                pass
        finally:
            sys.setprofile(None)
    return calls / traffic.packets


@pytest.mark.parametrize("room", [1000, 20])
def test_a_packet_costs_the_same_however_many_connections_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(judge, "MOST_CONNECTIONS", room)
    few, many = (calls_for_each_packet(tmp_path / "c.pcap", connections, room) for connections in (50, 400))
    assert many == pytest.approx(few, rel=0.1)
