"""JSON in binary formats without a schema: CBOR and MessagePack."""

from collections.abc import Callable
from typing import Any

from ..common.strict_json import parse_json
from .items import read_cbor, read_msgpack
from .library import library
from .values import ReadPayload


class Cbor:
    """CBOR (RFC 8949); raises MissingLibrary."""

    def __init__(self) -> None:
        self._dumps = library("cbor", "cbor2").dumps

    def convert(self, data: bytes) -> bytes:
        """Return JSON as CBOR; raises ValueError with the JSONPath of a value that CBOR cannot hold."""
        return _packed(data, self._dumps)

    def read(self, data: bytes) -> ReadPayload:
        """Return the value as JSON; raises ValueError with the offset of what is wrong."""
        return read_cbor(data)


class MessagePack:
    """MessagePack; raises MissingLibrary."""

    def __init__(self) -> None:
        self._dumps = library("msgpack", "msgpack").packb

    def convert(self, data: bytes) -> bytes:
        """Return JSON as MessagePack; raises ValueError with the JSONPath of a value that it cannot hold."""
        return _packed(data, self._dumps)

    def read(self, data: bytes) -> ReadPayload:
        """Return the value as JSON; raises ValueError with the offset of what is wrong."""
        return read_msgpack(data)


def _packed(data: bytes, dumps: Callable[[Any], bytes]) -> bytes:
    value = parse_json(data)
    try:
        return dumps(value)
    except tuple(_MESSAGES) as error:
        message = next(words for kind, words in _MESSAGES.items() if isinstance(error, kind))
        raise ValueError(f"{_path_of_fault(value, dumps)}: {message or error}") from None


_MESSAGES: dict[type[Exception], str] = {
    UnicodeEncodeError: "a lone surrogate cannot be encoded as UTF-8",
    OverflowError: "the number does not fit 64 bits",
    ValueError: "",
}


def _path_of_fault(value: Any, dumps: Callable[[Any], bytes], path: str = "$") -> str:
    """Return the JSONPath of the innermost value that `dumps` refuses."""
    for step, child in _children(value):
        try:
            dumps(child)
        except tuple(_MESSAGES):
            return _path_of_fault(child, dumps, path + step)
    return path


def _children(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f".{key}", child) for key, child in value.items()]
    return [(f"[{at}]", child) for at, child in enumerate(value)] if isinstance(value, list) else []
