"""Sparkplug B, from bytes that are written by hand and by another compiler."""

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.payload.library import MissingLibrary
from mqttpub.payload.sparkplug import Metric, SparkplugDecoder, SparkplugPayload, SparkplugTopic, sparkplug_topic
from mqttpub.payload.values import Remarks
from tests.build.known_payloads import STAMP, block, metric, number, sparkplug

DECODER = SparkplugDecoder()


@pytest.mark.parametrize(
    ("topic", "parts"),
    [
        ("spBv1.0/g/NBIRTH/n", SparkplugTopic("NBIRTH", "g", "n")),
        ("spBv1.0/g/DDATA/n/d", SparkplugTopic("DDATA", "g", "n", "d")),
        ("spBv1.0/STATE/scada", SparkplugTopic("STATE", node="scada")),
        ("STATE/scada", SparkplugTopic("STATE", node="scada")),
        ("spBv1.0/g/NBIRTH/n/d", SparkplugTopic("")), ("spBv1.0/g/DBIRTH/n", SparkplugTopic("")),
        ("spBv1.0/g/OTHER/n", SparkplugTopic("")), ("spBv1.0/g/NDATA/", SparkplugTopic("")),
        ("spBv1.0", SparkplugTopic("")), ("spAv1.0/g/NBIRTH/n", None), ("a/STATE", None), ("STATE/a/b", None),
        ("", None),
    ],
)  # fmt: skip
def test_topics(topic: str, parts: SparkplugTopic | None) -> None:
    assert sparkplug_topic(topic) == parts


def test_bytes_that_are_written_by_hand() -> None:
    # timestamp 1, metric (name "bdSeq", timestamp 2, datatype 4 = Int64, long_value 7), seq 255
    data = bytes.fromhex("08 01 12 0d 0a 05 62 64 53 65 71 18 02 20 04 58 07 18 ff 01")
    assert DECODER.decode(data) == SparkplugPayload(1, 255, (Metric("bdSeq", None, 7, 4, 2),))
    inside = block(1, b"bdSeq") + number(3, 2) + number(4, 4) + number(11, 7)
    assert data == number(1, 1) + block(2, inside) + number(3, 255)


def test_the_values_of_metrics() -> None:
    minus = (1 << 64) - 5
    fields = {
        "int": number(4, 3) + number(10, (1 << 32) - 5), "byte": number(4, 1) + number(10, 0xFB),
        "long": number(4, 4) + number(11, minus), "unsigned": number(4, 8) + number(11, minus),
        "float": number(4, 9) + b"\x65" + struct.pack("<f", 0.5),
        "double": number(4, 10) + b"\x69" + struct.pack("<d", 0.1),
        "flag": number(4, 11) + number(14, 1), "text": number(4, 12) + block(15, "\u00fc".encode()),
        "bytes": number(4, 17) + block(16, b"\xff\0"), "dataset": number(4, 16) + block(17, number(1, 0)),
        "null": number(4, 3) + number(7, 1), "metadata": block(8, number(3, 9)) + block(9, block(1, b"q")),
    }  # fmt: skip
    data = b"".join(block(2, block(1, name.encode()) + content) for name, content in fields.items())
    found = DECODER.decode(data)
    assert found
    assert {each.name: each.value for each in found.metrics} == {
        "int": -5, "byte": -5, "long": -5, "unsigned": minus, "float": 0.5, "double": 0.1, "flag": True,
        "text": "\u00fc", "bytes": b"\xff\0", "dataset": b"\x08\0", "null": None, "metadata": None,
    }  # fmt: skip
    assert (found.seq, found.timestamp_ms, found.bd_seq) == (None, None, None)


def test_a_metric_that_is_null_has_no_value_whatever_is_beside_it() -> None:
    data = block(2, block(1, b"a") + number(4, 3) + number(7, 1) + number(10, 5)) + block(
        2, number(7, 0) + number(10, 5)
    )
    remarks = Remarks()
    found = DECODER.remarked(data, remarks)
    assert [each.value for each in found.metrics] == [None, 5]
    assert found == DECODER.decode(data)
    assert remarks.all() == ("$.metrics[0]: is_null is true, so int_value is not shown",)


def test_fields_that_the_specification_does_not_have_are_remarked() -> None:
    known = block(2, block(8, b"") + block(9, b"") + block(19, b"")) + block(4, b"uuid") + block(5, b"body")
    remarks = Remarks()
    DECODER.remarked(known + number(8, 1) + block(2, number(1, 5)), remarks)
    assert [each.split(" (")[0] for each in remarks.all()] == ["$: field 8", "$.metrics[1].name: field 1"]


def test_a_death_has_a_bd_seq() -> None:
    found = DECODER.decode(sparkplug(None, metric("other", None, 1), metric("bdSeq", None, 9)))
    assert found
    assert (found.bd_seq, found.seq, found.timestamp_ms) == (9, None, STAMP)


def test_a_name_that_is_not_utf_8_is_escaped() -> None:
    found = DECODER.decode(block(2, block(1, b"a\xff")))
    assert found
    assert found.metrics[0].name == "a\\xff"


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\xff\xff", b"\x12\x05\x0a", b"\x08" + b"\xff" * 11, b"ON", b"\x0b"])
def test_malformed_payloads_are_none(data: bytes) -> None:
    assert DECODER.decode(data) is None


@given(st.binary())
def test_any_bytes_have_an_answer(data: bytes) -> None:
    found = DECODER.decode(data)
    assert found is None or isinstance(found.bd_seq, int | None)


SCHEMA = """
syntax = "proto2";
message Metric {
    optional string name = 1; optional uint64 alias = 2; optional uint64 timestamp = 3; optional uint32 datatype = 4;
    oneof value { uint32 i = 10; uint64 l = 11; float f = 12; double d = 13; bool b = 14; string s = 15; bytes y = 16; }
}
message Payload { optional uint64 timestamp = 1; repeated Metric metrics = 2; optional uint64 seq = 3; }
"""


@pytest.mark.slow
def test_what_protoc_encodes(tmp_path: Path) -> None:
    (tmp_path / "p.proto").write_text(SCHEMA)
    text = 'timestamp: 5 seq: 3 metrics { name: "a" alias: 7 datatype: 10 d: 2.5 } metrics { alias: 8 s: "x" }'
    words = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--encode=Payload", "p.proto"]
    done = subprocess.run(words, input=text.encode(), cwd=tmp_path, capture_output=True, check=True)
    assert DECODER.decode(done.stdout) == SparkplugPayload(
        5, 3, (Metric("a", 7, 2.5, 10, None), Metric(None, 8, "x", None, None))
    )


def test_the_package_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*names: Any) -> None:
        raise MissingLibrary("format Sparkplug B needs protobuf")

    monkeypatch.setattr("mqttpub.payload.sparkplug.library", missing)
    with pytest.raises(MissingLibrary, match="protobuf"):
        SparkplugDecoder()
