"""Functions that write the records of regular packets straight from their bytes, compiled from the declarations.

As in `codec.fast_decode`, a function is generated for each packet type and version when the first such packet arrives,
and raises Irregular for packets that the decoder has a finding for.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from ...codec.fast_decode import FieldWalk, Irregular, compiled, function, guarded, inner, value_lines
from ...codec.tree import Decoded, Node
from ...spec.declare import Field, Group, Packet
from ...spec.packets import declared
from ...spec.properties import PROPERTIES, PropertyRow
from ...spec.versions import Version
from ...wire.cursor import Span
from ...wire.types import BINARY, BYTE, PAIR, REST, STRING, VARIABLE, Integer, WireType
from .record_parts import (
    StringTexts,
    blob_text,
    field_text,
    hex_text,
    list_text,
    property_text,
    words_text,
)
from .values import notation

FieldWriter = Callable[[bytes, int, int, list[str], list[Span], StringTexts, Callable[[bytes], tuple[str, str]]], str]
"""Takes a packet, the offsets at which its variable header begins and it ends, a list for the objects of its fields, a
list for its secret bytes, the texts of strings, and a function that returns the texts of a payload. Returns the members
for property lists and payloads."""


@cache
def field_writer(code: int, version: Version, secrets: bool) -> FieldWriter:
    """Return the function that writes the fields after the fixed header of a packet type; secrets are asterisks."""
    cls = declared(code, version)
    if cls is None:
        return _unknown
    made = _FunctionSource(cls, version, secrets)
    write: FieldWriter = compiled(made.packet(), f"record of {cls.name} {version.label}", made.names)
    return write


def _unknown(
    data: bytes, p: int, end: int, out: list[str], secret: list[Span], strings: StringTexts,
    payload: Callable[[bytes], tuple[str, str]],
) -> str:  # fmt: skip
    raise Irregular


class _NumberTexts(dict[int, str]):
    """The words for the 256 values of a byte or fewer, as JSON, made on first use."""

    def __init__(self, cls: type[Packet], version: Version, field: Field | None, row: PropertyRow | None) -> None:
        super().__init__()
        self.of = cls, version, field, row

    def __missing__(self, value: int) -> str:
        cls, version, field, row = self.of
        name = field.key if field else "value"
        kind = field.kind if field and field.kind else "number"
        node = Node(name, Span(0, 1), value, kind=kind, field=field, row=row)
        text = self[value] = words_text(node, Decoded(b"", node, version, type=cls))
        return text


class _PropertyWriters(dict[int, Any]):
    """The functions that write properties, by identifier, compiled on first use."""

    def __init__(self, source: "_FunctionSource", path: str) -> None:
        super().__init__()
        self.source, self.path = source, path

    def __missing__(self, id: int) -> Any:
        row = PROPERTIES[id]
        made = _FunctionSource(self.source.cls, self.source.version, self.source.secrets)
        text = made.property(row, f"{self.path}.{row.key}")
        write = self[id] = compiled(text, f"record of {row.label}", made.names)
        return write


# A part of a record becomes an f-string: its values are expressions between marks.

_MARK = "\0"


def _of(expression: str) -> str:
    return f"{_MARK}{expression}{_MARK}"


def _f_string(text: str) -> str:
    fixed, *rest = text.split(_MARK)
    made = [_literal(fixed)]
    for expression, literal in zip(rest[::2], rest[1::2], strict=True):
        made += [f"{{{expression}}}", _literal(literal)]
    return f"f'{''.join(made)}'"


def _literal(text: str) -> str:
    return repr(f'"{text}')[2:-1].replace("{", "{{").replace("}", "}}")


_ARGUMENTS = "data, p, end, out, secret, strings, payload"
_FALSE_TRUE = ("false", "true")


class _FunctionSource(FieldWalk):
    """The source text of one function, and the names that it uses."""

    index = _of("index")

    def __init__(self, cls: type[Packet], version: Version, secrets: bool) -> None:
        super().__init__(cls, version)
        self.secrets = secrets
        self.names: dict[str, Any] = {
            "Span": Span, "blob": blob_text, "flag": _FALSE_TRUE, "star": "**",
        }  # fmt: skip

    def packet(self) -> str:
        """Return the source of the function for the fields after the fixed header."""
        return function(_ARGUMENTS, guarded(("first = data[0]", "more = ''", *self.fields(), "return more")))

    def property(self, row: PropertyRow, path: str) -> str:
        """Return the source of the function for a property, which returns the offset after it."""
        node = Node("identifier", Span(0, 1), row.id, kind="length", row=row)
        words = words_text(node, Decoded(b"", node, self.version, type=self.cls))
        body = [
            "at = p - 1",
            _add(field_text(f"{path}.identifier", _of("at"), 1, 0, str(row.id), words)),
        ]
        parts = ("name", "value") if row.type is PAIR else ("value",)
        for name in parts:
            type = STRING if row.type is PAIR else row.type
            body += [*self.shown(type, f"{path}.{name}", None, row), f"{name} = shown"]
        listed = [_of(name) for name in parts]
        value = f"[{','.join(listed)}]" if row.type is PAIR else listed[0]
        text = property_text(row.id, row.key, value, _of("at"), _of("p - at"))
        body += [f"found.append({_f_string(text)})", "return p"]
        return function("data, p, out, secret, strings, found", body)

    def name(self, value: Any) -> str:
        """Return a name for an object."""
        name = f"n{len(self.names)}"
        self.names[name] = value
        return name

    # fields

    def octet(self, cls: type[Group], step: tuple[Field, ...], prefix: str, path: str) -> list[str]:
        lines = super().octet(cls, step, prefix, path)
        for field in step:
            value = f"{prefix}{field.key}"
            texts = self.name(_NumberTexts(self.cls, self.version, field, None))
            shown = _of(f"flag[{value}]") if field.single else _of(value)
            words = _of(f"{texts}[{value}]")
            lines.append(_add(field_text(f"{path}.{field.key}", _of("p - 1"), 1, field.mask, shown, words)))
        return lines

    def items(self, name: str, each: str, item: list[str]) -> list[str]:
        return ["index = 0", *super().items(name, each, [*item, "index += 1"])]

    def value(self, type: WireType, name: str, path: str, field: Field) -> list[str]:
        lines = self.shown(type, path, field, None)
        if field.kind == "payload":
            lines.append(f"more += {_f_string(list_text(_list_name(path), _of('member')))}")
        return ["if p < end:", *inner(lines)] if type is REST else lines

    def properties(self, name: str, path: str) -> list[str]:
        writers = self.name(_PropertyWriters(self, path))
        words = self.number_text("size", "length", "")
        length = field_text(f"{path}.property_length", _of("at"), _of("p - at"), 0, _of("size"), words)
        return [
            *("at = p", *value_lines(VARIABLE, "size"), _add(length)),
            *("stop = p + size", "if stop > end:", "    raise Irregular", "found = []"),
            *("while p < stop:", f"    p = {writers}[data[p]](data, p + 1, out, secret, strings, found)"),
            *("if p != stop:", "    raise Irregular"),
            f"more += {_f_string(list_text(_list_name(path), f'[{_of(_JOINED)}]'))}",
        ]

    # values

    def shown(self, type: WireType, path: str, field: Field | None, row: PropertyRow | None) -> list[str]:
        """Return lines that write a value; they set `shown`, and for a payload `member`, to JSON."""
        if type in (STRING, BINARY, REST):
            lines = ["begin = p", *value_lines(type if type is REST else BINARY, "content")]
            return [*lines, *self.content(type, field, row), _value(path, "begin", "p - begin")]
        lines = [*(("begin = p",) if type is VARIABLE else ()), *value_lines(type, "shown")]
        place = ("begin", "p - begin") if type is VARIABLE else (f"p - {_size(type)}", str(_size(type)))
        return [*lines, *self.number(type, field, row), _value(path, *place)]

    def content(self, type: WireType, field: Field | None, row: PropertyRow | None) -> list[str]:
        if type is STRING:
            return ["shown, words = strings[content]"]
        secret = field.kind == "secret" if field else row is not None and row.secret
        if secret and not self.secrets:
            return [
                *("size = len(content)", "if size:", "    secret.append(Span(p - size, p))"),
                f"shown = {_f_string(hex_text(_of('star * size')))}",
                f"words = {_f_string(self.number_text('size', 'length', ''))}",
            ]
        shown = f"shown = {_f_string(hex_text(_of('content.hex()')))}"
        is_payload = field is not None and field.kind == "payload"
        return [shown, "words, member = payload(content)" if is_payload else "words = blob(content)"]

    def number(self, type: WireType, field: Field | None, row: PropertyRow | None) -> list[str]:
        texts = _NumberTexts(self.cls, self.version, field, row)
        if type is BYTE:
            return [f"words = {self.name(texts)}[shown]"]
        about = field or row
        assert about
        kind, unit = (field.kind if field else "") or "number", about.unit
        plain = f"words = {_f_string(self.number_text('shown', kind, unit))}"
        if not about.names:
            return [plain]
        assert isinstance(about.names, dict)
        named = self.name({value: texts[value] for value in about.names})
        return [f"if shown in {named}:", f"    words = {named}[shown]", "else:", f"    {plain}"]

    def number_text(self, value: str, kind: str, unit: str) -> str:
        """Return the words for a number that has no name, as JSON; `value` is an expression."""
        words = f'{self.name(notation(kind))}({value}, "{unit}")'
        return f'"{_of(words)}"'


_JOINED = '",".join(found)'


def _size(type: WireType) -> int:
    assert isinstance(type, Integer)
    return type.size


def _list_name(path: str) -> str:
    """Return the name of a list of a record: `will_properties` for `connect.will.properties`."""
    return "_".join(path.split(".")[1:])


def _add(text: str) -> str:
    return f"out.append({_f_string(text)})"


def _value(path: str, offset: str, length: str) -> str:
    size = length if length.isdecimal() else _of(length)
    return _add(field_text(path, _of(offset), size, 0, _of("shown"), _of("words")))
