"""mqttx pub: its values become the request of `pub`, its outcomes the words of MQTTX."""

import json
import sys
from contextlib import ExitStack
from functools import reduce
from typing import Any

from ....common.standard_input import STANDARD_INPUT_NAME, standard_input
from ....common.strict_json import check_json
from ....live.failures import Failure, Interrupted
from ....live.limits import Violation
from ....live.publish.publisher import Publisher, PublishOptions
from ....live.publish.sender import OutgoingMessage, Publication
from ....live.publish.sources import ChangedSource
from ....payload import formats
from ....payload.bytes_argument import plain, read_value
from ....payload.formats import Converter, random_payload
from ....spec.declare import Property
from ....spec.packets import Publish
from ...observe.observers import observers
from ...observe.shown import Showing
from ...pub.feed import feed
from ...pub.report import RunReport
from ...pub.request import BulkRequest, PublishRequest
from ...pub.run import transfer
from ..given import timeout_s
from . import words
from .connection import check_sent, settings, target_of
from .grammar import LineError, Values
from .options import MESSAGE

NO_TOPIC = "error: required option '-t, --topic <TOPIC>' not specified"


def run(values: Values) -> None:
    """Publish what the values say; raises LineError, UserError and Ended."""
    publish(_request(values))


def publish(request: PublishRequest) -> None:
    """Publish the messages of a request; raises UserError and Ended."""
    target = request.target
    check_sent(target, *request.packets)
    with ExitStack() as stack:
        seen = observers(request, stack)
        report = MqttxReport(many=bool(request.bulk.kind))
        source = feed(request, target, report, stack).source
        if request.bulk.kind:
            source = WithoutEmpty(source)
        options = PublishOptions(
            timeout_s=request.timeout_s, reconnects=request.bulk.reconnects, any_alias=False, probes=False,
            persists=bool(request.bulk.reconnects),
        )  # fmt: skip
        words.waiting("Connecting...")
        publisher = Publisher(target, source, options, observer=seen.observer)
        try:
            transfer(publisher, report)
        except Interrupted:
            raise
        except Failure as failure:
            raise words.ended(failure, target.version, target.place) from failure
    if report.failed:
        raise words.Ended(report.failed)


def message_packet(values: Values, payload: bytes) -> Publish:
    """Return the PUBLISH that the values describe."""
    properties = tuple(Property(each.row.id, each.value) for each in settings(values, "PUBLISH"))
    return Publish(
        topic=values["topic"], payload=payload, qos=values["qos"], retain=bool(values["retain"]),
        dup=bool(values["dup"]), properties=properties,
    )  # fmt: skip


def _request(values: Values) -> PublishRequest:
    if not values["topic"]:
        sys.stdout.write(f"{NO_TOPIC}\n")
        raise words.Ended("")
    lines = bool(values["line_mode"] or (values["stdin"] and values["multiline"] and not values["file_read"]))
    convert = converter(values)
    payload = b"" if lines else _converted(payload_of(values), convert)
    bulk = BulkRequest(
        kind="lines" if lines else "", reconnects=values["maximum_reconnect_times"] if values["reconnect_period"] else 0
    )
    return PublishRequest(
        packets=(message_packet(values, payload),), target=target_of(values), timeout_s=timeout_s(),
        bulk=bulk, convert=_of_line(convert) if lines else None, force=True,
        shown=Showing(inspect=bool(values["debug"])),
    )  # fmt: skip


def _of_line(convert: Converter | None) -> Converter:
    return (lambda data: convert(data.strip())) if convert else (lambda data: data.removesuffix(b"\r"))


def payload_of(values: Values) -> bytes:
    """Return the payload that the values name, as it is given; raises Ended."""
    try:
        if values["file_read"]:
            with open(values["file_read"], "rb") as file:
                return read_value(file, f"'{values['file_read']}'")
        if values["stdin"]:
            return read_value(standard_input(), STANDARD_INPUT_NAME)
        if values["payload_size"] and values["message"] == MESSAGE:
            return random_payload(values["payload_size"])
    except OSError as error:
        raise words.Ended(f"Failed to read file: {error}") from None
    except ValueError as error:
        raise words.Ended(f"Failed to generate payload: {error}") from None
    return plain(str(values["message"]))


def _converted(data: bytes, convert: Converter | None) -> bytes:
    try:
        return convert(data) if convert else data
    except ValueError as error:
        raise words.Ended(f"Error: {error}") from None


# formats


def converter(values: Values) -> Converter | None:
    """Return the function that makes a payload of what is given; raises LineError for an unusable schema."""
    steps: list[Converter] = []
    try:
        if values["format"]:
            steps.append(_json if values["format"] == "json" else formats.converter(values["format"]))
        if values["protobuf_path"]:
            steps.append(formats.converter("protobuf", values["protobuf_path"], values["protobuf_message_name"]))
        elif values["avsc_path"]:
            steps.append(formats.converter("avro", values["avsc_path"]))
    except ValueError as error:
        raise LineError(f"Error: {error}") from None
    return (lambda data: reduce(lambda made, step: step(made), steps, data)) if steps else None


def _json(data: bytes) -> bytes:
    """Return JSON without its blanks, as MQTTX writes it anew; raises ValueError."""
    check_json(data)
    return json.dumps(_plain(json.loads(data)), separators=(",", ":"), ensure_ascii=False).encode()


def _plain(value: Any) -> Any:
    """Return a value of JSON with its whole numbers as JavaScript writes them."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else value


# what is sent, and what becomes of it


class WithoutEmpty(ChangedSource):
    """Another source without its empty messages."""

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return what the source has, but for empty messages."""
        return [each for each in self._source.take(most, now_s) if each.payload]


class MqttxReport(RunReport):
    """Says of the messages what MQTTX says."""

    def __init__(self, *, many: bool) -> None:
        self.failed = ""
        """The sentence about the last message that was not accepted; empty for none."""
        self._many = many
        self._published = 0
        self._connected = False

    def take(self, publisher: Publisher) -> None:
        """Take the outcomes that there are; the first turn comes after CONNACK."""
        if not self._connected:
            self._connected = True
            words.done("Connected")
            words.waiting("Message publishing...")
        super().take(publisher)

    def bad_line(self, text: str) -> None:
        """Say that a line is not a message."""
        self.failed = f"Error: {text}"
        words.failed(self.failed)

    def ended(self, outgoing: OutgoingMessage) -> None:
        """Count a message, and keep the sentence about one that the broker refused."""
        if outgoing.refused:
            self.failed = f"Error: Publish error: {outgoing.reason_name}"
        else:
            self._published += 1

    def not_sent(self, message: Publication, violation: Violation) -> None:
        """Keep the sentence about a limit of the broker."""
        self.failed = f"Error: {violation.text}"

    def end(self, publisher: Publisher) -> None:
        """Take messages in doubt as lost, and say how many messages arrived."""
        if publisher.unknown:
            self.failed = self.failed or f"Error: {words.CLOSED}"
        if self._many:
            words.done(f"Successfully published {self._published} messages")
        elif not self.failed:
            words.done("Message published")
