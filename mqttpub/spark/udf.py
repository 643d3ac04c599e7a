"""`decode_mqtt`: decodes a column of control packets into columns."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..codec.connect_version import connect_layout
from ..columns.arrays import NO_TIME
from ..columns.decode.decode import decode
from ..columns.reassemble.frames import UNKNOWN, Frames
from ..columns.schema import PACKETS
from ..spec.constraints import SHORT
from ..spec.packets import Connect
from ..spec.versions import Version
from ..traffic.events import Endpoints
from .formats.errors import OptionError
from .formats.schema import arrow_schema, fitted, spark_schema

OF_CAPTURES = frozenset(
    ("capture", "frame", "pos", "time", "connection", "client_id", "client_address", "client_port", "server_address",
     "server_port", "direction", "version_guessed", "resolved_topic")
)  # fmt: skip
"""Columns that cannot be derived from a packet alone."""
PACKET = pa.schema([field for field in PACKETS if field.name not in OF_CAPTURES])
"""The columns of a decoded packet."""
SHORTEST = 2
TOO_SHORT = "a packet has 2 bytes or more"


def decode_mqtt(packet: Any, version: str = "5.0") -> Any:
    """Return a struct column with the packets of a binary column, one complete control packet per row.

    `version` is that of the connection; a CONNECT has its own. The field `error` says why a packet is
    malformed; null stays null. Raises OptionError for an unknown version.
    """
    from pyspark.sql.functions import arrow_udf

    try:
        number = Version.named(version)
    except ValueError as error:
        raise OptionError(str(error)) from None
    schema = spark_schema(PACKET)

    def decoded(data: pa.Array) -> pa.Array:
        return structs(data, number, arrow_schema(schema))

    decoded.__annotations__ = {"data": pa.Array, "return": pa.Array}
    return arrow_udf(decoded, schema)(packet)


def structs(data: pa.Array, version: Version, wanted: pa.Schema = PACKET) -> pa.StructArray:
    """Return packets as structs; null stays null."""
    data = data.cast(pa.binary())
    lengths = np.asarray(pc.binary_length(data).fill_null(-1))
    rows = np.flatnonzero(lengths >= SHORTEST)
    batch = decode(_frames(data, rows, version))
    places = np.full(len(data), -1, np.int64)
    places[rows] = np.arange(len(rows))
    columns = fitted(batch, wanted).take(pa.array(places, mask=places < 0))
    short = pa.array((lengths >= 0) & (lengths < SHORTEST))
    said = {"error": TOO_SHORT, "error_statement": SHORT.id(version)}
    arrays = [
        pc.if_else(short, pa.scalar(said[field.name], field.type), column) if field.name in said else column
        for field, column in zip(wanted, columns.columns, strict=True)
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(wanted), mask=pa.array(lengths < 0))


def _frames(data: pa.Array, rows: Any, version: Version) -> Frames:
    """Return some rows in the form that the decoder reads, without a copy of their bytes."""
    _, offsets, buffer = data.buffers()
    place = np.frombuffer(offsets or bytes(4), np.int32)[data.offset : data.offset + len(data) + 1].astype(np.int64)
    start, end, count = place[:-1][rows], place[1:][rows], len(rows)
    view = memoryview(buffer or b"")
    versions = np.full(count, version, np.uint8)
    for row in np.flatnonzero(np.frombuffer(view, np.uint8)[start] >> 4 == Connect.code).tolist() if count else ():
        versions[row] = connect_layout(bytes(view[start[row] : end[row]])) or version
    return Frames(
        view, start, end, time=np.full(count, NO_TIME, np.int64), record=np.zeros(count, np.int64),
        connection=np.zeros(count, np.int32), direction=np.full(count, UNKNOWN, np.uint8),
        offset=np.zeros(count, np.int64), version=versions, guessed=np.zeros(count, np.bool_),
        connections=[Endpoints(1, "", "")], others=[], places=[],
    )  # fmt: skip
