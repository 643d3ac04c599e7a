"""Packets that span sources and tasks meet in one slot, however the work is divided."""

from collections import Counter
from pathlib import Path

import pytest

from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connack, Connect, Pingreq, Pingresp, Puback, Publish
from mqttpub.spec.properties import ASSIGNED_CLIENT_IDENTIFIER
from mqttpub.spec.versions import Direction, Version
from tests.build.fleet import rotated
from tests.build.frames import SentSegment, pcap_of
from tests.build.known_captures import truth, write
from tests.spark.running import alone as alone
from tests.spark.running import piped, tables

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
CLIENTS = 6
TEXT = "> 10 10 00 04 4d 51 54 54 04 02 00 3c 00 04 61 62 63 64\n< 20 02 00 00\n"


def assigned(number: int) -> Connack:
    return Connack(properties=(Property(ASSIGNED_CLIENT_IDENTIFIER.id, f"auto-{number}"),))


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("partitions", [1, 4, 16])
@pytest.mark.parametrize("resumed", [False, True])
def test_a_client_that_gets_its_name_in_the_next_file(partitions: int, resumed: bool, tmp_path: Path) -> None:
    asks = [Connect(client_id="", clean_start=True), Publish(qos=1, packet_id=7, topic="a")]
    said = [SentSegment(number, CLIENT, encode(one, Version.V5)) for number in range(CLIENTS) for one in asks]
    said += [
        SentSegment(number, SERVER, encode(one, Version.V5))
        for number in range(CLIENTS)
        for one in (assigned(number), Puback(packet_id=7))
    ]
    first, second = rotated(pcap_of(said), tmp_path / "ring", 2)
    runs = ([first], [first, second]) if resumed else ([first, second],)
    for sources in runs:
        piped(*sources, out=tmp_path / "out", mode="resume", partitions=partitions)
    assert Counter(row["outcome"] for row in tables(tmp_path / "out")["exchanges"]) == {"complete": CLIENTS}


@pytest.mark.usefixtures("alone")
def test_packets_released_after_a_text_keep_their_source(tmp_path: Path) -> None:
    pings = pcap_of(
        [SentSegment(0, CLIENT, encode(Pingreq(), Version.V5)), SentSegment(0, SERVER, encode(Pingresp(), Version.V5))]
    )
    (tmp_path / "ping.pcap").write_bytes(pings)
    (tmp_path / "ping.txt").write_text(TEXT)
    piped(tmp_path / "ping.pcap", tmp_path / "ping.txt", out=tmp_path / "out", partitions=1)
    found = {(row["type"], Path(row["capture"]).name, row["frame"]) for row in tables(tmp_path / "out")["packets"]}
    assert {("PINGREQ", "ping.pcap", 1), ("PINGRESP", "ping.pcap", 2)} < found


@pytest.mark.usefixtures("alone")
def test_findings_name_the_client_of_their_connection(tmp_path: Path) -> None:
    piped(*write(truth(3), tmp_path), out=tmp_path / "out", lint=True)
    found = tables(tmp_path / "out")
    clients = {row["connection"]: row["client_id"] for row in found["connections"]}
    ends = [row for row in found["findings"] if row["type"] is None]
    assert ends, "findings about the end of connections"
    assert all(row["client_id"] == clients[row["connection"]] for row in found["findings"])
