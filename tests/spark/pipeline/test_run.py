"""Tables are the same whatever the files, tasks and runs; a broken source is reported, and nothing else is lost."""

import csv
import gzip
import json
import os
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

from mqttpub.cli.main import program
from mqttpub.columns.schema import TABLES, digest
from mqttpub.spark.pipeline.engine import Failed
from mqttpub.spark.pipeline.engine.local import LocalEngine
from mqttpub.spark.pipeline.manifest import MANIFEST, KnownSources, Manifest, OutputRefused
from mqttpub.spark.pipeline.row_filter import RowFilter, matcher
from mqttpub.spark.pipeline.run import PipelineRequest, run
from tests.build.certificates import Authority
from tests.build.fleet import capture, rotated
from tests.build.frames import Wire, pcap, records
from tests.build.pieces import CLIENT, CONNACKS, CONNECTS, PINGREQ, SERVER, V5, publish
from tests.build.tls_captures import Captured, TlsScript
from tests.columns.test_read import record_places
from tests.paths import CAPTURES, MORNING
from tests.spark.running import Rows, alone, piped, tables

__all__ = ["alone"]

pytestmark = pytest.mark.usefixtures("alone")
SAME = (
    "begin_time", "end_time", "sender", "version", "kind", "packet_id", "qos", "topic", "payload_bytes", "outcome",
    "reason_code", "dups", "resumed", "latency_us",
)  # fmt: skip
"""What `decode --flows --json` and the table of exchanges both have."""
OTHERWISE = {"begin_time": "begin", "end_time": "end", "payload_bytes": "payload_length"}
"""The names of some of these in JSON."""


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a rotated capture."""
    folder = tmp_path_factory.mktemp("ring")
    rotated(capture(1), folder, 5)
    return folder


@pytest.mark.parametrize("path", sorted(CAPTURES.iterdir()), ids=lambda path: path.stem)
def test_packets_are_those_of_decode(path: Path, tmp_path: Path) -> None:
    piped(path, out=tmp_path / "out")
    assert_packets_of_decode(tables(tmp_path / "out")["packets"], path)


def assert_packets_of_decode(packets: Rows, path: Path, *words: str) -> None:
    lines = CliRunner().invoke(program, ["decode", "--json", str(path), *words]).stdout.splitlines()
    expected = [entry for line in lines if "fields" in (entry := json.loads(line))]
    assert expected
    rows = sorted(packets, key=lambda row: (row["frame"], row["pos"]))
    expected.sort(key=lambda entry: (entry["record"], entry["offset"]))
    assert len(rows) == len(expected)
    for row, entry in zip(rows, expected, strict=True):
        values = {field["path"].split(".", 1)[1]: field["value"] for field in entry["fields"]}
        assert (row["capture"], row["frame"], row["pos"]) == (str(path), entry["record"], entry["offset"])
        assert (row["direction"], row["type"], row["version"]) == (entry["direction"], entry["type"], entry["version"])
        assert row["packet_bytes"] == entry["length"]
        assert row["time"] == datetime.fromisoformat(entry["time"])
        for name in ("topic", "packet_id", "qos", "dup", "retain", "keep_alive", "reason_code", "session_present"):
            assert row[name] == values.get(name), (name, entry)
        if "properties" in entry:
            assert [each["id"] for each in row["properties"]] == [each["id"] for each in entry["properties"]]


@pytest.mark.parametrize("path", [*sorted(CAPTURES.iterdir()), MORNING], ids=lambda path: path.stem)
def test_exchanges_are_those_of_decode(path: Path, tmp_path: Path) -> None:
    piped(path, out=tmp_path / "out")
    lines = CliRunner().invoke(program, ["decode", "--flows", "--json", str(path)]).stdout.splitlines()
    expected = [entry for line in lines if (entry := json.loads(line)).get("outcome", "sent") != "sent"]
    rows = tables(tmp_path / "out")["exchanges"]
    for row in rows:
        for name in ("begin_time", "end_time"):
            row[name] = row[name].isoformat(timespec="microseconds").replace("+00:00", "Z")
    for entry in expected:
        # Tables have microseconds; finer digits are cut.
        entry |= {name: f"{entry[name][:26]}Z".replace("ZZ", "Z") for name in ("begin", "end")}
    assert expected
    assert sorted(str([row[name] for name in SAME]) for row in rows) == sorted(
        str([entry[OTHERWISE.get(name, name)] for name in SAME]) for entry in expected
    )


@pytest.mark.long
@pytest.mark.parametrize("partitions", [1, 2, 4, 16])
@pytest.mark.parametrize("files", [1, 4])
def test_tables_do_not_depend_on_tasks(partitions: int, files: int, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    rotated(capture(2), folder, files)
    piped(folder, out=tmp_path / "one", partitions=1, lint=True)
    piped(folder, out=tmp_path / "many", partitions=partitions, lint=True)
    assert tables(tmp_path / "many") == tables(tmp_path / "one")


def test_rotated_files_are_one_capture(ring: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(capture(1))
    piped(whole, out=tmp_path / "one")
    piped(ring, out=tmp_path / "five")
    left_out = ("capture", "frame", "first_frame", "last_frame")
    one, five = (
        {
            name: sorted(repr({key: value for key, value in row.items() if key not in left_out}) for row in rows)
            for name, rows in tables(tmp_path / each).items()
        }
        for each in ("one", "five")
    )
    assert five == one
    frames = [(row["capture"], row["frame"]) for row in tables(tmp_path / "five")["packets"]]
    assert len({name for name, _ in frames}) == 5
    assert min(frame for _, frame in frames) >= 1


def test_a_resumed_run_reads_only_new_files(ring: Path, tmp_path: Path) -> None:
    files = sorted(ring.iterdir())
    piped(*files, out=tmp_path / "once")
    moved = tmp_path / "moved"
    moved.mkdir()
    result = piped(*files[:2], out=tmp_path / "out", mode="resume")
    assert (result.read, result.known) == (2, 0)
    for path in files[:2]:
        # A file that was read is known by what it holds; the rest of it need not be readable any more.
        (moved / f"old-{path.name}").write_bytes(path.read_bytes())
    for count, path in enumerate(files[2:], 2):
        result = piped(moved, path, out=tmp_path / "out", mode="resume")
        assert (result.read, result.known) == (1, count)
        (moved / f"old-{path.name}").write_bytes(path.read_bytes())
    assert tables(tmp_path / "out") == tables(tmp_path / "once")


@pytest.mark.long
def test_a_file_that_grew_is_read_from_where_it_ended(ring: Path, tmp_path: Path) -> None:
    path = tmp_path / "grows.pcap"
    data = sorted(ring.iterdir())[0].read_bytes()
    path.write_bytes(data)
    piped(path, out=tmp_path / "once")
    for size in (24, 500, len(data) // 2, len(data) // 2 + 7, len(data)):
        path.write_bytes(data[:size])
        piped(path, out=tmp_path / "out", mode="resume")
    assert tables(tmp_path / "out") == tables(tmp_path / "once")


def test_append_takes_nothing_twice(ring: Path, tmp_path: Path) -> None:
    first = sorted(ring.iterdir())[0]
    piped(first, out=tmp_path / "out")
    before = tables(tmp_path / "out")
    result = piped(first, out=tmp_path / "out", mode="append")
    assert (result.read, result.known) == (0, 1)
    assert tables(tmp_path / "out") == before
    with pytest.raises(OutputRefused, match="already holds tables"):
        piped(first, out=tmp_path / "out")


# faults


def test_broken_files_are_reported_and_the_rest_is_read(ring: Path, tmp_path: Path) -> None:
    good = sorted(ring.iterdir())
    folder = tmp_path / "in"
    folder.mkdir()
    cut = good[-1].read_bytes()
    for path in good[:-1]:
        (folder / path.name).write_bytes(path.read_bytes())
    damaged = bytearray(good[1].read_bytes())
    middle = [*record_places(damaged)][100]
    damaged[middle : middle + 16] = b"\xff" * 16
    (folder / good[1].name).write_bytes(damaged)
    (folder / good[-1].name).write_bytes(cut[:-5])
    (folder / "z-zero").write_bytes(b"")
    (folder / "z-noise").write_bytes(bytes(range(256)))
    (folder / "z-half.gz").write_bytes(gzip.compress(good[0].read_bytes())[:100])
    (folder / "z-gone").symlink_to(folder / "nowhere")
    result = piped(folder, out=tmp_path / "out")
    problems = {Path(name).name: problem for name, problem in result.problems}
    assert problems.keys() == {good[1].name, good[-1].name, "z-zero", "z-noise", "z-half.gz", "z-gone"}
    assert all(problems.values())
    assert problems[good[1].name].startswith(f"offset {middle}: record 101 claims 4294967295 bytes")
    found = {Path(taken.name).name: taken.problem for taken in KnownSources.in_folder(tmp_path / "out")}
    assert {name: problem for name, problem in found.items() if problem} == problems
    piped(*good, out=tmp_path / "whole")
    packets, all_packets = (
        [(row["connection"], row["direction"], row["pos"]) for row in tables(tmp_path / each)["packets"]]
        for each in ("out", "whole")
    )
    assert len(set(packets)) == len(packets)
    assert set(packets) < set(all_packets)
    assert len(all_packets) - len(packets) <= 6


@pytest.mark.long
def test_a_run_that_fails_leaves_nothing_and_can_be_repeated(
    ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(engine: LocalEngine) -> None:
        work(engine)
        raise KeyboardInterrupt

    work = LocalEngine.run
    with monkeypatch.context() as patch:
        patch.setattr(LocalEngine, "run", killed)
        with pytest.raises(KeyboardInterrupt):
            piped(ring, out=tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["_lock"]
    piped(ring, out=tmp_path / "out")
    piped(ring, out=tmp_path / "other")
    assert tables(tmp_path / "out") == tables(tmp_path / "other")


@pytest.mark.long
def test_a_task_that_runs_twice_counts_once(ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(ring, out=tmp_path / "once")
    work = LocalEngine.run
    with monkeypatch.context() as patch:
        patch.setattr(LocalEngine, "run", lambda engine: [work(engine), work(engine)][1])
        piped(ring, out=tmp_path / "twice")
    assert tables(tmp_path / "twice") == tables(tmp_path / "once")


# what is wanted


def test_other_formats_hold_the_same(tmp_path: Path) -> None:
    path = CAPTURES / "every-type-and-property.pcapng"
    for form in ("parquet", "csv", "json"):
        piped(path, out=tmp_path / form, file_format=form, partitions=1)
    rows = tables(tmp_path / "parquet")["packets"]
    (lines,) = [file.read_text().splitlines() for file in (tmp_path / "json" / "packets").iterdir()]
    (sheet,) = [
        list(csv.DictReader(file.read_text().splitlines())) for file in (tmp_path / "csv" / "packets").iterdir()
    ]
    told = sorted((json.loads(line) for line in lines), key=lambda row: (row["frame"], row["pos"]))
    sheet.sort(key=lambda row: (int(row["frame"]), int(row["pos"])))
    rows.sort(key=lambda row: (row["frame"], row["pos"]))
    assert len(rows) == len(told) == len(sheet)
    for row, line, cells in zip(rows, told, sheet, strict=True):
        assert list(line) == list(cells) == [column.name for column in TABLES["packets"]]
        assert line["payload"] == (None if row["payload"] is None else row["payload"].hex())
        assert datetime.fromisoformat(line["time"]) == datetime.fromisoformat(cells["time"]) == row["time"]
        assert cells["type"] == line["type"] == row["type"]
        assert json.loads(cells["properties"] or "null") == line["properties"] == row["properties"]


@pytest.mark.long
def test_tables_are_divided_into_folders(ring: Path, tmp_path: Path) -> None:
    import pyarrow.dataset as ds

    piped(ring, out=tmp_path / "plain")
    piped(ring, out=tmp_path / "divided", partition_by=("date", "client_id", "type"))
    found = ds.dataset(tmp_path / "divided" / "packets", partitioning="hive").to_table()
    plain = tables(tmp_path / "plain")["packets"]
    assert sorted(zip(found["client_id"].to_pylist(), found["type"].to_pylist(), strict=True)) == sorted(
        (row["client_id"], row["type"]) for row in plain
    )
    assert set(found["date"].to_pylist()) == {row["time"].strftime("%Y-%m-%d") for row in plain}


@pytest.mark.long
def test_only_some_rows_and_no_payloads(ring: Path, tmp_path: Path) -> None:
    piped(ring, out=tmp_path / "all")
    rows = tables(tmp_path / "all")["packets"]
    times = sorted(row["time"] for row in rows)
    since, until = times[len(times) // 3], times[len(times) // 2]
    micros = [round(each.timestamp() * 1_000_000) for each in (since, until)]
    piped(ring, out=tmp_path / "some", row_filter=RowFilter(*micros))
    assert tables(tmp_path / "some")["packets"] == [row for row in rows if since <= row["time"] < until]
    piped(ring, out=tmp_path / "topic", row_filter=RowFilter(topics=("from/1/+", "from/2/3"), payload="hash"))
    wanted = [row for row in rows if (row["topic"] or "").startswith("from/1/") or row["topic"] == "from/2/3"]
    assert tables(tmp_path / "topic")["packets"] == sorted(
        ({**row, "payload": sha256(row["payload"]).digest()} for row in wanted), key=repr
    )
    piped(ring, out=tmp_path / "drop", row_filter=RowFilter(payload="drop"))
    assert {row["payload"] for row in tables(tmp_path / "drop")["packets"]} == {None}


@pytest.mark.parametrize(
    ("filter", "topic", "expected"),
    [("a/+", "a/b", True), ("a/+", "a/b/c", False), ("a/#", "a", True), ("#", "$SYS/x", False),
     ("+/x", "$SYS/x", False), ("$SYS/#", "$SYS/x", True), ("a", None, False), ("#", "", True)],
)  # fmt: skip
def test_topic_filters(filter: str, topic: str | None, expected: bool) -> None:
    assert matcher([filter])(topic) is expected


# texts


def test_texts_are_sources_too(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    capture_file = CAPTURES / "qos2-mosquitto.pcapng"
    runner = CliRunner()
    (folder / "a.jsonl").write_text(runner.invoke(program, ["decode", "--json", str(capture_file)]).stdout)
    (folder / "b.txt").write_text("30 05 00 01 61 68 69\n\nc0 00\n")
    result = piped(folder, out=tmp_path / "out", partitions=4)
    assert result.problems == []
    piped(capture_file, out=tmp_path / "capture")
    found = tables(tmp_path / "out")["packets"]
    shown = [(row["type"], row["direction"], row["topic"]) for row in found if row["capture"].endswith("jsonl")]
    expected = tables(tmp_path / "capture")["packets"]
    assert sorted(map(repr, shown)) == sorted(repr((row["type"], row["direction"], row["topic"])) for row in expected)
    assert sorted(row["type"] for row in found if row["capture"].endswith("txt")) == ["PINGREQ", "PUBLISH"]


def test_the_manifest_describes_the_run(ring: Path, tmp_path: Path) -> None:
    before = datetime.now(UTC)
    result = run(PipelineRequest((str(ring),), tmp_path / "out", partitions=2))
    manifest = Manifest.load(tmp_path / "out" / MANIFEST)
    (about,) = manifest.runs
    assert about["run"] == result.run
    assert before <= datetime.fromisoformat(about["begun"]) <= datetime.fromisoformat(about["ended"])
    assert manifest.rows() == result.rows
    known = KnownSources.in_folder(tmp_path / "out")
    assert [Path(taken.name).name for taken in known] == [path.name for path in sorted(ring.iterdir())]
    assert all(taken.records and not taken.problem for taken in known)
    for part in manifest.parts:
        assert (tmp_path / "out" / part.path).stat().st_size == part.bytes


@pytest.mark.parametrize("mode", ["append", "resume"])
def test_tables_with_other_columns_are_not_added_to(mode: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    piped(MORNING, out=out)
    manifest = out / MANIFEST
    written = json.loads(manifest.read_text())
    # Versions before the digest have none, and every other version has another one.
    for columns in ({}, {"columns": "0123456789abcdef"}):
        old = {name: value for name, value in written.items() if name != "columns"} | columns
        manifest.write_text(json.dumps(old))
        with pytest.raises(OutputRefused, match=r"have other columns .* with --mode overwrite or into a new folder$"):
            piped(MORNING, out=out, mode=mode)
        assert json.loads(manifest.read_text()) == old
    piped(MORNING, out=out, mode="overwrite")
    assert json.loads(manifest.read_text())["columns"] == written["columns"] == digest()


# TLS


@pytest.fixture(scope="module", params=["TLSv1_2", "TLSv1_3"])
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """Write a capture of a connection on TLS in small segments, one of which was sent twice, and of one without."""
    folder = tmp_path_factory.mktemp("secured")
    talk = TlsScript(folder, Authority(folder), maximum=request.param).say(CLIENT, CONNECTS[V5])
    talk.say(SERVER, CONNACKS[V5]).say(CLIENT, publish(bytes(100_000)), PINGREQ[:1]).say(CLIENT, PINGREQ[1:], publish())
    packets = list(talk.packets(1400))
    packets.insert(20, packets[19])
    clear = Wire(port=50_001)
    packets[12:12] = [*clear.opening(), clear.packet(0, 0, CONNECTS[V5]), clear.packet(0, len(CONNECTS[V5]), PINGREQ)]
    path = folder / "capture.pcap"
    path.write_bytes(pcap(records(packets)))
    return Captured(path, talk.keylog)


@pytest.mark.tshark
@pytest.mark.slow
def test_what_tls_carries_is_that_of_decode(secured: Captured, tmp_path: Path) -> None:
    piped(secured.path, out=tmp_path / "out", key_log=str(secured.keylog))
    found = tables(tmp_path / "out")
    assert_packets_of_decode(found["packets"], secured.path, "--key-log", str(secured.keylog))
    closed = {row["client_port"]: (row["gaps"], row["closed_how"], row["packets"]) for row in found["connections"]}
    assert closed == {50_000: (0, "FIN", 5), 50_001: (0, "end", 2)}
    secrets = [line.split()[2] for line in secured.keylog.read_text().splitlines() if line[0] != "#"]
    kept = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert not [each for each in secrets if each.encode() in kept or bytes.fromhex(each) in kept]


@pytest.mark.tshark
@pytest.mark.slow
def test_a_capture_with_tls_grows(secured: Captured, tmp_path: Path) -> None:
    given = {"key_log": str(secured.keylog), "mode": "resume"}
    data, path = secured.path.read_bytes(), tmp_path / "grows.pcap"
    for share in (2, 20, 50, 99, 100):
        path.write_bytes(data[: len(data) * share // 100])
        piped(path, out=tmp_path / "out", **given)
    piped(path, out=tmp_path / "once", **given)
    assert tables(tmp_path / "out") == tables(tmp_path / "once")
    with pytest.raises(OutputRefused, match="were made with --key-log, and new rows must match them"):
        piped(path, out=tmp_path / "out", mode="resume")


@pytest.mark.parametrize(
    ("lacks", "said"), [("keys", "cannot open the key log '.*': No such file"), ("tshark", "needs the program tshark")]
)
def test_tls_that_a_task_cannot_read_ends_the_run(
    lacks: str, said: str, ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys.log"
    if lacks == "tshark":
        keys.write_text("")
        monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Failed, match=said):
        piped(ring, out=tmp_path / "out", key_log=str(keys))
    assert os.listdir(tmp_path / "out") == ["_lock"]
