"""The 27 properties of MQTT 5.0 (5.0: 2.2.2.2).

A new property is one more row here: decoders, encoder, flags, help, `explain`, JSON and columns follow from it.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..wire.types import BINARY, BYTE, PAIR, STRING, U16, U32, VARIABLE, WireType
from .constraints import Constraint, NoNull, NonZero, NotEmpty, NoWildcards, OneOf, StatementRef, valid

WILL = "WILL"
"""Stands for the will of CONNECT among the names of packets."""


class PropertyRow(NamedTuple):
    """One property: its identifier, name and type, and the packets that may carry it."""

    id: int
    label: str
    type: WireType
    packets: frozenset[str]
    """Names of the packets that may carry it; WILL for the will of CONNECT."""
    doc: str
    limits: tuple[Constraint, ...] = ()
    unit: str = ""
    names: dict[int, str] | None = None
    repeatable: frozenset[str] = frozenset()
    """Names of the packets in which it may be repeated."""
    secret: bool = False
    section: str = ""
    """Section of 5.0 that describes it, for the first packet that carries it."""

    @property
    def key(self) -> str:
        """Name in Python, JSON and, with dashes, on the command line."""
        return self.label.lower().replace(" ", "_")


_FLAG = (OneOf(StatementRef("2.2.2.2/range"), (0, 1)),)
_COUNT = (NonZero(StatementRef("2.2.2.2/zero")),)
_YES_NO = {0: "no", 1: "yes"}
_ACKS = "CONNACK PUBACK PUBREC PUBREL PUBCOMP SUBACK UNSUBACK DISCONNECT AUTH"
_ALL = f"CONNECT {WILL} PUBLISH SUBSCRIBE UNSUBSCRIBE {_ACKS}"


_ROWS: list[PropertyRow] = []


def _row(id: int, label: str, type: WireType, packets: str, section: str, doc: str, **more: Any) -> PropertyRow:
    repeatable = frozenset(more.pop("repeatable", "").split())
    row = PropertyRow(id, label, type, frozenset(packets.split()), doc, repeatable=repeatable, section=section, **more)
    _ROWS.append(row)
    return row


# fmt: off
PAYLOAD_FORMAT_INDICATOR = _row(
    0x01, "Payload Format Indicator", BYTE, f"PUBLISH {WILL}", "3.3.2.3.2",
    "whether the payload is UTF-8 text", limits=_FLAG, names={0: "bytes", 1: "UTF-8 text"},
)
MESSAGE_EXPIRY_INTERVAL = _row(
    0x02, "Message Expiry Interval", U32, f"PUBLISH {WILL}", "3.3.2.3.3",
    "lifetime of the message", unit="s",
)
CONTENT_TYPE = _row(
    0x03, "Content Type", STRING, f"PUBLISH {WILL}", "3.3.2.3.9",
    "what the payload is, such as a MIME type", limits=valid("3.3.2-19"),
)
RESPONSE_TOPIC = _row(
    0x08, "Response Topic", STRING, f"PUBLISH {WILL}", "3.3.2.3.5",
    "where the answer should go; makes the message a request",
    limits=(
        *valid("3.3.2-13"), NotEmpty(StatementRef("4.7.3-1")), NoWildcards(StatementRef("3.3.2-14")),
        NoNull(StatementRef("4.7.3-2")),
    ),
)
CORRELATION_DATA = _row(
    0x09, "Correlation Data", BINARY, f"PUBLISH {WILL}", "3.3.2.3.6",
    "lets the requester match an answer to its request",
)
SUBSCRIPTION_IDENTIFIER = _row(
    0x0B, "Subscription Identifier", VARIABLE, "PUBLISH SUBSCRIBE", "3.3.2.3.8",
    "which subscriptions a message matched", limits=_COUNT, repeatable="PUBLISH",
)
SESSION_EXPIRY_INTERVAL = _row(
    0x11, "Session Expiry Interval", U32, "CONNECT CONNACK DISCONNECT", "3.1.2.11.2",
    "how long the session is kept after the connection closes", unit="s",
    names={0xFFFFFFFF: "never expires"},
)
ASSIGNED_CLIENT_IDENTIFIER = _row(
    0x12, "Assigned Client Identifier", STRING, "CONNACK", "3.2.2.3.7",
    "the identifier the server gave the client",
)
SERVER_KEEP_ALIVE = _row(
    0x13, "Server Keep Alive", U16, "CONNACK", "3.2.2.3.14",
    "Keep Alive that replaces the client's", unit="s",
)
AUTHENTICATION_METHOD = _row(
    0x15, "Authentication Method", STRING, "CONNECT CONNACK AUTH", "3.1.2.11.9",
    "name of the extended authentication method",
)
AUTHENTICATION_DATA = _row(
    0x16, "Authentication Data", BINARY, "CONNECT CONNACK AUTH", "3.1.2.11.10",
    "data of the authentication method", secret=True,
)
REQUEST_PROBLEM_INFORMATION = _row(
    0x17, "Request Problem Information", BYTE, "CONNECT", "3.1.2.11.7",
    "whether Reason String and User Property may be sent on failures", limits=_FLAG, names=_YES_NO,
)
WILL_DELAY_INTERVAL = _row(
    0x18, "Will Delay Interval", U32, WILL, "3.1.3.2.2",
    "how long the server waits before it publishes the will", unit="s",
)
REQUEST_RESPONSE_INFORMATION = _row(
    0x19, "Request Response Information", BYTE, "CONNECT", "3.1.2.11.6",
    "whether the server should return Response Information", limits=_FLAG, names=_YES_NO,
)
RESPONSE_INFORMATION = _row(
    0x1A, "Response Information", STRING, "CONNACK", "3.2.2.3.15",
    "basis for the client's Response Topics",
)
SERVER_REFERENCE = _row(
    0x1C, "Server Reference", STRING, "CONNACK DISCONNECT", "3.2.2.3.16",
    "another server to use",
)
REASON_STRING = _row(0x1F, "Reason String", STRING, _ACKS, "3.4.2.2.2", "the reason in words, for people")
RECEIVE_MAXIMUM = _row(
    0x21, "Receive Maximum", U16, "CONNECT CONNACK", "3.1.2.11.3",
    "how many QoS 1 and 2 messages may be unacknowledged", limits=_COUNT,
)
TOPIC_ALIAS_MAXIMUM = _row(
    0x22, "Topic Alias Maximum", U16, "CONNECT CONNACK", "3.1.2.11.5",
    "highest Topic Alias that the sender accepts",
)
TOPIC_ALIAS = _row(
    0x23, "Topic Alias", U16, "PUBLISH", "3.3.2.3.4",
    "a number in place of the Topic Name",
    limits=(NonZero(StatementRef("3.3.2-8")),),
)
MAXIMUM_QOS = _row(
    0x24, "Maximum QoS", BYTE, "CONNACK", "3.2.2.3.4",
    "highest QoS that the server accepts; QoS 2 when absent", limits=_FLAG,
    names={0: "at most once", 1: "at least once"},
)
RETAIN_AVAILABLE = _row(
    0x25, "Retain Available", BYTE, "CONNACK", "3.2.2.3.5",
    "whether the server keeps retained messages", limits=_FLAG, names=_YES_NO,
)
USER_PROPERTY = _row(
    0x26, "User Property", PAIR, _ALL, "3.3.2.3.7",
    "a name and a value of the application", limits=valid("1.5.7-1"), repeatable=_ALL,
)
MAXIMUM_PACKET_SIZE = _row(
    0x27, "Maximum Packet Size", U32, "CONNECT CONNACK", "3.1.2.11.4",
    "largest packet that the sender accepts", limits=_COUNT, unit="bytes",
)
WILDCARD_SUBSCRIPTION_AVAILABLE = _row(
    0x28, "Wildcard Subscription Available", BYTE, "CONNACK", "3.2.2.3.11",
    "whether filters may have wildcards", limits=_FLAG, names=_YES_NO,
)
SUBSCRIPTION_IDENTIFIER_AVAILABLE = _row(
    0x29, "Subscription Identifier Available", BYTE, "CONNACK", "3.2.2.3.12",
    "whether Subscription Identifiers are supported", limits=_FLAG, names=_YES_NO,
)
SHARED_SUBSCRIPTION_AVAILABLE = _row(
    0x2A, "Shared Subscription Available", BYTE, "CONNACK", "3.2.2.3.13",
    "whether shared subscriptions are supported", limits=_FLAG, names=_YES_NO,
)
# fmt: on

PROPERTIES: dict[int, PropertyRow] = {row.id: row for row in _ROWS}
"""Every property by its identifier."""

BY_KEY: dict[str, PropertyRow] = {row.key: row for row in _ROWS}
"""Every property by its name in Python."""


def of_packet(packet: str) -> tuple[PropertyRow, ...]:
    """Return the properties that a packet, by its name, or the WILL may carry (5.0: 2.2.2.2)."""
    return tuple(row for row in _ROWS if packet in row.packets)


def value_of(properties: Iterable[tuple[int, Any]] | None, row: PropertyRow, absent: Any = None) -> Any:
    """Return the value of the first property with the identifier of `row`; `absent` if there is none."""
    wanted = row.id
    for id, value in properties or ():
        if id == wanted:
            return value
    return absent
