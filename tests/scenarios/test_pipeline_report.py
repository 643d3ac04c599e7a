"""The summary of `pipeline` on the terminal and as JSON, and the places where a page is refused."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.commands.pipeline import check_page
from mqttpub.cli.main import main
from mqttpub.report.answers import Details, Example, StatementFindings, Summary
from mqttpub.report.queries import report_answers
from mqttpub.report.terminal import MOST_FAULTS, headline, record, show_summary
from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spark.pipeline.manifest import MANIFEST
from mqttpub.spark.pipeline.run import PipelineRequest, PipelineResult
from mqttpub.spark.session import session
from mqttpub.view.terminal.cells import cells
from tests.paths import QOS2

CAPTURE = QOS2
HOSTILE = "\x1b[31m</script>" + "long/" * 40 + "\u202e"


def client(top: str, who: str | None, number: int = 1) -> dict[str, Any]:
    """Return what is counted of a client."""
    return {
        "top": top, "who": who, "number": number, "connections": 2, "packets": 1_000_000, "bytes": 2_000_000_000,
        "messages": 500, "client_messages": 300, "server_messages": 200, "publishes": 400, "dups": 40,
        "client_publishes": 300, "client_dups": 40, "server_publishes": 100, "server_dups": 0,
    }  # fmt: skip


def topic(top: str, who: str | None, number: int = 1) -> dict[str, Any]:
    """Return what is counted of a topic."""
    return {
        "top": top, "who": who, "number": number, "messages": 500, "bytes": 5_000_000, "payload": 1, "topic_bytes": 2,
        "saved": -3, "aliased": 0, "savable": 4, "client_messages": 500, "server_messages": 0,
    }  # fmt: skip


EXAMPLE = Example(HOSTILE, 7, 0, 1_700_000_000_000_000, "client", "PUBLISH", "publish.dup", HOSTILE, None)
SUMMARY = Summary(
    [{"closed_by": "client", "closed_how": "FIN", "connections": 2, "gaps": 1}],
    [{"type": "PUBLISH", "qos": 1, "direction": "client", "code": 3, "packets": 1_234_567, "bytes": 2_000_000_000,
      "unreadable": 0, "untimed": 0, "first": 1_700_000_000_000_000, "last": 1_700_000_100_000_000}],
    [{"kind": kind, "sender": "client", "complete": 99_999_999, "refused": 1_000_000, "unfinished": 1_000_000,
      "superseded": 1_000_000, "orphan": 0, "continued": 7, "dups": 40, "count": 3,
      "percentiles": [900, 1_200_000, 70_000_000], "max": 80_000_000} for kind in ("QoS 1", "UNSUBSCRIBE")],
    [client("all", None, 2), *(client(by, who) for by in ("bytes", "messages", "dups") for who in (HOSTILE, "x"))],
    [topic("all", None, 2), topic("bytes", HOSTILE), topic("bytes", None)],
    [StatementFindings("error", "MQTT5-3.3.1-2", 1_000_000, 12, EXAMPLE), StatementFindings("note", "", 3, 1, None)],
)  # fmt: skip
DETAILS = Details(None, [], [], [], [], None, [], [], [], {"payload": 0}, [])


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let a run do nothing but ask."""

    def run(given: PipelineRequest, tell: Any = None, then: Any = None) -> PipelineResult:
        if then:
            then(None, given.out)
        return PipelineResult("1", tmp_path / MANIFEST, {"packets": 3}, 1, 0, [], 1.0)

    monkeypatch.setattr(pipeline, "run", run)
    monkeypatch.setattr(report_answers, "summary", lambda spark, folder: SUMMARY)
    monkeypatch.setattr(report_answers, "details", lambda spark, folder, summary: DETAILS)


def test_the_summary_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_summary(SUMMARY)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(cells, lines)) <= 80
    text = "\n".join(lines)
    assert "\x1b" not in text
    assert "\u202e" not in text
    for words in ("99,999,999", "70.0 s", "10.0 %", "MQTT5-3.3.1-2", "2,000,000,000"):
        assert words in text
    # What does not fit is marked.
    assert "…" in text or "..." in text


@pytest.mark.parametrize(("more", "words"), [(1, "1 more statement;"), (2, "2 more statements;")])
def test_statements_that_are_not_shown_are_counted(more: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    faults = [StatementFindings("error", f"MQTT5-3.1.0-{number}", 1, 1, None) for number in range(MOST_FAULTS + more)]
    show_summary(SUMMARY._replace(faults=faults))
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "words"), [(100, "100 s"), (14_126, "3 h 55 min"), (2 * 86_400 + 30, "2 d"), (90_060, "1 d 1 h 1 min")]
)
def test_a_long_span_is_shown_in_days_hours_and_minutes(seconds: int, words: str) -> None:
    (kind,) = SUMMARY.kinds
    lasted = SUMMARY._replace(kinds=[{**kind, "last": kind["first"] + seconds * 1_000_000}])
    assert headline(lasted).endswith(f", {words}")


def test_a_pipe_gets_no_summary_by_default(run: None, tmp_path: Path, capsys: Any) -> None:
    words = ["pipeline", str(CAPTURE), "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert capsys.readouterr().out == f"3 packets from 1 source in 1.0 s: {tmp_path}/out\n"
    assert main([*words, "--summary"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"3 packets from 1 source in 1.0 s: {tmp_path}/out\n")
    assert "2023-11-14T22:13:20Z to 2023-11-14T22:15:00Z, 100 s" in text


def test_json_has_the_same(run: None, tmp_path: Path, capsys: Any) -> None:
    words = ["pipeline", str(CAPTURE), "-o", str(tmp_path / "out"), "--json"]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["summary"] == json.loads(json.dumps(record(SUMMARY)))
    assert told["summary"]["exchanges"][0]["p90_us"] == 1_200_000
    assert told["summary"]["clients"]["dups"][0]["who"] == HOSTILE
    assert told["summary"]["findings"][0]["example"]["decode"].startswith("mqttpub lint $'")
    assert main([*words, "--no-summary"]) == 0
    assert "summary" not in json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_a_page_is_written(run: None, tmp_path: Path, capsys: Any) -> None:
    page = tmp_path / "page.html"
    for _ in range(2):
        assert main(["pipeline", str(CAPTURE), "-o", str(tmp_path / "out"), "--report", str(page)]) == 0
        assert capsys.readouterr().err == f"mqttpub: the report is {page}\n"
    assert page.read_text().startswith("<!doctype html>\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html"]


def test_an_error_of_spark_is_one_sentence(
    run: None, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(spark: Any, folder: Path) -> Summary:
        raise OSError("the disk is on fire")

    monkeypatch.setattr(report_answers, "summary", broken)
    words = ["pipeline", str(CAPTURE), "-o", str(tmp_path / "out")]
    assert main([*words, "--summary"]) == 0
    assert "but the report failed: the disk is on fire" in capsys.readouterr().err
    assert main([*words, "--report", str(tmp_path / "page.html")]) == 1
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("in/a.pcapng", "is an input as well"),
        ("in", "is a directory"),
        ("-", "is not a file name"),
        ("none/x.html", "cannot write"),
        ("out/packets/x.html", "is among the tables"),
        ("out/_manifest.json", "is among the tables"),
        ("text", "exists and is not an HTML page"),
    ],
)
def test_a_page_does_not_replace_other_files(name: str, told: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out" / "packets").mkdir(parents=True)
    (tmp_path / "text").write_text("mine")
    capture = tmp_path / "in" / "a.pcapng"
    capture.write_bytes(CAPTURE.read_bytes())
    page = name if name == "-" else str(tmp_path / name)
    assert main(["pipeline", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--report", page]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert capture.read_bytes() == CAPTURE.read_bytes()
    assert (tmp_path / "text").read_text() == "mine"


def test_a_page_that_is_there_is_replaced_as_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html>\n<p>old")
    check_page(str(page), (str(CAPTURE),), str(tmp_path))


def test_a_page_is_written_also_where_nothing_is_new(
    run: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def nothing(given: PipelineRequest, tell: Any = None, then: Any = None) -> PipelineResult:
        return PipelineResult("1", tmp_path / MANIFEST, {}, 0, 1, [], 1.0)

    monkeypatch.setattr(pipeline, "run", nothing)
    monkeypatch.setattr(session, "session", nullcontext)
    page = tmp_path / "page.html"
    words = ["pipeline", str(CAPTURE), "-o", str(tmp_path / "out"), "--resume", "--report", str(page)]
    assert main(words) == 0
    assert capsys.readouterr().out == "nothing new to read\n"
    assert page.exists()
