"""Packets that passed together are runs of what each is by itself."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.codec.frame_runs import FrameRun, take_runs
from mqttpub.codec.stream import Frame, Stream
from mqttpub.lint.packet.judge import PacketJudge
from mqttpub.reading.clean_frames import CleanFrames
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connect, Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints
from mqttpub.traffic.runs import LONGEST_RUN, PacketRun

ENDS = Endpoints(4, "client", "broker")
TIME_NS = 1_700_000_000_123_456_000
PROPERTIES = (
    (), (Property(0x02, 60),), (Property(0x26, ("a", "b")), Property(0x26, ("a", "c"))), (Property(0x01, 1),),
    (Property(0x23, 1),), (Property(0x0B, 1),), (Property(0x26, ("a", "x" * 130)),), (Property(0x08, "a/#"),),
)  # fmt: skip
TOPICS = ("t", "u", "\u4f60/100%", "a/b", "a/#", "$SYS/a", "a/" + "x" * 120)

BROKEN = (
    "3000",
    "300100",
    "30020001",
    "320400017400",
    "3003000174",
    "30080001740326000161",
    "3005000174",
    "32050001740001",
)
"""PUBLISH packets that end too early or late."""


def messages(version: Version) -> Iterator[bytes]:
    """Yield PUBLISH packets, clean ones and others."""
    payloads = b"", b"x", b"\xff", b"17"
    for topic, qos, id in product(TOPICS, (0, 1, 2), (1, 7, 258)):
        yield encode(Publish(topic=topic, qos=qos, packet_id=id if qos else None, payload=payloads[id % 4]), version)
    for first in (*range(0x30, 0x40), 0x35):
        has_id = first & 6
        for shown in ("0000", "0001"):
            body = f"000174{shown if has_id else ''}{'00' if version is Version.V5 else ''}78"
            yield bytes((first, len(body) // 2)) + bytes.fromhex(body)
    for properties in PROPERTIES if version is Version.V5 else ():
        yield encode(Publish(topic="t", qos=1, packet_id=3, payload=b"x", properties=properties), version)
        yield encode(Publish(topic="t", payload=b"\xfe", properties=properties), version)
    yield from map(bytes.fromhex, BROKEN)


def acks(version: Version) -> Iterator[bytes]:
    for kind, id in product((Puback, Pubrec, Pubrel, Pubcomp), (1, 2, 770)):
        yield encode(kind(packet_id=id), version)
    for first, code in product((0x40, 0x50, 0x62, 0x60, 0x70, 0x42), (0, 0x10, 0x92, 0x97, 0x55)):
        yield bytes((first, 3, 0, 9, code))
        yield bytes((first, 4, 0, 9, code, 0))
        yield bytes((first, 2, 0, 0))
        yield bytes((first, 3, 0, 0, code))


def begun(direction: Direction, version: Version) -> Stream:
    stream = Stream(direction, version)
    list(stream.feed(encode(Connect(client_id="c"), version)))
    return stream


def check(packets: Sequence[bytes], version: Version, direction: Direction, found: CleanFrames) -> int:
    """Check the runs of packets; return how many are in them."""
    stream = begun(direction, version)
    frames, _ = take_runs(stream, direction, b"".join(packets))
    wanted = [frame for run in frames for frame in run.frames]
    runs = list(found.runs(frames, TIME_NS, ENDS))
    got: list[Any] = []
    in_runs = 0
    for run in runs:
        if isinstance(run, FrameRun):
            got += run.frames
            continue
        assert run.stop - run.start <= LONGEST_RUN
        in_runs += run.stop - run.start
        got += alike(run, version)
    assert got == wanted
    return in_runs


def alike(run: PacketRun, version: Version) -> Iterator[Frame]:
    """Yield the packets of a run, whose values are those of each."""
    judge, columns = PacketJudge(), run.columns
    ids: list[int] = []
    for row, event in enumerate(run.events(), run.start):
        assert (event.ends, event.time, event.version) == (ENDS, TIME_NS, version)
        packet, findings = judge.alone(event.data, version, run.direction)
        assert not findings
        kind: Any = packet
        payload = columns.buffer[columns.payload_begin[row] : columns.begin[row] + columns.size[row]]
        shown = columns.first[row], columns.packet_id[row], columns.topic[row], columns.reason[row], payload
        if isinstance(packet, Publish):
            assert not packet.dup
            assert not any(property.id == 0x23 for property in packet.properties)
            assert shown == (event.data[0], packet.packet_id or 0, packet.topic, None, packet.payload)
            ids += (property.id for property in packet.properties)
        else:
            reason = None if len(event.data) == 4 else kind.reason_code
            assert shown == (event.data[0], kind.packet_id, "", reason, b"")
        yield Frame(event.data, event.offset, run.direction, version)
    assert run.property_ids() == bytes(ids)


ALL = {version: list(dict.fromkeys([*messages(version), *acks(version)])) for version in Version}


@given(st.data(), st.sampled_from(Version), st.sampled_from(Direction), st.booleans())
def test_runs_hold_what_each_packet_is(
    drawn: st.DataObject, version: Version, direction: Direction, fresh: bool
) -> None:
    packets = drawn.draw(st.lists(st.tuples(st.sampled_from(ALL[version]), st.integers(1, 3)), max_size=12))
    found = CleanFrames(Version.V5) if fresh else SHARED
    check([packet for packet, times in packets for _ in range(times)], version, direction, found)


SHARED = CleanFrames(Version.V5)


@pytest.mark.parametrize("turn", [1, -1])
def test_pairs_of_packets_are_runs_of_what_each_is(turn: int) -> None:
    found = CleanFrames(Version.V5)
    other_type = encode(Pubrel(packet_id=1), Version.V5)
    # What is clean in one version or from one end is remembered before the other, and the other way round.
    for version, direction in list(product(Version, Direction))[::turn]:
        for one in ALL[version]:
            check([one, other_type], version, direction, found)
        for one, other in product(ALL[version], repeat=2):
            if len(one) == len(other) and one[:2] == other[:2]:
                check([one, other], version, direction, found)


@pytest.mark.parametrize("version", Version)
def test_usual_packets_are_in_runs(version: Version) -> None:
    sent = [
        encode(Publish(topic="t", qos=1, packet_id=number, payload=b"%d" % number), version)
        for number in range(1, 1200)
    ]
    long = [encode(Publish(topic="a/b", payload=bytes(300)), version)] * 3
    assert check([*sent, *long], version, Direction.CLIENT, CleanFrames(Version.V5)) == 1202
    got = [encode(Puback(packet_id=number), version) for number in (1, 2, 3)]
    if version is Version.V5:
        got += [encode(Puback(packet_id=number, reason_code=0x10), version) for number in (1, 2, 3)]
        with_properties = Publish(topic="t", qos=2, packet_id=1, properties=PROPERTIES[2])
        assert check([encode(with_properties, version)] * 2, version, Direction.CLIENT, CleanFrames(Version.V5)) == 2
    assert check(got, version, Direction.SERVER, CleanFrames(Version.V5)) == len(got)


def test_the_version_of_packets_may_be_that_of_the_connection() -> None:
    data = bytes.fromhex("32060001740001ff")
    run = FrameRun(data, 5, 8, Direction.CLIENT, None)
    for version, payload in ((Version.V311, b"\xff"), (Version.V5, None)):
        [found] = CleanFrames(version).runs([run], TIME_NS, ENDS)
        if payload is None:
            assert found is run
        else:
            assert isinstance(found, PacketRun)
            assert (found.version, found.payloads([1], 9)) == (version, [payload])


def test_what_is_remembered_has_a_bound() -> None:
    found = CleanFrames(Version.V5)
    for number in range(20_000):
        check([encode(Publish(topic=f"t/{number}"), Version.V5)], Version.V5, Direction.CLIENT, found)
    assert len(found._heads) < 6000
