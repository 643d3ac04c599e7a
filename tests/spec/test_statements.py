"""The list of normative statements and how one is found in it."""

import subprocess
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

import mqttpub
from mqttpub.spec.reason_codes import Codes
from mqttpub.spec.statements import Statement, find, statement, statements
from mqttpub.spec.versions import Version

NUMBERED: dict[str, dict[str, int]] = {
    "5.0": {"A": 65, "A~": 1, "B": 94, "B*": 18, "BL": 31, "C2": 17, "C": 25},
    "3.1.1": {"A": 46, "A~": 1, "B": 32, "B*": 13, "BL": 19, "C2": 13, "C": 15},
    "3.1": {},
}
"""How many statements of each class the specification numbers; no other place says how many there are."""
BOUND = {"3.1.1": {"c": 39, "s": 65, "cs": 35}}
"""How many of them bind which end."""
PREFIXES = {"5.0": "MQTT5-", "3.1.1": "MQTT311-", "3.1": "MQTT31-"}

OURS = [
    "1.5.4/control", "1.5.5/length", "2.1.2/direction", "2.1.2/type", "2.1.4/short", "2.1.4/trailing",
    "2.2.1/zero", "2.2.2.1/short", "2.2.2.2/not-allowed", "2.2.2.2/range", "2.2.2.2/repeated",
    "2.2.2.2/unknown", "2.2.2.2/zero", "3.1.2.2/level", "3.1.2.11.10/method", "3.14.2.2.2/expiry",
    "3.3.2.1/empty", "3.3.2.3.2/utf8", "3.3.4/alias-unset", "3.8.3.1/qos", "3.8.3.1/retain-handling",
    "3.8.4/granted", "4.7.2/dollar", "4.8.2/retained", "6.0.0/frames",
]  # fmt: skip


def numbered(row: Statement) -> bool:
    """Say whether the specification gave this statement its label."""
    return "/" not in row.id


def ids(rows: list[Statement]) -> list[str]:
    """Return the ids of some statements."""
    return [row.id for row in rows]


each_version = pytest.mark.parametrize("version", PREFIXES)


@each_version
def test_every_class_has_its_count(version: str) -> None:
    assert Counter(row.visibility for row in statements(version) if numbered(row)) == NUMBERED[version]


@pytest.mark.parametrize("version", BOUND)
def test_every_side_has_its_count(version: str) -> None:
    assert Counter(row.who for row in statements(version) if numbered(row)) == BOUND[version]


def test_all_versions_newest_first() -> None:
    assert statements() == statements("5.0") + statements("3.1.1") + statements("3.1")


@each_version
def test_statements_stand_in_the_order_of_the_text(version: str) -> None:
    def place(row: Statement) -> tuple[list[int], bool, int]:
        parts = [99 if part == "A" else int(part) for part in row.section.split(".")]
        return parts, not numbered(row), int(row.label.rpartition("-")[2]) if numbered(row) else 0

    places = [place(row) for row in statements(version)]
    assert places == sorted(places)


def test_no_two_statements_have_the_same_id() -> None:
    assert max(Counter(row.id for row in statements()).values()) == 1


@pytest.mark.parametrize("label", OURS)
def test_rules_without_a_number_have_ids(label: str) -> None:
    assert statement(f"MQTT5-{label}").version == "5.0"


@each_version
def test_an_id_begins_with_its_version(version: str) -> None:
    for row in statements(version):
        assert row.version == version
        assert row.id == PREFIXES[version] + row.label


@each_version
def test_class_party_and_severity_are_among_those_described(version: str) -> None:
    for row in statements(version):
        assert row.visibility in {"A", "A~", "B", "B*", "BL", "C2", "C"}
        assert row.who in {"c", "s", "cs"}
        assert row.severity in {"error", "warning", "note"}


def test_an_answer_is_a_reason_code_that_refuses_or_ends_a_connection_in_5_0() -> None:
    answers = {row.id: row.answer for row in statements() if row.answer is not None}
    assert len(answers) == 64
    for id, code in answers.items():
        assert statement(id).version == "5.0", id
        assert any(Codes(packet).legal(code, Version.V5) for packet in ("DISCONNECT", "CONNACK", "PUBREC")), id


@each_version
def test_a_text_is_one_plain_sentence(version: str) -> None:
    for row in statements(version):
        assert row.text.isascii(), row.id
        assert row.text.isprintable(), row.id
        assert row.text == " ".join(row.text.split()), row.id
        assert row.text.endswith("."), row.id
        assert row.text[0].isupper(), row.id


@each_version
def test_the_data_is_a_plain_table(version: str) -> None:
    raw = files("mqttpub").joinpath("spec", "data", f"statements-{version}.tsv").read_bytes()
    header, *rows = raw.decode("ascii").split("\n")
    assert header == "id\tclass\twho\tseverity\tanswer\tequivalents\ttext"
    assert rows.pop() == ""
    assert len(rows) == len(statements(version))
    for row in rows:
        cells = row.split("\t")
        assert len(cells) == 7
        assert all(cell.isprintable() and cell == cell.strip() for cell in cells), row


@each_version
def test_equivalents_are_mutual(version: str) -> None:
    for row in statements(version):
        for equivalent in row.equivalents:
            other = statement(equivalent.removeprefix("~"))
            near = "~" if equivalent.startswith("~") else ""
            assert other.version != version
            assert near + row.id in other.equivalents
        assert len({name.removeprefix("~") for name in row.equivalents}) == len(row.equivalents), row.id


@pytest.mark.parametrize("version", ["3.1.1", "3.1"])
def test_equivalents_join_neighbouring_versions(version: str) -> None:
    joined = {"3.1.1": {"5.0", "3.1"}, "3.1": {"3.1.1"}}[version]
    found = {statement(name.removeprefix("~")).version for row in statements(version) for name in row.equivalents}
    assert found == joined


@pytest.mark.parametrize(
    ("id", "section"),
    [
        ("MQTT5-3.3.1-2", "3.3.1"),
        ("MQTT5-4.2-1", "4.2"),
        ("MQTT5-2.2.2.2/not-allowed", "2.2.2.2"),
        ("MQTT31-2.1/dup-where", "2.1"),
        ("MQTT31-A/hash", "A"),
    ],
)
def test_the_section_is_part_of_the_id(id: str, section: str) -> None:
    assert statement(id).section == section


def test_one_statement_in_full() -> None:
    assert statement("MQTT5-3.3.1-2") == (
        "MQTT5-3.3.1-2", "A", "cs", "error", None, ("MQTT311-3.3.1-2",), "A QoS 0 PUBLISH has DUP 0.",
    )  # fmt: skip


def test_one_row_of_each_severity() -> None:
    assert statement("MQTT5-3.3.2.3.2/utf8").severity == "warning"
    assert statement("MQTT5-2.2.1-2").severity == "note"
    assert statement("MQTT5-2.2.2.2/repeated").severity == "error"


@pytest.mark.parametrize("id", ["MQTT-3.3.1-2", "3.3.1-2", "MQTT5-3.3.1-99", "mqtt5-3.3.1-2", ""])
def test_statement_wants_the_full_id(id: str) -> None:
    with pytest.raises(KeyError, match=r"is not the id of a statement, such as MQTT5-3\.3\.1-2"):
        statement(id)


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'4' is not an MQTT version \(5\.0, 3\.1\.1, 3\.1\)"):
        statements("4")


@pytest.mark.parametrize("text", ["3.3.1-2", "MQTT-3.3.1-2", "[MQTT-3.3.1-2]", " [mqtt-3.3.1-2] ", "[3.3.1-2]"])
def test_a_label_finds_every_version(text: str) -> None:
    assert ids(find(text)) == ["MQTT5-3.3.1-2", "MQTT311-3.3.1-2"]


@pytest.mark.parametrize("text", ["MQTT311-3.3.1-2", "mqtt311-3.3.1-2", "[MQTT311-3.3.1-2]"])
def test_a_full_id_finds_one(text: str) -> None:
    assert ids(find(text)) == ["MQTT311-3.3.1-2"]


@each_version
def test_every_id_finds_itself(version: str) -> None:
    for row in statements(version):
        assert find(row.id) == [row]
        assert row in find(f"[MQTT-{row.label}]".lower())


@pytest.mark.parametrize("text", ["2.2.2.2/Repeated", "MQTT-2.2.2.2/repeated", "mqtt5-2.2.2.2/repeated"])
def test_a_rule_without_a_number_is_found(text: str) -> None:
    assert ids(find(text)) == ["MQTT5-2.2.2.2/repeated"]


def test_a_section_finds_all_that_lies_in_it() -> None:
    found = find("2.2.2")
    assert {row.section for row in found} == {"2.2.2", "2.2.2.1", "2.2.2.2"}
    assert {row.version for row in found} == {"5.0", "3.1.1"}
    assert ids(find("3.1.2.1")) == ["MQTT311-3.1.2.1/name"]


def test_a_section_has_as_many_statements_as_the_text() -> None:
    assert len([row for row in find("MQTT5-3.3.1") if numbered(row)]) == 13
    assert len([row for row in find("3.3.1") if row.version == "3.1.1"]) == 12


@pytest.mark.parametrize(
    ("text", "prefix"), [("MQTT31-3.3", "MQTT31-3.3/"), ("mqtt31-a", "MQTT31-A/"), ("A", "MQTT31-A/")]
)
def test_a_section_of_one_version(text: str, prefix: str) -> None:
    found = find(text)
    assert found
    assert all(row.id.startswith(prefix) for row in found)


@pytest.mark.parametrize("text", ["", " ", "[]", "MQTT5", "MQTT-", "3.3.1-", "3.3.1.", "9.9", "MQTT6-3.3.1-2", "dup"])
def test_anything_else_finds_nothing(text: str) -> None:
    assert find(text) == []


def test_importing_reads_nothing() -> None:
    script = """
import sys
import mqttpub.spec.statements as module
assert module._load.cache_info().currsize == 0
print(*sorted({"csv", "dataclasses", "importlib.resources"} & set(sys.modules)))
"""
    root = Path(mqttpub.__file__).parents[1]
    command = [sys.executable, "-S", "-c", script]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
