"""Functions that read the values of well-formed packets, compiled from the declarations for speed.

For each packet type and version a function is generated as source text from the table, and compiled when the first such
packet arrives. It reads only packets without any finding and raises Irregular for all others, which `decode` then
reads. `decode_packet`, which does both, takes 1.3 us per packet where `decode` takes 19 us (processor time on the
traffic of tests/benchmarks/decode.py): that is what generated source pays for.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from ..spec.declare import Field, Group, Packet, Property
from ..spec.packets import declared
from ..spec.properties import PROPERTIES, PropertyRow
from ..spec.versions import Version
from ..wire.cursor import Overlong, variable_integer
from ..wire.types import BINARY, BYTE, PAIR, REST, STRING, U16, U32, VARIABLE, WireType

Reader = Callable[[bytes, int, int, int], Packet]
"""Takes the data, the first byte of a packet, and the offsets at which its variable header begins and it ends."""
_PropertyReader = Callable[[bytes, int, list[Property]], int]
"""Takes the data and the offset of a property's value, appends the property, returns the offset of the next one."""


class Irregular(Exception):
    """The bytes are not a well-formed packet; `decode` has a finding for them."""


@cache
def reader(code: int, version: Version) -> Reader:
    """Return the function that reads packet type `code` of `version`; the frame must be cut already.

    The function raises Irregular exactly where `decode` has a finding. A CONNECT is read by `version` too, whatever it
    announces; bytes after the end are not part of the packet.
    """
    cls = declared(code, version)
    if cls is None:
        return _unknown
    read: Reader = compiled(source(code, version), f"values of {cls.name} {version.label}", _names(cls))
    return read


def source(code: int, version: Version) -> str:
    """Return the source text of that function; it depends on the declarations only. Raises ValueError for no packet."""
    cls = declared(code, version)
    if cls is None:
        raise ValueError(f"MQTT {version.label} has no packet type {code}")
    made = _ValueReader(cls, version)
    return function("data, first, p, end", guarded((*made.fields(), *made.made(cls, "packet", "v_"), "return packet")))


def _unknown(data: bytes, first: int, start: int, end: int) -> Packet:
    raise Irregular


def multi_byte(data: bytes, pos: int) -> tuple[int, int]:
    """Return a Variable Byte Integer of two to four bytes, and the offset after it (5.0: 1.5.5).

    Raises Irregular if it is cut short, overlong or longer than necessary.
    """
    try:
        found = variable_integer(data, pos, len(data))
    except Overlong:
        raise Irregular from None
    if found is None or not data[found[1] - 1]:
        raise Irregular
    return found


# Compiling source text


def compiled(text: str, name: str, names: dict[str, Any]) -> Any:
    """Return the function with this source text, which may use `Irregular`, `variable` and the names given."""
    scope = {"Irregular": Irregular, "variable": multi_byte, **names}
    exec(compile(text, f"<{name}>", "exec"), scope)
    return scope["call"]


def _names(cls: type[Group]) -> dict[str, Any]:
    """Return the names that the source of a packet uses: classes, defaults, the readers of properties."""
    names: dict[str, Any] = {cls.__name__: cls, "instance": object.__new__, "properties": _property_readers()}
    for field in cls.layout:
        names[_default(cls, field)] = field.default
        if isinstance(field.item, type):
            names |= _names(field.item)
    return names


@cache
def _property_readers() -> dict[int, _PropertyReader]:
    names = {"Property": Property, "pair": tuple.__new__}
    return {row.id: compiled(property_source(row), f"values of {row.label}", names) for row in PROPERTIES.values()}


def property_source(row: PropertyRow) -> str:
    """Return the source text of the function that reads the value of a property."""
    body = (*value_lines(row.type, "value"), f"found.append(pair(Property, ({row.id}, value)))", "return p")
    return function("data, p, found", body)


# Generating source text. The position `p` only grows, so one comparison at the end detects every value that was cut
# short; an index out of range or an unknown property is an exception.


def function(arguments: str, body: Iterable[str]) -> str:
    """Return the source text of a function for `compiled`."""
    return "\n".join((f"def call({arguments}):", *inner(body), ""))


def inner(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines as the body of the line before them."""
    return (f"    {line}" for line in lines)


def guarded(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, and those that raise Irregular if a value was cut short or unknown."""
    yield from ("try:", *inner(lines), "except (IndexError, KeyError):", "    raise Irregular from None")


class FieldWalk:
    """Walks the fields of a packet type in the order of their bytes, and returns lines of source for them.

    A subclass says what is done with each. The lines keep the position in `p`; variables hold the bits on which other
    fields depend. Their names begin with a prefix; `path` is the dotted path of a field, such as `connect.will.topic`.
    """

    index = ""
    """The number of an item in its path."""

    def __init__(self, cls: type[Packet], version: Version) -> None:
        self.cls = cls
        self.version = version

    def fields(self) -> list[str]:
        """Return lines for all fields after the fixed header; `first` is the first byte."""
        first, *steps = self.cls.plan[self.version]
        lines = self.bits(self.cls, first, "v_", "first")
        lines += self.steps(self.cls, steps, "v_", self.cls.name.lower())
        return [*lines, "if p != end:", "    raise Irregular"]

    def steps(self, cls: type[Group], steps: Iterable[tuple[Field, ...]], prefix: str, path: str) -> list[str]:
        """Return lines for fields of a packet, or of a part of it."""
        lines: list[str] = []
        for step in steps:
            if step[0].mask:
                lines += self.octet(cls, step, prefix, path)
            else:
                lines += self._field(cls, step[0], prefix, f"{path}.{step[0].key}")
        return lines

    def _field(self, cls: type[Group], field: Field, prefix: str, path: str) -> list[str]:
        name = prefix + field.key
        lines = self._present(field, name, path)
        absent = [f"not {prefix}{field.when}"] if field.when else []
        absent += ["p >= end"] if self.version in field.tail else []
        if not absent:
            return lines
        instead = self.absent(cls, field, name)
        if instead:
            return [f"if {' or '.join(absent)}:", *inner(instead), "else:", *inner(lines)]
        return [f"if not ({' or '.join(absent)}):", *inner(lines)]

    def _present(self, field: Field, name: str, path: str) -> list[str]:
        if field.shape == "properties":
            return self.properties(name, path)
        if field.shape == "group":
            return self._members(field.item, name, path)
        if field.shape == "list":
            each, place = f"{name}__item", f"{path}.{self.index}"
            is_group = isinstance(field.item, type)
            item = self._members(field.item, each, place) if is_group else self.value(field.item, each, place, field)
            return self.items(name, each, item)
        assert field.type is not None
        return self.value(field.type, name, path, field)

    def _members(self, cls: type[Group], name: str, path: str) -> list[str]:
        return [*self.steps(cls, cls.plan[self.version], f"{name}__", path), *self.made(cls, name, f"{name}__")]

    def bits(self, cls: type[Group], step: tuple[Field, ...], prefix: str, octet: str) -> list[str]:
        """Return lines that set variables to the bits of a byte, which is in the variable `octet`."""
        return [f"{prefix}{field.key} = {_pick(field, octet)}" for field in step if self.keeps(cls, field)]

    # what is done with fields

    def keeps(self, cls: type[Group], field: Field) -> bool:
        """Whether the value of bits is needed."""
        return True

    def octet(self, cls: type[Group], step: tuple[Field, ...], prefix: str, path: str) -> list[str]:
        """Return lines for a byte of bits."""
        return ["octet = data[p]", "p += 1", *self.bits(cls, step, prefix, "octet")]

    def value(self, type: WireType, name: str, path: str, field: Field) -> list[str]:
        """Return lines for one value."""
        raise NotImplementedError

    def properties(self, name: str, path: str) -> list[str]:
        """Return lines for a Property Length and the properties."""
        raise NotImplementedError

    def items(self, name: str, each: str, item: list[str]) -> list[str]:
        """Return lines for items until the packet ends, given those of one."""
        return ["while p < end:", *inner(item)]

    def absent(self, cls: type[Group], field: Field, name: str) -> list[str]:
        """Return lines for a field that a packet does not have."""
        return []

    def made(self, cls: type[Group], name: str, prefix: str) -> list[str]:
        """Return lines after the fields of a part of a packet."""
        return []


def _pick(field: Field, octet: str) -> str:
    if field.single:
        return f"{octet} & {field.mask} != 0"
    return f"({octet} & {field.mask}) >> {field.shift}" if field.shift else f"{octet} & {field.mask}"


def _default(cls: type[Group], field: Field) -> str:
    return f"{cls.__name__}_{field.key}"


class _ValueReader(FieldWalk):
    """Reads fields into variables."""

    def value(self, type: WireType, name: str, path: str, field: Field) -> list[str]:
        return value_lines(type, name)

    def properties(self, name: str, path: str) -> list[str]:
        loop = ("while p < stop:", "    p = properties[data[p]](data, p + 1, found)")
        window = ("stop = p + size", "if stop > end:", "    raise Irregular", "found = []", *loop)
        ended = ("if p != stop:", "    raise Irregular", f"{name} = tuple(found)")
        return [*value_lines(VARIABLE, "size"), "if size:", *inner((*window, *ended)), "else:", f"    {name} = ()"]

    def items(self, name: str, each: str, item: list[str]) -> list[str]:
        return ["items = []", *super().items(name, each, [*item, f"items.append({each})"]), f"{name} = tuple(items)"]

    def absent(self, cls: type[Group], field: Field, name: str) -> list[str]:
        return [f"{name} = {_default(cls, field)}"]

    def made(self, cls: type[Group], name: str, prefix: str) -> list[str]:
        """Return lines that build an instance without calling its constructor, which would be slower."""
        exists = ((field, field.exists_in(self.version)) for field in cls.layout)
        pairs = (f'"{field.key}": {prefix + field.key if there else _default(cls, field)}' for field, there in exists)
        return [f"{name} = instance({cls.__name__})", f"{name}.__dict__ = {{{', '.join(pairs)}}}"]


def value_lines(type: WireType, name: str) -> list[str]:
    """Return lines that read one value of a data type."""
    return [line.format(name) for line in _TYPES[type]]


def _integer(size: int) -> tuple[str, ...]:
    octets = ["data[p]", *(f"data[p + {index}]" for index in range(1, size))]
    shifted = [f"{octet} << {8 * (size - index)}" for index, octet in enumerate(octets[:-1], 1)]
    return f"{{}} = {' | '.join((*shifted, octets[-1]))}", f"p += {size}"


_SLICE = ("start = p + 2", "p = start + (data[p] << 8 | data[p + 1])")
_STRING = (*_SLICE, "{} = data[start:p].decode('utf-8', 'surrogateescape')")
_TYPES: dict[WireType, tuple[str, ...]] = {
    BYTE: _integer(1),
    U16: _integer(2),
    U32: _integer(4),
    VARIABLE: ("{0} = data[p]", "p += 1", "if {0} > 127:", "    {0}, p = variable(data, p - 1)"),
    BINARY: (*_SLICE, "{} = data[start:p]"),
    STRING: _STRING,
    PAIR: (*(line.format(part) for part in ("left", "right") for line in _STRING), "{} = left, right"),
    REST: ("{} = data[p:end]", "if p < end:", "    p = end"),
}
"""Data types as lines of source, with a placeholder for the name of the variable."""
