"""Statements of clients proven twice: a client that keeps them passes, and one that breaks just them is caught."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mqttpub.lab.conform.cases import in_reach, without_case
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Direction, Version
from tests.lab.conform.client_proving import FRAMED, ClientRow, against, broken, client_rows, named
from tests.paths import TESTS

ROWS = client_rows((TESTS / "lab" / "conform" / "client_mutants.txt").read_text())
AT_A_TIME = 80
UNPROVEN = {
    "MQTT31-2.2/topic-length": "a client only should keep it",
    "MQTT311-3.1.2-11": "MQTT311-3.1.2-13 and -15 say the same of each field",
}
"""Why statements in reach that have a case are not proven so; of those without a case, `without.toml` says it."""


@pytest.fixture(scope="module")
def missed() -> dict[ClientRow, str]:
    """What is wrong with each row, if anything; all are played beside one another, as they mostly wait."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        found = dict(zip(ROWS, pool.map(_missed, ROWS), strict=True))
    # On a busy machine, a client that has so many beside it may not get its turn within the time of its case.
    return {row: wrong and _missed(row) for row, wrong in found.items()}


def _missed(row: ClientRow) -> str:
    case = named(row.version, row.case)
    keeps = broken(against(case, row.steps(breaks=False)))
    if keeps:
        return f"{row}: the client that keeps it has {sorted(keeps)}"
    breaks = broken(against(case, row.steps(breaks=True)))
    return "" if set(row.ids) <= breaks else f"{row}: found {sorted(breaks)}"


@pytest.mark.slow
@pytest.mark.parametrize("version", list(Version), ids=str)
def test_a_client_that_breaks_a_statement_is_caught(version: Version, missed: dict[ClientRow, str]) -> None:
    rows = [row for row in ROWS if row.version is version]
    assert [missed[row] for row in rows if missed[row]] == []
    proven = FRAMED[version].union(*(row.ids for row in rows))
    reach = set(in_reach(version, Direction.CLIENT))
    assert proven <= reach
    unproven = {id for id in reach - proven if statement(id).severity != "note"}
    known = {id for id in UNPROVEN if statement(id).version == version.label}
    assert unproven == known | without_case(version, Direction.CLIENT).keys()
