from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.spark.formats.errors import OptionError
from mqttpub.spark.udf import PACKET, TOO_SHORT, decode_mqtt, structs
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from mqttpub.traffic.events import Endpoints, PacketSeen
from tests.columns.packet_rows import truth
from tests.strategies import encoded

SHORT = {Version.V5: "2.1.4/short", Version.V311: "2.2.3/short", Version.V31: "2.1/short"}
VERSIONS = st.sampled_from(Version)


@settings(max_examples=40)
@given(st.data(), VERSIONS)
def test_each_row_equals_the_result_of_the_codec(data: Any, version: Version) -> None:
    packets = data.draw(st.lists(st.none() | encoded(version) | st.binary(max_size=12), max_size=8))
    column = pa.concat_arrays([pa.array([b"in front"]), pa.array(packets, pa.binary()), pa.array([b"behind"])])
    rows = structs(column[1:-1], version).to_pylist()
    assert len(rows) == len(packets)
    for row, packet in zip(rows, packets, strict=True):
        assert (row is None) == (packet is None)
        if packet is not None:
            _check(row, packet, version)


def _check(row: dict[str, Any], data: bytes, version: Version) -> None:
    if len(data) < 2:
        assert (row["error"], row["error_statement"]) == (TOO_SHORT, f"{version.prefix}-{SHORT[version]}")
        return
    event = PacketSeen(Endpoints(1, "", ""), None, 0, data, 0, None, version, False)
    (wanted,) = truth([event])
    assert row == {name: wanted[name] for name in PACKET.names}


def test_a_version_that_there_is_not() -> None:
    with pytest.raises(OptionError, match="'7' is not an MQTT version"):
        decode_mqtt("data", "7")


@pytest.mark.long
def test_in_spark(spark: Any) -> None:
    packets = [encode(Publish(topic=f"t/{n}", qos=1, packet_id=n + 1, payload=b"x" * n), Version.V5) for n in range(50)]
    table = spark.createDataFrame([(packet,) for packet in [*packets, None, b"\x30"]], "packet binary")
    rows = table.select(decode_mqtt("packet").alias("p")).select("p.*").collect()
    assert rows[0].__fields__ == PACKET.names
    assert [(row.topic, row.packet_id, len(row.payload)) for row in rows[:50]] == [
        (f"t/{n}", n + 1, n) for n in range(50)
    ]
    assert rows[50].topic is None
    assert rows[51].error == TOO_SHORT
