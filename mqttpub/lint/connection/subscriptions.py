"""The subscriptions of one client, and which topics they match."""

from typing import Any, NamedTuple

from ...spec.reason_codes import FAILURE
from ...traffic.topics import has_wildcard, split_shared, topic_matches

MOST = 10_000
"""Most filters, and most topics with their matches, that are remembered; beyond, delivery is not checked."""
MOST_WILD = 500
"""Most filters with wildcards; each is compared with every new topic."""
MOST_CHARACTERS = 1 << 20
LONGEST = 200
"""Characters of the longest topic whose match is remembered."""


class SubscribedFilter:
    """A Topic Filter that the client subscribed with, and what this allows the server to deliver."""

    __slots__ = ("asked", "changed", "drops_retain", "ended", "ended_at", "first", "granted", "identifier",
                 "identifiers", "keeps_retain", "levels", "local", "nameless", "qos", "replaced_at", "retain_handlings",
                 "sendings", "shared", "text")  # fmt: skip

    def __init__(self, text: str) -> None:
        self.text = text
        share, plain = split_shared(text)
        self.shared = bool(share)
        self.levels = plain.split("/")
        self.qos = 0
        """The highest QoS requested."""
        self.granted = -1
        """The highest QoS granted."""
        self.asked = 0
        """How many of its SUBSCRIBE packets await their answer."""
        self.sendings = 0
        """How often retained messages may have been sent for it; for a shared one, they never are (5.0: 4.8.2)."""
        self.retain_handlings: set[int] = set()
        """Values of Retain Handling that it was requested with."""
        self.identifier: int | None = None
        """The Subscription Identifier with which it was requested last."""
        self.identifiers: set[int] = set()
        """All with which it was ever requested."""
        self.replaced_at = 0
        """The SUBACK packet since which only its last request can count; 0 if that is not certain."""
        self.nameless = False
        """Whether it was ever requested without a Subscription Identifier."""
        self.keeps_retain = False
        """Whether it was ever requested with Retain As Published."""
        self.local = False
        """Whether it was ever requested without No Local."""
        self.drops_retain = False
        """Whether it was ever requested without Retain As Published."""
        self.changed = False
        """Whether it was requested more than once."""
        self.first = 0
        """The packet that requested it first."""
        self.ended = False
        """Whether the client unsubscribed."""
        self.ended_at = 0
        """The UNSUBACK packet that confirmed it."""

    @property
    def live(self) -> bool:
        """Whether the server accepted it, or still may."""
        return self.granted >= 0 or self.asked > 0

    @property
    def most(self) -> int:
        """The highest QoS at which the server may deliver."""
        return self.qos if self.asked else self.granted


class Match(NamedTuple):
    """The subscriptions that match one topic."""

    filters: tuple[SubscribedFilter, ...]
    most: int
    """The highest QoS at which the server may deliver."""
    shared: bool
    """Whether all are shared subscriptions."""
    identifiers: frozenset[int]
    """The Subscription Identifiers with which they were ever requested."""


class ClientSubscriptions:
    """Every filter of a connection, also after UNSUBSCRIBE, because messages may still be under way."""

    def __init__(self) -> None:
        self.full = False
        """Whether there were too many, so that nothing is certain."""
        self._filters: dict[str, SubscribedFilter] = {}
        self._exact: dict[str, list[SubscribedFilter]] = {}
        self._wild: list[SubscribedFilter] = []
        self._room = MOST_CHARACTERS
        self._matches: dict[str, Match] = {}

    @property
    def known(self) -> bool:
        """Whether the client ever subscribed."""
        return bool(self._filters)

    def ask(self, wanted: Any, identifier: int | None, number: int) -> None:
        """Note one subscription of a SUBSCRIBE, the packet with this number."""
        each = self._filters.get(wanted.filter)
        if each is None:
            each = self._new(wanted.filter)
            if each is None:
                self.full = True
                return
            each.first = number
        else:
            each.changed = True
        self._matches.clear()
        handling = wanted.retain_handling
        new = each.ended or not each.live
        each.ended, each.ended_at = False, 0
        if not each.shared and (handling == 0 or (handling == 1 and new)):
            each.sendings += 1
        each.retain_handlings.add(handling)
        each.asked += 1
        each.qos = max(each.qos, wanted.qos)
        each.keeps_retain |= bool(wanted.retain_as_published)
        each.drops_retain |= not wanted.retain_as_published
        each.local |= not wanted.no_local
        each.nameless |= identifier is None
        each.identifier, each.replaced_at = identifier, 0
        if identifier is not None:
            each.identifiers.add(identifier)

    def _new(self, text: str) -> SubscribedFilter | None:
        """Return a new filter, or None when there is no room for it."""
        if len(self._filters) >= MOST or len(self._wild) >= MOST_WILD or len(text) > self._room:
            return None
        self._room -= len(text)
        each = self._filters[text] = SubscribedFilter(text)
        if has_wildcard(text):
            self._wild.append(each)
        else:
            self._exact.setdefault("/".join(each.levels), []).append(each)
        return each

    def grant(self, filter: str, code: int, number: int) -> None:
        """Note the answer to one of them, in the packet with this number."""
        each = self._filters.get(filter)
        if each is None:
            return
        each.asked = max(0, each.asked - 1)
        if code < FAILURE:
            each.granted = max(each.granted, code)
            each.replaced_at = 0 if each.asked else number
        self._matches.clear()

    def end(self, filter: str) -> None:
        """Note that the client unsubscribed."""
        if each := self._filters.get(filter):
            each.ended = True
            self._matches.clear()

    def ended(self, filter: str, number: int) -> None:
        """Note that this packet confirmed the end of a subscription."""
        each = self._filters.get(filter)
        if each and each.ended:
            each.ended_at = number

    def existed(self, filter: str) -> bool:
        """Whether the server granted a subscription with this filter."""
        return filter in self._filters and self._filters[filter].granted >= 0

    def matching(self, topic: str) -> Match:
        """Return the subscriptions that match a topic."""
        found = self._matches.get(topic)
        if found is None:
            found = self._compare(topic)
            if len(self._matches) < MOST and len(topic) <= LONGEST:
                self._matches[topic] = found
        return found

    def _compare(self, topic: str) -> Match:
        levels = topic.split("/")
        wild = (each for each in self._wild if topic_matches(each.levels, levels))
        filters = tuple(each for each in (*self._exact.get(topic, ()), *wild) if each.live)
        most = max((each.most for each in filters), default=0)
        named = frozenset[int]().union(*(each.identifiers for each in filters))
        return Match(filters, most, all(each.shared for each in filters), named)

    def only_hidden(self, topic: str) -> bool:
        """Whether filters match a topic only if its $ is treated as any character."""
        levels = topic.split("/")
        return topic.startswith("$") and any(
            each.live and topic_matches(each.levels, ["", *levels[1:]]) for each in self._wild
        )
