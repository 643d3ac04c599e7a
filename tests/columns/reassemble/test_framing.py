"""Packets in segments: those that a walk from byte to byte finds, whole segments at once or not."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.framing import frame_length
from mqttpub.codec.stream import MAX_PACKET
from mqttpub.columns.reassemble import framing
from mqttpub.columns.reassemble.framing import Framing
from mqttpub.wire.types import VARIABLE
from tests.build.pieces import CONNECTS, PINGREQ, V5, puback, publish


@pytest.fixture(params=[1, 3, 400], autouse=True)
def fewest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for packets in step to the end, for a while, or only once."""
    monkeypatch.setattr(framing, "FEWEST", request.param)


def packet(size: int, first: int = 0x30) -> bytes:
    return bytes([first]) + VARIABLE.write(size) + bytes(size)


sizes = st.sampled_from((0, 1, 2, 5, 60, 124, 125, 126, 127, 128, 129, 300, 16_383, 16_384, 20_000))
acks = st.sampled_from((puback(), b"\x50\x02\n\n", b"\x62\x02\x70\x02", b"\x40\x82\x00\0\1"))
packets = st.lists(sizes.map(packet) | st.just(PINGREQ) | acks, max_size=20)


@st.composite
def cut(draw: st.DrawFn, data: bytes, bounds: list[int]) -> list[bytes]:
    """Return a stream in segments, mostly cut where packets end."""
    places = draw(st.lists(st.sampled_from([*bounds, 1]) | st.integers(1, max(len(data), 1)), max_size=20))
    edges = sorted({0, len(data), *(place for place in places if place < len(data))})
    return [data[start:stop] for start, stop in pairwise(edges)]


def framed(segments: list[bytes], most: int = MAX_PACKET) -> Framing:
    """Lay segments out with something between them."""
    data, places = b"", []
    for each in segments:
        data += b"\xff\x10\x0e"
        places.append((len(data), len(data) + len(each)))
        data += each
    start, end = np.array(places, np.int64).reshape(-1, 2).T
    return Framing(data + b"\xff", start, end, max_packet=most)


def rows(look: Framing, first: int, stop: int, begun: bytes) -> tuple[list[tuple[int, bytes]], bytes] | None:
    """Return the packets of segments with the segments that complete them, and what has begun after them."""
    found = look.frame(first, stop, begun)
    if found is None:
        return None
    data = look.data + bytes(look.found.joined)
    taken = {segment for low, high in found.stretches for segment in range(low, high)}
    taken -= {segment + 1 for segment in found.pairs}
    table = [*look.found.packets, look.found.begin]
    seen = [row[:-1] for row in zip(*(column.tolist() for column in table), strict=True) if row[-1] in taken]
    seen += list(zip(*(column.tolist() for column in look.of_runs(found.runs, len(data))), strict=True))
    data += b"".join(run.data for run in found.runs)
    assert found.due == (2 if not found.begun else frame_length(found.begun) or len(found.begun) + 1)
    seen.sort(key=lambda row: row[3])
    return [(segment, data[start : start + length]) for start, length, segment, _ in seen], bytes(found.begun)


@settings(max_examples=25)
@given(packets, st.data())
def test_every_packet_is_found_in_the_segment_that_completes_it(sent: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(sent)
    bounds = [sum(map(len, sent[:count])) for count in range(1, len(sent))]
    segments = data.draw(cut(stream, [each for each in bounds if each] or [1]))
    segments = segments or [b"\xc0\0"]
    sent = sent or [b"\xc0\0"]
    ends = np.cumsum([len(each) for each in segments]).tolist()
    expected, at = [], 0
    for each in sent:
        at += len(each)
        expected.append((next(number for number, end in enumerate(ends) if end >= at), each))
    look = framed(segments)
    assert rows(look, 0, len(segments), b"") == (expected, b"")
    # In two parts, the second of which continues what the first has begun.
    middle = data.draw(st.integers(0, len(segments)))
    one = rows(look, 0, middle, b"")
    assert one
    other = rows(look, middle, len(segments), one[1])
    assert other
    assert one[0] + other[0] == expected


@pytest.mark.parametrize(
    "odd",
    [CONNECTS[V5], b"\x30\xff\xff\xff\xff\x01" + bytes(9), b"\x30\xff\xff\xff\x7f", packet(300), b"\x10"],
    ids=["a CONNECT", "a length without end", "the largest length", "a packet that is too large", "half of a CONNECT"],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("before", [0, 1, 5])
def test_packets_that_change_the_rest_are_left_to_the_scalar_code(odd: bytes, size: int, before: int) -> None:
    segments = [PINGREQ] * before + [odd[at : at + size] for at in range(0, len(odd), size)] + [PINGREQ] * 3
    look = framed(segments, most=200)
    assert look.frame(0, len(segments), b"") is None
    after = rows(look, len(segments) - 3, len(segments), b"")
    assert after == ([(number, PINGREQ) for number in range(len(segments) - 3, len(segments))], b"")


def test_a_packet_may_begin_with_one_byte_and_continue_through_many_segments() -> None:
    stream = publish(bytes(5000))
    segments = [stream[1:2], stream[2:3], *(stream[at : at + 700] for at in range(3, len(stream), 700)), PINGREQ]
    look = framed(segments)
    assert rows(look, 0, len(segments), stream[:1]) == (
        [(len(segments) - 2, stream), (len(segments) - 1, PINGREQ)], b"",
    )  # fmt: skip
    assert rows(look, 0, 3, stream[:1]) == ([], stream[:703])


def test_whole_segments_are_one_stretch() -> None:
    look = framed([PINGREQ, publish() + PINGREQ, publish(bytes(200))] * 400)
    found = look.frame(0, 1200, b"")
    assert found
    assert (found.stretches, found.runs) == ([(0, 1200)], [])
    assert len(look.found.packets.start) == 1600


def test_packets_in_two_segments_need_nothing_joined_but_themselves() -> None:
    whole = publish(bytes(90)) + publish()
    look = framed([part for cut in range(2, 90) for part in (PINGREQ + whole[:cut], whole[cut:])] * 5)
    found = look.frame(0, 880, b"")
    assert found
    assert (found.stretches, found.pairs, found.runs) == ([(0, 880)], [*range(0, 880, 2)], [])
    # Without its second segment the first one of the last pair has only begun.
    assert rows(look, 174, 175, b"") == ([(174, PINGREQ)], whole[:89])


def test_a_small_packet_may_be_too_large() -> None:
    segments = [(PINGREQ + packet(110))[at : at + 70] for at in (0, 70)]
    assert framed(segments, most=112).frame(0, 2, b"")
    assert framed(segments, most=111).frame(0, 2, b"") is None


@given(st.lists(st.sampled_from("wpo"), min_size=1, max_size=14), st.data())
def test_a_stretch_is_that_of_a_walk_from_segment_to_segment(kinds: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(kinds) - 1))
    stop = data.draw(st.integers(first + 1, len(kinds)))
    look = framed([PINGREQ] * len(kinds))
    look.found.whole[:] = [kind == "w" for kind in kinds]
    look.found.pair[:] = [kind == "p" for kind in kinds]
    look.find_stretches()
    pairs: list[int] = []
    at = first
    walked = []
    while at < stop and (kinds[at] == "w" or (kinds[at] == "p" and at + 2 <= stop)):
        walked += [at] if kinds[at] == "p" else []
        at += 2 if kinds[at] == "p" else 1
    assert (look.stretch(first, stop, pairs), pairs) == (at, walked)
