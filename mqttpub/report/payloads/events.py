"""Messages of Sparkplug B as events of their edge nodes, as a function on batches that Spark calls in its tasks."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from ...common.strict_json import parse_json
from ...payload.sparkplug import STATE, SparkplugDecoder, sparkplug_topic
from ..rows import schema_of

WILL = "WILL"
"""The type of the event that a CONNECT is, whose will is an NDEATH."""
MOST_METRICS = 10_000
"""Metrics of a message whose names and aliases are kept."""
LONGEST_NAME = 200
"""Characters of the name of a metric that are kept."""


class Event(NamedTuple):
    """One message as one stream shows it.

    Deaths of nodes and states of hosts are wills, which servers publish: those are in the empty stream too. A topic of
    another form has neither group nor node, and stands in the place of the device. `names` and `aliases` are parallel,
    and hold None where a metric has none.
    """

    group: str
    node: str
    host: bool
    stream: str
    """The client that received it; empty for what publishers sent."""
    time: int | None
    """Microseconds since 1970."""
    capture: str
    frame: int
    pos: int
    type: str
    device: str
    server: bool
    """Whether a server sent it."""
    dup: bool
    malformed: bool
    stamp: int | None = None
    """The timestamp of the payload in milliseconds."""
    seq: int | None = None
    bd_seq: int | None = None
    online: bool | None = None
    names: Sequence[str | None] | None = None
    aliases: Sequence[int | None] | None = None


EVENT = schema_of(Event)
"""The columns of events."""
_STATES = {b"ONLINE": True, b"OFFLINE": False}
"""The payloads of STATE before version 3 of Sparkplug."""
_WILLS = ("NDEATH", STATE)
_INT64 = 1 << 63


class SaidByPayload(NamedTuple):
    """What a payload says."""

    malformed: bool = False
    stamp: int | None = None
    seq: int | None = None
    bd_seq: int | None = None
    online: bool | None = None
    names: Sequence[str | None] | None = None
    aliases: Sequence[int | None] | None = None


class MentionedMessage(NamedTuple):
    """A message whose topic may be one of Sparkplug B, or a CONNECT with such a will."""

    topic: str
    direction: str | None
    who: str
    payload: bytes
    connects: bool
    """Whether it is a CONNECT."""
    dup: bool
    time: int | None
    capture: str
    frame: int
    pos: int


def events(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the events of rows of MentionedMessage."""
    decoder = SparkplugDecoder()
    for batch in batches:
        columns = (batch[name].to_pylist() for name in MentionedMessage._fields)
        messages = map(MentionedMessage._make, zip(*columns, strict=True))
        found = [event._asdict() for message in messages for event in _events(message, decoder)]
        yield pa.RecordBatch.from_pylist(found, EVENT)


def _events(message: MentionedMessage, decoder: SparkplugDecoder) -> Iterator[Event]:
    topic = sparkplug_topic(message.topic)
    if topic is None:
        return
    said = _state(message.payload) if topic.type == STATE else _payload(message.payload, decoder)
    server = message.direction == "server"
    event = Event(
        topic.group, topic.node, topic.type == STATE, "", message.time, message.capture, message.frame, message.pos,
        WILL if message.connects else topic.type,
        topic.device or ("" if topic.type else message.topic[:LONGEST_NAME]), server, message.dup, *said,
    )  # fmt: skip
    if server:
        yield event._replace(stream=message.who)
    if not server or topic.type in _WILLS:
        yield event


def _state(payload: bytes) -> SaidByPayload:
    """Return whether a host is online, from its STATE."""
    if payload in _STATES:
        return SaidByPayload(online=_STATES[payload])
    try:
        value = parse_json(payload)
    except ValueError:
        value = None
    online = value.get("online") if isinstance(value, dict) else None
    stamp = value.get("timestamp") if isinstance(value, dict) else None
    known = isinstance(online, bool)
    return SaidByPayload(malformed=not known, stamp=_fitting(stamp), online=online if known else None)


def _payload(payload: bytes, decoder: SparkplugDecoder) -> SaidByPayload:
    found = decoder.decode(payload)
    if found is None:
        return SaidByPayload(malformed=True)
    metrics = found.metrics[:MOST_METRICS]
    return SaidByPayload(
        stamp=_fitting(found.timestamp_ms), seq=_fitting(found.seq), bd_seq=_fitting(found.bd_seq),
        names=[None if each.name is None else each.name[:LONGEST_NAME] for each in metrics],
        aliases=[_fitting(each.alias) for each in metrics],
    )  # fmt: skip


def _fitting(value: Any) -> int | None:
    """Return a number as 64 bits with a sign; larger ones become negative, which keeps them different."""
    if type(value) is not int or not -_INT64 <= value < 2 * _INT64:
        return None
    return value - 2 * _INT64 if value >= _INT64 else value
