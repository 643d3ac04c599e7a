"""Valid packets with all that they may have."""

from collections.abc import Collection
from typing import Any

from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connack, Connect, Disconnect, Publish, Will
from mqttpub.spec.properties import PROPERTIES, WILL, of_packet
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.types import BINARY, BYTE, PAIR, STRING, U16, U32, VARIABLE, WireType

SAMPLES: dict[WireType, Any] = {
    BYTE: 1,
    U16: 7,
    U32: 70_000,
    VARIABLE: 300,
    STRING: "s",
    BINARY: b"\1\xff",
    PAIR: ("n", "v"),
}
"""A right value of each data type, for every property."""
REFERRING = (0x9C, 0x9D)
"""Reason Codes with which a Server Reference stands."""


def sample(id: int) -> Property:
    """Return a property with a right value."""
    return Property(id, SAMPLES[PROPERTIES[id].type])


def richest(packet: Packet, version: Version, direction: Direction) -> Packet:
    """Return a valid packet with more fields, as many as it can have, and with all their properties."""
    changes: dict[str, Any] = {}
    if isinstance(packet, Connect):
        changes = _credentials(version)
    if version == Version.V5 and "properties" in packet.fields:
        changes["properties"] = _all(packet, direction)
        if vars(packet).get("reason_code", 0) is None:
            changes["reason_code"] = 0
    if isinstance(packet, Publish):
        changes["payload"] = b"text"
    made: Packet = packet.replace(**changes)
    return made


def _credentials(version: Version) -> dict[str, Any]:
    told = sample_properties(WILL) if version == Version.V5 else ()
    return {
        "will_flag": True,
        "will": Will(topic="t", payload=b"text", properties=told),
        "username_flag": True,
        "username": "user",
        "password_flag": True,
        "password": b"pass",
    }


def sample_properties(place: str, left_out: Collection[str] = ()) -> tuple[Property, ...]:
    """Return the properties that a packet, or the WILL, may have, but for some."""
    return tuple(sample(row.id) for row in of_packet(place) if row.key not in left_out)


def _all(packet: Packet, direction: Direction) -> tuple[Property, ...]:
    left_out = set()
    if isinstance(packet, Publish) and direction is Direction.CLIENT:
        left_out.add("subscription_identifier")
    if isinstance(packet, Disconnect) and direction is Direction.SERVER:
        left_out.add("session_expiry_interval")
    if isinstance(packet, Connack | Disconnect) and packet.reason_code not in REFERRING:
        left_out.add("server_reference")
    return sample_properties(packet.name, left_out)
