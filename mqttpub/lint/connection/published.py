"""The latest messages of a client, to compare with the copies that it gets back."""

from collections import OrderedDict

from ...spec.declare import Property

MOST = 1000
"""Messages that are remembered; the oldest makes room."""

MessageKey = tuple[str, int, int]
"""Topic, payload length and payload hash."""


def message_key(topic: str, payload: bytes) -> MessageKey:
    """Return what identifies a message without holding its payload."""
    return topic, len(payload), hash(payload)


class SentMessage:
    """A message of the client."""

    __slots__ = ("highest_qos", "number", "properties", "qos", "retain", "sent_twice")

    def __init__(self, qos: int, retain: bool, properties: tuple[Property, ...], number: int) -> None:
        self.number = number
        self.qos = qos
        self.retain = retain
        self.properties = properties
        self.sent_twice = False
        """Whether the same message was sent again, so that copies are ambiguous."""
        self.highest_qos = -1
        """The highest QoS at which it came back; -1 if it did not."""


class PublishHistory:
    """The latest messages of the client, by topic and payload."""

    def __init__(self) -> None:
        self.sent: OrderedDict[MessageKey, SentMessage] = OrderedDict()
        self.last: dict[tuple[str, int], int] = {}
        """The latest message that came back, by topic and QoS."""
        self.retained: OrderedDict[str, tuple[int, MessageKey]] = OrderedDict()
        """The client's latest message with RETAIN 1, by topic."""

    def add(self, key: MessageKey, message: SentMessage) -> None:
        """Remember a message."""
        if key in self.sent:
            self.sent[key].sent_twice = True
        else:
            self.sent[key] = message
        if len(self.sent) > MOST:
            self.sent.popitem(last=False)
        if message.retain:
            self.retained[key[0]] = message.number, key
            self.retained.move_to_end(key[0])
        if len(self.retained) > MOST:
            self.retained.popitem(last=False)
