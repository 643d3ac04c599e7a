"""PUBACK, PUBREC, PUBREL, PUBCOMP: what they belong to, and their order."""

from ...spec.packets import Puback, Pubcomp, Pubrec, Pubrel
from ...spec.versions import Version
from .must_close import went_on
from .publish import AFTER_REFUSAL, NOT_REPEATED, PUBACK, PUBCOMP, PUBREC, PUBREL, hurried
from .registry import CLIENT, Occasion, cite, on
from .state import End, Exchange, State

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
_ENDED = cite("4.4.0-2")
_ONLY_AFTER_RECONNECT = cite("4.4.0-1")
_RELEASED = cite("4.3.3-6", "4.3.3-1", "4.1/qos2-resume")
_COMPLETE = cite("4.3.3-5", "4.3.3-1")
_REC_AGAIN = cite("4.3.3-10", "4.3.3-2")
_DUP = cite(v31="2.1/dup-set")
_WHICH = cite(v31="4.2/which")
_ALL_ANSWERED = cite("4.5.0-2", "4.5.0-2")
_ORDER = {
    PUBACK: cite("4.6.0-2", "4.6.0-2"),
    PUBREC: cite("4.6.0-3", "4.6.0-3"),
    PUBREL: cite("4.6.0-4", "4.6.0-4", "4.3/order"),
}

ACKED = {
    PUBACK: Occasion(_BELONGS[PUBACK], _DEMANDED, _PUBACK, _UNKNOWN, _NO_ANSWER),
    PUBREC: Occasion(_BELONGS[PUBREC], _DEMANDED, _PUBREC, _UNKNOWN, _NO_ANSWER),
    PUBREL: Occasion(_BELONGS[PUBREL], _PUBREL, _HELD, _UNKNOWN, _DUP),
    PUBCOMP: Occasion(_BELONGS[PUBCOMP], _PUBCOMP, _COMPLETE, _RELEASED, _UNKNOWN),
}
ACKED_BY_CLIENT = Occasion(_ALL_ANSWERED)
ORDERED = {code: Occasion(law) for code, law in _ORDER.items()}
AGAIN = Occasion(_REC_AGAIN)

_NAMES = {PUBACK: "PUBACK", PUBREC: "PUBREC", PUBREL: "PUBREL", PUBCOMP: "PUBCOMP"}


@on(Puback)
def puback(state: State, packet: Puback, end: End) -> None:
    """PUBACK ends a QoS 1 exchange."""
    exchange = end.peer.exchanges.get(packet.packet_id)
    state.counts[ACKED[PUBACK]] += 1
    if end.peer.in_flight:
        end.peer.in_flight -= 1
    if exchange is None or exchange.awaits != PUBACK:
        _astray(state, packet, end, exchange)
        return
    _finished(state, packet, end.peer, exchange)
    _in_order(state, packet, end, exchange)


@on(Pubrec)
def pubrec(state: State, packet: Pubrec, end: End) -> None:
    """PUBREC is the first answer to QoS 2, or the last if it refuses."""
    exchange = end.peer.exchanges.get(packet.packet_id)
    state.counts[ACKED[PUBREC]] += 1
    refuses = (packet.reason_code or 0) >= 0x80
    if refuses and end.peer.in_flight:
        end.peer.in_flight -= 1
    if exchange is not None and exchange.awaits in (PUBREL, PUBCOMP):
        _received_again(state, packet, end, exchange)
        return
    if exchange is None or exchange.awaits != PUBREC:
        _astray(state, packet, end, exchange)
        return
    if refuses:
        _finished(state, packet, end.peer, exchange)
    else:
        exchange.awaits, exchange.received = PUBREL, state.number
    _in_order(state, packet, end, exchange)


def _received_again(state: State, packet: Pubrec, end: End, exchange: Exchange) -> None:
    if not exchange.received:
        # PUBREL came too early, which was told; this is the PUBREC that it should have waited for.
        exchange.received = state.number
        return
    if exchange.again:
        state.counts[AGAIN] += 1
        exchange.again -= 1
    elif exchange.request == "PUBLISH" and packet.packet_id not in end.peer.muddled:
        message = f"PUBREC for Packet Identifier {packet.packet_id} comes again, but {exchange} did not"
        state.fault(_UNKNOWN, "packet_id", message)
    exchange.releases += 1


@on(Pubrel)
def pubrel(state: State, packet: Pubrel, end: End) -> None:
    """PUBREL answers PUBREC; on a resumed session it may come first."""
    exchange = end.exchanges.get(packet.packet_id)
    state.counts[ACKED[PUBREL]] += 1
    if exchange is None:
        _released_late(state, packet, end)
        return
    if exchange.awaits == PUBREL:
        exchange.awaits = PUBCOMP
        _first_release(state, packet, exchange)
        _released_in_order(state, packet, end, exchange)
    elif exchange.awaits == PUBCOMP:
        _released_again(state, packet, end, exchange)
    elif exchange.awaits == PUBREC:
        if packet.packet_id not in end.muddled:
            message = f"PUBREL for Packet Identifier {packet.packet_id}, but {exchange} was not answered by PUBREC yet"
            state.fault(_HELD, "packet_id", message)
        exchange.awaits = PUBCOMP
    else:
        _astray(state, packet, end, exchange)


def _first_release(state: State, packet: Pubrel, exchange: Exchange) -> None:
    if state.version == Version.V31 and packet.dup:
        message = f"pubrel.dup is 1, but this is the first PUBREL for Packet Identifier {packet.packet_id}"
        state.fault(_DUP, "dup", message)
    exchange.interval = 0


def _released_again(state: State, packet: Pubrel, end: End, exchange: Exchange) -> None:
    """Check a second PUBREL, which answers a second PUBREC or is sent again."""
    id = packet.packet_id
    if exchange.releases:
        exchange.releases -= 1
        exchange.again += 1
        return
    state.counts[NOT_REPEATED] += 1
    message = f"PUBREL for Packet Identifier {id} is sent again, but on the same connection nothing is sent twice"
    state.fault(_ONLY_AFTER_RECONNECT, "packet_id", message)
    if state.version == Version.V31 and not packet.dup and id not in end.muddled:
        state.fault(_DUP, "dup", f"pubrel.dup is 0, but PUBREL for Packet Identifier {id} was sent before", _WHICH)
    hurried(state, exchange)
    exchange.again += 1
    end.muddled.add(id)


def _released_late(state: State, packet: Pubrel, end: End) -> None:
    """Check a PUBREL for what is over or unknown; in a resumed session it may come first."""
    id = packet.packet_id
    if id in end.refused_ids:
        message = f"PUBREL for Packet Identifier {id}, but PUBREC refused its PUBLISH: nothing follows"
        state.fault(_PUBREL, "packet_id", message)
    elif state.version == Version.V5 or id not in end.over:
        _astray(state, packet, end, None)
    if not state.complete and state.version != Version.V5:
        end.muddled.add(id)
    end.exchanges[id] = Exchange("PUBREL", state.number, state.time, PUBCOMP, 2)


@on(Pubcomp)
def pubcomp(state: State, packet: Pubcomp, end: End) -> None:
    """PUBCOMP ends a QoS 2 exchange."""
    exchange = end.peer.exchanges.get(packet.packet_id)
    state.counts[ACKED[PUBCOMP]] += 1
    if end.peer.in_flight:
        end.peer.in_flight -= 1
    if exchange is None or exchange.awaits != PUBCOMP:
        _astray(state, packet, end, exchange)
        return
    _finished(state, packet, end.peer, exchange)


def _finished(state: State, packet: Ack, sender: End, exchange: Exchange) -> None:
    sender.finish(packet.packet_id, exchange)
    state.counts[NOT_REPEATED] += 1
    if state.spoiled and sender.side == CLIENT:
        went_on(state, packet.name, exchange.number)
    if (packet.reason_code or 0) >= 0x80 and packet.code != PUBCOMP:
        sender.refused_ids.add(packet.packet_id)
        state.counts[AFTER_REFUSAL] += 1


# the order of answers


def _in_order(state: State, packet: Ack, end: End, exchange: Exchange) -> None:
    """Check that a client acknowledges in the order in which the messages came."""
    if end.side != CLIENT:
        return
    state.counts[ACKED_BY_CLIENT] += 1
    if packet.packet_id in end.peer.muddled:
        return
    code = packet.code
    state.counts[ORDERED[code]] += 1
    if exchange.number < end.acked[code]:
        message = f"{packet.name} for Packet Identifier {packet.packet_id} answers packet {exchange.number}"
        message = f"{message}, but packet {end.acked[code]} was answered before it"
        state.fault(_ORDER[code], "packet_id", message)
    else:
        end.acked[code] = exchange.number


def _released_in_order(state: State, packet: Pubrel, end: End, exchange: Exchange) -> None:
    if (end.side != CLIENT and state.version != Version.V31) or packet.packet_id in end.muddled:
        return
    state.counts[ORDERED[PUBREL]] += 1
    if exchange.received < end.released:
        message = f"PUBREL for Packet Identifier {packet.packet_id} answers packet {exchange.received}"
        state.fault(_ORDER[PUBREL], "packet_id", f"{message}, but packet {end.released} was answered before it")
    else:
        end.released = exchange.received


# what belongs to nothing


def _astray(state: State, packet: Ack, end: End, exchange: Exchange | None) -> None:
    """Check an ack that nothing awaits."""
    sender = end if packet.code == PUBREL else end.peer
    id = packet.packet_id
    told = state.version == Version.V5 and packet.reason_code == NOT_FOUND
    if (exchange is None and sender.overdue(id)) or id in sender.muddled or told:
        return
    if exchange is not None and exchange.qos:
        _wrong_type(state, packet, sender, exchange)
    elif id in sender.over:
        message = f"{packet.name} for Packet Identifier {id}, but the exchange with it is over"
        state.fault(_UNKNOWN, "packet_id", message)
    elif state.fresh and id:
        _stranger(state, packet, sender, exchange)


def _stranger(state: State, packet: Ack, sender: End, exchange: Exchange | None) -> None:
    what = f"{packet.name} for Packet Identifier {packet.packet_id}"
    # What follows an ack that nothing awaits is said for PUBREL and PUBCOMP only, and only since 5.0.
    stray = not any(each.awaits == packet.code for each in sender.exchanges.values())
    unsaid = stray and (state.version != Version.V5 or packet.code in (PUBACK, PUBREC))
    only_plain = sender.plain and not sender.over and not any(each.qos for each in sender.exchanges.values())
    if exchange is not None:
        state.fault(_BELONGS[packet.code], "packet_id", f"{what}, but that belongs to {exchange}")
    elif only_plain:
        message = f"{what}, but the {sender.name} sent QoS 0 only, which gets no answer"
        state.fault(_NO_ANSWER, "packet_id", message, severity="warning" if unsaid else "")
    else:
        law = _UNKNOWN if unsaid else _BELONGS[packet.code]
        state.fault(law, "packet_id", f"{what}, but no PUBLISH with it is in flight")


def _wrong_type(state: State, packet: Ack, sender: End, exchange: Exchange) -> None:
    awaited = _NAMES[exchange.awaits]
    message = f"{packet.name} for Packet Identifier {packet.packet_id}, but {exchange} awaits {awaited}"
    also = _ANSWERS.get(exchange.awaits)
    state.fault(_DEMANDED, "packet_id", message, *([also] if also else []))
    if packet.code in (PUBACK, PUBCOMP):
        sender.finish(packet.packet_id, exchange)


_ANSWERS = {PUBACK: _PUBACK, PUBREC: _PUBREC}
