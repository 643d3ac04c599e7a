"""The registry of rules: how they are declared, and that none is missed."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqttpub import lint
from mqttpub.lint.connection import conversation
from mqttpub.lint.fault import Fault
from mqttpub.lint.packet.view import PacketView
from mqttpub.lint.registry import RULES, Rule, check_tables, cite, rule
from mqttpub.spec.constraints import StatementRef
from mqttpub.spec.packets import Pingreq

FOLDER = Path(lint.__file__).parent


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> list[Rule]:
    """An empty registry in place of that of the program."""
    declared: list[Rule] = []
    monkeypatch.setattr("mqttpub.lint.registry.RULES", declared)
    return declared


def test_a_rule_is_declared_with_its_packets_and_statements(rules: list[Rule]) -> None:
    @rule(Pingreq, cites=StatementRef("3.12.4-1"), severity="note")
    def never(packet: PacketView) -> Iterator[Fault]:
        """Nothing."""
        yield from ()

    assert rules == [Rule((Pingreq,), never, StatementRef("3.12.4-1"), None, "note", False)]


def test_a_statement_without_a_row_fails_when_the_rule_is_declared(rules: list[Rule]) -> None:
    for declare in (lambda: rule(Pingreq, cites=StatementRef("9.9/nothing")), lambda: cite(v31="9.9/nothing")):
        with pytest.raises(KeyError, match=r"MQTT(5|31)-9\.9/nothing"):
            declare()
    assert rules == []


def test_a_rule_in_a_module_without_a_place_in_the_order_fails(rules: list[Rule]) -> None:
    rule(Pingreq)(print)
    with pytest.raises(ImportError, match="rules in builtins, which has no place"):
        check_tables(conversation.RULE_MODULES)


def test_every_rule_has_packets_and_a_statement() -> None:
    for each in RULES:
        assert each.packets
        assert each.cites is None or any(each.cites)


def test_every_module_with_rules_is_loaded() -> None:
    code = "import mqttpub.lint.judge, mqttpub.lint.registry as r; print(*{each.check.__module__ for each in r.RULES})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) == {f"mqttpub.lint.{name}" for name in _with_rules()}


def _with_rules() -> Iterator[str]:
    """Yield the modules that call the decorator, by their files."""
    for path in sorted(FOLDER.rglob("*.py")):
        calls = (each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call))
        if any(isinstance(each.func, ast.Name) and each.func.id == "rule" for each in calls):
            yield ".".join(path.relative_to(FOLDER).with_suffix("").parts)
