"""Records in, the bytes of TCP connections out."""

import pickle

import pytest

from mqttpub.capture.network.tcp import Reassembler
from mqttpub.capture.types import CaptureRecord, Chunk, End, Missing
from mqttpub.traffic.events import TcpFigures
from tests.build.frames import (
    ACK,
    FIN,
    LINKS,
    ONE_VERSION,
    ROUTER_ALERT,
    SYN,
    TIMESTAMPS,
    URGENT,
    Wire,
    fragments4,
    fragments6,
    ipv4,
    ipv6,
    options6,
    records,
)
from tests.capture.network.piece_words import END, SPOKEN, WRAP, conversation, read, shown, words

# what every connection does


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("name", LINKS)
def test_a_connection_over_every_link_layer(name: str, version: int) -> None:
    pieces = read(records(conversation(Wire(version)), LINKS[name]))
    assert [shown(piece) for piece in pieces] == SPOKEN


@pytest.mark.parametrize("version", [4, 6])
def test_raw_packets_of_one_version(version: int) -> None:
    pieces = read(records(conversation(Wire(version)), ONE_VERSION[version]))
    assert [shown(piece) for piece in pieces] == SPOKEN


@pytest.mark.parametrize("version", [4, 6])
def test_options_of_tcp(version: int) -> None:
    assert words(*conversation(Wire(version, options=TIMESTAMPS))) == SPOKEN
    assert words(*conversation(Wire(version, options=bytes(40)))) == SPOKEN


def test_one_capture_of_many_link_layers() -> None:
    links = [*LINKS.values()] * 2
    packets = conversation(Wire())
    frames = [records([packet], links[index])[0] for index, packet in enumerate(packets * 2)]
    assert [shown(piece) for piece in read(frames)] == SPOKEN


def test_options_and_extension_headers_of_ip() -> None:
    four, six = Wire(4), Wire(6)
    assert words(*four.opening(), ipv4(four.ends[0], four.segment(0, 0, b"abc"), options=ROUTER_ALERT)) == [
        "0 abc",
        END,
    ]
    extended = ipv6(six.ends[0], six.segment(0, 0, b"abc"), extensions=[(0, options6())])
    assert words(*six.opening(), extended, six.packet(0, 3, b"def")) == ["0 abc", "0 def", END]
    marked = ipv6(six.ends[0], six.segment(0, 0, b"abc"), traffic_class=0xB8)
    assert words(*six.opening(), marked, six.packet(0, 3, b"def")) == ["0 abc", "0 def", END]


@pytest.mark.parametrize("version", [4, 6])
def test_a_segment_in_fragments(version: int) -> None:
    wire = Wire(version)
    parts = (fragments4 if version == 4 else fragments6)(wire.ends[0], wire.segment(0, 3, b"def" * 9), [16, 40], 5)
    assert words(*wire.opening(), wire.packet(0, 0, b"abc"), *reversed(parts), wire.packet(0, 30, b"ghi")) == [
        "0 abc",
        "0 " + "def" * 9,
        "0 ghi",
        END,
    ]


def test_a_total_length_of_0_means_to_the_end_of_the_record() -> None:
    wire = Wire()
    large = ipv4(wire.ends[0], wire.segment(0, 0, b"a" * 100_000), total=0)
    assert words(*wire.opening(), large, wire.packet(0, 100_000, b"b")) == ["0 " + "a" * 100_000, "0 b", END]


@pytest.mark.parametrize("version", [4, 6])
def test_a_fragment_alone_is_not_a_segment(version: int) -> None:
    wire = Wire(version)
    first, _ = (fragments4 if version == 4 else fragments6)(wire.ends[0], wire.segment(0, 3, b"def" * 9), [24], 5)
    packets = [wire.packet(0, 0, b"abc"), first, wire.packet(0, 3, b"def" * 9)]
    assert words(*wire.opening(), *packets) == ["0 abc", "0 " + "def" * 9, END]


def test_padding_of_ethernet_is_not_payload() -> None:
    wire = Wire()
    packets = [
        *wire.opening(),
        wire.packet(0, 0),
        wire.packet(0, 0, b"abc"),
        wire.packet(1, 0, ack=3),
        wire.packet(0, 3, b"d"),
    ]
    assert len(records(packets)[-2].data) == 60
    assert words(*packets) == ["0 abc", "0 d", END]


def test_the_urgent_pointer_changes_nothing() -> None:
    wire = Wire()
    urgent = ipv4(wire.ends[0], wire.segment(0, 0, b"abc", flags=ACK | URGENT, urgent=2))
    assert words(*wire.opening(), urgent, wire.packet(0, 3, b"def")) == ["0 abc", "0 def", END]


# where pieces are from


def test_pieces_have_flow_record_and_time() -> None:
    first, second = records([Wire(6).packet(1, 0, b"abc"), Wire(6).packet(0, 0, b"xyz")])
    one, two, end = read([first, second])
    assert one == Chunk(one.flow, 0, first.time_ns, 1, b"abc")
    assert two == Chunk(one.flow, 1, second.time_ns, 2, b"xyz")
    untroubled = TcpFigures((0, 0), (0, 0), (0, 0), None)
    assert end == End(one.flow, None, second.time_ns, 2, "end", untroubled)
    assert (one.flow.number, one.flow.ends) == (1, ("[fd00::b]:1883", "[fd00::a]:50000"))
    assert (one.flow.ports, one.flow.opened) == ((1883, 50_000), False)


def test_waiting_bytes_keep_their_record_and_time() -> None:
    wire = Wire()
    given = records([*wire.opening(), wire.packet(0, 3, b"def"), wire.packet(0, 0, b"abc")])
    early, late, _ = read(given)
    assert [(early.record, early.time_ns), (late.record, late.time_ns)] == [
        (5, given[4].time_ns),
        (4, given[3].time_ns),
    ]


@pytest.mark.parametrize("shown_packets", [[0, 1, 2], [0], [1], [0, 2]])
def test_side_0_sent_the_syn(shown_packets: list[int]) -> None:
    wire = Wire()
    (piece, *_) = read(records([*(wire.opening()[index] for index in shown_packets), wire.packet(1, 0, b"xyz")]))
    assert (piece.flow.ends, piece.side) == (("10.0.0.1:50000", "10.0.0.2:1883"), 1)
    assert piece.flow.opened


def test_flows_are_numbered_as_they_begin() -> None:
    wires = [Wire(port=1000 + index) for index in range(5)]
    packets = [
        *(wire.packet(0, -1, flags=SYN) for wire in wires),
        *(wire.packet(0, 0, b"abc") for wire in reversed(wires)),
    ]
    assert [piece.flow.number for piece in read(records(packets))] == [5, 4, 3, 2, 1, 1, 2, 3, 4, 5]


def test_many_flows_at_once() -> None:
    wires = [Wire(version, port=port) for port in range(1, 300) for version in (4, 6)]
    spoken = [conversation(wire) for wire in wires]
    pieces = read(records(packet for step in zip(*spoken, strict=True) for packet in step))
    for number in range(1, len(wires) + 1):
        assert [shown(piece) for piece in pieces if piece.flow.number == number] == SPOKEN


# twice, in another order, over the end of the numbers


def test_every_packet_twice() -> None:
    packets = conversation(Wire())
    assert words(*(packet for packet in packets for _ in range(2))) == SPOKEN
    assert words(*packets, *packets[3:]) == SPOKEN


@pytest.mark.parametrize("isn", [WRAP, (2**32 - 1, 0), (2**31 - 4, 2**31 - 2), (2**31, 2**32 - 5)])
def test_sequence_numbers_begin_anew(isn: tuple[int, int]) -> None:
    wire = Wire(isn=isn)
    assert words(*conversation(wire)) == SPOKEN
    late = [
        *wire.opening(),
        wire.packet(0, 4, b"ef"),
        wire.packet(0, 2, b"cd"),
        wire.packet(0, 1, b"b"),
        wire.packet(0, 0, b"a"),
    ]
    assert words(*late) == ["0 a", "0 b", "0 cd", "0 ef", END]


def test_retransmissions_that_overlap() -> None:
    wire = Wire()
    reassembler = Reassembler()
    packets = [
        wire.packet(0, 0, b"abcd"),
        wire.packet(0, 2, b"cdef"),
        wire.packet(0, 1, b"bcd"),
        wire.packet(0, 0, b"abcdefgh"),
    ]
    assert words(*wire.opening(), *packets, reassembler=reassembler) == ["0 abcd", "0 ef", "0 gh", END]
    assert reassembler.counts == {"repeated": 3}


def test_the_first_copy_counts() -> None:
    wire = Wire()
    reassembler = Reassembler()
    packets = [wire.packet(0, 2, b"cd"), wire.packet(0, 1, b"????"), wire.packet(0, 0, b"a")]
    assert words(*wire.opening(), *packets, reassembler=reassembler) == ["0 a", "0 ?", "0 cd", "0 ?", END]
    assert reassembler.counts == {"contradicted": 1}


def test_keep_alive_probes() -> None:
    wire = Wire()
    assert words(
        *wire.opening(),
        wire.packet(0, 0, b"abc"),
        wire.packet(0, 2, b"\0"),
        wire.packet(1, 0, ack=3),
        wire.packet(0, 2),
        wire.packet(1, -1, b"\0", ack=3),
        wire.packet(1, 0, b"xyz", ack=3),
        wire.packet(0, 3, b"def"),
    ) == ["0 abc", "1 xyz", "0 def", END]


def test_zero_window_probes() -> None:
    wire = Wire()
    packets = [wire.packet(0, 0, b"abc"), wire.packet(0, 3, b"d"), wire.packet(0, 3, b"d"), wire.packet(0, 3, b"def")]
    assert words(*wire.opening(), *packets) == ["0 abc", "0 d", "0 ef", END]


# bytes that are missing


def test_bytes_are_missing_once_the_other_side_acknowledges_later_ones() -> None:
    wire = Wire()
    given = records(
        [*wire.opening(), wire.packet(0, 0, b"abc"), wire.packet(0, 6, b"ghi"), wire.packet(1, 0, b"x", ack=9)]
    )
    first, gap, later, other, _ = read(given)
    assert [shown(piece) for piece in (first, gap, later, other)] == ["0 abc", "0 missing 3", "0 ghi", "1 x"]
    assert gap == Missing(first.flow, 0, later.time_ns, 5, 3, "3 bytes are missing from the capture")


@pytest.mark.parametrize(
    "before",
    [
        [Wire().packet(1, 0, ack=3)],
        [Wire().packet(1, 0, b"x", ack=3)],
        [Wire().packet(1, 0, b"x"), Wire().packet(1, 1, ack=3), Wire().packet(1, 0, b"x")],
        [Wire().packet(1, 0, ack=3), Wire().packet(1, 1, b"y")],
        [Wire().packet(1, 0, ack=3), Wire().packet(1, 0)],
        [Wire().packet(1, 0, ack=3), Wire().packet(1, 0, b"y")],
        [Wire().packet(1, 2**30 + 1, ack=3)],
    ],
    ids=[
        "alone",
        "with bytes",
        "and an older one again",
        "and an older one later",
        "and an older one alone",
        "and an older one with bytes",
        "far away",
    ],
)
def test_missing_when_it_was_acknowledged_before(before: list[bytes]) -> None:
    wire = Wire()
    *given, last = records([*wire.opening(), *before, wire.packet(0, 3, b"def")])
    reassembler = Reassembler()
    forgetful = Reassembler()
    for record in given:
        reassembler.feed(record)
        forgetful.feed(record)
        # It forgets which shapes of records it has seen.
        forgetful = pickle.loads(pickle.dumps(forgetful))
    assert [shown(piece) for piece in reassembler.feed(last)] == ["0 missing 3", "0 def"]
    assert [shown(piece) for piece in forgetful.feed(last)] == ["0 missing 3", "0 def"]


def test_one_byte_is_missing() -> None:
    wire = Wire()
    gap, *_ = read(records([*wire.opening(), wire.packet(0, 1, b"bc"), wire.packet(1, 0, ack=3)]))
    assert isinstance(gap, Missing)
    assert gap.message == "1 byte is missing from the capture"


def test_nothing_is_missing_while_the_other_side_waits_too() -> None:
    wire = Wire()
    packets = [wire.packet(0, 0, b"abc"), wire.packet(0, 6, b"ghi"), wire.packet(1, 0, ack=3), wire.packet(1, 0, ack=3)]
    assert words(*wire.opening(), *packets, wire.packet(0, 3, b"def")) == ["0 abc", "0 def", "0 ghi", END]


def test_missing_in_two_places() -> None:
    wire = Wire()
    packets = [wire.packet(0, at, b"x") for at in (2, 4, 7)]
    assert words(*wire.opening(), *packets, wire.packet(1, 0, ack=5), wire.packet(1, 0, ack=8)) == [
        "0 missing 2",
        "0 x",
        "0 missing 1",
        "0 x",
        "0 missing 2",
        "0 x",
        END,
    ]


def test_bytes_that_arrive_after_they_were_reported_missing_are_left_out() -> None:
    wire = Wire()
    packets = [wire.packet(0, 3, b"def"), wire.packet(1, 0, ack=6), wire.packet(0, 0, b"abc"), wire.packet(0, 6, b"g")]
    assert words(*wire.opening(), *packets) == ["0 missing 3", "0 def", "0 g", END]


def test_missing_when_the_capture_ends() -> None:
    wire = Wire()
    assert words(*wire.opening(), wire.packet(0, 3, b"def")) == ["0 missing 3", "0 def", END]


def test_missing_at_the_end_when_it_was_acknowledged() -> None:
    wire = Wire()
    assert words(*wire.opening(), wire.packet(0, 0, b"abc"), wire.packet(1, 0, ack=9)) == [
        "0 abc",
        "0 missing 6",
        END,
    ]
    # This one is the FIN.
    assert words(*wire.opening(), wire.packet(0, 0, b"abc"), wire.packet(1, 0, ack=4)) == ["0 abc", END]


def test_missing_before_fin() -> None:
    wire = Wire()
    fin = wire.packet(0, 3, flags=FIN | ACK)
    assert words(*wire.opening(), fin) == ["0 missing 3", "0 FIN", END]
    assert words(*wire.opening(), fin, wire.packet(1, 0, ack=4), wire.packet(1, 0, b"x", ack=4)) == [
        "0 missing 3",
        "0 FIN",
        "1 x",
        END,
    ]
    assert words(*wire.opening(), fin, wire.packet(0, 0, b"abc")) == ["0 abc", "0 FIN", END]


def test_missing_when_too_much_waits_in_one_side() -> None:
    wire = Wire()
    reassembler = Reassembler(max_held=5000)
    packets = records([*wire.opening(), *(wire.packet(0, at, b"x" * 1000) for at in range(1000, 6000, 1000))])
    fed = [[shown(piece) for piece in reassembler.feed(record)] for record in packets]
    assert fed == [[]] * 6 + [["0 missing 1000", *["0 " + "x" * 1000] * 4], ["0 " + "x" * 1000]]


def test_missing_when_too_much_waits_in_all_sides() -> None:
    reassembler = Reassembler(max_together=5000)
    wires = [Wire(port=port) for port in range(1, 11)]
    packets = records(packet for wire in wires for packet in [*wire.opening(), wire.packet(0, 1000, b"x" * 1000)])
    fed = [shown(piece) for record in packets for piece in reassembler.feed(record) if not isinstance(piece, Chunk)]
    assert fed == ["0 missing 1000"] * 7
    assert reassembler.held_bytes <= 5000
    list(reassembler.finish())
    assert reassembler.held_bytes == 0


# cut off by the snap length


def cut(record: CaptureRecord, payload: int) -> CaptureRecord:
    return record._replace(data=record.data[: 14 + 20 + 20 + payload])


@pytest.mark.parametrize("kept", [0, 1, 99])
def test_a_segment_that_was_cut_off(kept: int) -> None:
    wire = Wire()
    *front, large, last = records([*wire.opening(), wire.packet(0, 0, b"a" * 100), wire.packet(0, 100, b"bcd")])
    *chunks, gap, later, _ = read([*front, cut(large, kept), last])
    assert [shown(piece) for piece in chunks] == ["0 " + "a" * kept] * (kept > 0)
    assert (gap.record, gap.time_ns, shown(gap)) == (large.number, large.time_ns, f"0 missing {100 - kept}")
    assert isinstance(gap, Missing)
    assert gap.message.endswith("cut off by the snap length")
    assert shown(later) == "0 bcd"


def test_a_segment_that_was_cut_off_waits_its_turn() -> None:
    wire = Wire()
    *front, late, early = records([*wire.opening(), wire.packet(0, 3, b"def" * 9), wire.packet(0, 0, b"abc")])
    pieces = read([*front, cut(late, 4), early])
    assert [shown(piece) for piece in pieces] == ["0 abc", "0 defd", "0 missing 23", END]


def test_headers_that_were_cut_off() -> None:
    wire = Wire()
    reassembler = Reassembler()
    (record,) = records([wire.packet(0, 0, b"a" * 100)])
    for size, reason in ((13, "IP header"), (20, "TCP header"), (47, "TCP header")):
        assert reassembler.feed(record._replace(data=record.data[:size])) == ()
        assert reason in " ".join(reassembler.skipped)
    assert reassembler.skipped == {
        "cut short before the IP header": 1,
        "cut short before the TCP header": 1,
        "cut short within the TCP header": 1,
    }
    (gap,) = reassembler.feed(record._replace(data=record.data[:48]))
    assert shown(gap) == "0 missing 100"
