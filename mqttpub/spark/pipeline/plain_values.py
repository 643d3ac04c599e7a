"""Object graphs as plain values, for checkpoints: JSON for the structure, then bytes. Reading them runs no code.

A text holds a list of objects, of which the first is a list with the root alone. Each object is a list: its kind, then
its values. A value is a JSON scalar, or a list: `[n]` stands for object n, so that objects may be
shared and form circles; `[a, b]` stands for the bytes from a to b of the data that follows the text.

    kind        values                            kind       values
    list        values                            array      dtype, bytes of a numpy array of numbers
    tuple       values                            column     bytes: Arrow IPC stream of one column
    set         values, also as frozenset         pattern    bytes and flags of a regular expression
    dict        key, value, key, value ...        test-point its laws, place among those with the same laws
    ordered     the same, an OrderedDict          function   tag, see state_classes.FUNCTIONS
    counter     the same, a Counter               method     object, name, see state_classes.METHODS
    counts      the same, a defaultdict(int)      partial    function, tuple of values, dict of values
    deque       maxlen or null, values            a tag      name, value, name, value ..., of attributes
    bytearray   bytes

Tags are those of state_classes.STATE_CLASSES. The reader makes objects of known classes without calling
them, and sets only attributes that are listed there; everything else is refused.
"""

import gc
import json
import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ...common.errors import UserError
from ...lint.registry import TEST_POINTS, TestPoint
from .state_classes import FUNCTIONS, METHODS, STATE_CLASSES, StateClass

NUMBERS = "biuf"
"""Kinds of numpy's dtypes whose arrays may be part of a state."""
LONGEST_NAME = 80
_SCALARS = frozenset((type(None), bool, int, float, str))
_MAPPINGS: dict[type, str] = {dict: "dict", OrderedDict: "ordered", Counter: "counter"}
_SEQUENCES: dict[type, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}


class StateError(UserError):
    """A state cannot be used."""


def dumps(root: Any) -> tuple[bytes, bytes]:
    """Return an object and all that it refers to as text and data; raises TypeError for unknown classes."""
    with _without_gc():
        writer = _Writer()
        writer.value([root])
        return writer.finish()


def loads(text: bytes, data: memoryview) -> Any:
    """Return the object whose text and data `dumps` made; raises StateError, ValueError and TypeError."""
    with _without_gc():
        (root,) = _Reader(json.loads(text), data).root()
        return root


@contextmanager
def _without_gc() -> Iterator[None]:
    """Pause the garbage collector, which would search the many new objects again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _same(laws: tuple[Any, ...]) -> list[TestPoint]:
    return [each for each in TEST_POINTS if each.laws == laws]


# writing


class _Writer:
    def __init__(self) -> None:
        self._tags = {row.cls: (tag, row) for tag, row in STATE_CLASSES.items()}
        self._objects: list[Any] = []
        self._numbers: dict[int, int] = {}
        """Numbers of objects by id; the list above keeps the objects alive, so that ids stay unique."""
        self._data = bytearray()

    def value(self, value: Any) -> Any:
        """Return a value for JSON; objects are numbered here and written by `finish`."""
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is bytes:
            return self._bytes(value)
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return [number]

    def finish(self) -> tuple[bytes, bytes]:
        """Return text and data."""
        # The loop also sees the objects that it adds itself, so that no depth of nesting matters.
        entries = [self._entry(each) for each in self._objects]
        return json.dumps(entries, separators=(",", ":")).encode("ascii"), bytes(self._data)

    def _bytes(self, data: bytes | bytearray) -> list[int]:
        begin = len(self._data)
        self._data += data
        return [begin, len(self._data)]

    def _entry(self, value: Any) -> list[Any]:
        kind = type(value)
        if name := _SEQUENCES.get(kind):
            return [name, *map(self.value, value)]
        if name := _MAPPINGS.get(kind):
            return [name, *self._items(value.items())]
        if found := self._tags.get(kind):
            return [found[0], *self._items(_attributes(value, found[1]))]
        if kind is np.ndarray and value.dtype.kind in NUMBERS:
            return ["array", value.dtype.str, self._bytes(value.tobytes())]
        if isinstance(value, pa.Array):
            return ["column", self._bytes(_ipc(value))]
        if write := _WRITERS.get(getattr(kind, "__name__", "")):
            return write(self, value)
        raise TypeError(f"a state cannot hold {value!r}: no row in state_classes has its class")

    def _items(self, items: Iterable[tuple[Any, Any]]) -> Iterator[Any]:
        for key, value in items:
            yield self.value(key)
            yield self.value(value)

    def _method(self, method: Any) -> list[Any]:
        return ["method", self.value(method.__self__), method.__name__]

    def _function(self, function: Any) -> list[Any]:
        tags = [tag for tag, each in FUNCTIONS.items() if each is function]
        if not tags:
            raise TypeError(f"a state cannot hold {function!r}: it is not in state_classes.FUNCTIONS")
        return ["function", tags[0]]


_WRITERS: dict[str, Callable[[_Writer, Any], list[Any]]] = {
    "deque": lambda self, value: ["deque", value.maxlen, *map(self.value, value)],
    "defaultdict": lambda self, value: ["counts", *self._items(value.items())],
    "bytearray": lambda self, value: ["bytearray", self._bytes(value)],
    "Pattern": lambda self, value: ["pattern", self._bytes(value.pattern), value.flags],
    "TestPoint": lambda self, value: ["test-point", self.value(value.laws), _same(value.laws).index(value)],
    "partial": lambda self, value: ["partial", *map(self.value, (value.func, value.args, value.keywords))],
    "method": _Writer._method,
    "function": _Writer._function,
}
"""How the other kinds are written, by the names of their classes."""


def _attributes(value: Any, row: StateClass) -> Iterable[tuple[str, Any]]:
    """Return names and values of what a state keeps of an object; raises TypeError where its row does not list it."""
    if isinstance(value, Enum):
        return [("value", value.value)]
    if isinstance(value, tuple):
        return zip(row.attributes, value, strict=True)
    state = value.__getstate__()
    if isinstance(state, tuple):
        state = {**(state[0] or {}), **state[1]}
    if unknown := (state or {}).keys() - row.names:
        raise TypeError(f"{type(value).__name__} keeps {sorted(unknown)}, which its row in state_classes does not list")
    return (state or {}).items()


def _ipc(column: pa.Array) -> bytes:
    sink = pa.BufferOutputStream()
    batch = pa.RecordBatch.from_arrays([column], ["column"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


# reading

_ABSENT = object()


class _Reader:
    def __init__(self, entries: Any, data: memoryview) -> None:
        if not isinstance(entries, list) or not all(isinstance(each, list) and each for each in entries):
            raise StateError("it is not a list of objects")
        self._entries = entries
        self._data = data
        self._made: list[Any] = [_ABSENT] * len(entries)
        self._begun = [False] * len(entries)
        self._empty: deque[tuple[Any, Callable[[Any, Any], None], Any]] = deque()
        """Objects that were made without their contents, the method that fills each, and its values, in order."""

    def root(self) -> Any:
        """Return the first object."""
        root = self._object(0)
        # Objects refer to one another in circles, so they are made first and filled here.
        while self._empty:
            made, fill, values = self._empty.popleft()
            fill(made, values)
        return root

    def _value(self, value: Any) -> Any:
        if type(value) is not list:
            if type(value) in _SCALARS:
                return value
            raise StateError("it holds a value of no known kind")
        return self._object(*value) if len(value) == 1 else self._bytes(value)

    def _bytes(self, span: Any) -> bytes:
        begin, end = span
        if not 0 <= begin <= end <= len(self._data):
            raise StateError("it refers to bytes that it does not have")
        return bytes(self._data[begin:end])

    def _object(self, number: int) -> Any:
        if type(number) is not int or not 0 <= number < len(self._made):
            raise StateError("it refers to an object that it does not have")
        if self._made[number] is _ABSENT:
            if self._begun[number]:
                raise StateError("it holds an immutable object that contains itself")
            self._begun[number] = True
            self._made[number] = self._make(*self._entries[number])
        return self._made[number]

    def _make(self, kind: str, *values: Any) -> Any:
        if row := STATE_CLASSES.get(kind):
            return self._instance(row, values)
        if kind not in _READERS:
            raise StateError(f"it holds {shown(kind)}, which is not part of a state")
        return _READERS[kind](self, *values)

    def _later(self, made: Any, fill: Callable[[Any, Any], None], values: Any) -> Any:
        self._empty.append((made, fill, values))
        return made

    def _instance(self, row: StateClass, values: tuple[Any, ...]) -> Any:
        names = values[::2]
        if len(values) % 2 or not row.names.issuperset(names):
            raise StateError(f"it holds attributes that {row.cls.__name__} does not have")
        if not row.built_whole:
            return self._later(row.cls.__new__(row.cls), self._set, values)
        built = dict(zip(names, map(self._value, values[1::2]), strict=True))
        if issubclass(row.cls, Enum):
            return row.cls(built["value"])
        if issubclass(row.cls, tuple):
            return tuple.__new__(row.cls, [built[name] for name in row.attributes])
        made = row.cls.__new__(row.cls)
        vars(made).update(built)
        return made

    def _set(self, made: Any, values: tuple[Any, ...]) -> None:
        value_of = self._value
        state = {name: value_of(value) for name, value in zip(values[::2], values[1::2], strict=True)}
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
            return
        for name, value in state.items():
            # Past the protection of frozen dataclasses.
            object.__setattr__(made, name, value)

    def _fill_list(self, made: Any, values: Iterable[Any]) -> None:
        made.extend(map(self._value, values))

    def _fill_set(self, made: Any, values: Iterable[Any]) -> None:
        made.update(map(self._value, values))

    def _fill_dict(self, made: Any, values: tuple[Any, ...]) -> None:
        for key, value in zip(values[::2], values[1::2], strict=True):
            dict.__setitem__(made, self._value(key), self._value(value))

    def _fill_ordered(self, made: Any, values: tuple[Any, ...]) -> None:
        for key, value in zip(values[::2], values[1::2], strict=True):
            made[self._value(key)] = self._value(value)

    def _method(self, owner: Any, name: Any) -> Any:
        made = self._value(owner)
        if not any((tag, name) in METHODS for tag, row in STATE_CLASSES.items() if row.cls is type(made)):
            raise StateError(f"it holds {shown(type(made).__name__, name)}, which is not part of a state")
        return getattr(made, name)

    def _partial(self, function: Any, args: Any, keywords: Any) -> Any:
        made, filled = self._value(function), self._value(keywords)
        if not callable(made):
            raise StateError("it holds a partial call of something that cannot be called")
        # The dict of its keywords may still be empty, but is filled before the partial is.
        return self._later(partial(made, *self._value(args)), lambda each, _: each.keywords.update(filled), None)


def shown(*words: Any) -> str:
    """Return names from a file in a form that is safe on a terminal."""
    return ascii(".".join(map(str, words))[:LONGEST_NAME])


def _array(reader: _Reader, kind: str, span: Any) -> Any:
    dtype = np.dtype(kind)
    if dtype.kind not in NUMBERS:
        raise StateError("it holds an array of something other than numbers")
    return np.frombuffer(reader._bytes(span), dtype).copy()


def _column(reader: _Reader, span: Any) -> pa.Array:
    column = pa.ipc.open_stream(reader._bytes(span)).read_next_batch().column(0)
    column.validate(full=True)
    return column


_READERS: dict[str, Callable[..., Any]] = {
    "list": lambda self, *values: self._later([], self._fill_list, values),
    "tuple": lambda self, *values: tuple(map(self._value, values)),
    "set": lambda self, *values: self._later(set(), self._fill_set, values),
    "frozenset": lambda self, *values: frozenset(map(self._value, values)),
    "dict": lambda self, *values: self._later({}, self._fill_dict, values),
    "ordered": lambda self, *values: self._later(OrderedDict(), self._fill_ordered, values),
    "counter": lambda self, *values: self._later(Counter(), self._fill_dict, values),
    "counts": lambda self, *values: self._later(defaultdict(int), self._fill_dict, values),
    "deque": lambda self, most, *values: self._later(deque(maxlen=most), self._fill_list, values),
    "bytearray": lambda self, span: bytearray(self._bytes(span)),
    "array": _array,
    "column": _column,
    "pattern": lambda self, span, flags: re.compile(self._bytes(span), flags),
    "test-point": lambda self, laws, place: _same(self._value(laws))[place],
    "function": lambda self, tag: FUNCTIONS[tag],
    "method": _Reader._method,
    "partial": _Reader._partial,
}
"""How the kinds that are not tags are read; `self` is the reader."""
