"""TCP connections: how they begin and end, whose ports are used again, and how many are remembered."""

from collections.abc import Iterator

import pytest

from mqttpub.capture.network.tcp import Reassembler
from mqttpub.capture.types import CaptureRecord, Chunk, End, Piece
from tests.build.frames import ACK, CLIENT, FIN, LINKS, RST, SYN, TIMESTAMPS, UDP, Wire, fragments4, ipv4, records
from tests.capture.network.piece_words import END, SPOKEN, WRAP, conversation, read, shown, words

# beginnings


def test_data_with_syn() -> None:
    wire = Wire()
    assert words(
        wire.packet(0, -1, b"abc", flags=SYN),
        wire.packet(1, -1, b"x", flags=SYN | ACK, ack=3),
        wire.packet(0, 3, b"def", ack=1),
        wire.packet(1, 1, b"y", ack=6),
    ) == ["0 abc", "1 x", "0 def", "1 y", END]


def test_data_with_syn_that_was_not_taken_comes_again() -> None:
    wire = Wire()
    first, second = wire.packet(0, -1, b"abc", flags=SYN), wire.packet(1, -1, flags=SYN | ACK)
    assert words(first, second, wire.packet(0, 0, b"abc"), wire.packet(0, 3, b"d")) == ["0 abc", "0 d", END]


def test_syn_comes_again() -> None:
    wire = Wire()
    syn, answer, ack = wire.opening()
    assert words(syn, syn, answer, answer, ack, wire.packet(0, 0, b"abc"), syn, answer) == ["0 abc", END]


def test_both_sides_open_at_once() -> None:
    wire = Wire()
    packets = [wire.packet(0, -1, flags=SYN), wire.packet(1, -1, flags=SYN), wire.packet(0, -1, flags=SYN | ACK)]
    assert words(*packets, wire.packet(1, 0, b"x"), wire.packet(0, 0, b"abc")) == ["1 x", "0 abc", END]


def test_the_answer_to_syn_tells_where_both_sides_begin() -> None:
    wire = Wire()
    answer = wire.opening()[1]
    assert words(answer, wire.packet(0, 3, b"def"), wire.packet(1, 1, b"y")) == [
        "0 missing 3",
        "0 def",
        "1 missing 1",
        "1 y",
        END,
    ]


def test_the_answer_to_syn_was_not_captured() -> None:
    wire = Wire()
    syn, _, ack = wire.opening()
    assert words(syn, ack, wire.packet(1, 0, b"x"), wire.packet(0, 0, b"abc")) == ["1 x", "0 abc", END]


def test_an_end_that_connects_to_itself() -> None:
    wire = Wire(isn=(1000, 1000))
    wire.ports, wire.ends = (50_000, 50_000), ((CLIENT[0],) * 2,) * 2
    packets = [wire.packet(0, -1, flags=SYN), wire.packet(0, 0, b"abc"), wire.packet(0, 3, b"def")]
    assert words(*packets) == ["0 abc", "0 def", END]


def test_from_the_middle_a_flow_begins_with_its_first_payload() -> None:
    wire = Wire()
    assert words(
        wire.packet(0, 500, ack=70),
        wire.packet(1, 70, ack=500),
        wire.packet(1, 70, b"xyz", ack=500),
        wire.packet(0, 500, b"abc", ack=73),
        wire.packet(1, 73, b"z", ack=503),
        wire.packet(0, 503, b"d", ack=74),
    ) == ["0 xyz", "1 abc", "0 z", "1 d", END]


def test_from_the_middle_what_comes_from_before_the_first_payload_is_left_out() -> None:
    wire = Wire()
    assert words(wire.packet(0, 503, b"def"), wire.packet(0, 500, b"abc"), wire.packet(0, 506, b"g")) == [
        "0 def",
        "0 g",
        END,
    ]


def test_from_the_middle_a_probe_is_not_payload() -> None:
    wire = Wire()
    assert words(wire.packet(0, 499, b"\0"), wire.packet(0, 500, b"abc")) == ["0 abc", END]
    packets = [
        wire.packet(1, 70, b"x", ack=500),
        wire.packet(0, 499, b"?", ack=71),
        wire.packet(0, 500, b"abc", ack=71),
    ]
    assert words(*packets) == ["0 x", "1 abc", END]


def test_a_flow_needs_payload_or_syn() -> None:
    wire = Wire()
    packets = [wire.packet(0, 0), wire.packet(1, 0, flags=FIN | ACK), wire.packet(0, 1), wire.packet(0, 0, flags=RST)]
    assert words(*packets) == []


# ends


def test_fin_with_data() -> None:
    wire = Wire()
    assert words(
        *wire.opening(), wire.packet(0, 0, b"abc", flags=FIN | ACK), wire.packet(0, 0, b"abc", flags=FIN | ACK)
    ) == [
        "0 abc",
        "0 FIN",
        END,
    ]


def test_one_side_closes_and_the_other_continues() -> None:
    wire = Wire()
    packets = [wire.packet(0, 0, flags=FIN | ACK), wire.packet(1, 0, b"x", ack=1), wire.packet(1, 1, b"y", ack=1)]
    assert words(*wire.opening(), *packets, wire.packet(1, 2, flags=FIN | ACK)) == ["0 FIN", "1 x", "1 y", "1 FIN"]


def test_nothing_follows_fin() -> None:
    wire = Wire()
    packets = [
        wire.packet(0, 0, b"abc"),
        wire.packet(0, 3, flags=FIN | ACK),
        wire.packet(0, 3, b"??"),
        wire.packet(0, 4, b"??"),
    ]
    assert words(*wire.opening(), *packets) == ["0 abc", "0 FIN", END]
    for later in (wire.packet(0, 5, b"??"), wire.packet(0, 5, flags=FIN | ACK)):
        assert words(*wire.opening(), wire.packet(0, 3, flags=FIN | ACK), later) == ["0 missing 3", "0 FIN", END]
    early = [wire.packet(0, 5, b"??"), wire.packet(0, 3, flags=FIN | ACK), wire.packet(0, 0, b"abc")]
    assert words(*wire.opening(), *early) == ["0 abc", "0 FIN", END]


def test_rst() -> None:
    wire = Wire()
    reset = wire.packet(1, 0, flags=RST | ACK, ack=3)
    assert words(*wire.opening(), wire.packet(0, 0, b"abc"), reset, reset) == ["0 abc", "1 RST", END]


def test_a_connection_is_refused() -> None:
    wire = Wire()
    assert words(wire.packet(0, -1, flags=SYN), wire.packet(1, -1, flags=RST | ACK)) == ["1 RST", END]


def test_bytes_that_the_other_side_sends_before_it_sees_rst() -> None:
    wire = Wire()
    packets = [
        wire.packet(0, 0, b"abc"),
        wire.packet(1, 0, flags=RST),
        wire.packet(0, 3, b"def"),
        wire.packet(1, 0, b"?"),
    ]
    assert words(*wire.opening(), *packets, wire.packet(0, 6, flags=RST)) == ["0 abc", "1 RST", "0 def", "0 RST"]


def test_rst_ends_waiting() -> None:
    wire = Wire()
    packets = [wire.packet(0, 3, b"def"), wire.packet(1, 1, b"y"), wire.packet(0, 9, flags=RST | ACK)]
    assert words(*wire.opening(), *packets) == ["0 missing 3", "0 def", "1 missing 1", "1 y", "0 RST", END]


def test_rst_after_fin() -> None:
    wire = Wire()
    packets = [wire.packet(0, 0, flags=FIN | ACK), wire.packet(0, 1, flags=RST | ACK)]
    assert words(*wire.opening(), *packets) == ["0 FIN", "0 RST", END]


# addresses and ports that are used again


def test_the_next_connection_of_a_port() -> None:
    old, new = Wire(), Wire(isn=(5_000_000, 9_000_000))
    pieces = read(
        records(
            [*old.opening(), old.packet(0, 0, b"abc"), *new.opening(), new.packet(0, 0, b"def"), new.packet(1, 0, b"x")]
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
    assert words(*packets) == SPOKEN * 3


def test_the_next_connection_is_known_by_the_answer_alone() -> None:
    old, new = Wire(), Wire(isn=(5_000_000, 9_000_000))
    pieces = read(records([*old.opening(), old.packet(0, 0, b"abc"), new.opening()[1], new.packet(0, 0, b"def")]))
    assert [(piece.flow.number, shown(piece)) for piece in pieces] == [(1, "0 abc"), (1, END), (2, "0 def"), (2, END)]
    assert pieces[-1].flow.opened


def test_the_next_connection_is_opened_by_the_side_that_was_not_seen() -> None:
    wire = Wire()
    pieces = read(records([wire.packet(0, 500, b"abc"), wire.packet(1, -1, flags=SYN), wire.packet(1, 0, b"x")]))
    assert [(piece.flow.number, shown(piece)) for piece in pieces] == [(1, "0 abc"), (1, END), (2, "0 x"), (2, END)]


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
    assert words(*wire.opening(), *packets, wire.packet(0, 3, b"def"), reassembler=reassembler) == [
        "0 abc",
        "0 def",
        END,
    ]
    assert reassembler.counts == {"stray": 3}


# what is no segment


def test_other_records_are_counted() -> None:
    wire = Wire()
    reassembler = Reassembler()
    datagram = ipv4(wire.ends[0], b"\0\0\0\0\0\x08\0\0", protocol=UDP)
    given = records([*wire.opening(), wire.packet(0, 0, b"abc"), datagram, datagram, wire.packet(0, 3, b"def")])
    arp = CaptureRecord(9, None, 1, bytes(12) + b"\x08\x06" + bytes(46), 60)
    radio = CaptureRecord(10, None, 127, bytes(60), 60)
    assert [shown(piece) for piece in read([*given, arp, radio], reassembler)] == ["0 abc", "0 def", END]
    assert reassembler.skipped == {"not TCP": 2, "not IP": 1, "of link type 127, which is not supported": 1}


def test_a_header_of_tcp_that_cannot_be() -> None:
    wire = Wire()
    reassembler = Reassembler()
    packets = [bytearray(wire.packet(0, 3, b"def")) for _ in range(2)]
    packets[0][32], packets[1][32] = 0x40, 0xF0
    assert words(*wire.opening(), wire.packet(0, 0, b"abc"), *map(bytes, packets), reassembler=reassembler) == [
        "0 abc",
        END,
    ]
    assert reassembler.skipped == {"TCP segments with a broken header": 2}


def test_fragments_without_the_rest_are_counted() -> None:
    wire = Wire()
    reassembler = Reassembler()
    assert words(*fragments4(wire.ends[0], wire.segment(0, 0, b"abc" * 9), [24], 1)[:1], reassembler=reassembler) == []
    assert reassembler.skipped == {"fragments of IP packets whose rest is missing": 1}


def test_a_datagram_between_the_same_ports_is_not_a_segment() -> None:
    wire = Wire()
    packets = [*wire.opening(), wire.packet(0, 0, b"abc")]
    datagram = ipv4(wire.ends[0], wire.segment(0, 3, b"???"), protocol=UDP)
    assert words(*packets, datagram, wire.packet(0, 3, b"def")) == ["0 abc", "0 def", END]


# bounds


class Watched(Reassembler):
    """Counts the records that do not go the short way."""

    careful = 0

    def _look(self, record: CaptureRecord) -> Iterator[Piece]:
        self.careful += 1
        return super()._look(record)


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("name", LINKS)
def test_nearly_all_records_go_the_short_way(name: str, version: int) -> None:
    wire = Wire(version, isn=(2**32 - 60, 2**32 - 30), options=TIMESTAMPS)
    packets = wire.opening()
    for at in range(100):
        packets += [
            wire.packet(0, at, b"a", ack=at),
            wire.packet(1, 0, ack=at + 1),
            wire.packet(1, at, b"b", ack=at + 1),
        ]
    reassembler = Watched()
    read(records((packet for packet in packets for _ in range(2)), LINKS[name]), reassembler)
    # SYN and its answer, each twice, and the first acknowledgement of the answer.
    assert reassembler.careful == 5


def test_the_fast_path_continues_after_sequence_numbers_wrap() -> None:
    wire = Wire(isn=WRAP)
    late = [wire.packet(0, at, b"a") for at in (4, 3, 2, 1, 0)]
    reassembler = Watched()
    read(records([*wire.opening(), *late, *(wire.packet(0, at, b"a") for at in range(5, 50))]), reassembler)
    assert reassembler.careful == 3 + len(late)


def test_flows_that_were_idle_longest_are_forgotten() -> None:
    reassembler = Reassembler(max_flows=10)
    kept = Wire(port=9)
    fed = []
    for port in range(100, 150):
        wire = Wire(port=port)
        at = port - 100
        packets = [kept.packet(0, at, b"k"), *wire.opening(), wire.packet(0, 0, b"abc")]
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
    flows = reassembler.flows
    assert len(flows) == 0
    assert len(flows.numbers()) == flows.max_closed + 1
    assert list(reassembler.finish()) == []
