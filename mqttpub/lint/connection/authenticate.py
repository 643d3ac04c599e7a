"""Extended authentication: who may send AUTH, with which code and method."""

from ...spec.packets import Auth
from ...spec.properties import BY_KEY
from ...spec.versions import Direction
from .registry import Occasion, cite, on, value_of
from .state import End, State

_METHOD = BY_KEY["authentication_method"].id
CONTINUE, AGAIN = 0x18, 0x19

_SERVER_CODE = cite("4.12.0-2")
_CLIENT_CODE = cite("4.12.0-3")
_SAME_METHOD = cite("4.12.0-5")
_SERVER_NONE = cite("4.12.0-6")
_CLIENT_NONE = cite("4.12.0-7")
_RENEW = cite("4.12.1-1")
_UNASKED = cite("4.12.1/unasked")

SERVER_STEP = Occasion(_SERVER_CODE)
CLIENT_STEP = Occasion(_CLIENT_CODE)
NAMED = Occasion(_SAME_METHOD)
SERVER_SPOKE = Occasion(_SERVER_NONE)
CLIENT_SPOKE = Occasion(_CLIENT_NONE)
RENEWAL = Occasion(_RENEW)
RENEWED = Occasion(_UNASKED)


@on(Auth, sender=Direction.SERVER)
def from_server(state: State, packet: Auth, end: End) -> None:
    """A server's AUTH continues what the client began."""
    if state.connect is None:
        return
    code = packet.reason_code or 0
    state.counts[SERVER_SPOKE] += 1
    if state.method is None:
        state.fault(_SERVER_NONE, "", "AUTH is sent, but CONNECT has no Authentication Method")
        return
    if state.complete and not state.connack_number:
        state.counts[SERVER_STEP] += 1
        if code != CONTINUE:
            state.fault(
                _SERVER_CODE, "reason_code", f"auth.reason_code is 0x{code:02x}, but before CONNACK must be 0x18"
            )
    elif state.complete:
        state.counts[RENEWED] += 1
        if not state.renewing:
            state.fault(_UNASKED, "", "AUTH is sent, but the client did not begin a re-authentication")
    if code != CONTINUE:
        state.renewing = False
    _same(state, packet)


@on(Auth, sender=Direction.CLIENT)
def from_client(state: State, packet: Auth, end: End) -> None:
    """A client's AUTH answers the server's, or begins a re-authentication."""
    if state.connect is None:
        return
    code = packet.reason_code or 0
    state.counts[CLIENT_SPOKE] += 1
    if state.method is None:
        state.fault(_CLIENT_NONE, "", "AUTH is sent, but CONNECT has no Authentication Method")
        return
    if state.complete and not state.connack_number:
        state.counts[CLIENT_STEP] += 1
        if code != CONTINUE:
            state.fault(
                _CLIENT_CODE, "reason_code", f"auth.reason_code is 0x{code:02x}, but before CONNACK must be 0x18"
            )
    elif state.complete and not state.renewing:
        _begin(state, packet, code)
        return
    _same(state, packet)


def _begin(state: State, packet: Auth, code: int) -> None:
    state.counts[RENEWAL] += 1
    state.renewing = True
    method = value_of(packet.properties, _METHOD)
    if code != AGAIN:
        message = f"auth.reason_code is 0x{code:02x}, but a re-authentication begins with 0x19"
        state.fault(_RENEW, "reason_code", message)
    elif method is not None and method != state.method:
        message = f"Authentication Method is {method!a}, but must be {state.method!a} as in CONNECT"
        state.fault(_RENEW, "properties.authentication_method", message, _SAME_METHOD)


def _same(state: State, packet: Auth) -> None:
    method = value_of(packet.properties, _METHOD)
    if method is None:
        return
    state.counts[NAMED] += 1
    if method != state.method:
        message = f"Authentication Method is {method!a}, but must be {state.method!a} as in CONNECT"
        state.fault(_SAME_METHOD, "properties.authentication_method", message)
