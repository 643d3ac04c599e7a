"""Keep Alive, PINGREQ and PINGRESP (5.0: 3.1.2.10, 3.12, 3.13).

A capture does not show when a packet was sent or arrived, and the server's clock is not that of the capture. So a
silence that is only a little too long is not reported, and one that the server tolerates, or may not have noticed yet,
is a note. The guide `lint` says how long these are.
"""

from ...common.times import SECOND_NS
from ...spec.packets import Connack, Connect, Disconnect, Packet, Pingreq, Pingresp
from ...spec.properties import SERVER_KEEP_ALIVE, value_of
from ...spec.versions import Direction
from ..registry import TestPoint, cite, rule
from .must_close import check_server_closed
from .state import ENDLESS, PATIENCE_NS, ConnectionState, Peer

_SERVERS = cite("3.2.2-21")
_SERVERS_ALSO = cite("3.1.2-21")

KEEP_ALIVE = TestPoint(cite("3.1.2-20", "3.1.2-23", "2.2/keepalive-send"))
KEEP_ALIVE_BY_SERVER = TestPoint(_SERVERS, _SERVERS_ALSO)
SILENT_CLIENT = TestPoint(cite("3.1.2-22", "3.1.2-24", "2.2/keepalive-close"))
PING_ANSWERED = TestPoint(cite("3.12.4-1", "3.12.4-1", "3.12/answer"))
PINGRESP_SENT = TestPoint(cite("3.13/unasked", "3.13/unasked"))

DELAY_NS = SECOND_NS * 3 // 2
"""How much too long a silence may be without a finding: many clients look at their clock once a second, and networks
delay packets."""
MOST_PINGS = 1000
"""PINGREQ packets without an answer that are remembered."""


@rule(Connect, sender=Direction.CLIENT)
def keep_alive(state: ConnectionState, packet: Connect, peer: Peer) -> None:
    """CONNECT says how long the client may be silent."""
    if state.connect_number == state.number:
        _set_keep_alive(peer, packet.keep_alive)


@rule(Connack, sender=Direction.SERVER)
def server_keep_alive(state: ConnectionState, packet: Connack, peer: Peer) -> None:
    """The server may set another time."""
    seconds = value_of(packet.properties, SERVER_KEEP_ALIVE)
    if seconds is not None and state.connack_number == state.number:
        _set_keep_alive(peer.other, seconds)
        state.server_keep_alive = True


def _set_keep_alive(client: Peer, seconds: int) -> None:
    client.keep_alive_s = seconds
    client.silence_ns = min(seconds * SECOND_NS + DELAY_NS, _tolerated_ns(client)) if seconds else ENDLESS


def _tolerated_ns(client: Peer) -> int:
    """Return the silence after which the server must close the connection."""
    return client.keep_alive_s * SECOND_NS * 3 // 2


def check_silence(state: ConnectionState, packet: Packet | None, peer: Peer) -> None:
    """Report that a client was silent for longer than its Keep Alive, which is an error from 1.5 times that on."""
    peer.silence_reported = ""
    assert state.time_ns is not None
    assert peer.last_ns is not None
    law, also = (_SERVERS, (_SERVERS_ALSO, KEEP_ALIVE.law)) if state.server_keep_alive else (KEEP_ALIVE.law, ())
    state.exercised[_point(state)] += 1
    whose = "Server Keep Alive" if state.server_keep_alive else "Keep Alive"
    silent_ns = state.time_ns - peer.last_ns
    message = f"the client was silent for {silent_ns / SECOND_NS:.1f} s with a {whose} of {peer.keep_alive_s} s"
    if silent_ns > _tolerated_ns(peer):
        state.fault(law, "", message, *also)
    else:
        state.fault(law, "", f"{message}; servers tolerate 1.5 times as long", *also, severity="note")


def check_server_tolerates_silence(state: ConnectionState, packet: Packet | None, peer: Peer) -> None:
    """Report a server that continues with a client that was silent for more than 1.5 times its Keep Alive.

    This is an error from twice Keep Alive and 10 s on: the server may have been busy.
    """
    client = peer.other
    assert state.time_ns is not None
    if client.last_ns is None or isinstance(packet, Disconnect):
        return
    waited_ns, tolerated_ns = state.time_ns - client.last_ns, _tolerated_ns(client)
    if waited_ns <= tolerated_ns or client.silence_reported == "error":
        return
    state.exercised[SILENT_CLIENT] += 1
    severity = "error" if waited_ns > tolerated_ns * 4 // 3 + PATIENCE_NS else "note"
    if waited_ns > tolerated_ns + DELAY_NS and severity != client.silence_reported:
        client.silence_reported = severity
        silent = f"the client was silent for {waited_ns / SECOND_NS:.1f} s with a Keep Alive of {client.keep_alive_s} s"
        message = f"{silent}, but the server continues: it must close after 1.5 times Keep Alive"
        state.fault(SILENT_CLIENT.law, "", message, severity=severity)


def _point(state: ConnectionState) -> TestPoint:
    return KEEP_ALIVE_BY_SERVER if state.server_keep_alive else KEEP_ALIVE


@rule(Pingreq, sender=Direction.CLIENT)
def pingreq(state: ConnectionState, packet: Pingreq, peer: Peer) -> None:
    """PINGREQ keeps the connection alive; it is remembered until its PINGRESP comes."""
    if peer.silence_ns != ENDLESS:
        state.exercised[_point(state)] += 1
    if len(peer.pings) < MOST_PINGS:
        peer.pings.append((state.number, state.time_ns))


@rule(Pingresp, sender=Direction.SERVER)
def pingresp(state: ConnectionState, packet: Pingresp, peer: Peer) -> None:
    """PINGRESP answers the oldest PINGREQ."""
    state.exercised[PINGRESP_SENT] += 1
    if peer.other.pings:
        number, _ = peer.other.pings.pop(0)
        if state.must_close:
            check_server_closed(state, packet.name, number)
        state.exercised[PING_ANSWERED] += 1
    elif state.complete:
        state.fault(PINGRESP_SENT.law, "", "PINGRESP is sent, but no PINGREQ awaits it")
