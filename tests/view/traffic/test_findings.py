"""Findings below the bytes that they are about, and as records."""

import json

import pytest
from hypothesis import given, settings

from mqttpub.codec.tree import finding
from mqttpub.reading.judged import JudgedEvent
from mqttpub.reading.located import Location
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Direction
from mqttpub.view.packet.dump import annotate, plain
from mqttpub.view.packet.record_json import dumps
from mqttpub.view.traffic.findings import FindingLines, excerpt, records
from mqttpub.view.traffic.statements import description
from mqttpub.wire.cursor import Span
from tests.view.drawn import check
from tests.view.finding_cases import DUP, TIME, WRONG, case, ending

laws = settings(max_examples=50)
SECRET = "101b00044d51545405c2003c0000016100026d65000673656372657480"


def drawn(given: JudgedEvent, width: int = 80, *, absolute: bool = False) -> str:
    """Return a case as text."""
    return plain(check(FindingLines(width=width, absolute=absolute).lines(given), width))


def test_a_finding_is_shown_below_its_bits() -> None:
    assert drawn(case(DUP, client="me", topic="a/b", offset=9)) == (
        "> PUBLISH  QoS 0  7 bytes  MQTT 5.0\n"
        "  at 0.000000, record 17, packet 4, offset 9, topic a/b, me\n"
        "0000  38                       8         Fixed header\n"
        "      .... 1...                            DUP            1\n"
        "           ^                                 this is a re-delivery\n"
        "error  DUP is 1, but QoS is 0                                      MQTT5-3.3.1-2\n"
        "0005  68                       h         Property Length  104 bytes\n"
        "      ^^\n"
        "error  Property Length 104, but 1 byte is left               MQTT5-2.2.2.1/short"
    )


def test_of_a_long_field_the_first_row_and_the_rows_at_fault_are_shown() -> None:
    given = case(b"\x30\x4e\x00\x4b" + b"a" * 70 + b"+" + b"b" * 4 + b"\0")
    rows = [line[:4] for line in drawn(given).splitlines() if line[:2] == "00"]
    assert rows == ["0002", "004a"]
    assert "... 64 more bytes" in drawn(given)
    assert drawn(given).count("^^") == 1


def test_the_end_of_a_connection_has_no_bytes() -> None:
    assert drawn(ending()) == (
        "connection 3  c\\x1b[0m  MQTT 5.0\n"
        "  line 9, at 0.000000, record 18\n"
        "error  no PUBACK for Packet Identifier 5 came                      MQTT5-4.3.2-4"
    )


def test_unknown_values_are_left_out() -> None:
    given = case("", time=None, record=0, number=0, location=Location())
    assert "\n  " not in drawn(given)
    assert drawn(case(DUP, guessed=True)).splitlines()[1].endswith("packet 4, version guessed")


def test_times_are_relative_to_the_given_start() -> None:
    lines = FindingLines()
    lines.begin(TIME - 1_500_000_000)
    assert "at 1.500000" in plain(lines.lines(case(DUP)))
    assert "at 2023-11-14T22:13:20.123456Z" in drawn(case(DUP), absolute=True)


def test_an_explanation_is_shown_below_each_finding() -> None:
    lines = plain(FindingLines(explain=True).lines(case(DUP))).splitlines()
    for id in ("MQTT5-3.3.1-2", "MQTT5-2.2.2.1/short"):
        at = next(number for number, line in enumerate(lines) if line.endswith(f" {id}"))
        assert lines[at + 1].strip().startswith(statement(id).text[:40])
    assert plain(FindingLines(explain=True).lines(ending())).endswith(description(statement("MQTT5-4.3.2-4")))


@laws
@given(WRONG)
def test_every_finding_is_shown_once(given: JudgedEvent) -> None:
    for width in (60, 80, 120):
        text = " ".join(drawn(given, width).split())
        for each in given.findings:
            same = [one for one in given.findings if one.statement == each.statement]
            assert text.count(f"{each.statement} ") + text.endswith(each.statement) >= 1
            assert text.count(each.severity) >= len(same)


@laws
@given(WRONG)
def test_an_excerpt_is_a_part_of_the_dump(given: JudgedEvent) -> None:
    assert given.decoded
    given.decoded.findings = list(given.findings)
    shown = plain(excerpt(given.decoded, full=True)).splitlines()
    whole = plain(annotate(given.decoded, limit=None)).splitlines()
    bytes_of = {line[:30].rstrip() for line in whole if line[:1] == "0"}
    assert {line[:30].rstrip() for line in shown if line[:1] == "0"} <= bytes_of
    assert [line for line in shown if line.startswith(("error", "warning", "note"))] == [
        line for line in whole if line.startswith(("error", "warning", "note"))
    ]


# records


@laws
@given(WRONG)
def test_a_record_is_a_line_of_json_with_the_bytes_of_the_place(given: JudgedEvent) -> None:
    assert given.decoded
    for each, known in zip(given.findings, records(given, secrets=True, full=True), strict=True):
        entry = json.loads(dumps(known))
        start, stop = each.span
        assert bytes.fromhex(entry["hex"]) == given.decoded.data[start:stop]
        assert (entry["offset"], entry["length"], entry["mask"]) == (start, stop - start, each.mask)
        assert entry["severity"] == each.severity
        assert None not in entry.values()


def test_a_record_names_the_place() -> None:
    _, entry = records(case(DUP, client="me", offset=9, location=Location("t.hex", 0, 3)))
    assert entry == {
        "severity": "error", "statement": "MQTT5-2.2.2.1/short", "message": "Property Length 104, but 1 byte is left",
        "reason_code": 0x81, "reason": "Malformed Packet", "file": "t.hex", "line": 3, "record": 17,
        "time": "2023-11-14T22:13:20.123456Z", "connection": 3, "client": "me", "address": "10.0.0.1:50000",
        "server": "10.0.0.2:1883", "direction": "client", "version": "5.0", "type": "PUBLISH", "packet": 4,
        "packet_offset": 9, "path": "publish.properties.property_length", "offset": 5, "length": 1, "mask": 0,
        "hex": "68", "at_fault": "client",
    }  # fmt: skip


def test_the_record_of_an_end_has_no_bytes() -> None:
    (entry,) = records(ending())
    assert not {"hex", "offset", "path", "type"} & set(entry)
    assert "direction" not in entry


@pytest.mark.parametrize(("secrets", "expected"), [(False, "0006" + "**" * 7), (True, "000673656372657480")])
def test_a_secret_is_masked(secrets: bool, expected: str) -> None:
    given = case(SECRET)
    wrong = finding("MQTT5-2.1.4/trailing", "connect.trailing", Span(20, 29), "something")
    (entry,) = records(given._replace(findings=[wrong]), secrets=secrets)
    assert entry["hex"] == expected


def test_of_many_bytes_some_are_shown_and_the_others_counted() -> None:
    given = case(b"\xc0\x00" + b"x" * 300, direction=Direction.CLIENT)
    (entry,) = records(given)
    assert (len(entry["hex"]), entry["bytes_left_out"]) == (512, 44)
    (whole,) = records(given, full=True)
    assert len(whole["hex"]) == 600
