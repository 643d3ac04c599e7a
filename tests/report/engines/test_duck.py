"""DuckDB answers the queries of a report as Spark does, or says why it cannot."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mqttpub.common.extras import installing
from mqttpub.report.answers import details, summary
from mqttpub.report.engines import answering, duck
from mqttpub.report.engines.answering import QueriesFailed
from mqttpub.report.engines.spark import connected
from mqttpub.report.question import ReportTables
from mqttpub.report.questions import QUESTIONS
from mqttpub.report.questions.findings import FINDINGS
from mqttpub.report.questions.operation.anomalies import ANOMALIES
from mqttpub.report.questions.payloads import PAYLOADS
from mqttpub.report.questions.traffic import TRAFFIC
from mqttpub.spark.session.session import Settings
from tests.build.fleet import capture, rotated
from tests.paths import AFTERNOON, CAPTURES, MORNING, PLANT, QOS2
from tests.program import run
from tests.report.test_report import hostile
from tests.spark.running import piped


class Lengths(NamedTuple):
    """A row of a query."""

    type: str
    times: int
    lengths: list[int]
    most: int
    none: int


@pytest.mark.slow
@pytest.mark.parametrize("more", [
    {},
    pytest.param({"partition_by": ("date", "client_address", "begin_time")}, marks=pytest.mark.long),
    pytest.param({"file_format": "orc"}, marks=pytest.mark.long),
], ids=["whole", "divided", "orc"])  # fmt: skip
def test_answers_are_those_of_spark(more: dict[str, Any], spark: Any, tmp_path: Path) -> None:
    rotated(capture(7, clients=6), tmp_path / "ring", 3)
    hostile(tmp_path / "hostile.pcap")
    sources = MORNING, AFTERNOON, PLANT, tmp_path / "ring", tmp_path / "hostile.pcap", *CAPTURES.iterdir()
    piped(*sources, out=tmp_path / "out", on_spark=False, lint=True, **more)
    piped(MORNING, out=tmp_path / "other", on_spark=False)
    folders = tmp_path / "out", tmp_path / "other"
    with duck.connected() as here, connected(spark, folders) as there:
        found, expected = (details(engine, folders[0], summary(engine, *folders)) for engine in (here, there))
    assert [each for each in QUESTIONS if found[each] != expected[each]] == []
    assert found[FINDINGS].statements
    assert found[ANOMALIES].rows
    assert found[PAYLOADS].sparkplug


def test_the_program_makes_the_page_of_tables_in_a_store_without_spark(s3: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    given = ["pipeline", str(PLANT), "--master", "none", "-o", f"{s3}/tables", "--report", str(page), "--json"]
    done = run(*given)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["payloads"]["sparkplug"]["nodes"]
    assert "Sparkplug B" in page.read_text()


def test_tables_that_were_never_written_are_empty(tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(QOS2.read_bytes()[:0])
    piped(tmp_path / "empty.pcap", out=tmp_path / "out", on_spark=False)
    with duck.connected() as session:
        found = summary(session, tmp_path / "out", thorough=False)
    assert (found[TRAFFIC].kinds, found.get(FINDINGS)) == ([], None)


def test_arguments_and_arrays_are_plain_values(tmp_path: Path) -> None:
    piped(QOS2, out=tmp_path / "out", on_spark=False)
    query = """
        SELECT type, count(*) AS times, array(min(packet_bytes), max(packet_bytes)) AS lengths,
            max(octet_length(topic)) AS most, count_if(NULL) AS none
        FROM {packets} WHERE type = :kind GROUP BY 1
    """
    with duck.connected() as session:
        (row,) = ReportTables(session, tmp_path / "out").rows(Lengths, query, {"kind": "PUBLISH"})
    assert row.none == 0
    assert (row.type, type(row.times), type(row.lengths), type(row.most)) == ("PUBLISH", int, list, int)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_tables_without_types_are_left_to_spark(form: str, tmp_path: Path) -> None:
    piped(QOS2, out=tmp_path / "out", on_spark=False, file_format=form)
    why = f"without Spark, queries need tables in Parquet or ORC, not in {form.upper()}"
    assert duck.refusal(tmp_path / "out") == why
    with pytest.raises(QueriesFailed, match=why), answering.answering(None, [tmp_path / "out"], None):
        pytest.fail("nothing can answer")


def test_a_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duck, "PACKAGES", ("json", "no_such_duck"))
    assert duck.refusal(tmp_path) == f"a query without Spark needs no_such_duck: {installing('summary')}"


def test_a_query_that_fails_is_one_sentence(tmp_path: Path) -> None:
    piped(QOS2, out=tmp_path / "out", on_spark=False)
    with (
        pytest.raises(QueriesFailed, match=r"^Catalog Error: .*nothing") as caught,
        answering.answering(None, [tmp_path / "out"], Settings()) as session,
    ):
        ReportTables(session, tmp_path / "out").rows(Lengths, "SELECT * FROM nothing")
    assert "\n" not in str(caught.value)
