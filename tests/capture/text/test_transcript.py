"""Our own output read again, from the program itself and from every packet that can be."""

import json
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.text.annotated import DumpBlock, headline, is_row
from mqttpub.capture.text.source import BadText
from mqttpub.capture.text.transcript import events, is_transcript
from mqttpub.codec.decode import decode
from mqttpub.codec.framing import frame_length
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints, Event, GapSeen, PacketSeen, Remark
from mqttpub.view.packet.dump import annotate, plain
from mqttpub.view.packet.dump import headline as shown_headline
from mqttpub.view.packet.masking import hidden
from mqttpub.view.packet.record_json import packet_record
from mqttpub.wire.cursor import Overlong, Span
from tests.strategies import encoded

PUBLISH = bytes.fromhex("300600016100 6869")
CONNECT = bytes.fromhex("101a 00044d515454 05 c2 003c 00 0001 63 0002 6d65 0006 736563726574")
FIRST = Endpoints(1, "", "")
CLIENT, SERVER = Direction.CLIENT, Direction.SERVER


def mqttpub(*arguments: str) -> str:
    """Return what the program prints, its remarks on standard error too."""
    command = [sys.executable, "-c", "from mqttpub.cli.start import run; run()", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
    return done.stdout.decode()


def read(text: str) -> list[Event]:
    """Return the events of a text, after checking that it is known for what it is."""
    assert is_transcript(text.encode()[:4096])
    return [*events(text.splitlines(keepends=True))]


def packets(text: str) -> list[tuple[Direction | None, bytes]]:
    """Return the directions and bytes of the packets in a text."""
    return [(event.direction, event.data) for event in read(text) if isinstance(event, PacketSeen)]


def error(text: str) -> BadText:
    """Return the error of a text."""
    with pytest.raises(BadText) as caught:
        [*events(text.splitlines(keepends=True))]
    return caught.value


def line(data: bytes = PUBLISH, **members: Any) -> str:
    """Return a record as the program prints it, with other members."""
    return json.dumps({**json.loads(packet_record(decode(data))), **members}) + "\n"


def dump(data: bytes, version: Version, *, direction: Direction | None = None, **options: Any) -> str:
    """Return a dump as the program prints it."""
    decoded = decode(data, version, direction=direction)
    width = options.get("width", 80)
    return plain([shown_headline(decoded, width=width), *annotate(decoded, **options)]) + "\n"


# the program itself


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_output_of_decode(form: tuple[str, ...]) -> None:
    text = mqttpub("decode", "-V", "5", "--show-secrets", *form, "> " + CONNECT.hex() + PUBLISH.hex() + "\n< d000")
    assert read(text) == [
        PacketSeen(FIRST, None, 0, CONNECT, 0, CLIENT, Version.V5, False),
        PacketSeen(FIRST, None, 0, PUBLISH, len(CONNECT), CLIENT, Version.V5, False),
        PacketSeen(FIRST, None, 0, b"\xd0\x00", 0, SERVER, Version.V5, False),
    ]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_two_readings_are_one_packet(form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for width in ("80", "160"):
        monkeypatch.setenv("COLUMNS", width)
        text = mqttpub("decode", *form, PUBLISH.hex()) * 2
        assert "3.1.1" in text
        assert read(text) == [
            PacketSeen(FIRST, None, 0, PUBLISH, offset, None, Version.V5, True)
            for offset in (0, 0 if form else len(PUBLISH))
        ]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_output_of_pub(form: tuple[str, ...]) -> None:
    text = mqttpub(
        "pub", "--embedded", "-t", "a", "-m", "hi", "-q", "2", "-i", "c", "-u", "me", "-P", "secret", "--inspect", *form
    )
    remark, *found = read(text)
    assert isinstance(remark, Remark)
    assert remark.message == "6 bytes are masked in the transcript and read as asterisks"
    assert all(isinstance(event, PacketSeen) and event.version is Version.V5 for event in found)
    assert [(event.direction, event.data[0] >> 4) for event in found if isinstance(event, PacketSeen)] == [
        (CLIENT, 1), (SERVER, 2), (CLIENT, 3), (SERVER, 5), (CLIENT, 6), (SERVER, 7), (CLIENT, 14),
    ]  # fmt: skip
    assert packets(text)[0] == (CLIENT, CONNECT.replace(b"secret", b"******"))
    assert [bool(event.time) for event in found] == [bool(form)] * 7
    sizes = {CLIENT: 0, SERVER: 0}
    for event in found:
        assert isinstance(event, PacketSeen)
        assert event.direction
        assert event.offset == sizes[event.direction]
        sizes[event.direction] += len(event.data)


def test_the_output_of_walkthrough_and_encode() -> None:
    assert [data[0] >> 4 for _, data in packets(mqttpub("walkthrough"))][:3] == [3, 3, 4]
    assert packets(mqttpub("encode", "publish", "-t", "a", "-m", "hi", "-d")) == [(None, PUBLISH)]


# every packet


@st.composite
def shown(draw: st.DrawFn) -> tuple[bytes, Version, Direction | None]:
    version = draw(st.sampled_from(Version))
    return draw(encoded(version, valid=False)), version, draw(st.sampled_from([None, *Direction]))


def expected(data: bytes, version: Version, direction: Direction | None, secrets: bool) -> list[Event]:
    """Return what a transcript of one packet has to say."""
    decoded = decode(data, version, direction=direction)
    spans = () if secrets else hidden(decoded)
    masked = bytearray(data)
    for start, stop in spans:
        masked[start:stop] = b"*" * (stop - start)
    values = [leaf.span for leaf in decoded.root.leaves() if leaf.kind == "secret"]
    assert all(any(Span(*span).start >= value.start for value in values) for span in spans)
    count = sum(span.length for span in spans)
    seen = PacketSeen(FIRST, None, 0, bytes(masked), 0, direction, decoded.version, False)
    if not count:
        return [seen]
    message = f"{count} bytes are" if count > 1 else "1 byte is"
    return [Remark(FIRST, None, 0, direction, f"{message} masked in the transcript and read as asterisks"), seen]


@given(shown(), st.booleans())
def test_every_record_is_read_back(given: tuple[bytes, Version, Direction | None], secrets: bool) -> None:
    data, version, direction = given
    text = packet_record(decode(data, version, direction=direction), secrets=secrets) + "\n"
    assert read(text) == expected(data, version, direction, secrets)


@given(shown(), st.booleans(), st.sampled_from([60, 71, 80, 121, 200]))
def test_every_dump_is_read_back(given: tuple[bytes, Version, Direction | None], secrets: bool, width: int) -> None:
    data, version, direction = given
    text = dump(data, version, direction=direction, width=width, limit=None, secrets=secrets)
    assert read(text) == expected(data, version, direction, secrets)


@given(st.binary(min_size=1, max_size=60), st.sampled_from(Version), st.booleans())
def test_bytes_that_are_not_a_packet_are_a_gap(data: bytes, version: Version, as_json: bool) -> None:
    decoded = decode(data, version)
    text = packet_record(decoded, secrets=True) if as_json else dump(data, version, limit=None, secrets=True)
    (event,) = read(text)
    try:
        whole = frame_length(data) == len(data)
    except Overlong:
        whole = False
        assert isinstance(event, GapSeen)
        assert event.malformed
    assert isinstance(event, PacketSeen if whole else GapSeen)
    assert not isinstance(event, Remark)
    assert event.data == data
    assert isinstance(event, PacketSeen) or (event.length == len(data) and event.message.endswith(" (line 1)"))


@given(st.lists(st.sampled_from([*line(), *dump(PUBLISH, Version.V5)]), max_size=200).map("".join))
def test_other_text_is_packets_or_one_error(text: str) -> None:
    lines = text.splitlines(keepends=True)
    with suppress(BadText):
        assert [*events(lines)]


# what a transcript does not tell


def test_a_packet_that_is_not_shown_whole() -> None:
    data = bytes.fromhex("308e02 00016100") + bytes(266)
    (event,) = read(dump(data, Version.V5, limit=100))
    assert isinstance(event, GapSeen)
    assert (event.length, event.data, event.malformed) == (len(data), data[:64], False)
    assert event.message == "166 bytes are not shown in the transcript, of 273 (line 1)"
    assert packets(dump(data, Version.V5, limit=None)) == [(None, data)]


def test_masked_bytes_that_may_be_more_than_a_value() -> None:
    data = bytes.fromhex("101a 00044d515454 05 c2 003c 00 0001 63 0002 6d65 0009 736563726574")
    for text in (packet_record(decode(data)), dump(data, Version.V5)):
        assert "**" in text
        (event,) = read(text)
        assert isinstance(event, GapSeen)
        assert event.message == "6 bytes are masked in the transcript, and they may hold more than a value (line 1)"


def test_a_dump_takes_no_more_bytes_than_its_headline_tells() -> None:
    found = headline("PUBLISH  9 bytes  MQTT 5.0")
    assert found
    block = DumpBlock(1, found)
    for at in range(0, 800, 8):
        block.add(f"{at:04x}  30 06 00 01 61 00 ** 69  ")
    assert len(block.data) == 16
    assert block.shown()[5:8] == (bytes.fromhex("3006000161002a69 30"), (6,), 9)


def test_a_second_connect_begins_a_connection() -> None:
    connect = line(CONNECT, offset=0)
    text = connect + line(offset=28) + connect + '{"event":"message","hex":"no packet"}\n' + line(CONNECT, offset=28)
    found = [*events(text.splitlines(keepends=True))]
    assert [(event.ends.number, event.offset) for event in found if isinstance(event, PacketSeen)] == [
        (1, 0), (1, 28), (2, 0), (2, 28),
    ]  # fmt: skip


def test_times_are_exact() -> None:
    (event,) = read(line(time="2023-11-14T22:13:20.000001Z"))
    assert event.time == 1_700_000_000_000_001_000


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("nothing at all\n", (1, 1), "no packets"),
        ('\n{"type": }\n', (2, 10), "no JSON value begins here"),
        ('{"type":"PUBLISH"}', (1, 1), "a packet needs `hex`, two digits or asterisks for each byte"),
        (line(hex="30 06"), (1, 1), "a packet needs `hex`, two digits or asterisks for each byte"),
        (line(hex="3*06"), (1, 1), "a packet needs `hex`, two digits or asterisks for each byte"),
        (line(length=9), (1, 1), "`length` is 9, but `hex` has 8 bytes"),
        (line(length="8"), (1, 1), "`length` is not a number of bytes"),
        (line(offset=-1), (1, 1), "`offset` is not a number of bytes"),
        (line(offset=10**30), (1, 1), "`offset` is not a number of bytes"),
        (line(direction="up"), (1, 1), "`direction` is neither `client` nor `server`"),
        (line(direction=[]), (1, 1), "`direction` is neither `client` nor `server`"),
        (line(version="6"), (1, 1), "`version` is not 3.1, 3.1.1 or 5.0"),
        (line(time="yesterday"), (1, 1), "`time` is not a date and time with a zone"),
        (line(time="2023-11-14T22:13:20"), (1, 1), "`time` is not a date and time with a zone"),
        (line(time=17), (1, 1), "`time` is not a date and time with a zone"),
    ],
)
def test_broken_records_are_refused(text: str, place: tuple[int, int], message: str) -> None:
    found = error(text)
    assert (found.line, found.column) == place
    assert found.message == message


def test_records_nobody_can_read() -> None:
    assert "not readable JSON" in error('{"a":' + "[" * 200_000).message
    assert "not readable JSON" in error('{"a":' + "1" * 5000 + "}").message


def test_texts_that_are_not_transcripts() -> None:
    for text in (b"30 06 00 01 61 00 68 69", b"0000  30 06", b'{"topic":"a"}', b"{ 0x30, 0x06 }", b"\xd4\xc3\xb2\xa1"):
        assert not is_transcript(text)
    assert not is_transcript(b"PUBLISH  8 bytes  MQTT 5.0\nand nothing")
    assert headline("> PUBLISH  QoS 1  id 7  12 bytes  MQTT 3.1.1")
    assert not headline("  PUBLISH  12 bytes  MQTT 3.1.1")
    assert is_row("0000  30  0  Fixed header")
    assert not is_row("0001  30")
