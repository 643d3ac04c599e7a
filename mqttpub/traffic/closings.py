"""When a connection has ended: an end that has sent FIN still receives what the other one sends."""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from ..spec.versions import Direction
from .events import Closed, Endpoints, Event
from .runs import PacketRun

Name = TypeVar("Name", bound=Hashable)


class Closings(Generic[Name]):
    """Remembers for each connection, by any key, which end has closed."""

    def __init__(self) -> None:
        self._half: dict[Name, Direction | None] = {}
        """The end that has closed; None if it is unknown."""

    def over(self, name: Name, event: Closed) -> bool:
        """Return whether a close ends its connection: both ends have closed, one reset it, or the capture ended."""
        if event.how == "FIN" and (name not in self._half or event.direction == self._half[name] is not None):
            self._half[name] = event.direction
            return False
        self._half.pop(name, None)
        return True

    def forget(self, name: Name) -> None:
        """Forget a connection."""
        self._half.pop(name, None)


class OpenConnections:
    """The connections that have not ended."""

    def __init__(self) -> None:
        self._open: dict[int, Endpoints] = {}
        self._closings: Closings[int] = Closings()

    def ended(self, event: Event | PacketRun) -> bool:
        """Record an event or a run; return whether it ends its connection."""
        number = event.ends.number
        if isinstance(event, Closed) and self._closings.over(number, event):
            self._open.pop(number, None)
            return True
        if number not in self._open:
            self._open[number] = event.ends
        return False

    def left(self) -> Iterator[Endpoints]:
        """Yield the ends of each connection that is still open."""
        yield from self._open.values()
