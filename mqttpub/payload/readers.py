"""The formats of payloads that arrive: each reads bytes of a peer as a JSON value, or raises ValueError.

text, json        what the bytes say
hex, base64       the bytes in digits
cbor, msgpack     as JSON: bytes are {"base64": ...}, and what JSON cannot say is text
protobuf, avro    as JSON, by a schema
sparkplug         as JSON: the fields of Sparkplug B that the specification names, and its metrics
"""

import math
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from typing import Any

from ..common.strict_json import parse_json, utf8
from ..common.words import counted
from .formats import MODULES, placed
from .library import library

PayloadReader = Callable[[bytes], Any]
"""Returns a payload as a JSON value; raises ValueError that begins with the name of the format."""

MOST_VALUES = 1_000_000
"""Values in one payload that are converted; formats with references can hold more than they have bytes."""


def reader(format: str, read: PayloadReader) -> PayloadReader:
    """Return a reader with the name of the format in front of its errors."""

    def named(data: bytes) -> Any:
        try:
            return read(data)
        except RecursionError:
            raise ValueError(f"{format}: the value is nested too deeply") from None
        except Exception as error:  # libraries of formats raise errors of many types for bytes of a peer
            said = placed(error, data) if isinstance(error, ValueError) else f"{error or type(error).__name__}"
            raise ValueError(f"{format}: {said}") from None

    return named


def binary(data: bytes) -> dict[str, str]:
    """Return bytes as the JSON value that `pub --jsonl` reads back as these bytes."""
    return {"base64": b64encode(data).decode()}


def _hex(data: bytes) -> str:
    return data.hex()


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


# binary formats without a schema


def _cbor(data: bytes) -> Any:
    decoder: Any = library("cbor", MODULES["cbor"]).CBORDecoder
    stream = BytesIO(data)
    value = decoder(stream).decode()
    if rest := len(data) - stream.tell():
        raise ValueError(f"{counted(rest, 'byte follows', 'bytes follow')} the value")
    return _JsonValues().of(value)


def _msgpack(data: bytes) -> Any:
    msgpack = library("msgpack", MODULES["msgpack"])
    try:
        value = msgpack.unpackb(data, strict_map_key=False, ext_hook=_extension, timestamp=3)
    except msgpack.StackError:
        raise ValueError("the value is nested too deeply") from None
    return _JsonValues().of(value)


def _extension(code: int, data: bytes) -> dict[str, Any]:
    return {"extension": code, **binary(data)}


class _JsonValues:
    """Converts the values of a format to those of JSON."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, value: Any) -> Any:
        self._count += 1
        if self._count > MOST_VALUES:
            raise ValueError(f"it has more than {MOST_VALUES} values")
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return binary(bytes(value))
        if isinstance(value, dict) or hasattr(value, "items"):
            return self._object(value)
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.of(each) for each in value]
        return self._other(value)

    def _object(self, value: Any) -> dict[str, Any]:
        made = {_key(key): self.of(each) for key, each in value.items()}
        if len(made) < len(value):
            raise ValueError("two keys of a map are the same in JSON")
        return made

    def _other(self, value: Any) -> Any:
        if hasattr(value, "isoformat"):
            return value.isoformat()
        if hasattr(value, "tag") and hasattr(value, "value"):
            return {"tag": value.tag, "value": self.of(value.value)}
        return str(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else binary(key)["base64"] if isinstance(key, bytes) else str(key)


# formats with a schema


def _sparkplug() -> PayloadReader:
    from .sparkplug import SparkplugDecoder

    decoder = SparkplugDecoder()

    def read(data: bytes) -> Any:
        payload = decoder.decode(data)
        if payload is None:
            raise ValueError("it is not a payload of Sparkplug B")
        metrics = [{key: _JsonValues().of(value) for key, value in each._asdict().items()} for each in payload.metrics]
        return {"timestamp_ms": payload.timestamp_ms, "seq": payload.seq, "metrics": metrics}

    return reader("sparkplug", read)


def protobuf_reader(path: str, message_name: str | None = None) -> PayloadReader:
    """Return the reader of a message of a .proto file; raises ValueError for an unusable file."""
    from .protobuf import Protobuf

    return reader("protobuf", Protobuf(path, message_name).read)


def avro_reader(path: str) -> PayloadReader:
    """Return the reader of the Avro binary body of an .avsc file; raises ValueError for an unusable file."""
    from .avro import Avro

    schema = Avro(path)
    return reader("avro", lambda data: _JsonValues().of(schema.read(data)))


def payload_reader(format: str) -> PayloadReader:
    """Return the reader of a format of READERS; raises MissingLibrary."""
    if format == "sparkplug":
        return _sparkplug()
    if format in MODULES:
        library(format, MODULES[format])  # now, so that a missing library is reported before anything arrives
    return reader(format, _READERS[format])


_READERS: dict[str, PayloadReader] = {
    "text": utf8, "json": parse_json, "hex": _hex, "base64": _base64, "cbor": _cbor, "msgpack": _msgpack,
}  # fmt: skip
READERS = (*_READERS, "sparkplug")
"""Formats that need no schema."""
