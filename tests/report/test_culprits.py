"""Which clients and servers have the most findings: the answer of a report is that of plain Python, and is shown."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mqttpub.report.answers import summary
from mqttpub.report.engines import duck
from mqttpub.report.question import Answers, record
from mqttpub.report.questions.findings import FINDINGS
from mqttpub.report.terminal import show_summary
from mqttpub.spec.packets import Connack, Connect
from tests.cli.faulty import WRONG, C, S, Step, capture
from tests.spark.running import piped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the tables of four connections: one without CONNECT, one whose server does not close."""
    refused: list[Step] = [(C, Connect(client_id="server 10.0.0.2:1883")), (S, Connack(reason_code=0x87))]
    for port, (steps, silent_s) in enumerate(((WRONG, 0), (WRONG[:5], 0), (WRONG[1:], 0), (refused, 12)), 50_001):
        (tmp_path / f"{port}.pcap").write_bytes(capture(steps, port=port, silent_s=silent_s))
    piped(*sorted(tmp_path.glob("*.pcap")), out=tmp_path / "out", on_spark=False, lint=True)
    return tmp_path / "out"


@pytest.fixture
def answer(folder: Path) -> Answers:
    """Ask the tables without Spark."""
    with duck.connected() as session:
        return summary(session, folder, thorough=False)


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    return [row for path in (folder / table).rglob("*.parquet") for row in pq.read_table(path).to_pylist()]


def expected(folder: Path) -> dict[tuple[str, str], Counter[str]]:
    """Return the statements that each end broke, by the end and its name."""
    connections = {row["connection"]: row for row in rows_of(folder, "connections")}
    found: dict[tuple[str, str], Counter[str]] = {}
    for row in rows_of(folder, "findings"):
        ends = connections[row["connection"]]
        end = "server" if row["at_fault"] == "server" else "client"
        shown = f"{ends[f'{end}_address']}:{ends[f'{end}_port']}"
        name = (ends["client_id"] if end == "client" else None) or shown
        found.setdefault((row["at_fault"], name), Counter())[row["statement"]] += 1
    return found


def section(answer: Answers) -> str:
    """Return the section of the page on the ends that are at fault."""
    culprits = FINDINGS.sections[0]
    assert culprits.anchor == "culprits"
    return "".join(culprits.contents(answer[FINDINGS], answer))


def test_ends_are_counted_by_what_is_their_fault(folder: Path, answer: Answers) -> None:
    truth, rows = expected(folder), list(answer[FINDINGS].culprits.top("findings"))
    assert {("client", "sensor-17"), ("client", "10.0.0.1:50003"), ("server", "10.0.0.2:1883")} == {*truth}
    assert [row.findings for row in rows] == sorted((each.total() for each in truth.values()), reverse=True)
    for row in rows:
        broken = truth[row.end or "", row.who or ""]
        assert (row.findings, row.broken) == (broken.total(), len(broken))
        assert row.findings == row.errors + row.warnings + row.notes
        most = [(each.statement, each.findings) for each in row.statements]
        assert most == sorted(broken.items(), key=lambda pair: (-pair[1], pair[0]))[:5]
    whole = answer[FINDINGS].culprits
    assert (whole.number, whole.total.findings) == (3, sum(each.total() for each in truth.values()))


def test_they_are_on_the_terminal_the_page_and_in_json(answer: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    show_summary(answer)
    shown = capsys.readouterr().out
    assert "Clients and servers with most findings" in shown
    assert "  server 10.0.0.2:1883" in shown
    assert "\n    MQTT5-" in shown
    found = record(answer)["findings_by_client"]
    assert [row["who"] for row in found["findings"]] == [row.who for row in answer[FINDINGS].culprits.top("findings")]
    assert "server 10.0.0.2:1883" in section(answer)


def test_the_end_at_fault_is_in_the_table(folder: Path) -> None:
    (row,) = [row for row in rows_of(folder, "findings") if row["statement"] == "MQTT5-3.2.2-7"]
    assert (row["at_fault"], row["direction"], row["client_id"]) == ("server", None, "server 10.0.0.2:1883")


def test_many_ends_are_cut_and_counted(answer: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer[FINDINGS]
    one = found.culprits.top("findings")[0]
    rows = [one._replace(who=f"c{number}\x1b") for number in range(20)]
    many = answer.replaced(
        {FINDINGS: found._replace(culprits=found.culprits._replace(number=1000, first={"findings": rows}))}
    )
    show_summary(many)
    shown = capsys.readouterr().out
    assert "  995 more clients and servers" in shown
    assert "\x1b" not in shown
    assert "980 more clients and servers had findings." in section(many)
