"""What a CONNACK allows: the limits that a message must not exceed, and Topic Aliases (5.0: 3.2.2.3)."""

from typing import NamedTuple

from ...codec.publish_writer import PublishWriter
from ...spec.packets import Connack
from ...spec.properties import BY_KEY, TOPIC_ALIAS, value_of
from .outgoing import Publication

MOST_WRITERS = 1000
"""Writers with a Topic Alias that are remembered."""


class ServerLimits(NamedTuple):
    """The limits that the server set; the defaults are those of a CONNACK without properties."""

    receive_maximum: int = 65535
    maximum_packet_size: int = 268_435_460
    maximum_qos: int = 2
    retain_available: int = 1
    topic_alias_maximum: int = 0

    @classmethod
    def of(cls, connack: Connack) -> "ServerLimits":
        """Return what the properties of a CONNACK say."""
        given = dict(connack.properties)
        return cls(**{key: given[BY_KEY[key].id] for key in cls._fields if BY_KEY[key].id in given})

    def violation(self, message: Publication) -> str:
        """Return a sentence about the limit that a message exceeds; empty for none."""
        writer = message.writer
        if writer.qos > self.maximum_qos:
            return f"QoS is {writer.qos}, but the broker's Maximum QoS is {self.maximum_qos} (MQTT5-3.2.2-11)"
        if writer.packet.retain and not self.retain_available:
            return "RETAIN is 1, but the broker's Retain Available is 0 (MQTT5-3.2.2-14)"
        size_bytes = writer.size(message.payload)
        if size_bytes > self.maximum_packet_size:
            most = self.maximum_packet_size
            return f"PUBLISH has {size_bytes} bytes, but the broker's Maximum Packet Size is {most} (MQTT5-3.2.2-15)"
        return self._alias_violation(message) if writer.packet.properties else ""

    def _alias_violation(self, message: Publication) -> str:
        alias = value_of(message.writer.packet.properties, TOPIC_ALIAS, 0)
        if alias <= self.topic_alias_maximum:
            return ""
        statement = "MQTT5-3.2.2-17" if self.topic_alias_maximum else "MQTT5-3.2.2-18"
        return f"Topic Alias is {alias}, but the broker's maximum is {self.topic_alias_maximum} ({statement})"


class AliasAssigner:
    """The Topic Aliases that the client sets on one connection, in the order of the topics (5.0: 3.3.2.3.4)."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._aliases: dict[str, int] = {}
        self._writers: dict[tuple[PublishWriter, bool], PublishWriter] = {}

    def writer(self, writer: PublishWriter) -> PublishWriter | None:
        """Return a writer that uses the alias of the topic, or None where no alias is left for it."""
        topic = writer.packet.topic
        known = topic in self._aliases
        if not known and len(self._aliases) >= self._maximum:
            return None
        alias = self._aliases.setdefault(topic, len(self._aliases) + 1)
        key = (writer, known)
        if key not in self._writers:
            if len(self._writers) > MOST_WRITERS:
                self._writers.clear()
            self._writers[key] = writer.aliased(alias, first=not known)
        return self._writers[key]
