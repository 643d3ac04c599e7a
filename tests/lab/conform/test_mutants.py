"""Statements proven twice: a peer that keeps them passes, and a peer that breaks just one of them is caught."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import pytest

from mqttpub.lab.conform.cases import in_reach
from mqttpub.lab.conform.playing import CaseResult
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Version
from tests.lab.conform.proving import (
    FRAMED,
    LONG_S,
    SHORT_S,
    MutantRow,
    against,
    broken,
    changed,
    mutants,
    named,
    unchanged,
)
from tests.paths import TESTS

ROWS = mutants((TESTS / "lab" / "conform" / "mutants.txt").read_text())
AT_A_TIME = 64
"""Most of them wait, most of the time."""
NEVER = "no server can break it: two length bytes cannot say more"
OPEN = "the text does not say after how long"
UNPROVEN = {
    "MQTT5-3.1.2.11.4/too-large": "only a packet larger than the Maximum Packet Size of the server shows it",
    "MQTT5-4.7.3-1": "an empty Topic Name of a server breaks MQTT5-3.3.2.1/empty, which says the same",
    "MQTT5-4.7.3-3": NEVER, "MQTT311-4.7.3-3": NEVER, "MQTT31-A/length": NEVER,
    "MQTT311-3.1.4/no-connect": OPEN, "MQTT31-3.1/no-connect": OPEN,
    "MQTT31-4.2/broker": OPEN, "MQTT31-4.2/slower": OPEN,
    "MQTT31-2.6/qos-byte": "other bits of a granted QoS break MQTT31-3.9/code",
}  # fmt: skip
"""Why each of the statements in reach that no row proves is not; a note breaks nothing, and needs no reason."""


class Proof(NamedTuple):
    """How the case of a row ends against a peer that plays its lines unchanged, and against that of the row."""

    row: MutantRow
    unchanged: CaseResult
    changed: CaseResult

    @property
    def wrong(self) -> str:
        """What the row does not prove, as a sentence; empty if it does."""
        if not broken(self.unchanged).isdisjoint(self.row.ids):
            return f"{self.row}: the peer that keeps it has {sorted(broken(self.unchanged))}: {self.unchanged.why}"
        found = broken(self.changed)
        return "" if found.issuperset(self.row.ids) else f"{self.row}: found {sorted(found)}: {self.changed.why}"


@pytest.fixture(scope="module")
def proofs() -> list[Proof]:
    """Return what all rows prove; those that wait longest begin."""
    rows = sorted(ROWS, key=lambda row: -named(row.version, row.case).wait_s)
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        keepers: dict[tuple[Version, str], Future[CaseResult]] = {}
        breakers: list[Future[CaseResult]] = []
        for row in rows:
            case = named(row.version, row.case)
            if (row.version, row.case) not in keepers:
                keepers[row.version, row.case] = pool.submit(against, case, unchanged(case), LONG_S)
            breakers.append(pool.submit(against, case, changed(case, row), SHORT_S))
        both = zip(rows, breakers, strict=True)
        return [Proof(row, keepers[row.version, row.case].result(), each.result()) for row, each in both]


@pytest.mark.slow
@pytest.mark.parametrize("version", list(Version), ids=str)
def test_a_peer_that_breaks_a_statement_is_caught(version: Version, proofs: list[Proof]) -> None:
    rows = [each for each in proofs if each.row.version is version]
    assert list(filter(None, (each.wrong for each in rows))) == []
    proven = FRAMED[version].union(*(each.row.ids for each in rows))
    reach = set(in_reach(version))
    assert proven <= reach
    unproven = {id for id in reach - proven if statement(id).severity != "note"}
    assert unproven == {id for id in UNPROVEN if statement(id).version == version.label}
