"""PUBLISH and its Packet Identifier: new, repeated, or used while it is still in use (5.0: 2.2.1, 4.3, 4.4)."""

from collections.abc import Iterator
from itertools import compress, repeat
from operator import add

from ...spec.packets import Publish, Subscribe, Unsubscribe
from ...spec.versions import V5, V31
from ...traffic.runs import PUBLISHES
from ..registry import InRuns, TestPoint, cite, rule
from .must_close import FLAGS, note_server_must_close
from .state import CLIENT, ConnectionState, IdentifierInUse, Peer, Stretch

PUBACK, PUBREC, PUBREL, PUBCOMP = 4, 5, 6, 7
SUBACK, UNSUBACK = 9, 11

_FREE = (cite("2.2.1-3", "2.3.1-2", "2.4/unique"), cite("2.2.1-4", "2.3.1-4", "2.4/unique"))
"""By side: a new request uses an identifier that is not in use."""
_NEW = {1: cite("4.3.2-1", "4.3.2-1"), 2: cite("4.3.3-1", "4.3.3-1")}
_FIRST = {1: cite("4.3.2-2", "4.3.2-1", "2.1/dup-set"), 2: cite("4.3.3-2", "4.3.3-1", "2.1/dup-set")}
_REUSED = {
    PUBACK: cite("4.3.2-3", "4.3.2-1"),
    PUBREC: cite("4.3.3-3", "4.3.3-1"),
    PUBREL: cite("4.3.3-1", "4.3.3-1"),
    PUBCOMP: cite("4.3.3-5", "4.3.3-1"),
}
"""What a PUBLISH with an identifier in use violates, by what the older message of the same QoS waits for."""
_ENDED = cite("4.4.0-2")
RELEASED = cite("4.3.3-6", "4.3.3-1", "4.1/qos2-resume")
_DUP = cite(v311="3.3.1-1", v31="2.1/dup-set")
_DUP_ALSO = (cite(v31="4.2/which"), cite(v31="4.1/qos1-resend"))
_KEEPS_ID = cite(v311="2.3.1-3")
_SLOWER = cite(v31="4.2/slower")
_OLD_DUP = cite(v31="2.1/dup-set")
_UNIQUE = _FREE[CLIENT]

NEW_PUBLISH = {
    qos: tuple(TestPoint(free, _NEW[qos], _FIRST[qos], *held) for free in _FREE)
    for qos, held in {1: (_REUSED[PUBACK],), 2: (_REUSED[PUBREC], _REUSED[PUBCOMP])}.items()
}
NEW_REQUEST = TestPoint(_UNIQUE, _OLD_DUP)
REPEATED = TestPoint(_DUP, *_DUP_ALSO, _KEEPS_ID, _SLOWER, RELEASED)
NOT_REPEATED = TestPoint(cite("4.4.0-1"))
"""A complete exchange, in which nothing may be sent twice (5.0)."""
AFTER_REFUSAL = TestPoint(_ENDED, cite("4.3.3-4"))


# in runs

_QOS_OF = bytes(first >> 1 & 3 for first in range(256))
_QOS2 = PUBLISHES[4:6]
"""First bytes of PUBLISH packets of QoS 2 without DUP."""


def _until_taken(stretch: Stretch, row: int, stop: int) -> int:
    """Return the first message whose Packet Identifier is not free, or whose exchange is not simply new."""
    peer = stretch.peer
    in_use, refused, due = peer.in_use, peer.refused_ids, peer.repeats_due
    if not (refused or due) and in_use.are_free(stretch.begun(row, stop)):
        return stop
    taken = {*refused, *due}
    for at, id in enumerate(stretch.columns.packet_id[row:stop], row):
        if id:
            if id in taken or id in in_use:
                return at
            taken.add(id)
    return stop


def _begin(stretch: Stretch, row: int, stop: int) -> None:
    """Begin the exchanges of messages."""
    state, peer, columns, begun = stretch.state, stretch.peer, stretch.columns, stretch.begun(row, stop)
    firsts, ids = columns.first[row:stop], columns.packet_id[row:stop]
    numbers, qos = range(stretch.first_number + row, stretch.first_number + stop), firsts.translate(_QOS_OF)
    hashes = repeat(0) if state.version is V5 else _content_hashes(stretch, row, stop)
    found = compress(numbers, ids), compress(columns.time_ns[row:stop], ids), compress(qos, ids)
    peer.in_use.begin(begun, list(zip(*found, hashes, strict=False)))
    twice = sum(map(firsts.count, _QOS2))
    stretch.count(NEW_PUBLISH[1][peer.side], len(begun) - twice)
    stretch.count(NEW_PUBLISH[2][peer.side], twice)
    peer.qos0_count += len(ids) - len(begun)
    peer.in_flight += len(begun)


def _content_hashes(stretch: Stretch, row: int, stop: int) -> Iterator[int]:
    """Return what `published` keeps of the messages of QoS 1 and 2 before 5.0."""
    columns, rows = stretch.columns, slice(row, stop)
    ends = map(add, columns.begin[rows], columns.size[rows])
    whole = zip(columns.topic[rows], columns.payload_begin[rows], ends, strict=True)
    buffer = columns.buffer
    return (hash((topic, buffer[at:end])) for topic, at, end in compress(whole, columns.packet_id[rows]))


# packet by packet


@rule(Publish, runs=InRuns(_until_taken, _begin))
def published(state: ConnectionState, packet: Publish, peer: Peer) -> None:
    """A message of QoS 1 or 2 begins an exchange, or repeats the beginning of one."""
    qos, id = packet.qos, packet.packet_id
    if qos == 0 or qos > 2 or not id:
        peer.qos0_count += 1
        return
    exchange = peer.in_use.get(id)
    if exchange is not None:
        if _repeats(packet, exchange):
            _repeated(state, packet, exchange)
            peer.ids_reused_early.add(id)
            return
        _reused(state, packet, peer, exchange)
        if exchange.qos:
            peer.in_flight -= 1
    elif packet.dup:
        _dup_without_original(state, packet, peer)
        if not state.complete or state.version != V5:
            peer.ids_reused_early.add(id)
    if peer.refused_ids and id in peer.refused_ids:
        state.exercised[AFTER_REFUSAL] += 1
        peer.refused_ids.discard(id)
    state.exercised[NEW_PUBLISH[qos][peer.side]] += 1
    begun = IdentifierInUse("PUBLISH", state.number, state.time_ns, PUBACK if qos == 1 else PUBREC, qos)
    if state.version != V5:
        begun.content_hash = hash((packet.topic, packet.payload))
        if id in peer.repeats_due:
            begun.unanswered_repeats = peer.repeats_due.pop(id).unanswered_repeats
    peer.in_use[id] = begun
    peer.in_flight += 1


def _repeats(packet: Publish, exchange: IdentifierInUse) -> bool:
    """Whether a PUBLISH with an identifier in use is the older message, sent again."""
    if exchange.qos != packet.qos:
        return False
    return packet.dup or (exchange.content_hash != 0 and exchange.content_hash == hash((packet.topic, packet.payload)))


def _repeated(state: ConnectionState, packet: Publish, exchange: IdentifierInUse) -> None:
    state.exercised[REPEATED] += 1
    what = f"PUBLISH with Packet Identifier {packet.packet_id} is sent again"
    if exchange.awaits == PUBCOMP:
        state.fault(RELEASED, "packet_id", f"{what}, but its PUBREL was sent: only that may be repeated")
        return
    state.exercised[NOT_REPEATED] += 1
    message = f"{what} (first in packet {exchange.number}), but nothing may be sent twice on the same connection"
    state.fault(NOT_REPEATED.law, "packet_id", message)
    if not packet.dup:
        also = _DUP_ALSO if exchange.qos == 1 else _DUP_ALSO[:1]
        state.fault(_DUP, "dup", f"DUP is 0, but this repeats packet {exchange.number}", *also)
    check_retry_interval(state, exchange)
    exchange.unanswered_repeats += 1


def check_retry_interval(state: ConnectionState, exchange: IdentifierInUse) -> None:
    """Report a repeat that waited less than the one before it (3.1: 4.2); keeps the interval.

    The waiting time may be 10 % shorter: captures and clocks are not exact.
    """
    if state.time_ns is None or exchange.sent_ns is None:
        return
    waited = state.time_ns - exchange.sent_ns
    if exchange.interval_ns and waited < exchange.interval_ns * 0.9:
        message = f"the repeat waited {waited / 1e9:.1f} s, but the one before it {exchange.interval_ns / 1e9:.1f} s"
        state.fault(_SLOWER, "packet_id", message)
    exchange.interval_ns, exchange.sent_ns = waited, state.time_ns


def _reused(state: ConnectionState, packet: Publish, peer: Peer, exchange: IdentifierInUse) -> None:
    if packet.packet_id in peer.ids_reused_early:
        return
    law = _NEW[packet.qos]
    if not exchange.qos or not law.id(state.version):
        law = _FREE[peer.side]
    elif exchange.qos == packet.qos:
        law = _REUSED[exchange.awaits]
    state.fault(law, "packet_id", _in_use(packet.packet_id, exchange), _NEW[packet.qos], _FREE[peer.side], _KEEPS_ID)
    peer.ids_reused_early.add(packet.packet_id or 0)


def _in_use(id: int | None, exchange: IdentifierInUse) -> str:
    return f"Packet Identifier {id} is in use by {exchange}, but a new request must have another"


def _dup_without_original(state: ConnectionState, packet: Publish, peer: Peer) -> None:
    """Check a PUBLISH with DUP 1 whose identifier is not in use."""
    id = packet.packet_id
    assert id
    if id in peer.refused_ids:
        message = f"PUBLISH with Packet Identifier {id} is sent again after it was refused, which ends the exchange"
        state.fault(_ENDED, "dup", message)
    elif id in peer.finished:
        state.exercised[NOT_REPEATED] += 1
        message = f"PUBLISH with Packet Identifier {id} is sent again after it was acknowledged"
        state.fault(NOT_REPEATED.law, "dup", message)
    elif state.new_session:
        message = f"DUP is 1, but this is the first PUBLISH with Packet Identifier {id} in this session"
        state.fault(_FIRST[packet.qos], "dup", message)


# SUBSCRIBE and UNSUBSCRIBE use identifiers of the same set


@rule(Subscribe, Unsubscribe)
def requested(state: ConnectionState, packet: Subscribe | Unsubscribe, peer: Peer) -> None:
    """A request uses a free identifier, or is sent again (3.1 only)."""
    id, name = packet.packet_id, packet.name
    if not id:
        return
    exchange = peer.in_use.get(id)
    filters = packet.subscriptions if isinstance(packet, Subscribe) else packet.filters
    content = hash(filters)
    if exchange is not None:
        if state.version == V31 and exchange.request == name and exchange.content_hash == content:
            _repeated_request(state, packet, exchange)
            return
        if id not in peer.ids_reused_early:
            state.fault(_UNIQUE, "packet_id", _in_use(id, exchange), _KEEPS_ID)
            peer.ids_reused_early.add(id)
        if exchange.qos:
            peer.in_flight -= 1
        state.held_bytes -= exchange.size_bytes
    elif state.version == V31 and packet.dup and state.complete and id not in peer.answered_requests:
        message = f"DUP is 1, but this is the first {name} with Packet Identifier {id}"
        state.fault(_OLD_DUP, "dup", message)
    state.exercised[NEW_REQUEST] += 1
    if packet.flags != 2:
        note_server_must_close(state, FLAGS)
    begun = IdentifierInUse(name, state.number, state.time_ns, SUBACK if name == "SUBSCRIBE" else UNSUBACK)
    begun.content_hash, begun.filter_count = content, len(filters)
    if state.held_bytes + state.size_bytes <= MOST_BYTES:
        begun.filters, begun.size_bytes = filters, state.size_bytes
        state.held_bytes += state.size_bytes
    peer.in_use[id] = begun


MOST_BYTES = 1 << 20
"""Bytes of requests whose filters are remembered until the answer; of more, only the number of filters is."""


def _repeated_request(state: ConnectionState, packet: Subscribe | Unsubscribe, exchange: IdentifierInUse) -> None:
    state.exercised[REPEATED] += 1
    if not packet.dup:
        message = f"{packet.name.lower()}.dup is 0, but this repeats packet {exchange.number}"
        state.fault(_DUP, "dup", message, *_DUP_ALSO[:1])
    check_retry_interval(state, exchange)
    exchange.unanswered_repeats += 1
