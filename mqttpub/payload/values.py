"""What readers of payloads return, and how they say in JSON what JSON has no words for."""

import math
from binascii import b2a_base64
from datetime import date, time
from typing import Any, NamedTuple

from ..common.words import counted

MOST_VALUES = 1_000_000
"""Values in one payload that are read; a few bytes of a format can stand for any number of them."""
MOST_REMARKS = 8
"""Remarks on one payload that are kept."""


class ReadPayload(NamedTuple):
    """A payload that was read."""

    value: Any
    """As JSON."""
    remarks: tuple[str, ...] = ()
    """Sentences on what the value does not show: keys that occur again, bytes that a schema does not know."""


class Remarks:
    """Collects sentences on one payload, with the number of those that are too many."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._more = 0

    def add(self, sentence: str) -> None:
        """Keep a sentence, or count it."""
        if len(self._kept) < MOST_REMARKS:
            self._kept.append(sentence)
        else:
            self._more += 1

    def all(self) -> tuple[str, ...]:
        """Return the sentences."""
        more = (f"{counted(self._more, 'more remark')} like these",) if self._more else ()
        return (*self._kept, *more)


def check_end(data: bytes, end: int) -> None:
    """Raise ValueError for bytes after the end of a value."""
    if rest := len(data) - end:
        raise ValueError(f"{counted(rest, 'byte follows', 'bytes follow')} the value, from offset {end} on")


def binary(data: bytes) -> dict[str, str]:
    """Return bytes as the JSON value that `pub --jsonl` reads back as these bytes."""
    return {"base64": b2a_base64(data, newline=False).decode()}


def number(value: float) -> float | str:
    """Return a number as JSON; what JSON lacks in the words of RFC 8949 (8.1): NaN, Infinity, -Infinity."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def json_value(value: Any) -> Any:
    """Return what a library read as JSON: numbers, texts, bytes, times, lists and objects of these."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return number(value)
    if isinstance(value, bytes):
        return binary(value)
    if isinstance(value, dict):
        return {key: json_value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [json_value(each) for each in value]
    # The others, such as decimal numbers and UUIDs, have a text that is theirs in every language.
    return value.isoformat() if isinstance(value, date | time) else str(value)
