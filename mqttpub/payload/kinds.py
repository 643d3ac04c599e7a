"""What kind of payload a message has, as far as its bytes and its topic tell."""

from typing import NamedTuple

from .json_schema import JsonSchemas, NotJsonText
from .library import MissingLibrary
from .sparkplug import STATE, SparkplugDecoder, sparkplug_topic
from .structure import is_cbor, is_msgpack

EMPTY, TEXT, BINARY, CBOR, MSGPACK = "empty", "text", "binary", "CBOR", "MessagePack"
JSON = "JSON "
"""Begins the kinds of JSON: `JSON object`, and likewise array, string, number, boolean and null."""
TOO_DEEP = "JSON, nested too deeply"
SPARKPLUG = "Sparkplug B"
MALFORMED = "Sparkplug B, malformed"
_LAYOUT = "\t\n\r"


class PayloadForm(NamedTuple):
    """The kind of a payload, and the schema of JSON."""

    kind: str
    schema: str = ""
    """For objects and arrays of JSON, the lines of `JsonSchema.text`."""
    repeated: bool = False
    """Whether an object of JSON has two members of one name."""
    cut: bool = False
    """Whether the schema leaves something out."""


class PayloadForms:
    """Tells the kinds of payloads; one for many messages, as it remembers schemas."""

    def __init__(self) -> None:
        self._schemas = JsonSchemas()
        self._sparkplug = sparkplug_decoder()

    def of(self, topic: str | None, payload: bytes) -> PayloadForm:
        """Return the form of a payload, the first that fits.

        Sparkplug B if the topic is in its namespace, and malformed if the bytes are not its message, empty, JSON by
        the type of the value, text (UTF-8 without control characters other than tab and line ends), CBOR and
        MessagePack (each a complete map or array with a text in it), binary. JSON that is nested more deeply than
        Python's stack allows is not looked into.
        """
        named = sparkplug_topic(topic or "")
        if named and named.type != STATE:
            whole = not self._sparkplug or self._sparkplug.decode(payload) is not None
            return PayloadForm(SPARKPLUG if whole else MALFORMED)
        if not payload:
            return PayloadForm(EMPTY)
        try:
            text = payload.decode()
        except UnicodeDecodeError:
            return PayloadForm(_binary(payload))
        try:
            schema = self._schemas.of(text)
        except NotJsonText:
            plain = text.isprintable() or all(each.isprintable() or each in _LAYOUT for each in text)
            return PayloadForm(TEXT if plain else _binary(payload))
        except RecursionError:
            return PayloadForm(TOO_DEEP)
        return PayloadForm(JSON + schema.type, schema.text(), schema.repeated, schema.cut)


def sparkplug_decoder() -> SparkplugDecoder | None:
    """Return a decoder; None without the package protobuf, so that only topics tell what is Sparkplug B."""
    try:
        return SparkplugDecoder()
    except MissingLibrary:
        return None


def _binary(payload: bytes) -> str:
    return CBOR if is_cbor(payload) else MSGPACK if is_msgpack(payload) else BINARY
