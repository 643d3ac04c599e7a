"""The PUBLISH of a copy: what it keeps of the message, and which messages are left out.

A User Property counts how often a message was copied, so that two copies in opposite directions end by themselves.
"""

from ...lab.replay.rewrite import is_topic_name
from ...live.receive import ReceivedMessage
from ...spec.declare import Property
from ...spec.packets import Publish
from ...spec.properties import SUBSCRIPTION_IDENTIFIER, TOPIC_ALIAS, USER_PROPERTY
from ...spec.versions import Version
from ...traffic.topics import split_shared, topic_matches
from .request import CopyRequest

HOPS = "mqttpub-hops"
"""Name of the User Property that says how often a message was copied."""
MOST_DIGITS = 4
LONGEST_TOPIC_BYTES = 65_535
OF_ONE_CONNECTION = (TOPIC_ALIAS.id, SUBSCRIPTION_IDENTIFIER.id)
"""Properties that mean something on the connection that they came on only (5.0: 3.3.2.3.4, 3.3.2.3.8)."""


class LeftOut(ValueError):
    """A message that is not copied; the text says why."""


class Looped(LeftOut):
    """The same, because it was copied already: nobody needs to hear of each."""


class Copier:
    """Makes copies as a request says."""

    def __init__(self, request: CopyRequest) -> None:
        source, target = request.source, request.target
        self._rewrite = request.rewrite
        self._hops = request.hops
        self._filters = [split_shared(each.filter)[1].split("/") for each in request.subscribe.subscriptions]
        self._has_properties = target.version >= Version.V5
        is_marked = self._has_properties and source.version >= Version.V5
        self._guards_topics = not is_marked and is_same_broker(request)
        """Whether only the topic can show that a copy would come back."""
        self._names_dollar = any(each[0].startswith("$") for each in self._filters)

    def copy(self, message: ReceivedMessage) -> Publish:
        """Return the PUBLISH of the copy; raises LeftOut."""
        if message.topic.startswith("$") and not self._names_dollar:
            raise LeftOut(f"'{message.topic}' begins with $, and no Topic Filter does")
        topic = self._rewrite(message.topic)
        if not is_topic_name(topic) or len(topic.encode("utf-8", "surrogatepass")) > LONGEST_TOPIC_BYTES:
            raise LeftOut(f"'{message.topic}' is not rewritten to a Topic Name: '{topic}'")
        if self._guards_topics and any(topic_matches(each, topic.split("/")) for each in self._filters):
            raise Looped(f"the copy of '{message.topic}' to '{topic}' would be copied again")
        return Publish(
            topic=topic, payload=message.payload, qos=message.qos, retain=message.retain,
            properties=self._properties(message),
        )  # fmt: skip

    def _properties(self, message: ReceivedMessage) -> tuple[Property, ...]:
        if not self._has_properties:
            return ()
        kept: list[Property] = []
        hops = 0
        for each in message.properties:
            if each.id == USER_PROPERTY.id and each.value[0] == HOPS:
                hops = max(hops, _number(each.value[1]))
            elif each.id not in OF_ONE_CONNECTION:
                kept.append(each)
        if hops >= self._hops:
            raise Looped(f"'{message.topic}' was copied {hops} times already")
        return (*kept, Property(USER_PROPERTY.id, (HOPS, str(hops + 1))))


def is_same_broker(request: CopyRequest) -> bool:
    """Whether both ends are one broker, as far as their addresses show it."""
    return request.source.place == request.target.place


def _number(text: str) -> int:
    """Return the count of a mark; one that somebody else wrote counts as 0."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0
