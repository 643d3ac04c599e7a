"""What the specification leaves open breaks nothing, and what breaks one statement breaks no other."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mqttpub.lab.conform.run import speaks
from mqttpub.script.reader import read_script
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Version
from tests.lab.conform.proving import LONG_S, SHORT_S, MutantRow, against, broken, changed, mutants, named, peer
from tests.paths import TESTS

ROWS = mutants((TESTS / "lab" / "conform" / "left_open.txt").read_text())


def test_what_is_left_open_is_not_broken() -> None:
    def wrongly_broken(row: MutantRow) -> str:
        case = named(row.version, row.case)
        result = against(case, changed(case, row), SHORT_S)
        return f"{row}: {result.why}" if not broken(result).isdisjoint(row.ids) else ""

    assert all(statement(id) for row in ROWS for id in row.ids)
    with ThreadPoolExecutor(len(ROWS)) as pool:
        assert list(filter(None, pool.map(wrongly_broken, ROWS))) == []


def test_no_topic_alias_is_above_the_highest_maximum() -> None:
    case = named(Version.V5, "alias-above-maximum")
    offers = list(read_script(["> connect; < connack topic_alias_maximum=65535; > publish q1 i1; < puback i1"]))
    result = against(case, offers, SHORT_S)
    assert (result.verdict, result.why) == ("not exercised", "Topic Alias Maximum is 65535 in CONNACK")


@pytest.mark.parametrize(
    ("version", "answer", "why"),
    [
        (Version.V5, "< raw 20 02 00 01", "it refuses its CONNECT with 0x01"),
        (Version.V5, "< raw 20 02 00 00", "it answers its CONNECT with a CONNACK of another version"),
        (Version.V5, "< raw 30 03 00 01 61", "it answers its CONNECT with something else than CONNACK"),
        (Version.V311, "server FIN", "it closes the connection"),
        (Version.V5, "> pingreq", "it does not answer its CONNECT"),
    ],
)
def test_why_a_version_is_not_spoken_is_said(version: Version, answer: str, why: str) -> None:
    steps = list(read_script(["version 5.0 3.1.1", f"> connect; {answer}"]))
    with peer(steps, version, 1.0 if "ping" in answer else LONG_S) as access:
        assert speaks(version, access) == why
