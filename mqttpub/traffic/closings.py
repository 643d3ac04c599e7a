"""When a connection is at its end: an end that has closed still gets what the other one sends."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from ..spec.versions import Direction
from .events import Closed

Name = TypeVar("Name", bound=Hashable)


class Closings(Generic[Name]):
    """Knows of each connection, by any name, whether one of its ends has closed; it can be pickled."""

    def __init__(self) -> None:
        self._half: dict[Name, Direction | None] = {}
        """The end that has closed."""

    def over(self, name: Name, event: Closed) -> bool:
        """Take a close; return whether it is the end of its connection: both ends have closed, or one resets it."""
        if event.how == "FIN" and (name not in self._half or event.direction == self._half[name] is not None):
            self._half[name] = event.direction
            return False
        self._half.pop(name, None)
        return True

    def forget(self, name: Name) -> None:
        """Learn that a connection is not looked at any longer."""
        self._half.pop(name, None)
