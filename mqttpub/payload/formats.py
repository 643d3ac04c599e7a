"""The formats of payloads: each converts what the user typed to the bytes that are sent."""

import os
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ..common.strict_json import check_json, parse_json, utf8
from ..wire.types import MAX_VARIABLE
from .library import MissingLibrary, library

Converter = Callable[[bytes], bytes]
"""Converts the bytes that the user gave to those that are sent; raises ValueError that names the faulty part."""

MODULES = {"cbor": "cbor2", "msgpack": "msgpack"}
"""Packages that formats without a schema need."""

_SIZE = r"([0-9]+(?:\.[0-9]+)?)([BKMG]?)B?"
_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def converter(format: str, convert: Converter) -> Converter:
    """Return the converter with the name of the format in front of its errors, but for a missing library."""

    def named(data: bytes) -> bytes:
        try:
            return convert(data)
        except MissingLibrary:
            raise
        except RecursionError:
            raise ValueError(f"{format}: the JSON is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"{format}: {placed(error, data)}") from None

    return named


def placed(error: ValueError, data: bytes) -> str:
    """Return the words of an error; its place in a single line is a column, since callers name lines of their own."""
    column = getattr(error, "column", None)
    message = getattr(error, "message", "")
    return str(error) if column is None or b"\n" in data.rstrip() else f"column {column}: {message}"


# text


def _binary(data: bytes) -> bytes:
    return data


def _text(data: bytes) -> bytes:
    utf8(data)
    return data


def _hex(data: bytes) -> bytes:
    digits = data.strip()
    # Digits without blanks are not a dump with offsets, so the quick way is right.
    if digits.isalnum():
        try:
            return bytes.fromhex(digits.decode("ascii"))
        except ValueError:
            return _from_text(data, "hex")
    return _from_text(data, "hex")


def _from_text(data: bytes, form: str) -> bytes:
    from ..capture.text.parse import read_bytes

    return b"".join(piece.data for piece in read_bytes(data, form)) if data.strip() else b""


# JSON


def _json(data: bytes) -> bytes:
    """Return JSON unchanged; raises ValueError for text that is not JSON."""
    check_json(data)
    return data


# JSON in binary formats


def _packed(format: str, function: str, data: bytes) -> bytes:
    dumps: Callable[[Any], bytes] = getattr(library(format, MODULES[format]), function)
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


_CONVERTERS: dict[str, Converter] = {
    "text": _text,
    "json": _json,
    "hex": _hex,
    "base64": partial(_from_text, form="base64"),
    "binary": _binary,
    "raw": _binary,
    "cbor": partial(_packed, "cbor", "dumps"),
    "msgpack": partial(_packed, "msgpack", "packb"),
}
FORMATS: dict[str, Converter] = {name: converter(name, convert) for name, convert in _CONVERTERS.items()}
"""Formats that need no schema."""


def protobuf(path: str, message_name: str | None = None) -> Converter:
    """Return the converter of JSON to a message of a .proto file; raises ValueError for an unusable file."""
    from .protobuf import Protobuf

    return converter("protobuf", Protobuf(path, message_name).convert)


def avro(path: str) -> Converter:
    """Return the converter of JSON to the Avro binary body of an .avsc file; raises ValueError for an unusable file."""
    from .avro import Avro

    return converter("avro", Avro(path).convert)


# random payloads


def payload_size(text: str) -> int:
    """Return the number of bytes that a size such as 512, 1.5K or 2MB names; K is 1024.

    Raises ValueError for text that is not a size, and for more than a packet can carry.
    """
    found = re.fullmatch(_SIZE, text, re.ASCII)
    if not found:
        raise ValueError(f"'{text}' is not a size, such as 512, 1.5K or 2MB")
    size = float(found[1]) * _UNITS[found[2]]
    if size > MAX_VARIABLE:
        raise ValueError(f"{text} is more than the {MAX_VARIABLE} bytes that a packet can have")
    return int(size)


def random_payload(size_text: str) -> bytes:
    """Return as many random bytes as `size_text` says; raises ValueError as `payload_size` does."""
    return os.urandom(payload_size(size_text))
