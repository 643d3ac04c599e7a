"""The summary of `pipeline` on the terminal and as JSON, and the places where a page is refused."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.cli.pipeline.report import check_page
from mqttpub.report import answers
from mqttpub.report.engines import answering
from mqttpub.report.examples import Example
from mqttpub.report.overview import headline
from mqttpub.report.page import page
from mqttpub.report.question import Answers, Ranking, record
from mqttpub.report.questions import QUESTIONS
from mqttpub.report.questions.clients import CLIENTS, ClientCounts, RankedClients
from mqttpub.report.questions.comparison import COMPARISON, ComparedLatency, ComparedName, Comparison
from mqttpub.report.questions.exchanges import EXCHANGES, ExchangeKind
from mqttpub.report.questions.findings import FINDINGS, MOST_LINES, Culprit, Findings, StatementFindings
from mqttpub.report.questions.latency import LATENCY
from mqttpub.report.questions.operation.anomalies import ANOMALIES, Anomalies, AnomalousValue, ClientAnomalies
from mqttpub.report.questions.operation.churn import CHURN, Churn, ClientConnections, ConnectionEnds
from mqttpub.report.questions.operation.fan_out import FAN_OUT, OF_ALL, OF_CLASS, OF_TOPIC, FanOut
from mqttpub.report.questions.operation.silences import SILENCES, ClientSilences
from mqttpub.report.questions.operation.topic_tree import TOPIC_TREE, TopicLevel
from mqttpub.report.questions.outcomes import ENDINGS
from mqttpub.report.questions.topics import TOPICS, TopicCounts
from mqttpub.report.questions.traffic import TRAFFIC, ClosedConnections, PacketsOfKind, Traffic
from mqttpub.report.questions.volumes import VOLUMES
from mqttpub.report.sql import Bins
from mqttpub.report.terminal import show_summary
from mqttpub.spark.lake.content import LakeError
from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spark.pipeline.manifest import MANIFEST, Manifest
from mqttpub.spark.pipeline.run import PipelineRequest, PipelineResult
from mqttpub.view.terminal.cells import cells
from mqttpub.view.terminal.progress import StageLines
from tests.paths import QOS2
from tests.report.test_report import NOTHING
from tests.spark.running import WITHOUT_SPARK

CAPTURE = QOS2
HOSTILE = "\x1b[31m</script>" + "long/" * 40 + "\u202e"


def client(who: str | None) -> ClientCounts:
    """Return what is counted of a client."""
    return ClientCounts(
        who, connections=2, packets=1_000_000, bytes=2_000_000_000, messages=500, publishes=400, dups=40,
        client_messages=300, client_publishes=300, client_dups=40, server_messages=200, server_publishes=100,
    )  # fmt: skip


def topic(who: str | None) -> TopicCounts:
    """Return what is counted of a topic."""
    return TopicCounts(
        who, messages=500, bytes=5_000_000, payload=1, topic_bytes=2, saved=-3, savable=4, client_messages=500
    )


def exchange(kind: str) -> ExchangeKind:
    """Return what is counted of a kind of exchange."""
    return ExchangeKind(
        kind, "client", complete=99_999_999, refused=1_000_000, unfinished=1_000_000, superseded=1_000_000, orphan=0,
        continued=7, dups=40, answers=3, longest=80_000_000, percentiles=[900, 1_200_000, 70_000_000],
    )  # fmt: skip


EXAMPLE = Example(HOSTILE, 7, 0, 1_700_000_000_000_000, "client", "PUBLISH", "publish.dup", HOSTILE)
STATEMENTS = [
    StatementFindings("error", "MQTT5-3.3.1-2", 1_000_000, 12, EXAMPLE), StatementFindings("note", "", 3, 1, None)
]  # fmt: skip
KIND = PacketsOfKind(
    "PUBLISH", 1, "client", 3, packets=1_234_567, bytes=2_000_000_000, malformed=0, untimed=0,
    first=1_700_000_000_000_000, last=1_700_000_100_000_000,
)  # fmt: skip
TALKERS = [client(HOSTILE), client("x")]
ANSWERED: dict[Any, Any] = {
    TRAFFIC: Traffic([KIND], [ClosedConnections("client", "FIN", 2, 1)]),
    EXCHANGES: [exchange(kind) for kind in ("QoS 1", "UNSUBSCRIBE")],
    CLIENTS: RankedClients(Ranking(2, client(None), dict.fromkeys(("bytes", "messages", "dups"), TALKERS))),
    TOPICS: Ranking(2, topic(None), {"bytes": [topic(HOSTILE), topic(None)]}),
    FINDINGS: Findings(Ranking(0, Culprit(None), {}), STATEMENTS),
}
SUMMARY = Answers({question: ANSWERED.get(question) for question in QUESTIONS})
CONNECTIONS = ClientConnections(
    HOSTILE, connections=1_000_000, refused=7, short=900_000, taken=9, said=8, goodbyes=3, broken=999_000,
    busiest=100_000, median_us=86_400_000_000,
)  # fmt: skip
SILENT = ClientSilences(
    HOSTILE, connections=1_000_000, off=1, by_server=2, unmeasured=3, late=4, missed=5, timed_out=6, ratio=12.5,
    silence_us=750_000_000, allowed_s=60, since=1_700_000_000_000_000,
)  # fmt: skip
LEVEL = TopicLevel(
    depth=1, name=HOSTILE, above="", topics=70_000, messages=9_999_999, bytes=2_000_000_000, client_messages=5,
    server_messages=4, client_retained=3, server_retained=2, qos0=1, qos1=1, qos2=1, publishers=60_000,
)  # fmt: skip
DELIVERED = FanOut(
    OF_ALL, None, HOSTILE, messages=1_000_000, deliveries=50_000_000, retained=4, unmatched=5, repeated=6, most=70_000,
    undelivered=8, delays_us=[900, 1_200_000, 70_000_000],
)  # fmt: skip
WORST = AnomalousValue(28_333_333, 1_000_000.5, 0.5, 0.0, 47, -1234.5)
CHANGES = [
    ComparedName(HOSTILE, 1_000_000, 2_000_000_000, 3_000_000, 4_000_000_000, 1.0, 2.0, kind, 70, 1)
    for kind in ("new", "gone", "both")
]
FULL = SUMMARY.replaced({
    CHURN: Churn(
        Ranking(1, CONNECTIONS._replace(who=None), {"connections": [CONNECTIONS], "taken": [CONNECTIONS]}),
        [ConnectionEnds(how, "server", 0x8E, 9, 2, 1) for how in ("taken over", "DISCONNECT", "refused", "FIN")],
    ),
    SILENCES: Ranking(1, SILENT._replace(who=None), {"ratio": [SILENT]}),
    TOPIC_TREE: [LEVEL._replace(name=name, label=name, indent=at) for at, name in enumerate(("", HOSTILE, ""))],
    FAN_OUT: [
        DELIVERED, DELIVERED._replace(grouping=OF_CLASS, fan_class=5), DELIVERED._replace(grouping=OF_TOPIC)
    ],
    ANOMALIES: Anomalies(
        Bins(60_000_000, 28_333_333, 1), 2, 1, [ClientAnomalies(HOSTILE, "size", 2, 28_333_333, 1, WORST)]
    ),
    COMPARISON: Comparison(
        HOSTILE, SUMMARY, CHANGES, CHANGES,
        [ComparedLatency("now", "QoS 1", "client", 3, [1, 2_000_000, 70_000_000])],
    ),
})  # fmt: skip


def paged(known: Answers) -> Answers:
    """Return answers with empty ones to what only a page asks."""
    return known.replaced({question: NOTHING.get(question) for question in (LATENCY, ENDINGS, VOLUMES)})


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let a run do nothing but ask."""

    def run(given: PipelineRequest, tell: Any = None, then: Any = None) -> PipelineResult:
        if then:
            then(None, given.out)
        return PipelineResult("1", tmp_path / MANIFEST, {"packets": 3}, 1, 0, [], 1.0)

    monkeypatch.setattr(pipeline, "run", run)
    monkeypatch.setattr(StageLines, "FIRST_S", 3600.0)
    monkeypatch.setattr(answering, "answering", lambda *given, **more: nullcontext())
    monkeypatch.setattr(answers, "summary", lambda engine, *folders, **more: FULL if folders[1:] else SUMMARY)
    monkeypatch.setattr(answers, "details", lambda engine, folder, known, on_share: paged(known))


def test_the_summary_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_summary(FULL)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(cells, lines)) <= 80
    text = "\n".join(lines)
    assert "\x1b" not in text
    assert "\u202e" not in text
    for words in ("99,999,999", "70.0 s", "10.0 %", "MQTT5-3.3.1-2", "2,000,000,000", "900,000", "12.50", "-1,234.5",
                  "New clients", "70,000"):  # fmt: skip
        assert words in text
    # What does not fit is marked.
    assert "…" in text or "..." in text


@pytest.mark.parametrize(("more", "words"), [(1, "1 more statement;"), (2, "2 more statements;")])
def test_statements_that_are_not_shown_are_counted(more: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    faults = [StatementFindings("error", f"MQTT5-3.1.0-{number}", 1, 1, None) for number in range(MOST_LINES + more)]
    found = SUMMARY[FINDINGS]._replace(statements=faults)
    show_summary(SUMMARY.replaced({FINDINGS: found}))
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "words"), [(100, "100 s"), (14_126, "3 h 55 min"), (2 * 86_400 + 30, "2 d"), (90_060, "1 d 1 h 1 min")]
)
def test_a_long_span_is_shown_in_days_hours_and_minutes(seconds: int, words: str) -> None:
    kind = KIND._replace(last=1_700_000_000_000_000 + seconds * 1_000_000)
    lasted = SUMMARY.replaced({TRAFFIC: Traffic([kind])})
    assert headline(lasted).endswith(f", {words}")


def test_a_pipe_gets_no_summary_by_default(run: None, tmp_path: Path, capsys: Any) -> None:
    words = [*WITHOUT_SPARK, str(CAPTURE), "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert capsys.readouterr().out == f"3 packets from 1 source in 1.0 s: {tmp_path}/out\n"
    assert main([*words, "--summary"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"3 packets from 1 source in 1.0 s: {tmp_path}/out\n")
    assert "2023-11-14T22:13:20Z to 2023-11-14T22:15:00Z, 100 s" in text


def test_the_page_shows_hostile_names_as_text() -> None:
    text = page("x", paged(FULL))
    assert "\x1b" not in text
    assert "</script>" not in text
    for words in (
        "taken over, 0x8e Session taken over",
        "refused by CONNACK",
        "the server ended 6 with 0x8d",
        "1,234.5",
    ):
        assert words in text


def test_json_has_the_same(run: None, tmp_path: Path, capsys: Any) -> None:
    words = [*WITHOUT_SPARK, str(CAPTURE), "-o", str(tmp_path / "out"), "--json"]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["summary"] == json.loads(json.dumps(record(SUMMARY)))
    assert answer["summary"]["exchanges"][0]["p90_us"] == 1_200_000
    assert answer["summary"]["clients"]["dups"][0]["who"] == HOSTILE
    assert answer["summary"]["findings"][0]["example"]["decode"].startswith("mqttpub lint $'")
    assert main([*words, "--no-summary"]) == 0
    assert "summary" not in json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_a_page_compares_with_another_run(run: None, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / MANIFEST).write_text(json.dumps(Manifest().dumps()))
    page = tmp_path / "page.html"
    words = [*WITHOUT_SPARK, str(CAPTURE), "-o", str(tmp_path / "out"), "--json", "--report", str(page)]
    assert main([*words, "--against", str(tmp_path / "other")]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["comparison"]["folder"] == HOSTILE
    assert "Compared with another run" in page.read_text()


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["--against", "other"], "--against needs --report: the page shows the comparison"),
        (["--against", "other", "--report", "x.html"], "--against: cannot read other/_manifest.json: "),
        (
            ["--against", "./out/", "--report", "x.html"],
            "--against is the folder of --out: give the tables of another run",
        ),
        (["--against", "", "--report", "x.html"], "--against: cannot read _manifest.json: "),
    ],
)
def test_another_run_that_cannot_be_compared_is_refused(
    words: list[str], refusal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*WITHOUT_SPARK, str(CAPTURE), "-o", "out", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert refusal in line
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_page_is_written(run: None, tmp_path: Path, capsys: Any) -> None:
    page = tmp_path / "page.html"
    for _ in range(2):
        assert main([*WITHOUT_SPARK, str(CAPTURE), "-o", str(tmp_path / "out"), "--report", str(page)]) == 0
        assert capsys.readouterr().err == f"mqttpub: the report is {page}\n"
    assert page.read_text().startswith("<!doctype html>\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html"]


@pytest.mark.parametrize("error", [OSError("the disk is on fire"), LakeError("the disk is on fire")])
def test_a_failure_after_the_commit_leaves_the_run_as_it_is(
    error: Exception, run: None, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(engine: Any, *folders: Path, **more: Any) -> Answers:
        raise error

    monkeypatch.setattr(answers, "summary", broken)
    words = [*WITHOUT_SPARK, str(CAPTURE), "-o", str(tmp_path / "out")]
    assert main([*words, "--summary"]) == 0
    assert "but the summary failed: the disk is on fire" in capsys.readouterr().err
    assert main([*words, "--report", str(tmp_path / "page.html")]) == 1
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("name", "refusal"),
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
def test_a_page_does_not_replace_other_files(name: str, refusal: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out" / "packets").mkdir(parents=True)
    (tmp_path / "text").write_text("mine")
    capture = tmp_path / "in" / "a.pcapng"
    capture.write_bytes(CAPTURE.read_bytes())
    page = name if name == "-" else str(tmp_path / name)
    assert main([*WITHOUT_SPARK, str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--report", page]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert refusal in line
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
    page = tmp_path / "page.html"
    words = [*WITHOUT_SPARK, str(CAPTURE), "-o", str(tmp_path / "out"), "--resume", "--report", str(page)]
    assert main(words) == 0
    assert capsys.readouterr().out == "nothing new to read\n"
    assert page.exists()
