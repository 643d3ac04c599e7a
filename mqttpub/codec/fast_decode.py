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
    first, *steps = cls.plan[version]
    body = (
        *_bits(first, "v_", "first"),
        *_steps(cls, steps, "v_", version),
        *("if p != end:", "    raise Irregular"),
        *_made(cls, "packet", "v_", version),
        "return packet",
    )
    caught = ("except (IndexError, KeyError):", "    raise Irregular from None")
    return function("data, first, p, end", ("try:", *inner(body), *caught))


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


def _default(cls: type[Group], field: Field) -> str:
    return f"{cls.__name__}_{field.key}"


def _made(cls: type[Group], name: str, prefix: str, version: Version) -> list[str]:
    """Return lines that build an instance without calling its constructor, which would be slower."""
    values = (prefix + field.key if field.exists_in(version) else _default(cls, field) for field in cls.layout)
    pairs = (f'"{field.key}": {value}' for field, value in zip(cls.layout, values, strict=True))
    return [f"{name} = instance({cls.__name__})", f"{name}.__dict__ = {{{', '.join(pairs)}}}"]


def _steps(cls: type[Group], steps: Iterable[tuple[Field, ...]], prefix: str, version: Version) -> list[str]:
    """Return lines that read fields into variables with this prefix."""
    lines: list[str] = []
    for step in steps:
        if step[0].mask:
            lines += ["octet = data[p]", "p += 1", *_bits(step, prefix, "octet")]
        else:
            lines += _field(cls, step[0], prefix, version)
    return lines


def _bits(step: tuple[Field, ...], prefix: str, octet: str) -> list[str]:
    return [f"{prefix}{field.key} = {_pick(field, octet)}" for field in step]


def _pick(field: Field, octet: str) -> str:
    if field.single:
        return f"{octet} & {field.mask} != 0"
    return f"({octet} & {field.mask}) >> {field.shift}" if field.shift else f"{octet} & {field.mask}"


def _field(cls: type[Group], field: Field, prefix: str, version: Version) -> list[str]:
    name = prefix + field.key
    lines = _SHAPES[field.shape](field, name, version)
    absent = [f"not {prefix}{field.when}"] if field.when else []
    absent += ["p >= end"] if version in field.tail else []
    if not absent:
        return lines
    return [f"if {' or '.join(absent)}:", f"    {name} = {_default(cls, field)}", "else:", *inner(lines)]


def _plain(field: Field, name: str, version: Version) -> list[str]:
    assert field.type is not None
    return value_lines(field.type, name)


def _group(field: Field, name: str, version: Version) -> list[str]:
    return _members(field.item, name, version)


def _members(cls: type[Group], name: str, version: Version) -> list[str]:
    steps = _steps(cls, cls.plan[version], f"{name}__", version)
    return [*steps, *_made(cls, name, f"{name}__", version)]


def _list(field: Field, name: str, version: Version) -> list[str]:
    """Return lines that read items until the packet ends."""
    each = f"{name}__item"
    item = _members(field.item, each, version) if isinstance(field.item, type) else value_lines(field.item, each)
    loop = inner((*item, f"items.append({each})"))
    return ["items = []", "while p < end:", *loop, f"{name} = tuple(items)"]


def _properties(field: Field, name: str, version: Version) -> list[str]:
    loop = ("while p < stop:", "    p = properties[data[p]](data, p + 1, found)")
    window = ("stop = p + size", "if stop > end:", "    raise Irregular", "found = []", *loop)
    ended = ("if p != stop:", "    raise Irregular", f"{name} = tuple(found)")
    return [*value_lines(VARIABLE, "size"), "if size:", *inner((*window, *ended)), "else:", f"    {name} = ()"]


_SHAPES: dict[str, Callable[[Field, str, Version], list[str]]] = {
    "value": _plain,
    "group": _group,
    "list": _list,
    "properties": _properties,
}


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
