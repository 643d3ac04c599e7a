"""What a CONNACK allows, and what goes beyond it (5.0: 3.2.2.3)."""

from typing import NamedTuple

from ...codec.publish_writer import ALIAS
from ...spec.packets import Connack
from ...spec.properties import BY_KEY
from .flows import Message


class Limits(NamedTuple):
    """The limits that the server set; the defaults are those of a CONNACK without properties."""

    receive_maximum: int = 65535
    maximum_packet_size: int = 268_435_460
    maximum_qos: int = 2
    retain_available: int = 1
    topic_alias_maximum: int = 0

    @classmethod
    def of(cls, connack: Connack) -> "Limits":
        """Return what the properties of a CONNACK say."""
        given = dict(connack.properties)
        return cls(**{key: given[BY_KEY[key].id] for key in cls._fields if BY_KEY[key].id in given})

    def broken(self, message: Message) -> str:
        """Return the sentence about the limit that a message goes beyond, or nothing."""
        writer = message.writer
        if writer.qos > self.maximum_qos:
            return f"QoS is {writer.qos}, but the broker's Maximum QoS is {self.maximum_qos} (MQTT5-3.2.2-11)"
        if writer.packet.retain and not self.retain_available:
            return "RETAIN is 1, but the broker's Retain Available is 0 (MQTT5-3.2.2-14)"
        size = writer.size(message.payload)
        if size > self.maximum_packet_size:
            most = self.maximum_packet_size
            return f"PUBLISH has {size} bytes, but the broker's Maximum Packet Size is {most} (MQTT5-3.2.2-15)"
        return self._alias(message) if writer.packet.properties else ""

    def _alias(self, message: Message) -> str:
        alias = next((value for id, value in message.writer.packet.properties if id == ALIAS), 0)
        if alias <= self.topic_alias_maximum:
            return ""
        statement = "MQTT5-3.2.2-17" if self.topic_alias_maximum else "MQTT5-3.2.2-18"
        return f"Topic Alias is {alias}, but the broker's maximum is {self.topic_alias_maximum} ({statement})"
