"""What holds for all packets and for all bytes: round trips, tiling, streams, limits of memory and time."""

import tracemalloc
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.stream import ConnectionStreams, Frame, LostSync, Stream
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Connect
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.cursor import Cursor
from mqttpub.wire.types import VARIABLE
from tests.checks import assert_sound, steps
from tests.strategies import conversations, directions, encoded, limits_of, packets, variables, versions

laws = settings(derandomize=True, deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
many = settings(laws, max_examples=200)
deep = settings(laws, max_examples=1500)
each_version = pytest.mark.parametrize("version", Version, ids=lambda version: version.label)
each_kind = pytest.mark.parametrize("valid", [True, False], ids=["valid", "loose"])
CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
FIVE = b"\x30\xff\xff\xff\xff\x01"
"""A Remaining Length of five bytes."""


@st.composite
def damaged(draw: st.DrawFn, version: Version) -> bytes:
    """Return the bytes of a packet with a few of them changed, cut out, doubled or cut off."""
    data = bytearray(draw(encoded(version, draw(st.booleans()))))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(start + 4, len(data))))
        data[start:stop] = draw(st.binary(max_size=4))
    return bytes(data[: draw(st.integers(0, len(data)))]) if draw(st.booleans()) else bytes(data)


# round trips


def round_trip(packet: Packet, version: Version) -> None:
    data = encode(packet, version)
    decoded = decode(data, version)
    assert decoded.packet == packet
    assert decoded.version == version
    assert encode(decoded.packet, version) == data
    assert_sound(decoded)


@pytest.mark.slow
@each_version
@each_kind
@laws
@given(data=st.data())
def test_decoding_gives_back_what_was_encoded(version: Version, valid: bool, data: st.DataObject) -> None:
    round_trip(data.draw(packets(version, valid)), version)


@pytest.mark.long
@each_version
@each_kind
@deep
@given(data=st.data())
def test_decoding_gives_back_what_was_encoded_deep(version: Version, valid: bool, data: st.DataObject) -> None:
    round_trip(data.draw(packets(version, valid)), version)


@each_version
@laws
@given(data=st.data())
def test_decoding_a_valid_packet_finds_nothing(version: Version, data: st.DataObject) -> None:
    packet = data.draw(packets(version))
    assert decode(encode(packet, version), version).findings == []


@each_version
@laws
@given(data=st.data())
def test_a_valid_packet_breaks_no_limit(version: Version, data: st.DataObject) -> None:
    packet = data.draw(packets(version))
    for field in packet.layout:
        value = getattr(packet, field.key)
        if value is not None and field.exists_in(version):
            assert [
                limit.violation(value) for limit in limits_of(field.limits, version) if limit.violation(value)
            ] == []


@each_version
@laws
@given(data=st.data())
def test_the_encoder_fills_in_omitted_fields(version: Version, data: st.DataObject) -> None:
    packet = data.draw(packets(version, code=Connect.code))
    missing = [
        field.key for field in packet.layout if field.fixed and getattr(packet, field.key) == field.fixed[version]
    ]
    missing += [
        field.key
        for field in packet.layout
        if field.derived and getattr(packet, field.key) is (getattr(packet, field.derived) is not None)
    ]
    assert encode(packet.replace(**dict.fromkeys(missing)), version) == encode(packet, version)


# any bytes


def any_bytes(data: bytes, version: Version) -> None:
    decoded = decode(data, version)
    assert_sound(decoded)
    if decoded.packet and not decoded.findings:
        assert encode(decoded.packet, decoded.version) == data


@many
@given(st.binary(max_size=80), versions)
def test_random_bytes_give_a_tree_and_no_exception(data: bytes, version: Version) -> None:
    any_bytes(data, version)


@pytest.mark.slow
@many
@given(versions.flatmap(lambda version: st.tuples(damaged(version), versions)))
def test_damaged_packets_give_a_tree_and_no_exception(drawn: tuple[bytes, Version]) -> None:
    any_bytes(*drawn)


@pytest.mark.long
@deep
@given(versions.flatmap(lambda version: st.tuples(damaged(version), versions)))
def test_damaged_packets_give_a_tree_and_no_exception_deep(drawn: tuple[bytes, Version]) -> None:
    any_bytes(*drawn)


@pytest.mark.slow
@each_version
@laws
@given(data=st.data())
def test_every_proper_prefix_gives_a_tree_but_no_packet(version: Version, data: st.DataObject) -> None:
    whole = data.draw(encoded(version))
    for size in range(len(whole)):
        decoded = decode(whole[:size], version)
        assert_sound(decoded)
        assert decoded.packet is None
        assert len(decoded.findings) == 1, decoded.findings


@laws
@given(versions.flatmap(lambda version: st.tuples(encoded(version), st.just(version))), st.integers(0, 2**40))
def test_an_offset_moves_nothing_in_the_tree(drawn: tuple[bytes, Version], offset: int) -> None:
    here, there = decode(*drawn), decode(*drawn, offset=offset)
    assert (here.offset, there.offset) == (0, offset)
    assert [(path, node.span, node.mask) for path, node in here.root.walk()] == [
        (path, node.span, node.mask) for path, node in there.root.walk()
    ]


# streams


def fed(stream: Stream, chunks: Iterable[bytes]) -> list[Frame]:
    return [frame for chunk in chunks for frame in stream.feed(chunk)]


def until_lost(stream: Stream, chunks: Iterable[bytes]) -> tuple[list[Frame], LostSync | None]:
    """Return the frames, and what ended the stream early."""
    frames: list[Frame] = []
    try:
        for chunk in chunks:
            for frame in stream.feed(chunk):
                frames.append(frame)  # noqa: PERF402 - those before the exception count
    except LostSync as lost:
        return frames, lost
    return frames, None


def cut(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """Return the bytes in chunks that end at the cuts; some are empty."""
    ends = [0, *sorted(end % (len(data) + 1) for end in cuts), len(data)]
    return [data[start:stop] for start, stop in pairwise(ends)]


streams = versions.flatmap(
    lambda version: conversations(version).map(lambda sent: [encode(packet, version) for _, packet in sent])
)
"""Lists of packets, as bytes, that begin with a CONNECT."""


@laws
@given(versions.flatmap(encoded))
def test_a_proper_prefix_of_a_packet_means_more(data: bytes) -> None:
    for size in range(len(data)):
        stream = Stream()
        assert list(stream.feed(data[:size])) == []
        assert stream.pending == data[:size]
        assert [frame.data for frame in stream.feed(data[size:])] == [data]
        assert stream.pending == b""


@laws
@given(streams, st.lists(st.integers(0)))
def test_chunks_do_not_matter(sent: list[bytes], cuts: list[int]) -> None:
    data = b"".join(sent)
    whole = fed(Stream(CLIENT), [data])
    assert [frame.data for frame in whole] == sent
    assert fed(Stream(CLIENT), cut(data, cuts)) == whole
    assert fed(Stream(CLIENT), (data[at : at + 1] for at in range(len(data)))) == whole


@pytest.mark.slow
@laws
@given(streams, streams)
def test_what_came_before_moves_the_offsets_of_frames(before: list[bytes], sent: list[bytes]) -> None:
    alone = fed(Stream(), sent)
    stream = Stream()
    head = fed(stream, before)
    behind = fed(stream, sent)
    shift = sum(map(len, before))
    assert stream.offset == shift + sum(map(len, sent))
    assert [frame.offset for frame in head] == [sum(map(len, before[:at])) for at in range(len(before))]
    assert behind == [frame._replace(offset=frame.offset + shift) for frame in alone]


@laws
@given(streams, st.lists(st.integers(0)), st.binary(max_size=20))
def test_sync_is_lost_at_a_fifth_byte_and_what_came_before_is_yielded(
    sent: list[bytes], cuts: list[int], behind: bytes
) -> None:
    stream = Stream(CLIENT)
    frames, lost = until_lost(stream, cut(b"".join(sent) + FIVE + behind, cuts))
    assert lost is not None
    assert [frame.data for frame in frames] == sent
    assert lost.offset == sum(map(len, sent)) == stream.offset
    with pytest.raises(LostSync) as again:
        next(stream.feed(b"\xc0\x00"))
    assert again.value.offset == lost.offset


@laws
@given(variables.map(VARIABLE.write) | st.binary(min_size=1, max_size=6).map(lambda data: data + b"\0\0\0\0"))
def test_sync_is_lost_at_a_fifth_byte_only(length: bytes) -> None:
    lost = len(length) > 3 and min(length[:4]) >= 0x80
    assert (until_lost(Stream(), [b"\x30" + length])[1] is not None) is lost


@laws
@given(streams, st.lists(st.integers(0), max_size=3), st.integers(0, 5))
def test_a_caller_that_stops_early_loses_nothing(sent: list[bytes], cuts: list[int], taken: int) -> None:
    stream, frames = Stream(), []
    for chunk in cut(b"".join(sent), cuts):
        for count, frame in enumerate(stream.feed(chunk)):
            frames.append(frame.data)
            if count == taken:
                break
    frames += [frame.data for frame in stream.feed(b"")]
    assert frames == sent


@pytest.mark.slow
@each_version
@laws
@given(data=st.data())
def test_both_directions_have_the_version_of_connect(version: Version, data: st.DataObject) -> None:
    sent = data.draw(conversations(version))
    assert ConnectionStreams().version is None
    connection = ConnectionStreams()
    for direction, packet in sent:
        (frame,) = connection.feed(direction, encode(packet, version))
        assert frame.direction is direction
        assert frame.version == version
        assert decode(frame.data, frame.version, direction=direction).packet == packet
    assert connection.version == version
    assert {stream.version for stream in connection.streams.values()} == {version}


@laws
@given(st.lists(st.tuples(directions, st.binary(max_size=30)), max_size=8))
def test_any_bytes_become_frames_and_pending_bytes(chunks: list[tuple[Direction, bytes]]) -> None:
    connection = ConnectionStreams(Version.V5)
    came = dict.fromkeys(Direction, b"")
    yielded = dict.fromkeys(Direction, b"")
    for direction, chunk in chunks:
        if not connection.streams[direction].lost:
            came[direction] += chunk
            with suppress(LostSync):
                for frame in connection.feed(direction, chunk):
                    yielded[direction] += frame.data
    for direction, stream in connection.streams.items():
        assert yielded[direction] + stream.pending == came[direction]
        assert stream.lost is None or stream.lost.offset == stream.offset == len(yielded[direction])


# values


@laws
@given(variables)
def test_a_variable_byte_integer_reads_back_in_the_fewest_bytes(value: int) -> None:
    written = VARIABLE.write(value)
    cursor = Cursor(written)
    assert VARIABLE.read(cursor) == value
    assert cursor.pos == len(written)
    assert len(written) == max(1, -(-value.bit_length() // 7))


# memory and time


def peak(action: Callable[[], object]) -> int:
    """Return the most bytes that were allocated at once while an action ran."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "data",
    [
        b"\x30\xff\xff\xff\x7f\x00\x01a",
        b"\x30\xff\xff\xff\x7f\x00\x01a\xff\xff\xff\x7f\x26",
        b"\x10\xff\xff\xff\x7f\xff\xff",
        b"\x82\xff\xff\xff\x7f\x00\x01\xff\xff\xff\x7f",
        b"\x30\x08\x00\x01a\xff\xff\xff\x7f\x26",
        b"\x30\x04\xff\xffab",
    ],
    ids=["remaining length", "property length too", "protocol name", "subscribe", "property length", "string"],
)
def test_nothing_is_allocated_from_a_length_that_is_only_declared(data: bytes) -> None:
    decode(b"", Version.V5)  # the first finding loads the statements
    stream = Stream()
    assert peak(lambda: list(stream.feed(data))) < 50_000
    assert peak(lambda: decode(data, Version.V5)) < 50_000


def test_memory_grows_with_what_came() -> None:
    stream = Stream()
    list(stream.feed(b"\x30\xff\xff\xff\x7f"))

    def feed() -> None:
        for _ in range(1000):
            list(stream.feed(bytes(1000)))

    assert peak(feed) < 4_000_000


def user_properties(count: int) -> bytes:
    """Return a PUBLISH with many user properties, each of the same name."""
    body = b"\x26\x00\x01k\x00\x01v" * count
    rest = b"\x00\x01a" + VARIABLE.write(len(body)) + body
    return b"\x30" + VARIABLE.write(len(rest)) + rest


@pytest.mark.slow
def test_work_is_linear_in_user_properties() -> None:
    few, many = user_properties(1_000), user_properties(25_000)
    decoded = decode(many, Version.V5)
    assert decoded.packet is not None
    assert decoded.findings == []
    assert len(decoded.packet.properties) == 25_000  # type: ignore[attr-defined]
    assert encode(decoded.packet, Version.V5) == many
    assert steps(lambda: decode(many, Version.V5)) < 26 * steps(lambda: decode(few, Version.V5))


def test_work_is_linear_in_small_chunks_of_a_large_packet() -> None:
    def feed(size: int) -> None:
        stream = Stream()
        data = b"\x30" + VARIABLE.write(size) + bytes(size)
        assert len(fed(stream, (data[at : at + 64] for at in range(0, len(data), 64)))) == 1

    assert steps(lambda: feed(500_000)) < 11 * steps(lambda: feed(50_000))


def test_work_is_linear_in_small_packets_of_a_large_chunk() -> None:
    def feed(count: int) -> None:
        assert len(fed(Stream(), [b"\xc0\x00" * count])) == count

    assert steps(lambda: feed(50_000)) < 11 * steps(lambda: feed(5_000))
