"""Real captures read by tshark and by us: the same fields with the same bytes, values and places."""

import subprocess
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from mqttpub.capture.reading import events
from mqttpub.codec.decode import decode
from mqttpub.codec.stream import ConnectionStreams, Frame
from mqttpub.codec.tree import Decoded
from mqttpub.spec.declare import PACKETS
from mqttpub.spec.packets import Publish
from mqttpub.spec.properties import PROPERTIES
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import PacketSeen, Remark
from mqttpub.view.export.tshark_fields import (
    BOOLEAN,
    BYTES,
    COUNTED_TEXT,
    NAMES,
    NONE,
    TEXT,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
)
from mqttpub.wire.cursor import Cursor
from mqttpub.wire.types import BINARY, VARIABLE
from tests.build.recording import Capture, captures
from tests.scenarios.dissection import (
    MALFORMED,
    UNMASKED,
    Dissected,
    Field,
    Half,
    Stream,
    dissected,
    ours,
    streams,
    websocket_streams,
)

pytestmark = [pytest.mark.tshark, pytest.mark.broker, pytest.mark.slow]


@pytest.fixture(scope="module")
def recorded(shared_folder: Path) -> dict[str, Capture]:
    """All recordings of this run, by name."""
    return captures(shared_folder)


def ports(capture: Capture) -> tuple[int, ...]:
    """Return the ports of MQTT without WebSocket, which tshark does not read."""
    return capture.venue.tcp, capture.venue.scripted


def packets(found: dict[Half, bytes]) -> dict[Half, list[Frame]]:
    """Return the packets of each direction, cut by us from the bytes that tshark gives."""
    cut: dict[Half, list[Frame]] = {}
    for number in sorted({number for number, _ in found}):
        connection = ConnectionStreams()
        for direction in Direction:
            cut[number, direction] = list(connection.feed(direction, found.get((number, direction), b"")))
    return cut


def contents(found: dict[Half, Stream]) -> dict[Half, bytes]:
    """Return the bytes of streams."""
    return {half: stream.data for half, stream in found.items()}


@pytest.fixture(scope="module")
def everything(recorded: dict[str, Capture]) -> dict[str, dict[Half, list[Frame]]]:
    """All packets of all recordings."""
    return {name: packets(contents(streams(each.path, ports(each)))) for name, each in recorded.items()}


def test_every_name_and_type_is_tsharks() -> None:
    listed = subprocess.run(["tshark", "-G", "fields"], capture_output=True, check=True, text=True).stdout
    rows = [line.split("\t") for line in listed.splitlines() if "\tmqtt." in line]
    theirs = {row[2].removeprefix("mqtt."): row[3] for row in rows if row[0] == "F" and row[4] == "mqtt"}
    for key, name in NAMES.items():
        assert theirs[name.name] == TYPES[name.type] or key in ("property bytes", "property unknown"), key
    lengths = {f"{name.name}_len" for name in NAMES.values() if f"{name.name}_len" in theirs}
    assert set(theirs) - {name.name for name in NAMES.values()} - lengths == NOT_SHOWN


TYPES = {
    NONE: "FT_NONE", BOOLEAN: "FT_BOOLEAN", UINT8: "FT_UINT8", UINT16: "FT_UINT16", UINT32: "FT_UINT32",
    UINT64: "FT_UINT64", TEXT: "FT_STRING", COUNTED_TEXT: "FT_UINT_STRING", BYTES: "FT_BYTES",
}  # fmt: skip
NOT_SHOWN = {
    "illegal_topic_length", "unknown_topic_alias", "unknown_version",  # findings of ours, or events
    "msg_text", "willmsg_text", "msg_decoded_as",  # payloads by tshark's settings
}  # fmt: skip
"""Fields of tshark that ours has none of."""


def test_the_recordings_hold_all_there_is(everything: dict[str, dict[Half, list[Frame]]]) -> None:
    frames = [frame for halves in everything.values() for many in halves.values() for frame in many]
    read = [decode(frame.data, frame.version, direction=frame.direction) for frame in frames]
    held = {property.id for each in read for property in getattr(each.packet, "properties", None) or ()}
    wills = {property.id for each in read for property in getattr(getattr(each.packet, "will", None), "properties", ())}
    assert all(each.packet for each in read)
    assert {each.code for each in read} == set(PACKETS)
    assert held | wills == set(PROPERTIES)
    for version in Version:
        these = [each.packet for each in read if each.version == version]
        assert {type(packet) for packet in these} >= {cls for cls in PACKETS.values() if cls.since <= version}
        messages = [packet for packet in these if isinstance(packet, Publish)]
        assert {(message.qos, message.retain) for message in messages} == set(product(range(3), (False, True)))
        assert any(message.dup for message in messages)
        assert max(len(message.payload) for message in messages) >= 1_000_000


def test_tshark_shows_the_same_fields(recorded: dict[str, Capture]) -> None:
    used: Counter[str] = Counter()
    compared = 0
    for name, capture in recorded.items():
        found = streams(capture.path, ports(capture))
        theirs = dissected(capture.path, ports(capture), "-J", "tcp mqtt")
        assert set(theirs) <= set(found)
        for half, frames in packets(contents(found)).items():
            shown = theirs.get(half, [])
            legible = in_step(found[half], frames) if frames else 0
            if legible < len(frames):
                used[STRADDLING] += 1
                assert shown[legible].notes == (MALFORMED,)
            else:
                assert len(shown) == len(frames), (name, half)
            for frame, each in zip(frames[:legible], shown[:legible], strict=True):
                assert_same(frame, each, used)
                compared += 1
    assert set(used) == {*DIFFERENCES, STRADDLING}, "a difference that no packet shows"
    assert compared > 2_000


def test_reading_finds_the_packets_of_the_streams_that_tshark_puts_together(recorded: dict[str, Capture]) -> None:
    for name, capture in recorded.items():
        bare = contents(streams(capture.path, ports(capture)))
        within = websocket_streams(capture.path, capture.venue.ws)
        with capture.path.open("rb") as file:
            found = list(events(file))
        upgraded = {each.ends.number for each in found if isinstance(each, Remark)}
        mine: dict[tuple[int, Direction | None], bytes] = {}
        for each in found:
            if isinstance(each, PacketSeen):
                masked = each.ends.number in upgraded and each.direction is Direction.CLIENT
                half = each.ends.number, each.direction
                mine[half] = mine.get(half, b"") + each.data[: UNMASKED if masked else None]
                assert not each.guessed
        assert Counter(mine.values()) == Counter([*bare.values(), *within.values()]), name
        assert bool(within) == (name in ("paho", "mqttpub"))


def in_step(stream: Stream, frames: list[Frame]) -> int:
    """Return how many packets come before the first whose Remaining Length lies in two segments."""
    for count, frame in enumerate(frames):
        at = frame.offset
        size = len(frame.data) - remaining_length(frame.data)
        if any(at + 2 <= cut < at + size for cut in stream.cuts):
            return count
    return len(frames)


def remaining_length(data: bytes) -> int:
    """Return the Remaining Length of a packet."""
    return VARIABLE.read(Cursor(data[1:5]))


def assert_same(frame: Frame, shown: Dissected, used: Counter[str]) -> None:
    """Compare all fields of a packet, after what tshark does otherwise is put right and counted."""
    decoded = decode(frame.data, frame.version, direction=frame.direction)
    mine, their = Counter(ours(decoded).fields), Counter(mended(field, decoded, used) for field in shown.fields)
    assert (mine - their, their - mine) == (Counter(), Counter()), (frame.direction, frame.data[:64].hex(" "))
    assert set(shown.notes) <= {STRAY}, shown.notes


def mended(field: Field, decoded: Decoded, used: Counter[str]) -> Field:
    """Return a field of tshark as it should be."""
    for reason, change in DIFFERENCES.items():
        changed = change(field, decoded)
        used[reason] += changed != field
        field = changed
    return field


# what tshark does otherwise


def _binary(field: Field, decoded: Decoded) -> Field:
    binary = (node for node in decoded.root.leaves() if node.row and node.row.type is BINARY and node.prefix)
    if field.name == "prop_string" and any(node.span.start + node.prefix == field.start for node in binary):
        return field._replace(show=bytes.fromhex(field.value).hex(":"))
    return field


def _resolved(field: Field, decoded: Decoded) -> Field:
    topic = decoded.root.child("topic")
    if field.name == "topic" and topic and topic.value == "" and isinstance(decoded.packet, Publish):
        return field._replace(start=topic.span.stop, show="")
    return field


def _big_endian(field: Field, decoded: Decoded) -> Field:
    if field.name == "property_len" and field.size > 1:
        return field._replace(show=str(VARIABLE.read(Cursor(bytes.fromhex(field.value)))))
    return field


DIFFERENCES: dict[str, Callable[[Field, Decoded], Field]] = {
    "Correlation Data and Authentication Data are shown as text up to the first zero byte (W5)": _binary,
    "an empty Topic Name is shown behind the properties, as what an alias of either end stands for (W1)": _resolved,
    "a Property Length of more than one byte is shown as a big-endian number": _big_endian,
}
"""Each way in which tshark 4.0 differs from us: what it is, and what turns its field into ours."""

STRADDLING = "a Remaining Length in two segments loses the stream (W3)"
STRAY = "Expert Info (Warning/Undecoded): Trailing stray characters"
"""What tshark says of the zero bytes of binary properties (W5)."""
