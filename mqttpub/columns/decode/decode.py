"""Frames to rows of the table `packets`.

Packets of one shape are read together, field by field (`reader`), with their properties (`properties`); rare types and
irregular packets one by one by the scalar codec (`fallback`), whose rows take their places among the others. Each row
holds the values that the scalar codec reads.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...capture.protocol.evidence import first_bytes
from ...spec.declare import PACKETS as TYPES
from ...spec.packets import Publish, declared
from ...spec.properties import of_packet
from ...spec.versions import Version
from ...traffic.events import address_and_port
from ..arrays import NO_TIME, Mask, Octets, Rows
from ..arrow import MOST_BYTES, coded, coded_texts, numbers, replaced, slices, sparse, texts
from ..reassemble.frames import Frames
from ..schema import CODED, CODED_PACKETS, PACKETS, TIME, plain
from . import fallback
from .context import Memory
from .reader import CODES, Number, ReadFields, Text, read, shapes

_DIRECTIONS = ("client", "server", None)
_VERSIONS = tuple(Version(value).label if value in set(Version) else None for value in range(max(Version) + 1))


def _type_name(version: int, code: int) -> str:
    cls = declared(code, Version(version)) if version in set(Version) else None
    return cls.name if cls else f"TYPE {code}"


_SOUND = np.zeros((max(Version) + 1, 256), np.bool_)
"""By [version, first byte]: whether a packet can begin so; all other rows are read by the scalar codec."""
for _version in Version:
    _SOUND[_version, [*first_bytes(_version)]] = True
_ALLOWED = np.zeros((256, CODES), np.bool_)
"""By [Property Identifier, packet type]: whether the packet may have the property."""
for _code, _cls in TYPES.items():
    _ALLOWED[[row.id for row in of_packet(_cls.name)], _code] = True
_TYPES = tuple(_type_name(version, code) for version in range(max(Version) + 1) for code in range(CODES))
"""Names of packet types by version and code."""


def decode(
    frames: Frames, *, capture: str = "", keys: Sequence[str] | None = None, memory: Memory | None = None
) -> pa.RecordBatch:
    """Return a row of `packets` for each frame, in the same order; see `decode_coded`."""
    return plain(decode_coded(frames, capture=capture, keys=keys, memory=memory))


def decode_coded(
    frames: Frames, *, capture: str = "", keys: Sequence[str] | None = None, memory: Memory | None = None
) -> pa.RecordBatch:
    """Return a row of `packets` for each frame, in the same order, with dictionaries for texts that repeat.

    `keys` are those of `frames.connections`, by default `key`. `memory` carries clients and
    topic aliases from one batch to the next, which have to come in order. Raises ValueError
    when the buffer has 2 GiB or more.
    """
    if len(frames.buffer) > MOST_BYTES:
        raise ValueError(f"a batch has {len(frames.buffer)} bytes, but must have fewer than 2 GiB")
    keys = [key(each) for each in frames.connections] if keys is None else keys
    return _BatchDecoder(frames, keys, Memory() if memory is None else memory).batch(capture)


def key(ends: Any) -> str:
    """Return a key for a connection: its ends and its number."""
    return f"{ends.client}-{ends.server}#{ends.number}"


class _BatchDecoder:
    def __init__(self, frames: Frames, keys: Sequence[str], memory: Memory) -> None:
        self.frames = frames
        self.keys = keys
        self.memory = memory
        self.count = len(frames)
        self.buffer = pa.py_buffer(frames.buffer)
        self.data = Octets(np.frombuffer(frames.buffer or b"\0", np.uint8))
        self.version = frames.version
        self.code = self.data.byte(frames.start) >> 4
        self.found = ReadFields(self.count)
        self.columns: dict[str, pa.Array] = {}

    def batch(self, capture: str) -> pa.RecordBatch:
        bodies = self.read()
        self.cut()
        rows = np.flatnonzero(self.found.irregular)
        scalar = [self.scalar(row, bodies[row]) for row in rows.tolist()]
        self.about(capture, rows, scalar)
        self.merge(rows, scalar)
        self.conversation(rows, scalar)
        return pa.RecordBatch.from_arrays([self.columns[name] for name in PACKETS.names], schema=CODED_PACKETS)

    def read(self) -> Rows:
        """Read all packets that have a shape; return the bytes before each variable header, 0 for irregular packets."""
        start, end = self.frames.start, self.frames.end
        remaining, size = self.data.variable(start + 1)
        body = start + 1 + size
        regular = (size > 0) & (body + remaining == end)
        known, table = shapes()
        shape = np.where(regular, table[self.version, self.code], -1)
        for number in np.flatnonzero(np.bincount(shape + 1)[1:]).tolist():
            rows = np.flatnonzero(shape == number)
            read(known[number], self.data, rows, (start[rows], body[rows], end[rows]), self.found)
        self.found.irregular |= (shape < 0) | ~_SOUND[self.version, self.data.byte(start)]
        for rows, ids in self.found.entries.ids():
            self.found.irregular[rows[~_ALLOWED[ids, self.code[rows]]]] = True
        return np.where(regular, body - start, 0)

    def cut(self) -> None:
        """Cut texts out of the buffer; a row with a malformed text becomes irregular, and all are cut again."""
        while len(bad := self.bad_texts()):
            self.found.irregular[bad] = True

    def bad_texts(self) -> Rows:
        found = self.found
        bad = [found.entries.cut(self.buffer, found.irregular)]
        for name, places in found.texts.items():
            begin, end, valid = self.spans(places)
            data = slices(self.buffer, begin, end, valid)
            if PACKETS.field(name).type == pa.string():
                data, rows = coded_texts(data) if name in CODED else texts(data)
                bad.append(rows)
            self.columns[name] = data
        return np.concatenate(bad)

    def spans(self, places: list[Text]) -> tuple[Rows, Rows, Mask]:
        """Return where the text of each row begins and ends (int64), and whether it has one."""
        begin, end = np.zeros(self.count, np.int64), np.zeros(self.count, np.int64)
        valid = np.zeros(self.count, np.bool_)
        for text in places:
            begin[text.rows], end[text.rows] = text.begin, text.end
            valid[text.rows] = True if text.valid is None else text.valid
        return begin, end, valid & ~self.found.irregular

    def scalar(self, row: int, body: int) -> fallback.ScalarRow:
        """Read one packet with the scalar codec."""
        data = bytes(self.frames.buffer[int(self.frames.start[row]) : int(self.frames.end[row])])
        return fallback.read(data, Version(int(self.frames.version[row])), int(body))

    # columns

    def about(self, capture: str, rows: Rows, scalar: list[fallback.ScalarRow]) -> None:
        """Make the columns about where a packet comes from and what type it has."""
        frames, own = self.frames, self.columns
        if len(rows):
            self.version = frames.version.copy()
            self.version[rows] = [each.version for each in scalar]
        own["capture"] = coded([capture], np.zeros(self.count, np.int8))
        own["frame"], own["pos"] = numbers(frames.record), numbers(frames.offset)
        own["time"] = numbers(frames.time // 1000, frames.time != NO_TIME).view(TIME)
        own["direction"] = coded(_DIRECTIONS, frames.direction)
        own["version"] = coded(_VERSIONS, self.version)
        own["version_guessed"] = numbers(frames.guessed)
        own["type"] = coded(_TYPES, self.version * CODES + self.code)
        own["type_code"] = numbers(self.code.astype(np.int8))
        own["packet_bytes"] = numbers((frames.end - frames.start).astype(np.int32))

    def conversation(self, rows: Rows, scalar: list[fallback.ScalarRow]) -> None:
        """Make the columns that depend on earlier packets."""
        own, ends = self.columns, self.frames.connections
        own["connection"] = self.of_connection(self.keys)
        self.end("client", [each.client for each in ends])
        self.end("server", [each.server for each in ends])
        named = [(row, each.client) for row, each in zip(rows.tolist(), scalar, strict=True) if each.client != ""]
        own["client_id"] = self.memory.clients(self.keys, self.frames.connection, named)
        having, aliases = self.aliases(rows, scalar)
        own["topic_alias"] = sparse(having, aliases, self.count, PACKETS.field("topic_alias").type)
        connection, direction = self.frames.connection[having], self.frames.direction[having]
        own["resolved_topic"] = self.memory.topics(
            self.keys, connection.astype(np.int64), direction.astype(np.int64), having, aliases, own["topic"]
        )

    def end(self, name: str, shown: Sequence[str]) -> None:
        """Make the columns of one end of the connections."""
        places = [address_and_port(each) for each in shown]
        ports = np.array([-1 if port is None else port for _, port in places], np.int32)[self.frames.connection]
        self.columns[f"{name}_address"] = self.of_connection([address or None for address, _ in places])
        self.columns[f"{name}_port"] = numbers(ports, ports >= 0)

    def aliases(self, rows: Rows, scalar: list[fallback.ScalarRow]) -> tuple[Rows, Rows]:
        """Return the rows of PUBLISH packets that have a Topic Alias, in order, and their aliases."""
        having, aliases = self.found.entries.alias()
        published = self.code[having] == Publish.code
        more = [(row, each.alias) for row, each in zip(rows.tolist(), scalar, strict=True) if each.alias is not None]
        odd = np.array(more, np.int64).reshape(-1, 2)
        having = np.concatenate((having[published], odd[:, 0]))
        aliases = np.concatenate((aliases[published], odd[:, 1]))
        order = np.argsort(having)
        return having[order], aliases[order]

    def of_connection(self, words: Sequence[str | None]) -> pa.Array:
        return coded(words, self.frames.connection)

    def merge(self, rows: Rows, scalar: list[fallback.ScalarRow]) -> None:
        """Make the columns of the fields of packets, with the rows of the scalar codec."""
        odd: dict[str, list[tuple[int, Any]]] = {}
        for row, each in zip(rows.tolist(), scalar, strict=True):
            for name, value in each.cells.items():
                odd.setdefault(name, []).append((row, value))
        for field in PACKETS:
            name = field.name
            some = np.array([row for row, _ in odd.get(name, ())], np.int64)
            values = [value for _, value in odd.get(name, ())]
            if name in self.found.numbers:
                parts = [*self.found.numbers[name], Number(some, np.array(values), None)]
                self.columns[name] = self.number(field.type, parts)
            elif name in self.found.texts:
                self.columns[name] = replaced(self.columns[name], some, values)
            elif name not in self.columns:
                self.columns[name] = sparse(some, values, self.count, CODED_PACKETS.field(name).type)
        self.columns["properties"] = self.found.entries.array(
            (row, each.properties) for row, each in zip(rows.tolist(), scalar, strict=True)
        )
        self.columns["payload_bytes"] = pc.binary_length(self.columns["payload"])

    def number(self, type: pa.DataType, parts: list[Number]) -> pa.Array:
        """Merge parts into one Arrow array of `type`; the last part, from the scalar codec, overrides the others."""
        # Arrow calls numbers what numpy calls them; asking it for the type would import pandas before pyarrow 26.
        values: NDArray[Any] = np.zeros(self.count, str(type))
        valid = np.zeros(self.count, np.bool_)
        for part in parts[:-1]:
            values[part.rows] = part.values
            valid[part.rows] = True if part.valid is None else part.valid
        valid &= ~self.found.irregular
        values[parts[-1].rows], valid[parts[-1].rows] = parts[-1].values, True
        return numbers(values, valid)
