"""Extended authentication: who may send AUTH, with which Reason Code and method (5.0: 4.12)."""

from ...spec.packets import Auth
from ...spec.properties import AUTHENTICATION_METHOD, value_of
from ..registry import TestPoint, cite, rule
from .state import CLIENT, SERVER, ConnectionState, Peer

CONTINUE, REAUTHENTICATE = 0x18, 0x19

_CODE = {SERVER: cite("4.12.0-2"), CLIENT: cite("4.12.0-3")}
"""By sender: the Reason Code of AUTH before CONNACK."""
_NO_METHOD = {SERVER: cite("4.12.0-6"), CLIENT: cite("4.12.0-7")}
"""By sender: no AUTH without an Authentication Method in CONNECT."""

BEFORE_CONNACK = {side: TestPoint(law) for side, law in _CODE.items()}
AUTH_SENT = {side: TestPoint(law) for side, law in _NO_METHOD.items()}
METHOD_REPEATED = TestPoint(cite("4.12.0-5"))
REAUTHENTICATION_BEGUN = TestPoint(cite("4.12.1-1"))
REAUTHENTICATION_ANSWERED = TestPoint(cite("4.12.1/unasked"))


@rule(Auth)
def auth(state: ConnectionState, packet: Auth, peer: Peer) -> None:
    """AUTH continues the exchange that CONNECT began, or a re-authentication that the client began."""
    if state.connect is None:
        return
    code = packet.reason_code or 0
    state.exercised[AUTH_SENT[peer.side]] += 1
    if state.auth_method is None:
        state.fault(_NO_METHOD[peer.side], "", "AUTH is sent, but CONNECT has no Authentication Method")
        return
    if state.complete and not state.connack_number:
        state.exercised[BEFORE_CONNACK[peer.side]] += 1
        if code != CONTINUE:
            message = f"Reason Code is 0x{code:02x}, but before CONNACK must be 0x18"
            state.fault(_CODE[peer.side], "reason_code", message)
    elif state.complete and peer.side == SERVER:
        state.exercised[REAUTHENTICATION_ANSWERED] += 1
        if not state.reauthenticating:
            state.fault(
                REAUTHENTICATION_ANSWERED.law, "", "AUTH is sent, but the client did not begin a re-authentication"
            )
    elif state.complete and not state.reauthenticating:
        _begin(state, packet, code)
        return
    if peer.side == SERVER and code != CONTINUE:
        state.reauthenticating = False
    _check_method(state, packet)


def _begin(state: ConnectionState, packet: Auth, code: int) -> None:
    state.exercised[REAUTHENTICATION_BEGUN] += 1
    state.reauthenticating = True
    method = value_of(packet.properties, AUTHENTICATION_METHOD)
    if code != REAUTHENTICATE:
        message = f"Reason Code is 0x{code:02x}, but a re-authentication begins with 0x19"
        state.fault(REAUTHENTICATION_BEGUN.law, "reason_code", message)
    elif method is not None and method != state.auth_method:
        message = f"Authentication Method is {method!a}, but must be {state.auth_method!a} as in CONNECT"
        state.fault(REAUTHENTICATION_BEGUN.law, "properties.authentication_method", message, METHOD_REPEATED.law)


def _check_method(state: ConnectionState, packet: Auth) -> None:
    method = value_of(packet.properties, AUTHENTICATION_METHOD)
    if method is None:
        return
    state.exercised[METHOD_REPEATED] += 1
    if method != state.auth_method:
        message = f"Authentication Method is {method!a}, but must be {state.auth_method!a} as in CONNECT"
        state.fault(METHOD_REPEATED.law, "properties.authentication_method", message)
