"""CONNECT: who is let in, and with what (5.0: 3.1.4)."""

from typing import TYPE_CHECKING, Any

from ...codec.tree import Decoded
from ...spec.declare import Properties, Property
from ...spec.packets import Connack, Connect
from ...spec.properties import BY_KEY
from ...spec.versions import Version
from .hub import Hub
from .message import WILL_DELAY, Message
from .refusal import CREDENTIALS, MALFORMED, METHOD, NO_QOS, NO_RETAIN, QUOTA, TOPIC, VERSION, Refusal
from .session import FOREVER, Session

if TYPE_CHECKING:
    from .connection import Exchange

PROTOCOLS = {("MQIsdp", 3), ("MQTT", 4), ("MQTT", 5)}
NAMES = {name for name, _ in PROTOCOLS}
ID = {key: row.id for key, row in BY_KEY.items()}


def admit(exchange: "Exchange", decoded: Decoded) -> None:
    """Answer the first CONNECT of a connection; raises Refusal."""
    _check_protocol(decoded)
    exchange.check(decoded)
    connect = decoded.packet
    assert isinstance(connect, Connect)
    given = {each.id: each.value for each in connect.properties}
    exchange.largest = given.get(ID["maximum_packet_size"], exchange.largest)
    hub = exchange.hub
    _check(hub, connect, given)
    exchange.name = connect.client_id or hub.new_id()
    session, present = hub.attach(exchange.name, connect.clean_start)
    _equip(session, connect, given, exchange.version)
    _set_up(exchange, session, connect, given)
    hub.event("connect", exchange.name, _summary(exchange.version, connect, present))
    exchange.answer(_connack(exchange, connect, present))
    session.resume(exchange)


def _check_protocol(decoded: Decoded) -> None:
    """Refuse a version that is not spoken, before reading the rest by rules that may be others."""
    nodes = decoded.root.child("protocol_name"), decoded.root.child("protocol_level")
    name, level = (node and node.value for node in nodes)
    if level is None or (name, level) in PROTOCOLS:
        return
    told = name in NAMES or decoded.version == Version.V5
    raise Refusal(VERSION if told else MALFORMED, f"protocol {name!a} at level {level}, but MQTT 3.1, 3.1.1 or 5.0")


def _check(hub: Hub, connect: Connect, given: dict[int, Any]) -> None:
    """Refuse what is well formed but not accepted (5.0: 3.1.4-2)."""
    limits, will = hub.limits, connect.will
    method = given.get(ID["authentication_method"])
    if method is not None:
        raise Refusal(METHOD, f"Authentication Method {method!a}, but this broker has none")
    if not _known(hub, connect):
        raise Refusal(CREDENTIALS, "User Name or Password is not right")
    if hub.full(connect.client_id):
        raise Refusal(QUOTA, f"this broker keeps {limits.sessions} sessions and has no room for another")
    if connect.will_qos > limits.qos:
        raise Refusal(NO_QOS, f"Will QoS {connect.will_qos}, but this broker takes {limits.qos} at most")
    if connect.will_retain and not limits.retain:
        raise Refusal(NO_RETAIN, "Will Retain is 1, but this broker keeps no retained messages")
    if will and not hub.accepts(will.topic):
        raise Refusal(TOPIC, "this broker takes no messages to the Will Topic")


def _known(hub: Hub, connect: Connect) -> bool:
    return hub.users is None or (connect.username or "", connect.password) in hub.users.items()


def _equip(session: Session, connect: Connect, given: dict[int, Any], version: Version) -> None:
    """Give a session what this CONNECT says of it."""
    lasting = 0 if connect.clean_start else FOREVER
    session.expiry = given.get(ID["session_expiry_interval"], 0) if version == Version.V5 else lasting
    will = connect.will
    if not will:
        return
    session.will = Message(
        will.topic, will.payload, qos=connect.will_qos, retain=connect.will_retain,
        properties=will.properties, publisher=session.client_id,
    )  # fmt: skip
    session.will_delay = next((each.value for each in will.properties if each.id == WILL_DELAY), 0)


def _set_up(exchange: "Exchange", session: Session, connect: Connect, given: dict[int, Any]) -> None:
    """Give a connection what its CONNECT says of it."""
    exchange.session = session
    exchange.window = min(given.get(ID["receive_maximum"], exchange.window), exchange.window)
    exchange.verbose = given.get(ID["request_problem_information"], 1) == 1
    exchange.silence = 1.5 * connect.keep_alive
    exchange.watch()


def _connack(exchange: "Exchange", connect: Connect, present: bool) -> Connack:
    if exchange.version < Version.V5:
        return Connack(session_present=present and exchange.version > Version.V31)
    return Connack(session_present=present, properties=_offered(exchange, connect))


def _offered(exchange: "Exchange", connect: Connect) -> Properties:
    """Return the properties that tell what this broker does not do, or not without end."""
    limits = exchange.hub.limits
    told = (
        ("receive_maximum", limits.receive, True),
        ("maximum_qos", limits.qos, limits.qos < 2),
        ("retain_available", 0, not limits.retain),
        ("maximum_packet_size", limits.packet, True),
        ("assigned_client_identifier", exchange.name, not connect.client_id),
        ("topic_alias_maximum", limits.aliases, True),
    )
    return tuple(Property(ID[key], value) for key, value, wanted in told if wanted)


def _summary(version: Version, connect: Connect, present: bool) -> str:
    session = "its session goes on" if present else "clean" if connect.clean_start else "a new session"
    return f"MQTT {version.label}, {session}, keep alive {connect.keep_alive} s"
