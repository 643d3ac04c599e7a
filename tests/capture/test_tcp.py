"""Records in, the bytes of TCP connections out."""

from collections.abc import Iterable

import pytest

from mqttpub.capture.chunks import Chunk, End, Missing, Piece, Record
from mqttpub.capture.tcp import Reassembler
from tests.frames import (
    ACK,
    CLIENT,
    FIN,
    LINKS,
    ONE_VERSION,
    PUSH,
    ROUTER_ALERT,
    RST,
    SYN,
    TIMESTAMPS,
    UDP,
    URGENT,
    Wire,
    fragments4,
    fragments6,
    ipv4,
    ipv6,
    options6,
    records,
)

END = "end"
WRAP = (2**32 - 3, 2**32 - 1)


def shown(piece: Piece) -> str:
    """Return a piece as a word or two, the number of its side in front."""
    if isinstance(piece, Chunk):
        return f"{piece.side} {piece.data.decode()}"
    if isinstance(piece, Missing):
        return f"{piece.side} missing {piece.length}"
    return piece.how if piece.side is None else f"{piece.side} {piece.how}"


def read(given: Iterable[Record], reassembler: Reassembler | None = None) -> list[Piece]:
    """Return the pieces of records up to the end of the capture."""
    reassembler = reassembler or Reassembler()
    return [*(piece for record in given for piece in reassembler.feed(record)), *reassembler.finish()]


def told(*packets: bytes, reassembler: Reassembler | None = None) -> list[str]:
    """Return what is told of IP packets."""
    return [shown(piece) for piece in read(records(packets), reassembler)]


def said(pieces: Iterable[Piece], side: int) -> bytes:
    return b"".join(piece.data for piece in pieces if isinstance(piece, Chunk) and piece.side == side)


# what every connection does


def conversation(wire: Wire) -> list[bytes]:
    """Return packets in which both sides speak, acknowledge and close."""
    return [
        *wire.opening(),
        wire.packet(0, 0, b"abc", flags=ACK | PUSH),
        wire.packet(1, 0, ack=3),
        wire.packet(1, 0, b"xy", ack=3),
        wire.packet(0, 3, b"def", ack=2),
        wire.packet(1, 2, b"z", ack=6),
        wire.packet(0, 6, ack=3, flags=FIN | ACK),
        wire.packet(1, 3, ack=7, flags=FIN | ACK),
        wire.packet(0, 7, ack=4),
    ]


SPOKEN = ["0 abc", "1 xy", "0 def", "1 z", "0 FIN", "1 FIN"]


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
    assert told(*conversation(Wire(version, options=TIMESTAMPS))) == SPOKEN
    assert told(*conversation(Wire(version, options=bytes(40)))) == SPOKEN


def test_one_capture_of_many_link_layers() -> None:
    links = [*LINKS.values()] * 2
    packets = conversation(Wire())
    frames = [records([packet], links[index])[0] for index, packet in enumerate(packets * 2)]
    assert [shown(piece) for piece in read(frames)] == SPOKEN


def test_options_and_extension_headers_of_ip() -> None:
    four, six = Wire(4), Wire(6)
    assert told(*opened(four), ipv4(four.ends[0], four.segment(0, 0, b"abc"), options=ROUTER_ALERT)) == ["0 abc", END]
    extended = ipv6(six.ends[0], six.segment(0, 0, b"abc"), extensions=[(0, options6())])
    assert told(*opened(six), extended, six.packet(0, 3, b"def")) == ["0 abc", "0 def", END]
    marked = ipv6(six.ends[0], six.segment(0, 0, b"abc"), traffic_class=0xB8)
    assert told(*opened(six), marked, six.packet(0, 3, b"def")) == ["0 abc", "0 def", END]


@pytest.mark.parametrize("version", [4, 6])
def test_a_segment_in_fragments(version: int) -> None:
    wire = Wire(version)
    parts = (fragments4 if version == 4 else fragments6)(wire.ends[0], wire.segment(0, 3, b"def" * 9), [16, 40], 5)
    assert told(*opened(wire), wire.packet(0, 0, b"abc"), *reversed(parts), wire.packet(0, 30, b"ghi")) == [
        "0 abc",
        "0 " + "def" * 9,
        "0 ghi",
        END,
    ]


def test_a_total_length_of_0_means_to_the_end_of_the_record() -> None:
    wire = Wire()
    large = ipv4(wire.ends[0], wire.segment(0, 0, b"a" * 100_000), total=0)
    assert told(*opened(wire), large, wire.packet(0, 100_000, b"b")) == ["0 " + "a" * 100_000, "0 b", END]


def test_padding_of_ethernet_is_no_payload() -> None:
    wire = Wire()
    packets = [
        *wire.opening(),
        wire.packet(0, 0),
        wire.packet(0, 0, b"abc"),
        wire.packet(1, 0, ack=3),
        wire.packet(0, 3, b"d"),
    ]
    assert len(records(packets)[-2].data) == 60
    assert told(*packets) == ["0 abc", "0 d", END]


def test_the_urgent_pointer_changes_nothing() -> None:
    wire = Wire()
    urgent = ipv4(wire.ends[0], wire.segment(0, 0, b"abc", flags=ACK | URGENT, urgent=2))
    assert told(*opened(wire), urgent, wire.packet(0, 3, b"def")) == ["0 abc", "0 def", END]


# where pieces are from


def opened(wire: Wire) -> list[bytes]:
    return wire.opening()


def test_pieces_have_flow_record_and_time() -> None:
    first, second = records([Wire(6).packet(1, 0, b"abc"), Wire(6).packet(0, 0, b"xyz")])
    one, two, end = read([first, second])
    assert one == Chunk(one.flow, 0, first.time, 1, b"abc")
    assert two == Chunk(one.flow, 1, second.time, 2, b"xyz")
    assert end == End(one.flow, None, second.time, 2, "end")
    assert (one.flow.number, one.flow.ends) == (1, ("[fd00::b]:1883", "[fd00::a]:50000"))
    assert (one.flow.ports, one.flow.opened) == ((1883, 50_000), False)


def test_what_waited_keeps_its_own_record_and_time() -> None:
    wire = Wire()
    given = records([*opened(wire), wire.packet(0, 3, b"def"), wire.packet(0, 0, b"abc")])
    early, late, _ = read(given)
    assert [(early.record, early.time), (late.record, late.time)] == [(5, given[4].time), (4, given[3].time)]


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
    assert told(*(packet for packet in packets for _ in range(2))) == SPOKEN
    assert told(*packets, *packets[3:]) == SPOKEN


@pytest.mark.parametrize("isn", [WRAP, (2**32 - 1, 0), (2**31 - 4, 2**31 - 2), (2**31, 2**32 - 5)])
def test_sequence_numbers_begin_anew(isn: tuple[int, int]) -> None:
    wire = Wire(isn=isn)
    assert told(*conversation(wire)) == SPOKEN
    late = [
        *opened(wire),
        wire.packet(0, 4, b"ef"),
        wire.packet(0, 2, b"cd"),
        wire.packet(0, 1, b"b"),
        wire.packet(0, 0, b"a"),
    ]
    assert told(*late) == ["0 a", "0 b", "0 cd", "0 ef", END]


def test_retransmissions_that_overlap() -> None:
    wire = Wire()
    reassembler = Reassembler()
    packets = [
        wire.packet(0, 0, b"abcd"),
        wire.packet(0, 2, b"cdef"),
        wire.packet(0, 1, b"bcd"),
        wire.packet(0, 0, b"abcdefgh"),
    ]
    assert told(*opened(wire), *packets, reassembler=reassembler) == ["0 abcd", "0 ef", "0 gh", END]
    assert reassembler.counts == {"repeated": 3}


def test_the_first_copy_counts() -> None:
    wire = Wire()
    reassembler = Reassembler()
    packets = [wire.packet(0, 2, b"cd"), wire.packet(0, 1, b"????"), wire.packet(0, 0, b"a")]
    assert told(*opened(wire), *packets, reassembler=reassembler) == ["0 a", "0 ?", "0 cd", "0 ?", END]
    assert reassembler.counts == {"contradicted": 1}


def test_keep_alive_probes() -> None:
    wire = Wire()
    assert told(
        *opened(wire),
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
    assert told(*opened(wire), *packets) == ["0 abc", "0 d", "0 ef", END]


# bytes that are missing


def test_missing_when_the_other_side_has_what_comes_behind() -> None:
    wire = Wire()
    given = records(
        [*opened(wire), wire.packet(0, 0, b"abc"), wire.packet(0, 6, b"ghi"), wire.packet(1, 0, b"x", ack=9)]
    )
    first, gap, behind, other, _ = read(given)
    assert [shown(piece) for piece in (first, gap, behind, other)] == ["0 abc", "0 missing 3", "0 ghi", "1 x"]
    assert gap == Missing(first.flow, 0, behind.time, 5, 3, "3 bytes are missing from the capture")


def test_missing_when_it_was_acknowledged_before() -> None:
    wire = Wire()
    reassembler = Reassembler()
    for record in records([*opened(wire), wire.packet(1, 0, ack=3)]):
        assert reassembler.feed(record) == ()
    (record,) = records([wire.packet(0, 3, b"def")])
    assert [shown(piece) for piece in reassembler.feed(record)] == ["0 missing 3", "0 def"]


def test_one_byte_is_missing() -> None:
    wire = Wire()
    gap, *_ = read(records([*opened(wire), wire.packet(0, 1, b"bc"), wire.packet(1, 0, ack=3)]))
    assert isinstance(gap, Missing)
    assert gap.message == "1 byte is missing from the capture"


def test_nothing_is_missing_while_the_other_side_waits_too() -> None:
    wire = Wire()
    packets = [wire.packet(0, 0, b"abc"), wire.packet(0, 6, b"ghi"), wire.packet(1, 0, ack=3), wire.packet(1, 0, ack=3)]
    assert told(*opened(wire), *packets, wire.packet(0, 3, b"def")) == ["0 abc", "0 def", "0 ghi", END]


def test_missing_in_two_places() -> None:
    wire = Wire()
    packets = [wire.packet(0, at, b"x") for at in (2, 4, 7)]
    assert told(*opened(wire), *packets, wire.packet(1, 0, ack=5), wire.packet(1, 0, ack=8)) == [
        "0 missing 2",
        "0 x",
        "0 missing 1",
        "0 x",
        "0 missing 2",
        "0 x",
        END,
    ]


def test_what_comes_after_it_was_told_missing_is_left_out() -> None:
    wire = Wire()
    packets = [wire.packet(0, 3, b"def"), wire.packet(1, 0, ack=6), wire.packet(0, 0, b"abc"), wire.packet(0, 6, b"g")]
    assert told(*opened(wire), *packets) == ["0 missing 3", "0 def", "0 g", END]


def test_missing_when_the_capture_ends() -> None:
    wire = Wire()
    assert told(*opened(wire), wire.packet(0, 3, b"def")) == ["0 missing 3", "0 def", END]


def test_missing_at_the_end_when_it_was_acknowledged() -> None:
    wire = Wire()
    assert told(*opened(wire), wire.packet(0, 0, b"abc"), wire.packet(1, 0, ack=9)) == ["0 abc", "0 missing 6", END]
    # This one is the FIN.
    assert told(*opened(wire), wire.packet(0, 0, b"abc"), wire.packet(1, 0, ack=4)) == ["0 abc", END]


def test_missing_before_fin() -> None:
    wire = Wire()
    fin = wire.packet(0, 3, flags=FIN | ACK)
    assert told(*opened(wire), fin) == ["0 missing 3", "0 FIN", END]
    assert told(*opened(wire), fin, wire.packet(1, 0, ack=4), wire.packet(1, 0, b"x", ack=4)) == [
        "0 missing 3",
        "0 FIN",
        "1 x",
        END,
    ]
    assert told(*opened(wire), fin, wire.packet(0, 0, b"abc")) == ["0 abc", "0 FIN", END]


def test_missing_when_too_much_waits_in_one_side() -> None:
    wire = Wire()
    reassembler = Reassembler(max_held=5000)
    packets = records([*opened(wire), *(wire.packet(0, at, b"x" * 1000) for at in range(1000, 6000, 1000))])
    fed = [[shown(piece) for piece in reassembler.feed(record)] for record in packets]
    assert fed == [[]] * 6 + [["0 missing 1000", *["0 " + "x" * 1000] * 4], ["0 " + "x" * 1000]]


def test_missing_when_too_much_waits_in_all_sides() -> None:
    reassembler = Reassembler(max_together=5000)
    wires = [Wire(port=port) for port in range(1, 11)]
    packets = records(packet for wire in wires for packet in [*opened(wire), wire.packet(0, 1000, b"x" * 1000)])
    fed = [shown(piece) for record in packets for piece in reassembler.feed(record) if not isinstance(piece, Chunk)]
    assert fed == ["0 missing 1000"] * 7
    assert reassembler._together <= 5000
    list(reassembler.finish())
    assert reassembler._together == 0


# cut off by the snap length


def cut(record: Record, payload: int) -> Record:
    return record._replace(data=record.data[: 14 + 20 + 20 + payload])


@pytest.mark.parametrize("kept", [0, 1, 99])
def test_a_segment_that_was_cut_off(kept: int) -> None:
    wire = Wire()
    *front, large, last = records([*opened(wire), wire.packet(0, 0, b"a" * 100), wire.packet(0, 100, b"bcd")])
    *chunks, gap, behind, _ = read([*front, cut(large, kept), last])
    assert [shown(piece) for piece in chunks] == ["0 " + "a" * kept] * (kept > 0)
    assert (gap.record, gap.time, shown(gap)) == (large.number, large.time, f"0 missing {100 - kept}")
    assert isinstance(gap, Missing)
    assert gap.message.endswith("cut off by the snap length")
    assert shown(behind) == "0 bcd"


def test_a_segment_that_was_cut_off_waits_its_turn() -> None:
    wire = Wire()
    *front, late, early = records([*opened(wire), wire.packet(0, 3, b"def" * 9), wire.packet(0, 0, b"abc")])
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


# beginnings


def test_data_with_syn() -> None:
    wire = Wire()
    assert told(
        wire.packet(0, -1, b"abc", flags=SYN),
        wire.packet(1, -1, b"x", flags=SYN | ACK, ack=3),
        wire.packet(0, 3, b"def", ack=1),
        wire.packet(1, 1, b"y", ack=6),
    ) == ["0 abc", "1 x", "0 def", "1 y", END]


def test_data_with_syn_that_was_not_taken_comes_again() -> None:
    wire = Wire()
    first, second = wire.packet(0, -1, b"abc", flags=SYN), wire.packet(1, -1, flags=SYN | ACK)
    assert told(first, second, wire.packet(0, 0, b"abc"), wire.packet(0, 3, b"d")) == ["0 abc", "0 d", END]


def test_syn_comes_again() -> None:
    wire = Wire()
    syn, answer, ack = wire.opening()
    assert told(syn, syn, answer, answer, ack, wire.packet(0, 0, b"abc"), syn, answer) == ["0 abc", END]


def test_both_sides_open_at_once() -> None:
    wire = Wire()
    packets = [wire.packet(0, -1, flags=SYN), wire.packet(1, -1, flags=SYN), wire.packet(0, -1, flags=SYN | ACK)]
    assert told(*packets, wire.packet(1, 0, b"x"), wire.packet(0, 0, b"abc")) == ["1 x", "0 abc", END]


def test_the_answer_to_syn_was_not_captured() -> None:
    wire = Wire()
    syn, _, ack = wire.opening()
    assert told(syn, ack, wire.packet(1, 0, b"x"), wire.packet(0, 0, b"abc")) == ["1 x", "0 abc", END]


def test_an_end_that_connects_to_itself() -> None:
    wire = Wire(isn=(1000, 1000))
    wire.ports, wire.ends = (50_000, 50_000), ((CLIENT[0],) * 2,) * 2
    packets = [wire.packet(0, -1, flags=SYN), wire.packet(0, 0, b"abc"), wire.packet(0, 3, b"def")]
    assert told(*packets) == ["0 abc", "0 def", END]


def test_from_the_middle_a_flow_begins_with_its_first_payload() -> None:
    wire = Wire()
    assert told(
        wire.packet(0, 500, ack=70),
        wire.packet(1, 70, ack=500),
        wire.packet(1, 70, b"xyz", ack=500),
        wire.packet(0, 500, b"abc", ack=73),
        wire.packet(1, 73, b"z", ack=503),
        wire.packet(0, 503, b"d", ack=74),
    ) == ["0 xyz", "1 abc", "0 z", "1 d", END]


def test_from_the_middle_what_comes_from_before_the_first_payload_is_left_out() -> None:
    wire = Wire()
    assert told(wire.packet(0, 503, b"def"), wire.packet(0, 500, b"abc"), wire.packet(0, 506, b"g")) == [
        "0 def",
        "0 g",
        END,
    ]


def test_from_the_middle_a_probe_is_no_payload() -> None:
    wire = Wire()
    assert told(wire.packet(0, 499, b"\0"), wire.packet(0, 500, b"abc")) == ["0 abc", END]
    packets = [
        wire.packet(1, 70, b"x", ack=500),
        wire.packet(0, 499, b"?", ack=71),
        wire.packet(0, 500, b"abc", ack=71),
    ]
    assert told(*packets) == ["0 x", "1 abc", END]


def test_without_payload_and_without_syn_there_is_no_flow() -> None:
    wire = Wire()
    packets = [wire.packet(0, 0), wire.packet(1, 0, flags=FIN | ACK), wire.packet(0, 1), wire.packet(0, 0, flags=RST)]
    assert told(*packets) == []


# ends


def test_fin_with_data() -> None:
    wire = Wire()
    assert told(
        *opened(wire), wire.packet(0, 0, b"abc", flags=FIN | ACK), wire.packet(0, 0, b"abc", flags=FIN | ACK)
    ) == [
        "0 abc",
        "0 FIN",
        END,
    ]


def test_one_side_closes_and_the_other_goes_on() -> None:
    wire = Wire()
    packets = [wire.packet(0, 0, flags=FIN | ACK), wire.packet(1, 0, b"x", ack=1), wire.packet(1, 1, b"y", ack=1)]
    assert told(*opened(wire), *packets, wire.packet(1, 2, flags=FIN | ACK)) == ["0 FIN", "1 x", "1 y", "1 FIN"]


def test_nothing_follows_fin() -> None:
    wire = Wire()
    packets = [
        wire.packet(0, 0, b"abc"),
        wire.packet(0, 3, flags=FIN | ACK),
        wire.packet(0, 3, b"??"),
        wire.packet(0, 4, b"??"),
    ]
    assert told(*opened(wire), *packets) == ["0 abc", "0 FIN", END]
    early = [wire.packet(0, 5, b"??"), wire.packet(0, 3, flags=FIN | ACK), wire.packet(0, 0, b"abc")]
    assert told(*opened(wire), *early) == ["0 abc", "0 FIN", END]


def test_rst() -> None:
    wire = Wire()
    reset = wire.packet(1, 0, flags=RST | ACK, ack=3)
    assert told(*opened(wire), wire.packet(0, 0, b"abc"), reset, reset) == ["0 abc", "1 RST", END]


def test_a_connection_is_refused() -> None:
    wire = Wire()
    assert told(wire.packet(0, -1, flags=SYN), wire.packet(1, -1, flags=RST | ACK)) == ["1 RST", END]


def test_what_the_other_side_sends_before_it_sees_rst() -> None:
    wire = Wire()
    packets = [
        wire.packet(0, 0, b"abc"),
        wire.packet(1, 0, flags=RST),
        wire.packet(0, 3, b"def"),
        wire.packet(1, 0, b"?"),
    ]
    assert told(*opened(wire), *packets, wire.packet(0, 6, flags=RST)) == ["0 abc", "1 RST", "0 def", "0 RST"]


def test_rst_ends_waiting() -> None:
    wire = Wire()
    packets = [wire.packet(0, 3, b"def"), wire.packet(1, 1, b"y"), wire.packet(0, 9, flags=RST | ACK)]
    assert told(*opened(wire), *packets) == ["0 missing 3", "0 def", "1 missing 1", "1 y", "0 RST", END]


def test_rst_after_fin() -> None:
    wire = Wire()
    packets = [wire.packet(0, 0, flags=FIN | ACK), wire.packet(0, 1, flags=RST | ACK)]
    assert told(*opened(wire), *packets) == ["0 FIN", "0 RST", END]


# addresses and ports that are used again


def test_the_next_connection_of_a_port() -> None:
    old, new = Wire(), Wire(isn=(5_000_000, 9_000_000))
    pieces = read(
        records(
            [*opened(old), old.packet(0, 0, b"abc"), *opened(new), new.packet(0, 0, b"def"), new.packet(1, 0, b"x")]
        )
    )
    assert [(piece.flow.number, shown(piece)) for piece in pieces] == [
        (1, "0 abc"),
        (1, END),
        (2, "0 def"),
        (2, "1 x"),
        (2, END),
    ]


def test_the_next_connection_after_both_closed() -> None:
    packets = [*conversation(Wire()), *conversation(Wire(isn=(5000, 90_000))), *conversation(Wire())]
    assert told(*packets) == SPOKEN * 3


def test_the_next_connection_is_known_by_the_answer_alone() -> None:
    old, new = Wire(), Wire(isn=(5_000_000, 9_000_000))
    pieces = read(records([*opened(old), old.packet(0, 0, b"abc"), new.opening()[1], new.packet(0, 0, b"def")]))
    assert [(piece.flow.number, shown(piece)) for piece in pieces] == [(1, "0 abc"), (1, END), (2, "0 def"), (2, END)]
    assert pieces[-1].flow.opened


def test_the_next_connection_from_the_middle() -> None:
    old, new = Wire(), Wire(isn=(2**31, 2**31))
    packets = [old.packet(0, 0, b"abc"), new.packet(0, 0, b"d"), new.packet(0, 1, b"ef"), new.packet(0, 3, b"g")]
    pieces = read(records(packets))
    assert [(piece.flow.number, shown(piece)) for piece in pieces] == [
        (1, "0 abc"),
        (1, END),
        (2, "0 ef"),
        (2, "0 g"),
        (2, END),
    ]


def test_a_single_segment_from_far_away_is_left_out() -> None:
    wire = Wire()
    reassembler = Reassembler()
    far = Wire(isn=(2**31, 2**31))
    packets = [wire.packet(0, 0, b"abc"), far.packet(0, 0, b"?"), far.packet(1, 0, b"?"), far.packet(0, 0, flags=RST)]
    assert told(*opened(wire), *packets, wire.packet(0, 3, b"def"), reassembler=reassembler) == ["0 abc", "0 def", END]
    assert reassembler.counts == {"stray": 3}


# what is no segment


def test_other_records_are_counted() -> None:
    wire = Wire()
    reassembler = Reassembler()
    datagram = ipv4(wire.ends[0], b"\0\0\0\0\0\x08\0\0", protocol=UDP)
    given = records([*opened(wire), wire.packet(0, 0, b"abc"), datagram, datagram, wire.packet(0, 3, b"def")])
    arp = Record(9, None, 1, bytes(12) + b"\x08\x06" + bytes(46), 60)
    radio = Record(10, None, 127, bytes(60), 60)
    assert [shown(piece) for piece in read([*given, arp, radio], reassembler)] == ["0 abc", "0 def", END]
    assert reassembler.skipped == {"not TCP": 2, "not IP": 1, "of link type 127, which is not read": 1}


def test_a_header_of_tcp_that_cannot_be() -> None:
    wire = Wire()
    reassembler = Reassembler()
    packets = [bytearray(wire.packet(0, 3, b"def")) for _ in range(2)]
    packets[0][32], packets[1][32] = 0x40, 0xF0
    assert told(*opened(wire), wire.packet(0, 0, b"abc"), *map(bytes, packets), reassembler=reassembler) == [
        "0 abc",
        END,
    ]
    assert reassembler.skipped == {"TCP segments with a broken header": 2}


def test_fragments_without_the_rest_are_counted() -> None:
    wire = Wire()
    reassembler = Reassembler()
    assert told(*fragments4(wire.ends[0], wire.segment(0, 0, b"abc" * 9), [24], 1)[:1], reassembler=reassembler) == []
    assert reassembler.skipped == {"fragments of IP packets whose rest is missing": 1}


def test_a_datagram_between_the_same_ports_is_no_segment() -> None:
    wire = Wire()
    packets = [*opened(wire), wire.packet(0, 0, b"abc")]
    datagram = ipv4(wire.ends[0], wire.segment(0, 3, b"???"), protocol=UDP)
    assert told(*packets, datagram, wire.packet(0, 3, b"def")) == ["0 abc", "0 def", END]


# bounds


def test_flows_that_were_idle_longest_are_forgotten() -> None:
    reassembler = Reassembler(max_flows=10)
    kept = Wire(port=9)
    fed = []
    for port in range(100, 150):
        wire = Wire(port=port)
        at = port - 100
        packets = [kept.packet(0, at, b"k"), *opened(wire), wire.packet(0, 0, b"abc")]
        fed += [piece for record in records(packets) for piece in reassembler.feed(record)]
    ended = [piece.flow.ports[0] for piece in fed if isinstance(piece, End)]
    assert ended == list(range(100, 141))
    assert b"".join(piece.data for piece in fed if isinstance(piece, Chunk) and piece.flow.ports[0] == 9) == b"k" * 50
    assert len(list(reassembler.finish())) == 10


def test_memory_is_bounded_for_any_number_of_connections() -> None:
    reassembler = Reassembler(max_flows=50)
    for port in range(1, 5000):
        for record in records(conversation(Wire(port=port))):
            reassembler.feed(record)
    flows = reassembler._flows
    assert len(flows) == 0
    assert len(flows._closed) == 2 * (flows.max_closed + 1)
    assert list(reassembler.finish()) == []
