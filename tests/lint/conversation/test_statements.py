"""Every statement that a connection shows: one conversation that breaks it, and one that nearly does."""

import pytest

from mqttpub.lint.conversation import Conversation, checkable
from mqttpub.spec.statements import statement, statements
from mqttpub.spec.terms import Version

from .not_seen import NOT_SEEN
from .tables import FAULTS, NEAR
from .talks import Heard, Row, hear


def both_ways(row: Row) -> Heard:
    """Return what is found, whether packets were decoded or only their values read."""
    whole, fast = hear(row.text, row.version), hear(row.text, row.version, fast=True)
    assert repr(whole.found) == repr(fast.found)
    assert whole.tally == fast.tally
    return whole


@pytest.mark.parametrize("row", FAULTS, ids=str)
def test_fault(row: Row) -> None:
    heard = both_ways(row)
    assert [bool(one) for one in heard.found] == heard.faults, heard.found
    last = max(index for index, fault in enumerate(heard.faults) if fault)
    assert row.ids[0] in [each.statement for each in heard.found[last]], heard.found
    assert set(row.ids) <= set(heard.tally.broken)
    for each in heard.found[last]:
        assert 0 <= each.span.start <= each.span.stop <= len(heard.data[last])
        assert each.message.isprintable()
        assert bool(heard.data[last]) == bool(each.span.length)


@pytest.mark.parametrize("row", NEAR, ids=str)
def test_near_miss(row: Row) -> None:
    heard = both_ways(row)
    assert [bool(one) for one in heard.found] == heard.faults, heard.found
    assert not set(row.ids) & set(heard.tally.broken)
    for id in row.ids:
        assert heard.tally.kept(id) > 0


IN_TABLES = {id for row in FAULTS for id in row.ids}, {id for row in NEAR for id in row.ids}


def test_every_statement_of_a_connection_has_both_cases_or_a_reason() -> None:
    for row in statements():
        if row.klass.startswith("B"):
            assert all(row.id in table for table in IN_TABLES) != (row.id in NOT_SEEN), row.id


def test_whatever_plain_watching_shows_is_covered() -> None:
    assert [id for id in NOT_SEEN if statement(id).klass == "B"] == []


@pytest.mark.parametrize("version", list(Version))
def test_what_can_be_checked_is_what_has_cases(version: Version) -> None:
    faults = {id for row in FAULTS if row.version == version for id in row.ids}
    assert set(checkable(version)) == faults
    assert Conversation(version).tally.exercised == {}


def test_what_did_not_happen_is_not_exercised() -> None:
    tally = hear("@ > subscribe i1; < suback i1", Version.V5).tally
    assert "MQTT5-3.8.4-1" in tally.exercised
    assert not {"MQTT5-3.8.4-5", "MQTT5-3.10.4-4", "MQTT5-3.12.4-1"} & set(tally.exercised)
