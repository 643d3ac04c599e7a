"""The parts of a JSON record as text: what a record contains, said once for both ways of writing it.

`record_json` writes the record of a tree. `record_source` generates functions that write the records of regular packets
without a tree; they are made from the same parts, with expressions in place of values.
"""

from binascii import b2a_base64
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...codec.tree import Decoded, Node
from ...common.lru import BoundedMemo
from ...common.strict_json import LONGEST_PLAIN, dumps, plain_object, plain_objects
from ...common.times import iso_of
from ...spec.versions import V5
from ...wire.cursor import Span
from .payload import classify, classify_with_value
from .values import blob_words, describe, notation

if TYPE_CHECKING:
    from .formatted import PayloadFormat

MOST_KEPT = 4096
"""Texts that are kept, of each kind."""
LONGEST_KEPT = 128
"""Bytes of the longest string whose texts are kept."""


def record_text(
    begun: str, offset: int, size: int, digits: str, fields: str, lists: str, findings: str, more: str
) -> str:
    """Return a record from its parts.

    `begun` has its first members, `digits` all bytes in hex, `fields` objects with commas between them, `lists` the
    members for property lists and payloads, each with a comma in front, and `more` its last members, likewise.
    """
    clean = "".join(record_parts(begun, str(offset), size, digits, (fields,), (lists,)))
    return f'{{{clean},"findings":[{findings}]{more}}}'


def record_parts(
    begun: str, offset: str, size: int, digits: str, fields: Iterable[str], lists: Iterable[str]
) -> tuple[str, ...]:
    """Return the parts of a record between its brace and its findings."""
    return begun, '"offset":', offset, f',"length":{size},"hex":"', digits, '","fields":[', *fields, "]", *lists


def time_text(time: float) -> str:
    """Return the member for a time in seconds since 1970, which comes before all others."""
    return f'"time":"{iso_of(time)}",'


def begun_text(direction: str | None, name: str, version: str) -> str:
    """Return the first members of a record."""
    return f'"direction":{dumps(direction)},"type":"{name}","version":"{version}",'


def field_text(path: str, offset: int | str, length: int | str, mask: int, value: str, words: str) -> str:
    """Return the object of a leaf; its value, and its value in words, are JSON."""
    return "".join(field_parts(path, offset, length, mask, value_text(value, words)))


def value_text(value: str, words: str) -> str:
    """Return what says the value of a field."""
    return f'{value},"text":{words}'


def field_parts(path: str, offset: int | str, length: int | str, mask: int, value: str) -> tuple[str, str, str]:
    """Return the parts of a field, of which what says its value is one."""
    masked = f',"mask":{mask}' if mask else ""
    return f'{{"path":"{path}","offset":{offset},"length":{length}{masked},"value":', value, "}"


def property_text(id: int, name: str, value: str, offset: int | str, length: int | str) -> str:
    """Return the object of a property, whose value is JSON."""
    return f'{{"id":{id},"name":"{name}","value":{value},"offset":{offset},"length":{length}}}'


def list_text(name: str, content: str) -> str:
    """Return the member for a property list or a payload, with a comma in front."""
    return "".join(list_parts(name, content))


def list_parts(name: str, content: str) -> tuple[str, str]:
    """Return the parts of the same."""
    return f',"{name}":', content


def hex_text(digits: str) -> str:
    """Return the object for bytes that are in hex already."""
    return f'{{"hex":"{digits}"}}'


def words_text(node: Node, decoded: Decoded, *, secrets: bool = False) -> str:
    """Return the value of a leaf in words, as JSON; of bytes only what they appear to be."""
    about = describe(node, decoded, secrets=secrets)
    words = about.head if isinstance(node.value, bytes) else about.inline
    return dumps("".join(text for text, _ in words or (segment for _, line in about.below for segment in line)))


def size_text(size: int) -> str:
    """Return a number of bytes in words, as JSON."""
    return f'"{_size(size, "")}"'


def blob_text(content: bytes) -> str:
    """Return what bytes appear to be in words, as JSON."""
    return f'"{blob_words(classify(content).kind, len(content))}"'


_size = notation("length")


class StringTexts(BoundedMemo[bytes, tuple[str, str]]):
    """The JSON of strings by their bytes, made on first use: the value, and the value in words.

    At most `MOST_KEPT` are kept, of at most `LONGEST_KEPT` bytes each.
    """

    def __init__(self) -> None:
        super().__init__(MOST_KEPT)

    def __missing__(self, content: bytes) -> tuple[str, str]:
        made = _string(content)
        if len(content) <= LONGEST_KEPT:
            self.keep(content, made)
        return made


def _string(content: bytes) -> tuple[str, str]:
    text = content.decode("utf-8", "surrogateescape")
    if text.isprintable() and '"' not in text and "\\" not in text:
        # Nearly all strings are like this. `describe` takes four times as long for the same words.
        value = dumps(text)
        return value, f'"\\"{value[1:-1]}\\"  {_size(len(content), "")}"'
    node = Node("", Span(0, len(content)), text, kind="text")
    return _string_value(text), words_text(node, Decoded(content, node, V5, type=None))


def _string_value(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return hex_text(text.encode("utf-8", "surrogateescape").hex())
    return dumps(text)


def payload_texts(content: bytes, payloads: "PayloadFormat | None") -> tuple[str, str]:
    """Return what a payload appears to be, in words, and its member: JSON or text if that is lossless, else base64.

    In the format that `payloads` names, its value is beside its text or bytes.
    """
    if payloads is None and (json := plain_object(content)):
        return _json_texts(json, len(content))
    return _other_texts(content, payloads)


def all_payload_texts(contents: Sequence[bytes], payloads: "PayloadFormat | None") -> list[tuple[str, str]]:
    """Return what `payload_texts` does for each of many payloads."""
    if payloads is not None:
        return [_other_texts(content, payloads) for content in contents]
    return [
        (_plain_words(len(content)), f'{{"json":{json}}}') if json else _other_texts(content, None)
        for json, content in zip(plain_objects(contents), contents, strict=True)
    ]


def _json_texts(json: str, size: int) -> tuple[str, str]:
    return f'"{blob_words("json", size)}"', f'{{"json":{json}}}'


@lru_cache(LONGEST_PLAIN)
def _plain_words(size: int) -> str:
    return _json_texts("", size)[0]


def _other_texts(content: bytes, payloads: "PayloadFormat | None") -> tuple[str, str]:
    value: Any = None
    if payloads is None:
        kind, text, value = classify_with_value(content)
    else:
        kind, text = classify(content)
    if value is not None:
        return _json_texts(dumps(value), len(content))
    is_binary = kind == "binary"
    name, shown = ("base64", b2a_base64(content, newline=False).decode("ascii")) if is_binary else ("text", text)
    more = payloads.members(content) if payloads else None
    # A dictionary takes 0.5 us longer than a string.
    member = dumps({name: shown} | more) if more else f'{{"{name}":{dumps(shown)}}}'
    return f'"{blob_words(kind, len(content))}"', member
