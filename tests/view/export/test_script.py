"""Captures as scripts: what is written reads back as the same packets."""

from collections.abc import Iterable
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.reading import events as captured
from mqttpub.capture.text.script import STEP_NS, script_events
from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Auth, Connect, Publish
from mqttpub.spec.properties import BY_KEY
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Closed, Endpoints, Event, GapSeen, PacketSeen, Remark
from mqttpub.view.export.script import HEADING, SHORTEST_WAIT_NS, ScriptText
from tests.strategies import conversations

C, S = Direction.CLIENT, Direction.SERVER
CAPTURES = sorted((Path(__file__).parents[2] / "captures").glob("*.pcapng"))
ENDS = Endpoints(1, "10.0.0.1:5000", "10.0.0.2:1883", True)


def seen(
    data: bytes, end: Direction | None = C, *, ends: Endpoints = ENDS, time: int = 0, version: Version = Version.V5
) -> PacketSeen:
    """Return the event of a packet."""
    return PacketSeen(ends, time, 1, data, 0, end, version, False)


def script(events: Iterable[Event], *, secrets: bool = True) -> list[str]:
    """Return the lines of a script."""
    text = ScriptText(secrets=secrets)
    return [line for event in events for line in text.lines(event)]


def spoken(events: Iterable[Event]) -> list[tuple[int, object, object, object]]:
    """Return what a script must keep of events."""
    kept: list[tuple[int, object, object, object]] = []
    for event in events:
        if isinstance(event, PacketSeen):
            kept.append((event.ends.number, event.direction, event.version, event.data.hex()))
        elif isinstance(event, Closed) and event.direction:
            kept.append((event.ends.number, event.direction, event.how, None))
    return kept


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_a_capture_reads_back_equal(path: Path) -> None:
    with path.open("rb") as file:
        events = list(captured(file))
    lines = script(events)
    assert spoken(script_events(lines)) == spoken(events)
    assert not any(" raw " in line for line in lines)


@given(st.data(), st.sampled_from(Version))
@settings(max_examples=50)
def test_a_conversation_reads_back_equal(data: st.DataObject, version: Version) -> None:
    talk = data.draw(conversations(version))
    events = [seen(encode(packet, version), end, version=version) for end, packet in talk]
    assert spoken(script_events(script(events))) == spoken(events)


@given(st.lists(st.integers(SHORTEST_WAIT_NS, 1 << 100) | st.integers(SHORTEST_WAIT_NS, 10**13), min_size=1))
def test_pauses_read_back_to_the_millisecond(waits: list[int]) -> None:
    times = list(accumulate(waits, initial=0))
    lines = script(seen(b"\xc0\x00", time=time) for time in times)
    again = [event.time or 0 for event in script_events(lines) if isinstance(event, PacketSeen)]
    for wait, (before, after) in zip(waits, pairwise(again), strict=True):
        assert abs(after - before - STEP_NS - wait) <= 500_000


@pytest.mark.parametrize(
    ("wait_ns", "text"),
    [(2_000_000_500_000_000, "+2000000.5"), (1_234_567_400_000, "+1234.567"), (20 * 10**9, "+20"), (99_999_999, "")],
)
def test_a_pause_is_written_in_seconds(wait_ns: int, text: str) -> None:
    lines = script([seen(b"\xc0\x00"), seen(b"\xc0\x00", time=wait_ns)])
    assert lines == ["version 5.0", "> pingreq", *filter(None, [text]), "> pingreq"]


def test_versions_labels_pauses_ends_and_remarks() -> None:
    other = Endpoints(5, "10.0.0.3:5000", "10.0.0.2:1883", False)
    connect = encode(Connect(client_id="c"), Version.V311)
    events: list[Event] = [
        seen(connect, version=Version.V311),
        seen(b"\xc0\x00", ends=other, time=2_500_000_000),
        Remark(other, 2_500_000_000, 1, None, "no CONNECT\x1b"),
        GapSeen(other, 2_500_000_000, 1, 2, S, 3, b"", "3 bytes are missing", False),
        GapSeen(other, 2_500_000_000, 1, 2, S, 2, b"\x00\x00", "no packet type 0", True),
        seen(b"\xd0\x00", None, ends=other, time=2_550_000_000),
        Closed(other, 2_550_000_000, 1, S, "RST"),
        Closed(ENDS, 2_550_000_000, 1, None, "end"),
    ]
    assert script(events) == [
        "version 3.1.1", "> connect ka=60 id=c", "+2.5", "version 5.0", "[5] mid", "[5] > pingreq", r"# no CONNECT\x1b",
        "# 3 bytes are missing", "[5] gap", "# no packet type 0", "[5] < raw 0000",
        "# it is not known which end sent d000",
        "[5] server RST",
    ]  # fmt: skip
    assert HEADING.startswith("# ")


def test_secrets_are_masked_unless_asked_for() -> None:
    data = Property(BY_KEY["authentication_data"].id, b"deep")
    events = [
        seen(encode(Connect(client_id="c", username="u", password=b"secret"), Version.V5)),
        seen(encode(Auth(reason_code=0x18, properties=(data,)), Version.V5)),
    ]
    assert script(events, secrets=False) == [
        "version 5.0", "> connect ka=60 id=c username=u password=******", "> auth c=0x18 authentication_data=****",
    ]  # fmt: skip
    assert "password=secret" in script(events)[1]


def test_a_packet_in_another_version_than_its_connection_is_raw() -> None:
    publish = encode(Publish(topic="a"), Version.V311)
    assert script([seen(b"\xc0\x00"), seen(publish, version=Version.V311)])[-1] == f"> raw {publish.hex()}"
