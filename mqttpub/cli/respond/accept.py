"""Which requests are answered, and where: anybody who may publish to us chooses the Response Topic."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...live.receive import ReceivedMessage
from ...spec.properties import CORRELATION_DATA, PROPERTIES, RESPONSE_TOPIC, USER_PROPERTY, value_of
from ...traffic.topics import topic_matches
from .request import RespondRequest

PREFIX = "MQTT_"
OWN_PREFIX = "MQTTPUB_"
"""Prefix of the variables that set our flags, passwords among them: no command gets these."""


class Accepted(NamedTuple):
    """A request that is answered."""

    message: ReceivedMessage
    topic: str
    """Where the answer goes."""
    correlation: bytes | None


class NotAnswerable(ValueError):
    """A request that is not answered; the text says why."""


def accept(message: ReceivedMessage, request: RespondRequest) -> Accepted:
    """Return where the answer to a message goes; raises NotAnswerable."""
    topic = value_of(message.properties, RESPONSE_TOPIC)
    if topic is None:
        if not request.fallback_topic:
            raise NotAnswerable("it has no Response Topic")
        return Accepted(message, request.fallback_topic, value_of(message.properties, CORRELATION_DATA))
    if not topic:
        raise NotAnswerable("its Response Topic is empty")
    if "+" in topic or "#" in topic:
        raise NotAnswerable(f"its Response Topic '{topic}' holds a wildcard (MQTT5-3.3.2-14)")
    levels = topic.split("/")
    allowed = any(topic_matches(each.split("/"), levels) for each in request.allowed)
    if not allowed and (request.allowed or topic.startswith("$")):
        raise NotAnswerable(f"its Response Topic '{topic}' is not allowed")
    return Accepted(message, topic, value_of(message.properties, CORRELATION_DATA))


def environment(message: ReceivedMessage, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the command for a request.

    A peer chooses values, never names: each User Property is a pair of numbered variables. Bytes are in hex.
    """
    made = {name: value for name, value in inherited.items() if not name.startswith((PREFIX, OWN_PREFIX))}
    made |= {
        "MQTT_TOPIC": message.topic, "MQTT_QOS": str(message.qos), "MQTT_RETAIN": str(int(message.retain)),
    }  # fmt: skip
    pairs: list[tuple[str, str]] = []
    for id, value in message.properties:
        if id == USER_PROPERTY.id:
            pairs.append(value)
        else:
            made[PREFIX + PROPERTIES[id].key.upper()] = _text(value)
    made["MQTT_USER_PROPERTIES"] = str(len(pairs))
    for number, (name, value) in enumerate(pairs, 1):
        made[f"MQTT_USER_PROPERTY_{number}_NAME"] = name
        made[f"MQTT_USER_PROPERTY_{number}_VALUE"] = value
    return made


def _text(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
