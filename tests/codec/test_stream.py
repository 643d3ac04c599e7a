"""Chunks in, whole packets out."""

from collections.abc import Iterable

import pytest

from mqttpub.codec.framing import frame_length
from mqttpub.codec.stream import MAX_PACKET, ConnectionStreams, Frame, LostSync, Stream
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.cursor import Overlong
from tests.checks import for_each
from tests.vectors import Vector, named, packets

V31, V311, V5 = Version
CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
PING = b"\xc0\x00"
FIVE = b"\x30\x80\x80\x80\x80\x01"
CONNECTS = {
    V31: named("mqttx pub -V 3.1: CONNECT").data,
    V311: named("mosquitto_pub: CONNECT").data,
    V5: named("mqttx pub -q 1: CONNECT").data,
}


def missing(vector: Vector) -> int:
    """Return how many bytes a vector lacks; less than 0 where it has too many, or no end of its length."""
    try:
        return (frame_length(vector.data) or len(vector.data) + 1) - len(vector.data)
    except Overlong:
        return -1


whole = [one for one in packets() if missing(one) == 0]
"""Vectors that are one whole packet, right or wrong."""
short = [one for one in packets() if missing(one) > 0]
each_whole = for_each(whole, lambda vector: vector.name)


def fed(stream: Stream, chunks: Iterable[bytes]) -> list[Frame]:
    return [frame for chunk in chunks for frame in stream.feed(chunk)]


def bites(data: bytes) -> list[bytes]:
    """Return single bytes; the inside of a large packet in one piece."""
    if len(data) < 20_000:
        return [data[at : at + 1] for at in range(len(data))]
    return [*bites(data[:20]), data[20:-20], *bites(data[-20:])]


# the vectors


@each_whole
def test_a_vector_is_one_frame(vector: Vector) -> None:
    stream = Stream(vector.direction)
    (frame,) = stream.feed(vector.data)
    assert (frame.data, frame.offset, frame.direction) == (vector.data, 0, vector.direction)
    assert (stream.pending, stream.offset) == (b"", len(vector.data))


@each_whole
def test_a_vector_byte_by_byte(vector: Vector) -> None:
    stream = Stream()
    *first, last = bites(vector.data)
    assert fed(stream, first) == []
    assert stream.pending == vector.data[:-1]
    assert [frame.data for frame in stream.feed(last)] == [vector.data]


@each_whole
def test_a_vector_between_others(vector: Vector) -> None:
    stream = Stream(version=vector.version)
    frames = list(stream.feed(PING + vector.data + PING + b"\x30"))
    assert [frame.data for frame in frames] == [PING, vector.data, PING]
    assert [frame.offset for frame in frames] == [0, 2, 2 + len(vector.data)]
    assert {frame.version for frame in frames} == {vector.version}
    assert stream.pending == b"\x30"


@for_each(short, lambda vector: vector.name)
def test_a_vector_that_is_cut_short_is_waited_for(vector: Vector) -> None:
    stream = Stream()
    assert list(stream.feed(vector.data)) == []
    assert stream.pending == vector.data


# offsets, versions, directions


def test_offsets_count_from_the_first_byte_of_the_stream() -> None:
    stream = Stream()
    frames = fed(stream, [PING + b"\x30", b"\x03", b"\x00\x01a" + PING])
    assert [(frame.offset, frame.data) for frame in frames] == [(0, PING), (2, b"\x30\x03\x00\x01a"), (7, PING)]
    assert stream.offset == 9


@pytest.mark.parametrize("version", Version)
def test_a_connect_tells_the_version_for_what_follows(version: Version) -> None:
    stream = Stream()
    frames = list(stream.feed(PING + CONNECTS[version] + PING))
    assert [frame.version for frame in frames] == [None, version, version]


def test_a_given_version_holds_until_a_connect_announces_another() -> None:
    stream = Stream(CLIENT, V5)
    frames = list(stream.feed(PING + CONNECTS[V31]))
    assert frames == [Frame(PING, 0, CLIENT, V5), Frame(CONNECTS[V31], 2, CLIENT, V31)]


def test_a_connect_without_a_known_version_changes_nothing() -> None:
    assert [frame.version for frame in Stream(version=V311).feed(b"\x10\x00")] == [V311]


# loss of sync


def test_a_fifth_byte_of_length_loses_sync_for_good() -> None:
    stream = Stream()
    frames = stream.feed(PING + FIVE)
    assert next(frames).data == PING
    with pytest.raises(LostSync) as caught:
        next(frames)
    assert (caught.value.offset, caught.value.message) == (2, "Remaining Length does not end at its fourth byte")
    assert str(caught.value) == "offset 2: Remaining Length does not end at its fourth byte"
    assert stream.lost is not None
    assert (stream.offset, stream.pending) == (2, FIVE)
    with pytest.raises(LostSync):
        list(stream.feed(b""))
    assert stream.pending == FIVE


def test_sync_is_lost_at_the_fourth_byte_and_not_before() -> None:
    stream = Stream()
    assert fed(stream, [b"\x30", b"\x80", b"\x80", b"\x80"]) == []
    with pytest.raises(LostSync):
        list(stream.feed(b"\x80"))


def test_a_packet_above_the_largest_loses_sync() -> None:
    stream = Stream(max_packet=7)
    assert len(list(stream.feed(b"\x30\x05\x00\x01abc"))) == 1
    with pytest.raises(LostSync) as caught:
        list(stream.feed(b"\x30\x06"))
    assert str(caught.value) == "offset 7: packet of 8 bytes, but 7 are allowed"


def test_a_large_packet_above_the_largest_loses_sync_at_its_header() -> None:
    stream = Stream(max_packet=1000)
    with pytest.raises(LostSync, match="packet of 268435460 bytes, but 1000 are allowed"):
        list(stream.feed(b"\x30\xff\xff\xff\x7f"))


def test_the_largest_packet_of_all_is_waited_for() -> None:
    assert MAX_PACKET == 268_435_460
    stream = Stream()
    assert list(stream.feed(b"\x30\xff\xff\xff\x7f")) == []
    assert stream.lost is None


def test_a_length_longer_than_necessary_is_still_a_length() -> None:
    assert [frame.data for frame in Stream().feed(b"\x30\x83\x80\x00\x00\x01a")] == [b"\x30\x83\x80\x00\x00\x01a"]


# connections


def test_both_directions_share_the_version_of_the_connect() -> None:
    connection = ConnectionStreams()
    (before,) = connection.feed(SERVER, PING)
    assert (before.version, connection.version) == (None, None)
    (connect,) = connection.feed(CLIENT, CONNECTS[V311])
    (answer,) = connection.feed(SERVER, b"\x20\x02\x00\x00")
    assert (connect.version, answer.version, connection.version) == (V311, V311, V311)
    assert (connect.direction, answer.direction) == (CLIENT, SERVER)


def test_each_direction_has_its_own_offsets_and_bytes() -> None:
    connection = ConnectionStreams(V5)
    assert list(connection.feed(CLIENT, b"\x30\x04\x00\x01")) == []
    (ping,) = connection.feed(SERVER, PING)
    (publish,) = connection.feed(CLIENT, b"a\x00")
    assert (ping.offset, publish.offset, publish.data) == (0, 0, b"\x30\x04\x00\x01a\x00")
    assert (ping.version, publish.version) == (V5, V5)


def test_only_the_first_packet_of_a_server_may_have_the_form_of_an_older_version() -> None:
    refusal = b"\x20\x02\x00\x01"
    connection = ConnectionStreams(V5)
    assert [frame.version for frame in connection.feed(SERVER, refusal + refusal)] == [V311, V5]
    assert [frame.version for frame in ConnectionStreams(V5).feed(SERVER, PING + refusal)] == [V5, V5]
    assert [frame.version for frame in ConnectionStreams().feed(SERVER, refusal)] == [None]
    assert connection.version == V5


def test_the_loss_of_one_direction_leaves_the_other() -> None:
    connection = ConnectionStreams()
    with pytest.raises(LostSync):
        list(connection.feed(CLIENT, FIVE))
    assert [frame.data for frame in connection.feed(SERVER, PING)] == [PING]


def test_both_directions_have_the_same_largest_packet() -> None:
    connection = ConnectionStreams(max_packet=7)
    for direction in Direction:
        with pytest.raises(LostSync):
            list(connection.feed(direction, b"\x30\x06"))


@pytest.mark.slow
def test_the_largest_packet_of_all() -> None:
    stream = Stream()
    data = b"\x30\xff\xff\xff\x7f" + bytes(268_435_455)
    assert list(stream.feed(data[:-1])) == []
    (frame,) = stream.feed(data[-1:])
    assert len(frame.data) == MAX_PACKET
