"""Findings picked by statement and severity, counted, and not too many of one statement shown."""

import pytest

from mqttpub.codec.tree import Finding
from mqttpub.common.errors import UserError
from mqttpub.reading.selection import Selection
from mqttpub.spec.statements import statement
from mqttpub.wire.cursor import Span


def found(id: str, severity: str = "error", count: int = 1) -> list[Finding]:
    """Return equal findings."""
    return [Finding(severity, "publish", Span(0, 1), "message", id)] * count


def test_an_id_is_not_the_beginning_of_a_longer_id() -> None:
    chosen = Selection(["3.3.1-1"])
    assert chosen.covers(statement("MQTT311-3.3.1-1"))
    assert not chosen.covers(statement("MQTT5-3.3.1-10"))
    assert not Selection(["3.1"]).covers(statement("MQTT5-3.10.1-1"))


def test_findings_above_the_limit_are_counted_but_not_shown() -> None:
    selection = Selection(limit=2)
    assert len(selection.pick(found("MQTT5-3.3.1-2", count=5))) == 2
    assert len(selection.pick(found("MQTT5-3.3.2-1"))) == 1
    assert selection.counts == {"error": 6, "warning": 0, "note": 0}
    assert selection.left_out == {"MQTT5-3.3.1-2": 3}


def test_ignored_statements_and_lower_severities_are_not_counted() -> None:
    selection = Selection(ignore=["3.3.1-2"], severity="warning")
    given = [*found("MQTT5-3.3.1-2"), *found("MQTT5-3.3.2-1", "note"), *found("MQTT5-3.3.2-1", "warning")]
    assert selection.pick(given) == given[-1:]
    assert selection.counts == {"error": 0, "warning": 1, "note": 0}


def test_a_term_that_matches_no_statement_is_an_error_with_its_flag() -> None:
    with pytest.raises(UserError, match=r"--ignore: no statement is called '9\.9'"):
        Selection(ignore=["3.3,9.9"])
