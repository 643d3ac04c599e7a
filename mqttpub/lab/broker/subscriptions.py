"""Topic Filters: what they match, who subscribed with them, and the retained messages."""

from collections.abc import Iterator
from typing import NamedTuple

from ...traffic.topics import has_wildcard, split_shared, topic_matches
from .message import Message


class Grant(NamedTuple):
    """One client's subscription with one filter."""

    client_id: str
    qos: int
    no_local: bool = False
    keep_retain: bool = False
    """Retain As Published."""
    identifier: int | None = None
    """Subscription Identifier."""


Grants = dict[str, Grant]
"""Grants by Client Identifier."""


class Subscribers:
    """Everyone who subscribed with one filter: by share name, the empty one for those who do not share."""

    __slots__ = ("groups", "levels")

    def __init__(self, pattern: str) -> None:
        self.levels = pattern.split("/")
        self.groups: dict[str, Grants] = {}


class Subscriptions:
    """All subscriptions of all sessions."""

    def __init__(self) -> None:
        self._exact: dict[str, Subscribers] = {}
        self._wild: dict[str, Subscribers] = {}

    def _store(self, pattern: str) -> dict[str, Subscribers]:
        return self._wild if has_wildcard(pattern) else self._exact

    def add(self, full: str, grant: Grant) -> bool:
        """Keep a subscription in place of an older one with this filter; return whether there was none."""
        name, pattern = split_shared(full)
        store = self._store(pattern)
        subscribers = store.get(pattern) or store.setdefault(pattern, Subscribers(pattern))
        group = subscribers.groups.setdefault(name, {})
        new = grant.client_id not in group
        group[grant.client_id] = grant
        return new

    def remove(self, full: str, client_id: str) -> bool:
        """End a subscription; return whether there was one."""
        name, pattern = split_shared(full)
        store = self._store(pattern)
        subscribers = store.get(pattern)
        group = subscribers.groups.get(name, {}) if subscribers else {}
        found = group.pop(client_id, None) is not None
        if subscribers and not group:
            subscribers.groups.pop(name, None)
            if not subscribers.groups:
                del store[pattern]
        return found

    def matching(self, topic: str) -> Iterator[tuple[str, Grants]]:
        """Yield share name and grants of every filter that matches a Topic Name."""
        exact = self._exact.get(topic)
        if exact:
            yield from exact.groups.items()
        if self._wild:
            levels = topic.split("/")
            for subscribers in self._wild.values():
                if topic_matches(subscribers.levels, levels):
                    yield from subscribers.groups.items()


class Retained:
    """The last retained message of each topic."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._messages: dict[str, Message] = {}

    def __len__(self) -> int:
        return len(self._messages)

    def keep(self, message: Message) -> bool:
        """Keep a message in place of the last one of its topic; an empty one only removes that.

        Returns False, and keeps the existing message, if it would go beyond a limit.
        """
        older = self._messages.get(message.topic)
        size = self.size - (older.size if older else 0) + message.size
        if message.payload and size > self.limit:
            return False
        self._drop(message.topic)
        if message.payload:
            self._messages[message.topic] = message
            self.size = size
        return True

    def matching(self, pattern: str, now: float) -> list[Message]:
        """Return the messages for a new subscription in the order of arrival; drop expired ones."""
        if has_wildcard(pattern):
            levels = pattern.split("/")
            found = [each for each in self._messages.values() if topic_matches(levels, each.topic.split("/"))]
        else:
            found = [self._messages[pattern]] if pattern in self._messages else []
        for each in found:
            if each.expired(now):
                self._drop(each.topic)
        return [each for each in found if not each.expired(now)]

    def _drop(self, topic: str) -> None:
        dropped = self._messages.pop(topic, None)
        if dropped:
            self.size -= dropped.size
