"""Format strings with the letters of mosquitto_sub's -F.

    %%  percent sign          %m  Packet Identifier             %r  RETAIN
    %A  Topic Alias           %P  User Properties, k:v k:v      %S  Subscription Identifier
    %C  Content Type          %p  payload                       %t  Topic Name
    %D  Correlation Data      %d  payload as 8-byte double      %U  seconds since 1970, with nanoseconds
    %E  Message Expiry        %f  payload as 4-byte float       %x  payload in hex, lower case
    %F  Payload Format        %l  length of the payload         %X  payload in hex, upper case
    %I  date and time         %q  QoS                           %j  JSON, payload as text
    %R  Response Topic                                          %J  JSON, payload as JSON

Between the percent sign and the letter stand an optional `-` (left-aligned), `0` (padded with zeros), a width and a
precision, as in C. The precision of %x and %X is the number of digits of a group, and a separator may follow it:
`%.2:x` is 00:ff, `%.2x` is 00 ff. `@X` is `%X` of strftime in local time, `@N` the nanoseconds, `@@` an at sign;
backslash escapes are those of C and `\\e`.
"""

import json
import re
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ...common.errors import UserError
from ...common.strict_json import integer
from ...common.times import SECOND_NS
from ...live.receive import ReceivedMessage
from ...payload.values import binary
from ...spec.properties import (
    CONTENT_TYPE,
    CORRELATION_DATA,
    MESSAGE_EXPIRY_INTERVAL,
    PAYLOAD_FORMAT_INDICATOR,
    PROPERTIES,
    RESPONSE_TOPIC,
    SUBSCRIPTION_IDENTIFIER,
    TOPIC_ALIAS,
    USER_PROPERTY,
    PropertyRow,
    value_of,
)

Piece = Callable[[ReceivedMessage], bytes]
Shown = Callable[[bytes], bytes]
"""Makes text of a peer fit for where it is written, such as a terminal."""

_SPEC = re.compile(r"(-?)(0?)(\d*)(?:\.(\d*))?([!\"#$&'()*+,\-./:;<=>?@\[\\\]^_`{|}~ ])?(.?)", re.DOTALL)
_ESCAPES = {"\\": "\\", "0": "\0", "a": "\a", "e": "\x1b", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
MOST_WIDTH = 10_000
"""Largest width and precision, as in mosquitto_sub."""


class FormatError(UserError):
    """A format string that cannot be used; the message is that of mosquitto_sub."""


class _Spec(NamedTuple):
    """What stands between the percent sign and the letter."""

    left: bool
    zero: bool
    width: int
    precision: int | None
    separator: str


def as_it_is(data: bytes) -> bytes:
    """Return bytes unchanged."""
    return data


class FormatString:
    """Writes messages by a format string; raises FormatError for one that cannot be used.

    `shown` is applied to what came from the peer as text or bytes. `pretty` spreads JSON over several lines. `cuts`
    makes a width the largest number of bytes of a payload too, as in mosquitto_sub; otherwise none is left out.
    """

    def __init__(self, text: str, *, shown: Shown = as_it_is, pretty: bool = False, cuts: bool = False) -> None:
        self._shown = shown
        self._cuts = cuts
        self._indent = 4 if pretty else None
        self._pieces = list(self._parsed(text))

    def write(self, message: ReceivedMessage) -> bytes:
        """Return the bytes for a message, without an end of line."""
        return b"".join([piece(message) for piece in self._pieces])

    def _parsed(self, text: str) -> list[Piece]:
        pieces: list[Piece] = []
        at = 0
        while at < len(text):
            character = text[at]
            if character == "%":
                found = _SPEC.match(text, at + 1)
                assert found
                pieces.append(self._conversion(found))
                at = found.end()
                continue
            if character in "@\\":
                if at + 1 == len(text):
                    raise FormatError(f"Incomplete {'format' if character == '@' else 'escape'} specifier.")
                pieces.append((_moment if character == "@" else _escaped)(text[at + 1]))
                at += 2
                continue
            pieces.append(_constant(character.encode("utf-8", "surrogateescape")))
            at += 1
        return pieces

    def _conversion(self, found: re.Match[str]) -> Piece:
        left, zero, width, precision, separator, letter = found.groups(default="")
        if not letter:
            raise FormatError("Incomplete format specifier.")
        spec = _Spec(
            bool(left), bool(zero), _number(width), None if found[4] is None else _number(precision), separator
        )
        if letter == "%":
            return _constant(b"%")
        if make := _CONVERSIONS.get(letter):
            return make(self, spec)
        raise FormatError(f"Invalid format specifier '{letter}'.")

    # conversions

    def _integer_of(self, row: PropertyRow) -> Callable[[_Spec], Piece]:
        def make(spec: _Spec) -> Piece:
            return lambda message: _given(value_of(message.properties, row), spec, lambda value: _integer(value, spec))

        return make

    def _text_of(self, row: PropertyRow) -> Callable[[_Spec], Piece]:
        def make(spec: _Spec) -> Piece:
            return lambda message: _given(
                value_of(message.properties, row), spec, lambda value: _text(self._shown(_bytes(value)), spec)
            )

        return make

    def _correlation(self, spec: _Spec) -> Piece:
        return lambda message: self._shown(value_of(message.properties, CORRELATION_DATA, b""))

    def _response_topic(self, spec: _Spec) -> Piece:
        write = self._text_of(RESPONSE_TOPIC)(spec)
        # The only one of which mosquitto_sub fills no width where it is missing.
        return lambda message: b"" if value_of(message.properties, RESPONSE_TOPIC) is None else write(message)

    def _payload(self, spec: _Spec) -> Piece:
        def piece(message: ReceivedMessage) -> bytes:
            data = self._cut(message.payload, spec)
            return _padded(self._shown(data), spec.width - len(data), spec)

        return piece

    def _hex(self, spec: _Spec, *, upper: bool = False) -> Piece:
        def piece(message: ReceivedMessage) -> bytes:
            data = self._cut(message.payload, spec)
            digits = data.hex().upper() if upper else data.hex()
            missing = spec.width - len(digits)
            # The padding on the left belongs to the groups, as in mosquitto_sub; the width counts no separators.
            cells = digits if spec.left else _padded(digits.encode(), missing, spec).decode()
            if size := spec.precision:
                cells = (spec.separator or " ").join(cells[at : at + size] for at in range(0, len(cells), size))
            return _padded(cells.encode(), missing, spec) if spec.left else cells.encode()

        return piece

    def _cut(self, payload: bytes, spec: _Spec) -> bytes:
        return payload[: spec.width] if self._cuts and spec.width else payload

    def _user_properties(self, spec: _Spec) -> Piece:
        def piece(message: ReceivedMessage) -> bytes:
            pairs = [value for id, value in message.properties if id == USER_PROPERTY.id]
            return self._shown(" ".join(f"{name}:{value}" for name, value in pairs).encode("utf-8", "surrogateescape"))

        return piece

    def _json(self, spec: _Spec, *, parses: bool = False) -> Piece:
        def written(message: ReceivedMessage, parses: bool) -> bytes:
            record = mosquitto_record(message, parses=parses)
            separators = None if self._indent else (",", ":")
            return json.dumps(record, indent=self._indent, separators=separators, allow_nan=False).encode()

        def piece(message: ReceivedMessage) -> bytes:
            try:
                return written(message, parses)
            except (ValueError, RecursionError):
                # Nested too deeply, or a number that JSON lacks: Python reads both.
                return written(message, False)

        return piece


def _number(digits: str) -> int:
    number = int(digits or 0)
    if number > MOST_WIDTH:
        raise FormatError(f"Invalid width or precision {number}, it must be at most {MOST_WIDTH}.")
    return number


def _constant(data: bytes) -> Piece:
    return lambda message: data


def _escaped(letter: str) -> Piece:
    if letter not in _ESCAPES:
        raise FormatError(f"Invalid escape specifier '{letter}'.")
    return _constant(_ESCAPES[letter].encode())


def _moment(letter: str) -> Piece:
    if letter == "@":
        return _constant(b"@")
    if letter == "N":
        return lambda message: b"%09d" % (message.time_ns % SECOND_NS)
    return lambda message: time.strftime(f"%{letter}", time.localtime(message.time_ns // SECOND_NS)).encode()


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")


def _given(value: Any, spec: _Spec, write: Callable[[Any], bytes]) -> bytes:
    return _padded(b"", spec.width, spec._replace(left=False)) if value is None else write(value)


def _integer(value: int, spec: _Spec) -> bytes:
    digits = str(value)
    if spec.left:
        return digits.ljust(spec.width).encode()
    return digits.rjust(spec.width, "0" if spec.zero else " ").encode()


def _text(data: bytes, spec: _Spec) -> bytes:
    cut = data if spec.precision is None else data[: spec.precision]
    return cut.ljust(spec.width) if spec.left else cut.rjust(spec.width)


def _padded(data: bytes, missing: int, spec: _Spec) -> bytes:
    if spec.left:
        return data + b" " * missing
    return (b"0" if spec.zero else b" ") * missing + data


def _floating(layout: str) -> Callable[[FormatString, _Spec], Piece]:
    size = struct.calcsize(layout)

    def make(form: FormatString, spec: _Spec) -> Piece:
        def piece(message: ReceivedMessage) -> bytes:
            if len(message.payload) != size:
                return b""
            digits = f"{struct.unpack(layout, message.payload)[0]:.{6 if spec.precision is None else spec.precision}f}"
            return (digits.ljust if spec.left else digits.rjust)(
                spec.width, *("0",) * (spec.zero and not spec.left)
            ).encode()

        return piece

    return make


def _date(spec: _Spec) -> Piece:
    def piece(message: ReceivedMessage) -> bytes:
        return _text(time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(message.time_ns // SECOND_NS)).encode(), spec)

    return piece


def _counting(value: Callable[[ReceivedMessage], int]) -> Callable[[FormatString, _Spec], Piece]:
    return lambda form, spec: lambda message: _integer(value(message), spec)


_CONVERSIONS: dict[str, Callable[[FormatString, _Spec], Piece]] = {
    "A": lambda form, spec: form._integer_of(TOPIC_ALIAS)(spec),
    "C": lambda form, spec: form._text_of(CONTENT_TYPE)(spec),
    "D": FormatString._correlation,
    "d": _floating("=d"),
    "E": lambda form, spec: form._integer_of(MESSAGE_EXPIRY_INTERVAL)(spec),
    "F": lambda form, spec: form._integer_of(PAYLOAD_FORMAT_INDICATOR)(spec),
    "f": _floating("=f"),
    "I": lambda form, spec: _date(spec),
    "J": lambda form, spec: form._json(spec, parses=True),
    "j": FormatString._json,
    "l": _counting(lambda message: len(message.payload)),
    "m": _counting(lambda message: message.packet_id or 0),
    "P": FormatString._user_properties,
    "p": FormatString._payload,
    "q": lambda form, spec: lambda message: b"%d" % message.qos,
    "R": FormatString._response_topic,
    "r": lambda form, spec: lambda message: b"%d" % message.retain,
    "S": lambda form, spec: form._integer_of(SUBSCRIPTION_IDENTIFIER)(spec),
    "t": lambda form, spec: lambda message: _text(form._shown(_bytes(message.topic)), spec),
    "U": lambda form, spec: lambda message: b"%d.%09d" % divmod(message.time_ns, SECOND_NS),
    "X": lambda form, spec: form._hex(spec, upper=True),
    "x": FormatString._hex,
}  # fmt: skip


def mosquitto_record(message: ReceivedMessage, *, parses: bool = False) -> dict[str, Any]:
    """Return a message with the keys of mosquitto_sub's JSON; `parses` reads the payload as JSON.

    A payload that is not UTF-8, which mosquitto_sub loses, is `{"base64": ...}`; one that is not JSON is text.
    """
    seconds, nanoseconds = divmod(message.time_ns, SECOND_NS)
    local = time.localtime(seconds)
    record: dict[str, Any] = {
        # The Z before the offset is mosquitto_sub's.
        "tst": time.strftime(f"%Y-%m-%dT%H:%M:%S.{nanoseconds // 1000:06d}Z%z", local),
        "topic": message.topic, "qos": message.qos, "retain": int(message.retain),
        "payloadlen": len(message.payload),
    }  # fmt: skip
    if message.qos:
        record["mid"] = message.packet_id
    if message.properties:
        record["properties"] = _properties(message)
    record["payload"] = _read(message.payload, parses=parses)
    return record


def _properties(message: ReceivedMessage) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for id, value in message.properties:
        name = PROPERTIES[id].key.replace("_", "-")
        if id == USER_PROPERTY.id:
            made.setdefault("user-properties", []).append({value[0]: value[1]})
        else:
            made[name] = _plain(value)
    return made


def _plain(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return binary(value)


def _read(payload: bytes, *, parses: bool) -> Any:
    if parses:
        try:
            return json.loads(payload, parse_int=integer) if payload else None
        except ValueError:
            return _plain(payload)
    return _plain(payload)
