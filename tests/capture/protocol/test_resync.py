"""Looking for packets in bytes that do not begin with one."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.protocol.evidence import VERSIONS
from mqttpub.capture.protocol.resync import LARGE_WINDOW, MOST_CHAINS, WINDOW, FoundPackets, PacketFinder
from mqttpub.codec.encode import encode
from mqttpub.spec.packets import Subscribe, Subscription
from mqttpub.spec.versions import Direction, Version
from tests.build.pieces import CLIENT, PINGREQ, SERVER, V5, V311, bites, puback, publish
from tests.strategies import encoded, versions

ONLY5 = frozenset((V5,))


def fed(search: PacketFinder, *chunks: bytes) -> FoundPackets | None:
    """Return what the first of some chunks proves that proves anything."""
    for number, data in enumerate(chunks, 1):
        if found := search.feed(data, number * 1000, number):
            return found
    return None


@settings(max_examples=25)
@given(st.data(), versions)
def test_packets_are_found_where_they_begin(data: st.DataObject, version: Version) -> None:
    some = data.draw(st.lists(encoded(version, direction=Direction.CLIENT), max_size=3))
    packets = [*some, *[publish(version=version)] * 3]
    before = b"\x00 text that is no packet \xff" * 10
    stream = before + b"".join(packets)
    size = data.draw(st.integers(1, 100))
    search = PacketFinder(1000, frozenset((version,)))
    found = fed(search, *(stream[at : at + size] for at in range(0, len(stream), size))) or search.finish()
    assert found
    assert found.start in [1000 + len(before) + sum(map(len, packets[:number])) for number in range(len(packets))]
    held = b"".join(each.data for each in found.held)
    assert held == stream[found.start - 1000 :][: len(held)]


def test_held_packets_keep_their_place_time_and_record() -> None:
    found = fed(
        PacketFinder(50, ONLY5), b"\xff" * 10, b"\xff" * 5 + publish() + publish()[:4], publish()[4:] + publish()
    )
    assert found == (
        65, "3 packets follow one another", 3,
        [(65, 2000, 2, publish() + publish()[:4]), (82, 3000, 3, publish()[4:] + publish())],
    )  # fmt: skip


def test_packets_from_the_beginning_of_a_segment_need_to_be_fewer() -> None:
    three = publish() * 3
    strict = {"anywhere": 8, "filling": False}
    assert fed(PacketFinder(0, ONLY5, **strict), b"\xff", three)  # type: ignore[arg-type]
    assert not fed(PacketFinder(0, ONLY5, **strict), b"\xff" + three)  # type: ignore[arg-type]
    assert fed(PacketFinder(0, ONLY5, **strict), b"\xff" + publish() * 8)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("segments", "start"),
    [
        ([publish()], 0),
        ([puback()], 0),
        ([PINGREQ], None),
        ([PINGREQ, PINGREQ], 0),
        ([publish()[:4], publish()[4:]], 0),
        ([publish() + b"\x30"], None),
        ([b"\xff" + publish()], None),
        ([b"\xff", publish()], 1),
    ],
)
def test_packets_and_segments_that_begin_and_end_together(segments: list[bytes], start: int | None) -> None:
    found = fed(PacketFinder(0, ONLY5), *segments)
    assert (found and found.start) == start
    assert not fed(PacketFinder(0, ONLY5, filling=False), *segments)


def test_the_last_bytes_prove_what_ends_with_them() -> None:
    search = PacketFinder(0, ONLY5)
    assert not fed(search, b"\xff" + publish() * 2)
    found = search.finish()
    assert found
    assert (found.start, found.why) == (1, "2 packets end with the last byte")
    search = PacketFinder(0, ONLY5)
    assert not fed(search, b"\xff" + publish())
    assert not search.finish()


def test_a_packet_that_ends_where_the_missing_bytes_end() -> None:
    packet = publish(bytes(500))
    search = PacketFinder(0, ONLY5)
    assert not fed(search, packet[:100])
    found = search.missing(len(packet) - 100)
    assert found
    assert (found.start, found.held[0].data) == (0, packet[:100])
    search = PacketFinder(0, ONLY5)
    fed(search, packet[:100])
    assert not search.missing(len(packet))
    found = fed(search, PINGREQ * 3)
    assert found
    assert found.start == 100 + len(packet)


def test_versions_and_directions_that_cannot_be_are_left_out() -> None:
    assert fed(PacketFinder(0, VERSIONS, CLIENT), PINGREQ * 3)
    assert not fed(PacketFinder(0, VERSIONS, SERVER), PINGREQ * 3)
    three = publish(b"{}", V311) * 3
    assert fed(PacketFinder(0, VERSIONS), three)
    assert not fed(PacketFinder(0, ONLY5), three)


def test_packets_that_are_right_in_different_versions_only_do_not_follow_one_another() -> None:
    assert not fed(PacketFinder(0, VERSIONS), b"\xff" + (publish(b"{}", V311) + b"\x40\x03\x00\x01\x10") * 4)


@pytest.mark.parametrize(("first", "gone", "size"), [(b"", 0, 70_000), (b"\xff", 2, 70_000), (b"", 2, 1_100_000)])
def test_a_large_publish_counts_before_its_payload_is_there(first: bytes, gone: int, size: int) -> None:
    packet = publish(bytes(size))
    stream = first + packet * 4
    search = PacketFinder(0, ONLY5)
    found = None
    for at in range(0, len(stream), 1000):
        found = found or search.feed(stream[at : at + 1000], 0, 0)
        assert len(search.window) <= (LARGE_WINDOW if not first else WINDOW) + 1000
    assert found
    # Those that do not begin with a segment, and the largest, are no longer kept by then.
    assert found.start == len(first) + gone * len(packet)


def test_long_topics_and_long_packets_prove_nothing_but_are_waited_for() -> None:
    long = encode(Subscribe(packet_id=1, subscriptions=(Subscription(filter="x" * 200),)), V5)
    assert not fed(PacketFinder(0, ONLY5), long * 3)
    topic = b"\x30\x85\x08\x04\x01" + b"t" * 1025 + b"\x00" + b"p"
    assert fed(PacketFinder(0, ONLY5, filling=False), *bites(topic * 3))


def test_a_place_is_tried_once() -> None:
    search = PacketFinder(0, ONLY5, filling=False)
    for data in bites(b"\xff" + publish()):
        search.feed(data, 0, 0)
    assert [chain.starts for chain in search.chains] == [[1]]


def test_a_beginning_that_has_left_the_window_is_given_up() -> None:
    search = PacketFinder(0, ONLY5, filling=False)
    search.feed(b"\xff" * 200_000 + publish() + publish()[:1], 0, 0)
    assert len(search.chains) == 1
    assert not search.feed(publish()[1:], 0, 0)
    assert not search.chains


def test_noise_finds_nothing_and_keeps_little() -> None:
    noise = random.Random(4).randbytes(300_000)
    search = PacketFinder(0, VERSIONS)
    for at in range(0, len(noise), 1460):
        assert not search.feed(noise[at : at + 1460], 0, 0)
        assert len(search.window) <= WINDOW
        assert len(search.chains) <= MOST_CHAINS
    assert not search.tired


def test_bytes_that_are_all_beginnings_tire_the_search() -> None:
    # Each is a SUBSCRIBE that has to be read to its end to see that it is none, and a new one begins in each.
    nearly = b"\x90\x7e\x00\x01" * 500
    search, fed = PacketFinder(0, ONLY5), 0
    while not search.tired:
        assert not search.feed(nearly, 0, 0)
        fed += len(nearly)
        assert len(search.chains) <= MOST_CHAINS
    assert fed < 1 << 20


@given(st.lists(st.binary(max_size=200) | st.integers(1, 100), max_size=20), versions)
def test_any_bytes_never_raise(steps: list[bytes | int], version: Version) -> None:
    search = PacketFinder(0, frozenset((version,)))
    for step in steps:
        if search.missing(step) if isinstance(step, int) else search.feed(step, 0, 0):
            return
    search.finish()
