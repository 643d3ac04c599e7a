"""Messages of Sparkplug B as events of their edge nodes, as a function on batches that Spark calls in its tasks."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from ...common.strict_json import parse_json
from ...payload.sparkplug import STATE, SparkplugDecoder, sparkplug_topic

WILL = "WILL"
"""The type of the event that a CONNECT is, whose will is an NDEATH."""
MOST_METRICS = 10_000
"""Metrics of a message whose names and aliases are kept."""
LONGEST_NAME = 200
"""Characters of the name of a metric that are kept."""

EVENT = pa.schema(
    [
        ("group", pa.string()), ("node", pa.string()), ("host", pa.bool_()), ("stream", pa.string()),
        ("time", pa.int64()),
        ("capture", pa.string()), ("frame", pa.int64()), ("pos", pa.int64()), ("type", pa.string()),
        ("device", pa.string()), ("server", pa.bool_()), ("dup", pa.bool_()), ("malformed", pa.bool_()),
        ("stamp", pa.int64()), ("seq", pa.int64()), ("bd_seq", pa.int64()), ("online", pa.bool_()),
        ("names", pa.list_(pa.string())), ("aliases", pa.list_(pa.int64())),
    ]
)  # fmt: skip
"""One message as one stream shows it.

`stream` is the client that received it, or empty for what publishers sent; `server` whether a server sent it. Deaths of
nodes and states of hosts are wills, which servers publish: those are in the empty stream too. `stamp` is the timestamp
of the payload in milliseconds. A topic of another form has neither group nor node, and stands in the place of the
device. `names` and `aliases` are parallel, and hold None where a metric has none.
"""
_STATES = {b"ONLINE": True, b"OFFLINE": False}
"""The payloads of STATE before version 3 of Sparkplug."""
_WILLS = ("NDEATH", STATE)
_INT64 = 1 << 63


def events(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the events of rows with the columns topic, payload, direction, who, connects, dup, time and place."""
    decoder = SparkplugDecoder()
    for batch in batches:
        found = [event for row in batch.to_pylist() for event in _events(row, decoder)]
        yield pa.RecordBatch.from_pylist(found, EVENT)


def _events(row: dict[str, Any], decoder: SparkplugDecoder) -> Iterator[dict[str, Any]]:
    topic = sparkplug_topic(row["topic"])
    if topic is None:
        return
    said = _state(row["payload"]) if topic.type == STATE else _payload(row["payload"], decoder)
    server = row["direction"] == "server"
    named = topic.device or ("" if topic.type else row["topic"][:LONGEST_NAME])
    event = {
        "group": topic.group, "node": topic.node, "host": topic.type == STATE, "device": named, "server": server,
        "type": WILL if row["connects"] else topic.type, **said,
        **{name: row[name] for name in ("time", "capture", "frame", "pos", "dup")},
    }  # fmt: skip
    if server:
        yield {**event, "stream": row["who"]}
    if not server or topic.type in _WILLS:
        yield {**event, "stream": ""}


def _state(payload: bytes) -> dict[str, Any]:
    """Return whether a host is online, from its STATE."""
    if payload in _STATES:
        return {"online": _STATES[payload], "malformed": False}
    try:
        value = parse_json(payload)
    except ValueError:
        value = None
    online = value.get("online") if isinstance(value, dict) else None
    stamp = value.get("timestamp") if isinstance(value, dict) else None
    known = isinstance(online, bool)
    return {"online": online if known else None, "malformed": not known, "stamp": _fitting(stamp)}


def _payload(payload: bytes, decoder: SparkplugDecoder) -> dict[str, Any]:
    found = decoder.decode(payload)
    if found is None:
        return {"malformed": True}
    metrics = found.metrics[:MOST_METRICS]
    return {
        "malformed": False, "stamp": _fitting(found.timestamp_ms), "seq": _fitting(found.seq),
        "bd_seq": _fitting(found.bd_seq), "aliases": [_fitting(each.alias) for each in metrics],
        "names": [None if each.name is None else each.name[:LONGEST_NAME] for each in metrics],
    }  # fmt: skip


def _fitting(value: Any) -> int | None:
    """Return a number as 64 bits with a sign; larger ones become negative, which keeps them different."""
    if type(value) is not int or not -_INT64 <= value < 2 * _INT64:
        return None
    return value - 2 * _INT64 if value >= _INT64 else value
