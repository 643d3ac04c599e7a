"""`-D COMMAND PROPERTY VALUE [VALUE]` of the mosquitto clients."""

from collections import deque
from typing import Any

from ....spec.properties import BY_KEY, WILL, PropertyRow
from ....spec.versions import Version
from ....wire.types import BINARY, BYTE, PAIR, STRING, U16, WireType
from ...flags.properties_argument import Setting
from .numbers import leading_integer
from .settings import GrammarError, MosquittoSettings

SUPPORTED = ("CONNECT", "PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE", "DISCONNECT", WILL)
"""Packets that the clients send and whose properties can be set."""
KNOWN = (*SUPPORTED, "AUTH", "CONNACK", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBACK", "UNSUBACK")
"""Names that -D accepts; those of packets that are not sent with properties get another sentence."""
TOPS: dict[WireType, int] = {BYTE: 0xFF, U16: 0xFFFF}
U32_TOP = 0xFFFF_FFFF
LONGEST = 0xFFFF
TOO_FEW = "Error: --property argument given but not enough arguments specified."
DUPLICATE = "Duplicate property in property list"
PROTOCOL = "A network protocol error occurred when communicating with the broker."
NOT_ZERO = ("topic_alias", "receive_maximum", "maximum_packet_size")
ZERO_OR_ONE = ("request_problem_information", "request_response_information")


def take(settings: MosquittoSettings, rest: deque[str]) -> None:
    """Take the words of one -D; raises GrammarError."""
    settings.mqtt_version = Version.V5
    # The last word of a line is never looked at before all three are known to be there.
    if len(rest) < 3:
        raise GrammarError(TOO_FEW, gap=1)
    typed, name = rest.popleft(), rest.popleft()
    row = _row(typed, name)
    value = _value(row, name, rest)
    packet = typed.upper()
    # A client must not send the identifier of a subscription, though the table of properties allows it in PUBLISH.
    if packet not in SUPPORTED or (packet == "PUBLISH" and row.key == "subscription_identifier"):
        raise GrammarError(f"Error: {name} property not supported for {typed} in --property argument.", gap=1)
    settings.property.append(Setting(packet, row, value))


def _row(typed: str, name: str) -> PropertyRow:
    if typed.upper() not in KNOWN:
        raise GrammarError(f"Error: Invalid command {typed} given in --property argument.", gap=1)
    row = BY_KEY.get(name.lower().replace("-", "_"))
    if row is None:
        raise GrammarError(f"Error: Invalid property name {name} given in --property argument.", gap=1)
    if typed.upper() not in row.packets:
        raise GrammarError(f"Error: {name} property not allowed for {typed} in --property argument.", gap=1)
    return row


def _value(row: PropertyRow, name: str, rest: deque[str]) -> Any:
    if row.type is PAIR:
        if len(rest) < 2:
            raise GrammarError(TOO_FEW, gap=1)
        return _text(name, rest.popleft()), _text(name, rest.popleft())
    word = rest.popleft()
    if row.type is STRING:
        return _text(name, word)
    if row.type is BINARY:
        return _short(name, word.encode("utf-8", "surrogateescape"))
    number = leading_integer(word)
    if not 0 <= number <= TOPS.get(row.type, U32_TOP):
        raise GrammarError(f"Error: Property value ({number}) out of range for property {name}.", gap=1)
    return number


def _short(name: str, data: bytes) -> bytes:
    if len(data) > LONGEST:
        raise GrammarError(f"Error: Property value too long for property {name}.", gap=1)
    return data


def _text(name: str, word: str) -> str:
    _short(name, word.encode("utf-8", "surrogateescape"))
    try:
        word.encode()
    except UnicodeEncodeError:
        raise GrammarError(f"Error adding property {name} {18}", gap=1) from None
    return word


def check(settings: MosquittoSettings) -> None:
    """Raise GrammarError for properties that the client refuses to send."""
    seen: set[tuple[str, int]] = set()
    for packet, row, value in sorted(settings.property, key=lambda each: SUPPORTED.index(each.packet)):
        label = "Will" if packet == WILL else packet
        if (row.key in NOT_ZERO and not value) or (row.key in ZERO_OR_ONE and value > 1):
            raise GrammarError(f"Error in {label} properties: {PROTOCOL}")
        if (packet, row.id) in seen and packet not in row.repeatable:
            raise GrammarError(f"Error in {label} properties: {DUPLICATE}")
        seen.add((packet, row.id))
