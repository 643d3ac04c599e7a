"""CONNECT: which clients are accepted, and with what limits (5.0: 3.1.4)."""

from typing import Any

from ...codec.tree import Decoded
from ...spec.declare import Properties, Property
from ...spec.packets import Connack, Connect
from ...spec.properties import BY_KEY, WILL_DELAY_INTERVAL, value_of
from ...spec.versions import Version
from .connection import ClientConnection
from .hub import Hub
from .message import Message
from .refusal import CREDENTIALS, MALFORMED, METHOD, NO_QOS, NO_RETAIN, QUOTA, TOPIC, VERSION, Refusal, check
from .session import FOREVER, BrokerSession

PROTOCOLS = {("MQIsdp", 3), ("MQTT", 4), ("MQTT", 5)}
NAMES = {name for name, _ in PROTOCOLS}
ID = {key: row.id for key, row in BY_KEY.items()}


def admit(connection: ClientConnection, decoded: Decoded) -> None:
    """Answer the first CONNECT of a connection; raises Refusal."""
    _check_protocol(decoded)
    check(decoded)
    connect = decoded.packet
    assert isinstance(connect, Connect)
    given = {each.id: each.value for each in connect.properties}
    connection.largest = given.get(ID["maximum_packet_size"], connection.largest)
    hub = connection.hub
    _check(hub, connect, given)
    connection.name = connect.client_id or hub.new_id()
    session, present = hub.attach(connection.name, connect.clean_start)
    _equip(session, connect, given, connection.version, hub.limits.expiry)
    _set_up(connection, session, connect, given)
    hub.event("connect", connection.name, _summary(connection, connect, present))
    connection.answer(_connack(connection, connect, given, present))
    session.resume(connection)


def _check_protocol(decoded: Decoded) -> None:
    """Refuse an unsupported version, before the rest is read by rules that may differ."""
    nodes = decoded.root.child("protocol_name"), decoded.root.child("protocol_level")
    name, level = (node and node.value for node in nodes)
    if level is None or (name, level) in PROTOCOLS:
        return
    is_mqtt = name in NAMES or decoded.version == Version.V5
    raise Refusal(VERSION if is_mqtt else MALFORMED, f"protocol {name!a} at level {level}, but MQTT 3.1, 3.1.1 or 5.0")


def _check(hub: Hub, connect: Connect, given: dict[int, Any]) -> None:
    """Refuse what is well formed but not accepted (5.0: 3.1.4-2)."""
    limits, will = hub.limits, connect.will
    method = given.get(ID["authentication_method"])
    if method is not None:
        raise Refusal(METHOD, f"Authentication Method {method!a}, but this broker has none")
    if not _known(hub, connect):
        raise Refusal(CREDENTIALS, "User Name or Password is wrong")
    if hub.full(connect.client_id):
        raise Refusal(QUOTA, f"this broker keeps {limits.sessions} sessions and has no room for another")
    if connect.will_qos > limits.qos:
        raise Refusal(NO_QOS, f"Will QoS {connect.will_qos}, but this broker accepts {limits.qos} at most")
    if connect.will_retain and not limits.retain:
        raise Refusal(NO_RETAIN, "Will Retain is 1, but this broker keeps no retained messages")
    if will and not hub.accepts(will.topic):
        raise Refusal(TOPIC, "this broker accepts no messages to the Will Topic")


def _known(hub: Hub, connect: Connect) -> bool:
    return hub.users is None or (connect.username or "", connect.password) in hub.users.items()


def _equip(
    session: BrokerSession, connect: Connect, given: dict[int, Any], version: Version, longest: int
) -> None:  # fmt: skip
    """Set expiry and will of a session from its CONNECT; a session lasts no longer than `longest`."""
    lasting = 0 if connect.clean_start else FOREVER
    asked = given.get(ID["session_expiry_interval"], 0) if version == Version.V5 else lasting
    session.expiry = min(asked, longest)
    will = connect.will
    if not will:
        return
    session.will = Message(
        will.topic, will.payload, qos=connect.will_qos, retain=connect.will_retain,
        properties=will.properties, publisher=session.client_id,
    )  # fmt: skip
    session.will_delay = value_of(will.properties, WILL_DELAY_INTERVAL, 0)


def _set_up(connection: ClientConnection, session: BrokerSession, connect: Connect, given: dict[int, Any]) -> None:
    """Set the limits of a connection from its CONNECT."""
    connection.session = session
    connection.window = min(given.get(ID["receive_maximum"], connection.window), connection.window)
    connection.verbose = given.get(ID["request_problem_information"], 1) == 1
    chosen = connection.hub.limits.keep_alive
    connection.keep_alive = connect.keep_alive if chosen is None or connection.version < Version.V5 else chosen
    connection.silence = 1.5 * connection.keep_alive
    connection.watch()


def _connack(connection: ClientConnection, connect: Connect, given: dict[int, Any], present: bool) -> Connack:
    if connection.version < Version.V5:
        return Connack(session_present=present and connection.version > Version.V31)
    return Connack(session_present=present, properties=_offered(connection, connect, given))


def _offered(connection: ClientConnection, connect: Connect, given: dict[int, Any]) -> Properties:
    """Return the properties that say what this broker limits, does not offer, assigned, or was asked for."""
    limits = connection.hub.limits
    information = limits.response_information if given.get(ID["request_response_information"]) else ""
    limited = (
        ("session_expiry_interval", limits.expiry, given.get(ID["session_expiry_interval"], 0) > limits.expiry),
        ("receive_maximum", limits.receive, True),
        ("maximum_qos", limits.qos, limits.qos < 2),
        ("retain_available", 0, not limits.retain),
        ("maximum_packet_size", limits.packet, True),
        ("assigned_client_identifier", connection.name, not connect.client_id),
        ("topic_alias_maximum", limits.aliases, True),
        ("wildcard_subscription_available", 0, not limits.wildcards),
        ("subscription_identifier_available", 0, not limits.identifiers),
        ("shared_subscription_available", 0, not limits.shared),
        ("server_keep_alive", limits.keep_alive, limits.keep_alive is not None),
        ("response_information", information, bool(information)),
    )
    return tuple(Property(ID[key], value) for key, value, wanted in limited if wanted)


def _summary(connection: ClientConnection, connect: Connect, present: bool) -> str:
    session = "its session is resumed" if present else "clean" if connect.clean_start else "a new session"
    return f"MQTT {connection.version.label}, {session}, keep alive {connection.keep_alive} s"
