"""Where the fields of a well-formed packet end, without reading their values.

The places of fields follow from a few bytes: flags, lengths and Property Identifiers. A view that has drawn the tree of
one packet needs no more than these places to draw another packet with the same fields.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..spec.declare import Field, Group
from ..spec.packets import declared
from ..spec.properties import PROPERTIES
from ..spec.versions import Version
from ..wire.types import BINARY, BYTE, PAIR, REST, STRING, U16, U32, VARIABLE, WireType
from .fast_decode import Irregular, compiled, function, inner, multi_byte

END_OF_PROPERTIES = -1

_Pass = Callable[[bytes, int, int, list[int], list[int]], None]
"""Takes the data, the offset after the Remaining Length, that of the end, and the two lists to extend."""
_PASSES: dict[int, _Pass] = {}
"""The functions for first bytes and versions, each compiled when the first such packet arrives."""


def field_ends(data: bytes, version: Version) -> tuple[list[int], list[int]] | None:
    """Return where the fields of a packet without findings end, and the bytes that decide which fields it has.

    The first list holds the offset after the first byte, after the Remaining Length, and after each field; a byte of
    bits is one field, so is a property, and an empty field at the end is none. The second list holds the first byte,
    other bytes of flags, and Property Identifiers with END_OF_PROPERTIES after those of each list. Packets of one
    version for which it is equal, and which have as many ends, have the same fields.

    None where lengths contradict one another, the Remaining Length is longer than necessary, or the packet type is
    unknown. `version` is the one that `decode` reads the packet by. For a packet whose tree has findings the places may
    be wrong.
    """
    try:
        first, length, start, end = data[0], data[1], 2, len(data)
        if length > 0x7F:
            length, start = multi_byte(data, 1)
        if start + length != end:
            return None
        ends, choices = [1, start], [first]
        # A call of a function that is compiled takes 1 us, a loop over the declared fields 4 us (timeit).
        (_PASSES.get(first << 3 | version) or _compile(first, version))(data, start, end, ends, choices)
    except (IndexError, KeyError, Irregular):
        return None
    return ends, choices


def _compile(first: int, version: Version) -> _Pass:
    """Return the function for a first byte; raises KeyError if the version has no such packet."""
    cls = declared(first >> 4, version)
    if cls is None:
        raise KeyError
    bits, *steps = cls.plan[version]
    body = [
        *_lines(cls, steps, version, {field.key: field.pick(first) for field in bits}),
        "if p != end:",
        "    raise IndexError",
    ]
    text = function("data, p, end, ends, choices", body)
    made: _Pass = compiled(text, f"field ends of {cls.name} {version.label}", {"pass_properties": _pass_properties})
    _PASSES[first << 3 | version] = made
    return made


_STRING = "p += 2 + (data[p] << 8 | data[p + 1])"
_ADD = "ends.append(p)"
_PASSED: dict[WireType, tuple[str, ...]] = {
    BYTE: ("p += 1", _ADD), U16: ("p += 2", _ADD), U32: ("p += 4", _ADD), STRING: (_STRING, _ADD),
    BINARY: (_STRING, _ADD), REST: ("if p < end:", "    p = end", f"    {_ADD}"),
}  # fmt: skip
"""Lines of source that pass a field of a data type."""


def _lines(
    cls: type[Group], steps: Sequence[tuple[Field, ...]], version: Version, known: dict[str, Any]
) -> Iterator[str]:
    """Yield the source that passes fields; `known` has the values of the bits of the first byte."""
    deciding = {field.when for step in steps for field in step}
    masks: dict[str, int] = {}
    for step in steps:
        field = step[0]
        if field.mask:
            masks |= {each.key: each.mask for each in step if each.key in deciding}
            yield from (("flags = data[p]", "choices.append(flags)") if masks else ())
            yield from ("p += 1", _ADD)
            continue
        if field.when in known and not known[field.when]:
            continue
        conditions = [f"flags & {masks[field.when]}"] if field.when in masks else []
        conditions += ["p < end"] if version in field.tail else []
        lines = _field(field, version)
        if conditions:
            yield f"if {' and '.join(conditions)}:"
            yield from inner(lines)
        else:
            yield from lines


def _field(field: Field, version: Version) -> Iterator[str]:
    if field.shape == "properties":
        yield "p = pass_properties(data, p, end, ends, choices)"
    elif field.shape == "group":
        yield from _lines(field.item, field.item.plan[version], version, {})
    elif field.shape == "list":
        yield "while p < end:"
        yield from inner(_item(field.item, version))
    else:
        assert field.type is not None
        yield from _PASSED[field.type]


def _item(item: Any, version: Version) -> Iterable[str]:
    return _lines(item, item.plan[version], version, {}) if issubclass(type(item), type) else _PASSED[item]


_SIZES: dict[WireType, int] = {BYTE: 1, U16: 2, U32: 4}
_SIZE_OF = {row.id: _SIZES.get(row.type, 0) for row in PROPERTIES.values()}
"""The bytes of the value of each property; 0 if they vary."""
_TYPE_OF = {row.id: row.type for row in PROPERTIES.values()}


def _pass_properties(data: bytes, at: int, end: int, ends: list[int], choices: list[int]) -> int:
    """Add the ends of the Property Length and of properties; return the last. Raises KeyError for an unknown one."""
    length = data[at]
    at += 1
    if length > 0x7F:
        length, at = multi_byte(data, at - 1)
    ends.append(at)
    stop = at + length
    while at < stop:
        id = data[at]
        size = _SIZE_OF[id]
        at += 1
        if size:
            at += size
        elif _TYPE_OF[id] is VARIABLE:
            at = multi_byte(data, at)[1] if data[at] > 0x7F else at + 1
        else:
            at += 2 + (data[at] << 8 | data[at + 1])
            if _TYPE_OF[id] is PAIR:
                at += 2 + (data[at] << 8 | data[at + 1])
        choices.append(id)
        ends.append(at)
    if at != stop:
        raise IndexError
    choices.append(END_OF_PROPERTIES)
    return at
