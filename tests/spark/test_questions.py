"""The questions of README.md are asked of the capture that ships; `--update` rewrites the answers."""

import contextlib
import gzip
import io
import re
from collections import Counter
from itertools import groupby
from typing import Any

import pytest

from mqttpub.codec.encode import encode
from mqttpub.columns.schema import TABLES
from mqttpub.spark.pipeline import Asked, run
from mqttpub.spec.fields import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.terms import Version
from tests.screens import ROOT
from tests.spark.morning import FLEET, SHIPPED, TOPIC_ALIAS, capture

README = ROOT / "README.md"
QUESTION = re.compile(r"#### (?P<asked>[^\n]+\?)\n.*?```sql\n(?P<sql>.*?)```\n\n```text\n(?P<screen>.*?)```", re.DOTALL)


def questions() -> list[re.Match[str]]:
    """Return the questions of README.md, each with its SQL and the screen of the answer."""
    return list(QUESTION.finditer(README.read_text()))


@pytest.fixture(scope="module")
def asked(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a session that knows the tables of the capture by name."""
    out = tmp_path_factory.mktemp("morning") / "tables"
    assert run(Asked((str(SHIPPED),), out, lint=True, partitions=2)).problems == []
    for name in TABLES:
        spark.read.parquet(str(out / name)).createOrReplaceTempView(name)
    return spark


def answer(spark: Any, sql: str) -> str:
    """Return the screen that Spark shows."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        spark.sql(sql).show(truncate=False)
    return f"{shown.getvalue().rstrip()}\n"


def test_the_capture_that_ships_follows_from_its_seed() -> None:
    assert gzip.decompress(SHIPPED.read_bytes()) == capture()
    assert SHIPPED.stat().st_size < 100_000


def test_there_are_five_questions() -> None:
    assert len(questions()) == 5


@pytest.mark.slow
@pytest.mark.parametrize("number", range(5), ids=lambda number: str(questions()[number]["asked"]))
def test_an_answer(number: int, asked: Any, update: bool) -> None:
    question = questions()[number]
    shown = answer(asked, question["sql"])
    if update:
        start, end = question.span("screen")
        text = README.read_text()
        README.write_text(text[:start] + shown + text[end:])
        return
    assert shown == question["screen"]


@pytest.mark.slow
def test_answers_are_those_that_the_capture_was_made_for(asked: Any) -> None:
    worst, open_ones, _, _, broken = (asked.sql(each["sql"]).collect() for each in questions())
    bad = sorted(FLEET, key=lambda device: -device.lost)[:2]
    assert [row.client_id for row in worst[:2]] == [device.name for device in bad]
    assert [row.dups for row in worst[2:]] == [0, 0, 0]
    left = {"publish": 3, "release": 1, "subscribe": 1}
    expected = {device.name: left[device.ends] for device in FLEET if device.ends}
    assert Counter(row.client_id for row in open_ones) == expected
    assert {row.client_id for row in broken} == {device.name for device in FLEET if device.habit}
    assert {row.client_id for row in broken if row.at_fault == "server"} == {"kiosk-5"}


@pytest.mark.slow
def test_an_alias_saves_what_the_answer_says(asked: Any) -> None:
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
    aliased = sent.replace(topic=row.topic if first else "", properties=(Property(TOPIC_ALIAS, 1),))
    return len(encode(sent, Version.V5)), len(encode(aliased, Version.V5))


def test_the_path_of_the_capture_is_that_of_the_readme() -> None:
    assert f" {SHIPPED.relative_to(ROOT)} " in README.read_text()
