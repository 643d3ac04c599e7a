"""Runs of packets through the rules of a connection, many at once while nothing is wrong.

`advance` follows packets by what the rules declared as their `runs`, as long as they would find nothing and only the
usual happens: an exchange begins, continues or ends. It stops before any other packet, and before one with a rule for
which nothing stands, with the state as the rules would leave it; the rules take that packet.
"""

from collections.abc import Iterable

from ...spec.versions import Direction
from ...traffic.runs import PacketRun
from ..registry import InRuns, RunTable
from .state import ConnectionState, Peer, Stretch

_FIRST_ROWS = 32
"""Rows that are looked at first after a packet that the rules took; then twice as many each time."""


class Followers:
    """What stands for the rules of some packet types, whose packets are followed together."""

    def __init__(self, rules: Iterable[InRuns], codes: Iterable[int]) -> None:
        self.firsts = bytes(code << 4 | flags for code in codes for flags in range(16))
        """First bytes of the packets."""
        self._until = [each.until for each in rules if each.until]
        self._then = [each.then for each in rules if each.then]
        self._follows = [each.follow for each in rules if each.follow]

    def follow(self, stretch: Stretch, row: int, stop: int) -> int:
        """Follow packets as far as they are without findings; return the row after them."""
        for until in self._until:
            stop = until(stretch, row, stop)
            if stop == row:
                return row
        for follow in self._follows:
            stop = follow(stretch, row, stop)
        for then in self._then:
            then(stretch, row, stop)
        return stop


def followers(table: RunTable) -> dict[int, Followers]:
    """Return what follows packets, by packet type."""
    alike: dict[tuple[InRuns, ...], list[int]] = {}
    for kind, rules in table.items():
        alike.setdefault(rules, []).append(kind.code)
    return {code: found for rules, codes in alike.items() for found in [Followers(rules, codes)] for code in codes}


def advance(state: ConnectionState, run: PacketRun, row: int, by_side: tuple[dict[int, Followers], ...]) -> int:
    """Follow the packets of a run from a row on as far as they are without findings; return the row after them.

    `by_side` has the followers of the client's and of the server's packets.
    """
    peer = state.client if run.direction is Direction.CLIENT else state.server
    unusual = state.check_order[peer.side] or peer.constrained or state.must_close is not None
    if unusual or run.version is not state.version:
        return row
    stretch, by_code = Stretch(state, peer, run, row), by_side[peer.side]
    # Of a run that is left at once, few rows should be looked at.
    size = run.stop - row if peer.follows_runs else _FIRST_ROWS
    peer.follows_runs = False
    while row < run.stop:
        stop = _before_silence(state, peer, run, row, min(row + size, run.stop))
        after = _follow(stretch, by_code, row, stop)
        if after > row:
            _pass(state, peer, run, row, after)
        if after < stop or stop == row:
            return after
        row, size = stop, 2 * size
    peer.follows_runs = True
    return row


def _follow(stretch: Stretch, by_code: dict[int, Followers], row: int, stop: int) -> int:
    """Follow packets by their types; return the row after the last one."""
    firsts = stretch.columns.first
    while row < stop:
        found = by_code.get(firsts[row] >> 4)
        if found is None:
            break
        alike = firsts[row:stop]
        after = found.follow(stretch, row, row + len(alike) - len(alike.lstrip(found.firsts)))
        if after == row:
            break
        row = after
    return row


def _before_silence(state: ConnectionState, peer: Peer, run: PacketRun, row: int, stop: int) -> int:
    """Return the first row that follows a silence of the client longer than allowed, else `stop`."""
    client, times = state.client, run.columns.time_ns
    last_ns, silence_ns, sends = client.last_ns, client.silence_ns, peer is client
    span = run.columns.time_span(row, stop) if row < stop else None
    if span and span[1] - (span[0] if last_ns is None else min(span[0], last_ns)) <= silence_ns:
        return stop
    seen_ns = None
    for at in range(row, stop):
        time_ns = times[at]
        if time_ns is None or time_ns == seen_ns:
            continue
        if last_ns is not None and time_ns - last_ns > silence_ns:
            return at
        seen_ns = time_ns
        if sends:
            last_ns = time_ns
    return stop


def _pass(state: ConnectionState, peer: Peer, run: PacketRun, start: int, stop: int) -> None:
    """Note the packets from `start` to before `stop` as the last ones."""
    count, times = stop - start, run.columns.time_ns
    state.number += count
    peer.packets += count
    state.time_ns, state.size_bytes = times[stop - 1], run.columns.size[stop - 1]
    if state.faults:
        state.faults = []
    for row in range(stop - 1, start - 1, -1):
        if times[row] is not None:
            peer.last_ns = times[row]
            break
