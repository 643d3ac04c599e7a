"""The subscriptions of one client and what they match."""

from typing import Any, NamedTuple

from ...traffic.topics import has_wildcard, split_shared, topic_matches

MOST = 10_000
"""Filters, and topics with what they match, that are remembered; with more, nothing is said about what matches."""
MOST_WILD = 500
"""Filters with wildcards, each of which is compared with every new topic."""
MOST_CHARACTERS = 1 << 20
LONGEST = 200
"""Characters of a topic for which it is remembered what matches it."""
FAILED = 0x80


class SubscribedFilter:
    """A Topic Filter that the client subscribed with, and all that this allows the server."""

    __slots__ = ("asked", "changed", "drops_retain", "ended", "ended_at", "first", "granted", "identifiers",
                 "keeps_retain", "levels", "local", "nameless", "qos", "rows", "sendings", "shared",
                 "text")  # fmt: skip

    def __init__(self, text: str) -> None:
        self.text = text
        share, plain = split_shared(text)
        self.shared = bool(share)
        self.levels = plain.split("/")
        self.qos = 0
        """The highest QoS asked for."""
        self.granted = -1
        """The highest QoS granted."""
        self.asked = 0
        """How many SUBSCRIBE packets await their answer."""
        self.sendings = 0
        """How often retained messages may have been sent for it."""
        self.rows: set[int] = set()
        """Values of Retain Handling it was asked with."""
        self.identifiers: set[int] = set()
        self.nameless = False
        """Whether it was ever asked without a Subscription Identifier."""
        self.keeps_retain = False
        """Whether it was ever asked with Retain As Published."""
        self.local = False
        """Whether it was ever asked without No Local."""
        self.drops_retain = False
        """Whether it was ever asked without Retain As Published."""
        self.changed = False
        """Whether it was asked for more than once."""
        self.first = 0
        """The packet that asked for it first."""
        self.ended = False
        """Whether the client ended it."""
        self.ended_at = 0
        """The packet that told that it ended."""

    @property
    def live(self) -> bool:
        """Whether the server accepted it, or still may."""
        return self.granted >= 0 or self.asked > 0

    @property
    def most(self) -> int:
        """The highest QoS at which the server may deliver."""
        return self.qos if self.asked else self.granted


class Match(NamedTuple):
    """What matches one topic."""

    filters: tuple[SubscribedFilter, ...]
    most: int
    """The highest QoS at which the server may deliver."""
    shared: bool
    """Whether all are shared."""
    identifiers: frozenset[int]
    """The Subscription Identifiers with which they were ever asked for."""


class Subscriptions:
    """Every filter of a connection; those that ended too, since messages may still be under way."""

    def __init__(self) -> None:
        self.full = False
        """Whether there were too many, so that nothing is certain any more."""
        self._filters: dict[str, SubscribedFilter] = {}
        self._exact: dict[str, list[SubscribedFilter]] = {}
        self._wild: list[SubscribedFilter] = []
        self._room = MOST_CHARACTERS
        self._matches: dict[str, Match] = {}

    @property
    def known(self) -> bool:
        """Whether there were any."""
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
        if handling == 0 or (handling == 1 and new):
            each.sendings += 1
        each.rows.add(handling)
        each.asked += 1
        each.qos = max(each.qos, wanted.qos)
        each.keeps_retain |= bool(wanted.retain_as_published)
        each.drops_retain |= not wanted.retain_as_published
        each.local |= not wanted.no_local
        each.nameless |= identifier is None
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

    def grant(self, filter: str, code: int) -> None:
        """Note the answer to one of them."""
        each = self._filters.get(filter)
        if each is None:
            return
        each.asked = max(0, each.asked - 1)
        if code < FAILED:
            each.granted = max(each.granted, code)
        self._matches.clear()

    def end(self, filter: str) -> None:
        """Note that one is to end."""
        if each := self._filters.get(filter):
            each.ended = True
            self._matches.clear()

    def ended(self, filter: str, number: int) -> None:
        """Note that the packet with this number told that one ended."""
        each = self._filters.get(filter)
        if each and each.ended:
            each.ended_at = number

    def existed(self, filter: str) -> bool:
        """Whether there was a subscription with this filter."""
        return filter in self._filters and self._filters[filter].granted >= 0

    def matching(self, topic: str) -> Match:
        """Return the filters that match a topic."""
        found = self._matches.get(topic)
        if found is None:
            found = self._compared(topic)
            if len(self._matches) < MOST and len(topic) <= LONGEST:
                self._matches[topic] = found
        return found

    def _compared(self, topic: str) -> Match:
        levels = topic.split("/")
        wild = (each for each in self._wild if topic_matches(each.levels, levels))
        filters = tuple(each for each in (*self._exact.get(topic, ()), *wild) if each.live)
        most = max((each.most for each in filters), default=0)
        named = frozenset[int]().union(*(each.identifiers for each in filters))
        return Match(filters, most, all(each.shared for each in filters), named)

    def only_hidden(self, topic: str) -> bool:
        """Whether filters match a topic only if its $ is taken for any character."""
        levels = topic.split("/")
        return topic.startswith("$") and any(
            each.live and topic_matches(each.levels, ["", *levels[1:]]) for each in self._wild
        )
