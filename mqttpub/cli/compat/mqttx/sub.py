"""mqttx sub: its values become the request of `sub`, its messages the lines of MQTTX."""

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from typing import Any

from ....codec.encode import encode
from ....live.failures import Failure, Interrupted, Refused
from ....live.receive import ReceivedMessage
from ....payload.formats import PayloadReader, payload_reader
from ....spec.declare import Property
from ....spec.packets import Publish, Subscribe, Subscription
from ....spec.properties import PROPERTIES, SUBSCRIPTION_IDENTIFIER, USER_PROPERTY
from ....spec.versions import Version
from ....wire.types import BYTE
from ...observe.shown import Showing
from ...sub.files import NumberedFiles, appending
from ...sub.lines import shown
from ...sub.request import ReceiveRequest
from ...sub.run import MessageSink, Reception
from ...sub.standard_output import StandardOutput
from . import words
from .conn import reconnecting
from .connection import check_sent, target_of
from .grammar import LineError, Values
from .options import version_of
from .pub import NO_TOPIC

HEX_GROUP = 4
"""Digits of a group of -f hex."""
CONTINUED = 0x80
"""Set in each byte of a Remaining Length but the last (5.0: 1.5.5)."""


def run(values: Values) -> None:
    """Receive what the values say; raises LineError, UserError and Ended."""
    if not values["topic"]:
        sys.stdout.write(f"{NO_TOPIC}\n")
        raise words.Ended("")
    target = target_of(values)
    request = ReceiveRequest(
        subscribes=subscribe_packets(values), unsubscribes=(), target=target, options=reconnecting(values),
        shown=Showing(inspect=bool(values["debug"])),
    )  # fmt: skip
    check_sent(target, *request.subscribes)
    if not _is_clean(values):
        words.waiting("Connecting...")
    with ExitStack() as stack:
        reception = MqttxReception(values, request, stack)
        try:
            reception.run()
        except Interrupted:
            raise
        except Failure as failure:
            raise reception.ended(failure) from failure


def subscribe_packets(values: Values) -> tuple[Subscribe, ...]:
    """Return a SUBSCRIBE for the filters of each Subscription Identifier; a value that is missing is the last one."""
    filters: list[str] = values["topic"]
    rows = [(each, at) for at, each in enumerate(filters)]
    groups = groupby(rows, lambda row: _at(values["subscription_identifier"], row[1], None))
    is_5 = values["mqtt_version"] == Version.V5
    pairs = [Property(USER_PROPERTY.id, each) for each in values["user_property"] or () if is_5]
    packets = []
    for number, (identifier, some) in enumerate(groups, 1):
        named = [Property(SUBSCRIPTION_IDENTIFIER.id, identifier)] if is_5 and identifier is not None else []
        subscriptions = tuple(_subscription(values, filter, at) for filter, at in some)
        packets.append(Subscribe(packet_id=number, subscriptions=subscriptions, properties=(*pairs, *named)))
    return tuple(packets)


def _at(given: Any, at: int, default: Any) -> Any:
    if isinstance(given, bool):
        return given
    return given[min(at, len(given) - 1)] if given else default


def _subscription(values: Values, filter: str, at: int) -> Subscription:
    qos = _at(values["qos"], at, 0)
    if values["mqtt_version"] < Version.V5:
        return Subscription(filter=filter, qos=qos)
    return Subscription(
        filter=filter, qos=qos, no_local=bool(_at(values["no_local"], at, False)),
        retain_as_published=bool(_at(values["retain_as_published"], at, False)),
        retain_handling=_at(values["retain_handling"], at, 0),
    )  # fmt: skip


class MqttxReception(Reception):
    """A run of mqttx sub."""

    def __init__(self, values: Values, request: ReceiveRequest, stack: ExitStack) -> None:
        super().__init__(request, stack, remark=lambda text: None, output=partial(MqttxOutput, values, stack))
        self._seen = 0
        self._silent = _is_clean(values)

    def _ends(self) -> bool:
        subscriber = self._subscriber
        if subscriber.connections > self._seen:
            self._seen = subscriber.connections
            self._say("Connected")
            for each in subscriber.outcomes:
                said = f'Subscription negated to "{each.subscription.filter}" with code {each.code}'
                if each.refused:
                    words.failed(said)
                else:
                    self._say(f"Subscribed to {each.subscription.filter}")
        return super()._ends()

    def _say(self, text: str) -> None:
        if not self._silent:
            words.done(text)

    def _status(self) -> int:
        return words.DONE

    def ended(self, failure: Failure) -> words.Ended:
        """Return how MQTTX reports a failure."""
        refused = [each for each in self._subscriber.outcomes if each.refused]
        target = self._request.target
        if isinstance(failure, Refused) and refused:
            return words.Ended(
                f'Subscription negated to "{refused[0].subscription.filter}" with code {refused[0].code}'
            )
        return words.ended(failure, target.version, target.place)


class MqttxOutput(MessageSink):
    """Writes messages as MQTTX does, without its colours."""

    def __init__(self, values: Values, stack: ExitStack, standard: StandardOutput) -> None:
        self._write = message_writer(values)
        self._files: NumberedFiles | None = None
        self._put: Callable[[bytes], object] = standard.write
        delimiter = values["delimiter"]
        end = delimiter.encode() if isinstance(delimiter, str) else b"\n" if delimiter else b""
        if values["file_save"]:
            self._files = NumberedFiles(values["file_save"], lambda messages: b"".join(m.payload for m in messages))
        elif values["file_write"]:
            self._put = appending(values["file_write"], stack)
            self._write = lambda message: message.payload + end

    def write(self, messages: Sequence[ReceivedMessage]) -> None:
        """Write messages to standard output or to files."""
        if self._files:
            self._files.save(messages)
            return
        self._put(b"".join(map(self._write, messages)))


def message_writer(values: Values) -> Callable[[ReceivedMessage], bytes]:
    """Return the function that makes the bytes of a message."""
    payload = _payload_writer(values)
    if _is_clean(values):
        version = version_of(values["mqtt_version"])
        read = payload if values["format"] else lambda data: data
        return lambda message: _clean(message, read(message.payload), version)
    return lambda message: f"{_head(message)}\n".encode() + payload(message.payload) + b"\n\n"


def _is_clean(values: Values) -> bool:
    """Whether only messages are written, in JSON."""
    return bool(values["output_mode"] == "clean")


def _head(message: ReceivedMessage) -> str:
    received = datetime.fromtimestamp(message.time_ns / 1e9, UTC).isoformat(timespec="milliseconds")
    pairs = [value for id, value in message.properties if id == USER_PROPERTY.id]
    parts = [
        f"received_at: {received.replace('+00:00', 'Z')}", f"topic: {shown(message.topic.encode()).decode()}",
        f"qos: {message.qos}", f"size: {_size(len(message.payload))}",
    ]  # fmt: skip
    parts += ["retain: true"] * message.retain
    if pairs:
        shown_pairs = (f"{{ key: {name!r}, value: {value!r} }}" for name, value in pairs)
        parts.append(f"userProperties: [ {', '.join(shown_pairs)} ]")
    return ", ".join(parts)


def _size(size_bytes: int) -> str:
    """Return a size with at most two decimals, in units of 1024."""
    units = ("B", "KB", "MB")
    at = min(max(size_bytes.bit_length() - 1, 0) // 10, len(units) - 1)
    return f"{size_bytes / 1024**at:.2f}".rstrip("0").rstrip(".") + units[at]


def _json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON whose control characters are escapes."""
    import json

    return json.dumps(value, indent=indent)


def _clean(message: ReceivedMessage, payload: bytes, version: Version) -> bytes:
    """Return a message as JSON: topic, payload and the packet, with the names that mqtt.js gives to its parts."""
    packet: dict[str, Any] = {
        "cmd": "publish", "retain": message.retain, "qos": message.qos, "dup": message.dup,
        "length": _remaining_length(message, version), "topic": message.topic, "payload": _buffer(message.payload),
    }  # fmt: skip
    if message.qos:
        packet["messageId"] = message.packet_id
    if message.properties:
        packet["properties"] = _named(message.properties)
    text = payload.decode("utf-8", "backslashreplace")
    return f"{_json({'topic': message.topic, 'payload': text, 'packet': packet}, 2)}\n".encode()


def _buffer(data: bytes) -> dict[str, Any]:
    return {"type": "Buffer", "data": list(data)}


def _remaining_length(message: ReceivedMessage, version: Version) -> int:
    packet = Publish(
        topic=message.topic, qos=message.qos, packet_id=message.packet_id, properties=message.properties,
        payload=message.payload,
    )  # fmt: skip
    data = encode(packet, version)
    return len(data) - next(at for at, byte in enumerate(data[1:], 2) if byte < CONTINUED)


def _named(properties: Iterable[Property]) -> dict[str, Any]:
    """Return properties by the names of mqtt.js; the values of a repeated one are a list."""
    known: dict[str, Any] = {}
    for id, value in properties:
        row = PROPERTIES[id]
        if id == USER_PROPERTY.id:
            _add(known.setdefault("userProperties", {}), *value)
            continue
        first, *others = row.key.split("_")
        made = _buffer(value) if isinstance(value, bytes) else bool(value) if row.type is BYTE else value
        _add(known, "".join((first, *(word.title() for word in others))), made)
    return known


def _add(known: dict[str, Any], name: str, value: Any) -> None:
    if name not in known:
        known[name] = value
    elif isinstance(known[name], list):
        known[name].append(value)
    else:
        known[name] = [known[name], value]


def _payload_writer(values: Values) -> Callable[[bytes], bytes]:
    """Return the function that makes payloads readable; raises LineError for an unusable schema."""
    if values["format"] == "hex":
        return _hex
    if values["format"] == "binary":
        return lambda payload: payload
    reader = _reader(values)
    if reader is None:
        return shown
    return lambda payload: _read(reader, payload)


def _hex(payload: bytes) -> bytes:
    digits = payload.hex()
    return "".join(f"{digits[at : at + HEX_GROUP]} " for at in range(0, len(digits), HEX_GROUP)).encode()


def _reader(values: Values) -> PayloadReader | None:
    try:
        if values["protobuf_path"]:
            return payload_reader("protobuf", values["protobuf_path"], values["protobuf_message_name"])
        if values["avsc_path"]:
            return payload_reader("avro", values["avsc_path"])
        return payload_reader(values["format"]) if values["format"] else None
    except ValueError as error:
        raise LineError(f"Error: {error}") from None


def _read(reader: PayloadReader, payload: bytes) -> bytes:
    try:
        value = reader(payload).value
    except ValueError:
        return shown(payload)
    return value.encode() if isinstance(value, str) else _json(value, 2).encode()
