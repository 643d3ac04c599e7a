"""The main journeys on a real Spark, with one session for all of them.

These few are in every run of the tests, all others that start Spark only where `long` is asked for. Among them
are the questions of the pipeline guide on the capture that ships; `--update` rewrites their answers.
"""

import contextlib
import gzip
import io
import json
import re
from collections import Counter
from itertools import groupby
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

import pytest

from mqttpub.cli.main import main
from mqttpub.codec.encode import encode
from mqttpub.columns.schema import TABLES
from mqttpub.spark import register, stream
from mqttpub.spark.formats.rows import NAME
from mqttpub.spark.pipeline.run import PipelineResult
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.properties import TOPIC_ALIAS
from mqttpub.spec.versions import Version
from tests.build.brokers import Restricted
from tests.build.fleet import capture as fleet
from tests.build.fleet import rotated
from tests.build.morning import FLEET, capture
from tests.build.operations import shipped
from tests.documents import ROOT, guide
from tests.paths import AFTERNOON, MORNING
from tests.spark.broker_clients import listening, publish
from tests.spark.running import collect, piped, tables

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PIPELINE = guide("pipeline")
QUESTION = re.compile(r"### (?P<asked>[^\n]+\?)\n.*?```sql\n(?P<sql>.*?)```\n\n```text\n(?P<screen>.*?)```", re.DOTALL)


def questions() -> list[re.Match[str]]:
    """Return the questions of the pipeline guide, each with its SQL and the screen of the answer."""
    return list(QUESTION.finditer(PIPELINE.read_text()))


class Morning(NamedTuple):
    """The capture that ships, after the pipeline has read it."""

    out: Path
    page: str
    told: dict[str, Any]
    """What `--json` printed."""


def printed(*words: str | Path) -> Any:
    """Run the program, with the session that there is, and return the JSON that it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert main([*map(str, words), "--json", "--master", "local[2]"]) == 0
    return json.loads(shown.getvalue())


def without_spark(*sources: Path, out: Path, **more: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the tables that one process makes by itself."""
    piped(*sources, out=out, on_spark=False, **more)
    return tables(out)


@pytest.fixture(scope="module")
def morning(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Morning:
    """Run the pipeline, with everything that it can tell."""
    folder = tmp_path_factory.mktemp("morning")
    out, page = folder / "tables", folder / "morning.html"
    told = printed("pipeline", MORNING, "--out", out, "--lint", "--report", page, "--partitions", "2")
    return Morning(out, page.read_text(), told)


@pytest.fixture(scope="module")
def asked(spark: Any, morning: Morning) -> Any:
    """Return a session that knows the tables of the capture by name."""
    for name in TABLES:
        spark.read.parquet(str(morning.out / name)).createOrReplaceTempView(name)
    return spark


@pytest.fixture(scope="module")
def asked_later(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a session of its own that knows the tables of the other capture by the same names."""
    out = tmp_path_factory.mktemp("afternoon") / "tables"
    without_spark(AFTERNOON, out=out)
    session = spark.newSession()
    for name in ("packets", "exchanges", "connections"):
        session.read.parquet(str(out / name)).createOrReplaceTempView(name)
    return session


# the pipeline


def test_the_tables_are_those_of_one_process(morning: Morning, tmp_path: Path) -> None:
    assert tables(morning.out) == without_spark(MORNING, out=tmp_path / "alone", lint=True, partitions=1)
    assert morning.told["rows"] == {name: len(rows) for name, rows in tables(morning.out).items()}


def test_the_summary_and_the_page_agree_with_the_tables(morning: Morning) -> None:
    rows, told = tables(morning.out), morning.told["summary"]
    assert (told["packets"], told["bytes"]) == (
        len(rows["packets"]),
        sum(row["packet_bytes"] for row in rows["packets"]),
    )
    broken = Counter(row["statement"] for row in rows["findings"])
    assert {fault["statement"]: fault["times"] for fault in told["findings"]} == broken
    assert {row["who"] for row in told["clients"]["bytes"]} <= {device.name for device in FLEET}
    assert all(name in morning.page for name in (*broken, *(device.name for device in FLEET)))
    assert morning.page.endswith("</html>\n")


def test_a_resumed_run_continues_where_the_previous_one_ended(spark: Any, tmp_path: Path) -> None:
    files = rotated(fleet(5, clients=6, messages=12), tmp_path / "ring", 4)
    words: list[str | Path] = ["--out", tmp_path / "out", "--resume", "--no-summary"]
    told = [printed("pipeline", *files[:count], *words) for count in (2, 4, 4)]
    assert [(each["read"], each["known"]) for each in told] == [(2, 0), (2, 2), (0, 4)]
    assert tables(tmp_path / "out") == without_spark(*files, out=tmp_path / "once")


# the questions of the pipeline guide


def answer(spark: Any, sql: str) -> str:
    """Return the screen that Spark shows."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        spark.sql(sql).show(truncate=False)
    return f"{shown.getvalue().rstrip()}\n"


def test_the_capture_that_ships_follows_from_its_seed() -> None:
    assert gzip.decompress(MORNING.read_bytes()) == capture()
    assert MORNING.stat().st_size < 100_000


def test_the_other_capture_that_ships_follows_from_its_seed() -> None:
    assert gzip.decompress(AFTERNOON.read_bytes()) == shipped()
    assert AFTERNOON.stat().st_size < 100_000


@pytest.mark.parametrize("number", range(len(questions())), ids=lambda number: str(questions()[number]["asked"]))
def test_an_answer(number: int, asked: Any, asked_later: Any, update: bool) -> None:
    question = questions()[number]
    later = question.start() > PIPELINE.read_text().index("\n## Questions about operation\n")
    shown = answer(asked_later if later else asked, question["sql"])
    if update:
        start, end = question.span("screen")
        text = PIPELINE.read_text()
        PIPELINE.write_text(text[:start] + shown + text[end:])
        return
    assert shown == question["screen"]


def test_answers_are_those_that_the_capture_was_made_for(asked: Any) -> None:
    worst, open_ones, _, _, broken = (asked.sql(each["sql"]).collect() for each in questions()[:5])
    bad = sorted(FLEET, key=lambda device: -device.lost)[:2]
    assert [row.client_id for row in worst[:2]] == [device.name for device in bad]
    assert [row.dups for row in worst[2:]] == [0, 0, 0]
    left = {"publish": 3, "release": 1, "subscribe": 1}
    expected = {device.name: left[device.ends] for device in FLEET if device.ends}
    assert Counter(row.client_id for row in open_ones) == expected
    assert {row.client_id for row in broken} == {device.name for device in FLEET if device.habit}
    assert {row.client_id for row in broken if row.at_fault == "server"} == {"kiosk-5"}


def test_the_savings_of_aliases_are_right(asked: Any) -> None:
    rows = asked.sql(
        "SELECT topic, connection, payload, qos, packet_id FROM packets "
        "WHERE type = 'PUBLISH' AND version = '5.0' AND direction = 'client' ORDER BY topic, connection, pos"
    ).collect()
    saved: Counter[str] = Counter()
    for (topic, _), messages in groupby(rows, key=lambda row: (row.topic, row.connection)):
        sizes = [sizes_of(row, first=not index) for index, row in enumerate(messages)]
        gain = sum(size - aliased for size, aliased in sizes)
        saved[topic] += max(gain, 0)
    told = asked.sql(questions()[3]["sql"]).collect()
    assert [(row.topic, row.saved_bytes) for row in told] == saved.most_common(5)


def sizes_of(row: Any, *, first: bool) -> tuple[int, int]:
    """Return how long a message is, and how long it were with an alias."""
    sent = Publish(topic=row.topic, qos=row.qos, packet_id=row.packet_id, payload=bytes(row.payload))
    aliased = sent.replace(topic=row.topic if first else "", properties=(Property(TOPIC_ALIAS.id, 1),))
    return len(encode(sent, Version.V5)), len(encode(aliased, Version.V5))


def test_the_path_of_the_capture_is_that_of_the_readme() -> None:
    assert f" {MORNING.relative_to(ROOT)} " in PIPELINE.read_text()


# the sources and the sink


def test_a_stream_on_spark_equals_the_batch(spark: Any, tmp_path: Path) -> None:
    files = rotated(fleet(4, clients=3, messages=20), tmp_path / "files", 3)
    (tmp_path / "ring").mkdir()
    results = Queue[PipelineResult]()
    with stream(str(tmp_path / "ring"), out=tmp_path / "out", spark=spark, every_s=0.1, on_run=results.put):
        for path in files:
            (tmp_path / "ring" / path.name).write_bytes(path.read_bytes())
            assert results.get(timeout=120).read == 1
    piped(tmp_path / "ring", out=tmp_path / "once")
    assert tables(tmp_path / "out") == tables(tmp_path / "once")


@pytest.mark.broker
def test_a_table_and_a_stream_of_spark(spark: Any, spark_broker: Restricted, tmp_path: Path) -> None:
    register(spark)
    where = {"host": "127.0.0.1", "port": str(spark_broker.port), "row_property": "true"}
    with listening(spark_broker.port, "from-spark/#") as heard:
        table = spark.range(1000).selectExpr("'from-spark/table' as topic", "string(id) as payload", "1 as qos")
        table.repartition(4).write.format("mqtt").mode("append").options(**where).save()
        heard.wait_for(1000)
        table.write.parquet(str(tmp_path / "in"))
        stream = spark.readStream.schema(table.schema).parquet(str(tmp_path / "in"))
        stream.writeStream.format("mqtt").options(checkpointLocation=str(tmp_path / "checkpoint"), **where).trigger(
            availableNow=True
        ).start().awaitTermination()
        messages = heard.wait_for(2000)
    assert sorted(int(message.payload) for message in messages[1000:]) == list(range(1000))
    names = [dict(message.properties.UserProperty)[NAME] for message in messages]
    assert len(set(names)) == 2000
    assert {name.split("/")[-3] for name in names[1000:]} == {"0"}, "the number of the batch"


@pytest.mark.broker
def test_available_now_reads_all_files_and_ends(spark: Any, spark_broker: Restricted, tmp_path: Path) -> None:
    register(spark)

    def run() -> None:
        stream = spark.readStream.format("mqtt").schema("payload binary, topic string").options(
            host="127.0.0.1", port=str(spark_broker.port), filter="now/#", spool=str(tmp_path / "spool"), quiet="1",
        ).load()  # fmt: skip
        stream.writeStream.format("parquet").trigger(availableNow=True).options(
            path=str(tmp_path / "out"), checkpointLocation=str(tmp_path / "checkpoint")
        ).start().awaitTermination()  # fmt: skip

    run()
    for number in (1, 2):
        publish(spark_broker.port, "now/a", [b"%d.%d" % (number, each) for each in range(500)], 2)
        run()
        payloads = Counter(bytes(row.payload) for row in collect(spark, tmp_path))
        assert payloads == Counter(b"%d.%d" % (n, each) for n in range(1, number + 1) for each in range(500))
