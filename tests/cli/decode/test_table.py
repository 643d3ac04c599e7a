"""`decode --parquet` and `--arrow`: the table of packets on one machine."""

import io
import json
import os
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqttpub.cli.main import main
from mqttpub.spec.packets import Connack, Connect
from tests.build.known_captures import truth
from tests.cli.faulty import WRONG, C, S, Step, capture
from tests.paths import QOS2
from tests.scenarios.test_decode_captures import EVERY, run

TOLD = {"frame": "record", "direction": "direction", "type": "type", "version": "version", "packet_id": "packet_id",
        "packet_bytes": "length", "payload_bytes": "payload_length"}  # fmt: skip


@pytest.mark.slow
def test_the_rows_are_those_of_the_summary(tmp_path: Path) -> None:
    for shipped in (QOS2, EVERY):
        path = tmp_path / "packets.parquet"
        done = run(shipped, "--parquet", path)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        table = pq.read_table(path).to_pylist()
        lines = [json.loads(line) for line in run(shipped, "--summary", "--json").stdout.splitlines()]
        packets = [line for line in lines if "event" not in line]
        assert [[row[name] for name in TOLD] for row in table] == [
            [line.get(name) for name in TOLD.values()] for line in packets
        ]


@pytest.mark.parametrize("flag", ["--parquet", "--arrow"])
def test_names_may_be_any_bytes(flag: str, tmp_path: Path) -> None:
    odd, path = tmp_path / os.fsdecode(b"caf\xff\xe9.pcapng"), tmp_path / os.fsdecode(b"\xfe")
    odd.write_bytes(QOS2.read_bytes())
    assert main(["decode", str(odd), flag, str(path)]) == 0
    data = path.read_bytes()
    table = pq.read_table(io.BytesIO(data)) if flag == "--parquet" else pa.ipc.open_stream(data).read_all()
    assert (set(table["capture"].to_pylist()), table.num_rows) == ({r"caf\xff\xe9.pcapng"}, 54)


@pytest.mark.parametrize(
    "steps",
    [[(C, Connect(client_id="c"))], [(C, Connect(client_id="c")), (S, Connack(reason_code=0x87))], WRONG],
    ids=len,
)
def test_the_status_is_that_of_the_other_views(tmp_path: Path, steps: list[Step]) -> None:
    (path := tmp_path / "some.pcap").write_bytes(capture(steps, silent_s=12))
    views = (
        ["--summary"],
        ["--json"],
        ["--stats"],
        ["--parquet", str(tmp_path / "p")],
        ["--arrow", str(tmp_path / "a")],
    )
    assert {main(["decode", str(path), *view]) for view in views} == {int(steps[1:] != [])}


def test_arrow_goes_to_standard_output() -> None:
    done = run(QOS2, "--arrow", "-")
    assert done.returncode == 0
    assert pa.ipc.open_stream(io.BytesIO(done.stdout)).read_all().num_rows == 54


def test_the_intact_packets_of_a_broken_capture_are_in_the_table(tmp_path: Path) -> None:
    cut, path = tmp_path / "cut.pcapng", tmp_path / "packets.parquet"
    cut.write_bytes(QOS2.read_bytes()[:3000])
    done = run(cut, "--parquet", path)
    assert done.returncode == 2
    assert b"offset 2960" in done.stderr
    assert 0 < pq.read_table(path).num_rows < 54


@pytest.mark.slow
def test_damage_in_the_middle_loses_only_the_records_it_hits(tmp_path: Path) -> None:
    good, bad, path = tmp_path / "good.pcap", tmp_path / "bad.pcap", tmp_path / "packets.parquet"
    whole = truth(3, connections=8, messages=60)
    good.write_bytes(whole.files[0])
    noise = Random(1).randbytes(3000)
    bad.write_bytes(whole.files[0][:60_000] + noise + whole.files[0][63_000:])
    told = f"{bad}: offset "
    counts = []
    for path_of, status in ((good, run(good, "--summary").returncode), (bad, 2)):
        done = run(path_of, "--parquet", path)
        assert (done.returncode, done.stderr.decode().count(told)) == (status, status // 2)
        counts.append(pq.read_table(path).num_rows)
    assert len(whole.packets) == counts[0] > counts[1] > counts[0] - 30
    for view in ("--summary", "--flows", "--html=-"):
        done = run(bad, view)
        assert (done.returncode, done.stderr.decode().count(told)) == (2, 1)
    lines = [json.loads(line) for line in run(bad, "--json").stdout.splitlines()]
    assert sum("type" in line for line in lines) == counts[1]
    assert main(["lint", str(bad), "-q"]) == 2


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--summary"], "--summary and --parquet are different views"),
        (["--filter", "qos=1"], "--filter does not go with it"),
        (["--arrow", "x"], "give one of them"),
    ],
)
def test_flags_that_a_table_cannot_honour_are_refused(
    flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["decode", str(QOS2), "--parquet", str(tmp_path / "x"), *flags]) == 2
    assert said in capsys.readouterr().err


def test_text_is_refused_because_it_is_not_a_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "c000", "--parquet", str(tmp_path / "x")]) == 2
    assert "is not a capture; --parquet reads captures only" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
