"""The values of CBOR (RFC 8949) and MessagePack as JSON.

The libraries read most payloads. They make Python dictionaries of maps, in which a key that occurs again is lost, and
1, 1.0 and true are one key; they follow references of CBOR, and do not say where bytes are wrong. A payload with
anything of that kind is read item by item: containers are followed here, and what holds no other items is read by the
library.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

from ..common.strict_json import PORTABLE_DEPTH, dumps, utf8
from .library import library
from .structure import (
    ARRAY,
    BREAK,
    CHUNKS,
    MAP,
    TAG,
    TEXT,
    UNTIL_BREAK,
    VALUE,
    HeadReader,
    ItemHead,
    MalformedHead,
    cbor_head,
    msgpack_head,
)
from .values import MOST_VALUES, ReadPayload, Remarks, check_end, json_value, number

_NAMES = {ARRAY: "array", MAP: "map", TAG: "tag", CHUNKS: "string"}
_SELF_DESCRIBED = 55799
"""The tag that says of what follows only that it is CBOR (RFC 8949, 3.4.6)."""
_MEANT = frozenset((0, 1, 2, 3, 4, 30, 37, 52, 54, 100, 1004))
"""Tags that the library reads: times, large and decimal numbers, fractions, UUIDs, addresses and dates."""
_LONGEST_MEANT = 256
"""Bytes of an item with such a tag; a longer one, such as a number of thousands of digits, is shown as it was sent."""
_LONGEST_KEY = 60
"""Characters of a key in a remark."""


class Pairs(NamedTuple):
    """A map, with the offset of its head."""

    start: int
    pairs: list[tuple[Any, Any]]


class Tagged(NamedTuple):
    """An item of CBOR with a tag that is not read."""

    tag: int
    value: Any


class Simple(NamedTuple):
    """A simple value of CBOR that JSON lacks: its number, or `undefined`."""

    word: int | str


class Extension(NamedTuple):
    """An extension of MessagePack."""

    code: int
    data: bytes


class _OddError(Exception):
    """The library cannot say all of a payload."""


def read_cbor(data: bytes) -> ReadPayload:
    """Return the value of CBOR as JSON; raises ValueError with the offset of what is wrong."""
    decoder = library("cbor", "cbor2").CBORDecoder

    def load(data: bytes) -> Any:
        stream = BytesIO(data)
        value = decoder(stream, **_CBOR_OPTIONS).decode()
        return value if stream.tell() == len(data) else _odd()

    return _read_plain(load, data) or cbor_items(data)


def read_msgpack(data: bytes) -> ReadPayload:
    """Return the value of MessagePack as JSON; raises ValueError with the offset of what is wrong."""
    load = partial(library("msgpack", "msgpack").unpackb, object_pairs_hook=_members)
    return _read_plain(load, data) or msgpack_items(data)


# what the libraries read


def _read_plain(load: Callable[[bytes], Any], data: bytes) -> ReadPayload | None:
    """Return what a library reads of a payload of plain values; None for any other, and for a long one.

    A message of 50 bytes takes a third of the time that its items take one by one, or less.
    """
    if len(data) > MOST_VALUES:
        return None
    try:
        return ReadPayload(_plain(load(data), 1))
    except Exception:  # of many types; if it is a fault of the payload, reading it by items says which
        return None


def _plain(value: Any, depth: int) -> Any:
    """Return a value as JSON; raises _OddError for what JSON lacks, but for bytes and numbers that are not finite."""
    kind = type(value)
    if kind in (str, int, bool) or value is None:
        return value
    if kind is float or kind is bytes:
        return json_value(value)
    if depth > PORTABLE_DEPTH:
        raise _OddError
    if kind is list:
        return [_plain(each, depth + 1) for each in value]
    if kind is not dict or not all(type(key) is str for key in value):
        raise _OddError
    return {key: _plain(each, depth + 1) for key, each in value.items()}


def _members(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _OddError
    return members


def _odd(*given: Any) -> Any:
    raise _OddError


_CBOR_OPTIONS = {
    "allow_duplicate_keys": False, "max_depth": PORTABLE_DEPTH, "tag_hook": _odd,
    # The tags that the library would read; some of them make one value of several, or several of one.
    "semantic_decoders": dict.fromkeys(
        (0, 1, 2, 3, 4, 5, 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261, 1004, 43000, 55799), _odd
    ),
}  # fmt: skip


# items


def cbor_items(data: bytes) -> ReadPayload:
    """Return what `read_cbor` does, for any payload."""
    cbor2 = library("cbor", "cbor2")

    def leaf(item: bytes) -> Any:
        value = cbor2.loads(item)
        if isinstance(value, cbor2.CBORSimpleValue):
            return Simple(value.value)
        return Simple("undefined") if value is cbor2.undefined else value

    return _rendered(_ItemReader(data, cbor_head, leaf).read())


def msgpack_items(data: bytes) -> ReadPayload:
    """Return what `read_msgpack` does, for any payload."""
    leaf = partial(library("msgpack", "msgpack").unpackb, ext_hook=Extension, timestamp=3)
    return _rendered(_ItemReader(data, msgpack_head, leaf).read())


class _ItemReader:
    """Reads one item; arrays become lists, maps `Pairs`."""

    def __init__(self, data: bytes, head: HeadReader, leaf: Callable[[bytes], Any]) -> None:
        self._data = data
        self._read_head = head
        self._leaf = leaf
        self._at = 0
        self._count = 0

    def read(self) -> Any:
        """Return the item that is all of the data; raises ValueError."""
        value = self._item(1)
        check_end(self._data, self._at)
        return value

    def _item(self, depth: int) -> Any:
        start, head = self._at, self._head()
        if head.kind in _NAMES and depth > PORTABLE_DEPTH:
            what = f"the {_NAMES[head.kind]} at offset {start} is in {PORTABLE_DEPTH} others"
            raise ValueError(f"the value is nested too deeply: {what}")
        if head.kind == ARRAY:
            return [self._item(depth + 1) for _ in self._items(head)]
        if head.kind == MAP:
            return Pairs(start, [(self._item(depth + 1), self._item(depth + 1)) for _ in self._items(head)])
        if head.kind == TAG:
            return self._tagged(head.size, start, self._item(depth + 1))
        if head.kind == TEXT:
            return self._text(head)
        if head.kind == BREAK:
            raise ValueError(f"the break at offset {start} ends nothing")
        if head.kind == CHUNKS:
            self._go_past_chunks(head)
        return self._of_library(start)

    def _head(self) -> ItemHead:
        """Return the head of the next item, and go to its content, or past it if that is only bytes."""
        start = self._at
        self._count += 1
        if self._count > MOST_VALUES:
            raise ValueError(f"it has more than {MOST_VALUES} values")
        try:
            head = self._read_head(self._data, start)
        except MalformedHead:
            raise ValueError(f"no value begins with the byte 0x{self._data[start]:02x}, at offset {start}") from None
        except IndexError:
            raise ValueError(f"the payload ends at offset {len(self._data)}, where a value is missing") from None
        self._at = head.begin + (head.size if head.kind == TEXT else 0)
        if self._at > len(self._data):
            raise ValueError(f"the value at offset {start} goes beyond the end of the payload")
        return head

    def _items(self, head: ItemHead) -> Iterator[None]:
        """Yield for each item or entry of a container; read it before the next turn."""
        left = head.size
        while left if head.size != UNTIL_BREAK else not self._is_over():
            yield
            left -= 1

    def _is_over(self) -> bool:
        """Return whether a break comes next, and go past it."""
        over = self._at < len(self._data) and self._read_head(self._data, self._at).kind == BREAK
        self._at += over
        return over

    def _go_past_chunks(self, head: ItemHead) -> None:
        for _ in self._items(head):
            start = self._at
            if self._head().kind not in (TEXT, VALUE):
                raise ValueError(f"the value at offset {start} is not a part of a string")

    def _text(self, head: ItemHead) -> str:
        try:
            return utf8(self._data[head.begin : self._at])
        except ValueError:
            raise ValueError(f"the text at offset {head.begin} is not UTF-8") from None

    def _tagged(self, tag: int, start: int, value: Any) -> Any:
        if tag == _SELF_DESCRIBED:
            return value
        if tag in _MEANT and self._at - start <= _LONGEST_MEANT:
            try:
                return self._leaf(self._data[start : self._at])
            except Exception:  # a wrong date, for example; the library raises errors of many types for bytes of a peer
                return Tagged(tag, value)
        return Tagged(tag, value)

    def _of_library(self, start: int) -> Any:
        try:
            return self._leaf(self._data[start : self._at])
        except Exception:  # the libraries raise errors of many types for bytes of a peer
            raise ValueError(f"the bytes at offset {start} are not a value of this format") from None


# JSON, and RFC 8949's diagnostic notation for keys


def _rendered(item: Any) -> ReadPayload:
    remarks = Remarks()
    return ReadPayload(_json(item, remarks), remarks.all())


def _json(item: Any, remarks: Remarks) -> Any:
    if isinstance(item, list):
        return [_json(each, remarks) for each in item]
    if isinstance(item, Pairs):
        return _object(item, remarks)
    if isinstance(item, Tagged):
        return {"tag": item.tag, "value": _json(item.value, remarks)}
    if isinstance(item, Simple):
        return {"simple": item.word}
    if isinstance(item, Extension):
        return {"extension": item.code, **json_value(item.data)}
    return json_value(item)


def _object(item: Pairs, remarks: Remarks) -> Any:
    """Return a map as an object, or as {"map": pairs} if two of its keys have one name."""
    made = {key if isinstance(key, str) else diagnostic(key): _json(value, remarks) for key, value in item.pairs}
    if len(made) == len(item.pairs):
        return made
    for key, times in Counter(diagnostic(key) for key, _ in item.pairs).items():
        if times > 1:
            named = key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}..."
            remarks.add(f"the map at offset {item.start} has the key {named} {times} times")
    return {"map": [[_json(key, remarks), _json(value, remarks)] for key, value in item.pairs]}


def diagnostic(item: Any) -> str:
    """Return an item in the diagnostic notation (RFC 8949, 8); an extension of MessagePack as `extension(5, h'07')`."""
    if isinstance(item, list):
        return f"[{', '.join(map(diagnostic, item))}]"
    if isinstance(item, Pairs):
        return f"{{{', '.join(f'{diagnostic(key)}: {diagnostic(value)}' for key, value in item.pairs)}}}"
    if isinstance(item, Tagged):
        return f"{item.tag}({diagnostic(item.value)})"
    if isinstance(item, Simple):
        return f"simple({item.word})" if isinstance(item.word, int) else item.word
    if isinstance(item, Extension):
        return f"extension({item.code}, {diagnostic(item.data)})"
    if isinstance(item, bytes):
        return f"h'{item.hex()}'"
    if isinstance(item, float):
        shown = number(item)
        return shown if isinstance(shown, str) else dumps(shown)
    if isinstance(item, date):
        return f"0({dumps(item.isoformat())})"
    return dumps(json_value(item))
