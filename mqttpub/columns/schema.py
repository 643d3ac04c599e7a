"""The four tables: columns, types and meaning; columns of declared fields come from the tables of `spec`."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import pyarrow as pa

from ..spec.declare import Field, Group
from ..spec.packets import Connack, Connect, Publish, Subscription, Will
from ..spec.properties import TOPIC_ALIAS
from ..wire.types import BINARY, BYTE, REST, STRING, U16, U32, WireType


class Column(NamedTuple):
    """One column of a table."""

    name: str
    type: Any
    """Its Arrow type."""
    doc: str
    """What it holds, in one sentence."""


MEANINGS = "mqttpub.columns"
"""Key of the metadata, of Parquet files too, that holds the meaning of each column: a JSON object."""
TIME = pa.timestamp("us", tz="UTC")
PROPERTY = pa.struct(
    [("id", pa.int32()), ("name", pa.string()), ("key", pa.string()), ("value", pa.string()), ("number", pa.int64())]
)
"""One property; `key` is the name that the application gave to a User Property, null in all others.

`value` is a text in all of them, and `number` the same as a number where the property holds one.

As in all columns, a text that is not UTF-8 is null, and the others are what was sent, with nothing escaped.
"""
TYPES: dict[WireType, Any] = {
    BYTE: pa.int16(), U16: pa.int32(), U32: pa.int64(), STRING: pa.string(), BINARY: pa.binary(), REST: pa.binary(),
}  # fmt: skip
"""Arrow types wide enough for all values of a data type."""


def type_of(field: Field) -> Any:
    """Return the Arrow type of a declared field that is a number, a flag, a text or bytes."""
    if field.mask:
        return pa.bool_() if field.single else pa.int8()
    assert field.type is not None
    return TYPES[field.type]


OPTIONS = pa.struct(
    [(key, type_of(field)) for key, field in Subscription.fields.items() if field.mask and field.label != "Reserved"]
)
"""The Subscription Options of one Topic Filter; null if the version does not have them."""


def _declared(cls: type[Group], key: str, doc: str = "", *, prefix: str = "") -> Column:
    field = cls.fields[key]
    doc = doc or f"{field.label}: {field.doc}" if doc or field.doc else field.label
    return Column(prefix + key, type_of(field), doc)


_REASON = "Reason Code (Return Code before 5.0); null where the packet has none"
_PROPERTIES = (
    "in the order of the wire, repeats kept; value is a text, number the same where it is a number; null where the "
    "version or the packet has none"
)
_ENDINGS = (
    "refused (Reason Code 0x80 or above); superseded (Packet Identifier used again before the last ack); "
    "orphan (acks without their request)"
)

_SOURCE = (
    Column("capture", pa.string(), "File or URL that it was read from"),
    Column("connection", pa.string(), "Which network connection: a key that is the same in all tables"),
    Column("client_id", pa.string(), "Client Identifier, of CONNECT or assigned by CONNACK; null where none was seen"),
)
_ENDS = tuple(
    Column(f"{end}_{name}", type, f"{doc.format(end)}; null if unknown")
    for end in ("client", "server")
    for name, type, doc in (
        ("address", pa.string(), "IP address of the {}, or its name where a text or a socket has another one"),
        ("port", pa.int32(), "TCP port of the {}"),
    )
)

PACKETS_COLUMNS = (
    _SOURCE[0],
    Column("frame", pa.int64(), "The record of the capture (a frame in Wireshark) with its last byte, from 1"),
    Column("pos", pa.int64(), "Offset of its first byte among the bytes that its sender sent on the connection"),
    Column("time", TIME, "When that record was captured; null if unknown"),
    *_SOURCE[1:],
    *_ENDS,
    Column("direction", pa.string(), "Which end sent it: client or server; null if unknown"),
    Column("version", pa.string(), "3.1, 3.1.1 or 5.0"),
    Column("version_guessed", pa.bool_(), "Whether the version was guessed from packets other than CONNECT"),
    Column("type", pa.string(), "Packet type: PUBLISH and so on; TYPE 0 where the version has no such type"),
    Column("type_code", pa.int8(), "Packet type as a number, 0 to 15"),
    Column("packet_bytes", pa.int32(), "Bytes of the packet, fixed header included"),
    _declared(Publish, "dup"),
    _declared(Publish, "qos"),
    _declared(Publish, "retain"),
    _declared(Publish, "packet_id", "Packet Identifier, by which acks find their packet"),
    _declared(Publish, "topic", "Topic Name as it was sent; empty where a Topic Alias replaces it"),
    Column("topic_alias", TYPES[U16], f"{TOPIC_ALIAS.label}: {TOPIC_ALIAS.doc}"),
    Column("resolved_topic", pa.string(), "Topic Name, with a Topic Alias resolved; null if the alias was never set"),
    _declared(Publish, "payload", "Application message, as bytes"),
    Column("payload_bytes", pa.int32(), "Bytes of the payload"),
    _declared(Connack, "reason_code", _REASON),
    Column("reason_codes", pa.list_(TYPES[BYTE]), "Reason Codes of SUBACK and UNSUBACK, one for each Topic Filter"),
    Column("filters", pa.list_(pa.string()), "Topic Filters of SUBSCRIBE and UNSUBSCRIBE"),
    Column("subscription_options", pa.list_(OPTIONS), "Subscription options of SUBSCRIBE, one for each Topic Filter"),
    Column("properties", pa.list_(PROPERTY), f"Properties {_PROPERTIES}"),
    _declared(Connect, "protocol_name"),
    _declared(Connect, "protocol_level", "Protocol Version of CONNECT as a number"),
    _declared(Connect, "clean_start"),
    _declared(Connect, "keep_alive", "Keep Alive of CONNECT in seconds"),
    _declared(Connect, "username"),
    _declared(Connect, "password_flag", "Whether CONNECT has a password; no table holds it"),
    _declared(Connect, "will_flag", "Whether CONNECT has a will"),
    _declared(Connect, "will_qos"),
    _declared(Connect, "will_retain"),
    _declared(Will, "topic", prefix="will_"),
    _declared(Will, "payload", prefix="will_"),
    Column("will_properties", pa.list_(PROPERTY), f"Properties of the will {_PROPERTIES}"),
    _declared(Connack, "session_present"),
    Column("error", pa.string(), "What makes the packet malformed, the first such place; null when it is well-formed"),
    Column("error_statement", pa.string(), "The statement that is broken there, such as MQTT5-1.5.4-1"),
)

EXCHANGES_COLUMNS = (
    *_SOURCE,
    *_ENDS,
    Column("version", pa.string(), "3.1, 3.1.1 or 5.0"),
    Column("sender", pa.string(), "Which end sent the request: client or server; null if unknown"),
    Column("kind", pa.string(), "QoS 1, QoS 2, SUBSCRIBE or UNSUBSCRIBE; SUBACK or UNSUBACK where only that was seen"),
    _declared(Publish, "qos", "QoS; for acks without their PUBLISH, that which they imply; null for subscriptions"),
    _declared(Publish, "packet_id", "Packet Identifier, by which acks find their packet"),
    Column("topic", pa.string(), "Topic Name; null if the PUBLISH, or the setting of its Topic Alias, was not seen"),
    Column("filters", pa.list_(pa.string()), "Topic Filters of SUBSCRIBE and UNSUBSCRIBE; null for messages"),
    Column("payload_bytes", pa.int32(), "Bytes of the payload; null when no PUBLISH was seen"),
    Column("outcome", pa.string(), f"complete; unfinished; {_ENDINGS}"),
    Column("reason_code", TYPES[BYTE], "Reason Code of the last packet; of several in one SUBACK, the highest"),
    Column("resumed", pa.bool_(), "Whether it continues a message that an earlier connection left unfinished"),
    Column("packets", pa.int32(), "Packets that belong to it"),
    Column("dups", pa.int32(), "Packets that had DUP: re-deliveries"),
    Column("first_type", pa.string(), "Packet type of its first packet"),
    Column("last_type", pa.string(), "Packet type of its last packet"),
    Column("begin_time", TIME, "Time of its first packet"),
    Column("end_time", TIME, "Time of its last packet"),
    Column("latency_us", pa.int64(), "Microseconds from the request (resumed: its re-delivery) to its last packet"),
    Column("publish_time", TIME, "Time of its first PUBLISH"),
    Column("puback_time", TIME, "Time of its first PUBACK"),
    Column("pubrec_time", TIME, "Time of its first PUBREC"),
    Column("pubrel_time", TIME, "Time of its first PUBREL"),
    Column("pubcomp_time", TIME, "Time of its first PUBCOMP"),
    Column("first_frame", pa.int64(), "The record of its first packet"),
    Column("first_pos", pa.int64(), "Offset of its first packet among the bytes that its sender sent"),
    Column("last_frame", pa.int64(), "The record of its last packet"),
)

CONNECTIONS_COLUMNS = (
    *_SOURCE,
    *_ENDS,
    Column("version", pa.string(), "3.1, 3.1.1 or 5.0"),
    Column("version_guessed", pa.bool_(), "Whether the version was guessed from packets other than CONNECT"),
    Column("begin_time", TIME, "Time of its first packet"),
    Column("end_time", TIME, "Time of its last packet, or of its close where that is later"),
    Column("first_frame", pa.int64(), "The record of its first packet"),
    Column("last_frame", pa.int64(), "The record of its last packet"),
    Column("closed_by", pa.string(), "Which end closed first: client or server; null if unknown"),
    Column("closed_how", pa.string(), "FIN or RST; end where the capture ended before; null if unknown"),
    Column("client_packets", pa.int64(), "Packets from the client"),
    Column("client_bytes", pa.int64(), "Bytes of the packets from the client"),
    Column("server_packets", pa.int64(), "Packets from the server"),
    Column("server_bytes", pa.int64(), "Bytes of the packets from the server"),
    Column("packets", pa.int64(), "All packets, including those whose sender is unknown"),
    Column("bytes", pa.int64(), "Bytes of all packets"),
    Column("publishes", pa.int64(), "PUBLISH packets of QoS 1 and 2, both directions"),
    Column("dups", pa.int64(), "PUBLISH packets of QoS 1 and 2 that had DUP: re-deliveries"),
    _declared(Connect, "keep_alive", "Keep Alive of its CONNECT in seconds"),
    _declared(Connect, "clean_start"),
    _declared(Connect, "will_flag", "Whether its CONNECT has a will"),
    _declared(Connect, "username"),
    _declared(Connack, "session_present"),
    _declared(Connack, "reason_code", "Reason Code of its first CONNACK (Return Code before 5.0)")._replace(
        name="connack_reason_code"
    ),
    Column("disconnected_by", pa.string(), "Which end sent DISCONNECT first: client or server"),
    Column("disconnect_reason_code", TYPES[BYTE], "Reason Code of the first DISCONNECT; null where it has none"),
    Column("gaps", pa.int64(), "Places where bytes are missing from the capture, or are not a packet"),
    Column("closed_time", TIME, "Time of the first FIN or RST; null if none was captured"),
    Column("community_id", pa.string(), "Community ID 1 (seed 0) of the TCP connection, as Zeek and Suricata have it"),
    Column("handshake_rtt_us", pa.int64(), "Microseconds from the SYN to the ACK that ends the handshake"),
    *(
        Column(f"{end}_{name}", pa.int64(), f"{doc}, from the {end}; null if the client is unknown")
        for end in ("client", "server")
        for name, doc in (
            ("retransmissions", "TCP segments that were sent again, up to its end"),
            ("out_of_order", "TCP segments that others overtook, by less than the RTT of the handshake (else 3 ms)"),
            ("zero_windows", "TCP segments that say that their sender can take no more bytes"),
        )
    ),
    Column("pings", pa.int64(), "PINGREQ packets that a PINGRESP followed"),
    Column("ping_rtt_min_us", pa.int64(), "Microseconds from a PINGREQ to its PINGRESP, the least"),
    Column("ping_rtt_max_us", pa.int64(), "Microseconds from a PINGREQ to its PINGRESP, the most"),
)

FINDINGS_COLUMNS = (
    _SOURCE[0],
    Column("frame", pa.int64(), "The record of the capture (a frame in Wireshark) that shows it, from 1"),
    Column("pos", pa.int64(), "Offset of the packet among the bytes that its sender sent; null if there is none"),
    Column("time", TIME, "When that record was captured; null if unknown"),
    *_SOURCE[1:],
    Column("direction", pa.string(), "Which end sent the packet: client or server; null if the finding is about none"),
    Column("type", pa.string(), "Packet type; null if the finding is not about a packet"),
    Column("severity", pa.string(), "error, warning or note"),
    Column("statement", pa.string(), "The statement that is broken, such as MQTT5-3.3.1-2; null when none is"),
    Column("path", pa.string(), "The field at fault, such as publish.dup"),
    Column("fault_offset", pa.int32(), "Where the bytes at fault begin, counted from the first byte of the packet"),
    Column("fault_bytes", pa.int32(), "How many bytes are at fault"),
    Column("mask", pa.int16(), "Which bits are at fault, of a single byte; 0 for whole bytes"),
    Column("message", pa.string(), "What is wrong, as a sentence"),
    Column("at_fault", pa.string(), "Which end breaks the statement: client or server; null if unknown"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "packets": PACKETS_COLUMNS,
    "exchanges": EXCHANGES_COLUMNS,
    "connections": CONNECTIONS_COLUMNS,
    "findings": FINDINGS_COLUMNS,
}


CODED = frozenset((
    "capture", "connection", "client_id", "client_address", "server_address", "direction", "version", "type", "topic",
    "resolved_topic", "sender", "kind", "outcome", "first_type", "last_type",
))  # fmt: skip
"""Columns in which few texts repeat; between the steps they are Arrow dictionaries."""
WORD = pa.dictionary(pa.int32(), pa.string())
CODED_PROPERTY = pa.struct([(each.name, WORD if each.name in ("name", "key") else each.type) for each in PROPERTY])
"""A property between the steps."""
_CODED_TYPES: dict[str, Any] = {**dict.fromkeys(CODED, WORD), "properties": pa.list_(CODED_PROPERTY)}


def _schema(columns: tuple[Column, ...]) -> pa.Schema:
    meanings = json.dumps({column.name: column.doc for column in columns})
    return pa.schema([(column.name, column.type) for column in columns], metadata={MEANINGS: meanings})


def digest() -> str:
    """Return a digest of the names and types of all columns, by which tables of another version are known."""
    columns = [f"{name}.{column.name}: {column.type}" for name, table in TABLES.items() for column in table]
    return sha256("\n".join(columns).encode()).hexdigest()[:16]


def coded(schema: pa.Schema) -> pa.Schema:
    """Return a schema with dictionaries for the texts that repeat."""
    fields = [field.with_type(_CODED_TYPES.get(field.name, field.type)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def plain(rows: Any) -> Any:
    """Return a batch or a table with texts in place of dictionaries."""
    for index, field in enumerate(rows.schema):
        if (wanted := _plain_type(field.type)) != field.type:
            rows = rows.set_column(index, field.with_type(wanted), rows[field.name].cast(wanted))
    return rows


def _plain_type(type: Any) -> Any:
    if pa.types.is_dictionary(type):
        return type.value_type
    if pa.types.is_list(type):
        return pa.list_(_plain_type(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([each.with_type(_plain_type(each.type)) for each in type])
    return type


PACKETS = _schema(PACKETS_COLUMNS)
EXCHANGES = _schema(EXCHANGES_COLUMNS)
CONNECTIONS = _schema(CONNECTIONS_COLUMNS)
FINDINGS = _schema(FINDINGS_COLUMNS)
CODED_PACKETS = coded(PACKETS)
CODED_EXCHANGES = coded(EXCHANGES)
ABOUT = {
    "packets": "One row for each control packet; a column that does not apply to its type is null.",
    "exchanges": "One row for each message of QoS 1 and 2, SUBSCRIBE and UNSUBSCRIBE, with its acks and its outcome.",
    "connections": "One row for each network connection.",
    "findings": "One row for each rule that was broken.",
}


def documentation() -> str:
    """Return the tables as Markdown: every column with its type and what it holds."""
    return "\n".join(line for name in TABLES for line in _documented(name))


def _documented(name: str) -> Iterator[str]:
    yield from (f"## {name}", "", ABOUT[name], "", "| column | type | meaning |", "| --- | --- | --- |")
    for column in TABLES[name]:
        kind = type_name(column.type)
        # Angle brackets would be taken for HTML.
        yield f"| {column.name} | {f'`{kind}`' if '<' in kind else kind} | {column.doc} |"
    yield ""


def type_name(type: Any) -> str:
    """Return a short name of an Arrow type."""
    if pa.types.is_list(type):
        return f"list<{type_name(type.value_type)}>"
    if pa.types.is_struct(type):
        return f"struct<{', '.join(f'{field.name}: {type_name(field.type)}' for field in type)}>"
    return "timestamp (us, UTC)" if type == TIME else str(type)
