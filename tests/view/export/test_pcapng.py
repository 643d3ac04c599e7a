"""Captures that are written: this program and tshark read the same packets in them."""

import io
import subprocess
from pathlib import Path

import pytest

from mqttpub.capture.reading import events
from mqttpub.codec.encode import encode
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Closed, GapSeen, PacketSeen
from mqttpub.view.export.pcapng import PcapngWriter, place

C, S = Direction.CLIENT, Direction.SERVER
CONNECT = bytes.fromhex("100d00044d5154540402003c000163")
CONNACK = bytes.fromhex("20020000")
LARGE = encode(Publish(topic="a", payload=bytes(200_672)), Version.V311)
"""A PUBLISH that takes several segments; its Remaining Length is 200,675."""
SECOND = 1_000_000_000


def written(client: str = "10.0.0.1:50000", server: str = "10.0.0.2:1883", *, handshake: bool = True) -> bytes:
    """Return a capture of two connections."""
    out = io.BytesIO()
    writer = PcapngWriter(out.write, "mqttpub")
    writer.opened(1, place(client), place(server), SECOND, comments=["really on port 8883"], handshake=handshake)
    writer.packet(1, C, CONNECT, SECOND, ["first", "ä" * 2000])
    writer.opened(2, (*place(client)[:1], 50001), place(server), SECOND)
    writer.packet(1, S, CONNACK, 2 * SECOND)
    writer.packet(2, C, CONNECT, None)
    writer.packet(1, C, LARGE, 2 * SECOND + 1)
    writer.closed(2, S, "RST", 3 * SECOND)
    writer.closed(1, C, "FIN", 3 * SECOND)
    writer.closed(1, S, "FIN", 3 * SECOND)
    writer.closed(1, S, "FIN", 3 * SECOND)
    return out.getvalue()


@pytest.mark.parametrize(
    ("client", "server", "seen"),
    [
        ("10.0.0.1:50000", "10.0.0.2:1883", ("10.0.0.1:50000", "10.0.0.2:1883")),
        ("10.0.0.1:50000", "10.0.0.2:8883", ("10.0.0.1:50000", "10.0.0.2:1883")),
        ("[fe80::1%eth0]:50000", "[fe80::2]:1883", ("[fe80::1]:50000", "[fe80::2]:1883")),
        ("", "unix socket", ("127.0.0.1:49153", "127.0.0.1:1883")),
        ("[fe80::1]:50000", "10.0.0.2:1883", ("127.0.0.1:50000", "10.0.0.2:1883")),
    ],
)
def test_what_is_written_is_read_again(client: str, server: str, seen: tuple[str, str]) -> None:
    found = list(events(io.BytesIO(written(client, server))))
    assert [(e.ends.number, e.direction, e.data, e.time) for e in found if isinstance(e, PacketSeen)] == [
        (1, C, CONNECT, SECOND), (1, S, CONNACK, 2 * SECOND), (2, C, CONNECT, 2 * SECOND),
        (1, C, LARGE, 2 * SECOND + 1),
    ]  # fmt: skip
    ends = [(e.ends.number, e.direction, e.how) for e in found if isinstance(e, Closed)]
    assert ends == [(2, S, "RST"), (1, C, "FIN"), (1, S, "FIN")]
    assert not [e for e in found if isinstance(e, GapSeen)]
    assert (found[0].ends.client, found[0].ends.server) == seen


def test_a_connection_is_open_until_both_ends_have_closed_or_one_has_reset_it() -> None:
    writer = PcapngWriter(io.BytesIO().write, "mqttpub")
    opened = []
    conversations: list[list[tuple[Direction | None, str]]] = [
        [(C, "FIN"), (C, "FIN"), (S, "FIN")], [(S, "RST")], [(None, "end")],
    ]  # fmt: skip
    for number, ends in enumerate(conversations):
        writer.opened(number, ("10.0.0.1", 5), ("10.0.0.2", 1883), SECOND)
        for direction, how in ends:
            opened.append(writer.is_open(number))
            writer.closed(number, direction, how, SECOND)
        opened.append(writer.is_open(number))
    assert opened == [True, True, True, False, True, False, True, False]


def test_a_connection_whose_beginning_was_not_captured_has_no_handshake() -> None:
    begun = {e.ends.number: e.ends.begun for e in events(io.BytesIO(written(handshake=False)))}
    assert begun == {1: False, 2: True}


def tshark(path: Path, *fields: str) -> list[list[str]]:
    """Return fields of each record, as tshark reads them, with all check sums checked."""
    checks = [f"{name}.check_checksum:TRUE" for name in ("ip", "tcp")]
    command = ["tshark", "-r", str(path), "-T", "fields", *(f"-o{each}" for each in checks)]
    shown = subprocess.run(
        [*command, *(f"-e{field}" for field in fields)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    return [line.split("\t") for line in shown.splitlines()]


@pytest.mark.tshark
def test_tshark_reads_the_same_and_finds_no_fault(tmp_path: Path) -> None:
    for name, ends in (("4", ("10.0.0.1:50000", "10.0.0.2:1883")), ("6", ("[fe80::1]:50000", "[fe80::2]:1883"))):
        path = tmp_path / f"{name}.pcapng"
        path.write_bytes(written(*ends))
        rows = tshark(path, "mqtt.msgtype", "mqtt.len", "frame.comment", "tcp.checksum.status", "ip.checksum.status",
                      "tcp.analysis.flags")  # fmt: skip
        assert [row[:2] for row in rows if row[0]] == [["1", "13"], ["2", "2"], ["1", "13"], ["3", "200675"]]
        assert {row[3] for row in rows} == {"1"}, "every TCP checksum is good"
        assert {row[4] for row in rows} == ({"1"} if name == "4" else {""})
        assert {row[5] for row in rows} == {""}, "no segment is missing or out of order"
        comments = [row[2] for row in rows if row[2]]
        assert comments[0] == "really on port 8883"
        assert comments[1].startswith("first,ä")
        assert comments[1].endswith("ä…")


def test_the_file_is_whole_after_each_write() -> None:
    sizes: list[int] = []
    out = io.BytesIO()
    writer = PcapngWriter(lambda data: sizes.append(out.write(data)), "mqttpub")
    writer.opened(1, ("10.0.0.1", 5), ("10.0.0.2", 1883), SECOND)
    writer.packet(1, C, CONNECT, SECOND)
    counts = []
    for at in range(len(sizes)):
        read = events(io.BytesIO(out.getvalue()[: sum(sizes[: at + 1])]))
        counts.append(sum(isinstance(each, PacketSeen) for each in read))
    assert counts == [0, 0, 0, 0, 1]
