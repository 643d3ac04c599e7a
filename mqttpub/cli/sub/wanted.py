"""Which messages count, and when there are enough."""

from collections import deque

from ...live.receive import ReceivedMessage
from ...traffic.topics import topic_matches
from .flags import Selected


class Wanted:
    """Picks the messages that count; `enough` says that no more are needed."""

    def __init__(self, selected: Selected) -> None:
        self.enough = False
        self.count = 0
        """Number of messages that counted."""
        self._most = selected.most
        self._retained = selected.retained
        self._filters = [each.split("/") for each in selected.filter_out]
        self._percent = selected.random_percent
        self._takes_all = not self._filters and selected.retained is None and self._percent is None

    def pick(self, messages: deque[ReceivedMessage]) -> list[ReceivedMessage]:
        """Take messages from the front, as far as they are needed, and return those that count."""
        left = None if self._most is None else self._most - self.count
        if self._takes_all and (left is None or left > len(messages)):
            picked = list(messages)
            messages.clear()
        else:
            picked = self._picked(messages, left)
        self.count += len(picked)
        return picked

    def _picked(self, messages: deque[ReceivedMessage], left: int | None) -> list[ReceivedMessage]:
        picked: list[ReceivedMessage] = []
        while messages and not self.enough:
            if self._retained and not messages[0].retain:
                # The retained messages come first, so that there will be no more of them.
                self.enough = True
                break
            message = messages.popleft()
            if self._counts(message):
                picked.append(message)
                self.enough = len(picked) == left
        return picked

    def _counts(self, message: ReceivedMessage) -> bool:
        if self._retained is False and message.retain:
            return False
        if self._filters:
            levels = message.topic.split("/")
            if any(topic_matches(each, levels) for each in self._filters):
                return False
        return self._percent is None or _happens(self._percent)


def _happens(percent: float) -> bool:
    import random

    return random.random() * 100 < percent
