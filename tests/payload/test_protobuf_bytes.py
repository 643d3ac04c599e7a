"""Protocol Buffers by a .proto file that is not, or not quite, that of the sender."""

from pathlib import Path
from typing import Any

import pytest

from mqttpub.payload.formats import PayloadReader, payload_reader
from mqttpub.payload.values import MOST_VALUES

PROTO = """
syntax = "proto2";
message Reading {
  optional string name = 1; optional double value = 2; repeated Reading parts = 3; map<string, Reading> named = 4;
  repeated int32 numbers = 5;
}
"""


@pytest.fixture(scope="module")
def read(tmp_path_factory: Any) -> PayloadReader:
    path: Path = tmp_path_factory.mktemp("proto") / "r.proto"
    path.write_text(PROTO)
    return payload_reader("protobuf", str(path))


@pytest.mark.parametrize(
    ("body", "value", "remarks"),
    [
        ("0a 01 61 11 0000000000000080", {"name": "a", "value": -0.0}, []),
        ("2a 02 01 02 28 03", {"numbers": [1, 2, 3]}, []),  # packed, and not
        ("0a 01 61 48 05", {"name": "a"}, ["$: field 9 (varint) is not in the message Reading, and is not shown"]),
        (
            "10 05", {},
            ["$.value: field 2 (varint) does not have the wire type that Reading declares, and is not shown"],
        ),
        (
            "1a 02 48 01", {"parts": [{}]},
            ["$.parts[0]: field 9 (varint) is not in the message Reading, and is not shown"],
        ),
        (
            "22 09 0a 01 6b 12 04 4a 02 00 00", {"named": {"k": {}}},
            ["$.named.k: field 9 (length-delimited) is not in the message Reading, and is not shown"],
        ),
        ("4b 4c", {}, ["$: field 9 (group) is not in the message Reading, and is not shown"]),
    ],
)  # fmt: skip
def test_what_a_message_does_not_know_is_remarked(
    read: PayloadReader, body: str, value: Any, remarks: list[str]
) -> None:
    found = read(bytes.fromhex(body))
    assert (repr(found.value), list(found.remarks)) == (repr(value), remarks)


def test_remarks_are_counted(read: PayloadReader) -> None:
    remarks = read(bytes.fromhex("4801" * 100)).remarks
    assert len(remarks) == 9
    assert remarks[-1] == "92 more remarks like these"


def test_values_are_counted(read: PayloadReader) -> None:
    for body in (b"\x1a\0" * (MOST_VALUES + 1), b"\x28\1" * (MOST_VALUES + 1)):
        with pytest.raises(ValueError, match=f"protobuf: it has more than {MOST_VALUES} values"):
            read(body)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("0a 05 61", "it is not a message Reading: the field at offset 0 goes beyond the end of the payload"),
        ("0a 01 61 ff", "it is not a message Reading: the field at offset 3 goes beyond the end of the payload"),
        ("0a 01 61 0f", "it is not a message Reading: the field at offset 3 has the wire type 7, which does not exist"),
        ("00 01", "it is not a message Reading: the field at offset 0 has the number 0"),
        ("0a 01 61 48 ffffffffffffffffffff", "it is not a message Reading: the field at offset 3 goes beyond"),
        ("1a 01 ff", "it is not a message Reading: a message in it is malformed"),
        ("0a ffffffff07", "it is not a message Reading: the field at offset 0 goes beyond the end of the payload"),
        ("1a" * 100, "it is not a message Reading: "),
        ("0a 01 ff", "$.name: the text is not UTF-8"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(read: PayloadReader, body: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read(bytes.fromhex(body))
    assert str(caught.value).startswith(f"protobuf: {sentence}")
