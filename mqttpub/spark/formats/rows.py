"""Rows of a table as PUBLISH packets; a row that cannot become one is rejected with the reason."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from ...codec.publish_writer import PublishWriter
from ...lint.gate import check_packet
from ...live.publish.sender import Publication
from ...spec.declare import Property
from ...spec.packets import Publish
from ...spec.properties import BY_KEY, PROPERTIES, USER_PROPERTY, PropertyRow
from ...spec.versions import Version
from ...wire.types import PAIR
from .errors import OptionError
from .options import Options, property_value

NAME = "mqttpub-row"
"""Name of the User Property by which receivers recognize a row that was published twice."""
OWN_COLUMNS = {
    key: BY_KEY[key]
    for key in (
        "payload_format_indicator", "message_expiry_interval", "content_type", "response_topic", "correlation_data"
    )
}  # fmt: skip
"""Properties of PUBLISH that have their own columns."""
COLUMNS = ("topic", "payload", "value", "qos", "retain", "properties", "user_properties", *OWN_COLUMNS)
MOST_OF_TOPIC = 65_535
"""Bytes of a UTF-8 Encoded String (5.0: 1.5.4)."""
LARGE = 200_000_000
"""Bytes of a payload from which on the size of the packet is checked: its maximum is 268,435,455 (5.0: 1.5.5)."""
WRITERS = 4096
"""Number of combinations of topic and properties whose packet writers are cached."""


class MessageKind(NamedTuple):
    """All of a message but its payload."""

    topic: str
    qos: int
    retain: bool
    properties: tuple[Property, ...]


class UnfitRow(Exception):
    """A row cannot become a PUBLISH; the text is the reason."""


class MessageMaker:
    """Makes messages from rows; `version` is that of the connection."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.of = lru_cache(WRITERS)(self._of)

    def _of(self, kind: MessageKind) -> PublishWriter:
        """Return the packet writer for a kind of message; raises UnfitRow."""
        size = len(kind.topic.encode())
        if size > MOST_OF_TOPIC:
            raise UnfitRow(f"the topic has {size:,} bytes, more than {MOST_OF_TOPIC:,}")
        packet = Publish(
            topic=kind.topic, qos=kind.qos, retain=kind.retain, properties=kind.properties,
            packet_id=1 if kind.qos else None,
        )  # fmt: skip
        try:
            check_packet(packet, self.version)
            return PublishWriter(packet, self.version)
        except ValueError as error:
            raise UnfitRow(str(error)) from None

    def message(self, kind: MessageKind, payload: bytes, token: Any, row: str | None) -> Publication:
        """Return the message for a row, with `row` as its name in a User Property; raises UnfitRow."""
        writer = self.of(kind)
        if row is not None:
            named = (*kind.properties, Property(USER_PROPERTY.id, (NAME, row)))
            writer = PublishWriter(writer.packet.replace(properties=named), self.version)
        if len(payload) > LARGE:
            _check_size(writer, payload)
        return Publication(writer, payload, token=token)


def _check_size(writer: PublishWriter, payload: bytes) -> None:
    """Raise UnfitRow for a payload that makes the packet too large."""
    try:
        writer.size(payload)
    except ValueError:
        raise UnfitRow(f"the payload has {len(payload):,} bytes, more than a PUBLISH can carry") from None


class RowReader:
    """Reads the rows of a table by its columns; options replace missing columns.

    Raises OptionError for a table that cannot be published.
    """

    def __init__(self, options: Options, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self.topic = options.maybe("topic")
        self.qos = options.number("qos", 0, 0, 2)
        self.retain = options.flag("retain")
        self.properties = options.properties("properties", "PUBLISH")
        self._check(options)

    def _check(self, options: Options) -> None:
        unknown = [name for name in self.names if name not in COLUMNS]
        if unknown:
            raise OptionError(f"column '{unknown[0]}' has no meaning in MQTT; there are {', '.join(COLUMNS)}")
        if "topic" not in self.names and self.topic is None:
            raise OptionError("there is no topic: give a column 'topic' or the option 'topic'")
        if ("payload" in self.names) == ("value" in self.names):
            raise OptionError("there must be a column 'payload', or 'value', and not both")

    def read(self, batch: pa.RecordBatch) -> Iterator[tuple[MessageKind, bytes] | UnfitRow]:
        """Yield kind and payload of the message for each row, or the reason why there is none."""
        columns = dict(zip(self.names, batch.columns, strict=True))
        payloads = columns.pop("payload") if "payload" in columns else columns.pop("value")
        simple = self._simple(columns)
        lists = {name: column.to_pylist() for name, column in columns.items()}
        for number, payload in enumerate(payloads.to_pylist()):
            row = {name: values[number] for name, values in lists.items()}
            try:
                yield (simple(row) if simple else self._kind(row)), _payload(payload)
            except (UnfitRow, OptionError) as error:
                yield UnfitRow(str(error))

    def _simple(self, columns: Mapping[str, Any]) -> Any:
        """Return the faster function for rows without columns of properties; None if there are any."""
        if set(columns) - {"topic", "qos", "retain"}:
            return None
        return self._plain

    def _plain(self, row: Mapping[str, Any]) -> MessageKind:
        topic = row.get("topic", self.topic)
        if topic is None:
            raise UnfitRow("the topic is null")
        qos = row.get("qos")
        retain = row.get("retain")
        if qos is None:
            qos = self.qos
        elif qos not in (0, 1, 2):
            raise UnfitRow(f"QoS is {qos}, but must be 0, 1 or 2")
        return MessageKind(topic, int(qos), self.retain if retain is None else bool(retain), self.properties)

    def _kind(self, row: Mapping[str, Any]) -> MessageKind:
        own = {name: row[name] for name in OWN_COLUMNS if row.get(name) is not None}
        found = [Property(OWN_COLUMNS[name].id, _value(OWN_COLUMNS[name], value)) for name, value in own.items()]
        found += [_listed(each) for each in row.get("properties") or ()]
        found += [Property(USER_PROPERTY.id, pair) for pair in _pairs(row.get("user_properties"))]
        given = {each.id for each in found if each.id != USER_PROPERTY.id}
        kept = tuple(each for each in self.properties if each.id not in given)
        return self._plain(row)._replace(properties=(*kept, *found))


def _payload(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    # Null must not become an empty payload, which would delete a retained message.
    raise UnfitRow("the payload is null")


def _value(row: PropertyRow, value: Any) -> Any:
    if isinstance(value, bytes) and row.key != "correlation_data":
        raise UnfitRow(f"{row.label} cannot be bytes")
    return property_value(row, value, "column")


def _listed(struct: Mapping[str, Any]) -> Property:
    """Return a property from a struct as in the table of packets: id, name, key of a User Property, value."""
    row = PROPERTIES.get(struct.get("id") or 0)
    if row is None:
        name = str(struct.get("name") or "").lower().replace("-", "_").replace(" ", "_")
        row = BY_KEY.get(name)
    if row is None:
        raise UnfitRow(f"there is no property {struct.get('id') or struct.get('name')!r}")
    if struct.get("value") is None:
        # Tables hold null for a secret, and for a text that is not UTF-8, which must not be published as an empty one.
        raise UnfitRow(f"the value of {row.label} is null")
    if row.type is PAIR:
        if struct.get("key") is None:
            raise UnfitRow(f"a {row.label} has a name and a value")
        return Property(row.id, (struct["key"], struct["value"]))
    return Property(row.id, property_value(row, struct.get("value"), "column 'properties'"))


def _pairs(value: Any) -> list[tuple[str, str]]:
    """Return User Properties from a map, or from a list of structs with name and value."""
    if value is None:
        return []
    pairs = value if value and isinstance(value[0], tuple) else [tuple(each.values()) for each in value]
    if any(part is None for pair in pairs for part in pair) or any(len(pair) != 2 for pair in pairs):
        raise UnfitRow("a User Property has a name and a value")
    return [(str(name), str(text)) for name, text in pairs]
