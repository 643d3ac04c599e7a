"""A question of the report is one object: page, terminal and JSON show the answer to one that this test adds."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mqttpub.common.words import number
from mqttpub.report.answers import summary
from mqttpub.report.engines import duck
from mqttpub.report.listing import Listing, lines
from mqttpub.report.markup import NAME, NUMBER
from mqttpub.report.page import page
from mqttpub.report.question import Answers, Contents, Question, ReportTables, Section, Stage, record
from mqttpub.report.rows import plain
from mqttpub.report.sections import NOBODY, about, listed
from mqttpub.report.sql import SECOND_US, WHO
from mqttpub.report.terminal import show_summary
from mqttpub.report.words import name_text
from mqttpub.view.terminal.cells import Line
from tests.paths import MORNING
from tests.report.test_report import NOTHING
from tests.spark.running import piped, tables

LONG_S = 10
"""A pause of a client that is longer counts."""
QUERY = f"""
    SELECT who, count_if(pause_us > {LONG_S * SECOND_US}) AS pauses, max(pause_us) AS longest_us
    FROM (
        SELECT {WHO} AS who,
            unix_micros(time) - unix_micros(lag(time) OVER (PARTITION BY connection ORDER BY time, frame)) AS pause_us
        FROM {{packets}} WHERE direction = 'client'
    )
    GROUP BY who ORDER BY longest_us DESC, who
"""


class ClientPauses(NamedTuple):
    """The pauses of a client."""

    who: str
    pauses: int
    longest_us: int | None


def _ask(tables: ReportTables) -> list[ClientPauses]:
    return tables.rows(ClientPauses, QUERY)


def _listing(found: Sequence[ClientPauses]) -> Listing:
    columns = [("client", NAME), (f"pauses above {LONG_S} s", NUMBER), ("longest", NUMBER)]
    cells = [[name_text(row.who, NOBODY), number(row.pauses), number(row.longest_us or 0)] for row in found]
    return Listing("Pauses of clients", columns, cells, (0, 1))


def _contents(found: Sequence[ClientPauses], answers: Answers) -> Contents:
    return [about(f"A pause is longer than {LONG_S} s."), *listed(_listing(found))]


def _lines(found: Sequence[ClientPauses], answers: Answers, width: int) -> Iterator[Line]:
    return lines(_listing(found), width)


def _record(found: Sequence[ClientPauses], answers: Answers) -> Mapping[str, Any]:
    return {"pauses": plain(found)}


PAUSES = Question(
    Stage.ALWAYS, _ask, sections=(Section("pauses", "Pauses", _contents),), blocks=(_lines,), record=_record
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the tables of a capture."""
    out = tmp_path_factory.mktemp("pauses") / "out"
    piped(MORNING, out=out, on_spark=False)
    return out


def test_a_question_is_one_object(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times: dict[tuple[str, str], list[int]] = {}
    for row in tables(folder)["packets"]:
        if row["direction"] == "client":
            key = row["client_id"] or f"{row['client_address']}:{row['client_port']}", row["connection"]
            times.setdefault(key, []).append(round(row["time"].timestamp() * 1_000_000))
    pauses: dict[str, list[int]] = {}
    for (who, _), own in times.items():
        own.sort()
        pauses.setdefault(who, []).extend(after - before for before, after in pairwise(own))
    with duck.connected() as session:
        known = summary(session, folder, thorough=False)
        answers = known.replaced({PAUSES: PAUSES.ask(ReportTables(session, folder, answers=known))})
    assert {row.who: (row.pauses, row.longest_us) for row in answers[PAUSES]} == {
        who: (sum(each > 10_000_000 for each in own), max(own)) for who, own in pauses.items()
    }
    first = answers[PAUSES][0]
    text = page("x", NOTHING.replaced({PAUSES: answers[PAUSES]}))
    assert '<li><a href="#pauses">Pauses</a></li>' in text
    assert f"{first.longest_us:,}" in text
    show_summary(answers)
    _, heading, line, *_ = capsys.readouterr().out.partition("Pauses of clients")[2].splitlines()
    assert heading.split() == ["pauses", "above", "10", "s"]
    assert line.split() == [first.who, number(first.pauses)]
    assert record(answers)["pauses"][0] == {"who": first.who, "pauses": first.pauses, "longest_us": first.longest_us}
    # JSON goes by stages, so it comes after those that are always asked, and before the findings.
    assert list(record(answers))[-4:] == ["pauses", "payloads", "findings", "findings_by_client"]
