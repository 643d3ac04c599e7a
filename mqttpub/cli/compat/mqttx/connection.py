"""From the values of a line to the connection that they describe."""

from typing import Any

from ....lint.gate import check_packet
from ....live.authentication import ScramUser
from ....live.net.target import Target
from ....live.net.urls import check_header
from ....spec.packets import Disconnect
from ....spec.properties import AUTHENTICATION_METHOD, USER_PROPERTY, WILL, PropertyRow
from ....spec.versions import Version
from ....wire.types import BINARY
from ...flags.connect import plain_target
from ...flags.properties import options_of
from ...flags.properties_argument import Setting
from ...flags.transport import PROTOCOLS
from ..given import Given
from .grammar import LineError, Values
from .options import KEEP_ALIVE, client_id, version_of

NEVER_EXPIRES = 0xFFFF_FFFF
LAST = (USER_PROPERTY, AUTHENTICATION_METHOD)
"""Properties that CONNECT has after the others; apart from them the order of the bytes is that of the options."""


def settings(values: Values, packet: str) -> list[Setting]:
    """Return the properties of a packet that options set; none before 5.0."""
    if version_of(values["mqtt_version"]) < Version.V5:
        return []
    known = options_of(packet)
    given = [(known[key], value) for key, value in values.by_key.items() if key in known]
    made = [Setting(packet, row, each) for row, value in given for each in _each(row, value)]
    return made if packet != "CONNECT" else sorted(made, key=lambda each: each.row in LAST and LAST.index(each.row) + 1)


def _each(row: PropertyRow, value: Any) -> list[Any]:
    """Return the values of a property that the value of an option stands for."""
    if isinstance(value, list):
        return value
    return [] if value is None else [octets(value) if row.type is BINARY else value]


def octets(text: Any) -> bytes:
    """Return the bytes of a word."""
    return str(text).encode("utf-8", "surrogateescape")


def target_of(values: Values) -> Target:
    """Return where to connect, and with which CONNECT and DISCONNECT; raises LineError."""
    version, port, password = version_of(values["mqtt_version"]), values["port"], values["password"]
    # `sub` has no option for it.
    keep_alive = values.by_key.get("keep_alive", KEEP_ALIVE.default)
    if not isinstance(port, int) or not 1 <= port <= 65535:
        raise LineError(f"{port} is not a port: 1 to 65535.")
    if not isinstance(keep_alive, int):
        raise LineError(f"{keep_alive} is not a Keep Alive: 0 to 65535 seconds.")
    if not values["clean"] and version == Version.V5 and values["session_expiry_interval"] is None:
        values.complete({"session_expiry_interval": NEVER_EXPIRES})
    given = Given({key: values[key] for key in ("clean", "host", "username", "will_topic")})
    given |= {
        "mqtt_version": version, "port": port, "client_id": values["client_id"], "disconnect_reason_code": None,
        "keep_alive": keep_alive,
        "password": None if password is None else octets(password), "property": settings(values, "CONNECT"),
        **_way(values),
    }  # fmt: skip
    if given["client_id"] is None:
        given["client_id"] = client_id()
    if values["will_topic"] is not None:
        given |= {
            "will_payload": octets(values["will_payload"] or ""), "will_qos": values["will_qos"] or 0,
            "will_retain": bool(values["will_retain"]),
            "property": [*given["property"], *settings(values, WILL)],
        }  # fmt: skip
    target = plain_target(given)._replace(authentication=_authentication(values))
    if target.transport.tls:
        tls = target.transport.tls._replace(insecure=bool(values["insecure"]))
        target = target._replace(transport=target.transport._replace(tls=tls))
    if version < Version.V5:
        return target
    return target._replace(disconnect=Disconnect(reason_code=0, properties=()))


def _authentication(values: Values) -> ScramUser | None:
    if values["authentication_method"] is None:
        return None
    if values["username"] is None or values["password"] is None:
        raise LineError("SCRAM needs a user name and a password: -u and -P")
    return ScramUser(values["authentication_method"], values["username"], values["password"])


def _way(values: Values) -> dict[str, Any]:
    """Return what our flags of the transport would say; raises LineError."""
    websocket, secure = PROTOCOLS.get(values["protocol"], (False, False))
    headers = values["headers"] or ()
    if headers and not websocket:
        raise LineError("The --ws-headers option is only valid for WebSocket connections (ws or wss).")
    try:
        named = [check_header(str(name), str(value)) for name, value in headers]
    except ValueError as error:
        raise LineError(str(error)) from None
    return {
        "ws": websocket, "tls": secure, "path": values["ws_path"] if websocket else None, "headers": named,
        "cert": values["cert"], "key": values["key"] if values["cert"] else None,
        "alpn": values["alpn"] or (), "insecure": False, "no_verify_hostname": False,
        # Without verification MQTTX verifies nothing, also with --ca.
        "cafile": None if values["insecure"] else values["cafile"],
    }  # fmt: skip


def check_sent(target: Target, *packets: Any) -> None:
    """Raise UserError for values that no packet can carry, and for files of TLS that cannot be used."""
    for packet in (target.connect, *packets):
        check_packet(packet, target.version, forced=True)
    if target.transport.tls:
        from ....live.net.tls import check

        check(target.transport.tls)
