"""Forms filled for thousands of things at a time, as rows of a matrix of bytes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .form import Form

Integers = NDArray[np.int64]
Texts = NDArray[np.uint8]
"""A matrix of bytes with a row for each text; the shorter ones have zeros at the end."""
NOWHERE = 0, 0


class PlacedForm(NamedTuple):
    """A form as UTF-8, whose slots have the size of their values."""

    text: bytes
    places: dict[str, tuple[int, int]]
    """By the kind of a slot: where it begins, and its bytes."""

    @classmethod
    def of(cls, form: Form) -> "PlacedForm":
        """Return a form whose slots are ASCII, each of a kind of its own."""
        first, *rest = form.parts[::2]
        text, places = first.encode(), dict[str, tuple[int, int]]()
        for slot, after in zip(form.slots, rest, strict=True):
            places[slot.kind] = len(text), len(slot)
            text += slot.encode() + after.encode()
        return cls(text, places)


class FormRows:
    """Texts as rows of a matrix: first columns that are given, then forms, then a line end."""

    def __init__(self, first: Sequence[Texts], forms: Sequence[PlacedForm], kinds: Integers) -> None:
        """`kinds` has for each row which of the forms it has."""
        text = matrix([each.text for each in forms])
        self._begin = begin = sum(each.shape[1] for each in first)
        self._forms = forms
        self._kinds = kinds
        self.rows: Texts = np.empty((len(kinds), begin + text.shape[1] + 1), np.uint8)
        at = 0
        for each in first:
            self.rows[:, at : at + each.shape[1]] = each
            at += each.shape[1]
        self.rows[:, begin:-1] = text.take(kinds, axis=0)
        self.rows[:, -1] = ord("\n")

    def write_numbers(self, kind: str, numbers: Integers) -> None:
        """Write the decimal digits of the number of each row into slots of one kind."""
        # They are in few different places: the type before them has a column of its own.
        places = [form.places.get(kind, NOWHERE) for form in self._forms]
        numbered = {place: number for number, place in enumerate(places)}
        which = np.array([numbered[place] for place in places])[self._kinds]
        for (at, digits), number in numbered.items():
            if digits:
                rows, at = np.flatnonzero(which == number), self._begin + at
                self.rows[rows, at : at + digits] = decimal_digits(numbers[rows], digits)

    def write_bytes(self, kind: str, data: bytes, source: Integers) -> None:
        """Write bytes of `data`, which for each row begin at `source`, into slots of one kind."""
        places = [form.places.get(kind, NOWHERE) for form in self._forms]
        kept = np.array([size for _, size in places])[self._kinds]
        if not kept.any():
            return
        octets, width = np.frombuffer(data, np.uint8), self.rows.shape[1]
        at = self._begin + np.array([place for place, _ in places])[self._kinds] + width * np.arange(len(self.rows))
        # Texts of one size are copied whole: byte by byte, this took half of the time of drawing.
        for size in np.flatnonzero(np.bincount(kept)).tolist():
            if size:
                rows = np.flatnonzero(kept == size)
                _pieces(self.rows, size)[at[rows]] = _pieces(octets, size)[source[rows]]


def _pieces(data: Texts, size: int) -> NDArray[np.void]:
    """Return the pieces of so many bytes that begin at each byte of contiguous data, as elements."""
    return np.ndarray((data.size - size + 1,), np.dtype((np.void, size)), data, strides=(1,))


def matrix(texts: list[bytes]) -> Texts:
    """Return texts as a matrix, one of which is not empty."""
    found = np.array(texts, np.bytes_)
    return found.view(np.uint8).reshape(len(texts), found.itemsize)


def decimal_digits(numbers: Integers, count: int) -> Texts:
    """Return the last decimal digits of numbers, as characters."""
    found = np.empty((len(numbers), count), np.uint8)
    for at in reversed(range(count)):
        numbers, digit = np.divmod(numbers, 10)
        found[:, at] = digit + ord("0")
    return found
