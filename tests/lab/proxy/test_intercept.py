"""Packets that are held: what goes on meanwhile, and what goes out in their place."""

import pytest

from mqttpub.lab.proxy.intercept import HeldPacket, InterceptedLink, Interception
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.query import PacketFilter

C, S = Direction.CLIENT, Direction.SERVER
CONNECT = bytes.fromhex("100d00044d5154540402003c000161")
CONNACK = bytes.fromhex("20020000")
PUBLISH = bytes.fromhex("3206000161000178")
PUBACK = bytes.fromhex("40020001")
PINGREQ, PINGRESP = b"\xc0\0", b"\xd0\0"


class Wire:
    """Notes what goes on; the connection of an InterceptedLink."""

    label, place = "3", ("127.0.0.1", 5)

    def __init__(self, pattern: str) -> None:
        self.out: dict[Direction, bytes] = {C: b"", S: b""}
        self.ended: list[Direction] = []
        self.reads: list[Direction] = []
        self.held: list[HeldPacket] = []
        self.link = InterceptedLink(Interception(PacketFilter.parse(pattern), self.held.append), self)

    def released(self, direction: Direction, data: bytes) -> None:
        """Note bytes."""
        self.out[direction] += data

    def end_released(self, direction: Direction) -> None:
        """Note an end."""
        self.ended.append(direction)

    def read(self, direction: Direction) -> None:
        """Note that more may be read."""
        self.reads.append(direction)

    def break_off(self, how: str) -> None:
        """Do nothing."""


def test_a_held_packet_stops_its_direction_only_and_what_follows_keeps_its_order() -> None:
    wire = Wire("type=PUBLISH connection=3 client=a")
    wire.link.received(C, CONNECT)
    wire.link.received(C, PINGREQ + PUBLISH[:3])
    wire.link.received(C, PUBLISH[3:] + PINGREQ + PUBLISH)
    wire.link.ended(C)
    wire.link.received(S, CONNACK + PINGRESP)
    assert wire.out == {C: CONNECT + PINGREQ, S: CONNACK + PINGRESP}
    assert wire.link.client == "a"
    assert wire.link.version is Version.V311
    (first,) = wire.held
    assert wire.link.holds(C)
    assert not wire.link.holds(S)
    first.release([PUBLISH, PUBLISH])
    assert wire.out[C] == CONNECT + PINGREQ + PUBLISH + PUBLISH + PINGREQ
    assert (len(wire.held), wire.reads, wire.ended) == (2, [C], [])
    first.release([PUBLISH])
    wire.held[1].release([])
    assert wire.out[C] == CONNECT + PINGREQ + PUBLISH + PUBLISH + PINGREQ
    assert (wire.ended, wire.link.holds(C)) == ([C], False)


def test_the_state_is_of_what_went_on_and_a_finding_is_of_what_would_go_on() -> None:
    wire = Wire("type=PUBLISH")
    wire.link.received(C, CONNECT)
    wire.link.received(S, CONNACK)
    wire.link.received(C, PUBLISH)
    assert not any(wire.link.state.in_flight.values())
    again = b"\x3a" + PUBLISH[1:]
    for _ in range(2):
        assert wire.link.findings(C, PUBLISH) == []
        assert [each.statement for each in wire.link.findings(C, again)] == ["MQTT311-4.3.2-1"]
    wire.held[0].release([PUBLISH])
    assert wire.link.state.in_flight[C] == {1}
    wire.link.received(S, PUBACK)
    assert not wire.link.state.in_flight[C]


@pytest.mark.parametrize("rest", [b"\x30\xff\xff\xff\xff\xff", PUBLISH[:5]])
def test_what_is_no_packet_passes_after_what_is_held(rest: bytes) -> None:
    wire = Wire("type=PUBLISH")
    wire.link.received(C, CONNECT + PUBLISH + rest)
    wire.link.ended(C)
    assert wire.out[C] == CONNECT
    wire.held[0].release([PUBLISH])
    assert wire.out[C] == CONNECT + PUBLISH + rest
    assert wire.ended == [C]


def test_nothing_goes_on_once_the_connection_is_over() -> None:
    wire = Wire("")
    wire.link.received(C, CONNECT)
    wire.link.close()
    wire.held[0].release([CONNECT])
    wire.link.received(C, PINGREQ)
    assert wire.out[C] == b""
    assert wire.link.is_closed
