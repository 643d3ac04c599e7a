"""Every statement that a connection shows: one conversation that breaks it, and one that nearly does."""

import pytest

from mqttpub.lint.connection import Conversation, checkable
from mqttpub.spec.statements import statement, statements
from mqttpub.spec.versions import Direction, Version
from tests.lint.connection.conversation_text import Heard, Row, hear
from tests.lint.connection.not_seen import NOT_SEEN
from tests.lint.connection.tables import FAULTS, NEAR


def both_ways(row: Row) -> Heard:
    """Return what is found, whether packets were decoded or only their values read."""
    whole, fast = hear(row.text, row.version), hear(row.text, row.version, fast=True)
    assert repr(whole.found) == repr(fast.found)
    assert whole.tally == fast.tally
    return whole


@pytest.mark.parametrize("row", FAULTS, ids=str)
def test_a_fault_is_found_in_its_packet_under_its_statement(row: Row) -> None:
    heard = both_ways(row)
    assert [bool(one) for one in heard.found] == heard.faults, heard.found
    last = max(index for index, fault in enumerate(heard.faults) if fault)
    assert row.ids[0] in [each.statement for each in heard.found[last]], heard.found
    assert set(row.ids) <= set(heard.tally.broken)
    for each in heard.found[last]:
        assert 0 <= each.span.start <= each.span.stop <= len(heard.data[last])
        assert each.message.isprintable()
        assert bool(heard.data[last]) == bool(each.span.length)


@pytest.mark.parametrize("row", FAULTS, ids=str)
def test_the_end_at_fault_is_the_one_that_the_statement_binds_or_that_did_it(row: Row) -> None:
    heard = both_ways(row)
    for found, end in zip(heard.found, heard.at_fault, strict=True):
        for each in found:
            assert each.at_fault == (statement(each.statement).bound or end) is not None, each


@pytest.mark.parametrize("row", NEAR, ids=str)
def test_a_near_miss_is_tested_and_not_reported(row: Row) -> None:
    heard = both_ways(row)
    assert [bool(one) for one in heard.found] == heard.faults, heard.found
    assert not set(row.ids) & set(heard.tally.broken)
    for id in row.ids:
        assert heard.tally.kept(id) > 0


IN_TABLES = {id for row in FAULTS for id in row.ids}, {id for row in NEAR for id in row.ids}


def test_every_statement_of_a_connection_has_a_fault_and_a_near_miss_or_a_reason() -> None:
    for row in statements():
        if row.visibility.startswith("B"):
            assert all(row.id in table for table in IN_TABLES) != (row.id in NOT_SEEN), row.id


def test_every_statement_that_passive_observation_shows_is_checked() -> None:
    assert [id for id in NOT_SEEN if statement(id).visibility == "B"] == []


@pytest.mark.parametrize("version", list(Version))
def test_the_checkable_statements_are_those_with_cases(version: Version) -> None:
    faults = {id for row in FAULTS if row.version == version for id in row.ids}
    assert set(checkable(version)) == faults
    assert Conversation(version).tally.exercised == {}


def test_a_situation_that_did_not_occur_is_not_exercised() -> None:
    tally = hear("@ > subscribe i1; < suback i1", Version.V5).tally
    assert "MQTT5-3.8.4-1" in tally.exercised
    assert not {"MQTT5-3.8.4-5", "MQTT5-3.10.4-4", "MQTT5-3.12.4-1"} & set(tally.exercised)


def test_a_finding_has_the_reason_code_of_the_answer() -> None:
    found = hear("> connect; < connack receive_maximum=1; > publish q1 i1; > publish q1 i2", Version.V5).found[-1]
    assert [each.reason for each in found] == [0x93]


# the end at fault

UNANSWERED = "@ > subscribe i1 f=a:q1; < suback i1 c01; < publish q1 i5; > publish q1 i6; +20; > pingreq; < pingresp"


@pytest.mark.parametrize("closing", ["client RST", "server RST", "end"])
@pytest.mark.parametrize("version", list(Version))
def test_each_end_is_at_fault_for_what_it_left_undone_whoever_closed(version: Version, closing: str) -> None:
    found = hear(f"{UNANSWERED}; {closing}", version).found[-1]
    assert {each.message[:18]: each.at_fault for each in found} == {
        "PUBLISH (packet 6)": Direction.SERVER, "PUBLISH (packet 5)": Direction.CLIENT,
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["@ < subscribe i5; !< unsubscribe i5", "> connect; < connack; < disconnect; !< pingresp", "@ !< connect"],
)
@pytest.mark.parametrize("version", list(Version))
def test_a_packet_of_the_wrong_end_is_the_fault_of_who_sent_it(version: Version, text: str) -> None:
    found = [each for step in hear(text, version).found for each in step]
    assert {each.at_fault for each in found} <= {Direction.SERVER}


# severities


@pytest.mark.parametrize(
    ("text", "severities"),
    [
        # A server may subscribe for a client (4.5), so no topic is wrong for certain.
        ("@ !< publish", "ww."),
        ("@ > subscribe i1 f=#; < suback i1; !< publish t=$a", "ww."),
        # What follows an ack that nothing awaits is said for PUBREL and PUBCOMP, and in 5.0 only.
        ("@ !< puback i6", "www"),
        ("@ !< pubrec i6", "www"),
        ("@ !> pubrel i6", "eww"),
        ("@ !< pubcomp i6", "eww"),
        ("@ > publish; !< puback i5", "www"),
        ("@ > publish; !< pubrec i5", "www"),
        ("@ > publish q1 i5; < puback i5; !< puback i5", "www"),
        ("@ > publish q2 i5; < pubrec i5; !< pubrec i5", "www"),
        # An identifier that is in flight for another packet is wrong whatever the text says of unknown ones.
        ("@ > subscribe i5; !< puback i5", "eee"),
        ("@ > publish q1 i5; !< pubrec i5", "eee"),
        ("@ > publish q1 i5; !< puback i6", "eee"),
        ("@ > publish q2 i5; !< pubrec i6", "eee"),
        ("@ !< suback i5", "eww"),
        ("@ !< unsuback i5", "eww"),
        ("@ > publish q1 i5; !< suback i5", "eee"),
        ("@ !< pingresp", "ew."),
        ("@ !< connack", "ee."),
        ("@ !> connect", "ee."),
        ("@ > disconnect; +20; !end", "eew"),
        # That the granted QoS is not the higher one, only 3.1 says in so many words.
        ("@ > subscribe i5 f=a:q1; !< suback i5 c02", "wwe"),
        # That retained messages do not come through shared subscriptions, the text says without MUST.
        ("@ > subscribe i1 f=$share/g/a; < suback i1; !< publish r1", "w.."),
        # How long a client was silent, the clocks of a capture do not say exactly.
        ("> connect ka=10; < connack; +14.9; !> pingreq", "nnn"),
        ("> connect ka=10; < connack; +15.1; !> pingreq", "eee"),
        ("> connect ka=10; < connack; > subscribe i1; < suback i1; +29.9; !< publish", "nnn"),
        ("> connect ka=10; < connack; > subscribe i1; < suback i1; +30.1; !< publish", "eee"),
        ("@ > publish q1 i5; +20; > pingreq; < pingresp; !server FIN", "www"),
        ("@ > publish q2 i5; < pubrec i5; > pubrel i5; +20; > pingreq; < pingresp; !server FIN", "eee"),
    ],
)
def test_severity_follows_how_explicit_the_text_is(text: str, severities: str) -> None:
    for version, letter in zip(reversed(Version), severities, strict=True):
        heard = hear(text, version)
        found = [each.severity[0] for step in heard.found for each in step]
        assert found[:1] == [letter] if letter != "." else True, (version, heard.found)
