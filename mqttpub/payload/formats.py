"""Payload formats: what people write, as the bytes that are sent."""

import os
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from ..common.strict_json import check_json, parse_json, utf8
from ..wire.types import MAX_VARIABLE

Converter = Callable[[bytes], bytes]
"""Bytes as given to bytes as sent; raises ValueError with the place of what is wrong."""

MODULES = {"cbor": "cbor2", "msgpack": "msgpack"}
"""Libraries of the formats that need one but no schema."""

_SIZE = r"([0-9]+(?:\.[0-9]+)?)([BKMG]?)B?"
_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class MissingLibrary(ValueError):
    """A format whose library is not installed."""


def library(format: str, package: str, module: str = "") -> Any:
    """Return the module of a package that a format needs; raises MissingLibrary."""
    try:
        return import_module(module or package)
    except ImportError:
        raise MissingLibrary(f"format {format} needs {package}: pip install 'mqttpub[formats]'") from None


def converter(format: str, convert: Converter) -> Converter:
    """Return a converter whose errors begin with the name of the format."""

    def named(data: bytes) -> bytes:
        try:
            return convert(data)
        except MissingLibrary:
            raise
        except RecursionError:
            raise ValueError(f"{format}: the JSON is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"{format}: {error}") from None

    return named


# text


def _binary(data: bytes) -> bytes:
    return data


def _text(data: bytes) -> bytes:
    utf8(data)
    return data


def _hex(data: bytes) -> bytes:
    digits = data.strip()
    if digits.isalnum():  # no blanks, so that it is no dump with offsets
        try:
            return bytes.fromhex(digits.decode("ascii"))
        except ValueError:
            return _written(data, "hex")
    return _written(data, "hex")


def _written(data: bytes, form: str) -> bytes:
    from ..capture.text.parse import read_bytes

    return b"".join(piece.data for piece in read_bytes(data, form)) if data.strip() else b""


# JSON


def _json(data: bytes) -> bytes:
    """Return JSON as it is; numbers are checked as text, since any length of theirs is JSON."""
    check_json(data)
    return data


# other writings of JSON


def _packed(format: str, function: str, data: bytes) -> bytes:
    dumps: Callable[[Any], bytes] = getattr(library(format, MODULES[format]), function)
    value = parse_json(data)
    try:
        return dumps(value)
    except tuple(_SAID) as error:
        said = next(words for kind, words in _SAID.items() if isinstance(error, kind))
        raise ValueError(f"{_culprit(value, dumps)}: {said or error}") from None


_SAID: dict[type[Exception], str] = {
    UnicodeEncodeError: "a lone surrogate cannot be written as UTF-8",
    OverflowError: "the number does not fit 64 bits",
    ValueError: "",
}


def _culprit(value: Any, dumps: Callable[[Any], bytes], path: str = "$") -> str:
    """Return the path of the innermost value that cannot be written."""
    for step, child in _children(value):
        try:
            dumps(child)
        except tuple(_SAID):
            return _culprit(child, dumps, path + step)
    return path


def _children(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f".{key}", child) for key, child in value.items()]
    return [(f"[{at}]", child) for at, child in enumerate(value)] if isinstance(value, list) else []


_CONVERTERS: dict[str, Converter] = {
    "text": _text,
    "json": _json,
    "hex": _hex,
    "base64": partial(_written, form="base64"),
    "binary": _binary,
    "raw": _binary,
    "cbor": partial(_packed, "cbor", "dumps"),
    "msgpack": partial(_packed, "msgpack", "packb"),
}
FORMATS: dict[str, Converter] = {name: converter(name, convert) for name, convert in _CONVERTERS.items()}
"""Formats that need nothing but the data."""


def protobuf(path: str, message_name: str | None = None) -> Converter:
    """Return the converter of JSON to a message of a .proto file; raises ValueError and OSError."""
    from .protobuf import Protobuf

    return converter("protobuf", Protobuf(path, message_name).convert)


def avro(path: str) -> Converter:
    """Return the converter of JSON to the Avro binary body of an .avsc file; raises ValueError and OSError."""
    from .avro import Avro

    return converter("avro", Avro(path).convert)


# random payloads


def payload_size(text: str) -> int:
    """Return the bytes that a size such as 512, 1.5K or 2MB stands for; raises ValueError."""
    found = re.fullmatch(_SIZE, text, re.ASCII)
    if not found:
        raise ValueError(f"'{text}' is not a size, such as 512, 1.5K or 2MB")
    size = float(found[1]) * _UNITS[found[2]]
    if size > MAX_VARIABLE:
        raise ValueError(f"{text} is more than the {MAX_VARIABLE} bytes that a packet can have")
    return int(size)


def random_payload(size_text: str) -> bytes:
    """Return random bytes, as many as a size says; raises ValueError."""
    return os.urandom(payload_size(size_text))
