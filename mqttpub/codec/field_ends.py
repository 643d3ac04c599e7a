"""Where the fields of a well-formed packet end, without reading their values.

The places of fields follow from a few bytes: flags, lengths and Property Identifiers. A view that has drawn the tree of
one packet needs no more than these places to draw another packet with the same fields.
"""

from collections.abc import Callable

from ..spec.declare import Field, Group
from ..spec.packets import declared
from ..spec.properties import PROPERTIES
from ..spec.versions import Version
from ..wire.types import BINARY, BYTE, PAIR, REST, STRING, U16, U32, VARIABLE, WireType
from .fast_decode import FieldWalk, Irregular, compiled, function, multi_byte

END_OF_PROPERTIES = -1

_Pass = Callable[[bytes, int, int, int, list[int], list[int]], None]
"""Takes the data, the first byte, the offset after the Remaining Length, that of the end, and two lists to extend."""
_PASSES: dict[int, _Pass] = {}
"""The functions for packet types and versions, each compiled when the first such packet arrives."""


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
        (_PASSES.get(first & 0xF0 | version) or _compile(first, version))(data, first, start, end, ends, choices)
    except (IndexError, KeyError, Irregular):
        return None
    return ends, choices


def _compile(first: int, version: Version) -> _Pass:
    """Return the function for a packet type; raises KeyError if the version has no such packet."""
    cls = declared(first >> 4, version)
    if cls is None:
        raise KeyError
    text = function("data, first, p, end, ends, choices", _Ends(cls, version).fields())
    made: _Pass = compiled(text, f"field ends of {cls.name} {version.label}", {"pass_properties": _pass_properties})
    _PASSES[first & 0xF0 | version] = made
    return made


_STRING = "p += 2 + (data[p] << 8 | data[p + 1])"
_ADD = "ends.append(p)"
_PASSED: dict[WireType, tuple[str, ...]] = {
    BYTE: ("p += 1", _ADD), U16: ("p += 2", _ADD), U32: ("p += 4", _ADD), STRING: (_STRING, _ADD),
    BINARY: (_STRING, _ADD), REST: ("if p < end:", "    p = end", f"    {_ADD}"),
}  # fmt: skip
"""Lines of source that pass a field of a data type."""


class _Ends(FieldWalk):
    """Passes fields and notes where they end; of bits, keeps those that other fields depend on."""

    def keeps(self, cls: type[Group], field: Field) -> bool:
        return any(each.when == field.key for each in cls.layout)

    def octet(self, cls: type[Group], step: tuple[Field, ...], prefix: str, path: str) -> list[str]:
        decides = any(self.keeps(cls, field) for field in step)
        return [*super().octet(cls, step, prefix, path), _ADD, *(("choices.append(octet)",) if decides else ())]

    def value(self, type: WireType, name: str, path: str, field: Field) -> list[str]:
        return [*_PASSED[type]]

    def properties(self, name: str, path: str) -> list[str]:
        return ["p = pass_properties(data, p, end, ends, choices)"]


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
