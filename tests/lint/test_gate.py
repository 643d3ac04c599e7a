"""What may be sent."""

import pytest

from mqttpub.common.errors import UserError
from mqttpub.lint.gate import Forbidden, check_expiry, check_packet
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connect, Disconnect, Publish
from mqttpub.spec.properties import SESSION_EXPIRY_INTERVAL
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Version

EXPIRY = SESSION_EXPIRY_INTERVAL.id


def test_a_packet_without_fault_passes() -> None:
    assert check_packet(Publish(topic="a", qos=1), Version.V5) == ()


def test_a_forbidden_packet_names_its_statement_unless_it_is_forced() -> None:
    packet = Publish(topic="a/#", payload=b"x")
    with pytest.raises(Forbidden, match=r"^Topic Name holds the wildcard # \(MQTT5-3\.3\.2-2\)$") as caught:
        check_packet(packet, Version.V5)
    assert caught.value.statement == "MQTT5-3.3.2-2"
    assert check_packet(packet, Version.V5, forced=True) == ()


def test_what_the_specification_advises_against_is_returned() -> None:
    findings = check_packet(Publish(topic="$SYS/a"), Version.V5)
    assert [(each.statement, each.severity) for each in findings] == [("MQTT5-4.7.2/dollar", "warning")]


def test_a_packet_that_cannot_be_encoded_is_refused_even_if_forced() -> None:
    for forced in (False, True):
        with pytest.raises(UserError, match="65536") as caught:
            check_packet(Publish(topic="a", qos=1, packet_id=65536), Version.V5, forced=forced)
        assert not isinstance(caught.value, Forbidden)


def test_only_a_session_that_outlives_the_connection_may_be_prolonged_at_its_end() -> None:
    prolonged = Disconnect(properties=(Property(EXPIRY, 9),))
    with pytest.raises(Forbidden, match="is 9 in DISCONNECT, but 0 in CONNECT") as caught:
        check_expiry(Connect(client_id="a"), prolonged, Version.V5)
    assert statement(caught.value.statement)
    check_expiry(Connect(client_id="a", properties=(Property(EXPIRY, 1),)), prolonged, Version.V5)
    check_expiry(Connect(client_id="a"), Disconnect(), Version.V5)
