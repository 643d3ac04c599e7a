"""PUBACK, PUBREC, PUBREL and PUBCOMP: which exchange they belong to, and their order (5.0: 4.3, 4.4, 4.6).

`_follow` does the same for packets of a run as the rules below it, as far as each ends or continues an exchange as it
should.
"""

from ...spec.packets import Puback, Pubcomp, Pubrec, Pubrel
from ...spec.reason_codes import FAILURE
from ...spec.versions import V5, V31
from ..registry import InRuns, TestPoint, cite, rule
from .must_close import check_server_closed
from .publish import AFTER_REFUSAL, NOT_REPEATED, PUBACK, PUBCOMP, PUBREC, PUBREL, RELEASED, check_retry_interval
from .state import CLIENT, ConnectionState, IdentifierInUse, Peer, Stretch

Ack = Puback | Pubrec | Pubrel | Pubcomp
NOT_FOUND = 0x92

_BELONGS = {
    PUBACK: cite("2.2.1-5", "2.3.1-6", "3.4/id"),
    PUBREC: cite("2.2.1-5", "2.3.1-6", "3.5/id"),
    PUBREL: cite("2.2.1-5", "2.3.1-6", "3.6/id"),
    PUBCOMP: cite("2.2.1-5", "4.3.3-2", "3.7/id"),
}
_DEMANDED = cite("3.3.4-1", "3.3.4-1", "3.3/answer")
_NO_ANSWER = cite("3.3.4-1", "3.3.4-1", "4.1/qos0")
_UNKNOWN = cite("4.3/unknown-ack", "4.3/unknown-ack", "4.2/which")
_PUBACK = cite("4.3.2-4", "4.3.2-2", "4.1/qos1-again")
_PUBREC = cite("4.3.3-8", "4.3.3-2")
_PUBREL = cite("4.3.3-4", "4.3.3-1", "3.5/pubrel")
_PUBCOMP = cite("4.3.3-11", "4.3.3-2", "3.6/pubcomp")
_HELD = cite("4.3.3-3", "4.3.3-1")
_COMPLETE = cite("4.3.3-5", "4.3.3-1")
_DUP = cite(v31="2.1/dup-set")
_WHICH = cite(v31="4.2/which")
_ORDER = {
    PUBACK: cite("4.6.0-2", "4.6.0-2"),
    PUBREC: cite("4.6.0-3", "4.6.0-3"),
    PUBREL: cite("4.6.0-4", "4.6.0-4", "4.3/order"),
}

ACKED = {
    PUBACK: TestPoint(_BELONGS[PUBACK], _DEMANDED, _PUBACK, _UNKNOWN, _NO_ANSWER),
    PUBREC: TestPoint(_BELONGS[PUBREC], _DEMANDED, _PUBREC, _UNKNOWN, _NO_ANSWER),
    PUBREL: TestPoint(_BELONGS[PUBREL], _PUBREL, _HELD, _UNKNOWN, _DUP),
    PUBCOMP: TestPoint(_BELONGS[PUBCOMP], _PUBCOMP, _COMPLETE, RELEASED, _UNKNOWN),
}
ACKED_BY_CLIENT = TestPoint(cite("4.5.0-2", "4.5.0-2"))
ORDERED = {code: TestPoint(law) for code, law in _ORDER.items()}
PUBREC_REPEATED = TestPoint(cite("4.3.3-10", "4.3.3-2"))

_NAMES = {PUBACK: "PUBACK", PUBREC: "PUBREC", PUBREL: "PUBREL", PUBCOMP: "PUBCOMP"}


# in runs


def _complete(stretch: Stretch, done: list[int]) -> None:
    """Note exchanges that are complete."""
    sender = stretch.peer.other
    sender.finished.update(done)
    sender.in_flight = max(sender.in_flight - len(done), 0)
    stretch.count(NOT_REPEATED, len(done))


def _follow(stretch: Stretch, row: int, stop: int) -> int:
    """Follow acknowledgements; return the row after the last one."""
    peer, sender, columns, number = stretch.peer, stretch.peer.other, stretch.columns, stretch.first_number
    firsts, ids, reasons = columns.first, columns.packet_id, columns.reason
    in_use, early, latest = sender.in_use, sender.ids_reused_early, peer.last_acked
    is_client, passed, done = stretch.is_client, [0] * (PUBCOMP + 1), []
    for at in range(row, stop):
        code, id, reason = firsts[at] >> 4, ids[at], reasons[at]
        if code == PUBREL:
            if not _releases(stretch, id):
                break
            passed[PUBREL] += 1
            continue
        exchange = in_use.get(id)
        if exchange is None or exchange.awaits != code or (reason is not None and reason >= FAILURE):
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
        _complete(stretch, done)
    _count(stretch, passed)
    return row + sum(passed)


def _releases(stretch: Stretch, id: int) -> bool:
    """Follow a PUBREL packet if it is right."""
    peer = stretch.peer
    exchange = peer.in_use.get(id)
    if exchange is None or exchange.awaits != PUBREL or exchange.interval_ns:
        return False
    if stretch.is_client or stretch.state.version is V31:
        if exchange.pubrec_number < peer.last_released or id in peer.ids_reused_early:
            return False
        peer.last_released = exchange.pubrec_number
    exchange.awaits = PUBCOMP
    return True


def _count(stretch: Stretch, passed: list[int]) -> None:
    """Count the statements that acknowledgements put to the test, so many of each type."""
    is_client = stretch.is_client
    for code in (PUBACK, PUBREC, PUBREL, PUBCOMP):
        count = passed[code]
        if not count:
            continue
        stretch.count(ACKED[code], count)
        if code == PUBREL and (is_client or stretch.state.version is V31):
            stretch.count(ORDERED[code], count)
        elif is_client and code != PUBCOMP:
            stretch.count(ORDERED[code], count)
            stretch.count(ACKED_BY_CLIENT, count)


_IN_RUNS = InRuns(follow=_follow)


# packet by packet


@rule(Puback, runs=_IN_RUNS)
def puback(state: ConnectionState, packet: Puback, peer: Peer) -> None:
    """PUBACK ends a QoS 1 exchange."""
    if exchange := _last_ack(state, packet, peer):
        _in_order(state, packet, peer, exchange)


@rule(Pubrec, runs=_IN_RUNS)
def pubrec(state: ConnectionState, packet: Pubrec, peer: Peer) -> None:
    """PUBREC is the first answer to a QoS 2 PUBLISH, and the last one if it refuses."""
    exchange = peer.other.in_use.get(packet.packet_id)
    state.exercised[ACKED[PUBREC]] += 1
    refuses = (packet.reason_code or 0) >= FAILURE
    if refuses and peer.other.in_flight:
        peer.other.in_flight -= 1
    if exchange is not None and exchange.awaits in (PUBREL, PUBCOMP):
        _repeated_pubrec(state, packet, peer, exchange)
        return
    if exchange is None or exchange.awaits != PUBREC:
        _unawaited(state, packet, peer, exchange)
        return
    if refuses:
        _finished(state, packet, peer.other, exchange)
    else:
        exchange.awaits, exchange.pubrec_number = PUBREL, state.number
    _in_order(state, packet, peer, exchange)


def _repeated_pubrec(state: ConnectionState, packet: Pubrec, peer: Peer, exchange: IdentifierInUse) -> None:
    if not exchange.pubrec_number:
        # PUBREL came too early, which was reported; this is the PUBREC that it should have waited for.
        exchange.pubrec_number = state.number
        return
    if exchange.unanswered_repeats:
        state.exercised[PUBREC_REPEATED] += 1
        exchange.unanswered_repeats -= 1
    elif exchange.request == "PUBLISH" and packet.packet_id not in peer.other.ids_reused_early:
        message = f"PUBREC for Packet Identifier {packet.packet_id} comes again, but {exchange} did not"
        state.fault(_UNKNOWN, "packet_id", message)
    exchange.pubrec_repeats += 1


@rule(Pubrel, runs=_IN_RUNS)
def pubrel(state: ConnectionState, packet: Pubrel, peer: Peer) -> None:
    """PUBREL answers PUBREC; in a resumed session it may come first."""
    exchange = peer.in_use.get(packet.packet_id)
    state.exercised[ACKED[PUBREL]] += 1
    if exchange is None:
        _pubrel_without_exchange(state, packet, peer)
        return
    if exchange.awaits == PUBREL:
        exchange.awaits = PUBCOMP
        _first_pubrel(state, packet, exchange)
        _pubrel_in_order(state, packet, peer, exchange)
    elif exchange.awaits == PUBCOMP:
        _repeated_pubrel(state, packet, peer, exchange)
    elif exchange.awaits == PUBREC:
        if packet.packet_id not in peer.ids_reused_early:
            message = f"PUBREL for Packet Identifier {packet.packet_id}, but {exchange} was not answered by PUBREC yet"
            state.fault(_HELD, "packet_id", message)
        exchange.awaits = PUBCOMP
    else:
        _unawaited(state, packet, peer, exchange)


def _first_pubrel(state: ConnectionState, packet: Pubrel, exchange: IdentifierInUse) -> None:
    if state.version == V31 and packet.dup:
        message = f"DUP is 1, but this is the first PUBREL for Packet Identifier {packet.packet_id}"
        state.fault(_DUP, "dup", message)
    exchange.interval_ns = 0


def _repeated_pubrel(state: ConnectionState, packet: Pubrel, peer: Peer, exchange: IdentifierInUse) -> None:
    """Check a second PUBREL, which answers a second PUBREC or is a repeat."""
    id = packet.packet_id
    if exchange.pubrec_repeats:
        exchange.pubrec_repeats -= 1
        exchange.unanswered_repeats += 1
        return
    state.exercised[NOT_REPEATED] += 1
    message = f"PUBREL for Packet Identifier {id} is sent again, but nothing may be sent twice on the same connection"
    state.fault(NOT_REPEATED.law, "packet_id", message)
    if state.version == V31 and not packet.dup and id not in peer.ids_reused_early:
        state.fault(_DUP, "dup", f"DUP is 0, but PUBREL for Packet Identifier {id} was sent before", _WHICH)
    check_retry_interval(state, exchange)
    exchange.unanswered_repeats += 1
    peer.ids_reused_early.add(id)


def _pubrel_without_exchange(state: ConnectionState, packet: Pubrel, peer: Peer) -> None:
    """Check a PUBREL whose exchange is complete or unknown; in a resumed session it may come first."""
    id = packet.packet_id
    if id in peer.refused_ids:
        message = f"PUBREL for Packet Identifier {id}, but PUBREC refused its PUBLISH: nothing follows"
        state.fault(_PUBREL, "packet_id", message)
    elif state.version == V5 or id not in peer.finished:
        _unawaited(state, packet, peer, None)
    if not state.complete and state.version != V5:
        peer.ids_reused_early.add(id)
    peer.in_use[id] = IdentifierInUse("PUBREL", state.number, state.time_ns, PUBCOMP, 2)


@rule(Pubcomp, runs=_IN_RUNS)
def pubcomp(state: ConnectionState, packet: Pubcomp, peer: Peer) -> None:
    """PUBCOMP ends a QoS 2 exchange."""
    _last_ack(state, packet, peer)


def _last_ack(state: ConnectionState, packet: Puback | Pubcomp, peer: Peer) -> IdentifierInUse | None:
    """End the exchange that a packet completes and return it; None, with a finding, if nothing awaits the packet."""
    exchange = peer.other.in_use.get(packet.packet_id)
    state.exercised[ACKED[packet.code]] += 1
    if peer.other.in_flight:
        peer.other.in_flight -= 1
    if exchange is None or exchange.awaits != packet.code:
        _unawaited(state, packet, peer, exchange)
        return None
    _finished(state, packet, peer.other, exchange)
    return exchange


def _finished(state: ConnectionState, packet: Ack, sender: Peer, exchange: IdentifierInUse) -> None:
    sender.finish(packet.packet_id, exchange)
    state.exercised[NOT_REPEATED] += 1
    if state.must_close and sender.side == CLIENT:
        check_server_closed(state, packet.name, exchange.number)
    if (packet.reason_code or 0) >= FAILURE and packet.code != PUBCOMP:
        sender.refused_ids.add(packet.packet_id)
        state.exercised[AFTER_REFUSAL] += 1


# the order of acks


def _in_order(state: ConnectionState, packet: Ack, peer: Peer, exchange: IdentifierInUse) -> None:
    """Check that a client acknowledges messages in the order in which they came (5.0: 4.6)."""
    if peer.side != CLIENT:
        return
    state.exercised[ACKED_BY_CLIENT] += 1
    if packet.packet_id in peer.other.ids_reused_early:
        return
    code = packet.code
    state.exercised[ORDERED[code]] += 1
    if exchange.number < peer.last_acked[code]:
        message = f"{packet.name} for Packet Identifier {packet.packet_id} answers packet {exchange.number}"
        message = f"{message}, but packet {peer.last_acked[code]} was answered before it"
        state.fault(_ORDER[code], "packet_id", message)
    else:
        peer.last_acked[code] = exchange.number


def _pubrel_in_order(state: ConnectionState, packet: Pubrel, peer: Peer, exchange: IdentifierInUse) -> None:
    if (peer.side != CLIENT and state.version != V31) or packet.packet_id in peer.ids_reused_early:
        return
    state.exercised[ORDERED[PUBREL]] += 1
    if exchange.pubrec_number < peer.last_released:
        message = f"PUBREL for Packet Identifier {packet.packet_id} answers packet {exchange.pubrec_number}"
        state.fault(_ORDER[PUBREL], "packet_id", f"{message}, but packet {peer.last_released} was answered before it")
    else:
        peer.last_released = exchange.pubrec_number


# acks without an exchange


def _unawaited(state: ConnectionState, packet: Ack, peer: Peer, exchange: IdentifierInUse | None) -> None:
    """Check an ack that no exchange awaits."""
    sender = peer if packet.code == PUBREL else peer.other
    id = packet.packet_id
    not_found = state.version == V5 and packet.reason_code == NOT_FOUND
    if (exchange is None and sender.answers_repeat(id)) or id in sender.ids_reused_early or not_found:
        return
    if exchange is not None and exchange.qos:
        _wrong_type(state, packet, sender, exchange)
    elif id in sender.finished:
        message = f"{packet.name} for Packet Identifier {id}, but its exchange is complete"
        state.fault(_UNKNOWN, "packet_id", message)
    elif state.new_session and id:
        _unknown_id(state, packet, sender, exchange)


def _unknown_id(state: ConnectionState, packet: Ack, sender: Peer, exchange: IdentifierInUse | None) -> None:
    what = f"{packet.name} for Packet Identifier {packet.packet_id}"
    # The text says what follows an ack that nothing awaits only for PUBREL and PUBCOMP, and only since 5.0.
    stray = not any(each.awaits == packet.code for _, each in sender.in_use.items())
    unspecified = stray and (state.version != V5 or packet.code in (PUBACK, PUBREC))
    only_plain = sender.qos0_count and not sender.finished and not any(each.qos for _, each in sender.in_use.items())
    if exchange is not None:
        state.fault(_BELONGS[packet.code], "packet_id", f"{what}, but that belongs to {exchange}")
    elif only_plain:
        message = f"{what}, but the {sender.name} sent QoS 0 only, which gets no answer"
        state.fault(_NO_ANSWER, "packet_id", message, severity="warning" if unspecified else "")
    else:
        law = _UNKNOWN if unspecified else _BELONGS[packet.code]
        state.fault(law, "packet_id", f"{what}, but no PUBLISH with it is in flight")


def _wrong_type(state: ConnectionState, packet: Ack, sender: Peer, exchange: IdentifierInUse) -> None:
    awaited = _NAMES[exchange.awaits]
    message = f"{packet.name} for Packet Identifier {packet.packet_id}, but {exchange} awaits {awaited}"
    also = _ANSWERS.get(exchange.awaits)
    state.fault(_DEMANDED, "packet_id", message, *([also] if also else []))
    if packet.code in (PUBACK, PUBCOMP):
        sender.finish(packet.packet_id, exchange)


_ANSWERS = {PUBACK: _PUBACK, PUBREC: _PUBREC}
