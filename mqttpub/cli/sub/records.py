"""Messages as JSON Lines, which `pub --jsonl` publishes again with everything that belongs to the message.

{"topic": "a/b", "payload": "hello", "qos": 1, "retain": false,
 "properties": {"content_type": "text/plain", "user_property": [["k", "v"]]},
 "received": {"time": "2026-01-02T03:04:05.678901Z", "packet_id": 7, "dup": false}}

What belongs to the delivery, not to the message, is in `received`: time, Packet Identifier, DUP, Topic Alias,
Subscription Identifiers, and `remarks` on what a reader left out of the payload. A payload or a binary property that is
not UTF-8 text is {"base64": ...}.
"""

import json
from collections.abc import Sequence
from typing import Any

from ...common.times import iso
from ...live.receive import ReceivedMessage
from ...payload.values import binary
from ...spec.declare import Property
from ...spec.properties import PROPERTIES, SUBSCRIPTION_IDENTIFIER, TOPIC_ALIAS
from ...wire.types import PAIR
from ..pub.json_messages import DELIVERY

OF_DELIVERY = (TOPIC_ALIAS.id, SUBSCRIPTION_IDENTIFIER.id)
DIGITS = ("hex", "base64")
"""Formats that show every payload."""
_encode = json.JSONEncoder(separators=(",", ":")).encode


def record(message: ReceivedMessage, payload: Any = None, remarks: Sequence[str] = ()) -> dict[str, Any]:
    """Return the record of a message; `payload` is what a reader made of its payload, None for the bytes."""
    received: dict[str, Any] = {"time": iso(message.time_ns, digits=6)}
    if message.qos:
        received |= {"packet_id": message.packet_id, "dup": message.dup}
    made: dict[str, Any] = {
        "topic": message.topic, "payload": text_or_base64(message.payload) if payload is None else payload,
        "qos": message.qos, "retain": message.retain,
    }  # fmt: skip
    if message.properties:
        own = [each for each in message.properties if each[0] not in OF_DELIVERY]
        if own:
            made["properties"] = properties(own)
        if len(own) < len(message.properties):
            received |= properties([each for each in message.properties if each[0] in OF_DELIVERY])
    if remarks:
        received["remarks"] = list(remarks)
    made[DELIVERY] = received
    return made


def line(message: ReceivedMessage, payload: Any = None, remarks: Sequence[str] = ()) -> bytes:
    """Return the record of a message as one line, without its end."""
    return _encode(record(message, payload, remarks)).encode()


def properties(given: list[Property]) -> dict[str, Any]:
    """Return properties by name; those that may repeat are lists, pairs are lists of two."""
    made: dict[str, Any] = {}
    for id, value in given:
        row = PROPERTIES[id]
        plain = list(value) if row.type is PAIR else text_or_base64(value) if isinstance(value, bytes) else value
        if row.repeatable:
            made.setdefault(row.key, []).append(plain)
        else:
            made[row.key] = plain
    return made


def text_or_base64(data: bytes) -> Any:
    """Return bytes as text where they are UTF-8, otherwise as {"base64": ...}."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return binary(data)


def member(value: Any, payload_format: str) -> Any:
    """Return what a reader of a format made of a payload, in a form that `pub --jsonl` takes."""
    if payload_format in DIGITS:
        return {payload_format: value}
    if payload_format == "text":
        return value
    # A text, null, and an object that looks like one of the forms of `pub --jsonl`, would be another payload there.
    stands_for_other = value is None or isinstance(value, str) or (isinstance(value, dict) and len(value) == 1)
    return {"json": value} if stands_for_other else value
