"""All findings of one packet, and which statements they cover."""

import ast
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mqttpub
from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Decoded
from mqttpub.lint.packet.check import lint
from mqttpub.lint.packet.specific import ABSENT, LEFT_OVER, LENGTHS
from mqttpub.lint.packet.view import OF_SERVER
from mqttpub.lint.registry import RULES, cite
from mqttpub.spec import constraints
from mqttpub.spec.constraints import StatementRef
from mqttpub.spec.declare import PACKETS, Group, Packet, Property
from mqttpub.spec.packets import Publish, Subscribe, Subscription, Will
from mqttpub.spec.properties import PROPERTIES
from mqttpub.spec.statements import statement, statements
from mqttpub.spec.versions import Direction, Version
from tests.lint.marked_packets import Row, rows
from tests.lint.packet import test_rules, test_values
from tests.lint.packet import test_specific as test_exact
from tests.strategies import encoded, packets

SENDERS = (None, *Direction)
TABLES = (test_exact, test_values, test_rules)
FIRED = {id for table in TABLES for row in table.FAULTS for id in row.ids} | {"MQTT5-2.2.1-2"}
MISSED = {id for table in TABLES for row in table.NEAR for id in row.ids}

_ORDER = "fields in another order read as other values of the fields that belong there"
_LONGER = "two bytes of length cannot say more than 65,535"
_TWICE = "the same fault as 3.3.1-2, which is cited"
_SOCKET = "seen in the frames and the upgrade of a WebSocket, not in the packet"
NOT_ON_ONE_PACKET = {
    "MQTT5-2.2.2.2/type": "a value of a wrong type is read as one of the right type, or cuts the properties short",
    "MQTT5-3.1.3-1": _ORDER,
    "MQTT5-4.3.1-1": _TWICE,
    "MQTT5-4.7.3-3": _LONGER,
    "MQTT5-6.0.0-1": _SOCKET,
    "MQTT5-6.0.0-3": _SOCKET,
    "MQTT5-6.0.0-4": _SOCKET,
    "MQTT5-6.0.0/frames": _SOCKET,
    "MQTT311-1.5.3-1": "every string has a statement of its own that says it is valid, and that is cited",
    "MQTT311-2.3.1-5": "two stray bytes are payload like any other",
    "MQTT311-3.1.3-1": _ORDER,
    "MQTT311-4.3.1-1": _TWICE,
    "MQTT311-4.7.3-3": _LONGER,
    "MQTT311-6.0.0-1": _SOCKET,
    "MQTT311-6.0.0-3": _SOCKET,
    "MQTT311-6.0.0-4": _SOCKET,
    "MQTT311-6.0.0/frames": _SOCKET,
    "MQTT31-1/transport": _SOCKET,
    "MQTT31-2.4/qos0": "two stray bytes are payload like any other",
    "MQTT31-3.1/order": _ORDER,
    "MQTT31-A/length": _LONGER,
}
"""Statements of class A and A~ that no finding cites, and why."""


def table_laws() -> Iterator[StatementRef]:
    """Yield the law of every limit of the table."""
    groups: list[type[Group]] = [*PACKETS.values(), Subscription, Will]
    for group in groups:
        for field in group.layout:
            yield from (limit.ref for limit in (*field.limits, *field.each))
    for row in PROPERTIES.values():
        yield from (limit.ref for limit in row.limits)


def laws() -> Iterator[StatementRef]:
    """Yield every law that a finding can cite."""
    yield from table_laws()
    yield from (each for each in vars(constraints).values() if isinstance(each, StatementRef))
    yield from (limit.ref for limit in constraints.STRINGS)
    yield from (each.cites for each in RULES if each.cites)
    yield from (law for _, law in LENGTHS.values())
    yield from ABSENT.values()
    yield from (row[2] for row in LEFT_OVER)


CITED = {law.id(version) for law in laws() for version in Version} - {""} | set(OF_SERVER.values())


def test_every_id_that_can_be_cited_exists() -> None:
    for id in CITED | set(OF_SERVER):
        assert statement(id).id == id


@pytest.mark.slow
def test_every_finding_cites_a_statement_that_exists() -> None:
    """Each `StatementRef` and `cite` in the source exists, and no finding is made without an id."""
    cited = set[str]()
    for path in sorted(Path(mqttpub.__file__).parent.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            name = getattr(call.func, "id", "") if isinstance(call, ast.Call) else ""
            if name == "Finding":
                assert path.name == "tree.py", path
            if isinstance(call, ast.Call) and name in ("StatementRef", "cite"):
                order = dict(zip(("v5", "v311", "v31"), call.args, strict=False))
                order |= {word.arg: word.value for word in call.keywords if word.arg}
                given = {word: str(each.value) for word, each in order.items() if isinstance(each, ast.Constant)}
                cited |= {StatementRef(**given).id(version) for version in Version}
    assert len(cited) > 300
    for id in cited - {""}:
        assert statement(id).id == id
    with pytest.raises(KeyError, match=r"MQTT5-9\.9"):
        cite("9.9/nothing")


def test_every_id_that_can_be_cited_has_a_case() -> None:
    assert CITED - set(NOT_ON_ONE_PACKET) - FIRED == set()


def test_every_case_has_a_near_miss() -> None:
    assert sorted(FIRED) == sorted(MISSED)


@pytest.mark.parametrize("version", Version, ids=lambda version: version.label)
def test_every_statement_about_one_packet_is_checked(version: Version) -> None:
    about = {each.id for each in statements(version.label) if each.visibility in ("A", "A~")}
    unseen = {id for id in NOT_ON_ONE_PACKET if id.startswith(f"{version.prefix}-")}
    assert about - FIRED == unseen


def test_what_no_packet_shows_has_a_reason() -> None:
    assert not FIRED & set(NOT_ON_ONE_PACKET)
    assert all(statement(id).visibility in ("A", "A~") and reason for id, reason in NOT_ON_ONE_PACKET.items())


@pytest.mark.parametrize("row", [row for table in TABLES for row in table.FAULTS], ids=str)
def test_a_finding_has_the_severity_of_its_statement_but_for_two_rules(row: Row) -> None:
    for each in row.found():
        softer = "mark of a bridge" in each.message or "No matching subscribers" in each.message
        assert each.severity == ("warning" if softer else statement(each.statement).severity)


# what a receiver answers


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("36 r s'a' 0001 p()", 0x81),
        ("30 r s(ff) p()", 0x81),
        ("30 r s'' p()", 0x82),
        ("82 r 0001 p()", 0x82),
        ("10 r s'MQTT' 06 02 003c 00 s'a'", 0x84),
        ("30 r s'a' p(23 0000)", 0x94),
        ("30 r s'a' p(01 01) ff", 0x99),
        ("30 r s'+' p()", None),
        ("38 r s'a' p()", None),
    ],
)
def test_a_finding_has_the_reason_code_of_the_answer(text: str, reason: int | None) -> None:
    (row,) = rows(f"3.3.1-4 . . - {text}")
    assert [each.reason for each in row.found()] == [reason]


def test_older_versions_have_no_answer() -> None:
    (row,) = rows(". 3.3.1-4 . - 36 r s'a' 0001 p()")
    assert [each.reason for each in row.found()] == [None]


# what holds for all bytes


def assert_right(decoded: Decoded, direction: Direction | None) -> None:
    """Assert what is true of all findings."""
    before = list(decoded.findings)
    found = lint(decoded, direction)
    assert decoded.findings == before
    assert [each.span.start for each in found] == sorted(each.span.start for each in found)
    marks = [(each.statement, each.path, each.span, each.mask) for each in found]
    assert len(set(marks)) == len(marks)
    for each in found:
        assert 0 <= each.span.start <= each.span.stop <= len(decoded.data), each
        assert not each.mask or each.span.length == 1, each
        assert each.path.startswith(decoded.root.name), each
        assert each.message.isascii(), each
        assert each.message.isprintable(), each
        assert statement(each.statement).visibility, each


versions = st.sampled_from(Version)
senders = st.sampled_from(SENDERS)


@given(st.binary(max_size=80), versions, senders)
def test_any_bytes_give_findings_within_them(data: bytes, version: Version, direction: Direction | None) -> None:
    assert_right(decode(data, version), direction)


@given(st.integers(0, 255), st.binary(max_size=80), versions, senders)
def test_any_bytes_after_a_valid_length(first: int, body: bytes, version: Version, direction: Direction | None) -> None:
    assert_right(decode(bytes((first, len(body))) + body, version), direction)


@pytest.mark.slow
@given(st.data(), versions, senders)
def test_any_packet_with_a_few_wrong_bytes(data: st.DataObject, version: Version, direction: Direction | None) -> None:
    broken = bytearray(data.draw(encoded(version, valid=False)))
    for at in data.draw(st.lists(st.integers(0, len(broken) - 1), max_size=4)):
        broken[at] = data.draw(st.integers(0, 255))
    assert_right(decode(bytes(broken), version), direction)


@pytest.mark.slow
@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("version", Version, ids=lambda version: version.label)
@given(data=st.data())
def test_a_valid_packet_has_no_error(version: Version, direction: Direction, data: st.DataObject) -> None:
    packet: Packet = data.draw(packets(version, direction=direction))
    found = lint(decode(encode(packet, version), version), direction)
    assert [each for each in found if each.severity == "error"] == []


@given(st.data(), versions)
def test_without_the_sender_no_more_is_found(data: st.DataObject, version: Version) -> None:
    decoded = decode(data.draw(encoded(version, valid=False)), version)
    known = [{each.path for each in lint(decoded, direction)} for direction in Direction]
    assert {each.path for each in lint(decoded)} <= known[0] | known[1]


def test_the_sender_may_stand_in_the_packet() -> None:
    data = b"\xc0\x00"
    assert [each.statement for each in lint(decode(data, direction=Direction.SERVER))] == ["MQTT5-2.1.2/direction"]
    assert lint(decode(data, direction=Direction.SERVER), Direction.CLIENT) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "build",
    [
        lambda count: Publish(topic="a", properties=(Property(0x26, ("k", "v")),) * count),
        lambda count: Publish(topic="a", properties=(Property(0x26, ("\0", "\udcff")),) * count),
        lambda count: Publish(topic="a", properties=(Property(0x23, 0),) * count),
        lambda count: Publish(topic="a", properties=(Property(0x11, 0),) * count),
        lambda count: Subscribe(
            packet_id=1, subscriptions=(Subscription(filter="$share/g/a#", no_local=True),) * count
        ),
    ],
)
def test_time_grows_with_the_size(build: Callable[[int], Packet]) -> None:
    def seconds(count: int) -> float:
        decoded = decode(encode(build(count), Version.V5))
        start = time.process_time()
        lint(decoded)
        return time.process_time() - start

    seconds(1000)
    # What was slow because the machine was busy is tried again.
    assert any(seconds(20_000) < 40 * max(seconds(1_000), 0.01) for _ in range(4))
