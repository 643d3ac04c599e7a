"""What results say of statements."""

import pytest

from mqttpub.lab.conform.verdicts import StatementVerdict, verdicts
from mqttpub.script.reader import read_script
from mqttpub.spec.versions import Direction, Version
from tests.lab.conform import client_proving
from tests.lab.conform.proving import MutantRow, against, changed, named


def of_change(version: Version, case: str, old: str, new: str) -> dict[str, StatementVerdict]:
    """Return the verdicts on statements that a change to the lines of a peer breaks, by label."""
    row = MutantRow(("",), version, case, old, new)
    found = verdicts(version, [against(named(version, case), changed(named(version, case), row))])
    return {each.statement.label: each for each in found if each.verdict == "broken"}


@pytest.mark.parametrize("version", [Version.V5, Version.V311], ids=str)
def test_what_the_text_leaves_open_is_broken_but_no_violation(version: Version) -> None:
    # A PUBACK after a message of QoS 0 only: the text says nothing of acknowledgements that nothing awaits.
    found = of_change(version, "qos0", "[p] < none 0.2s", "[p] < puback i9")
    assert {label: each.is_violation for label, each in found.items()} == {"3.3.4-1": False}


def test_a_step_that_fails_violates_just_what_its_line_decides() -> None:
    found = of_change(Version.V5, "unchanged", "p=2 response_topic=${run}/r; [s]", "p=2 response_topic=x; [s]")
    assert {label: each.is_violation for label, each in found.items()} == {"3.3.2-15": True}


def test_what_only_a_server_must_do_is_no_violation_of_a_client() -> None:
    # 4.13.1: a client that detects a Protocol Error should close the connection.
    case = client_proving.named(Version.V5, "alias-too-high")
    steps = list(read_script(["> connect; < connack; < publish; > pingreq; +1.5"]))
    found = verdicts(Version.V5, [client_proving.against(case, steps)], Direction.CLIENT)
    broken = {each.statement.label: each.is_violation for each in found if each.verdict == "broken"}
    assert broken == {"3.3.4/alias-range": False}


def test_a_recommendation_that_is_broken_is_no_violation() -> None:
    found = of_change(Version.V5, "ping", "< connack c=00", "< connack c=00 server_reference=x")
    assert {label: each.is_violation for label, each in found.items()} == {"4.11/server-reference": False}
