"""Payload formats: what goes in, what comes out, and the place of what is wrong."""

import io
import json
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.cli.flags.payload import chosen_format, format_flags
from mqttpub.cli.main import main
from mqttpub.common.extras import installing
from mqttpub.payload.formats import FORMATS, converter, payload_size, random_payload

cbor2: Any = import_module("cbor2")
msgpack: Any = import_module("msgpack")
fastavro: Any = import_module("fastavro")

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
).filter(lambda value: "Infinity" not in json.dumps(value))


def said(convert: Callable[[bytes], object], data: bytes) -> str:
    """Return what a converter says about wrong data, nothing about right data."""
    try:
        convert(data)
    except ValueError as error:
        return str(error)
    return ""


# without libraries


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("text", "grün".encode(), "grün".encode()),
        ("json", b' { "a" : 1.50 ,\n "a": 1e999 } ', b' { "a" : 1.50 ,\n "a": 1e999 } '),
        ("json", b"9" * 5000, b"9" * 5000),
        ("hex", b"6869", b"hi"),
        ("hex", b" 68 69\n", b"hi"),
        ("hex", b"0x68, 0x69", b"hi"),
        ("hex", b"0000  68 69", b"hi"),
        ("hex", b" \n", b""),
        ("hex", b"", b""),
        ("base64", b"aGk=", b"hi"),
        ("base64", b"aGk\n", b"hi"),
        ("base64", b"-_8", b"\xfb\xff"),
        ("base64", b"", b""),
        ("binary", b"\x00\xff\r\n", b"\x00\xff\r\n"),
        ("raw", b"\x00\xff\r\n", b"\x00\xff\r\n"),
        ("cbor", b'{"a": [1, -1, 1.5, null, true, "x"]}', bytes.fromhex("a16161860120f93e00f6f56178")),
        ("msgpack", b'{"a": [1, -1, null, true, "x"]}', bytes.fromhex("81a1619501ffc0c3a178")),
    ],
)
def test_the_bytes_of_each_format(name: str, data: bytes, expected: bytes) -> None:
    if name == "cbor":  # libraries may choose the width of a float
        assert cbor2.loads(converter(name)(data)) == cbor2.loads(expected)
    else:
        assert converter(name)(data) == expected


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("text", b"a\xff", "text: byte 0xff at offset 1 is not UTF-8"),
        ("json", b'{"a": 1,\n b}', "json: line 2, column 2: the name of a member must be in double quotes"),
        ("json", b"", "json: column 1: it is empty, which is not JSON"),
        ("json", b'["NaN \\" Infinity", NaN]', "json: column 21: NaN is not JSON"),
        ("json", b"[\n-Infinity]", "json: line 2, column 1: -Infinity is not JSON"),
        ("json", b"\xef\xbb\xbf1", "json: column 1: the text begins with a byte order mark"),
        ("json", b"\x00[]", "json: column 1: no JSON value begins here"),
        ("json", b"[" * 100_000, "json: the JSON is nested too deeply"),
        ("hex", b"zz", "hex: column 1: 'z' is not a hex digit"),
        ("hex", b"68 69\n6g", "hex: line 2, column 2: 'g' is not a hex digit"),
        ("hex", b"686", "hex: column 3: '6' is a single hex digit, but a byte needs two"),
        ("hex", "６８".encode(), "hex: column 1: '\\uff16' is not a hex digit"),
        ("base64", b"aG!k", "base64: column 3: '!' is not a base64 character"),
        ("cbor", b'{"a": }', "cbor: column 7: no JSON value begins here"),
        ("cbor", b"[1e999]", "cbor: 1e999 does not fit a double"),
        ("cbor", b"9" * 5000, "cbor: a number has too many digits"),
        ("cbor", b'{"a": 1, "b": 2, "a": 3}', "cbor: 'a' occurs twice in one object"),
        ("cbor", b'{"a": [1, {"b": "\\ud800"}]}', "cbor: $.a[1].b: a lone surrogate cannot be encoded as UTF-8"),
        ("cbor", b'[{"\\ud800": 1}]', "cbor: $[0]: a lone surrogate cannot be encoded as UTF-8"),
        ("msgpack", b'{"a": [1, 18446744073709551616]}', "msgpack: $.a[1]: the number does not fit 64 bits"),
        ("msgpack", b"\xff", "msgpack: byte 0xff at offset 0 is not UTF-8"),
    ],
)
def test_errors_name_the_place_of_the_fault(name: str, data: bytes, sentence: str) -> None:
    assert said(converter(name), data) == sentence


@given(st.binary())
def test_hex_base64_and_binary_give_all_bytes_back(data: bytes) -> None:
    from base64 import b64encode

    assert converter("hex")(data.hex().encode()) == data
    assert converter("hex")(data.hex(" ").upper().encode()) == data
    assert converter("base64")(b64encode(data)) == data
    assert converter("binary")(data) == data


@given(st.sampled_from(sorted(name for name, each in FORMATS.items() if each.is_sent and not each.schema)), st.binary())
def test_any_bytes_are_sent_or_refused_in_a_sentence(name: str, data: bytes) -> None:
    assert re.fullmatch(rf"({name}: [^\n]+)?", said(converter(name), data))


@given(JSON)
def test_json_is_never_touched(value: Any) -> None:
    data = json.dumps(value, indent=1, ensure_ascii=False).encode()
    assert converter("json")(data) == data


@given(JSON)
def test_cbor_and_msgpack_carry_the_value_of_the_json(value: Any) -> None:
    data = json.dumps(value).encode()
    assert cbor2.loads(converter("cbor")(data)) == value
    assert msgpack.unpackb(converter("msgpack")(data), strict_map_key=False) == value


@pytest.mark.parametrize(
    ("name", "package"),
    [("cbor", "cbor2"), ("msgpack", "msgpack"), ("avro", "fastavro"), ("protobuf", "grpcio-tools")],
)
def test_a_missing_library_is_one_sentence(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "a.proto"
    path.write_text('syntax = "proto3"; message A { }')
    monkeypatch.setitem(sys.modules, {"grpcio-tools": "grpc_tools"}.get(package, package), None)
    schema = [str(path)] if FORMATS[name].schema else []
    sentence = f"format {name} needs {package}: {installing('formats')}"
    assert said(lambda _: converter(name, *schema), b"") == sentence


def test_libraries_are_imported_only_when_they_are_used() -> None:
    import subprocess

    code = "import mqttpub.cli.flags.payload, sys; print(sorted({'cbor2', 'msgpack', 'google', 'fastavro', 'json'}"
    done = subprocess.run([sys.executable, "-c", f"{code} & set(sys.modules)))"], capture_output=True, check=True)
    assert done.stdout == b"[]\n"


# Protocol Buffers

PROTO = """\
syntax = "proto3";
package pkg;
import "parts/inner.proto";
import "google/protobuf/timestamp.proto";
message Reading {
  string name = 1; int32 number = 2; repeated parts.Inner many = 3; map<string, uint32> counts = 4;
  bytes raw = 5; Color color = 6; google.protobuf.Timestamp at = 7; double value = 8; bool on = 9;
  repeated sint64 list = 10; uint64 big = 11; float small = 12;
  message Nested { bool x = 1; }
}
message Nested { }
enum Color { RED = 0; GREEN = 1; }
"""


@pytest.fixture
def proto(tmp_path: Path) -> str:
    """Write a .proto file that imports another and return its path."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "inner.proto").write_text(
        'syntax = "proto3"; package parts; message Inner { int32 k = 1; Inner next = 2; }'
    )
    path = tmp_path / "reading.proto"
    path.write_text(PROTO)
    return str(path)


def test_protobuf_decodes_to_the_value_of_the_json(proto: str) -> None:
    convert = converter("protobuf", proto, "pkg.Reading")
    data = convert(
        b'{"name": "x", "number": -2, "many": [{"k": 1}, {"k": 2, "next": {}}], "counts": {"b": 2, "a": 1},'
        b' "raw": "_-8", "color": "GREEN", "at": "2020-01-02T03:04:05Z", "value": "NaN", "on": true, "list": [-1, "5"]}'
    )
    assert data == bytes.fromhex(
        "0a0178 10feffffffffffffffff01 1a020801 1a0408021200 22050a01611001 22050a01621002"
        "2a02ffef 3001 3a0608a5bbb5f005 41000000000000f87f 4801 5202010a"
    )


@given(
    st.integers(-(1 << 31), (1 << 31) - 1), st.lists(st.integers(-(1 << 63), (1 << 63) - 1)), st.binary(), TEXT,
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
def test_protobuf_round_trips(number: int, numbers: list[int], raw: bytes, name: str, value: float) -> None:
    from base64 import b64encode

    convert, read = _reading()
    given = {"number": number, "list": numbers, "raw": b64encode(raw).decode(), "name": name, "value": value}
    message = read(convert(json.dumps(given).encode()))
    assert (message.number, list(message.list), message.raw, message.name) == (number, numbers, raw, name)
    assert message.value == value


@cache
def _reading() -> tuple[Callable[[bytes], bytes], Callable[[bytes], Any]]:
    """Return the converter of pkg.Reading, and what reads its bytes."""
    from mqttpub.payload.protobuf import Protobuf

    with TemporaryDirectory() as folder:
        path = Path(folder, "reading.proto")
        path.write_text(PROTO.replace('import "parts/inner.proto";', "message Inner {}").replace("parts.", ""))
        made = Protobuf(str(path), "Reading")
    return made.convert, made.message_class.FromString


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ('{"nam": 1}', "$.nam: pkg.Reading has no such field (name, number, many, counts, "),
        ('{"many": [{}, {"q": 1}]}', "$.many[1].q: parts.Inner has no such field (k, next)"),
        ('{"many": [{}, {"next": {"next": {"k": true}}}]}', "$.many[1].next.next.k: must be a number"),
        ('{"many": {}}', "$.many: must be an array"),
        ('{"list": null, "many": [{"[x.y]": 1}]}', "$.many[0]: "),
        ('{"many": [1]}', "$.many[0]: must be an object"),
        ('{"counts": [1]}', "$.counts: must be an object"),
        ('{"counts": {"a": -1}}', "$.counts.a: -1 is not in the range 0 to 4294967295"),
        ('{"number": 2147483648}', "$.number: 2147483648 is not in the range -2147483648 to 2147483647"),
        ('{"number": "x"}', "$.number: "),
        ('{"number": 1.5}', "$.number: Couldn't parse integer: 1.5"),
        ('{"many": [{}, {"k": 1.5}]}', "$.many[1].k: Couldn't parse integer: 1.5"),
        ('{"big": 18446744073709551616}', "$.big: 18446744073709551616 is not in the range 0 to 18446744073709551615"),
        ('{"name": 5}', "$.name: must be a string"),
        ('{"name": "\\ud800"}', "$.name: Unpaired surrogate"),
        ('{"raw": "!!"}', "$.raw: '!!' is not base64"),
        ('{"raw": ["aGk="]}', "$.raw: must be a string"),
        ('{"color": "BLUE"}', "$.color: Invalid enum value BLUE for enum type pkg.Color"),
        ('{"color": true}', "$.color: must be a name or a number"),
        ('{"on": 1}', "$.on: must be true or false"),
        ('{"at": "noon"}', "$.at: Failed to parse timestamp: "),
        ('{"small": 1e300}', "$.small: Float value too large"),
        ("[]", "$: must be an object"),
        ("null", "$: must be an object"),
        ("{", "column 2: the text ends before the JSON is complete"),
    ],
)
def test_protobuf_names_the_field_that_is_wrong(data: str, sentence: str, proto: str) -> None:
    assert said(converter("protobuf", proto, "pkg.Reading"), data.encode()).startswith(f"protobuf: {sentence}")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("pkg.Reading", ""),
        ("Reading", ""),
        ("parts.Inner", ""),
        ("pkg.Nested", ""),
        ("Reading.Nested", ""),
        ("Nested", "'Nested' names 2 messages of '{}' (pkg.Reading.Nested, pkg.Nested)"),
        ("Zz", "'Zz' names no message of '{}' (pkg.Reading, pkg.Reading.Nested, pkg.Nested)"),
        (None, "'{}' holds 3 messages, but no name was given (pkg.Reading, pkg.Reading.Nested, pkg.Nested)"),
    ],
)
def test_the_message_of_a_proto_file_is_found_by_its_name(name: str | None, sentence: str, proto: str) -> None:
    assert said(lambda data: converter("protobuf", proto, name)(data), b"{}") == sentence.format(proto)


def test_the_only_message_of_a_proto_file_needs_no_name(proto: str) -> None:
    assert converter("protobuf", str(Path(proto).parent / "parts" / "inner.proto"))(b'{"k": 1}') == b"\x08\x01"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('syntax = "proto3";\nmessage X { int32 b = 1 }', 'x.proto:2:25: Expected ";".'),
        ('syntax = "proto3";\nimport "y.proto";', 'x.proto:2:1: Import "y.proto" was not found or had errors.'),
        (None, "cannot read '{}': No such file or directory"),
    ],
)
def test_a_wrong_proto_file_is_named_with_the_place(text: str | None, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "x.proto"
    if text is not None:
        path.write_text(text)
    assert said(lambda _: converter("protobuf", str(path), "X"), b"") == sentence.format(path)


def test_imports_are_looked_up_from_the_working_directory_too(
    proto: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    Path("deep/a.proto").write_text('syntax = "proto3"; import "parts/inner.proto"; message A { parts.Inner i = 1; }')
    assert converter("protobuf", "deep/a.proto")(b'{"i": {"k": 1}}') == b"\x0a\x02\x08\x01"


def test_a_required_field_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "two.proto"
    path.write_text('syntax = "proto2"; message A { required int32 k = 1; }')
    assert said(converter("protobuf", str(path)), b"{}") == "protobuf: $: Message A is missing required fields: k"


# Avro

SCHEMA: dict[str, Any] = {
    "type": "record", "name": "Reading", "namespace": "pkg",
    "fields": [
        {"name": "i", "type": "int"},
        {"name": "l", "type": "long", "default": 3},
        {"name": "f", "type": "float", "default": 0},
        {"name": "d", "type": "double", "default": 0},
        {"name": "s", "type": "string", "default": ""},
        {"name": "b", "type": "bytes", "default": "\u00ff"},
        {"name": "on", "type": "boolean", "default": False},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}, "default": "A"},
        {"name": "fx", "type": {"type": "fixed", "name": "F", "size": 2}, "default": "ab"},
        {"name": "m", "type": {"type": "map", "values": "int"}, "default": {}},
        {"name": "u", "type": ["null", "bytes", "string", {"type": "array", "items": "F"}], "default": None},
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
        {"name": "next", "type": ["null", "Reading"], "default": None},
    ],
}  # fmt: skip


@pytest.fixture
def avsc(tmp_path: Path) -> str:
    """Write SCHEMA and return its path."""
    path = tmp_path / "pkg.Reading.avsc"
    path.write_text(json.dumps(SCHEMA))
    return str(path)


DEFAULTS = {
    "i": 1, "l": 3, "f": 0.0, "d": 0.0, "s": "", "b": b"\xff", "on": False, "e": "A", "fx": b"ab", "m": {}, "u": None,
    "next": None,
}  # fmt: skip


def avro_read(data: bytes, schema: Any = SCHEMA) -> Any:
    """Return what fastavro reads from a body."""
    return fastavro.schemaless_reader(io.BytesIO(data), fastavro.parse_schema(schema), None)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({}, {}),
        ({"l": -(1 << 63), "f": 1, "d": 1e300, "s": "ü"}, {"l": -(1 << 63), "f": 1.0, "d": 1e300, "s": "ü"}),
        ({"b": "\u0000\u00fe", "fx": "\u00fe "}, {"b": b"\x00\xfe", "fx": b"\xfe "}),
        ({"on": True, "e": "B", "m": {"k": 1}}, {"on": True, "e": "B", "m": {"k": 1}}),
        ({"u": "a"}, {"u": b"a"}),
        ({"u": "\u2603"}, {"u": "\u2603"}),
        ({"u": {"string": "a"}}, {"u": "a"}),
        ({"u": ["ab"]}, {"u": [b"ab"]}),
        ({"u": {"array": ["ab"]}}, {"u": [b"ab"]}),
        ({"u": None}, {}),
        ({"next": {"i": 1}}, {"next": DEFAULTS}),
        ({"next": {"pkg.Reading": {"i": 1}}}, {"next": DEFAULTS}),
    ],
)  # fmt: skip
def test_avro_decodes_to_the_value_of_the_json(given: dict[str, Any], read: dict[str, Any], avsc: str) -> None:
    value = avro_read(converter("avro", avsc)(json.dumps({"i": 1, **given}).encode()))
    for each in (value, value["next"] or {}):
        each.pop("t", None)
    assert value == {**DEFAULTS, **read}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ('{"i": "x"}', "$.i: must be a whole number in the range -2147483648 to 2147483647"),
        ('{"i": true}', "$.i: must be a whole number in the range "),
        ('{"i": 2147483648}', "$.i: must be a whole number in the range "),
        ('{"i": 1.0}', "$.i: must be a whole number in the range "),
        ("{}", "$.i: pkg.Reading needs it"),
        ('{"i": 1, "z": 1}', "$.z: pkg.Reading has no such field (i, l, f, "),
        ('{"i": 1, "f": 1e39}', "$.f: the number does not fit a float"),
        ('{"i": 1, "d": true}', "$.d: must be a number"),
        (f'{{"i": 1, "d": 1{"0" * 400}}}', "$.d: the number does not fit a double"),
        ('{"i": 1, "s": 1}', "$.s: must be a string"),
        ('{"i": 1, "s": "\\ud800"}', "$.s: a lone surrogate cannot be encoded as UTF-8"),
        ('{"i": 1, "b": "a\\u2603"}', "$.b: U+2603 is not a byte; each character must be U+0000 to U+00FF"),
        ('{"i": 1, "on": 1}', "$.on: must be true or false"),
        ('{"i": 1, "e": "C"}', "$.e: must be one of A, B"),
        ('{"i": 1, "e": []}', "$.e: must be one of A, B"),
        ('{"i": 1, "fx": "abc"}', "$.fx: must have 2 bytes, but has 3"),
        ('{"i": 1, "m": []}', "$.m: must be an object"),
        ('{"i": 1, "m": {"a": "x"}}', "$.m.a: must be a whole number "),
        ('{"i": 1, "m": {"\\ud800": 1}}', "$.m: a lone surrogate cannot be encoded as UTF-8"),
        ('{"i": 1, "u": 5}', "$.u: must be one of null, bytes, string, array"),
        ('{"i": 1, "u": {"array": ["abc"]}}', "$.u.array[0]: must have 2 bytes, but has 3"),
        ('{"i": 1, "next": {"i": 1, "l": "x"}}', "$.next.l: must be a whole number "),
        ('{"i": 1, "next": {"pkg.Reading": []}}', "$.next.pkg.Reading: must be an object"),
        ("[]", "$: must be an object"),
        ("[", "column 2: the text ends before the JSON is complete"),
    ],
)
def test_avro_names_the_field_that_is_wrong(given: str, sentence: str, avsc: str) -> None:
    assert said(converter("avro", avsc), given.encode()).startswith(f"avro: {sentence}")


def test_json_nested_too_deeply_is_refused(avsc: str, proto: str) -> None:
    deep = b'{"i": 1, "next": ' * 600 + b"null" + b"}" * 600
    assert said(converter("avro", avsc), deep) == "avro: the JSON is nested too deeply"
    deep = b'{"next": ' * 600 + b"null" + b"}" * 600
    assert said(converter("protobuf", proto, "parts.Inner"), deep) == "protobuf: the JSON is nested too deeply"


ANYTHING = ["null", "boolean", "long", "double", "string", {"type": "array", "items": ["null", "long", "string"]}]


@given(JSON.filter(lambda value: not isinstance(value, dict)))
def test_avro_sends_any_json_or_refuses_it(value: Any) -> None:
    data = json.dumps(value).encode()
    if sentence := said(anything(), data):
        assert sentence.startswith("avro: $: must be one of null, ")
    else:
        assert avro_read(anything()(data), ANYTHING) == value


@cache
def anything() -> Callable[[bytes], bytes]:
    """Return the converter of a schema that takes most of JSON."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "anything.avsc")
        path.write_text(json.dumps(ANYTHING))
        return converter("avro", str(path))


def test_avro_names_are_looked_up_in_files_beside(avsc: str) -> None:
    path = Path(avsc).parent / "outer.avsc"
    path.write_text(json.dumps({"type": "array", "items": "pkg.Reading"}))
    assert len(converter("avro", str(path))(b'[{"i": 1}]')) > 3


def test_a_schema_may_have_any_file_name(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('"long"')
    assert converter("avro", str(path))(b"-1") == b"\x01"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"type": "rec}', "'{}': line 1, column 10: the string that begins here has no end"),
        ('{"type": "recrd"}', "'{}' is not an Avro schema: "),
        ("5", "'{}' is not an Avro schema: "),
        ('{"type": "array"}', "'{}' is not an Avro schema: 'items'"),
        ('{"type": "record", "name": "R", "fields": [{"name": "x", "type": "Other"}]}', "'{}' is not an Avro schema: "),
        (None, "cannot read '{}': No such file or directory"),
    ],
)
def test_a_wrong_avsc_file_is_named(text: str | None, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "x.avsc"
    if text is not None:
        path.write_text(text)
    assert said(lambda _: converter("avro", str(path)), b"").startswith(sentence.format(path))


# random payloads


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0), ("512", 512), ("512B", 512), ("1K", 1024), ("1.5K", 1536), ("1KB", 1024), ("2MB", 2 << 20),
        ("0.1G", 107374182), ("1.9", 1), ("268435455", 268_435_455),
    ],
)  # fmt: skip
def test_sizes(text: str, size: int) -> None:
    assert payload_size(text) == size


@pytest.mark.parametrize("text", ["", "B", "-1", "1k", "1 K", "1.", ".5K", "1KK", "1T", "0x10", "１", "1\n"])
def test_texts_that_are_not_a_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size, such as 512, 1\.5K or 2MB"):
        payload_size(text)


def test_random_payloads_have_the_size_and_differ() -> None:
    assert len(random_payload("1.5K")) == 1536
    assert random_payload("32") != random_payload("32")


@pytest.mark.parametrize("text", ["268435456", "0.25G", "1G", "9" * 400 + "G"])
def test_a_payload_longer_than_a_packet_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is more than the 268435455 bytes that a packet can have"):
        random_payload(text)


# flags


@click.command()
@format_flags
def command(**given: Any) -> None:
    """Print what the chosen converter makes of a small JSON text."""
    convert = chosen_format(given)
    click.echo(f"{given['payload_size']} {convert(TEN).hex() if convert else None}")


TEN = b'{"k": 10}'


def run(*arguments: str) -> str:
    """Return what the command prints."""
    output = CliRunner().invoke(command, arguments, prog_name="x").output
    return output.splitlines()[-1].removeprefix("Error: ")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ([], "None None"),
        (["--format", "json"], f"None {TEN.hex()}"),
        (["--format", "cbor"], "None a1616b0a"),
        (["--payload-size", "1.5K"], "1.5K None"),
        (["-Ap", "a.avsc"], "None 02026b1400"),
        (["--avsc-path", "a.avsc", "--format", "avro"], "None 02026b1400"),
        (["--avsc-path", "a.avsc", "--format", "json"], "None 02026b1400"),
        (["-Pp", "a.proto", "-Pmn", "A"], "None 080a"),
        (["-Pp", "a.proto", "--format", "protobuf"], "None 080a"),
        (["--format", "avro"], "--format avro needs --avsc-path"),
        (["--format", "protobuf"], "--format protobuf needs --protobuf-path"),
        (["--format", "hex", "-Ap", "a.avsc"], "--avsc-path does not go with --format hex"),
        (["-Pp", "a.proto", "-Ap", "a.avsc"], "only one of --protobuf-path and --avsc-path at a time"),
        (["-Pmn", "A"], "--protobuf-message-name needs --protobuf-path"),
        (["-Ap", "/dev/zero"], "'/dev/zero' has more than 16,777,216 bytes, which is too many for a schema"),
        (["-Pp", "/dev/zero"], "'/dev/zero' has more than 16,777,216 bytes, which is too many for a schema"),
        (["-Ap", "b.avsc"], "cannot read 'b.avsc': No such file or directory"),
        (["--payload-size", "1k"], "Invalid value for '--payload-size': '1k' is not a size, such as 512, 1.5K or 2MB"),
    ],
)
def test_flags_choose_the_converter(
    arguments: list[str], shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.avsc").write_text('{"type": "map", "values": "long"}')
    Path("a.proto").write_text('syntax = "proto3"; message A { int32 k = 1; }')
    assert run(*arguments) == shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "a", "--payload-size", "3"], "--payload-size makes random bytes, which no format can convert"),
        (["--jsonl"], "a line of --jsonl names the form of its payload, so no format can be given for all"),
    ],
)
def test_a_format_that_would_be_ignored_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pub", "-p", "1", "--format", "hex", *arguments]) == 2
    assert capsys.readouterr().err == f"mqttpub pub: {message}\n"


def test_flags_refuse_a_format_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msgpack", None)
    assert run("--format", "msgpack") == f"format msgpack needs msgpack: {installing('formats')}"


def test_every_format_can_be_named() -> None:
    choice = next(param.type for param in command.params if param.name == "format")
    assert isinstance(choice, click.Choice)
    assert set(choice.choices) == {name for name, each in FORMATS.items() if each.is_sent}
