"""What a broker allows, by its CONNACK: the limits that it declares, and those that hold where it declares none."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...codec.stream import MAX_PACKET
from ...common.escape import escape, json_text
from ...live.net.target import Target
from ...spec.packets import Connack
from ...spec.properties import BY_KEY, PROPERTIES, USER_PROPERTY, PropertyRow
from ...spec.versions import Version
from ...view.terminal.cells import Line

EXPIRY = "session_expiry_interval"
OURS = "CONNECT"
THEIRS = "CONNACK"
SPECIFICATION = "default"
DEFAULTS: Mapping[str, tuple[Any, str]] = {
    "maximum_qos": (2, SPECIFICATION),
    "retain_available": (1, SPECIFICATION),
    "maximum_packet_size": (MAX_PACKET, SPECIFICATION),
    "receive_maximum": (65535, SPECIFICATION),
    "topic_alias_maximum": (0, SPECIFICATION),
    "wildcard_subscription_available": (1, SPECIFICATION),
    "subscription_identifier_available": (1, SPECIFICATION),
    "shared_subscription_available": (1, SPECIFICATION),
}
"""Limits that hold where CONNACK says nothing of them (5.0: 3.2.2.3)."""
UNSHOWN = frozenset(("authentication_data", "user_property"))
"""Properties of CONNACK that are secret, or have rows of their own."""


class Allowance(NamedTuple):
    """One value that holds on the connection, and which packet set it."""

    key: str
    label: str
    value: Any
    source: str
    """CONNACK, CONNECT, or default for a value of the specification."""

    @property
    def text(self) -> str:
        """The value in words."""
        row = BY_KEY.get(self.key)
        if isinstance(self.value, bool) or (row and row.names and row.names.get(0) == "no"):
            return "yes" if self.value else "no"
        if isinstance(self.value, str):
            return escape(self.value)
        return _number(self.value, row)


def _number(value: int, row: PropertyRow | None) -> str:
    if row and row.key == EXPIRY and row.names and value in row.names:
        return row.names[value]
    unit = row.unit if row else "s"
    return f"{value:,} {unit}" if unit else f"{value:,}"


def allowances(connack: Connack, target: Target) -> Iterator[Allowance]:
    """Yield what holds on a connection, in the order of the specification."""
    if target.version > Version.V31:
        yield Allowance("session_present", "Session Present", bool(connack.session_present), THEIRS)
    if target.version < Version.V5:
        yield Allowance("client_id", "Client Identifier", target.connect.client_id, OURS)
        yield Allowance("keep_alive", "Keep Alive", target.connect.keep_alive, OURS)
        return
    theirs: dict[str, Any] = {}
    for id, value in connack.properties:
        theirs.setdefault(PROPERTIES[id].key, value)
    connect = target.connect
    yield _of("client_id", "Client Identifier", theirs.pop("assigned_client_identifier", None), connect.client_id)
    yield _of("keep_alive", "Keep Alive", theirs.pop("server_keep_alive", None), connect.keep_alive)
    asked = next((value for id, value in connect.properties if id == BY_KEY[EXPIRY].id), 0)
    yield _of(EXPIRY, BY_KEY[EXPIRY].label, theirs.pop(EXPIRY, None), asked)
    for key, (default, source) in DEFAULTS.items():
        known = key in theirs
        yield Allowance(key, BY_KEY[key].label, theirs.pop(key, default), THEIRS if known else source)
    for key, value in theirs.items():
        if key not in UNSHOWN:
            yield Allowance(key, BY_KEY[key].label, value, THEIRS)


def _of(key: str, label: str, theirs: Any, ours: Any) -> Allowance:
    return Allowance(key, label, ours, OURS) if theirs is None else Allowance(key, label, theirs, THEIRS)


def user_properties(connack: Connack) -> list[tuple[str, str]]:
    """Return the User Properties of CONNACK, in their order."""
    return [value for id, value in connack.properties if id == USER_PROPERTY.id]


def table_lines(connack: Connack, target: Target) -> Iterator[Line]:
    """Yield a line for each value: its name, itself, and where it comes from."""
    rows = [(each.label, each.text, each.source) for each in allowances(connack, target)]
    rows += [("User Property", f"{escape(name)} = {escape(value)}", THEIRS) for name, value in user_properties(connack)]
    widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
    for label, text, source in rows:
        yield [
            (label.ljust(widths[0]), "label"), ("  ", ""), (text.ljust(widths[1]), "number"), ("  ", ""),
            (source, "dim"),
        ]  # fmt: skip
    if target.version < Version.V5:
        yield [(f"MQTT {target.version.label} declares no limits; mqttpub conform limits tries them", "dim")]


def connected_record(connack: Connack, target: Target, seconds: float) -> dict[str, Any]:
    """Return the JSON record of a connection; `seconds` is the time from the beginning to CONNACK."""
    known = list(allowances(connack, target))
    return {
        "event": "connected", "address": target.place, "version": target.version.label, "seconds": round(seconds, 6),
        **{each.key: json_text(each.value) if isinstance(each.value, str) else each.value for each in known},
        "declared": [each.key for each in known if each.source == THEIRS],
        "user_properties": [[json_text(name), json_text(value)] for name, value in user_properties(connack)],
    }  # fmt: skip
