"""Frames of any packets, and what the scalar codec says of each: the truth that columns are held against."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Decoded
from mqttpub.columns.decode.decode import key
from mqttpub.columns.reassemble.frames import Frames, of_events
from mqttpub.columns.schema import PACKETS
from mqttpub.lint.packet.malformed import malformed
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.properties import PROPERTIES
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.context import ContextTracker
from mqttpub.traffic.events import Endpoints, Event, PacketSeen
from tests.build.events import START
from tests.strategies import encoded, versions

ENDS = [Endpoints(number, f"10.0.0.{number}:5000{number}", "10.0.0.99:1883") for number in (1, 2, 3)]
SECRET = b"\x16"
"""Identifier of Authentication Data, whose value no table holds."""


@st.composite
def broken(draw: st.DrawFn, version: Version) -> bytes:
    """Return a packet in which a few bytes are others, or some are missing or too many, its length still right."""
    data = bytearray(draw(encoded(version, draw(st.booleans()))))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data) - 1))
        data[at : at + draw(st.integers(0, 1))] = draw(st.binary(max_size=2))
        if len(data) < 2:
            data = bytearray(b"\0\0")
    if draw(st.booleans()) and len(data) < 128:
        data[1] = len(data) - 2
    return bytes(data)


aliased = st.builds(
    Publish,
    topic=st.sampled_from(("", "", "a", "b/c", "ü")),
    qos=st.just(0),
    payload=st.binary(max_size=3),
    properties=st.lists(st.builds(Property, st.just(0x23), st.integers(0, 3)), max_size=2).map(tuple),
)


@st.composite
def seen(draw: st.DrawFn, *, max_size: int = 30) -> list[PacketSeen]:
    """Return packets of three connections, right and wrong, in any order."""
    found = []
    for record in range(draw(st.integers(0, max_size))):
        version = draw(versions)
        own = st.builds(encode, aliased, st.just(version)) if version == Version.V5 else encoded(version)
        kinds = (own, encoded(version), encoded(version, False), broken(version))
        data = draw(draw(st.sampled_from(kinds)))
        direction = draw(st.sampled_from((Direction.CLIENT, Direction.SERVER, None)))
        time = draw(st.none() | st.integers(-(10**6), 10**6).map(lambda us: START + us * 1000))
        ends = draw(st.sampled_from(ENDS))
        found.append(PacketSeen(ends, time, record + 1, data, record * 7, direction, version, draw(st.booleans())))
    return found


def batches(events: Sequence[Event], cuts: Iterable[int]) -> Iterator[Frames]:
    """Yield frames of events, cut in some places."""
    for begin, end in pairwise([0, *sorted(cut for cut in cuts if cut <= len(events)), len(events)]):
        yield of_events(events[begin:end])


def shuffled(frames: Frames) -> Frames:
    """Return the same packets, lying in the buffer in another order and with other bytes between them."""
    buffer, start, end = bytearray(b"\xff\0"), frames.start.copy(), frames.end.copy()
    for row in reversed(range(len(frames))):
        data = bytes(frames.buffer[int(frames.start[row]) : int(frames.end[row])])
        start[row], end[row] = len(buffer), len(buffer) + len(data)
        buffer += data + b"\x30\xff"
    return Frames(
        memoryview(buffer), start, end, frames.time, frames.record, frames.connection, frames.direction, frames.offset,
        frames.version, frames.guessed, frames.connections, frames.others, frames.places,
    )  # fmt: skip


# the truth


def truth(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """Yield rows of `packets` as the scalar codec and Conversations tell them, one packet after the other."""
    conversations = ContextTracker()
    for event in events:
        if isinstance(event, PacketSeen):
            yield _row(event, conversations)


def _row(event: PacketSeen, conversations: ContextTracker) -> dict[str, Any]:
    decoded = decode(event.data, event.version)
    known = conversations.packet(event, decoded.packet)
    row = dict.fromkeys(PACKETS.names)
    row |= {
        "capture": "test.pcap", "frame": event.record, "pos": event.offset, "time": event.time and event.time // 1000,
        "connection": key(event.ends), "client_id": text(known.client) or None,
        **end_columns(event.ends),
        "direction": event.direction.value if event.direction else None,
        "version": decoded.version.label, "version_guessed": event.guessed,
        "type": decoded.name, "type_code": decoded.code, "packet_bytes": len(event.data),
    }  # fmt: skip
    if wrong := malformed(decoded):
        row |= {"error": wrong.message, "error_statement": wrong.statement}
    if known.topic:
        row["topic_alias"] = known.topic.alias
        row["resolved_topic"] = None if known.topic.name is None else text(known.topic.name)
    return row | _fields(decoded)


def end_columns(ends: Endpoints) -> dict[str, Any]:
    """Return the columns of two ends that have addresses of IPv4."""
    found: dict[str, Any] = {}
    for name, end in (("client", ends.client), ("server", ends.server)):
        address, _, port = end.rpartition(":")
        found |= {f"{name}_address": address or None, f"{name}_port": int(port) if port else None}
    return found


def _fields(decoded: Decoded) -> dict[str, Any]:
    """Return what the fields hold that the version has, by the names of columns."""
    packet = decoded.packet
    if packet is None:
        return {}
    cells = {}
    for name, value in packet.__dict__.items():
        if packet.fields[name].exists_in(decoded.version) and name != "client_id":
            cells[name] = text(value)
    if cells.get("payload") is not None:
        cells["payload_bytes"] = len(cells["payload"])
    cells |= _lists(cells, decoded)
    if will := cells.get("will"):
        own = (name for name in will.__dict__ if will.fields[name].exists_in(decoded.version))
        cells |= {f"will_{name}": text(getattr(will, name)) for name in own}
    for name in ("properties", "will_properties"):
        if cells.get(name) is not None:
            cells[name] = _properties(cells[name])
    return {name: value for name, value in cells.items() if name in PACKETS.names}


def _lists(cells: dict[str, Any], decoded: Decoded) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("reason_codes", "filters"):
        if name in cells:
            found[name] = [text(each) for each in cells[name]]
    if "subscriptions" in cells:
        found["filters"] = [text(each.filter) for each in cells["subscriptions"]]
        found["subscription_options"] = [_options(each, decoded.version) for each in cells["subscriptions"]]
    return found


def _options(each: Any, version: Version) -> dict[str, Any]:
    names = ("retain_handling", "retain_as_published", "no_local", "qos")
    return {name: getattr(each, name) if each.fields[name].exists_in(version) else None for name in names}


def _properties(found: Iterable[Property]) -> list[dict[str, Any]]:
    return [_property(*each) for each in found]


def _property(id: int, value: Any) -> dict[str, Any]:
    row = PROPERTIES.get(id)
    name, key = row.key if row else f"property_{id}", None
    if isinstance(value, tuple):
        key, value = text(value[0]), value[1]
    if isinstance(value, bytes):
        hidden = id == SECRET[0] or (row is None and SECRET in value)
        value = None if hidden else f"hex:{value.hex()}"
    number = value if isinstance(value, int) else None
    return {"id": id, "name": name, "key": key, "value": None if value is None else text(str(value)), "number": number}


def text(value: Any) -> Any:
    """Return None for a text that is not UTF-8; any other value unchanged."""
    return None if isinstance(value, str) and any("\ud800" <= each <= "\udfff" for each in value) else value


def rows(batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a batch, times in microseconds."""
    arrays = [array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array for array in batch.columns]
    names = batch.schema.names
    return [dict(zip(names, row, strict=True)) for row in zip(*(each.to_pylist() for each in arrays), strict=True)]
