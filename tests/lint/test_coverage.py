"""Which statements packets put to the test, each by itself."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.lint.connection import checkable
from mqttpub.lint.coverage import Coverage, StatementResult, packets_exercising
from mqttpub.lint.packet.check import lint
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connect, Publish, Will
from mqttpub.spec.statements import statements
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints, PacketSeen
from tests.strategies import encoded, packets, versions

ALWAYS_KEPT = {
    "MQTT5-2.2.2.2/type", "MQTT5-3.1.3-1", "MQTT311-3.1.3-1", "MQTT31-3.1/order", "MQTT5-4.3.1-1", "MQTT311-4.3.1-1",
    "MQTT5-4.7.3-3", "MQTT311-4.7.3-3", "MQTT31-A/length", "MQTT31-2.4/qos0", "MQTT311-1.5.3-1", "MQTT311-2.3.1-5",
}  # fmt: skip
"""Statements of class A that cannot be broken without another one that says it better, so that none cites them."""


def fared(
    packet: Packet | None, version: Version = Version.V5, direction: Direction | None = Direction.CLIENT,
    data: bytes = b"",
) -> dict[str, StatementResult]:  # fmt: skip
    """Return how statements fared when one packet came."""
    coverage = Coverage()
    data = data or encode(packet or Publish(topic="a"), version)
    coverage.packet(PacketSeen(Endpoints(1, "", ""), None, 0, data, 0, direction, version, False), packet)
    return {row.statement.label: row for row in coverage.rows(version, Counter(), Counter())}


def kept(packet: Packet, direction: Direction | None = Direction.CLIENT) -> set[str]:
    """Return the labels of what a packet of 5.0 puts to the test."""
    return {label for label, row in fared(packet, Version.V5, direction).items() if row.exercised}


@pytest.mark.parametrize("version", Version)
def test_every_statement_of_one_packet_is_known(version: Version) -> None:
    known = set(packets_exercising(version))
    rows = {row.id: row for row in statements(version.label)}
    assert known <= set(rows)
    missing = {
        id for id, row in rows.items() if row.visibility[0] == "A" and row.section[:3] not in ("6.0", "1")
    } - known
    assert missing <= ALWAYS_KEPT


@settings(max_examples=40)
@given(versions.flatmap(lambda version: st.tuples(st.just(version), encoded(version, False))))
def test_every_statement_with_a_finding_was_exercised(given: tuple[Version, bytes]) -> None:
    version, data = given
    decoded = decode(data, version, direction=Direction.CLIENT)
    found = {each.statement for each in lint(decoded)}
    coverage, broken = Coverage(), Counter(found)
    coverage.packet(
        PacketSeen(Endpoints(1, "", ""), None, 0, data, 0, decoded.direction, version, False), decoded.packet
    )
    rows = {row.statement.id: row for row in coverage.rows(version, Counter(), broken)}
    assert found <= set(rows)
    for id in found:
        assert rows[id].word == "broken"
        assert rows[id].exercised >= 1


@settings(max_examples=40)
@given(versions.flatmap(lambda version: st.tuples(st.just(version), packets(version))))
def test_a_packet_read_or_not_counts_for_the_same_statements(given: tuple[Version, Packet]) -> None:
    version, packet = given
    once, nothing = fared(packet, version), fared(None, version, data=b"\x30\0")
    assert set(once) == set(nothing)
    assert all(row.kept == row.exercised and not row.broken for row in once.values())
    assert all(row.word == ("kept" if row.exercised else "not exercised") for row in once.values())


def test_absent_fields_are_not_exercised() -> None:
    plain, full = Publish(topic="a"), Publish(topic="a", qos=1, packet_id=1, properties=(Property(0x23, 1),))
    assert kept(full) - kept(plain) == {
        "2.2.1-3", "3.3.2-8", "2.2.2.1/short", "2.2.2.2/unknown", "2.2.2.2/not-allowed", "2.2.2.2/repeated",
    }  # fmt: skip
    assert kept(plain) <= kept(full)
    assert "2.1.2/direction" not in kept(plain, direction=None)
    will = Will(topic="w", payload=b"", properties=(Property(0x01, 1),))
    assert {"3.1.2-9", "2.2.2.2/range"} <= kept(Connect(will=will)) - kept(Connect())


def test_the_identifier_of_a_server_is_another_statement() -> None:
    publish = Publish(topic="a", qos=1, packet_id=1)
    assert "2.2.1-4" in kept(publish, direction=Direction.SERVER) - kept(publish, direction=Direction.CLIENT)


def test_an_unreadable_packet_exercises_the_statements_about_structure() -> None:
    exercised = {label for label, row in fared(None, data=b"\x30\x00").items() if row.exercised}
    assert exercised == {"1.5.5-1", "1.5.5/length", "2.1.2/type", "2.1.4/short", "2.1.4/trailing"}


def test_statements_of_conversations_are_in_the_order_of_the_text() -> None:
    rows = list(Coverage().rows(Version.V5, Counter({"MQTT5-3.1.0-1": 4}), Counter({"MQTT5-3.1.0-1": 1})))
    assert [row.statement for row in rows] == [
        row for row in statements("5.0") if row.id in {*checkable(Version.V5), *packets_exercising(Version.V5)}
    ]
    (first,) = (row for row in rows if row.statement.label == "3.1.0-1")
    assert (first.exercised, first.broken, first.kept, first.word) == (4, 1, 3, "broken")


def test_versions_are_those_that_came() -> None:
    coverage = Coverage()
    for version in (Version.V31, Version.V5, Version.V31):
        coverage.packet(
            PacketSeen(Endpoints(1, "", ""), None, 0, b"\xc0\0", 0, Direction.CLIENT, version, False), None
        )  # fmt: skip
    assert coverage.versions == [Version.V5, Version.V31]
