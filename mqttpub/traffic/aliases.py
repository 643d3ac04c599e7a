"""Topic Aliases: which Topic Name a PUBLISH means."""

from typing import NamedTuple

from ..common.lru import WeightedLru
from ..spec.packets import Publish
from ..spec.properties import TOPIC_ALIAS, value_of
from ..spec.versions import Direction
from .events import SIDES

MEMORY = 4 << 20
"""Most characters of Topic Names that are remembered; each entry counts `_ENTRY` more."""
_ENTRY = 64


class Topic(NamedTuple):
    """The topic that a PUBLISH means."""

    name: str | None
    """The Topic Name; None when the alias that stands for it was never set."""
    alias: int | None = None
    sets: bool = False
    """Whether the packet has both, so that the alias stands for this Topic Name from now on."""
    forgotten: bool = False
    """Whether the alias may have been set, and was forgotten."""

    @property
    def text(self) -> str:
        """The name, or a description of the alias without one; not escaped."""
        if self.name is not None:
            return self.name
        return f"alias {self.alias} ({'no longer known' if self.forgotten else 'never set'})"


class Aliases:
    """The aliases of one connection; each direction has its own (5.0: 3.3.2.3.4).

    Many connections can share one table, each with a number of its own.
    """

    __slots__ = ("_base", "_table")

    def __init__(self, table: WeightedLru[int, str] | None = None, number: int = 0) -> None:
        self._table: WeightedLru[int, str] = WeightedLru(MEMORY) if table is None else table
        self._base = number * 3

    def resolve(self, publish: Publish, direction: Direction | None) -> Topic:
        """Return the topic of a PUBLISH, and remember the alias that it sets.

        Call it once for every PUBLISH, in the order in which they came.
        """
        if not publish.properties:
            return Topic(publish.topic)
        alias = value_of(publish.properties, TOPIC_ALIAS)
        if alias is None:
            return Topic(publish.topic)
        key = (self._base + SIDES[direction]) << 16 | alias
        if publish.topic:
            if alias:
                self._table.put(key, publish.topic, len(publish.topic) + _ENTRY)
            return Topic(publish.topic, alias, alias > 0)
        name = self._table.get(key) if alias else None
        return Topic(name, alias, forgotten=name is None and alias > 0 and self._table.dropped > 0)
