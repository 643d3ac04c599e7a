"""The beginning of a connection: CONNECT, CONNACK, and which packets may come before and between them."""

from ...codec.decode import decode
from ...common.times import SECOND_NS
from ...spec.packets import Auth, Connack, Connect, Disconnect, Packet, Will
from ...spec.properties import (
    ASSIGNED_CLIENT_IDENTIFIER,
    AUTHENTICATION_METHOD,
    REQUEST_PROBLEM_INFORMATION,
    REQUEST_RESPONSE_INFORMATION,
    RESPONSE_INFORMATION,
    SESSION_EXPIRY_INTERVAL,
    value_of,
)
from ...spec.reason_codes import FAILURE
from ...spec.versions import V5, V31, V311, Direction, Version
from ..packet.check import lint
from ..registry import TestPoint, cite, rule
from .must_close import SECOND_CONNECT, note_server_must_close
from .state import CLIENT, ENDLESS, ConnectionState, Peer, SendLimits

_RESPONSE = REQUEST_RESPONSE_INFORMATION.id
_EXPIRY = SESSION_EXPIRY_INTERVAL.id

_REFUSED = cite("3.2.2-7", "3.2.2-5")
_CLOSES = cite("4.13.2-1")
_ASSIGN = cite("3.2.2-16")
_ASSIGN_ALSO = (cite("3.1.3-7"), cite("3.1.3-6"))
_TAKEN_OVER = cite("3.1.4-3")

CLIENT_STARTED = TestPoint(cite("3.1.0-1", "3.1.0-1", "3.1/first"))
CONNECT_SENT = TestPoint(cite("3.1.0/once", "3.1.0/once"))
SERVER_STARTED = TestPoint(cite("3.2.0-1", "3.2.0-1"))
CONNECT_ANSWERED = TestPoint(cite("3.1.4-5", "3.1.4-4", "3.1/answer"))
BEFORE_CONNACK = TestPoint(cite("3.1.2-30"))
CONNACK_SENT = TestPoint(cite("3.2.0-2", "3.2.0/second"))
SERVER_DISCONNECTED_OR_ACCEPTED = TestPoint(cite("3.14.0-1"))
CLEAN_START_ACCEPTED = TestPoint(cite("3.2.2-2", "3.2.2-1"))
AFTER_CLEAN_START = TestPoint(cite("3.2.2-4"))
VALID_OR_INVALID_ACCEPTED = TestPoint(cite("3.1.4-1", "3.1.4-1", "3.1/invalid"))
NAMELESS_SESSION = TestPoint(cite(v311="3.1.3-8"))
WITHOUT_CLIENT_ID = TestPoint(_ASSIGN, *_ASSIGN_ALSO)
WILL_ACCEPTED = TestPoint(cite("3.2.2-12"))
WILL_RETAIN_ACCEPTED = TestPoint(cite("3.2.2-13"))
CLIENT_ID_REJECTED = TestPoint(cite("3.1.3-5", "3.1.3-5"))
NO_RESPONSE_INFORMATION = TestPoint(cite("3.1.2-28"))
WITH_METHOD = TestPoint(cite("4.12.0-5"))
WITHOUT_METHOD = TestPoint(cite("4.12.0-6"))
AFTER_REFUSAL = TestPoint(_REFUSED, _CLOSES)
AFTER_DISCONNECT = TestPoint(cite("3.14.4-1", "3.14.4-2"))

LONGEST_ID = 23
"""Characters of a Client Identifier that every server must accept (5.0: 3.1.3.1)."""
_ANY_WILL = Will(topic="")
HEARD_CONNACK_NS = 5 * SECOND_NS
"""After this time a client has read CONNACK, even if it did not wait for it."""


# the order of packets


def check_packet_order(state: ConnectionState, packet: Packet | None, kind: type[Packet] | None, peer: Peer) -> None:
    """Check whether a packet may come before CONNACK, after a refusal, or after DISCONNECT.

    Called only while `state.check_order` is set. `packet` is None if it could not be read, `kind` if it has no type.
    """
    if peer.side == CLIENT:
        _from_client(state, kind, peer)
    else:
        _from_server(state, kind, peer)
    if peer.disconnect_number:
        _after_disconnect(state, kind, peer)


def _from_client(state: ConnectionState, kind: type[Packet] | None, peer: Peer) -> None:
    if peer.packets == 1 and state.complete:
        state.exercised[CLIENT_STARTED] += 1
        if kind is not Connect:
            state.fault(CLIENT_STARTED.law, "", f"{_word(kind)} is the client's first packet, but CONNECT must be")
            # All other rules rest on a CONNECT.
            state.complete = state.new_session = False
    if not state.connack_number:
        _before_connack(state, kind)
        return
    if state.pending_limits:
        _apply_limits_once_heard(state, kind, state.pending_limits)
    if state.connack and not state.pending_limits and not peer.disconnect_number:
        _after_clean_start(state, kind, state.connack)
        state.check_order[CLIENT] = False


def _before_connack(state: ConnectionState, kind: type[Packet] | None) -> None:
    if kind is Connect:
        return
    must_wait = state.auth_method is not None and state.complete
    if must_wait:
        state.exercised[BEFORE_CONNACK] += 1
    if kind in (Auth, Disconnect):
        return
    state.early_packets += 1
    if must_wait:
        message = f"{_word(kind)} comes before CONNACK, but CONNECT has an Authentication Method"
        state.fault(BEFORE_CONNACK.law, "", f"{message}, so only AUTH and DISCONNECT may")


def _apply_limits_once_heard(state: ConnectionState, kind: type[Packet] | None, limits: SendLimits) -> None:
    """Hold a client that did not wait for CONNACK to its limits once it is certain that it has read it."""
    acknowledges = kind is not None and kind.code in (4, 5, 6, 7)
    waited = state.connack_time_ns is not None and (state.time_ns or 0) - state.connack_time_ns > HEARD_CONNACK_NS
    if acknowledges or waited:
        _set_limits(state, limits)


def _after_clean_start(state: ConnectionState, kind: type[Packet] | None, connack: Connack) -> None:
    if not state.connect or not state.connect.clean_start:
        return
    state.exercised[AFTER_CLEAN_START] += 1
    if connack.session_present and kind is not Disconnect:
        message = (
            f"the client sent {_word(kind)}, although CONNACK (packet {state.connack_number}) has Session Present 1"
        )
        state.fault(AFTER_CLEAN_START.law, "", f"{message}: after Clean Start 1 it has no session, and must close")


def _from_server(state: ConnectionState, kind: type[Packet] | None, peer: Peer) -> None:
    if state.only_auth_sent and state.complete:
        state.exercised[SERVER_STARTED] += 1
        if kind not in (None, Connack, Auth, Disconnect):
            state.fault(SERVER_STARTED.law, "", f"{_word(kind)} is sent, but CONNACK must come before it")
    state.only_auth_sent = state.only_auth_sent and kind is Auth
    if kind is Disconnect and state.complete and not state.connack:
        state.exercised[SERVER_DISCONNECTED_OR_ACCEPTED] += 1
        state.fault(
            SERVER_DISCONNECTED_OR_ACCEPTED.law,
            "",
            "the server sent DISCONNECT before it accepted the connection",
        )
    if peer.refused_number and kind is not Connack:
        state.exercised[AFTER_REFUSAL] += 1
        message = f"{_word(kind)} comes after the refusing CONNACK (packet {peer.refused_number})"
        state.fault(_REFUSED, "", f"{message}: the server must close", _CLOSES)
        peer.refused_number = 0
    if state.connack and not peer.disconnect_number:
        state.check_order[peer.side] = False


def _after_disconnect(state: ConnectionState, kind: type[Packet] | None, peer: Peer) -> None:
    state.exercised[AFTER_DISCONNECT] += 1
    message = f"{_word(kind)} comes after DISCONNECT (packet {peer.disconnect_number}), but nothing may"
    also = (_CLOSES,) if peer.reason_code >= FAILURE else ()
    taken_over = (_TAKEN_OVER,) if peer.reason_code == 0x8E else ()
    state.fault(AFTER_DISCONNECT.law, "", message, *also, *taken_over)
    peer.disconnect_number = 0


def _label(kind: type[Packet], key: str, state: ConnectionState) -> str:
    """Return the name of a field in the version of the connection."""
    return kind.fields[key].label_in(state.version)


def _word(kind: type[Packet] | None) -> str:
    return kind.name if kind else "a packet"


# CONNECT


@rule(Connect, sender=Direction.CLIENT)
def connected(state: ConnectionState, packet: Connect, peer: Peer) -> None:
    """CONNECT comes once, and sets what the server may send."""
    state.exercised[CONNECT_SENT] += 1
    if state.connect_number:
        state.fault(CONNECT_SENT.law, "type", f"CONNECT comes again, but packet {state.connect_number} was one already")
        note_server_must_close(state, SECOND_CONNECT)
        return
    state.connect, state.connect_number = _compared_later(packet), state.number
    state.version_announced = Version.of_level(packet.protocol_level or 0) is not None
    state.connect_error = "" if is_ordinary(packet, state.version, state.size_bytes) else _first_error(state)
    state.new_session = state.complete and packet.clean_start
    if state.version != V5:
        return
    state.auth_method = value_of(packet.properties, AUTHENTICATION_METHOD)
    state.problem_information = value_of(packet.properties, REQUEST_PROBLEM_INFORMATION, 1) != 0
    limits = state.server.limits = SendLimits(packet.properties, state.number)
    state.server.constrained = not state.problem_information or limits.packet_size_bytes != ENDLESS


_ORDINARY = {
    version: {"flags": 0, "reserved": False, "protocol_name": name, "protocol_level": version, "properties": (),
              "will_flag": False, "will_qos": 0, "will_retain": False}
    for version, name in ((V31, "MQIsdp"), (V311, "MQTT"), (V5, "MQTT"))
}  # fmt: skip


def is_ordinary(packet: Connect, version: Version, size_bytes: int) -> bool:
    """Whether a CONNECT is like most others, in which nothing can be wrong; the full check takes far longer."""
    given = packet.__dict__
    name, user, password = packet.client_id, packet.username, packet.password
    texts = name + (user or "")
    if any(given[key] != value for key, value in _ORDINARY[version].items()) or not 1 <= len(name) <= LONGEST_ID:
        return False
    if not texts.isascii() or not texts.isprintable() or (password is not None and user is None):
        return False
    if (packet.username_flag, packet.password_flag) != (user is not None, password is not None):
        return False
    fields = (packet.protocol_name or "", name, user, password)
    expected = 2 + 4 + (version == V5) + sum(2 + len(each) for each in fields if each is not None)
    return size_bytes == expected < 130


def _first_error(state: ConnectionState) -> str:
    """Return the first error of a CONNECT by itself."""
    found = lint(decode(state.data, state.version), Direction.CLIENT)
    return next((each.message for each in found if each.severity == "error"), "")


def _compared_later(packet: Connect) -> Connect:
    """Return a CONNECT with only what later packets are compared with, small however long the packet is."""
    properties = tuple(each for each in packet.properties or () if each.id in (_RESPONSE, _EXPIRY))
    name, will = packet.client_id[: LONGEST_ID + 1], packet.will and _ANY_WILL
    short: Connect = packet.replace(client_id=name, username=None, password=None, will=will, properties=properties)
    return short


# CONNACK


@rule(Connack, sender=Direction.SERVER)
def acknowledged(state: ConnectionState, packet: Connack, peer: Peer) -> None:
    """CONNACK comes once, fits CONNECT, and sets what the client may send."""
    state.exercised[CONNACK_SENT] += 1
    if state.connack_number:
        state.fault(CONNACK_SENT.law, "type", f"CONNACK comes again, but packet {state.connack_number} was one already")
        return
    state.connack_number, state.connack_time_ns = state.number, state.time_ns
    if state.connect_number:
        state.exercised[CONNECT_ANSWERED] += 1
    if packet.reason_code:
        _refused(state, packet, peer)
        return
    state.exercised[SERVER_DISCONNECTED_OR_ACCEPTED] += 1
    state.connack = packet.replace(properties=())
    if state.version == V5:
        limits = SendLimits(packet.properties, state.number)
        if state.early_packets:
            state.pending_limits = limits
        else:
            _set_limits(state, limits)
    if state.version > V31:
        state.new_session = state.complete and not packet.session_present
    if state.connect:
        _accepted(state, packet, state.connect)
    elif state.connect_error:
        _accepted_invalid(state)


def _set_limits(state: ConnectionState, limits: SendLimits) -> None:
    state.client.limits, state.pending_limits = limits, None
    state.client.constrained = limits.packet_size_bytes != ENDLESS


def _refused(state: ConnectionState, packet: Connack, peer: Peer) -> None:
    peer.refused_number = state.number
    peer.closing_since_ns, peer.reason_code = state.time_ns, packet.reason_code
    state.check_order[peer.side] = True
    if not state.connect:
        return
    if packet.reason_code == (0x85 if state.version == V5 else 2):
        name = state.connect.client_id
        state.exercised[CLIENT_ID_REJECTED] += 1
        if 1 <= len(name) <= LONGEST_ID and name.isascii() and name.isalnum():
            code = f"{_label(Connack, 'reason_code', state)} is 0x{packet.reason_code:02x}"
            rest = "has 1 to 23 letters and digits, which a server must accept"
            message = f"{code}, but Client Identifier {name!r} {rest}"
            state.fault(CLIENT_ID_REJECTED.law, "reason_code", message)
    _check_method(state, packet, state.connect)
    if _is_nameless_session(state):
        state.exercised[NAMELESS_SESSION] += 1


def _is_nameless_session(state: ConnectionState) -> bool:
    """Whether CONNECT wants a session that outlives the connection, but has no Client Identifier (3.1.1)."""
    connect = state.connect
    return connect is not None and state.version == V311 and not connect.client_id and not connect.clean_start


def _accepted(state: ConnectionState, packet: Connack, connect: Connect) -> None:
    if connect.clean_start:
        state.exercised[CLEAN_START_ACCEPTED] += 1
        if packet.session_present:
            clean = _label(Connect, "clean_start", state)
            message = f"Session Present is 1, but CONNECT (packet {state.connect_number}) has {clean} 1"
            state.fault(CLEAN_START_ACCEPTED.law, "session_present", message)
    _accepted_invalid(state)
    if state.version == V5:
        _check_assigned_id(state, packet, connect)
        _check_will(state, packet, connect)
        _check_method(state, packet, connect)


def _accepted_invalid(state: ConnectionState) -> None:
    nameless = _is_nameless_session(state)
    state.exercised[NAMELESS_SESSION if nameless else VALID_OR_INVALID_ACCEPTED] += 1
    if nameless:
        message = "Return Code is 0, but CONNECT has no Client Identifier and Clean Session 0: it must be 2"
        state.fault(NAMELESS_SESSION.law, "reason_code", message)
    elif state.connect_error:
        message = f"{_label(Connack, 'reason_code', state)} is 0, but CONNECT is not valid: {state.connect_error}"
        state.fault(VALID_OR_INVALID_ACCEPTED.law, "reason_code", message)


def _check_assigned_id(state: ConnectionState, packet: Connack, connect: Connect) -> None:
    if connect.client_id:
        return
    state.exercised[WITHOUT_CLIENT_ID] += 1
    if value_of(packet.properties, ASSIGNED_CLIENT_IDENTIFIER) is None:
        message = "CONNACK has no Assigned Client Identifier, but CONNECT came without a Client Identifier"
        state.fault(_ASSIGN, "properties", message, *_ASSIGN_ALSO)


def _check_will(state: ConnectionState, packet: Connack, connect: Connect) -> None:
    if connect.will is None:
        return
    limits = SendLimits(packet.properties, state.number)
    state.exercised[WILL_ACCEPTED] += 1
    state.exercised[WILL_RETAIN_ACCEPTED] += 1
    if (connect.will_qos or 0) > limits.qos:
        message = f"Maximum QoS is {limits.qos}, but a CONNECT with Will QoS {connect.will_qos} was accepted"
        state.fault(WILL_ACCEPTED.law, "properties.maximum_qos", message)
    if connect.will_retain and not limits.retain:
        message = "Retain Available is 0, but a CONNECT with Will Retain 1 was accepted"
        state.fault(WILL_RETAIN_ACCEPTED.law, "properties.retain_available", message)


def _check_method(state: ConnectionState, packet: Connack, connect: Connect) -> None:
    """Check Response Information and the Authentication Method of a CONNACK (5.0)."""
    if state.version != V5:
        return
    method = value_of(packet.properties, AUTHENTICATION_METHOD)
    if value_of(connect.properties, REQUEST_RESPONSE_INFORMATION, 0) == 0:
        state.exercised[NO_RESPONSE_INFORMATION] += 1
        if value_of(packet.properties, RESPONSE_INFORMATION) is not None:
            message = "CONNACK has Response Information, but CONNECT did not request it"
            state.fault(NO_RESPONSE_INFORMATION.law, "properties.response_information", message)
    if state.auth_method is None:
        state.exercised[WITHOUT_METHOD] += 1
        if method is not None:
            message = "CONNACK has an Authentication Method, but CONNECT has none"
            state.fault(WITHOUT_METHOD.law, "properties.authentication_method", message)
    elif packet.reason_code == 0:
        state.exercised[WITH_METHOD] += 1
        if method != state.auth_method:
            given = "missing" if method is None else ascii(method)
            path = "properties" if method is None else "properties.authentication_method"
            message = f"Authentication Method is {given}, but must be {state.auth_method!a} as in CONNECT"
            state.fault(WITH_METHOD.law, path, message)
