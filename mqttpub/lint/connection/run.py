"""Runs of packets through the rules of a connection, many at once while nothing is wrong.

`advance` does for packets of a run what the rules in `publish`, `acks`, `limits`, `aliases`, `deliver`, `loopback` and
`keepalive` do for each, as long as they would find nothing and only the usual happens: an exchange begins, continues or
ends. It stops before any other packet, with the state as the rules would leave it, and the rules take that packet.
"""

from collections import defaultdict
from collections.abc import Callable

from ...spec.packets import Publish
from ...spec.versions import V5, V31, Direction
from ...traffic.handshakes import REFUSED
from ...traffic.runs import PacketRun
from ..registry import TestPoint
from .acks import ACKED, ACKED_BY_CLIENT, ORDERED
from .deliver import DELIVERED, NOT_RETAINED, SHARED
from .limits import QOS, RETAINED, WINDOW
from .loopback import LARGEST
from .publish import NEW_PUBLISH, NOT_REPEATED, PUBACK, PUBCOMP, PUBREC, PUBREL
from .published import PublishHistory, SentMessage, message_key
from .state import CLIENT, ENDLESS, ConnectionState, IdentifierInUse, Peer

PUBLISH = Publish.code
_FIRST_ROWS = 32
"""Rows that are looked at first; then twice as many each time."""
_AWAITS = {1: PUBACK, 2: PUBREC}


def advance(state: ConnectionState, run: PacketRun, row: int) -> int:
    """Follow the packets of a run from a row on as far as they are without findings; return the row after them."""
    peer = state.client if run.direction is Direction.CLIENT else state.server
    unusual = state.check_order[peer.side] or peer.constrained or state.must_close is not None
    if unusual or run.version is not state.version:
        return row
    rules, size = _RunRules(state, peer, run, row), _FIRST_ROWS
    while row < run.stop:
        # Of a run that is left at once, few rows have been looked at.
        stop = _before_silence(state, peer, run, row, min(row + size, run.stop))
        after = _follow(rules, row, stop)
        if after > row:
            _pass(state, peer, run, row, after)
        if after < stop or stop == row:
            return after
        row, size = stop, 2 * size
    return row


def _follow(rules: "_RunRules", row: int, stop: int) -> int:
    """Follow packets by their types; return the row after the last one, and count the statements that were tested."""
    firsts, exercised = rules.columns.first, rules.state.exercised
    while row < stop:
        after = _ROWS_OF[firsts[row] >> 4](rules, row, stop)
        if after == row:
            break
        row = after
    for point, count in rules.counts.items():
        if count:
            exercised[point] += count
    rules.counts.clear()
    return row


def _before_silence(state: ConnectionState, peer: Peer, run: PacketRun, row: int, stop: int) -> int:
    """Return the first row that follows a silence of the client longer than allowed, else `stop`."""
    client, times = state.client, run.columns.time_ns
    last_ns, silence_ns, sends = client.last_ns, client.silence_ns, peer is client
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


class _RunRules:
    """The rules by packet type: each follows rows of one type as far as it can, and returns the row after them."""

    def __init__(self, state: ConnectionState, peer: Peer, run: PacketRun, row: int) -> None:
        self.state = state
        self.peer = peer
        self.run = run
        self.columns = run.columns
        self.is_client = peer.side == CLIENT
        self.number = state.number + 1 - row
        """Added to a row, this gives the number of its packet."""
        self.counts: defaultdict[TestPoint, int] = defaultdict(int)
        """How often packets that were followed put each statement to the test."""

    # messages

    def publishes(self, row: int, stop: int) -> int:
        """Follow PUBLISH packets."""
        peer, columns, number, counts = self.peer, self.columns, self.number, [0, 0, 0]
        firsts, ids, times = columns.first, columns.packet_id, columns.time_ns
        limits, old = peer.limits, self.state.version is not V5
        limited = limits.known and not old
        most_qos = limits.qos if limited and self.is_client else 2
        window = limits.receive_maximum if limited else ENDLESS
        in_use, in_flight, refused, due = peer.in_use, peer.in_flight, peer.refused_ids, peer.repeats_due
        suits = self._may_be_sent if self.is_client else self._may_be_delivered
        followed = self._is_followed()
        while row < stop:
            first = firsts[row]
            qos = first >> 1 & 3
            if first >> 4 != PUBLISH:
                break
            if qos:
                id = ids[row]
                if id in in_use or id in refused or id in due or in_flight >= window or qos > most_qos:
                    break
            if (followed or first & 1) and not suits(row, first, limited):
                break
            if qos:
                begun = in_use[id] = IdentifierInUse("PUBLISH", number + row, times[row], _AWAITS[qos], qos)
                in_flight += 1
                if old:
                    begun.content_hash = hash((columns.topic[row], self._payload(row)))
            counts[qos] += 1
            row += 1
        peer.in_flight = in_flight
        peer.qos0_count += counts[0]
        self._count_begun(counts, limited)
        return row

    def _count_begun(self, counts: list[int], limited: bool) -> None:
        """Count the statements that PUBLISH packets put to the test, so many of each QoS."""
        side, begun = self.peer.side, counts[1] + counts[2]
        for qos in _AWAITS:
            self.counts[NEW_PUBLISH[qos][side]] += counts[qos]
        if limited:
            self.counts[WINDOW[side]] += begun
            if self.is_client:
                self.counts[QOS] += begun

    def _payload(self, row: int) -> bytes:
        columns = self.columns
        return columns.buffer[columns.payload_begin[row] : columns.begin[row] + columns.size[row]]

    def _is_followed(self) -> bool:
        """Whether messages are compared with subscriptions or with their copies."""
        state = self.state
        if self.is_client:
            return state.new_session and state.subscriptions.known
        return state.new_session and not state.subscriptions.full

    def _may_be_sent(self, row: int, first: int, limited: bool) -> bool:
        """Whether a message of a client is right; remembers it if a copy of it may come back."""
        state = self.state
        if first & 1 and limited:
            if not self.peer.limits.retain:
                return False
            self.counts[RETAINED] += 1
        if state.new_session and (state.subscriptions.known or first & 1):
            self._remember(row, first)
        return True

    def _remember(self, row: int, first: int) -> None:
        payload = self._payload(row)
        if self.columns.size[row] - len(payload) > LARGEST:
            return
        properties = self.run.item(row).packet.properties if self.run.has_properties(row) else ()  # type: ignore[union-attr]
        sent = SentMessage(first >> 1 & 3, first & 1 > 0, properties, self.number + row)
        if self.state.published is None:
            self.state.published = PublishHistory()
        self.state.published.add(message_key(self.columns.topic[row], payload), sent)

    def _may_be_delivered(self, row: int, first: int, limited: bool) -> bool:
        """Whether a message of a server is one that the client subscribed for, and no copy of one that it sent."""
        state, topic = self.state, self.columns.topic[row]
        if not self._is_followed():
            return True
        match = state.subscriptions.matching(topic)
        if first & 1 or not match.filters or match.identifiers or first >> 1 & 3 > match.most:
            return False
        if state.published is not None and message_key(topic, self._payload(row)) in state.published.sent:
            return False
        self.counts[DELIVERED] += 1
        self.counts[NOT_RETAINED] += 1
        self.counts[SHARED] += match.shared
        return True

    # acks

    def last_acks(self, row: int, stop: int) -> int:
        """Follow PUBACK or PUBCOMP packets, which end exchanges."""
        peer, begin, (_, _, _, _, _, _, firsts, ids, _, _, reasons) = self.peer, row, self.columns
        first, sender = firsts[row], peer.other
        code = first >> 4
        in_use, early, finished = sender.in_use, sender.ids_reused_early, sender.finished
        in_order, latest = self.is_client and code == PUBACK, peer.last_acked[code]
        while row < stop and firsts[row] == first:
            id = ids[row]
            exchange = in_use.get(id)
            if exchange is None or exchange.awaits != code or exchange.unanswered_repeats or _refuses(reasons[row]):
                break
            if in_order:
                if exchange.number < latest or id in early:
                    break
                latest = exchange.number
            del in_use[id]
            finished.add(id)
            row += 1
        peer.last_acked[code] = latest
        sender.in_flight = max(sender.in_flight - (row - begin), 0)
        self.counts[NOT_REPEATED] += row - begin
        self._count_acks(code, row - begin, in_order)
        return row

    def _count_acks(self, code: int, passed: int, in_order: bool) -> None:
        self.counts[ACKED[code]] += passed
        if in_order:
            self.counts[ORDERED[code]] += passed
            self.counts[ACKED_BY_CLIENT] += passed * (code != PUBREL)

    def pubrecs(self, row: int, stop: int) -> int:
        """Follow PUBREC packets."""
        peer, begin, (_, _, _, _, _, _, firsts, ids, _, _, reasons) = self.peer, row, self.columns
        in_use, early, latest = peer.other.in_use, peer.other.ids_reused_early, peer.last_acked[PUBREC]
        while row < stop and firsts[row] >> 4 == PUBREC:
            exchange = in_use.get(ids[row])
            if exchange is None or exchange.awaits != PUBREC or _refuses(reasons[row]):
                break
            if self.is_client:
                if exchange.number < latest or ids[row] in early:
                    break
                latest = exchange.number
            exchange.awaits, exchange.pubrec_number = PUBREL, self.number + row
            row += 1
        peer.last_acked[PUBREC] = latest
        self._count_acks(PUBREC, row - begin, self.is_client)
        return row

    def pubrels(self, row: int, stop: int) -> int:
        """Follow PUBREL packets."""
        peer, begin, (_, _, _, _, _, _, firsts, ids, *_) = self.peer, row, self.columns
        in_use, early, latest = peer.in_use, peer.ids_reused_early, peer.last_released
        in_order = self.is_client or self.state.version is V31
        while row < stop and firsts[row] >> 4 == PUBREL:
            exchange = in_use.get(ids[row])
            if exchange is None or exchange.awaits != PUBREL or exchange.interval_ns:
                break
            if in_order:
                if exchange.pubrec_number < latest or ids[row] in early:
                    break
                latest = exchange.pubrec_number
            exchange.awaits = PUBCOMP
            row += 1
        peer.last_released = latest
        self._count_acks(PUBREL, row - begin, in_order)
        return row


def _refuses(reason: int | None) -> bool:
    return reason is not None and reason >= REFUSED


_ROWS_OF: dict[int, Callable[[_RunRules, int, int], int]] = {
    PUBLISH: _RunRules.publishes,
    PUBREC: _RunRules.pubrecs,
    PUBREL: _RunRules.pubrels,
    **dict.fromkeys((PUBACK, PUBCOMP), _RunRules.last_acks),
}
