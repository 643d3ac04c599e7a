"""Statements of the specification in words."""

import pytest

from mqttpub.spec.statements import CLASSES, PARTIES, Statement, statement, statements
from mqttpub.view.terminal.cells import measure
from mqttpub.view.traffic.statements import description, explanation


def test_a_description_says_what_shows_a_violation_and_whom_it_binds() -> None:
    assert description(statement("MQTT5-3.3.1-2")).startswith("class ")
    row: Statement
    for row in statements():
        assert description(row) == f"class {row.visibility}: {CLASSES[row.visibility]}; binds {PARTIES[row.who]}"


@pytest.mark.parametrize("width", [60, 120])
def test_an_explanation_holds_the_whole_statement_within_the_width(width: int) -> None:
    for id in ("MQTT5-3.3.1-2", "MQTT311-3.3.1-2"):
        lines = list(explanation(id, width))
        assert max(map(measure, lines)) <= width
        words = " ".join("".join(text for text, _ in line) for line in lines).split()
        assert words == f"{statement(id).text} {description(statement(id))}".split()
