"""What bytes of Protocol Buffers hold beside what a message declares, and where they stop being fields."""

from collections.abc import Iterator
from typing import Any

from .library import library
from .values import MOST_VALUES, Remarks

_VARINT, _EIGHT_BYTES, _BYTES, _GROUP, _END, _FOUR_BYTES = range(6)
_SIZES = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
_WIRE_WORDS = {
    _VARINT: "varint", _EIGHT_BYTES: "8 bytes", _BYTES: "length-delimited", _GROUP: "group", _FOUR_BYTES: "4 bytes",
}  # fmt: skip
_MOST_VARINT = 10


def parsed(message_class: Any, data: bytes, kind: str) -> Any:
    """Return the message of these bytes; raises ValueError with its kind, and the place if that is known."""
    try:
        return message_class.FromString(data)
    except library("protobuf", "protobuf", "google.protobuf.message").DecodeError as error:
        within = "a text in it is not UTF-8" if "UTF-8" in str(error) else "a message in it is malformed"
        raise ValueError(f"it is not {kind}: {_place_of_fault(data) or within}") from None


def _place_of_fault(data: bytes) -> str:
    """Return where the fields of a message stop being fields, in words; empty if they do not."""
    at = 0
    while at < len(data):
        start = at
        key, at = _varint(data, at)
        kind, number = key & 7, key >> 3
        if at and not 0 < number < 1 << 29:
            return f"the field at offset {start} has the number {number}"
        if at and kind not in _WIRE_WORDS and kind != _END:
            return f"the field at offset {start} has the wire type {kind}, which does not exist"
        if at and kind == _VARINT:
            _, at = _varint(data, at)
        elif at and kind == _BYTES:
            size, at = _varint(data, at)
            at = at and at + size
        elif at:
            at += _SIZES.get(kind, 0)
        if not at or at > len(data):
            return f"the field at offset {start} goes beyond the end of the payload"
    return ""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and the offset after it, 0 if it has no end."""
    value = 0
    for shift, byte in enumerate(data[at : at + _MOST_VARINT]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    return value, 0


def remark_unknown_fields(message: Any, remarks: Remarks) -> None:
    """Add a remark for each field of a message, and of those in it, that its type does not declare that way.

    Raises ValueError for a text that is not UTF-8, which the library returns as bytes, and for too many values.
    """
    values = 0
    fields_of = library("protobuf", "protobuf", "google.protobuf.unknown_fields").UnknownFieldSet
    for path, each in _messages(message, "$"):
        values += 1 + sum(len(value) if field.is_repeated else 1 for field, value in each.ListFields())
        if values > MOST_VALUES:
            raise ValueError(f"it has more than {MOST_VALUES} values")
        for field in fields_of(each):
            remarks.add(_sentence(each.DESCRIPTOR, path, field.field_number, field.wire_type))


def _sentence(descriptor: Any, path: str, number: int, kind: int) -> str:
    word = _WIRE_WORDS.get(kind, str(kind))
    declared = descriptor.fields_by_number.get(number)
    if declared is None:
        return f"{path}: field {number} ({word}) is not in the message {descriptor.full_name}, and is not shown"
    wanted = f"the wire type that {descriptor.full_name} declares"
    return f"{path}.{declared.name}: field {number} ({word}) does not have {wanted}, and is not shown"


def _messages(message: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield a message and all that are in it, with their JSONPaths."""
    yield path, message
    for field, value in message.ListFields():
        own = f"{path}.{field.name}"
        if field.message_type is None:
            if field.type == field.TYPE_STRING and bytes in map(type, value if field.is_repeated else (value,)):
                raise ValueError(f"{own}: the text is not UTF-8")
            continue
        if field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is not None:
                for key in value:
                    yield from _messages(value[key], f"{own}.{key}")
        elif field.is_repeated:
            for at, each in enumerate(value):
                yield from _messages(each, f"{own}[{at}]")
        else:
            yield from _messages(value, own)
