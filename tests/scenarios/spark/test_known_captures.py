"""The tables hold exactly the known contents of captures, whatever the files, tasks and runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Connack, Connect, Puback, Publish
from mqttpub.spec.versions import Version
from tests.build.frames import ACK, FIN, Wire, pcap, records
from tests.build.known_captures import Truth, truth
from tests.spark.running import Rows, alone, piped, tables

__all__ = ["alone"]
pytestmark = pytest.mark.usefixtures("alone")


def write(known: Truth, folder: Path) -> Path:
    folder.mkdir()
    for number, data in enumerate(known.files):
        (folder / f"ring-{number:03}.pcap").write_bytes(data)
    return folder


def micros(row: dict[str, Any], name: str) -> int:
    """Return a time in microseconds since 1970."""
    return round(float(row[name].timestamp()) * 1_000_000)


def assert_true(found: dict[str, Rows], known: Truth) -> None:
    packets = [
        (micros(row, "time"), row["direction"], row["pos"], row["type"], row["resolved_topic"], row["packet_bytes"])
        for row in found["packets"]
    ]
    expected = [
        (each.time // 1000, each.sender, each.offset, each.type, each.topic, len(each.data) // 2)
        for each in known.packets
    ]
    assert sorted(packets, key=repr) == sorted(expected, key=repr)
    names = ("sender", "packet_id", "qos", "topic", "outcome", "dups", "packets")
    exchanges = [
        (micros(row, "begin_time"), *(row[name] for name in names)) for row in found["exchanges"] if row["qos"]
    ]
    times = [each.time // 1000 for each in known.packets]
    assert sorted(exchanges, key=repr) == sorted(
        (
            (times[each.packets[0]], each.sender, each.packet_id, each.qos, each.topic, each.outcome, each.dups,
             len(each.packets))
            for each in known.exchanges
        ),
        key=repr,
    )  # fmt: skip


SLOW = pytest.mark.long
MANY = [pytest.param(1, marks=SLOW), 2, pytest.param(4, marks=SLOW), pytest.param(16, marks=SLOW)]


@pytest.mark.slow
@pytest.mark.parametrize("files", [1, 19])
@pytest.mark.parametrize("partitions", MANY)
def test_every_known_row_is_in_the_tables_once(partitions: int, files: int, tmp_path: Path) -> None:
    known = truth(partitions, connections=9, files=files)
    piped(write(known, tmp_path / "in"), out=tmp_path / "out", partitions=partitions)
    found = tables(tmp_path / "out")
    assert_true(found, known)
    assert len(found["connections"]) == 9
    if files > 1:
        assert len({row["capture"] for row in found["packets"]}) > 10


@SLOW
def test_every_known_row_is_in_the_tables_once_after_many_runs(tmp_path: Path) -> None:
    known = truth(5, files=7)
    folder = write(known, tmp_path / "in")
    for path in sorted(folder.iterdir()):
        piped(path, out=tmp_path / "out", mode="resume")
    assert_true(tables(tmp_path / "out"), known)


# messages that go on on the next connection of a client

CLIENTS = 25


def said(client: int, again: bool) -> Iterator[tuple[int, Packet]]:
    """Yield what a client and its server say on one of two connections."""
    yield 0, Connect(client_id=f"client-{client}", clean_start=False)
    yield 1, Connack(session_present=again)
    yield 0, Publish(qos=1, packet_id=7, topic=f"t/{client}", dup=again)
    if again:
        yield 1, Puback(packet_id=7)


def connection(client: int, again: bool) -> list[bytes]:
    """Return the IP packets of a connection from beginning to end."""
    wire, at = Wire(port=50_000 + 2 * client + again), [0, 0]
    packets = wire.opening()
    for side, packet in said(client, again):
        data = encode(packet, Version.V311)
        packets.append(wire.packet(side, at[side], data, ack=at[1 - side]))
        at[side] += len(data)
    return [*packets, *(wire.packet(side, at[side], flags=ACK | FIN, ack=at[1 - side]) for side in (0, 1))]


@pytest.mark.parametrize("partitions", MANY)
@pytest.mark.parametrize("runs", [1, 2])
def test_messages_go_on_on_the_next_connection(partitions: int, runs: int, tmp_path: Path) -> None:
    packets = [each for again in (False, True) for client in range(CLIENTS) for each in connection(client, again)]
    written = records(packets)
    paths = [tmp_path / "a.pcap", tmp_path / "b.pcap"]
    for path, some in zip(paths, (written[: len(written) // 2 + 3], written[len(written) // 2 + 3 :]), strict=True):
        path.write_bytes(pcap(some))
    for given in [paths] if runs == 1 else [paths[:1], paths[1:]]:
        piped(*given, out=tmp_path / "out", partitions=partitions, mode="resume")
    rows = tables(tmp_path / "out")["exchanges"]
    told = sorted((row["topic"], row["outcome"], row["resumed"]) for row in rows)
    assert told == sorted(
        (f"t/{client}", outcome, outcome == "complete")
        for client in range(CLIENTS)
        for outcome in ("unfinished", "complete")
    )
    begun = {Path(row["capture"]).name for row in rows if row["outcome"] == "unfinished"}
    assert begun == {"a.pcap"}
