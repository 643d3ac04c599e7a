"""Keep Alive, PINGREQ and PINGRESP."""

from ...spec.packets import Connack, Connect, Packet, Pingreq, Pingresp
from ...spec.properties import BY_KEY
from ...spec.versions import Direction
from .must_close import went_on
from .registry import Occasion, cite, on, value_of
from .state import ENDLESS, PATIENCE, SECOND, End, State

_SERVER_KEEP_ALIVE = BY_KEY["server_keep_alive"].id

_ALIVE = cite("3.1.2-20", "3.1.2-23", "2.2/keepalive-send")
_SERVERS = cite("3.2.2-21")
_SERVERS_ALSO = cite("3.1.2-21")
_CLOSE = cite("3.1.2-22", "3.1.2-24", "2.2/keepalive-close")
_UNASKED = cite("3.13/unasked", "3.13/unasked")
_ANSWERED = cite("3.12.4-1", "3.12.4-1", "3.12/answer")

ALIVE = Occasion(_ALIVE)
ALIVE_AS_TOLD = Occasion(_SERVERS, _SERVERS_ALSO)
SILENT = Occasion(_CLOSE)
ANSWERED = Occasion(_ANSWERED)
ASKED = Occasion(_UNASKED)

MOST_PINGS = 1000
"""PINGREQ packets without an answer that are remembered."""


@on(Connect, sender=Direction.CLIENT)
def promised(state: State, packet: Connect, end: End) -> None:
    """CONNECT says how long the client may be silent."""
    if state.connect_number == state.number:
        _allow(end, packet.keep_alive)


@on(Connack, sender=Direction.SERVER)
def told(state: State, packet: Connack, end: End) -> None:
    """The server may set another time."""
    seconds = value_of(packet.properties, _SERVER_KEEP_ALIVE)
    if seconds is not None and state.connack_number == state.number:
        _allow(end.peer, seconds)
        state.keep_alive_told = True


def _allow(client: End, seconds: int) -> None:
    client.keep_alive = seconds
    client.silence = seconds * SECOND * 3 // 2 if seconds else ENDLESS


def silent(state: State, packet: Packet | None, end: End) -> None:
    """Note that a client was silent for more than one and a half times its Keep Alive."""
    end.quiet = False
    assert state.time is not None
    assert end.last is not None
    law, also = (_SERVERS, (_SERVERS_ALSO, _ALIVE)) if state.keep_alive_told else (_ALIVE, ())
    state.counts[ALIVE_AS_TOLD if state.keep_alive_told else ALIVE] += 1
    whose = "Server Keep Alive" if state.keep_alive_told else "Keep Alive"
    message = f"the client was silent for {(state.time - end.last) / 1e9:.1f} s, but {whose} is {end.keep_alive} s"
    state.fault(law, "", message, *also)


def borne(state: State, packet: Packet | None, end: End) -> None:
    """Note that a server goes on with a client that was silent for far more than one and a half times Keep Alive."""
    client = end.peer
    assert state.time is not None
    if client.quiet or client.last is None or (packet is not None and packet.code == 14):
        return
    state.counts[SILENT] += 1
    if state.time - client.last > client.silence * 4 // 3 + PATIENCE:
        client.quiet = True
        message = (
            f"the client is silent for {(state.time - client.last) / 1e9:.1f} s with Keep Alive {client.keep_alive} s"
        )
        state.fault(_CLOSE, "", f"{message}, but the server goes on, and should have closed after 1.5 times that")


@on(Pingreq, sender=Direction.CLIENT)
def pinged(state: State, packet: Pingreq, end: End) -> None:
    """PINGREQ awaits its PINGRESP."""
    if end.silence != ENDLESS:
        state.counts[ALIVE_AS_TOLD if state.keep_alive_told else ALIVE] += 1
    if len(end.pings) < MOST_PINGS:
        end.pings.append((state.number, state.time))


@on(Pingresp, sender=Direction.SERVER)
def answered(state: State, packet: Pingresp, end: End) -> None:
    """PINGRESP answers the oldest PINGREQ."""
    state.counts[ASKED] += 1
    if end.peer.pings:
        number, _ = end.peer.pings.pop(0)
        if state.spoiled:
            went_on(state, packet.name, number)
        state.counts[ANSWERED] += 1
    elif state.complete:
        state.fault(_UNASKED, "", "PINGRESP is sent, but no PINGREQ awaits it")
