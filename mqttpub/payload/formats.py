"""The formats of payloads: a row for each, from which the flags, their helps and the completions follow.

A format converts what the user typed to the bytes that are sent, or reads the bytes of a peer as a JSON value with
remarks on what it does not show, or both. Its class is imported when the format is used.

text, json        what the bytes say
hex, base64       the bytes in digits
binary, raw       the bytes themselves, which are only sent
cbor, msgpack     as JSON: bytes are {"base64": ...}, a map in which a key occurs again is {"map": pairs}, and what else
                  JSON lacks is {"tag": ...}, {"simple": ...} or {"extension": ...}; keys are in diagnostic notation
sparkplug         as JSON: the fields of Sparkplug B that the specification names, and its metrics; only read
protobuf, avro    as JSON, by a schema
"""

import os
import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..wire.types import MAX_VARIABLE

if TYPE_CHECKING:
    from .values import ReadPayload

R = TypeVar("R")
Converter = Callable[[bytes], bytes]
"""Converts the bytes that the user gave to those that are sent; raises ValueError that names the faulty part."""
PayloadReader = Callable[[bytes], "ReadPayload"]
"""Reads a payload; raises ValueError that begins with the name of the format."""

_SIZE = r"([0-9]+(?:\.[0-9]+)?)([BKMG]?)B?"
_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Format(NamedTuple):
    """A format, and the class whose methods `convert` and `read` know its bytes; both raise ValueError."""

    name: str
    title: str
    """Its name in the dump."""
    module: str
    """The module of the class, relative to this package."""
    kind: str
    """The name of the class; to make an object raises MissingLibrary, and ValueError for an unusable schema."""
    is_sent: bool = True
    """Whether the class has `convert`."""
    is_read: bool = True
    """Whether the class has `read`."""
    takes_json: bool = False
    """Whether `convert` takes JSON and returns something else."""
    schema: tuple[str, ...] = ()
    """What an object is made of: the path of a schema, which is necessary, and what else may choose from it."""


FORMATS = {
    each.name: each
    for each in (
        Format("text", "text", ".plain", "Utf8Text"),
        Format("json", "JSON", ".plain", "Json"),
        Format("hex", "hex", ".plain", "Hex"),
        Format("base64", "base64", ".plain", "Base64"),
        Format("binary", "binary", ".plain", "AnyBytes", is_read=False),
        Format("raw", "raw", ".plain", "AnyBytes", is_read=False),
        Format("cbor", "CBOR", ".packed", "Cbor", takes_json=True),
        Format("msgpack", "MessagePack", ".packed", "MessagePack", takes_json=True),
        Format("sparkplug", "Sparkplug B", ".sparkplug", "SparkplugDecoder", is_sent=False),
        Format(
            "protobuf", "Protocol Buffers", ".protobuf", "Protobuf", takes_json=True,
            schema=("protobuf_path", "protobuf_message_name"),
        ),
        Format("avro", "Avro", ".avro", "Avro", takes_json=True, schema=("avsc_path",)),
    )
}  # fmt: skip


def converter(name: str, *schema: Any) -> Converter:
    """Return the converter of a format that is sent; raises ValueError for a missing library and an unusable schema.

    The name of the format stands in front of the errors of the converter.
    """
    return _named(name, _opened(name, schema).convert, "the JSON")


def payload_reader(name: str, *schema: Any) -> PayloadReader:
    """Return the reader of a format that is read; raises ValueError for a missing library and an unusable schema."""
    return _named(name, _opened(name, schema).read, "the value")


def _opened(name: str, schema: tuple[Any, ...]) -> Any:
    """Return an object of the class of a format, now, so that a missing library is known before anything passes."""
    format = FORMATS[name]
    return getattr(import_module(format.module, __package__), format.kind)(*schema)


def _named(name: str, call: Callable[[bytes], R], what: str) -> Callable[[bytes], R]:
    from .library import MissingLibrary

    def named(data: bytes) -> R:
        try:
            return call(data)
        except MissingLibrary:
            raise
        except RecursionError:
            raise ValueError(f"{name}: {what} is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"{name}: {_placed(error, data)}") from None

    return named


def _placed(error: ValueError, data: bytes) -> str:
    """Return the words of an error; its place in a single line is a column, since callers name lines of their own."""
    column = getattr(error, "column", None)
    message = getattr(error, "message", "")
    return str(error) if column is None or b"\n" in data.rstrip() else f"column {column}: {message}"


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
