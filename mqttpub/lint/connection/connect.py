"""The beginning of a connection: CONNECT, CONNACK, and what may stand before and between them."""

from ...codec.decode import decode
from ...spec.packets import Auth, Connack, Connect, Disconnect, Packet, Will
from ...spec.properties import BY_KEY
from ...spec.versions import Direction, Version
from ..packet.check import lint
from .must_close import SECOND_CONNECT, spoil
from .registry import CLIENT, Occasion, cite, on, value_of
from .state import ENDLESS, SECOND, End, Limits, State

_ASSIGNED = BY_KEY["assigned_client_identifier"].id
_METHOD = BY_KEY["authentication_method"].id
_PROBLEM = BY_KEY["request_problem_information"].id
_RESPONSE = BY_KEY["request_response_information"].id
_INFORMATION = BY_KEY["response_information"].id
_EXPIRY = BY_KEY["session_expiry_interval"].id

_FIRST = cite("3.1.0-1", "3.1.0-1", "3.1/first")
_ONCE = cite("3.1.0/once", "3.1.0/once")
_SERVER_FIRST = cite("3.2.0-1", "3.2.0-1")
_ANSWER = cite("3.1.4-5", "3.1.4-4", "3.1/answer")
_NO_EARLY_DISCONNECT = cite("3.14.0-1")
_METHOD_FIRST = cite("3.1.2-30")
_SECOND = cite("3.2.0-2", "3.2.0/second")
_REFUSED = cite("3.2.2-7", "3.2.2-5")
_CLOSES = cite("4.13.2-1")
_CLEAN = cite("3.2.2-2", "3.2.2-1")
_UNWANTED = cite("3.2.2-4")
_INVALID = cite("3.1.4-1", "3.1.4-1", "3.1/invalid")
_NAMELESS = cite(v311="3.1.3-8")
_ASSIGN = cite("3.2.2-16")
_ASSIGN_ALSO = (cite("3.1.3-7"), cite("3.1.3-6"))
_WILL_QOS = cite("3.2.2-12")
_WILL_RETAIN = cite("3.2.2-13")
_ALLOWED_ID = cite("3.1.3-5", "3.1.3-5")
_NO_INFORMATION = cite("3.1.2-28")
_SAME_METHOD = cite("4.12.0-5")
_NO_METHOD = cite("4.12.0-6")
_AFTER_DISCONNECT = cite("3.14.4-1", "3.14.4-2")
_TAKEN_OVER = cite("3.1.4-3")

CLIENT_BEGAN = Occasion(_FIRST)
CONNECTED = Occasion(_ONCE)
SERVER_BEGAN = Occasion(_SERVER_FIRST)
ANSWERED = Occasion(_ANSWER)
WAITING = Occasion(_METHOD_FIRST)
TOLD = Occasion(_SECOND)
ACCEPTED = Occasion(_NO_EARLY_DISCONNECT)
CLEANED = Occasion(_CLEAN)
SURPRISED = Occasion(_UNWANTED)
WRONG = Occasion(_INVALID)
NAMELESS = Occasion(_NAMELESS)
UNNAMED = Occasion(_ASSIGN, *_ASSIGN_ALSO)
WILLED = Occasion(_WILL_QOS)
WILL_KEPT = Occasion(_WILL_RETAIN)
NAMED = Occasion(_ALLOWED_ID)
INFORMED = Occasion(_NO_INFORMATION)
WITH_METHOD = Occasion(_SAME_METHOD)
WITHOUT_METHOD = Occasion(_NO_METHOD)
GOING_ON = Occasion(_REFUSED, _CLOSES)
LEAVING = Occasion(_AFTER_DISCONNECT)

LONGEST_NAME = 23
"""Characters of a Client Identifier that every server must accept."""
_ANY_WILL = Will(topic="")
MOST_PATIENT = 5 * SECOND
"""After this time a client has read CONNACK, even if it did not wait for it."""


# what is out of the routine


def manners(state: State, packet: Packet | None, kind: type[Packet] | None, end: End) -> None:
    """Check a packet at the beginning or behind the end of what an end may send; `packet` is None if unreadable."""
    if end.side == CLIENT:
        _client(state, kind, end)
    else:
        _server(state, kind, end)
    if end.disconnect:
        _after_disconnect(state, kind, end)


def _client(state: State, kind: type[Packet] | None, end: End) -> None:
    if end.packets == 1 and state.complete:
        state.counts[CLIENT_BEGAN] += 1
        if kind is not Connect:
            state.fault(_FIRST, "", f"{_word(kind)} is the client's first packet, but CONNECT must be")
            # Every other rule of a connection is about what follows its CONNECT.
            state.complete = state.fresh = False
    if not state.connack_number:
        _before_connack(state, kind)
        return
    if state.pending:
        _heard(state, kind, end)
    if state.connack and not state.pending and not end.disconnect:
        _surprised(state, kind)
        state.watched[CLIENT] = False


def _before_connack(state: State, kind: type[Packet] | None) -> None:
    if kind is Connect:
        return
    must_wait = state.method is not None and state.complete
    if must_wait:
        state.counts[WAITING] += 1
    if kind in (Auth, Disconnect):
        return
    state.early += 1
    if must_wait:
        message = f"{_word(kind)} comes before CONNACK, but CONNECT has an Authentication Method"
        state.fault(_METHOD_FIRST, "", f"{message}, so only AUTH and DISCONNECT may")


def _heard(state: State, kind: type[Packet] | None, end: End) -> None:
    """Bind a client that did not wait for CONNACK as soon as it is certain that it read it."""
    answers = kind is not None and kind.code in (4, 5, 6, 7)
    waited = state.connack_time is not None and (state.time or 0) - state.connack_time > MOST_PATIENT
    if (answers or waited) and state.pending:
        bind(state, state.pending)


def _surprised(state: State, kind: type[Packet] | None) -> None:
    if not state.connect or not state.connect.clean_start:
        return
    state.counts[SURPRISED] += 1
    present = state.connack.session_present
    if present and kind is not Disconnect:
        message = f"{_word(kind)} comes, but CONNACK (packet {state.connack_number}) has session_present 1"
        state.fault(_UNWANTED, "", f"{message}, and a client that sent clean_start 1 has no session: it must close")


def _server(state: State, kind: type[Packet] | None, end: End) -> None:
    if state.greeting and state.complete:
        state.counts[SERVER_BEGAN] += 1
        if kind not in (None, Connack, Auth, Disconnect):
            state.fault(_SERVER_FIRST, "", f"{_word(kind)} is sent, but CONNACK must come before it")
    state.greeting = state.greeting and kind is Auth
    if kind is Disconnect and state.complete and not state.connack:
        state.counts[ACCEPTED] += 1
        state.fault(_NO_EARLY_DISCONNECT, "", "DISCONNECT is from the server, but no CONNACK accepted the connection")
    if end.refused and kind is not Connack:
        state.counts[GOING_ON] += 1
        message = f"{_word(kind)} comes after the refusing CONNACK (packet {end.refused}): the server must close"
        state.fault(_REFUSED, "", message, _CLOSES)
        end.refused = 0
    if state.connack and not end.disconnect:
        state.watched[end.side] = False


def _after_disconnect(state: State, kind: type[Packet] | None, end: End) -> None:
    state.counts[LEAVING] += 1
    message = f"{_word(kind)} comes after DISCONNECT (packet {end.disconnect}), but nothing may"
    also = (_CLOSES,) if end.reason >= 0x80 else ()
    taken = (_TAKEN_OVER,) if end.reason == 0x8E else ()
    state.fault(_AFTER_DISCONNECT, "", message, *also, *taken)
    end.disconnect = 0


def _word(kind: type[Packet] | None) -> str:
    return kind.name if kind else "a packet"


# CONNECT


@on(Connect, sender=Direction.CLIENT)
def connected(state: State, packet: Connect, end: End) -> None:
    """CONNECT comes once, and sets what the server may send."""
    state.counts[CONNECTED] += 1
    if state.connect_number:
        state.fault(_ONCE, "type", f"CONNECT comes again, but was there in packet {state.connect_number}")
        spoil(state, SECOND_CONNECT)
        return
    state.connect, state.connect_number = _kept(packet), state.number
    state.announced = Version.of_level(packet.protocol_level or 0) is not None
    state.wrong = "" if _ordinary(packet, state.version, state.size) else _errors(state)
    state.fresh = state.complete and packet.clean_start
    if state.version != Version.V5:
        return
    state.method = value_of(packet.properties, _METHOD)
    state.problem_information = value_of(packet.properties, _PROBLEM, 1) != 0
    state.server.limits = Limits(packet.properties, state.number)
    state.server.special = not state.problem_information or state.server.limits.size != ENDLESS


_ORDINARY = {
    version: {"flags": 0, "reserved": False, "protocol_name": name, "protocol_level": version, "properties": (),
              "will_flag": False, "will_qos": 0, "will_retain": False}
    for version, name in ((Version.V31, "MQIsdp"), (Version.V311, "MQTT"), (Version.V5, "MQTT"))
}  # fmt: skip


def _ordinary(packet: Connect, version: Version, size: int) -> bool:
    """Whether a CONNECT is of the kind that most are, in which nothing can be wrong; a full look takes far longer."""
    given = packet.__dict__
    name, user, password = packet.client_id, packet.username, packet.password
    texts = name + (user or "")
    if any(given[key] != value for key, value in _ORDINARY[version].items()) or not 1 <= len(name) <= 23:
        return False
    if not texts.isascii() or not texts.isprintable() or (password is not None and user is None):
        return False
    if (packet.username_flag, packet.password_flag) != (user is not None, password is not None):
        return False
    fields = (packet.protocol_name or "", name, user, password)
    return size == 2 + 4 + (version == Version.V5) + sum(2 + len(each) for each in fields if each is not None) < 130


def _errors(state: State) -> str:
    """Return the first error of a CONNECT by itself."""
    found = lint(decode(state.data, state.version), Direction.CLIENT)
    return next((each.message for each in found if each.severity == "error"), "")


# CONNACK


@on(Connack, sender=Direction.SERVER)
def acknowledged(state: State, packet: Connack, end: End) -> None:
    """CONNACK comes once, fits CONNECT, and sets what the client may send."""
    state.counts[TOLD] += 1
    if state.connack_number:
        state.fault(_SECOND, "type", f"CONNACK comes again, but was there in packet {state.connack_number}")
        return
    state.connack_number, state.connack_time = state.number, state.time
    if state.connect_number:
        state.counts[ANSWERED] += 1
    if packet.reason_code:
        _refused(state, packet, end)
        return
    state.counts[ACCEPTED] += 1
    state.connack = packet.replace(properties=())
    if state.version == Version.V5:
        _limit(state, packet)
    if state.version > Version.V31:
        state.fresh = state.complete and not packet.session_present
    if state.connect:
        _fits(state, packet)
    elif state.wrong:
        _valid(state)


def _kept(packet: Connect) -> Connect:
    """Return what later packets are compared with: it takes little memory, however long the CONNECT is."""
    told = tuple(each for each in packet.properties or () if each.id in (_RESPONSE, _EXPIRY))
    name, will = packet.client_id[: LONGEST_NAME + 1], packet.will and _ANY_WILL
    kept: Connect = packet.replace(client_id=name, username=None, password=None, will=will, properties=told)
    return kept


def _limit(state: State, packet: Connack) -> None:
    limits = Limits(packet.properties, state.number)
    if state.early:
        state.pending = limits
    else:
        bind(state, limits)


def bind(state: State, limits: Limits) -> None:
    """Set what the client may send."""
    state.client.limits, state.pending = limits, None
    state.client.special = limits.size != ENDLESS


def _refused(state: State, packet: Connack, end: End) -> None:
    end.refused = state.number
    end.leaving, end.reason = state.time, packet.reason_code
    state.watched[end.side] = True
    if state.connect and packet.reason_code == (0x85 if state.version == Version.V5 else 2):
        name = state.connect.client_id
        state.counts[NAMED] += 1
        if 1 <= len(name) <= LONGEST_NAME and name.isascii() and name.isalnum():
            code = f"is 0x{packet.reason_code:02x}, but Client Identifier {name!r}"
            message = f"connack.reason_code {code} has 1 to 23 letters and digits, which a server must accept"
            state.fault(_ALLOWED_ID, "reason_code", message)
    if state.connect:
        _method(state, packet)
        if _nameless(state):
            state.counts[NAMELESS] += 1


def _nameless(state: State) -> bool:
    """Whether CONNECT wants a lasting session without a name (3.1.1)."""
    connect = state.connect
    return bool(connect) and state.version == Version.V311 and not connect.client_id and not connect.clean_start


def _fits(state: State, packet: Connack) -> None:
    connect = state.connect
    if connect.clean_start:
        state.counts[CLEANED] += 1
        if packet.session_present:
            message = f"connack.session_present is 1, but CONNECT (packet {state.connect_number}) has clean_start 1"
            state.fault(_CLEAN, "session_present", message)
    _valid(state)
    if state.version == Version.V5:
        _named(state, packet)
        _will(state, packet)
        _method(state, packet)


def _valid(state: State) -> None:
    nameless = _nameless(state)
    state.counts[NAMELESS if nameless else WRONG] += 1
    if nameless:
        message = "connack.reason_code is 0, but CONNECT has no Client Identifier and clean_start 0: it must be 2"
        state.fault(_NAMELESS, "reason_code", message)
    elif state.wrong:
        state.fault(_INVALID, "reason_code", f"connack.reason_code is 0, but CONNECT is not valid: {state.wrong}")


def _named(state: State, packet: Connack) -> None:
    if state.connect.client_id:
        return
    state.counts[UNNAMED] += 1
    if value_of(packet.properties, _ASSIGNED) is None:
        message = "CONNACK has no Assigned Client Identifier, but CONNECT came without a Client Identifier"
        state.fault(_ASSIGN, "properties", message, *_ASSIGN_ALSO)


def _will(state: State, packet: Connack) -> None:
    connect, limits = state.connect, Limits(packet.properties, state.number)
    if connect.will is None:
        return
    state.counts[WILLED] += 1
    state.counts[WILL_KEPT] += 1
    if connect.will_qos > limits.qos:
        message = f"Maximum QoS is {limits.qos}, but a CONNECT with will_qos {connect.will_qos} was accepted"
        state.fault(_WILL_QOS, "properties.maximum_qos", message)
    if connect.will_retain and not limits.retain:
        message = "Retain Available is 0, but a CONNECT with will_retain 1 was accepted"
        state.fault(_WILL_RETAIN, "properties.retain_available", message)


def _method(state: State, packet: Connack) -> None:
    if state.version != Version.V5:
        return
    method = value_of(packet.properties, _METHOD)
    if value_of(state.connect.properties, _RESPONSE, 0) == 0:
        state.counts[INFORMED] += 1
        if value_of(packet.properties, _INFORMATION) is not None:
            message = "Response Information is there, but CONNECT did not request it"
            state.fault(_NO_INFORMATION, "properties.response_information", message)
    if state.method is None:
        state.counts[WITHOUT_METHOD] += 1
        if method is not None:
            message = "Authentication Method is there, but CONNECT had none"
            state.fault(_NO_METHOD, "properties.authentication_method", message)
    elif packet.reason_code == 0:
        state.counts[WITH_METHOD] += 1
        if method != state.method:
            given = "missing" if method is None else ascii(method)
            path = "properties" if method is None else "properties.authentication_method"
            message = f"Authentication Method is {given}, but must be {state.method!a} as in CONNECT"
            state.fault(_SAME_METHOD, path, message)
