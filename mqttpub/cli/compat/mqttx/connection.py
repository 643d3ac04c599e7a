"""From the values of a line to the connection that they describe."""

from typing import Any

from ....lint.gate import check_packet
from ....live.net.target import Target
from ....live.net.transport import Tls, Transport
from ....live.net.urls import check_header
from ....spec.declare import Property
from ....spec.packets import Connect, Disconnect, Will
from ....spec.properties import BY_KEY
from ....spec.versions import Version
from .grammar import LineError, Values
from .options import client_id, version_of

NEVER_EXPIRES = 0xFFFF_FFFF
CONNECT_KEYS = {
    "sessionExpiryInterval": "session_expiry_interval", "receiveMaximum": "receive_maximum",
    "maximumPacketSize": "maximum_packet_size", "topicAliasMaximum": "topic_alias_maximum",
    "reqResponseInfo": "request_response_information", "reqProblemInfo": "request_problem_information",
    "connUserProperties": "user_property",
}  # fmt: skip
"""Options and the properties of CONNECT that they set, in the order of the bytes."""
WILL_KEYS = {
    "willDelayInterval": "will_delay_interval", "willPayloadFormatIndicator": "payload_format_indicator",
    "willMessageExpiryInterval": "message_expiry_interval", "willContentType": "content_type",
    "willResponseTopic": "response_topic", "willCorrelationData": "correlation_data",
    "willUserProperties": "user_property",
}  # fmt: skip
PUBLISH_KEYS = {
    "payloadFormatIndicator": "payload_format_indicator", "messageExpiryInterval": "message_expiry_interval",
    "topicAlias": "topic_alias", "responseTopic": "response_topic", "correlationData": "correlation_data",
    "userProperties": "user_property", "subscriptionIdentifier": "subscription_identifier",
    "contentType": "content_type",
}  # fmt: skip


def properties(values: Values, keys: dict[str, str]) -> tuple[Property, ...]:
    """Return the properties that options set; none before 5.0."""
    if version_of(values["mqttVersion"]) < Version.V5:
        return ()
    return tuple(made for key, name in keys.items() for made in _made(name, values[key]))


def _made(name: str, value: Any) -> list[Property]:
    id = BY_KEY[name].id
    if value is None:
        return []
    if name == "user_property":
        return [Property(id, (str(key), str(text))) for key, text in value]
    if isinstance(value, bool):
        # A flag that is off leaves its property out, but for the one that --no-req-problem-info turns off.
        return [Property(id, int(value))] if value or name == "request_problem_information" else []
    if name == "correlation_data":
        return [Property(id, str(value).encode("utf-8", "surrogateescape"))]
    return [Property(id, value)]


def target_of(values: Values) -> Target:
    """Return where to connect, and with which CONNECT and DISCONNECT; raises LineError."""
    version = version_of(values["mqttVersion"])
    port = values["port"]
    if not isinstance(port, int) or not 1 <= port <= 65535:
        raise LineError(f"{port} is not a port: 1 to 65535.")
    disconnect = Disconnect(reason_code=0, properties=()) if version == Version.V5 else Disconnect()
    return Target(
        host=str(values["hostname"]), port=port, version=version, connect=_connect(values, version),
        disconnect=disconnect, transport=_transport(values), authentication=_authentication(values),
    )  # fmt: skip


def _connect(values: Values, version: Version) -> Connect:
    if not values["clean"] and version == Version.V5 and values["sessionExpiryInterval"] is None:
        values.complete({"sessionExpiryInterval": NEVER_EXPIRES})
    password = values["password"]
    keep_alive = values["keepalive"]
    will = _will(values)
    return Connect(
        client_id=values["clientId"] if values["clientId"] is not None else client_id(),
        keep_alive=30 if keep_alive is None else keep_alive, clean_start=bool(values["clean"]),
        username=values["username"],
        password=None if password is None else str(password).encode("utf-8", "surrogateescape"),
        will=will, will_qos=(values["willQos"] or 0) if will else 0, will_retain=bool(will and values["willRetain"]),
        properties=(*properties(values, CONNECT_KEYS), *_method(values)),
    )  # fmt: skip


def _method(values: Values) -> tuple[Property, ...]:
    method = values["authenticationMethod"]
    return () if method is None else (Property(BY_KEY["authentication_method"].id, method),)


def _authentication(values: Values) -> Any:
    if values["authenticationMethod"] is None:
        return None
    from ....live.authentication import ScramUser

    if values["username"] is None or values["password"] is None:
        raise LineError("SCRAM needs a user name and a password: -u and -P")
    return ScramUser(values["authenticationMethod"], values["username"], values["password"])


def _will(values: Values) -> Will | None:
    if values["willTopic"] is None:
        return None
    message = values["willMessage"] or ""
    return Will(
        topic=values["willTopic"], payload=message.encode("utf-8", "surrogateescape"),
        properties=properties(values, WILL_KEYS),
    )  # fmt: skip


def _transport(values: Values) -> Transport:
    protocol = values["protocol"]
    websocket, secure = protocol in ("ws", "wss"), protocol in ("mqtts", "wss")
    headers = values["wsHeaders"] or ()
    if headers and not websocket:
        raise LineError("The --ws-headers option is only valid for WebSocket connections (ws or wss).")
    tls = None
    if secure:
        # Without verification MQTTX verifies nothing, also with --ca.
        insecure = bool(values["insecure"])
        tls = Tls(
            ca_file=None if insecure else values["ca"], cert=values["cert"], key=values["key"],
            alpn=tuple(values["alpn"] or ()), insecure=insecure,
        )  # fmt: skip
    if not websocket:
        return Transport(tls=tls)
    try:
        named = tuple(check_header(str(name), str(value)) for name, value in headers)
    except ValueError as error:
        raise LineError(str(error)) from None
    return Transport(kind="websocket", path=values["path"], headers=named, tls=tls)


def check_sent(target: Target, *packets: Any) -> None:
    """Raise UserError for values that no packet can carry, and for files of TLS that cannot be used."""
    for packet in (target.connect, *packets):
        check_packet(packet, target.version, forced=True)
    if target.transport.tls:
        from ....live.net.tls import check

        check(target.transport.tls)
