"""Copies that wait until the target takes them: in memory, or in an outbox."""

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from ...live.publish.outbox import Outbox
from ...live.publish.sender import Publication
from ...live.publish.sources import Listed, MessageSource
from ...spec.versions import Version


class Copies(MessageSource, Protocol):
    """The source of the Publisher: it ends once `over` is set and all copies were taken."""

    over: bool

    def add(self, copies: list[Publication]) -> None:
        """Append copies."""

    @property
    def waits(self) -> bool:
        """Whether there are copies to take."""


class CopiesInMemory(Copies):
    """Copies of messages that the source keeps until they are acknowledged here."""

    def __init__(self) -> None:
        self.over = False
        self._copies: deque[Publication] = deque()

    @property
    def ended(self) -> bool:
        """Whether no copy will come any more."""
        return self.over and not self._copies

    @property
    def waits(self) -> bool:
        """Whether there are copies to take."""
        return bool(self._copies)

    def add(self, copies: list[Publication]) -> None:
        """Append copies."""
        self._copies += copies

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return the next copies."""
        return [self._copies.popleft() for _ in range(min(most, len(self._copies)))]


class CopiesInOutbox(Copies):
    """Copies that are on disk before the source may forget the messages; they are read again as they are sent.

    So however long the target is away, memory stays small. What an earlier run left comes first.
    """

    def __init__(self, outbox: Outbox, version: Version) -> None:
        self.over = False
        self._outbox = outbox
        self._version = version
        self._last = 0
        """Number of the last message that was taken."""
        self._listed = Listed(())
        self._newest = 0
        """Number of the newest message that `_listed` has."""

    @property
    def ended(self) -> bool:
        """Whether no copy will come any more."""
        return self.over and not self.waits

    @property
    def waits(self) -> bool:
        """Whether there are copies to take."""
        if self._listed.ended and self._newest < self._outbox.newest:
            self._newest = self._outbox.newest
            self._listed = Listed(self._kept())
        return not self._listed.ended

    def add(self, copies: list[Publication]) -> None:
        """Append copies durably."""
        self._outbox.add(copies)

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return the next copies."""
        taken = self._listed.take(most, now_s) if self.waits else []
        if taken:
            self._last = taken[-1].token
        return taken

    def _kept(self) -> Iterable[Publication]:
        for each in self._outbox.kept(self._version, begun=False, after=self._last):
            yield Publication.of(each.packet.replace(packet_id=None), self._version, each.number)
