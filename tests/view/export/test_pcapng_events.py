"""Events as a capture: what one end says after the other has closed is of the same connection."""

import io
from pathlib import Path

import pytest

from mqttpub.capture.reading import events
from mqttpub.spec.versions import Direction
from mqttpub.traffic.events import Closed, PacketSeen
from tests.program import run
from tests.view.export.test_pcapng import tshark

C, S = Direction.CLIENT, Direction.SERVER
HALF_CLOSED = "> connect; < connack; > disconnect; client FIN; < pingresp; server FIN\n"


def written(script: str, path: Path) -> bytes:
    """Return the capture of a script."""
    (path / "talk.mqtt").write_text(script)
    done = run("decode", path / "talk.mqtt", "--pcapng", path / "talk.pcapng")
    assert done.returncode == 1, "the findings of the script"
    return (path / "talk.pcapng").read_bytes()


def test_a_half_closed_connection_is_one_connection(tmp_path: Path) -> None:
    found = list(events(io.BytesIO(written(HALF_CLOSED, tmp_path))))
    assert {each.ends.number for each in found} == {1}
    assert [each.data[0] >> 4 for each in found if isinstance(each, PacketSeen)] == [1, 2, 14, 13]
    assert [(each.direction, each.how) for each in found if isinstance(each, Closed)] == [(C, "FIN"), (S, "FIN")]


@pytest.mark.tshark
def test_tshark_sees_one_handshake_and_no_retransmission(tmp_path: Path) -> None:
    written(HALF_CLOSED, tmp_path)
    rows = tshark(tmp_path / "talk.pcapng", "tcp.flags.syn", "tcp.analysis.flags", "mqtt.msgtype")
    assert sum(row[0] in ("1", "True") for row in rows) == 2
    assert {row[1] for row in rows} == {""}
    assert [row[2] for row in rows if row[2]] == ["1", "2", "14", "13"]
