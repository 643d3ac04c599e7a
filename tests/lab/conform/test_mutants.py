"""Statements proven twice: a peer that keeps them passes, and a peer that breaks just one of them is caught."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mqttpub.lab.conform.cases import in_reach
from mqttpub.spec.versions import Version
from tests.lab.conform.proving import MutantRow, against, broken, changed, mutants, named, unchanged
from tests.paths import TESTS

ROWS = mutants((TESTS / "lab" / "conform" / "mutants.txt").read_text())
AT_A_TIME = 16
PROVEN = {Version.V31: (3, 84), Version.V311: (4, 110), Version.V5: (5, 203)}
"""How many statements of each version are proven so for servers, and how many are in reach."""


@pytest.mark.slow
@pytest.mark.parametrize("version", list(Version), ids=str)
def test_a_peer_that_breaks_one_statement_is_caught(version: Version) -> None:
    def missed(row: MutantRow) -> str:
        case = named(version, row.case)
        keeps = broken(against(case, unchanged(case)))
        if not keeps.isdisjoint(row.ids):
            return f"{row}: the peer that keeps it has {sorted(keeps)}"
        breaks = broken(against(case, changed(case, row)))
        return "" if set(row.ids) <= breaks else f"{row}: found {sorted(breaks)}"

    rows = [row for row in ROWS if row.version is version]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        assert list(filter(None, pool.map(missed, rows))) == []
    proven = {id for row in rows for id in row.ids}
    assert proven <= set(in_reach(version))
    assert (len(proven), len(in_reach(version))) == PROVEN[version]
