"""Pieces of connections in, packets out."""

import pickle
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.protocol.demux import MqttDemux
from mqttpub.capture.protocol.handler import MemoryBudget
from mqttpub.capture.protocol.mqtt_connection import MqttConnection
from mqttpub.capture.types import Piece
from mqttpub.codec.encode import encode
from mqttpub.spec.packets import Connect, Disconnect, Publish, Suback, Subscribe, Subscription
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Closed, Event, GapSeen, PacketSeen, Remark
from tests.build.pieces import (
    CLIENT,
    CONNACKS,
    CONNECTS,
    PINGREQ,
    PINGRESP,
    SERVER,
    V5,
    V31,
    V311,
    Script,
    Sent,
    assert_tiled,
    bites,
    boundaries,
    chunked,
    events,
    flow,
    gaps,
    packets_in,
    puback,
    publish,
    remarks,
    seen,
    sent,
)
from tests.strategies import conversations, versions

HELLO = bytes.fromhex(
    "1603010043 0100003f 0303" + "11" * 32 + "00" + "00021301" + "0100" + "0014" + "00000010000e00000b"
    + b"broker.test".hex()
)  # fmt: skip

talks = versions.flatmap(lambda version: conversations(version).map(lambda talk: sent(version, talk)))


def opened(version: Version = V5, **more: Any) -> Script:
    """Return a connection that has begun."""
    return Script(flow(**more)).send(CLIENT, CONNECTS[version]).send(SERVER, CONNACKS[version])


# laws


@pytest.mark.slow
@settings(max_examples=20)
@given(st.data(), talks)
def test_however_it_is_cut_the_same_packets_come(data: st.DataObject, talk: Sent) -> None:
    script = Script(flow())
    for end, chunk in data.draw(chunked(talk.packets)):
        script.send(end, chunk)
    found = script.end("FIN", *Direction).events()
    for end in Direction:
        assert seen(found, end) == talk.of(end)
        assert_tiled(found, end, len(talk.stream(end)))
    packets = packets_in(found)
    assert {(each.version, each.guessed, each.ends) for each in packets} == {
        (talk.version, False, (1, "10.0.0.1:50000", "10.0.0.2:4711", True))
    }


@settings(max_examples=20)
@given(talks)
def test_byte_by_byte_gives_the_same_events(talk: Sent) -> None:
    whole, single = Script(flow()), Script(flow())
    for end, data in talk.packets:
        whole.send(end, data)
        single.send(end, *bites(data))
    assert [each._replace(time=0, record=0) for each in whole.events()] == [
        each._replace(time=0, record=0) for each in single.events()
    ]


@settings(max_examples=60)
@given(st.data(), talks, st.booleans())
def test_missing_bytes_leave_no_hole_and_no_wrong_packet(data: st.DataObject, talk: Sent, opened: bool) -> None:
    check_with_something_missing(data, talk, opened)


@pytest.mark.long
@settings(max_examples=500)
@given(st.data(), talks, st.booleans())
def test_missing_bytes_leave_no_hole_in_long_runs(data: st.DataObject, talk: Sent, opened: bool) -> None:
    check_with_something_missing(data, talk, opened)


def check_with_something_missing(data: st.DataObject, talk: Sent, opened: bool) -> None:
    script, sizes = (
        Script(flow(opened=opened)).send(CLIENT, talk.packets[0][1]),
        Counter({CLIENT: len(talk.packets[0][1])}),
    )
    for end, chunk in data.draw(chunked(talk.packets[1:])):
        sizes[end] += len(chunk)
        script.miss(end, len(chunk)) if data.draw(st.integers(0, 3)) == 0 else script.send(end, chunk)
    found = script.end("FIN", *Direction).events()
    for end in Direction:
        stream = talk.stream(end)
        assert_tiled(found, end, sizes[end])
        starts = set(boundaries(stream))
        for each in found:
            if isinstance(each, PacketSeen) and each.direction is end:
                assert each.offset in starts
                assert each.data == stream[each.offset : each.offset + len(each.data)]


@pytest.mark.slow
@settings(max_examples=100)
@given(st.data(), talks)
def test_mutations_never_raise(data: st.DataObject, talk: Sent) -> None:
    script = Script(flow(data.draw(st.sampled_from((1883, 4711))), opened=data.draw(st.booleans())))
    for end, chunk in data.draw(chunked(talk.packets)):
        raw = bytearray(chunk)
        for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=2)):
            raw[at] = data.draw(st.integers(0, 255))
        script.miss(end, len(raw)) if data.draw(st.integers(0, 9)) == 0 else script.send(end, bytes(raw))
    for each in script.end(data.draw(st.sampled_from(("FIN", "RST", "end")))).events():
        assert isinstance(each, (PacketSeen, GapSeen, Closed, Remark))


@given(
    st.lists(st.tuples(st.sampled_from(Direction), st.binary(max_size=300)), max_size=20), st.booleans(), st.booleans()
)
def test_any_bytes_never_raise(chunks: list[tuple[Direction, bytes]], opened: bool, forced: bool) -> None:
    script = Script(flow(1883 if forced else 4711, opened=opened))
    for end, data in chunks:
        script.send(end, data)
    script.end().events()


# packets


def test_each_packet_has_the_time_and_the_record_that_completed_it() -> None:
    found = Script(flow()).send(CLIENT, CONNECTS[V5], PINGREQ[:1], PINGREQ[1:] + PINGREQ).events()
    assert [(each.time, each.record, each.offset) for each in packets_in(found)] == [
        (1000, 1, 0), (3000, 3, 17), (3000, 3, 19),
    ]  # fmt: skip


@pytest.mark.parametrize("cut", range(1, 6))
@pytest.mark.parametrize("size", [100, 200, 20_000, 2_200_000])
def test_a_remaining_length_in_two_segments(size: int, cut: int) -> None:
    packet = publish(bytes(size))
    found = opened().send(CLIENT, PINGREQ + packet[:cut], packet[cut:] + PINGREQ).events()
    assert seen(found, CLIENT)[1:] == [PINGREQ, packet, PINGREQ]


def test_many_packets_in_one_segment() -> None:
    many = [publish(b"%d" % number) for number in range(1000)]
    assert seen(opened().send(SERVER, b"".join(many)).events(), SERVER)[1:] == many


@pytest.mark.parametrize("version", Version)
def test_the_version_of_the_connect_holds_for_both_ends(version: Version) -> None:
    found = opened(version).send(SERVER, publish(version=version)).events()
    assert {each.version for each in packets_in(found)} == {version}


def test_a_new_connect_on_the_same_connection_changes_the_version() -> None:
    bye = encode(Disconnect(), V5)
    found = opened(V5).send(CLIENT, bye + CONNECTS[V311] + PINGREQ).send(SERVER, CONNACKS[V311]).events()
    assert [each.version for each in packets_in(found)] == [V5, V5, V5, V311, V311, V311]


def test_an_answer_that_was_captured_before_the_connect_has_its_version() -> None:
    found = Script(flow()).send(SERVER, CONNACKS[V311]).send(CLIENT, *bites(CONNECTS[V311])).events()
    assert [(each.direction, each.version) for each in packets_in(found)] == [
        (SERVER, V311), (CLIENT, V311),
    ]  # fmt: skip


@pytest.mark.parametrize("opened", [True, False])
def test_who_opened_the_connection_is_the_client_or_else_who_sends_the_connect(opened: bool) -> None:
    script = Script(flow(opened=opened)).send(SERVER, CONNECTS[V311]).send(CLIENT, CONNACKS[V311])
    first, second, _ = script.events()
    assert isinstance(first, PacketSeen)
    assert isinstance(second, PacketSeen)
    ends = flow().ends[:: 1 if opened else -1]
    assert first.ends == second.ends == (1, *ends, opened)
    assert (first.direction, second.direction) == ((SERVER, CLIENT) if opened else (CLIENT, SERVER))
    assert first.version == second.version == V311


@pytest.mark.parametrize("end", Direction)
@pytest.mark.parametrize("data", [CONNACKS[V5], encode(Suback(packet_id=1, reason_codes=(0,)), V5), PINGREQ, PINGRESP])
def test_the_end_that_opened_the_connection_is_the_client(end: Direction, data: bytes) -> None:
    found = Script(flow(1883)).send(end, data, publish()).send(CLIENT, PINGRESP).send(SERVER, PINGREQ).events()
    packets = packets_in(found)
    assert {each.ends for each in packets} == {(1, *flow(1883).ends, True)}
    assert [each.direction for each in packets] == [end, end, CLIENT, SERVER]
    assert remarks(found)[0].endswith("the client is the end that opened the connection")


def test_many_connections_at_the_same_time() -> None:
    scripts = [opened(number=number).send(SERVER, publish(b"%d" % number)) for number in range(1, 20)]
    pieces: list[Piece] = [piece for row in zip(*(each.pieces for each in scripts), strict=True) for piece in row]
    found = events(pieces)
    for number in range(1, 20):
        own = [each for each in found if each.ends.number == number]
        assert seen(own, SERVER)[-1] == publish(b"%d" % number)


def test_connections_are_forgotten_when_both_sides_have_ended() -> None:
    streams = MqttDemux()
    empty = pickle.dumps(streams)
    for piece in opened().end("FIN", CLIENT, SERVER).pieces:
        list(streams.feed(piece))
    assert pickle.dumps(streams) == empty
    for piece in opened(number=2).end("FIN", SERVER).end("RST", SERVER).end("end").pieces:
        list(streams.feed(piece))
    assert pickle.dumps(streams) == empty


def test_a_connect_that_the_server_sends_does_not_make_it_the_client() -> None:
    found = opened().send(SERVER, CONNECTS[V311]).send(CLIENT, PINGREQ).events()
    assert [each.direction for each in packets_in(found)] == [CLIENT, SERVER, SERVER, CLIENT]


def connection(streams: MqttDemux) -> MqttConnection:
    """Return the first connection, which is MQTT for certain."""
    found = streams.connection(flow())
    assert found
    return found


def test_a_large_packet_is_put_together_once() -> None:
    packet = publish(bytes(1_000_000))
    streams = MqttDemux()
    for piece in opened().send(CLIENT, packet[:1000], packet[1000:2000]).pieces:
        list(streams.feed(piece))
    sender = connection(streams).senders[0]
    assert (sender.due, len(sender.begun or b"")) == (len(packet), 2000)


def crowded(limit: int, *steps: tuple[int, bytes]) -> list[Event]:
    """Return the events of connections on which bytes come in turn, where all of them together may hold few bytes."""
    streams = MqttDemux(budget=MemoryBudget(limit))
    found: list[Event] = []
    for number in sorted({number for number, _ in steps}):
        for piece in opened(number=number).pieces:
            found += streams.feed(piece)
    for number, data in steps:
        for piece in Script(flow(number=number)).send(CLIENT, data).pieces:
            found += streams.feed(piece)
        streams = pickle.loads(pickle.dumps(streams))
    found += streams.finish()
    assert streams.budget.size == 0
    assert not streams.budget.shares
    return found


def test_the_packet_that_waits_longest_makes_room_for_others_and_what_follows_is_read() -> None:
    long, more = publish(bytes(9000)), publish(bytes(3000))
    steps = [(1, long[:7000]), (2, more[:2000]), (3, more[:2500]), (1, long[7000:] + publish()), (2, more[2000:])]
    found = crowded(10_000, *steps, (3, more[2500:]))
    gaps = [each for each in found if isinstance(each, GapSeen)]
    assert [(each.ends.number, each.length, each.malformed) for each in gaps] == [(1, len(long), False)]
    assert gaps[0].message == (
        f"no room for a PUBLISH of {len(long):,} bytes: all connections together hold more than "
        f"10,000 bytes of incomplete data; reading continues at its end, offset {gaps[0].offset + len(long):,}"
    )
    for number, last in ((1, publish()), (2, more), (3, more)):
        assert seen([each for each in found if each.ends.number == number], CLIENT)[-1] == last


def test_a_packet_larger_than_all_may_wait_for_is_read() -> None:
    long, other = publish(bytes(50_000)), publish(bytes(1500))
    found = crowded(10_000, (1, long[:20_000]), (2, other[:900]), (1, long[20_000:40_000]), (2, other[900:]),
                    (1, long[40_000:]))  # fmt: skip
    assert seen(found, CLIENT)[-2:] == [other, long]
    assert not [each for each in found if isinstance(each, GapSeen)]


# ends


def test_a_side_that_closes_and_then_resets_is_one_side() -> None:
    script = opened().end("FIN", SERVER).end("RST", SERVER).send(CLIENT, PINGREQ).end("end")
    assert seen(script.events(), CLIENT) == [CONNECTS[V5], PINGREQ]


def test_both_ends_close() -> None:
    found = opened().end("FIN", CLIENT, SERVER).events()
    assert [(each.direction, each.how) for each in found if isinstance(each, Closed)] == [
        (CLIENT, "FIN"), (SERVER, "FIN"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("how", "text", "malformed"),
    [
        ("FIN", "the connection was closed 5 bytes into a PUBLISH of 13 bytes", True),
        ("RST", "the connection was reset 5 bytes into a PUBLISH of 13 bytes", False),
        ("end", "the capture ends 5 bytes into a PUBLISH of 13 bytes", False),
    ],
)
def test_an_end_within_a_packet(how: str, text: str, malformed: bool) -> None:
    (gap,) = gaps(opened().send(CLIENT, publish()[:5]).end(how, CLIENT).events())
    assert (gap.message, gap.malformed, gap.offset, gap.length) == (text, malformed, 17, 5)
    assert gap.data == publish()[:5]


def test_an_end_within_a_header() -> None:
    (gap,) = gaps(opened().send(SERVER, b"\x30").end("FIN", SERVER).events())
    assert gap.message == "the connection was closed 1 byte into a packet"


def test_after_a_reset_the_other_side_is_cut_short_by_it() -> None:
    found = opened().send(SERVER, b"\x30").end("RST", CLIENT).end("end").events()
    assert [each.message for each in gaps(found)] == ["the connection was reset 1 byte into a packet"]
    assert [each.how for each in found if isinstance(each, Closed)] == ["RST"]


def test_a_capture_that_just_ends() -> None:
    found = opened().send(SERVER, publish()[:3]).events()
    assert [each.message for each in gaps(found)] == ["the capture ends 3 bytes into a PUBLISH of 13 bytes"]
    assert isinstance(found[-1], Closed)


# what is no packet


def test_a_remaining_length_of_five_bytes_ends_the_direction() -> None:
    wrong = b"\x30\xff\xff\xff\xff\x01" + bytes(100)
    found = opened().send(CLIENT, PINGREQ + wrong, PINGREQ).send(SERVER, PINGRESP).events()
    (gap,) = gaps(found)
    assert (gap.offset, gap.length, gap.malformed, gap.data) == (19, None, True, wrong[:64])
    assert gap.message == "Remaining Length does not end at its fourth byte; nothing after it is read"
    assert seen(found, CLIENT) == [CONNECTS[V5], PINGREQ]
    assert seen(found, SERVER) == [CONNACKS[V5], PINGRESP]


def test_a_remaining_length_of_five_bytes_byte_by_byte() -> None:
    (gap,) = gaps(opened().send(CLIENT, *bites(b"\x30\xff\xff\xff\xff\x01")).events())
    assert (gap.offset, gap.malformed) == (17, True)


def test_a_packet_above_the_largest() -> None:
    found = opened().send(CLIENT, publish(bytes(100)), PINGREQ).events(max_packet=50)
    (gap,) = gaps(found)
    assert (gap.malformed, gap.length) == (False, None)
    assert gap.message == "a PUBLISH of 108 bytes, but 50 are allowed; nothing after it is read"


# gaps


def test_a_gap_within_a_packet_ends_where_the_packet_ends() -> None:
    packet = publish(bytes(1000), qos=1, packet_id=7)
    script = opened().send(CLIENT, packet[:100]).miss(CLIENT, 300).send(CLIENT, packet[400:] + PINGREQ)
    found = script.events()
    (gap,) = gaps(found)
    assert (gap.offset, gap.length, gap.malformed, gap.record) == (17, len(packet), False, 5)
    assert gap.data == packet[:64]
    assert gap.message == (
        "300 bytes are missing from the capture, within a PUBLISH of 1,011 bytes; "
        "reading continues at its end, offset 1,028"
    )
    assert seen(found, CLIENT) == [CONNECTS[V5], PINGREQ]


def test_a_gap_up_to_the_end_of_a_packet() -> None:
    packet = publish(bytes(1000))
    found = opened().send(CLIENT, packet[:100]).miss(CLIENT, len(packet) - 100).send(CLIENT, PINGREQ).events()
    assert [(each.offset, each.length, each.record) for each in gaps(found)] == [(17, len(packet), 4)]
    assert seen(found, CLIENT)[1:] == [PINGREQ]


def test_many_gaps_within_a_packet_are_one() -> None:
    packet = publish(bytes(1000))
    script = opened().send(CLIENT, packet[:100]).miss(CLIENT, 100).send(CLIENT, packet[200:300]).miss(CLIENT, 700)
    (gap,) = gaps(script.send(CLIENT, packet[1000:] + PINGREQ).events())
    assert gap.length == len(packet)
    assert gap.message.startswith("800 bytes are missing from the capture in 2 places, within a PUBLISH")


def test_a_gap_within_the_last_packet() -> None:
    (gap,) = gaps(opened().send(CLIENT, publish(bytes(100))[:50]).miss(CLIENT, 20).events())
    assert (gap.length, gap.malformed) == (70, False)
    assert gap.message.endswith("but the stream ends first")


def test_after_a_gap_that_hides_a_header_three_packets_have_to_follow_one_another() -> None:
    later = publish(b"x") * 3
    script = opened().send(CLIENT, PINGREQ).miss(CLIENT, 100).send(CLIENT, b"end of something" + later[:-1], later[-1:])
    (gap,) = gaps(script.events())
    assert (gap.offset, gap.length, gap.record) == (19, 116, 5)
    assert gap.message == (
        "100 bytes are missing from the capture; reading continues where 3 packets follow one another, offset 135"
    )
    assert seen(script.events(), CLIENT)[2:] == [publish(b"x")] * 3


def test_two_packets_are_not_enough_within_a_segment() -> None:
    script = opened().miss(CLIENT, 100).send(CLIENT, b"end of something" + publish(b"x") * 2 + b"\x30")
    (gap,) = gaps(script.events())
    assert gap.length is None
    assert gap.message == "100 bytes are missing from the capture, and no certain start of a packet follows"


def test_one_packet_is_enough_that_fills_a_segment() -> None:
    found = opened().miss(CLIENT, 100).send(CLIENT, publish()).events()
    assert [each.message for each in gaps(found)] == [
        (
            "100 bytes are missing from the capture; "
            "reading continues where 1 packet and a segment begin and end together, offset 117"
        )
    ]
    assert seen(found, CLIENT)[1:] == [publish()]


def test_packets_after_a_gap_keep_their_times() -> None:
    script = (
        opened().miss(CLIENT, 100).send(CLIENT, b"rest of it", publish(b"1") + publish(b"2")[:5], publish(b"2")[5:])
    )
    found = [each for each in script.events() if isinstance(each, PacketSeen) and each.direction is CLIENT]
    assert [(each.record, each.data) for each in found[1:]] == [(5, publish(b"1")), (6, publish(b"2"))]


def test_packets_cut_off_by_the_snap_length() -> None:
    packet = publish(bytes(1000))
    script = opened()
    for _ in range(3):
        script.send(CLIENT, packet[:96]).miss(CLIENT, len(packet) - 96)
    found = script.send(CLIENT, PINGREQ).events()
    assert [each.length for each in gaps(found)] == [len(packet)] * 3
    assert seen(found, CLIENT)[1:] == [PINGREQ]


def test_a_packet_cut_off_during_a_search_is_found() -> None:
    packet = publish(bytes(1000))
    script = opened().miss(CLIENT, 500).send(CLIENT, packet[:96]).miss(CLIENT, len(packet) - 96).send(CLIENT, PINGREQ)
    found = script.events()
    assert [(each.offset, each.length) for each in gaps(found)] == [(17, 500), (517, len(packet))]
    assert seen(found, CLIENT)[1:] == [PINGREQ]


def test_a_gap_that_is_the_last_thing() -> None:
    (gap,) = gaps(opened().miss(CLIENT, 500).events())
    assert (gap.offset, gap.length, gap.message) == (17, 500, "500 bytes are missing from the capture")


def test_packets_much_larger_than_the_window_are_found_again() -> None:
    packet = publish(bytes(100_000))
    stream = packet * 5
    script = opened().miss(CLIENT, 1000)
    for at in range(1000, len(stream), 1460):
        script.send(CLIENT, stream[at : at + 1460])
    found = script.events()
    assert seen(found, CLIENT)[1:] == [packet] * len(seen(found, CLIENT)[1:])
    assert len(seen(found, CLIENT)) >= 2
    assert_tiled(found, CLIENT, 17 + len(stream))


def test_the_other_direction_continues() -> None:
    found = opened().miss(CLIENT, 100).send(SERVER, publish()).events()
    assert seen(found, SERVER)[1:] == [publish()]


def test_the_search_keeps_little_and_takes_little_time() -> None:
    noise = random.Random(1).randbytes(300_000)
    script = opened().miss(CLIENT, 100)
    for at in range(0, len(noise), 1460):
        script.send(CLIENT, noise[at : at + 1460])
    streams = MqttDemux()
    for piece in script.pieces:
        list(streams.feed(piece))
    finder = connection(streams).senders[0].finder
    assert finder
    assert len(finder.window) <= 1 << 16


# connections whose beginning was not captured


def subscribe(version: Version = V5) -> bytes:
    return encode(Subscribe(packet_id=9, subscriptions=(Subscription(filter="a/#"),)), version)


def test_packets_that_follow_one_another_are_mqtt_on_any_port() -> None:
    found = Script(flow(opened=False)).send(CLIENT, publish() + subscribe() + publish()).events()
    assert seen(found, CLIENT) == [publish(), subscribe(), publish()]
    assert remarks(found) == [
        (
            "no CONNECT was captured: version 5.0 guessed from 3 packets; without errors: 3 in 5.0, 2 in 3.1.1, "
            "2 in 3.1; the client is the end that sends SUBSCRIBE"
        )
    ]
    assert all(each.guessed and each.version is V5 for each in found if isinstance(each, PacketSeen))


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("bitten", [False, True])
def test_a_client_that_begins_without_connect_is_an_mqtt_client(version: Version, bitten: bool) -> None:
    packets = [publish(version=version), subscribe(version), PINGREQ]
    chunks = bites(b"".join(packets)) if bitten else [b"".join(packets)]
    found = Script(flow()).send(CLIENT, *chunks).send(SERVER, PINGRESP).events()
    assert seen(found, CLIENT) == packets
    assert seen(found, SERVER) == [PINGRESP]
    assert {each.ends for each in found} == {(1, *flow().ends, True)}


def test_a_packet_of_each_end_is_mqtt_without_connect_if_they_are_all_that_is_sent() -> None:
    script = Script(flow()).send(CLIENT, subscribe()).send(SERVER, encode(Suback(packet_id=9, reason_codes=(0,)), V5))
    assert len(packets_in(script.end("FIN", SERVER, CLIENT).events())) == 2


@pytest.mark.parametrize(
    ("client", "server"),
    [
        (publish() * 2 + b"\x30\x05\x00\x09a", b""),
        (b"\0" + publish() * 8, b""),
        (publish()[1:] + publish() * 8, b""),
        (publish() * 2, b"220 hello\r\n"),
        (PINGREQ, b""),
        (PINGREQ * 2, b""),
        (publish() * 2 + publish()[:4], b""),
    ],
)
def test_bytes_after_a_syn_that_are_not_all_packets_from_the_first_on_are_not_mqtt(
    client: bytes, server: bytes
) -> None:
    for chunks in ([client], bites(client)):
        script = Script(flow()).send(CLIENT, *chunks)
        found, sizes, _ = skipped(script.send(SERVER, server).end("FIN", SERVER, CLIENT))
        assert (found, sizes) == ([], {"unknown": len(client + server)})


def test_a_greeting_of_the_server_that_is_no_packet_shows_another_protocol() -> None:
    script = Script(flow()).send(SERVER, b"220 hello\r\n").send(CLIENT, publish() * 3)
    assert skipped(script)[0] == []


def test_a_client_that_begins_with_something_else_is_not_held() -> None:
    streams = MqttDemux()
    for piece in Script(flow()).send(CLIENT, b"\x03\0\0\x0b\x06\xe0\0").pieces:
        list(streams.feed(piece))
    assert streams.skipped.connections == {"unknown": 1}


@pytest.mark.parametrize("version", [V5, V311])
def test_a_beginning_within_a_packet(version: Version) -> None:
    packet = publish(bytes(range(97, 123)) * 4, version)
    script = Script(flow(1883, opened=False)).send(CLIENT, packet[50:] + packet * 3)
    found = script.events()
    (gap,) = gaps(found)
    assert (gap.offset, gap.length, gap.data) == (0, len(packet) - 50, packet[50:114])
    assert gap.message.startswith("the capture begins within the connection; reading continues where 3 packets follow")
    assert [each.version for each in packets_in(found)] == [version] * 3


def test_noise_is_not_mqtt_on_any_port() -> None:
    noise = random.Random(2).randbytes(100_000)
    streams = MqttDemux()
    script = Script(flow(opened=False)).send(CLIENT, *(noise[at : at + 1000] for at in range(0, 100_000, 1000)))
    assert not [event for piece in script.pieces for event in streams.feed(piece)]
    assert (streams.skipped.connections, streams.skipped.bytes) == ({"unknown": 1}, {"unknown": 100_000})


def test_noise_on_an_mqtt_port_is_reported() -> None:
    noise = random.Random(3).randbytes(10_000)
    found = Script(flow(1883, opened=False)).send(CLIENT, noise).end().events()
    (gap,) = gaps(found)
    assert gap.length is None
    assert gap.message == "the capture begins within the connection, and no certain start of a packet follows"


@pytest.mark.parametrize(
    ("end", "data", "client"),
    [(CLIENT, PINGREQ, CLIENT), (SERVER, PINGREQ, SERVER), (CLIENT, PINGRESP, SERVER), (SERVER, PINGRESP, CLIENT)],
)
def test_some_packets_tell_the_client(end: Direction, data: bytes, client: Direction) -> None:
    found = Script(flow(opened=False, port=40_000)).send(end, publish() + data + publish()).events()
    ends = {each.ends for each in found}
    assert ends == {(1, *flow(port=40_000).ends[:: 1 if client is CLIENT else -1], False)}
    assert {each.direction for each in packets_in(found)} == {CLIENT if end is client else SERVER}


@pytest.mark.parametrize(
    ("port", "client_port", "why"),
    [
        (8883, 9000, "port 8883 is a server's"),
        (4711, 50_000, "port 4711 is not a client's"),
        (4711, 4712, "nothing shows whether 10.0.0.1:4712 or 10.0.0.2:4711 is the client"),
    ],
)
def test_ports_tell_the_client(port: int, client_port: int, why: str) -> None:
    found = Script(flow(port, opened=False, client_port=client_port)).send(CLIENT, publish() * 3).events()
    assert remarks(found)[0].endswith(why)
    assert found[1].direction is (None if why.startswith("nothing") else CLIENT)
    assert found[1].ends.client == ("" if why.startswith("nothing") else f"10.0.0.1:{client_port}")


def test_the_client_may_become_known_later() -> None:
    script = Script(flow(opened=False, client_port=4712)).send(
        CLIENT, publish(version=V311) * 3, publish(b"1", V311), PINGREQ, publish(b"2", V311)
    )
    found = packets_in(script.events())
    assert [each.direction for each in found] == [None] * 4 + [CLIENT] * 2


@pytest.mark.parametrize(("data", "end"), [(PINGREQ, CLIENT), (PINGRESP, SERVER)])
def test_a_single_packet_that_is_certain_only_at_the_end_tells_its_sender(data: bytes, end: Direction) -> None:
    found = Script(flow(1883, opened=False, client_port=4712)).send(end, data).events()
    assert [each.direction for each in packets_in(found)] == [end]


def test_before_5_a_disconnect_is_the_client_s_even_where_nothing_else_tells_the_ends() -> None:
    old = [publish(version=V311), b"\xe0\0"]
    found = Script(flow(opened=False, client_port=4712)).send(CLIENT, old[0] * 3 + old[1]).end().events()
    assert [each.direction for each in packets_in(found)] == [None] * 3 + [CLIENT]


def test_without_a_telling_packet_5_is_assumed_until_one_comes() -> None:
    pings = [PINGREQ] * 20
    script = Script(flow(1883, opened=False)).send(CLIENT, b"".join(pings)).send(CLIENT, publish(version=V311))
    found = script.events()
    assert "nothing shows the version so far: 5.0 is assumed" in remarks(found)[0]
    assert "version 3.1.1 guessed from 21 packets" in remarks(found)[1]
    assert [each.version for each in packets_in(found)] == [V5] * 20 + [V311]


def test_a_version_that_packets_decided_is_not_changed_by_later_ones() -> None:
    # Either end may send these, so that it stays open which one is the client.
    older, newer = publish(version=V311), b"\x40\3\0\1\x10"
    script = Script(flow(opened=False, client_port=4712)).send(CLIENT, older * 4).send(CLIENT, *[newer] * 9)
    found = packets_in(script.events())
    assert (len(found), {each.version for each in found}) == (13, {V311})


def test_binary_payloads_that_look_like_properties_settle_nothing_at_once() -> None:
    looks_newer, older = publish(b"\0x", V311), publish(b"text", V311)
    script = Script(flow(1883, opened=False)).send(CLIENT, looks_newer * 5, older, looks_newer)
    assert {each.version for each in packets_in(script.events())} == {V311}


def test_a_version_that_was_given_is_not_guessed() -> None:
    found = Script(flow(1883, opened=False)).send(CLIENT, publish(version=V311) * 3).end().events(version=V31)
    assert remarks(found)[0].startswith("no CONNECT was captured: version 3.1 as given; ")
    assert {(each.version, each.guessed) for each in packets_in(found)} == {(V31, False)}


def test_a_connect_that_comes_later_tells_the_version() -> None:
    script = Script(flow(1883)).send(SERVER, CONNACKS[V311]).send(CLIENT, CONNECTS[V311] + PINGREQ)
    assert {each.version for each in packets_in(script.events())} == {V311}
    assert not remarks(script.events())


def test_a_missing_connect_on_any_port() -> None:
    script = Script(flow()).miss(CLIENT, 17).send(SERVER, CONNACKS[V5]).send(CLIENT, publish() * 3)
    found = script.events()
    assert seen(found, SERVER) == [CONNACKS[V5]]
    assert seen(found, CLIENT) == [publish()] * 3
    assert [(each.offset, each.length) for each in gaps(found)] == [(0, 17)]


def test_two_packets_that_are_all_there_is_are_mqtt() -> None:
    script = Script(flow(opened=False)).send(CLIENT, publish(qos=1, packet_id=1)).send(SERVER, puback()).end()
    assert len(seen(script.events())) == 2


def test_one_packet_alone_proves_nothing_on_any_port() -> None:
    script = Script(flow(opened=False)).send(CLIENT, publish()).end()
    assert script.events() == []


def test_held_events_are_bounded() -> None:
    script = Script(flow(1883, opened=False)).send(CLIENT, *([publish(bytes(30_000), V5)] * 4))
    streams = MqttDemux()
    found = [list(streams.feed(piece)) for piece in script.pieces]
    assert [len(each) for each in found] == [0, 0, 4, 1]


# what is not MQTT


def skipped(script: Script) -> tuple[list[Event], dict[str, int], str]:
    streams = MqttDemux()
    found = [event for piece in script.pieces for event in streams.feed(piece)]
    return [*found, *streams.finish()], dict(streams.skipped.bytes), streams.skipped.sentence


@pytest.mark.parametrize("port", [4711, 1883])
def test_tls_is_reported_once_for_each_server(port: int) -> None:
    script = Script(flow(port)).send(CLIENT, HELLO[:50], HELLO[50:]).send(SERVER, b"\x16\x03\x03\x00\x10").end()
    again = Script(flow(port, number=2)).send(CLIENT, HELLO).end()
    script.pieces += again.pieces
    found, sizes, text = skipped(script)
    assert remarks(found) == ["TLS to broker.test: give --key-log FILE to read it"]
    assert (sizes, text) == ({"TLS": 2 * len(HELLO) + 5}, "2 connections are not MQTT: 2 TLS")


def test_tls_without_its_handshake() -> None:
    found, _, text = skipped(Script(flow(opened=False)).send(SERVER, b"\x17\x03\x03\x01\x00" + bytes(256)))
    assert remarks(found) == ["TLS to 10.0.0.1:50000 and 10.0.0.2:4711: give --key-log FILE to read it"]
    assert text == "1 connection is not MQTT: 1 TLS"


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP"),
        (b"POST /x HTTP/1.1\r\n", "HTTP"),
        (b"SSH-2.0-OpenSSH_9\r\n", "SSH"),
        (b"\x00\x01\x02\x03", "unknown"),
        (b"EHLO here\r\n", "unknown"),
        (b"\x10\x0c\x00\x04AMQP\x05\x00", "unknown"),
    ],
)
def test_other_protocols_are_counted(first: bytes, kind: str) -> None:
    found, sizes, text = skipped(Script(flow()).send(CLIENT, *bites(first)).send(SERVER, b"answer").end())
    assert found == []
    assert sizes == {kind: len(first) + 6}
    advice = "; --port PORT reads what is on a port as MQTT" if kind == "unknown" else ""
    assert text == f"1 connection is not MQTT: 1 {kind}{advice}"


def test_connections_without_bytes_are_not_counted() -> None:
    assert skipped(Script(flow()).end("FIN", CLIENT, SERVER)) == ([], {}, "")


def test_a_server_that_never_hears_anything_is_given_up() -> None:
    found, sizes, _ = skipped(Script(flow()).send(SERVER, *([bytes(1000)] * 70)))
    assert (found, sizes) == ([], {"unknown": 70_000})


def test_on_a_forced_port_anything_is_mqtt() -> None:
    wrong = b"\x00\x01\x02"
    assert seen(Script(flow(4711)).send(CLIENT, wrong).events(ports=[4711])) == [wrong]
    assert seen(Script(flow(1883)).send(CLIENT, wrong).events()) == [wrong]


def test_a_publish_first_on_a_forced_port() -> None:
    found = Script(flow(1883)).send(CLIENT, encode(Publish(topic="t"), V5)).events()
    assert remarks(found)[0].endswith("the client is the end that opened the connection")
    assert found[1].direction is CLIENT


def test_a_connect_with_another_name_is_mqtt_on_its_port() -> None:
    data = encode(Connect(client_id="me", protocol_name="AMQP"), V5)
    assert seen(Script(flow(1883)).send(CLIENT, data).events()) == [data]
    assert seen(Script(flow(4711)).send(CLIENT, data).events()) == []


def test_tls_that_was_captured_in_part() -> None:
    found, _, text = skipped(Script(flow(1883)).send(CLIENT, HELLO[:40]).end())
    assert (found, text) == ([], "1 connection is not MQTT: 1 TLS")


def test_a_search_that_is_tired_gives_the_direction_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqttpub.capture.protocol.resync.PATIENCE", 0)
    noise = b"\x90\x7e\x00\x01" * 500
    script = opened().miss(SERVER, 100).send(SERVER, *[noise] * 9).miss(SERVER, 100).send(SERVER, PINGRESP * 9)
    (gap,) = gaps(script.events())
    assert (gap.length, gap.malformed) == (None, False)
    assert gap.message == (
        "100 bytes are missing from the capture, and where packets begin after that cannot be determined"
    )


def test_a_header_that_is_not_whole_and_then_a_gap() -> None:
    script = opened().send(CLIENT, publish(bytes(1000))[:2]).miss(CLIENT, 1008).send(CLIENT, publish())
    (gap,) = gaps(script.events())
    assert (gap.offset, gap.length, gap.data) == (17, 1010, publish(bytes(1000))[:2])


def test_more_is_missing_than_the_packet_has() -> None:
    packet = publish(bytes(100))
    script = opened().send(CLIENT, packet[:50]).miss(CLIENT, 10).send(CLIENT, packet[60:70]).miss(CLIENT, 50)
    (gap,) = gaps(script.send(CLIENT, publish()).events())
    assert (gap.offset, gap.length) == (17, 120)
    assert gap.message.startswith("60 bytes are missing from the capture in 2 places; reading continues where 1 packet")


def test_a_packet_that_began_before_the_window_and_ends_in_a_gap() -> None:
    packet = publish(bytes(1_500_000))
    script = opened().miss(CLIENT, 100)
    for at in range(0, 1_400_000, 10_000):
        script.send(CLIENT, packet[at : at + 10_000])
    found = script.miss(CLIENT, len(packet) - 1_400_000).send(CLIENT, PINGREQ).events()
    assert [(each.offset, each.length) for each in gaps(found)] == [(17, 100 + len(packet))]
    assert seen(found, CLIENT)[1:] == [PINGREQ]


# what TLS carries


def decrypting(script: Script) -> MqttDemux:
    """Return streams that know of a TLS connection whose keys are there."""
    streams = MqttDemux()
    streams.expect_keys()
    for piece in script.send(CLIENT, HELLO).pieces:
        assert not list(streams.feed(piece))
    return streams


A, B = flow().ends


def test_decrypted_bytes_are_read_like_plain_ones() -> None:
    streams = decrypting(script := Script(flow()))
    assert streams.skipped.sentence == "1 connection is not MQTT: 1 TLS"
    found = [*streams.decrypted(A, B, 5000, 5, CONNECTS[V5]), *streams.decrypted(B, A, 6000, 6, CONNACKS[V5])]
    assert [(each.data, each.direction) for each in packets_in(found)] == [
        (CONNECTS[V5], CLIENT), (CONNACKS[V5], SERVER),
    ]  # fmt: skip
    script.pieces.clear()
    closed = [event for piece in script.end("FIN", CLIENT, SERVER).pieces for event in streams.feed(piece)]
    assert [type(each) for each in closed] == [Closed, Closed]
    assert (streams.skipped.sentence, streams.skipped.bytes["TLS"]) == ("", 0)
    assert not list(streams.decrypted(A, B, 7000, 7, PINGREQ))


def test_missing_bytes_of_tls_end_the_direction() -> None:
    streams = decrypting(script := Script(flow()))
    list(streams.decrypted(A, B, 5000, 5, CONNECTS[V5]))
    script.pieces.clear()
    (gap,) = gaps(event for piece in script.miss(SERVER, 9).pieces for event in streams.feed(piece))
    assert (gap.direction, gap.offset, gap.length, gap.malformed) == (SERVER, 0, None, False)
    assert gap.message == "9 bytes are missing from the capture, and TLS cannot be read without them"
    assert not list(streams.decrypted(B, A, 6000, 6, CONNACKS[V5]))
    script.pieces.clear()
    assert not [event for piece in script.miss(SERVER, 9).pieces for event in streams.feed(piece)]


def test_missing_bytes_of_tls_without_keys_are_ignored() -> None:
    found, _, text = skipped(Script(flow()).send(CLIENT, HELLO).miss(SERVER, 9).send(SERVER, bytes(9)).end())
    assert len(found) == 1
    assert text == "1 connection is not MQTT: 1 TLS"


def test_something_else_on_tls_is_counted_as_that() -> None:
    streams = decrypting(Script(flow()))
    assert not list(streams.decrypted(A, B, 5000, 5, b"GET / HTTP/1.1\r\n\r\n"))
    assert streams.skipped.sentence == "1 connection is not MQTT: 1 HTTP"
    streams = decrypting(Script(flow()))
    assert not list(streams.decrypted(A, B, 5000, 5, b"\x00 something"))
    assert streams.skipped.sentence == "1 connection is not MQTT: 1 TLS"


def test_an_upgrade_within_tls_with_missing_bytes() -> None:
    request = b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n"
    streams = decrypting(script := Script(flow()))
    list(streams.decrypted(A, B, 5000, 5, request))
    script.pieces.clear()
    found = [event for piece in script.miss(SERVER, 9).pieces for event in streams.feed(piece)]
    assert remarks(found) == [
        "9 bytes are missing from the capture, and TLS cannot be read without them, within the upgrade to WebSocket"
    ]


# levels of no version


def test_a_level_of_no_version_leaves_the_version_to_what_the_server_answers() -> None:
    connect = bytes.fromhex("100d00044d5154540602003c000161")
    for answer, version in (("20020001", V311), ("2003008400", V5), ("", V311)):
        script = Script(flow(opened=True)).send(CLIENT, connect).send(SERVER, bytes.fromhex(answer)).end()
        found = packets_in(script.events())
        assert [(each.version, each.guessed) for each in found] == [(V311, True), (version, True)][: len(found)]
        assert [each.direction for each in found] == [CLIENT, SERVER][: len(found)]
        assert remarks(script.events())[0].startswith("protocol level 6 belongs to no version of MQTT: ")
