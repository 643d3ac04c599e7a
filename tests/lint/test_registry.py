"""The registry of rules: how they are declared, and that none is missed."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqttpub import lint
from mqttpub.lint import connection
from mqttpub.lint.connection import conversation
from mqttpub.lint.connection.publish import published
from mqttpub.lint.connection.state import ConnectionState, Peer
from mqttpub.lint.fault import Fault
from mqttpub.lint.packet import fast
from mqttpub.lint.packet.view import PacketView
from mqttpub.lint.registry import RULES, InRuns, Rule, check_tables, cite, rule, run_tables
from mqttpub.spec.constraints import StatementRef
from mqttpub.spec.packets import Auth, Pingreq, Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.spec.versions import Version

FOLDER = Path(lint.__file__).parent


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> list[Rule]:
    """An empty registry in place of that of the program."""
    declared: list[Rule] = []
    monkeypatch.setattr("mqttpub.lint.registry.RULES", declared)
    monkeypatch.setattr("mqttpub.lint.packet.fast._quick", dict(fast._quick))
    for name in ("ACKS", "PINGS"):
        monkeypatch.setattr(f"mqttpub.lint.packet.fast.{name}", getattr(fast, name).copy())
    return declared


def test_a_rule_is_declared_with_its_packets_and_statements(rules: list[Rule]) -> None:
    @rule(Pingreq, cites=StatementRef("3.12.4-1"), severity="note")
    def never(packet: PacketView) -> Iterator[Fault]:
        """Nothing."""
        yield from ()

    assert rules == [Rule((Pingreq,), never, StatementRef("3.12.4-1"), None, "note", False, None)]


def test_a_statement_without_a_row_fails_when_the_rule_is_declared(rules: list[Rule]) -> None:
    for declare in (lambda: rule(Pingreq, cites=StatementRef("9.9/nothing")), lambda: cite(v31="9.9/nothing")):
        with pytest.raises(KeyError, match=r"MQTT(5|31)-9\.9/nothing"):
            declare()
    assert rules == []


def test_a_rule_in_a_module_without_a_place_in_the_order_fails(rules: list[Rule]) -> None:
    rule(Pingreq)(print)
    with pytest.raises(ImportError, match="rules in builtins, which has no place"):
        check_tables(conversation.RULE_MODULES)


IN_RUNS = {Publish, Puback, Pubrec, Pubrel, Pubcomp}


def test_something_stands_for_every_rule_of_packets_that_are_judged_quickly() -> None:
    for each in RULES:
        quick = {*each.packets} - {Auth} if each.cites else IN_RUNS.intersection(each.packets)
        assert each.runs or not quick, f"{each.check.__name__} needs runs=, see CONTRIBUTING"


def test_a_rule_without_anything_that_stands_for_it_takes_its_packets_from_the_quick_judgement(
    rules: list[Rule],
) -> None:
    ack = Puback(packet_id=1)
    assert fast.is_clean(ack, Version.V5)
    rule(Puback, Pingreq, cites=StatementRef("3.12.4-1"))(print)
    rule(Puback, cites=StatementRef("3.12.4-1"), runs=fast.clean_message_ack)(print)
    assert not fast.is_clean(ack, Version.V5)
    assert sorted(fast.ACKS) == [0x50, 0x62, 0x70]
    assert {*fast.PINGS.values()} == {b"", b"\xd0\0"}
    assert fast.is_clean(Pubrec(packet_id=1), Version.V5)


@pytest.mark.parametrize(
    ("cites", "runs"),
    [(StatementRef("3.12.4-1"), fast.clean_publish), (StatementRef("3.12.4-1"), InRuns()), (None, fast.is_clean)],
)
def test_what_cannot_stand_for_a_rule_is_refused(rules: list[Rule], cites: StatementRef | None, runs: Any) -> None:
    with pytest.raises(ValueError, match="cannot stand for a rule of PUBACK"):
        rule(Puback, cites=cites, runs=runs)
    assert rules == []


def test_two_rules_that_follow_packets_of_one_type_fail(rules: list[Rule]) -> None:
    for number in (1, 2):
        rule(Puback, runs=InRuns(follow=lambda stretch, row, stop, number=number: row))(published)
    with pytest.raises(ImportError, match="two rules follow packets of PUBACK"):
        run_tables(conversation.RULE_MODULES)


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


# who writes which attribute

WRITES = re.findall(r"^    (\w+) {2,}(\S.*(?:\n {18}\S.*)*)", connection.__doc__ or "", re.MULTILINE)
"""Rows of the table in the docstring of the package: module, what it writes."""
EVERY_RULE = {"exercised", "faults"}
"""Attributes that every rule writes."""


def test_the_table_of_writers_has_a_row_for_each_module_with_rules() -> None:
    modules = {module.__name__.rpartition(".")[2] for module in conversation.RULE_MODULES}
    assert {name for name, _ in WRITES} == modules | {"conversation", "must_close"}


@pytest.mark.parametrize(("module", "text"), WRITES)
def test_the_table_of_writers_names_every_attribute_that_a_module_sets(module: str, text: str) -> None:
    tree = ast.parse((FOLDER / "connection" / f"{module}.py").read_text())
    slots = {*ConnectionState.__slots__, *Peer.__slots__}
    written = {name for node in ast.walk(tree) for name in _set_by(node)} & slots
    assert written - EVERY_RULE <= set(re.findall(r"\w+", text))


def _set_by(node: ast.AST) -> Iterator[str]:
    """Yield the attributes of `state` and of peers that a statement assigns, in whole or in part."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    for target in targets:
        for each in target.elts if isinstance(target, ast.Tuple) else [target]:
            place = each.value if isinstance(each, ast.Subscript) else each
            if isinstance(place, ast.Attribute) and ast.unparse(place.value).split(".")[0] in OWNERS:
                yield place.attr


OWNERS = {"state", "peer", "client", "closer", "end"}
"""Variables that hold the state or a peer."""
