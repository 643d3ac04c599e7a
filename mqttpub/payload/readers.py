"""The formats of payloads that arrive: each reads bytes of a peer as a JSON value, or raises ValueError.

text, json        what the bytes say
hex, base64       the bytes in digits
cbor, msgpack     as JSON: bytes are {"base64": ...}, a map in which a key occurs again is {"map": pairs}, and what else
                  JSON lacks is {"tag": ...}, {"simple": ...} or {"extension": ...}; keys are in diagnostic notation
protobuf, avro    as JSON, by a schema
sparkplug         as JSON: the fields of Sparkplug B that the specification names, and its metrics

A value has remarks on what it does not show.
"""

from base64 import b64encode
from collections.abc import Callable

from ..common.strict_json import parse_json, utf8
from .formats import MODULES, placed
from .items import read_cbor, read_msgpack
from .library import library
from .values import ReadPayload, Remarks, json_value

PayloadReader = Callable[[bytes], ReadPayload]
"""Reads a payload; raises ValueError that begins with the name of the format."""


def reader(format: str, read: PayloadReader) -> PayloadReader:
    """Return a reader with the name of the format in front of its errors."""

    def named(data: bytes) -> ReadPayload:
        try:
            return read(data)
        except RecursionError:
            raise ValueError(f"{format}: the value is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"{format}: {placed(error, data)}") from None

    return named


def _text(data: bytes) -> ReadPayload:
    return ReadPayload(utf8(data))


def _json(data: bytes) -> ReadPayload:
    return ReadPayload(parse_json(data))


def _hex(data: bytes) -> ReadPayload:
    return ReadPayload(data.hex())


def _base64(data: bytes) -> ReadPayload:
    return ReadPayload(b64encode(data).decode())


# formats with a schema


def _sparkplug() -> PayloadReader:
    from .sparkplug import SparkplugDecoder

    decoder = SparkplugDecoder()

    def read(data: bytes) -> ReadPayload:
        remarks = Remarks()
        payload = decoder.remarked(data, remarks)
        metrics = [json_value(each._asdict()) for each in payload.metrics]
        value = {"timestamp_ms": payload.timestamp_ms, "seq": payload.seq, "metrics": metrics}
        return ReadPayload(value, remarks.all())

    return reader("sparkplug", read)


def protobuf_reader(path: str, message_name: str | None = None) -> PayloadReader:
    """Return the reader of a message of a .proto file; raises ValueError for an unusable file."""
    from .protobuf import Protobuf

    return reader("protobuf", Protobuf(path, message_name).read)


def avro_reader(path: str) -> PayloadReader:
    """Return the reader of the Avro binary body of an .avsc file; raises ValueError for an unusable file."""
    from .avro import Avro

    return reader("avro", Avro(path).read)


def payload_reader(format: str) -> PayloadReader:
    """Return the reader of a format of READERS; raises MissingLibrary."""
    if format == "sparkplug":
        return _sparkplug()
    if format in MODULES:
        library(format, MODULES[format])  # now, so that a missing library is reported before anything arrives
    return reader(format, _READERS[format])


_READERS: dict[str, PayloadReader] = {
    "text": _text, "json": _json, "hex": _hex, "base64": _base64, "cbor": read_cbor, "msgpack": read_msgpack,
}  # fmt: skip
READERS = (*_READERS, "sparkplug")
"""Formats that need no schema."""
