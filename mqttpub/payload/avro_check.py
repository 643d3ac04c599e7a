"""Whether bytes are the Avro body of a schema, checked before the library reads them (Avro 1.12, "Binary Encoding").

fastavro takes a negative index of a union or enum from the end, keeps one of two entries of a map with the same key,
and makes a list of any number of items that take no bytes. What is refused or remarked here, it does not say.
"""

from collections.abc import Callable, Iterator
from typing import Any

from ..common.strict_json import PORTABLE_DEPTH, dumps, utf8
from ..common.words import counted
from .values import MOST_VALUES, Remarks, check_end

_MOST_VARINT = 10
"""Bytes of a number of 64 bits, at most."""
_BITS = {"int": 32, "long": 64, "number": 64}


class BodyCheck:
    """Walks through one body; `named` has the types that schemas refer to by name."""

    def __init__(self, data: bytes, named: dict[str, Any]) -> None:
        self._data = data
        self._named = named
        self._at = 0
        self._count = 0
        self._remarks = Remarks()

    def check(self, schema: Any) -> tuple[str, ...]:
        """Return remarks on the body; raises ValueError with the offset of what is wrong."""
        self._value(schema, 1)
        check_end(self._data, self._at)
        return self._remarks.all()

    def _value(self, schema: Any, depth: int) -> None:
        self._counted(1)
        if depth > PORTABLE_DEPTH:
            raise ValueError(f"the value is nested too deeply: that at offset {self._at} is in {depth - 1} others")
        if isinstance(schema, list):
            self._value(schema[self._index(len(schema), "union", "branches")], depth)
            return
        if isinstance(schema, str):
            schema = self._named.get(schema, {"type": schema})
        _CHECKS[schema["type"]](self, schema, depth)

    def _counted(self, more: int) -> None:
        self._count += more
        if self._count > MOST_VALUES:
            raise ValueError(f"it has more than {MOST_VALUES} values, up to offset {self._at}")

    # numbers

    def _number(self, kind: str = "number") -> int:
        """Return an integer; `kind` names it: one of the schema, or a number that is a length, a count or an index."""
        start, value = self._at, 0
        for shift in range(_MOST_VARINT):
            byte = self._take(1, kind, start)[0]
            value |= (byte & 0x7F) << 7 * shift
            if byte < 0x80:
                break
        if byte > 0x7F or value >> _BITS[kind]:
            raise ValueError(f"the {kind} at offset {start} has more than {_BITS[kind]} bits")
        return value >> 1 ^ -(value & 1)

    def _index(self, count: int, kind: str, members: str) -> int:
        start = self._at
        index = self._number()
        if not 0 <= index < count:
            raise ValueError(f"the index of the {kind} at offset {start} is {index}, but it has {count} {members}")
        return index

    def _take(self, size: int, kind: str, start: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise ValueError(f"the {kind} at offset {start} goes beyond the end of the payload")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    # types

    def _nothing(self, schema: Any, depth: int) -> None:
        pass

    def _boolean(self, schema: Any, depth: int) -> None:
        start = self._at
        if (byte := self._take(1, "boolean", start)[0]) > 1:
            raise ValueError(f"the boolean at offset {start} is {byte}, but must be 0 or 1")

    def _integer(self, schema: Any, depth: int) -> None:
        self._number(schema["type"])

    def _fixed(self, schema: Any, depth: int) -> None:
        kind = schema["type"]
        self._take({"float": 4, "double": 8}.get(kind) or schema["size"], kind, self._at)

    def _octets(self, schema: Any, depth: int) -> bytes:
        start, kind = self._at, schema["type"]
        size = self._number()
        if size < 0:
            raise ValueError(f"the {kind} at offset {start} has the length {size}")
        return self._take(size, kind, start)

    def _string(self, schema: Any, depth: int) -> str:
        start = self._at
        data = self._octets({"type": "string"}, depth)
        try:
            return utf8(data)
        except ValueError:
            raise ValueError(f"the string at offset {start} is not UTF-8") from None

    def _enum(self, schema: Any, depth: int) -> None:
        self._index(len(schema["symbols"]), f"enum {schema['name']}", "symbols")

    def _array(self, schema: Any, depth: int) -> None:
        for _ in self._items("array"):
            self._value(schema["items"], depth + 1)

    def _map(self, schema: Any, depth: int) -> None:
        start = self._at
        keys: dict[str, int] = {}
        for _ in self._items("map"):
            key = self._string(schema, depth)
            keys[key] = keys.get(key, 0) + 1
            self._value(schema["values"], depth + 1)
        for key, times in keys.items():
            if times > 1:
                self._remarks.add(
                    f"the map at offset {start} has the key {dumps(key)} {times} times; the last is shown"
                )

    def _items(self, kind: str) -> Iterator[None]:
        """Yield for each item of all blocks of an array or a map; read it before the next turn."""
        while True:
            start = self._at
            count = self._number()
            size = self._number() if count < 0 else None
            if not count:
                return
            self._fits(abs(count), size, f"block of the {kind} at offset {start}")
            begin = self._at
            for _ in range(abs(count)):
                yield
            if size is not None and self._at - begin != size:
                length = counted(self._at - begin, "byte")
                raise ValueError(f"the block of the {kind} at offset {start} has {length}, not {size}")

    def _fits(self, count: int, size: int | None, what: str) -> None:
        """Raise ValueError for a block that has a length, or more items, than there can be."""
        if size is not None and not 0 <= size <= len(self._data) - self._at:
            raise ValueError(f"the {what} has the length {size}")
        if count > MOST_VALUES:
            raise ValueError(f"the {what} has {count} items, more than {MOST_VALUES}")

    def _record(self, schema: Any, depth: int) -> None:
        for field in schema["fields"]:
            self._value(field["type"], depth + 1)


_CHECKS: dict[str, Callable[[BodyCheck, Any, int], Any]] = {
    "null": BodyCheck._nothing, "boolean": BodyCheck._boolean, "int": BodyCheck._integer, "long": BodyCheck._integer,
    "float": BodyCheck._fixed, "double": BodyCheck._fixed, "fixed": BodyCheck._fixed, "bytes": BodyCheck._octets,
    "string": BodyCheck._string, "enum": BodyCheck._enum, "array": BodyCheck._array, "map": BodyCheck._map,
    "record": BodyCheck._record, "error": BodyCheck._record,
}  # fmt: skip
