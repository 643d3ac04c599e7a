"""values gives what decode gives, for all bytes; reader takes exactly what decode has no finding for."""

import ast
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec import fast_decode as module
from mqttpub.codec.connect_version import connect_layout
from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.encode import encode, encode_properties
from mqttpub.codec.fast_decode import Irregular, reader, source
from mqttpub.spec.declare import Group, Packet, Property
from mqttpub.spec.packets import PACKETS, Connect, Disconnect, Puback, Publish, Subscribe, Subscription, Will, declared
from mqttpub.spec.properties import BY_KEY, PROPERTIES, PropertyRow
from mqttpub.spec.versions import Version
from mqttpub.wire.types import BINARY, BYTE, MAX_VARIABLE, PAIR, STRING, U16, U32, VARIABLE, WireType
from tests.checks import for_each
from tests.strategies import encoded, packets

V31, V311, V5 = Version
KINDS = [(cls, version) for cls in PACKETS.values() for version in Version if declared(cls.code, version)]
NAMES = [f"{cls.__name__}-{version.label}" for cls, version in KINDS]
versions = st.sampled_from(Version)
wholes = versions.flatmap(lambda version: st.tuples(encoded(version, valid=False), st.just(version)))
SAMPLES: dict[WireType, tuple[Any, ...]] = {
    BYTE: (0, 1, 255),
    U16: (0, 256, 0xFFFF),
    U32: (0, 0x01020304, 0xFFFFFFFF),
    VARIABLE: (0, 127, 128, 300, 16_384, MAX_VARIABLE),
    BINARY: (b"", b"\0\xff", bytes(300)),
    STRING: ("", "a", "\u00e9\u20ac\U0001f600", "\udcff", "\0", "x" * 300),
    PAIR: (("", ""), ("name", "value"), ("\udc80", "v" * 300)),
}

# What has to hold


def same(data: bytes, version: Version) -> Packet | None:
    """Check one input against decode, types and order of the values included."""
    expected, got = decode(data, version), decode_packet(data, version)
    assert got == expected.packet
    assert repr(got) == repr(expected.packet)
    assert hash(got) == hash(expected.packet)
    if frame := header(data):
        regular(data, version, frame, not expected.findings)
    return got


def header(data: bytes) -> tuple[int, int] | None:
    """Return where the variable header of a whole packet starts and the packet ends."""
    for size in range(1, min(5, len(data))):
        remaining = data[1 : 1 + size]
        if remaining == VARIABLE.write(len(data) - 1 - size):
            return 1 + size, len(data)
    return None


def regular(data: bytes, version: Version, frame: tuple[int, int], clean: bool) -> None:
    """Check that the reader takes the packet if and only if decode found nothing."""
    read = reader(data[0] >> 4, connect_layout(data) or version)
    for around in (data, data + bytes(9), data + b"\xff" * 9):
        if clean:
            assert read(around, data[0], *frame) == decode(data, version).packet
        else:
            with pytest.raises(Irregular):
                read(around, data[0], *frame)


def published(properties: bytes, payload: bytes = b"") -> bytes:
    """Return a PUBLISH with these bytes for its Property Length and properties."""
    return framed(0x30, b"\0\1t" + properties + payload)


def framed(first: int, body: bytes) -> bytes:
    return bytes((first,)) + VARIABLE.write(len(body)) + body


# All packets, all bytes


@pytest.mark.slow
@pytest.mark.parametrize(("cls", "version"), KINDS, ids=NAMES)
@settings(max_examples=30)
@given(st.data())
def test_every_packet_type_is_read_as_it_was_built(cls: type[Packet], version: Version, data: st.DataObject) -> None:
    packet = data.draw(packets(version, valid=False, code=cls.code))
    got = same(encode(packet, version), version)
    assert type(got) is cls
    assert got == packet
    assert list(vars(got)) == list(cls.fields)


@given(wholes, st.data())
def test_changed_bytes_are_read_as_decode_reads_them(whole: tuple[bytes, Version], data: st.DataObject) -> None:
    mutable = bytearray(whole[0])
    for _ in range(data.draw(st.integers(1, 4))):
        mutable[data.draw(st.integers(0, len(mutable) - 1))] = data.draw(st.integers(0, 255))
    same(bytes(mutable), whole[1])
    same(bytes(mutable), data.draw(st.sampled_from(Version)))


@given(wholes)
def test_cut_packets_are_read_as_decode_reads_them(whole: tuple[bytes, Version]) -> None:
    data, version = whole
    for stop in range(min(len(data), 80)):
        same(data[:stop], version)


@given(wholes)
def test_a_shorter_remaining_length(whole: tuple[bytes, Version]) -> None:
    data, version = whole
    start, end = header(data) or (0, 0)
    for stop in range(start, min(end, 80)):
        same(framed(data[0], data[start:stop]), version)


@given(wholes, st.binary(max_size=9))
def test_bytes_after_a_packet_are_judged_as_decode_judges_them(whole: tuple[bytes, Version], more: bytes) -> None:
    data, version = whole
    start, _ = header(data) or (0, 0)
    same(data + more, version)
    same(framed(data[0], data[start:] + more), version)


@given(st.binary(max_size=60), versions)
def test_random_bytes_are_read_as_decode_reads_them(data: bytes, version: Version) -> None:
    same(data, version)


@given(st.integers(0, 255), st.lists(st.sampled_from((0, 1, 2, 3, 0x0B, 0x26, 0x80, 0x81, 255))), versions)
def test_random_bodies_are_read_as_decode_reads_them(first: int, body: list[int], version: Version) -> None:
    same(framed(first, bytes(body)), version)


@pytest.mark.parametrize("version", Version)
def test_short_bodies_of_every_first_byte_are_read_as_decode_reads_them(version: Version) -> None:
    for first in range(256):
        for body in (
            b"",
            b"\0",
            b"\0\1",
            b"\0\1\0",
            b"\0\1\0\0",
            b"\0\1\x10\x03",
            b"\0\1\0\x02\x26",
            bytes(3) + b"\1" + bytes(4),
        ):
            same(framed(first, body), version)


# Properties


@pytest.mark.parametrize("row", PROPERTIES.values(), ids=BY_KEY)
def test_every_property_is_read_even_twice(row: PropertyRow) -> None:
    for value in SAMPLES[row.type]:
        listed = (Property(row.id, value), Property(row.id, value))
        got = same(encode(Publish(topic="t", properties=listed, payload=b"p"), V5), V5)
        assert isinstance(got, Publish)
        assert got.properties == listed
        assert all(type(each) is Property for each in got.properties)


@pytest.mark.parametrize("row", PROPERTIES.values(), ids=BY_KEY)
def test_a_property_that_is_cut_gives_no_packet(row: PropertyRow) -> None:
    whole = encode_properties((Property(row.id, SAMPLES[row.type][1]),))[1:]
    for stop in range(1, len(whole)):
        for tail in (b"", b"p", whole[stop:], bytes(5)):
            assert same(published(bytes((stop,)) + whole[:stop], tail), V5) is None


@for_each(range(256), hex)
def test_every_property_identifier_is_read_as_decode_reads_it(id: int) -> None:
    for stated in (bytes((id,)), bytes((id | 0x80, 0)), bytes((id | 0x80, id >> 1 | 1))):
        for value in (b"", b"\0", b"\1\2", b"\0\0\0\0", b"\0\1a\0\1b"):
            same(published(bytes((len(stated + value),)) + stated + value), V5)


def test_an_unknown_property_keeps_the_rest() -> None:
    data = encode(Publish(topic="t", properties=(Property(1, 1), Property(0x7E, b"rest"))), V5)
    got = same(data, V5)
    assert isinstance(got, Publish)
    assert got.properties == (Property(1, 1), Property(0x7E, b"rest"))


def test_a_property_length_far_beyond_the_packet() -> None:
    assert same(published(b"\xff\xff\xff\x7f", b"\x01\x00" * 9), V5) is None


def test_a_property_length_does_not_reach_into_the_next_packets() -> None:
    class Watched(bytes):
        reads = 0

        def __getitem__(self, key: Any) -> Any:
            self.reads += 1
            return super().__getitem__(key)

    data = Watched(published(b"\xff\xff\xff\x7f") + b"\x01\x00" * 5000)
    with pytest.raises(Irregular):
        reader(3, V5)(data, 0x30, 2, 9)
    assert data.reads < 20


def test_a_long_property_list() -> None:
    listed = tuple(Property(0x26, (f"name {index}", "value" * index)) for index in range(90))
    got = same(encode(Publish(topic="t", properties=listed), V5), V5)
    assert isinstance(got, Publish)
    assert got.properties == listed


# Single cases


@pytest.mark.parametrize(
    "data",
    [
        b"\x30\x83\x00\x00\x01t",
        b"\x30\x84\x80\x80\x00\x00\x01t",
        b"\xe0\x80\x00",
        b"\x30\x06\x00\x01t\x80\x00p",
        b"\x30\x08\x00\x01t\x83\x00\x0b\x81\x00",
        b"\x30\x07\x00\x01t\x03\x0b\x81\x00",
    ],
)
def test_a_variable_byte_integer_longer_than_need_be(data: bytes) -> None:
    assert decode(data, V5).findings
    assert (same(data, V5) is None) == (decode(data, V5).packet is None)


def test_an_overlong_variable_byte_integer() -> None:
    assert same(b"\x30\xff\xff\xff\xff\x01", V5) is None
    assert same(framed(0x30, b"\0\1t\xff\xff\xff\xff\x01"), V5) is None
    assert same(framed(0x30, b"\0\1t\x06\x0b\xff\xff\xff\xff\x01"), V5) is None


def test_trailing_bytes_leave_the_values() -> None:
    assert same(b"\x40\x03\x00\x07\x99", V311) == Puback(packet_id=7)
    assert same(b"\xc0\x01\x00", V5) is not None
    with pytest.raises(Irregular):
        reader(4, V311)(b"\x40\x03\x00\x07\x99", 0x40, 2, 5)


def test_complete_packets_with_faults() -> None:
    wrong = Publish(dup=True, qos=3, retain=True, topic="\udcff", packet_id=0)
    assert same(b"\x3f\x06\x00\x01\xff\x00\x00\x00", V5) == wrong
    assert same(b"\x4f\x03\x00\x01\x77", V5) == Puback(flags=15, packet_id=1, reason_code=0x77)


def test_reason_code_and_properties_may_be_left_out() -> None:
    assert same(b"\xe0\x00", V5) == Disconnect()
    assert same(b"\xe0\x01\x04", V5) == Disconnect(reason_code=4)
    assert same(b"\xe0\x02\x04\x00", V5) == Disconnect(reason_code=4, properties=())


@pytest.mark.parametrize("flags", [0x80, 0xC0, 0x40])
def test_connect_31_without_the_user_name_it_announces(flags: int) -> None:
    body = b"\0\6MQIsdp\3" + bytes((flags,)) + b"\0\x3c\0\1c"
    got = same(framed(0x10, body), V5)
    assert isinstance(got, Connect)
    assert (got.username, got.password) == (None, None)
    assert (got.username_flag, got.password_flag) == (bool(flags & 0x80), bool(flags & 0x40))
    assert same(framed(0x10, body.replace(b"\0\6MQIsdp\3", b"\0\4MQTT\4")), V31) is None


@pytest.mark.parametrize("announced", Version)
@pytest.mark.parametrize("version", Version)
def test_connect_is_read_by_the_version_it_announces(announced: Version, version: Version) -> None:
    will = Will(topic="w", payload=b"gone")
    connect = Connect(client_id="c", will=will, username="u", password=b"p")
    got = same(encode(connect, announced), version)
    assert isinstance(got, Connect)
    assert (got.protocol_level, got.will, got.password) == (announced, will, b"p")


@pytest.mark.parametrize("level", [0, 2, 6, 0x83, 0x84, 255])
def test_connect_of_another_level(level: int) -> None:
    for version in Version:
        same(encode(Connect(client_id="c", will=None, protocol_level=level), version), V5)


@pytest.mark.parametrize(("code", "version"), [(0, V5), (0, V31), (15, V31), (15, V311)])
def test_a_reserved_type_has_no_reader(code: int, version: Version) -> None:
    assert same(bytes((code << 4, 0)), version) is None
    with pytest.raises(Irregular):
        reader(code, version)(bytes((code << 4, 0)), code << 4, 2, 2)
    with pytest.raises(ValueError, match=f"no packet type {code}"):
        source(code, version)


def test_no_bytes_and_one_byte_are_no_packet() -> None:
    assert same(b"", V5) is None
    assert same(b"\x30", V5) is None


def test_equal_instances_that_can_be_changed() -> None:
    got = same(encode(Subscribe(packet_id=1, subscriptions=(Subscription(filter="a/#", qos=1),)), V5), V5)
    assert isinstance(got, Subscribe)
    assert got.replace(packet_id=2).subscriptions == (Subscription(filter="a/#", qos=1),)


# The generated source


@pytest.mark.parametrize(("cls", "version"), KINDS, ids=NAMES)
def test_source_holds_only_the_table(cls: type[Packet], version: Version) -> None:
    text = source(cls.code, version)
    words = {None, "utf-8", "surrogateescape", *keys(cls)}
    constants = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert {each for each in constants if not isinstance(each, int)} <= words
    assert all(each < 256 for each in constants if isinstance(each, int))
    hostile = "'); raise SystemExit #\n\""
    for data in (encode(Publish(topic=hostile), V5), framed(cls.code << 4, hostile.encode())):
        decode_packet(data, version)
    assert source(cls.code, version) == text


@pytest.mark.parametrize("row", PROPERTIES.values(), ids=BY_KEY)
def test_source_of_a_property_holds_only_its_row(row: PropertyRow) -> None:
    tree = ast.parse(module.property_source(row))
    constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert row.id in constants
    assert {each for each in constants if not isinstance(each, int)} <= {"utf-8", "surrogateescape"}


def keys(cls: type[Group]) -> set[str]:
    """Return the names of the fields of a packet and of the groups in it."""
    inner = [keys(field.item) for field in cls.layout if isinstance(field.item, type)]
    return set(cls.fields).union(*inner)


def test_a_function_is_made_once_and_not_before_it_is_needed() -> None:
    assert reader(3, V5) is reader(3, V5)
    line = f"import {module.__name__} as m; raise SystemExit(m.reader.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", line], check=False).returncode == 0
