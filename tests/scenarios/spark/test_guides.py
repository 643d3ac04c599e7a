"""The snippets on tables and Spark in the guides run, and their tables match the program."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from mqttpub.cli.main import program
from mqttpub.cli.pipeline.run import STARTS
from mqttpub.cli.screen import screen_flags
from mqttpub.columns.schema import CONNECTIONS, PACKETS, documentation
from mqttpub.spark.formats import capture_reader, subscribe
from mqttpub.spark.formats import publish as publish_sink
from tests.build.brokers import Restricted
from tests.build.plant import capture
from tests.documents import ROOT, between, blocks, guide, replace_between, section
from tests.paths import PLANT
from tests.spark.running import STAGES

PIPELINE, SPARK, CLUSTERS, TABLES = map(guide, ("pipeline", "spark", "clusters", "tables"))
LONGEST = 600
"""Seconds that a line may take on a busy machine."""
SECONDS = re.compile(r"\d+\.\d s:")
ONE_BY_ONE = """
import json, sys
from mqttpub.spark.session.session import Settings, session
first, *others = json.load(sys.stdin)
exec(first, {})
with session(Settings("local[2]")) as spark:
    names = {"spark": spark}
    for text in others:
        exec(text, names)
"""
INSTALLED = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def names(table: str, *, kind: str = "") -> set[str]:
    """Return what stands in code in the first column of a table, of all rows or of those of a kind."""
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    return {name for first, second in rows if kind in second for name in re.findall(r"`([^`]+)`", first)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that has the captures where a checkout has them."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    return tmp_path


def test_the_columns_are_those_of_the_schema(update: bool) -> None:
    if update:
        replace_between(TABLES, "columns", documentation())
    assert between(TABLES, "columns") == documentation()


def views() -> Any:
    """Return a connection to DuckDB with the views of the guide, of tables with two messages and two sessions."""
    import duckdb
    import pyarrow as pa

    wants = [{"qos": 2}] * 2
    seen: list[tuple[str, str, str, int, dict[str, Any]]] = [
        ("pub", "client", "PUBLISH", 0, {"resolved_topic": "a", "payload": b"1"}),
        ("one", "server", "PUBLISH", 1, {"resolved_topic": "a", "payload": b"1"}),
        ("one", "server", "PUBLISH", 3, {"resolved_topic": "a", "payload": b"1"}),
        ("two", "server", "PUBLISH", 2, {"resolved_topic": "a", "payload": b"1"}),
        ("pub", "client", "PUBLISH", 20, {"resolved_topic": "a", "payload": b"2"}),
        ("two", "server", "PUBLISH", 31, {"resolved_topic": "a", "payload": b"2"}),
        (
            "one",
            "client",
            "SUBSCRIBE",
            40,
            {"packet_id": 1, "filters": ["x", "y"], "subscription_options": wants},
        ),
        ("one", "server", "SUBACK", 41, {"packet_id": 1, "reason_codes": [1, 135]}),
        ("one", "client", "UNSUBSCRIBE", 42, {"packet_id": 1, "filters": ["x"]}),
        ("one", "server", "UNSUBACK", 43, {"packet_id": 1, "reason_codes": [17]}),
    ]
    packets = [
        {"capture": "c", "connection": client, "client_id": client, "direction": direction, "type": type, "frame": time,
         "pos": 0, "time": time * 1_000_000, **more}
        for client, direction, type, time, more in seen
    ]  # fmt: skip
    connections = [
        {"client_id": "one", "server_address": "s", "begin_time": begin, "end_time": begin + 1,
         "session_present": present, "packets": 2, "connack_reason_code": code, "clean_start": not present}
        for begin, present, code in ((0, False, 0), (10, True, 0), (20, False, 5), (30, False, 0))
    ]  # fmt: skip
    base = duckdb.connect()
    base.register("packets", pa.Table.from_pylist(packets, PACKETS))
    base.register("connections", pa.Table.from_pylist(connections, CONNECTIONS))
    for view in blocks(TABLES.read_text(), "sql"):
        if view.startswith("CREATE"):
            base.execute(view)
    return base


def test_the_views_of_messages_subscriptions_and_sessions() -> None:
    base = views()
    assert base.sql("SELECT payload_bytes, publisher, subscriber, epoch_us(latency), copy FROM messages "
                    "ORDER BY published_at, subscriber, copy").fetchall() == [
        (None, "pub", "one", 1_000_000, 1), (None, "pub", "one", 3_000_000, 2), (None, "pub", "two", 2_000_000, 1),
        (None, "pub", None, None, None),
    ]  # fmt: skip
    assert base.sql("SELECT filter, change, requested_qos, reason_code, epoch(since), epoch(until) FROM subscriptions "
                    "ORDER BY since, filter").fetchall() == [
        ("x", "SUBSCRIBE", 2, 1, 40, 42), ("y", "SUBSCRIBE", 2, 135, 40, None),
        ("x", "UNSUBSCRIBE", None, 17, 42, None),
    ]  # fmt: skip
    assert base.sql("SELECT session, epoch_us(since), epoch_us(until), connections FROM sessions "
                    "ORDER BY session").fetchall() == [(1, 0, 11, 2), (2, 30, 31, 1)]  # fmt: skip


def test_the_flags_are_those_of_the_program() -> None:
    table = section(PIPELINE, "Run it")
    flags = {name.split()[0] for name in names(table) if name.startswith("--")}
    command = program.get_command(None, "pipeline")  # type: ignore[arg-type]
    assert command
    options = [each for each in command.params if isinstance(each, click.Option) and each.name != "help"]
    of_all_commands = {name for option in screen_flags() for name in option.opts} | {"--help-all"}
    assert flags == {name for option in options for name in option.opts if name.startswith("--")} - of_all_commands - {
        "--help-all"
    }


@pytest.mark.parametrize(
    ("format", "uses"),
    [
        ("mqtt_capture", {"table": capture_reader.OPTIONS}),
        ("mqtt", {"publish": publish_sink.OPTIONS, "subscribe": subscribe.OPTIONS}),
    ],
)
def test_the_options_are_those_of_the_formats(format: str, uses: dict[str, frozenset[str]]) -> None:
    table = between(SPARK, f"options of {format}")
    for use, options in uses.items():
        assert names(table, kind="both") | names(table, kind=use) == options


def test_an_option_for_both_is_not_for_one() -> None:
    table = between(SPARK, "options of mqtt")
    assert names(table, kind="both") == publish_sink.OPTIONS & subscribe.OPTIONS - {"qos"}


@pytest.mark.long
def test_nothing_but_python_is_needed(tmp_path: Path, update: bool) -> None:
    """The line installs into an environment of its own, from a copy of what a checkout has, and no Java is found."""
    copy, programs = tmp_path / "checkout", tmp_path / "bin"
    ignore = shutil.ignore_patterns("__pycache__", ".*", "build", "*.egg-info", "tables")
    shutil.copytree(ROOT, copy, ignore=ignore)
    programs.mkdir()
    # A link to the program itself, as one to a virtual environment would lead there.
    (programs / "python3").symlink_to(Path(sys.base_prefix, "bin", "python3"))
    line, screen = blocks(PIPELINE.read_text(), "sh", "text")[:2]
    command = ["env", "-i", f"PATH={programs}", f"HOME={tmp_path}", "/bin/bash", "-c", line]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stderr
    shows(screen, done.stdout, update)
    assert without_stages(done.stderr) == f"mqttpub: {STARTS}\n"


@pytest.mark.long
def test_the_lines_that_resume(folder: Path, update: bool) -> None:
    lines, screen = blocks(section(PIPELINE, "Run it"), "sh", "text")
    shows(screen, ran(lines, folder), update)


@pytest.mark.long
def test_the_lines_that_keep_the_classes(folder: Path) -> None:
    (lines,) = blocks(section(PIPELINE, "With and without Spark"), "sh")
    assert ran(lines, folder).count(" packets, ") == 2
    assert (folder / "spark.jsa").stat().st_size > 1_000_000


@pytest.mark.long
def test_the_report_and_its_summary(folder: Path, update: bool) -> None:
    lines, screen = blocks(section(PIPELINE, "The report"), "sh", "text")
    shows(screen, ran(lines, folder), update)
    assert "</html>" in (folder / "morning.html").read_text()


@pytest.mark.long
def test_the_summary_of_payloads_and_their_keys(folder: Path, update: bool) -> None:
    lines, screen, sql, answer = blocks(section(PIPELINE, "Payloads"), "sh", "text", "sql")
    shows(screen, ran(lines, folder), update)
    view = 'spark.read.parquet("plant/packets").createOrReplaceTempView("packets")'
    assert python(["", f"{view}\nspark.sql({sql!r}).show(truncate=False)"], folder).rstrip() == answer.rstrip()


def test_the_capture_of_the_plant_follows_from_its_builder() -> None:
    assert gzip.decompress(PLANT.read_bytes()) == capture()


def shows(screen: str, printed: str, update: bool) -> None:
    """Compare a screen of the guide with what was printed, times aside, or put that in its place."""
    if update:
        PIPELINE.write_text(PIPELINE.read_text().replace(f"```text\n{screen}```", f"```text\n{printed}```", 1))
        return
    assert SECONDS.sub("", printed) == SECONDS.sub("", screen)


def ran(lines: str, folder: Path) -> str:
    """Run lines in a shell and return what they print."""
    env = {**INSTALLED, "HOME": str(folder)}
    done = subprocess.run(
        ["/bin/bash", "-ec", lines], cwd=folder, env=env, timeout=LONGEST, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return without_stages(done.stdout)


def without_stages(said: str) -> str:
    """Return lines without those that say what a run is doing, as one on a busy machine does."""
    return re.sub(rf"(?m)^mqttpub: ({'|'.join(STAGES)})(: .*)?\n", "", said)


def python(texts: list[str], folder: Path) -> str:
    """Run snippets one after the other, the first by itself, the others in one session; return what they print."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE], input=json.dumps(texts), cwd=folder, env={**INSTALLED, "HOME": str(folder)},
        timeout=LONGEST, check=False, text=True, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.broker
def test_the_snippets(spark_broker: Restricted, folder: Path) -> None:
    install, *_ = blocks(PIPELINE.read_text(), "sh")
    ran(install.rpartition(".venv/bin/")[2], folder)
    for title in ("Read the tables", "Delta Lake and Apache Iceberg", "Questions about operation"):
        (others,) = blocks(section(PIPELINE, title), "sh")
        ran(others, folder)
    snippets = [text for path in (PIPELINE, SPARK) for text in blocks(path.read_text(), "python")]
    texts = [text.replace("1883", str(spark_broker.port)) for text in snippets]
    shown = python([*texts, "print('all', packets.count())"], folder)
    for words in (
        "|  CONNECT|   49|",
        "complete      1431",
        "\n86 10\n",
        "\nPUBLISH        16\n",
        "|    pub-5|   14|",
        "|site/7/set|   21.5|  true|",
        "|PUBLISH|    a|  true|",
        "\nall 54\n",
    ):
        assert words in shown, shown


@pytest.mark.long
def test_the_manifest_lists_exactly_the_files_of_the_folder(folder: Path) -> None:
    ran("mqttpub pipeline tests/captures --out tables --partition-by type", folder)
    snippet = next(text for text in blocks(section(PIPELINE, "Read the tables"), "python") if "_manifest" in text)
    check = "print(packets.count(), spark.read.parquet('tables/packets').count(), 'type' in packets.columns)"
    assert python(["", snippet, check], folder) == "86 86 True\n"


def test_each_block_is_run_by_some_test() -> None:
    """A new block needs a test, or a place among those that were run by hand."""
    counted = {
        "Run it": 2, "With and without Spark": 1, "Follow captures that grow": 2, "The report": 2, "Read the tables": 1,
        "Delta Lake and Apache Iceberg": 1, "Questions": 10, "Payloads": 4, "Questions about operation": 15,
    }  # fmt: skip
    assert {title: len(blocks(section(PIPELINE, title), "sh", "text", "sql")) for title in counted} == counted
    others = {path.stem: len(blocks(path.read_text(), "sh", "text", "sql")) for path in (PIPELINE, SPARK, CLUSTERS)}
    assert others == {"pipeline": 2 + sum(counted.values()), "spark": 0, "clusters": 4}
