"""Reason Codes with which a receiver answers."""

import pytest

from mqttpub.lint.connection.answers import ANSWERS
from mqttpub.spec.reason_codes import Codes
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Version

from .talks import hear


@pytest.mark.parametrize("id", sorted(ANSWERS))
def test_a_code_is_one_that_ends_a_connection(id: str) -> None:
    assert statement(id).version == "5.0"
    packets = ("DISCONNECT", "CONNACK", "PUBREC")
    assert any(Codes(packet).legal(ANSWERS[id], Version.V5) for packet in packets)


def test_a_finding_has_its_code() -> None:
    found = hear("> connect; < connack receive_maximum=1; > publish q1 i1; > publish q1 i2", Version.V5).found[-1]
    assert [each.reason for each in found] == [0x93]
