"""One Judge for many connections."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.lint import judge as module
from mqttpub.lint.judge import Judge
from mqttpub.lint.packet.check import lint
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Connack, Connect, Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Closed, Endpoints, GapSeen, PacketSeen
from tests.strategies import encoded, versions

C, S = Direction.CLIENT, Direction.SERVER


def seen(
    packet: Packet | bytes, direction: Direction = C, *, connection: int = 1, offset: int = 0, record: int = 1
) -> PacketSeen:
    """Return the event of a packet of MQTT 5.0."""
    data = packet if isinstance(packet, bytes) else encode(packet, Version.V5)
    return PacketSeen(Endpoints(connection, "", ""), 0, record, data, offset, direction, Version.V5, False)


def closed(direction: Direction | None, how: str = "FIN") -> Closed:
    """Return the event of an end that closes."""
    return Closed(Endpoints(1, "", ""), 0, 9, direction, how)


OPEN = (seen(Connect(client_id="c")), seen(Connack(), S))
WRONG = seen(Publish(topic="a", dup=True))


@settings(max_examples=40)
@given(versions.flatmap(lambda version: st.tuples(st.just(version), encoded(version, False))))
def test_a_packet_gets_at_least_the_findings_that_it_has_by_itself(given: tuple[Version, bytes]) -> None:
    version, data = given
    event = seen(data)._replace(version=version)
    _, found = Judge().packet(event)
    alone = lint(decode(data, version, direction=C), C)
    assert {(each.statement, each.span) for each in found} >= {(each.statement, each.span) for each in alone}


def test_faults_are_counted_on_request() -> None:
    for tally in (True, False):
        judge = Judge(tally=tally)
        for event in (*OPEN, WRONG, WRONG, seen(Puback(packet_id=9), S)):
            judge.packet(event)
        judge.finish()
        assert judge.broken["MQTT5-3.3.1-2"] == 2 * tally
        assert judge.broken["MQTT5-3.3.4-1"] == tally
        assert (judge.exercised["MQTT5-3.1.0-1"] == 1) is tally


@pytest.mark.parametrize(
    "ends", [(closed(C), closed(S)), (closed(S), closed(C)), (closed(C, "RST"),), (closed(None, "end"),)]
)
def test_a_connection_closed_by_both_ends_is_counted_and_forgotten(ends: tuple[Closed, ...]) -> None:
    judge = Judge(tally=True)
    for event in OPEN:
        judge.packet(event)
    for end in ends[:-1]:
        judge.event(end)
        assert judge.exercised["MQTT5-3.1.0-1"] == 0
    judge.event(ends[-1])
    assert judge.exercised["MQTT5-3.1.0-1"] == 1
    judge.finish()
    assert judge.exercised["MQTT5-3.1.0-1"] == 1


def test_the_version_of_a_connection_is_known() -> None:
    judge = Judge()
    assert judge.version(1) is Version.V5
    judge.packet(OPEN[0]._replace(version=Version.V31, data=encode(Connect(client_id="c"), Version.V31)))
    assert judge.version(1) is Version.V31
    assert judge.version(2) is Version.V5


@pytest.mark.parametrize(("record", "complete"), [(0, True), (7, False)])
def test_the_offset_of_a_connect_matters_only_in_streams(record: int, complete: bool) -> None:
    judge = Judge(tally=True)
    judge.packet(seen(Connect(client_id="c"), offset=100, record=record))
    judge.finish()
    assert bool(judge.exercised["MQTT5-3.1.0-1"]) is complete


def test_bytes_that_are_not_a_packet_violate_a_statement_of_the_version() -> None:
    judge = Judge(tally=True)
    judge.packet(OPEN[0]._replace(version=Version.V311, data=encode(Connect(client_id="c"), Version.V311)))
    message = "Remaining Length does not end at its fourth byte; nothing after it is read"
    gap = GapSeen(Endpoints(1, "", ""), 0, 3, 14, C, None, bytes.fromhex("30ffffffff7f"), message, True)
    assert judge.event(gap) == ()
    found = judge.unread(gap)
    assert (found.severity, found.statement, tuple(found.span)) == ("error", "MQTT311-2.2.3/length", (1, 5))
    assert judge.broken["MQTT311-2.2.3/length"] == 1


@pytest.mark.slow
def test_acks_that_were_seen_before_are_judged_alike() -> None:
    judge = Judge()
    acks: tuple[type[Packet], ...] = (Puback, Pubrec, Pubrel, Pubcomp)
    kinds = product(acks, (0x00, 0x10, 0x42, 0x87), Version, [*Direction] * 2, (1, 0, 2))
    for connection, (kind, code, version, direction, id) in enumerate(kinds):
        data = bytes((kind.code << 4 | (2 if kind is Pubrel else 0), 3, 0, id, code))
        _, found = judge.packet(seen(data, direction, connection=connection)._replace(version=version))
        alone = lint(decode(data, version, direction=direction), direction)
        assert {(each.statement, each.span) for each in alone} <= {(each.statement, each.span) for each in found}


@settings(max_examples=40)
@given(versions.flatmap(lambda version: st.tuples(st.just(version), encoded(version, False))), st.data())
def test_a_packet_of_a_wrong_length_has_the_findings_of_decode(
    given: tuple[Version, bytes], data: st.DataObject
) -> None:
    version, whole = given
    cut = data.draw(st.one_of(st.integers(1, len(whole)).map(lambda size: whole[:size]), st.just(whole + b"\0")))
    packet, found = Judge().packet(seen(cut)._replace(version=version))
    decoded = decode(cut, version, direction=C)
    assert packet == decoded.packet
    assert {(each.statement, each.span) for each in found} >= {(each.statement, each.span) for each in decoded.findings}


@pytest.mark.parametrize("size", [121, 122, 16_377, 16_378, 100_000, 2_097_145, 2_097_146])
def test_a_packet_is_read_at_once_for_any_size_of_its_length(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Sizes of payloads with which the Remaining Length takes one byte more; decoding such packets takes too long."""
    monkeypatch.setattr("mqttpub.lint.packet.judge.decode", None)
    judge = Judge()
    for first in (Publish(topic="a/b", payload=b"x" * size), Publish(topic="a/b", payload=b"x" * size, retain=True)):
        assert judge.packet(seen(first)) == (first, [])


@pytest.mark.parametrize(
    ("data", "statement"),
    [("c08000", "1.5.5-1"), ("c0808000", "1.5.5-1"), ("c0ffffffff01", "1.5.5/length"), ("c080808080", "1.5.5/length"),
     ("c0", "2.1.4/short"), ("c080", "2.1.4/short"), ("", "2.1.4/short"), ("3080000000" + "78" * 125, "1.5.5-1"),
     ("30870000016100787878", "1.5.5-1")],
)  # fmt: skip
def test_a_remaining_length_that_is_wrong_is_found(data: str, statement: str) -> None:
    packet, found = Judge().packet(seen(bytes.fromhex(data)))
    assert [each.statement for each in found][:1] == [f"MQTT5-{statement}"]
    assert packet == decode(bytes.fromhex(data), Version.V5).packet


def begun(event: PacketSeen, number: int = 1) -> PacketSeen:
    """Return a packet of a connection whose beginning was captured."""
    return event._replace(ends=Endpoints(number, "", "", True))


PING, PINGED = seen(b"\xc0\0"), seen(b"\xd0\0", S)


def test_the_first_packet_of_a_connection_seen_from_its_beginning_is_connect() -> None:
    judge = Judge()
    assert [each.statement for each in judge.packet(begun(PING))[1]] == ["MQTT5-3.1.0-1"]
    assert not judge.packet(begun(PING._replace(offset=2)))[1]
    assert not Judge().packet(PING)[1]
    assert not Judge().packet(begun(PING._replace(offset=2)))[1]


@pytest.mark.parametrize("others", [0, 64, 192])
def test_a_late_packet_of_an_ended_or_dropped_connection_is_not_its_beginning(
    monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 64)
    judge = Judge()
    judge.packet(begun(OPEN[0]))
    if not others:
        judge.event(closed(C, "RST"))
    for number in range(2, others + 2):
        judge.packet(begun(OPEN[0], number))
    assert not judge.packet(begun(PINGED))[1]
    assert not judge.packet(begun(PING._replace(offset=len(OPEN[0].data))))[1]


def test_a_guessed_version_may_change_until_a_connect_announces_one() -> None:
    def version_after(judge: Judge, packet: Packet | bytes, version: Version) -> Version:
        data = packet if isinstance(packet, bytes) else encode(packet, version)
        judge.packet(seen(data)._replace(version=version, guessed=True))
        return judge.version(1)

    judge = Judge()
    assert version_after(judge, b"\xc0\0", Version.V5) == Version.V5
    assert version_after(judge, Publish(topic="a"), Version.V311) == Version.V311
    unknown = Connect(client_id="c", protocol_level=6)
    for first, last in ((Connect(client_id="c"), Version.V311), (unknown, Version.V5), (b"\x10\2\0\4", Version.V311)):
        judge = Judge()
        version_after(judge, first, Version.V311)
        assert version_after(judge, b"\xc0\0", Version.V5) == last
