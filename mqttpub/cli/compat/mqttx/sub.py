"""mqttx sub: its values become the request of `sub`, its messages the lines of MQTTX."""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from ....live.failures import Failure, Interrupted, Refused
from ....live.receive import ReceivedMessage
from ....live.subscribe.subscriber import SubscriptionOutcome
from ....payload.readers import PayloadReader, avro_reader, payload_reader, protobuf_reader
from ....spec.packets import Subscribe, Subscription
from ....spec.properties import PROPERTIES
from ....spec.versions import Version
from ...sub.files import NumberedFiles, appending
from ...sub.lines import shown
from ...sub.request import ReceiveRequest
from ...sub.run import Reception
from . import words
from .conn import reconnecting
from .connection import check_sent, properties, target_of
from .grammar import LineError, Values
from .pub import NO_TOPIC

SUBSCRIBE_KEYS = {"userProperties": "user_property"}
HEX_GROUP = 4
"""Digits of a group of -f hex."""


def run(values: Values) -> None:
    """Receive what the values say; raises LineError, UserError and Ended."""
    if not values["topic"]:
        sys.stdout.write(f"{NO_TOPIC}\n")
        raise words.Ended("")
    target = target_of(values)
    request = ReceiveRequest(
        subscribes=subscribe_packets(values), unsubscribes=(), target=target, options=reconnecting(values),
        force=True, inspect=bool(values["debug"]),
    )  # fmt: skip
    check_sent(target, *request.subscribes)
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
    groups = groupby(rows, lambda row: _at(values["subscriptionIdentifier"], row[1], None))
    packets = []
    for number, (identifier, some) in enumerate(groups, 1):
        more: dict[str, Any] = {"properties": properties(values, SUBSCRIBE_KEYS)}
        if identifier is not None and values["mqttVersion"] == Version.V5:
            row = next(each for each in PROPERTIES.values() if each.key == "subscription_identifier")
            more["properties"] = (*more["properties"], (row.id, identifier))
        subscriptions = tuple(_subscription(values, filter, at) for filter, at in some)
        packets.append(Subscribe(packet_id=number, subscriptions=subscriptions, **more))
    return tuple(packets)


def _at(given: Any, at: int, default: Any) -> Any:
    if isinstance(given, bool):
        return given
    return given[min(at, len(given) - 1)] if given else default


def _subscription(values: Values, filter: str, at: int) -> Subscription:
    qos = _at(values["qos"], at, 0)
    if values["mqttVersion"] < Version.V5:
        return Subscription(filter=filter, qos=qos)
    return Subscription(
        filter=filter, qos=qos, no_local=bool(_at(values["no_local"], at, False)),
        retain_as_published=bool(_at(values["retainAsPublished"], at, False)),
        retain_handling=_at(values["retainHandling"], at, 0),
    )  # fmt: skip


def _negated(outcome: SubscriptionOutcome) -> str:
    return f"Subscription negated to '{outcome.subscription.filter}' with code {outcome.code}"


class MqttxReception(Reception):
    """A run of mqttx sub."""

    def __init__(self, values: Values, request: ReceiveRequest, stack: ExitStack) -> None:
        super().__init__(request, stack, remark=lambda text: None, output=MqttxOutput(values, stack))
        self._seen = 0

    def _ends(self) -> bool:
        subscriber = self._subscriber
        if subscriber.connections > self._seen:
            self._seen = subscriber.connections
            words.done("Connected")
            for each in subscriber.outcomes:
                said = f'Subscription negated to "{each.subscription.filter}" with code {each.code}'
                if each.refused:
                    words.failed(said)
                else:
                    words.done(f"Subscribed to {each.subscription.filter}")
        return super()._ends()

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


class MqttxOutput:
    """Writes messages as MQTTX does, without its colours."""

    def __init__(self, values: Values, stack: ExitStack) -> None:
        self.unreadable = 0
        self._write = message_writer(values)
        self._files: NumberedFiles | None = None
        self._put: Callable[[bytes], object] = sys.stdout.buffer.write
        delimiter = values["delimiter"]
        end = delimiter.encode() if isinstance(delimiter, str) else b"\n" if delimiter else b""
        if values["fileSave"]:
            self._files = NumberedFiles(values["fileSave"], lambda messages: b"".join(m.payload for m in messages))
        elif values["fileWrite"]:
            self._put = stack.enter_context(appending(values["fileWrite"])).write
            self._write = lambda message: message.payload + end

    def write(self, messages: Sequence[ReceivedMessage]) -> None:
        """Write messages to standard output or to files."""
        if self._files:
            self._files.save(messages)
            return
        self._put(b"".join(map(self._write, messages)))
        sys.stdout.flush()

    def turn(self) -> bool:
        """Do nothing between messages; there is no key that ends the run."""
        return False

    def close(self) -> None:
        """Write nothing more."""


def message_writer(values: Values) -> Callable[[ReceivedMessage], bytes]:
    """Return the function that makes the bytes of a message."""
    payload = _payload_writer(values)
    if values["outputMode"] == "clean":
        return _clean
    return lambda message: f"{_head(message)}\n".encode() + payload(message.payload) + b"\n\n"


def _head(message: ReceivedMessage) -> str:
    received = datetime.fromtimestamp(message.time_ns / 1e9, UTC).isoformat(timespec="milliseconds")
    pairs = [list(value) for id, value in message.properties if PROPERTIES[id].key == "user_property"]
    parts = [
        f"received_at: {received.replace('+00:00', 'Z')}", f"topic: {shown(message.topic.encode()).decode()}",
        f"qos: {message.qos}", f"size: {len(message.payload)}B",
    ]  # fmt: skip
    parts += ["retain: true"] * message.retain
    if pairs:
        parts.append(f"userProperties: {_json(pairs)}")
    return ", ".join(parts)


def _json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON whose control characters are escapes."""
    import json

    return json.dumps(value, indent=indent)


def _clean(message: ReceivedMessage) -> bytes:
    """Return the message as MQTTX's packet in JSON."""
    known: dict[str, Any] = {}
    for id, value in message.properties:
        key = PROPERTIES[id].key
        known.setdefault(key, []).append(list(value)) if key == "user_property" else known.update(
            {key: list(value) if isinstance(value, bytes) else value}
        )
    packet = {
        "cmd": "publish", "retain": message.retain, "qos": message.qos, "topic": message.topic,
        "payload": {"type": "Buffer", "data": list(message.payload)}, "properties": known,
    }  # fmt: skip
    text = message.payload.decode("utf-8", "backslashreplace")
    return f"{_json({'topic': message.topic, 'payload': text, 'packet': packet}, 2)}\n".encode()


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
        if values["protobufPath"]:
            return protobuf_reader(values["protobufPath"], values["protobufMessageName"])
        if values["avscPath"]:
            return avro_reader(values["avscPath"])
        return payload_reader(values["format"]) if values["format"] else None
    except ValueError as error:
        raise LineError(f"Error: {error}") from None


def _read(reader: PayloadReader, payload: bytes) -> bytes:
    try:
        value = reader(payload)
    except ValueError:
        return shown(payload)
    return value.encode() if isinstance(value, str) else _json(value, 2).encode()
