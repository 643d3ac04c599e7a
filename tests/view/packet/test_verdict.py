"""The verdict of a packet."""

from mqttpub.codec.tree import Finding
from mqttpub.view.packet.verdict import finding_record, verdict, worst
from mqttpub.wire.cursor import Span


def found(severity: str, statement: str = "") -> Finding:
    """Return a finding."""
    return Finding(severity, "publish.dup", Span(0, 1), "is wrong", statement, mask=8)


def test_the_worst_decides_and_of_equals_the_first() -> None:
    note, warning, one, two = found("note"), found("warning"), found("error", "A"), found("error", "B")
    assert worst([note, warning, one, two]) is one
    assert worst([note, warning]) is warning
    assert worst([]) is None


def test_the_verdict_is_the_statement() -> None:
    assert verdict(found("error", "MQTT5-3.3.1-2")) == "MQTT5-3.3.1-2"
    assert verdict(found("note")) == "note"
    assert verdict(None) == "ok"


def test_a_finding_is_a_json_object() -> None:
    assert finding_record(found("error", "A")) == {
        "severity": "error", "path": "publish.dup", "offset": 0, "length": 1, "mask": 8, "message": "is wrong",
        "statement": "A", "at_fault": None,
    }  # fmt: skip
