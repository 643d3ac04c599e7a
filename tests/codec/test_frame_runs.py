"""Runs are the packets of a stream, those of one fixed header together."""

from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.codec.frame_runs import LONGEST_BYTES, FrameRun, take_runs
from mqttpub.codec.stream import Frame, LostSync, Stream
from mqttpub.spec.packets import Connect, Pingreq, Puback, Pubcomp, Publish, Pubrec, Pubrel, Subscribe, Subscription
from mqttpub.spec.versions import Direction, Version

CLIENT = Direction.CLIENT
SIZES = (0, 1, 2, *range(119, 125), 200, LONGEST_BYTES - 7, LONGEST_BYTES - 6, 20_000)
"""Lengths of payloads around those with another length of the header, and with more bytes than runs have."""
PACKETS = st.sampled_from((
    *(encode(Publish(topic="a", payload=bytes(size)), Version.V5) for size in SIZES),
    *(encode(Publish(topic="a", qos=1, packet_id=id, payload=b"x"), Version.V5) for id in (1, 2, 0x3004)),
    *(encode(kind(packet_id=7), Version.V5) for kind in (Puback, Pubrec, Pubrel, Pubcomp)),
    encode(Pubrel(packet_id=7, reason_code=0x92), Version.V5), encode(Pingreq(), Version.V5),
    encode(Subscribe(packet_id=1, subscriptions=(Subscription(filter="a"),)), Version.V5),
    encode(Connect(client_id="c"), Version.V311), bytes.fromhex("30800000016178"), bytes.fromhex("308480000000016100"),
))  # fmt: skip
"""Packets, also such whose Remaining Length has more bytes than it needs."""
LOST = bytes.fromhex("30ffffffff01")


def begun() -> Stream:
    """Return a stream that has had a packet."""
    stream = Stream(CLIENT, Version.V5)
    list(stream.feed(encode(Connect(client_id="c"), Version.V5)))
    return stream


def taken(stream: Stream, data: bytes, *, together: bool) -> tuple[list[Frame], str]:
    """Return the packets that bytes complete, and how the stream is lost."""
    runs, rest = take_runs(stream, CLIENT, data) if together else ([], data)
    found = [frame for run in runs for frame in run.frames]
    try:
        found += stream.feed(rest)
    except LostSync as lost:
        return found, str(lost)
    return found, ""


@given(st.lists(st.tuples(PACKETS, st.integers(1, 3)), max_size=8), st.sets(st.integers(0, 400)), st.booleans())
def test_runs_and_the_rest_are_the_packets(drawn: list[tuple[bytes, int]], cuts: set[int], lost: bool) -> None:
    data = b"".join(packet * times for packet, times in drawn) + LOST * lost
    edges = sorted({0, len(data)} | {cut for cut in cuts if cut < len(data)})
    one_by_one, together = begun(), begun()
    for start, end in pairwise(edges):
        chunk = data[start:end]
        assert taken(together, chunk, together=True) == taken(one_by_one, chunk, together=False)
        assert (together.offset, together.pending, together.announced) == (
            one_by_one.offset, one_by_one.pending, one_by_one.announced,
        )  # fmt: skip


def test_packets_of_one_length_are_one_run() -> None:
    packets = [
        encode(Publish(topic="a", qos=1, packet_id=id, payload=bytes(size)), Version.V5)
        for size in (1, 1, 1, 2, 200, 200, 1)
        for id in (1, 2)
    ]
    runs, rest = take_runs(begun(), CLIENT, b"".join(packets))
    assert not rest
    assert [run.packets for run in runs] == [len(list(some)) for _, some in groupby(map(len, packets))]


def test_nothing_is_taken_before_the_first_packet_or_within_one() -> None:
    packet = encode(Publish(topic="a", payload=b"x"), Version.V5)
    assert take_runs(Stream(CLIENT, Version.V5), CLIENT, packet) == ([], packet)
    stream = begun()
    list(stream.feed(packet[:3]))
    assert take_runs(stream, CLIENT, packet) == ([], packet)


def test_a_run_has_parts() -> None:
    run = FrameRun(bytes(range(12)), 5, 3, CLIENT, Version.V5)
    parts = list(run.parts(3))
    assert [(part.data, part.offset, part.packets) for part in parts] == [(run.data[:9], 5, 3), (run.data[9:], 14, 1)]
    assert [frame for part in parts for frame in part.frames] == list(run.frames)
    assert list(run.parts(4)) == [run]
