"""The TCP connections that are remembered."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.network.connections import FlowTable
from mqttpub.capture.network.tcp_side import TcpSide


def keys(number: int) -> tuple[bytes, bytes]:
    """Return the keys of both sides of a connection with an IPv4 or an IPv6 address."""
    address = bytes([10, 0, 0]) if number % 2 else bytes(15)
    ports = number.to_bytes(2, "big"), b"\x07\x5b"
    ends = address + b"\1", address + b"\2"
    return ends[0] + ends[1] + ports[0] + ports[1], ends[1] + ends[0] + ports[1] + ports[0]


def table(max_flows: int, max_closed: int = 4) -> FlowTable:
    return FlowTable(Counter(), max_flows=max_flows, max_closed=max_closed)


def open_(flows: FlowTable, number: int) -> list[TcpSide]:
    """Open a flow, and return what is forgotten for it."""
    flows.open(*keys(number), opened=True)
    return list(flows.excess())


def ports(sides: list[TcpSide]) -> list[int]:
    return [side.flow.ports[0] for side in sides]


@pytest.mark.parametrize("number", [1, 2])
def test_a_flow_is_found_from_both_sides(number: int) -> None:
    flows = table(10)
    side = flows.open(*keys(number), opened=False)
    there, back = keys(number)
    assert (flows.find(there), flows.find(back)) == (side, side.peer)
    assert (side.number, side.peer.number, side.peer.peer) == (0, 1, side)
    assert (side.flow.ports, side.flow.opened, side.flow.number) == ((number, 1883), False, 1)
    assert side.flow.ends == {
        1: ("10.0.0.1:1", "10.0.0.2:1883"),
        2: ("[::1]:2", "[::2]:1883"),
    }[number]  # fmt: skip
    flows.forget(side)
    assert (flows.find(there), flows.find(back), len(flows)) == (None, None, 0)


def test_those_idle_longest_are_forgotten() -> None:
    flows = table(4)
    assert [ports(open_(flows, number)) for number in range(1, 7)] == [[], [], [], [], [1], [2]]
    assert flows.find(keys(3)[0])
    assert ports(open_(flows, 7)) == [4]
    assert sorted(ports(list(flows.all()))) == [3, 5, 6, 7]


def test_closed_flows_take_no_room_of_open_ones() -> None:
    flows = table(2, max_closed=3)
    assert open_(flows, 1) == []
    for number in range(2, 5):
        flows.close(flows.open(*keys(number), opened=True))
        assert list(flows.excess()) == []
    assert (len(flows), bool(flows.find(keys(1)[0])), bool(flows.find(keys(2)[1]))) == (1, True, True)
    flows.close(flows.open(*keys(5), opened=True))
    assert ports(list(flows.excess())) == [2]
    assert [side.flow.ports[0] for side in flows.all()] == [1, 3, 4, 5]
    assert list(flows.all()) == []


@settings(max_examples=20)
@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_recently_used_flows_stay(max_flows: int, random: Random) -> None:
    flows = table(max_flows)
    used = list(range(1, max_flows // 2 + 1))
    for number in used:
        assert open_(flows, number) == []
    for number in range(1000, 1100):
        gone = open_(flows, number)
        assert not set(ports(gone)) & set(used)
        assert len(flows) <= max_flows
        for each in used:
            assert flows.find(keys(each)[random.randrange(2)])
