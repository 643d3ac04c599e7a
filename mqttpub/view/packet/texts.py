"""Texts that are remembered, up to a number of characters."""

from typing import Any, TypeVar

T = TypeVar("T")
KEY = 64
"""Characters that a key counts for."""
GAP = 256
"""Characters that a gap of a text counts for; it takes about as many bytes of memory (sys.getsizeof)."""


class KnownTexts(dict[Any, T]):
    """What was drawn earlier, by its key; when more than `most` characters are kept, all of them are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._room = most

    def keep(self, key: Any, value: T, characters: int) -> None:
        """Add a value of so many characters, unless these alone are too many."""
        size = characters + KEY
        if size > self._most:
            return
        if size > self._room:
            self.clear()
        self._room -= size
        self[key] = value

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._room = self._most
