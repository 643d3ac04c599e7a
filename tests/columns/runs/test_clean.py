"""Packets are found clean together only if each is clean by itself, with the same values."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.columns.runs.clean import CleanBatch, CleanPackets
from mqttpub.lint.packet.judge import MOST_HEAD_BYTES, PacketJudge
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import PacketSeen
from tests.build.events import CLIENT, SERVER, Dialog
from tests.columns.packet_rows import batches, broken
from tests.strategies import versions

V5 = Version.V5
texts = st.text(st.sampled_from("ab +#$\x00\x1f\x7f\xa0\u00e9\u4f60\ufdd0\U0001f600"), max_size=5)
"""With wildcards, control characters, and others that are not printable or should not be sent."""
values: dict[int, st.SearchStrategy[Any]] = {
    0x01: st.integers(0, 2), 0x02: st.integers(0, 2**32 - 1), 0x03: texts, 0x08: texts,
    0x09: st.binary(max_size=3), 0x0B: st.sampled_from((0, 1, 300)), 0x23: st.integers(0, 2),
    0x26: st.tuples(texts, texts), 0x11: st.just(1),
}  # fmt: skip
properties = st.lists(st.one_of([st.builds(Property, st.just(id), each) for id, each in values.items()]), max_size=4)


@st.composite
def messages(draw: st.DrawFn) -> tuple[Version, bytes]:
    """Return a PUBLISH with any properties, right or wrong, perhaps with one byte of its head changed."""
    version, qos = draw(versions), draw(st.integers(0, 2))
    has = version is V5
    packet = Publish(
        topic=draw(st.one_of(st.sampled_from(("t", "$SYS/a", "")), texts)), qos=qos,
        packet_id=draw(st.integers(0, 300)) if qos else None, payload=draw(st.sampled_from((b"", b"1", b"\xff"))),
        properties=tuple(draw(properties)) if has else (),
    )  # fmt: skip
    data = bytearray(encode(packet, version))
    if draw(st.integers(0, 3)) == 0:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return version, bytes(data)


def publish(*properties: Property) -> tuple[Version, bytes]:
    """Return a message of QoS 1 with these properties."""
    return V5, encode(Publish(topic="t", qos=1, packet_id=7, payload=b"\xff", properties=properties), V5)


def check(found: CleanBatch, events: list[PacketSeen]) -> int:
    """Check what is known of packets; return how many are clean."""
    columns: Any = found.columns
    ids, begins = columns.properties
    for row, (event, clean) in enumerate(zip(events, found.clean.tolist(), strict=True)):
        if not clean:
            continue
        read, findings = PacketJudge().alone(event.data, event.version, event.direction)
        packet: Any = read
        assert not findings
        of_row = ids[begins[row] : begins[row + 1]]
        if isinstance(packet, Publish):
            assert not packet.dup
            assert not any(each.id == 0x23 for each in packet.properties)
            payload = columns.buffer[columns.payload_begin[row] : columns.begin[row] + columns.size[row]]
            assert (columns.topic[row], payload) == (packet.topic, packet.payload)
            assert of_row == bytes(each.id for each in packet.properties)
        else:
            assert (columns.topic[row], of_row) == ("", b"")
            assert columns.reason[row] == (packet.reason_code if len(event.data) > 4 else None)
        assert columns.packet_id[row] == (packet.packet_id or 0)
    return int(found.clean.sum())


REMEMBERING = CleanPackets()


@settings(max_examples=400)
@given(
    st.lists(st.one_of(messages(), versions.flatmap(lambda version: st.tuples(st.just(version), broken(version))))),
    st.sampled_from(Direction),
)
@example([publish(Property(0x26, ("a", "bc"))), publish(Property(0x26, ("a", "b\0")))], CLIENT)
@example([publish(Property(0x01, 0)), publish(Property(0x01, 1))], CLIENT)
@example([publish(Property(0x0B, 1))], SERVER)
@example([publish(Property(0x08, "a/b")), publish(Property(0x08, "a/+"))], CLIENT)
def test_what_is_clean_together_is_clean_alone(given: list[tuple[Version, bytes]], direction: Direction) -> None:
    talk = Dialog()
    for talk.version, data in given:
        talk.says(direction, data)
    events: list[Any] = talk.events
    for frames in batches(events, ()):
        check(REMEMBERING.find(frames), events)


@pytest.mark.parametrize("direction", Direction)
def test_messages_are_clean_whatever_free_values_they_have(direction: Direction) -> None:
    talk = Dialog()
    for number in range(300):
        found = (
            Property(0x01, 1), Property(0x02, number), Property(0x03, "a" * (number % 7)), Property(0x08, "answers"),
            Property(0x09, number.to_bytes(2, "big")), Property(0x26, (str(number), f"\u00e9{number % 5}")),
        )  # fmt: skip
        talk.says(direction, Publish(topic="t", qos=1, packet_id=number + 1, properties=found))
    events: list[Any] = talk.events
    clean = CleanPackets()
    for frames in batches(events, ()):
        assert check(clean.find(frames), events) == 300
    # One judgement holds for all packets that differ only in what cannot matter.
    assert len(clean._heads) < 120


def test_what_is_remembered_has_a_bound() -> None:
    clean = CleanPackets()
    for turn in range(8):
        talk = Dialog()
        for number in range(1000):
            talk.client(Publish(topic=f"t/{turn}/{number}/{'x' * 200}"))
        events: list[Any] = talk.events
        for frames in batches(events, ()):
            assert check(clean.find(frames), events) == 1000
        assert clean._bytes < 2 * MOST_HEAD_BYTES
