"""Runs of packets through the rules of a connection, many at once while nothing is wrong.

`advance` does for packets of a run what the rules in `publish`, `acks`, `limits`, `aliases`, `deliver`, `loopback` and
`keepalive` do for each, as long as they would find nothing and only the usual happens: an exchange begins, continues or
ends. It stops before any other packet, with the state as the rules would leave it, and the rules take that packet.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import compress, repeat
from operator import add

from ...spec.packets import Publish
from ...spec.versions import V5, V31, Direction
from ...traffic.handshakes import REFUSED
from ...traffic.runs import PUBLISHES, PacketRun
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
"""Rows that are looked at first after a packet that the rules took; then twice as many each time."""
_AWAITS = {1: PUBACK, 2: PUBREC}
_NOT_RETAINED = PUBLISHES[::2]
_QOS2 = PUBLISHES[4:6]
"""Those of QoS 2 without DUP."""
_QOS_OF = bytes(first >> 1 & 3 for first in range(256))
_PUBACK = bytes((PUBACK << 4,))


def advance(state: ConnectionState, run: PacketRun, row: int) -> int:
    """Follow the packets of a run from a row on as far as they are without findings; return the row after them."""
    peer = state.client if run.direction is Direction.CLIENT else state.server
    unusual = state.check_order[peer.side] or peer.constrained or state.must_close is not None
    if unusual or run.version is not state.version:
        return row
    rules = _RunRules(state, peer, run, row)
    # Of a run that is left at once, few rows should be looked at.
    size = run.stop - row if peer.follows_runs else _FIRST_ROWS
    peer.follows_runs = False
    while row < run.stop:
        stop = _before_silence(state, peer, run, row, min(row + size, run.stop))
        after = _follow(rules, row, stop)
        if after > row:
            _pass(state, peer, run, row, after)
        if after < stop or stop == row:
            return after
        row, size = stop, 2 * size
    peer.follows_runs = True
    return row


def _follow(rules: "_RunRules", row: int, stop: int) -> int:
    """Follow packets by their types; return the row after the last one, and count the statements that were tested."""
    firsts, exercised = rules.columns.first, rules.state.exercised
    while row < stop:
        after = (rules.publishes if firsts[row] >> 4 == PUBLISH else rules.acks)(row, stop)
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
        peer, columns, number = self.peer, self.columns, self.number
        firsts, times = columns.first[row:stop], columns.time_ns
        firsts = firsts[: len(firsts) - len(firsts.lstrip(PUBLISHES))]
        limits, old = peer.limits, self.state.version is not V5
        limited = limits.known and not old
        most_qos = limits.qos if limited and self.is_client else 2
        window = limits.receive_maximum if limited else ENDLESS
        in_use, in_flight, refused, due = peer.in_use, peer.in_flight, peer.refused_ids, peer.repeats_due
        suits = self._may_be_sent if self.is_client else self._may_be_delivered
        followed = self._is_followed()
        checked = followed or bool(firsts.translate(None, _NOT_RETAINED))
        if not (checked or refused or due or most_qos < 2) and self._begin(row, firsts, window, limited):
            return row + len(firsts)
        at = row
        for at, (id, first) in enumerate(zip(columns.packet_id[row:stop], firsts, strict=False), row):
            if id:
                qos = first >> 1 & 3
                if id in in_use or id in refused or id in due or in_flight >= window or qos > most_qos:
                    break
            if checked and (followed or first & 1) and not suits(at, first, limited):
                break
            if id:
                begun = in_use[id] = IdentifierInUse("PUBLISH", number + at, times[at], _AWAITS[qos], qos)
                in_flight += 1
                if old:
                    [begun.content_hash] = self._content_hashes(at, at + 1)
        else:
            at = row + len(firsts)
        self._count_begun(firsts[: at - row], in_flight - peer.in_flight, limited)
        peer.in_flight = in_flight
        return at

    def _begin(self, row: int, firsts: bytes, window: int, limited: bool) -> bool:
        """Follow PUBLISH packets together if they are as many as fit the window and their identifiers are free."""
        # Half of the time of what `publishes` does for each (tests/benchmarks/views.py).
        peer, columns, stop = self.peer, self.columns, row + len(firsts)
        ids = columns.packet_id[row:stop]
        begun = list(filter(None, ids))
        if peer.in_flight + len(begun) > window:
            return False
        numbers, qos = range(self.number + row, self.number + stop), firsts.translate(_QOS_OF)
        hashes = repeat(0) if self.state.version is V5 else self._content_hashes(row, stop)
        begun_at = compress(numbers, ids), compress(columns.time_ns[row:stop], ids), compress(qos, ids)
        messages = list(zip(*begun_at, hashes, strict=False))
        if not peer.in_use.begin(begun, messages):
            return False
        self._count_begun(firsts, len(begun), limited)
        peer.in_flight += len(begun)
        return True

    def _count_begun(self, firsts: bytes, begun: int, limited: bool) -> None:
        """Count the statements that PUBLISH packets put to the test; `begun` of them have a QoS above 0."""
        side, twice = self.peer.side, sum(map(firsts.count, _QOS2))
        self.peer.qos0_count += len(firsts) - begun
        self.counts[NEW_PUBLISH[1][side]] += begun - twice
        self.counts[NEW_PUBLISH[2][side]] += twice
        if limited:
            self.counts[WINDOW[side]] += begun
            if self.is_client:
                self.counts[QOS] += begun

    def _content_hashes(self, row: int, stop: int) -> Iterator[int]:
        """Return what `publish.published` keeps of the messages of QoS 1 and 2 before 5.0."""
        columns, rows = self.columns, slice(row, stop)
        ends = map(add, columns.begin[rows], columns.size[rows])
        whole = zip(columns.topic[rows], columns.payload_begin[rows], ends, strict=True)
        buffer = columns.buffer
        return (hash((topic, buffer[at:end])) for topic, at, end in compress(whole, columns.packet_id[rows]))

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

    def acks(self, row: int, stop: int) -> int:
        """Follow acknowledgements of any types."""
        return self._pubacks(row, stop) or self._acks(row, stop)

    def _pubacks(self, row: int, stop: int) -> int:
        """Follow PUBACK packets together if each ends an exchange as it should; return the row after them, else 0."""
        peer, sender, columns = self.peer, self.peer.other, self.columns
        firsts = columns.first[row:stop]
        count = len(firsts) - len(firsts.lstrip(_PUBACK))
        rows = slice(row, row + count)
        refused = any(reason is not None and reason >= REFUSED for reason in set(columns.reason[rows]))
        ids = columns.packet_id[rows]
        messages = None if refused else sender.in_use.only_begun(ids)
        if messages is None:
            return 0
        numbers, _, qos, _ = zip(*messages, strict=True)
        if set(qos) != {1}:
            return 0
        if self.is_client:
            if sender.ids_reused_early or numbers[0] < peer.last_acked[PUBACK] or list(numbers) != sorted(numbers):
                return 0
            peer.last_acked[PUBACK] = numbers[-1]
        sender.in_use.end(ids)
        self._finish(ids)
        self._count_acks([count if code == PUBACK else 0 for code in range(PUBCOMP + 1)])
        return row + count

    def _finish(self, done: list[int]) -> None:
        """Note exchanges that are complete."""
        sender = self.peer.other
        sender.finished.update(done)
        sender.in_flight = max(sender.in_flight - len(done), 0)
        self.counts[NOT_REPEATED] += len(done)

    def _acks(self, row: int, stop: int) -> int:
        """Follow acknowledgements one by one."""
        peer, sender, columns, number = self.peer, self.peer.other, self.columns, self.number
        firsts, ids, reasons = columns.first, columns.packet_id, columns.reason
        in_use, early, latest = sender.in_use, sender.ids_reused_early, peer.last_acked
        is_client, passed, done = self.is_client, [0] * (PUBCOMP + 1), []
        for at in range(row, stop):
            code, id, reason = firsts[at] >> 4, ids[at], reasons[at]
            if code == PUBREL:
                if not self._releases(id):
                    break
                passed[PUBREL] += 1
                continue
            exchange = in_use.get(id)
            if exchange is None or exchange.awaits != code or (reason is not None and reason >= REFUSED):
                break
            if code != PUBREC and exchange.unanswered_repeats:
                break
            if is_client and code != PUBCOMP:
                if exchange.number < latest[code] or id in early:
                    break
                latest[code] = exchange.number
            if code == PUBREC:
                exchange.awaits, exchange.pubrec_number = PUBREL, number + at
            else:
                del in_use[id]
                done.append(id)
            passed[code] += 1
        if done:
            self._finish(done)
        self._count_acks(passed)
        return row + sum(passed)

    def _releases(self, id: int) -> bool:
        """Follow a PUBREL packet if it is right."""
        peer = self.peer
        exchange = peer.in_use.get(id)
        if exchange is None or exchange.awaits != PUBREL or exchange.interval_ns:
            return False
        if self.is_client or self.state.version is V31:
            if exchange.pubrec_number < peer.last_released or id in peer.ids_reused_early:
                return False
            peer.last_released = exchange.pubrec_number
        exchange.awaits = PUBCOMP
        return True

    def _count_acks(self, passed: list[int]) -> None:
        """Count the statements that acknowledgements put to the test, so many of each type."""
        counts, is_client = self.counts, self.is_client
        for code in (PUBACK, PUBREC, PUBREL, PUBCOMP):
            count = passed[code]
            if not count:
                continue
            counts[ACKED[code]] += count
            if code == PUBREL and (is_client or self.state.version is V31):
                counts[ORDERED[code]] += count
            elif is_client and code != PUBCOMP:
                counts[ORDERED[code]] += count
                counts[ACKED_BY_CLIENT] += count
