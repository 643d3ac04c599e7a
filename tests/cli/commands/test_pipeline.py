"""The flags of `pipeline`: errors before anything starts, and the request they make."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from mqttpub.cli.pipeline import run as commands
from mqttpub.cli.pipeline.request import parse_time
from mqttpub.cli.pipeline.run import STARTS
from mqttpub.common.extras import installing
from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spark.pipeline.engine import START
from mqttpub.spark.pipeline.run import OnProgress, PipelineRequest, PipelineResult, RunStage
from mqttpub.spark.session import jvm
from mqttpub.spark.session.jvm import NoSpark
from tests.paths import QOS2
from tests.spark.running import WITHOUT_SPARK

CAPTURE = QOS2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing to read: give files, folders, globs or URLs"),
        (["x"], "--out is missing: the folder for the tables"),
        (["x", "-o", "OUT", "--resume", "--mode", "overwrite"], "--resume adds to the tables"),
        (
            ["x", "-o", "OUT", "--tail", "--mode", "append"],
            "--tail continues the tables as --resume does: leave out",
        ),
        (["x", "-o", "OUT", "--every", "5"], "--every needs --tail: other runs look at their sources once"),
        (["hdfs://x/y", "-o", "OUT", "--tail"], "'hdfs://x/y' is opened by Hadoop alone, which does not say when a "),
        (["x", "-o", "nosuch://b/y"], "--out: 'nosuch://b/y' is on a storage that cannot be opened here"),
        (["x", "-o", "hdfs:/y"], "--out: 'hdfs:/y' is on a storage that cannot be opened here"),
        (["x", "-o", "s3a://key:hush@b/y"], "a URL of s3a://b contains credentials; give them in the environment"),
        (["x", "-o", "file://far/y"], "'file://far/y' is a file on the host far; a file on this machine is file:///"),
        (["file://far/x", "-o", "OUT"], "'file://far/x' is a file on the host far; a file on this machine is file:///"),
        (
            ["x", "-o", os.fsdecode(b"o\xff")],
            r"--out: the name 'o\xff' is not UTF-8, and Spark cannot read a folder of such",
        ),
        (["x", "-o", "OUT", "--conf", "memory=2g"], "--conf: 'memory=2g' is not a Spark setting"),
        (["x", "-o", "OUT", "--conf", "spark.x"], "--conf: 'spark.x' is not a Spark setting"),
        (
            ["x", "-o", "OUT", "--since", "2026-02-03", "--until", "2026-02-01"],
            "--until 2026-02-01 is not later than --since 2026-02-03",
        ),
        (["x", "-o", "OUT", "--since", "yesterday"], "--since: 'yesterday' is not a time such as 2026-01-31T12:00:00Z"),
        (["x", "-o", "OUT", "--partition-by", "date,colour"], "--partition-by: no table has a column 'colour'"),
        (["missing", "-o", "OUT"], "cannot read 'missing': No such file or directory"),
        (["no*thing", "-o", "OUT"], "nothing matches 'no*thing'"),
        (
            ["x", "-o", "OUT", "--master", "none", "--conf", "spark.x=1"],
            "--conf is for Spark, and --master none works wi",
        ),
        (
            ["x", "-o", "OUT", "--master", "none", "--verbose"],
            "--verbose is for Spark, and --master none works without",
        ),
        (
            ["x", "-o", "OUT", "--master", "none", "--format", "csv", "--summary"],
            "--summary needs Spark for tables in csv",
        ),
        (
            ["hdfs://x/y", "-o", "OUT", "--master", "none"],
            "'hdfs://x/y' is opened by Hadoop alone, and this run is wit",
        ),
        (
            ["x", "-o", "OUT", "--master", "none", "--format", "json", "--report", "r.html"],
            "--report needs Spark for tables in json",
        ),
        (
            ["x", "-o", "memory://b/y", "--format", "csv", "--summary"],
            "--summary of tables at a URL needs --format parquet, orc, delta or iceberg, not csv",
        ),
        (["x", "-o", "OUT", "--master", "none", "--remote", "sc://far"], "only one of --master and --remote at a time"),
        (["x", "-o", "OUT", "--remote", "local", "--master", ""], "only one of --master and --remote at a time"),
        (["x", "-o", "OUT", "--topic", "a/#/b"], "--topic: 'a/#/b' is not a Topic Filter: # is not its last level"),
    ],
)
def test_errors_in_flags_are_reported_at_once(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["pipeline", *(word.replace("OUT", str(tmp_path / "out")) for word in words)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "environ", "spark", "master"),
    [
        ([], {}, True, "local[*]"),
        (["--master", "none"], {}, False, "local[*]"),
        (["--master", "local[2]"], {}, True, "local[2]"),
        (["--remote", "sc://far"], {}, True, "sc://far"),
        (["--conf", "spark.a=b"], {}, True, "local[*]"),
        (["--verbose"], {}, True, "local[*]"),
        ([], {"PYSPARK_GATEWAY_PORT": "1"}, True, "local[*]"),
        ([], {"SPARK_CONF_DIR": "CONF"}, True, "spark://far:7077"),
        (["--master", "none"], {"SPARK_CONF_DIR": "CONF"}, False, "local[*]"),
        ([], {"SPARK_HOME": "HOME"}, True, "spark://far:7077"),
        ([], {"SPARK_CONF_DIR": "EMPTY"}, True, "local[*]"),
    ],
)
def test_spark_is_started_where_it_was_asked_for(
    words: list[str], environ: dict[str, str], spark: bool, master: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folders = {"CONF": tmp_path / "home" / "conf", "HOME": tmp_path / "home", "EMPTY": tmp_path / "empty"}
    folders["CONF"].mkdir(parents=True)
    text = "# spark.master yarn\nspark.executor.memory 2g\nspark.master   spark://far:7077\n"
    (folders["CONF"] / "spark-defaults.conf").write_text(text)
    for name in ("SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, str(folders.get(value, value)))
    asked: list[PipelineRequest] = []

    def run(given: PipelineRequest, *more: object) -> PipelineResult:
        asked.append(given)
        return PipelineResult("1", tmp_path, {}, 1, 0, [], 1.0)

    monkeypatch.setattr(pipeline, "run", run)
    assert main(["pipeline", str(CAPTURE), "-o", str(tmp_path / "out"), *words]) == 0
    assert (asked[0].on_spark, asked[0].settings.master) == (spark, master)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("", [STARTS]),
        (
            "pyspark",
            [f"this run goes on without Spark: Spark needs pyspark: {installing('spark')}"],
        ),
        ("java", ["this run goes on without Spark: Spark needs Java 17 or later: none is here"]),
    ],
)
def test_spark_is_the_engine_where_it_can_be_had(
    missing: str, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(given: PipelineRequest, tell: OnProgress, *more: object) -> PipelineResult:
        if given.on_spark:
            tell(RunStage(START))
        return PipelineResult("1", tmp_path, {}, 1, 0, [], 1.0)

    def find() -> None:
        if missing == "java":
            raise NoSpark("Spark needs Java 17 or later: none is here")

    monkeypatch.setattr(pipeline, "run", run)
    monkeypatch.setattr(jvm, "find", find)
    monkeypatch.setattr(commands, "missing", lambda *names: [name for name in names if name == missing])
    words = ["pipeline", str(CAPTURE), "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert capsys.readouterr().err.splitlines() == [f"mqttpub: {each}" for each in said]
    # Nobody asked, or nobody wants to know.
    assert main([*words, "--quiet"]) == main([*words, "--master", "none"]) == 0
    assert capsys.readouterr().err == ""


def test_flags_become_the_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[PipelineRequest] = []

    def run(given: PipelineRequest, tell: object = None, then: object = None) -> PipelineResult:
        asked.append(given)
        return PipelineResult("1", tmp_path, {"packets": 3}, 1, 0, [("x", "broken")], 1.0)

    monkeypatch.setattr(pipeline, "run", run)
    words = ["--since", "2026-01-31", "--until", "1800000000.5", "--topic", "a/#", "--payload", "hash", "--lint"]
    words += ["--partition-by", "date, type", "--conf", "spark.a=b=c", "--master", "local[3]", "--port", "1884"]
    assert main(["pipeline", str(CAPTURE), "-o", str(tmp_path), "--resume", "--format", "csv", *words]) == 1
    (given,) = asked
    assert given.sources == (str(CAPTURE),)
    assert (given.mode, given.file_format, given.partition_by, given.lint) == ("resume", "csv", ("date", "type"), True)
    assert given.row_filter.since == 1_769_817_600_000_000
    assert given.row_filter.until == 1_800_000_000_500_000
    assert (given.row_filter.topics, given.row_filter.payload, given.ports) == (("a/#",), "hash", (1884,))
    assert (given.settings.master, given.settings.conf) == ("local[3]", {"spark.a": "b=c"})


def test_connections_that_were_forgotten_make_a_run_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = PipelineResult("1", tmp_path, {"packets": 3}, 1, 0, [], 1.0, forgotten=3)
    monkeypatch.setattr(pipeline, "run", lambda *given: result)
    words = [*WITHOUT_SPARK, str(CAPTURE), "-o", str(tmp_path / "out"), "--json", "--no-summary"]
    assert main(words) == 1
    shown = capsys.readouterr()
    assert "mqttpub: 3 connections forgotten while open, as too many were: " in shown.err
    assert json.loads(shown.out)["forgotten"] == 3


@pytest.mark.parametrize(
    "text", ["2026-01-31T12:00:00Z", "2026-01-31T13:00:00+01:00", "2026-01-31 12:00", "20260131T12"]
)
def test_times(text: str) -> None:
    assert parse_time(text, "--since") == datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp() * 1_000_000


@pytest.mark.parametrize(
    ("files", "file_format", "said"), [(10_001, "parquet", True), (10_000, "parquet", False), (10_001, "delta", False)]
)
def test_a_run_says_where_a_manifest_ends(
    files: int, file_format: str, said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    result = PipelineResult("1", tmp_path, {}, 1, 0, [], 1.0, files=files)
    monkeypatch.setattr(pipeline, "run", lambda *given: result)
    assert main([*WITHOUT_SPARK, str(CAPTURE), "-o", str(tmp_path / "out"), "--format", file_format, "--quiet"]) == 0
    words = "the tables have 10,001 files, and the manifest is made for up to 10,000: beyond, --format delta or iceberg"
    assert (words in capsys.readouterr().err) == said
