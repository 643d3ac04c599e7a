"""SARIF 2.1.0, checked by hand against what the specification of the format demands."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.tree import Finding
from mqttpub.reading.judged import JudgedEvent
from mqttpub.reading.located import Location
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints, GapSeen
from mqttpub.view.export.sarif import Sarif, uri
from mqttpub.wire.cursor import Span
from tests.view.finding_cases import DUP, WRONG, case, ending

RESULT = {"ruleId", "ruleIndex", "level", "message", "locations", "properties"}
RULE = {"id", "shortDescription", "fullDescription", "help", "defaultConfiguration", "properties"}
REGION = {"byteOffset", "byteLength", "startLine", "endLine"}
"""Names that the schema has, as far as they are used; it forbids all others outside of property bags."""
URI = re.compile(r"(file://)?[A-Za-z0-9._~!$&'()*+,;=@/%-]+")


def log(*cases: JudgedEvent, failures: tuple[str, ...] = (), remarks: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the whole log, which is one JSON document."""
    sarif = Sarif("1.2.3")
    text = sarif.begin() + "".join(line for each in cases for line in sarif.results(each))
    made: dict[str, Any] = json.loads(text + sarif.end(failures, remarks))
    return made


def run(*cases: JudgedEvent, **more: tuple[str, ...]) -> dict[str, Any]:
    """Return the one run of a log."""
    (only,) = log(*cases, **more)["runs"]
    assert isinstance(only, dict)
    return only


def region(given: JudgedEvent) -> dict[str, int]:
    """Return the region of the first result of a case."""
    physical = run(given)["results"][0]["locations"][0]["physicalLocation"]
    found: dict[str, int] = physical.get("region", {})
    return found


def assert_valid(made: dict[str, Any]) -> None:
    """Assert what the schema and the references within a log demand."""
    assert set(made) == {"$schema", "version", "runs"}
    assert made["version"] == "2.1.0"
    (only,) = made["runs"]
    assert set(only) == {"results", "tool", "invocations", "columnKind"}
    rules = only["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert set(rule) <= RULE
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    for result in only["results"]:
        assert_result(result, rules)


def assert_result(result: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    """Assert the same of one result."""
    assert set(result) == RESULT
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] in ("error", "warning", "note")
    assert result["message"]["text"].isprintable()
    (location,) = result["locations"]
    assert set(location) <= {"logicalLocations", "physicalLocation"}
    physical = location.get("physicalLocation")
    if physical:
        assert URI.fullmatch(physical["artifactLocation"]["uri"])
        given = physical.get("region", {})
        assert set(given) <= REGION
        assert given.get("startLine", 1) > 0
        assert given.get("byteOffset", 0) >= 0
        assert given.get("byteLength", 0) >= 0


@settings(max_examples=40)
@given(st.lists(WRONG, max_size=4), st.text(max_size=9))
def test_any_log_is_valid_sarif(cases: list[JudgedEvent], text: str) -> None:
    made = log(*cases, failures=(text,), remarks=(text,))
    assert_valid(made)
    assert len(made["runs"][0]["results"]) == sum(len(each.findings) for each in cases)


def test_without_findings_it_is_valid_too() -> None:
    assert_valid(log())
    assert run()["invocations"][0]["executionSuccessful"] is True


def test_a_rule_is_a_statement() -> None:
    first, second = run(case(DUP), case(DUP))["tool"]["driver"]["rules"]
    row = statement("MQTT5-3.3.1-2")
    assert (first["id"], second["id"]) == (row.id, "MQTT5-2.2.2.1/short")
    assert first["shortDescription"]["text"] == row.text
    assert first["defaultConfiguration"] == {"level": "error"}
    assert "MQTT 5.0, section 3.3.1; class A" in first["fullDescription"]["text"]


def test_a_result_names_its_packet() -> None:
    first, second = run(case(DUP, client="me"))["results"]
    assert first["ruleId"] == "MQTT5-3.3.1-2"
    assert first["message"]["text"] == ("PUBLISH from the client, record 17, connection 3, me: DUP is 1, but QoS is 0.")
    assert second["ruleIndex"] == 1
    assert second["properties"]["hex"] == "68"
    (logical,) = second["locations"][0]["logicalLocations"]
    assert logical["fullyQualifiedName"] == "connection 3/packet 4/publish.properties.property_length"
    (end,) = run(ending())["results"]
    assert end["message"]["text"].startswith("record 18, connection 3, c\\x1b[0m: no PUBACK")


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (Location("a.bin", 99, start=10), {"byteOffset": 10, "byteLength": 1}),
        (Location("a.hex", 99, line=5), {"startLine": 5, "endLine": 5}),
        (Location("a.pcap", 99), {"byteOffset": 0, "byteLength": 99}),
        (Location("a.pcap"), {}),
    ],
)
def test_the_region_is_as_near_as_is_known(location: Location, expected: dict[str, int]) -> None:
    assert region(case(DUP, location=location)) == expected


def test_an_input_that_is_not_a_file_has_no_physical_location() -> None:
    for result in run(case(DUP, location=Location()))["results"]:
        assert "physicalLocation" not in result["locations"][0]


def test_bytes_that_are_not_mqtt_have_a_rule() -> None:
    gap = GapSeen(Endpoints(1, "", ""), None, 1, 0, Direction.CLIENT, None, b"\x81", "no \x1b frame", True)
    finding = Finding("error", "subscribe", Span(0, 1), gap.message, "MQTT5-6.0.0/frames")
    only = run(JudgedEvent(gap, [finding], Version.V5))
    assert [rule["id"] for rule in only["tool"]["driver"]["rules"]] == ["MQTT5-6.0.0/frames"]
    assert only["results"][0]["ruleId"] == "MQTT5-6.0.0/frames"
    assert only["results"][0]["message"]["text"] == "record 1, connection 1: no \\x1b frame."


def test_what_cannot_be_read_is_a_failure() -> None:
    (invocation,) = run(failures=("no\x1b file",), remarks=("half of it",))["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [(each["level"], each["message"]["text"]) for each in invocation["toolExecutionNotifications"]] == [
        ("error", "no\\x1b file"), ("note", "half of it"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/b c.pcap", "a/b%20c.pcap"),
        ("/tmp/\u00e9:1.pcap", "file:///tmp/%C3%A9%3A1.pcap"),
        ("../x#y.hex", "../x%23y.hex"),
        ("c:d", "c%3Ad"),
        ("\udcff.bin", "%FF.bin"),
    ],
)
def test_a_name_becomes_a_uri(name: str, expected: str) -> None:
    assert uri(name) == expected
