"""The annotated dump."""

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.tree import Decoded
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connack, Pingreq, Puback, Publish, Subscribe
from mqttpub.spec.versions import Direction, Version
from mqttpub.view.packet.dump import annotate, headline, plain
from mqttpub.view.terminal.cells import measure
from mqttpub.wire.cursor import Span
from tests.view.samples import (
    BROKEN,
    CONNACK,
    CONNECT,
    SUBSCRIBE,
    WALKTHROUGH,
    found,
    hex_of,
    judged,
    laws,
    of,
    publish,
    screen,
    wires,
)

WIDTHS = (60, 61, 71, 72, 80, 100, 119, 120, 132, 200)


def below(text: str) -> str:
    """Return a screen that stands indented in this file."""
    return dedent(text).strip("\n")


def test_the_packet_of_the_walkthrough() -> None:
    header, rows = screen(decode(WALKTHROUGH)).split("\n", 1)
    assert header.split()[:3] == ["0000", "30", "0"]
    assert rows == below("""
              0011 ....                            Packet type     3  PUBLISH
              .... 0...                            DUP             0
              .... .00.                            QoS             0  at most once
              .... ...0                            RETAIN          0
        0001  31                       1         Remaining Length  49 bytes
        0002  00 07 72 65 71 75 65 73  ..reques  Topic Name        "request"  7 bytes
        000a  74                       t
        000b  10                       .         Property Length   16 bytes
        000c  02 00 00 01 2c           ....,       Message Expiry Interval  300 s
        0011  08 00 08 72 65 73 70 6f  ...respo    Response Topic  "response"  8 bytes
        0019  6e 73 65                 nse
        001c  54 68 69 73 20 69 73 20  This is   Payload           text, 23 bytes
        0024  61 20 51 6f 53 20 30 20  a QoS 0     "This is a QoS 0 message"
        002c  6d 65 73 73 61 67 65     message
    """)


def test_findings_under_bits_and_bytes() -> None:
    decoded = decode(bytes.fromhex("38040001 74 01"))
    decoded.findings[:] = [
        found(0, 1, "DUP is 1, but QoS is 0", mask=8),
        found(0, 1, "whole byte"),
        found(3, 6, "span"),
    ]
    rows = screen(decoded).split("\n")
    assert rows[1:] == [
        "      ^^",
        "error  whole byte                                                  MQTT5-3.3.1-2",
        "      0011 ....                            Packet type     3  PUBLISH",
        "      .... 1...                            DUP             1",
        "           ^                                 this is a re-delivery",
        "error  DUP is 1, but QoS is 0                                      MQTT5-3.3.1-2",
        "      .... .00.                            QoS             0  at most once",
        "      .... ...0                            RETAIN          0",
        "0001  04                       .         Remaining Length  4 bytes",
        '0002  00 01 74                 ..t       Topic Name        "t"  1 byte',
        "         ^^ ^^",
        "error  span                                                        MQTT5-3.3.1-2",
        "0005  01                       .         Property Length   1 byte",
    ]


def test_a_finding_over_several_bit_fields_is_shown_below_the_last() -> None:
    decoded = decode(WALKTHROUGH)
    decoded.findings.append(found(0, 1, "flags", mask=0x0E))
    rows = screen(decoded).split("\n")
    assert [row.strip() for row in rows[3:5]] == [
        ".... .00.                            QoS             0  at most once",
        "^^",
    ]


def test_a_mask_on_a_byte_that_is_shown_whole() -> None:
    decoded = decode(WALKTHROUGH)
    decoded.findings.append(found(1, 2, "length", mask=0x80))
    assert screen(decoded).split("\n")[6] == "      ^^"


def test_a_value_that_is_missing_at_the_end() -> None:
    rows = screen(decode(bytes.fromhex("3003000161"))).split("\n")
    assert rows[-3:] == [
        '0002  00 01 61                 ..a       Topic Name        "a"  1 byte',
        "               ^^",
        "error  no Property Length, but it must be 0 without properties     MQTT5-2.2.2-1",
    ]


def test_a_packet_that_is_cut_off_shows_what_is_left() -> None:
    rows = screen(decode(bytes.fromhex("300a000161052300"))).split("\n")
    assert rows[5:] == below("""
        0001  0a                       .         Remaining Length  10 bytes
              ^^
        error  Remaining Length 10, but 6 bytes are left               MQTT5-2.1.4/short
        0002  00 01 61                 ..a       Topic Name        "a"  1 byte
        0005  05                       .         Property Length   5 bytes
        0006  23 00                    #.          Topic Alias     unreadable, 1 byte
    """).split("\n")


def test_the_dump_of_no_bytes_is_the_finding() -> None:
    assert screen(decode(b"")) == ("error  no bytes, but a packet has 2 or more                    MQTT5-2.1.4/short")


def test_secrets_are_asterisks_unless_asked_for() -> None:
    rows = screen(of(CONNECT)).split("\n")
    assert [row for row in rows if "Password   " in row][-1].split()[1:] == [
        "00", "07", *["**"] * 6, "..******", "Password", "*******", "7", "bytes",
    ]  # fmt: skip
    assert "s3cret" not in screen(of(CONNECT))
    assert "s3cret!" in screen(of(CONNECT), secrets=True)


@pytest.mark.parametrize("size", [255, 256, 257, 1000])
def test_bytes_left_out_are_counted(size: int) -> None:
    text = screen(publish(bytes(size)))
    left = size - 256
    assert (f"... {left} more byte" in text) == (left > 0)
    assert "binary, " in text
    assert screen(publish(bytes(size)), limit=None).count("\n") > text.count("\n") or left <= 8


def test_the_limit_is_of_the_value_alone() -> None:
    rows = screen(of(Publish(topic="x" * 20), Version.V311), limit=14).split("\n")
    assert [row[:29].rstrip() for row in rows if "78" in row[:29] or "more" in row[:29]] == [
        "0002  00 14 78 78 78 78 78 78", "000a  78 78 78 78 78 78 78 78", "      ... 6 more bytes",
    ]  # fmt: skip


def test_a_finding_far_inside_shows_its_row() -> None:
    decoded = publish(bytes(range(256)) * 4)
    start = decoded.root.children[-1].span.start
    decoded.findings += [found(start + 500, start + 502, "far"), found(start + 501, start + 600, "near it")]
    text = screen(decoded)
    assert text.split("... 240 more bytes\n")[1].split("\n")[:5] == [
        "01f6  f0 f1 f2 f3 f4 f5 f6 f7  ........",
        "                  ^^ ^^",
        "error  far                                                         MQTT5-3.3.1-2",
        "                     ^^ ^^ ^^",
        "error  near it                                                     MQTT5-3.3.1-2",
    ]
    assert "... 520 more bytes" in text


def test_a_finding_just_after_the_limit() -> None:
    decoded = publish(bytes(100))
    start = decoded.root.children[-1].span.start
    decoded.findings.append(found(start + 13, start + 14, "behind"))
    rows = screen(decoded, limit=10).split("\n")
    at = next(at for at, row in enumerate(rows) if "Payload" in row)
    assert [row[:29].rstrip() for row in rows[at : at + 4]] == [
        "0005  00 00 00 00 00 00 00 00", "000d  00 00", "000f  00 00 00 00 00 00", "               ^^",
    ]  # fmt: skip
    assert rows[-1].strip() == "... 84 more bytes"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("packet", [CONNECT, SUBSCRIBE, CONNACK])
def test_no_line_is_too_wide(packet: Packet, width: int) -> None:
    for line in annotate(of(packet), width=width):
        assert measure(line) <= width


def test_a_wide_screen_has_sixteen_bytes_in_a_row() -> None:
    rows = screen(decode(WALKTHROUGH), width=132).split("\n")
    assert rows[-2][:73] == "001c  54 68 69 73 20 69 73 20 61 20 51 6f 53 20 30 20  This is a QoS 0   "


def test_a_narrow_screen_has_no_ascii_column() -> None:
    rows = screen(decode(WALKTHROUGH), width=60).split("\n")
    assert rows[-3:] == [
        "001c  54 68 69 73 20 69 73 20  Payload  text, 23 bytes",
        '0024  61 20 51 6f 53 20 30 20    "This is a QoS 0 message"',
        "002c  6d 65 73 73 61 67 65",
    ]


def test_offsets_get_more_digits_in_long_packets() -> None:
    rows = screen(publish(bytes(70_000)), limit=None).split("\n")
    assert rows[0].startswith("00000  30 ")
    assert rows[-1].startswith("1116f  ")


def test_every_value_of_every_style_is_known() -> None:
    from mqttpub.view.terminal.style import THEME

    for packet in (CONNECT, SUBSCRIBE, CONNACK, Publish(topic="t", qos=1, packet_id=1)):
        assert {style for line in annotate(of(packet)) for _, style in line} <= {"", *THEME}


# laws


@laws
@given(judged(), st.sampled_from(WIDTHS), st.sampled_from([None, 0, 5, 256]), st.booleans())
def test_rows_fit_and_findings_are_shown_once(decoded: Decoded, width: int, limit: int | None, secrets: bool) -> None:
    lines = list(annotate(decoded, width=width, limit=limit, secrets=secrets))
    for line in [headline(decoded, width=width), *lines]:
        assert measure(line) <= width
        assert all(text.isprintable() for text, _ in line)
    text = plain(lines)
    assert all(row == row.rstrip() for row in text.split("\n"))


@pytest.mark.slow
@laws
@given(judged(), st.sampled_from(WIDTHS), st.sampled_from([None, 0, 5]))
def test_every_finding_is_shown_once(decoded: Decoded, width: int, limit: int | None) -> None:
    lines = list(annotate(decoded, width=width, limit=limit))
    severities = [text for line in lines for text, style in line if text == style]
    assert severities.count("error") == sum(finding.severity == "error" for finding in decoded.findings)
    for number in range(4):
        wanted = f"remark {number}."
        shown = sum(text.startswith(wanted) for line in lines for text, _ in line)
        assert shown == sum(finding.message == wanted for finding in decoded.findings)


@laws
@given(judged(), st.sampled_from(WIDTHS))
def test_all_bytes_are_shown_in_order(decoded: Decoded, width: int) -> None:
    lines = annotate(decoded, width=width, limit=None, secrets=True)
    assert rows_of_bytes(list(lines), decoded) == decoded.data.hex()


def rows_of_bytes(lines: list[list[tuple[str, str]]], decoded: Decoded) -> str:
    """Return the hex of all rows that begin with an offset, which must count up."""
    shown = ""
    for line in lines:
        if line and line[0][1] == "offset":
            assert int(line[0][0], 16) * 2 == len(shown)
            shown += hex_of([[segment] for segment in first_column(line)])
    return shown


def first_column(line: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the segments of the hex column: up to the first that is two spaces or more."""
    column = []
    for segment in line[2:]:
        if not segment[0].strip() and len(segment[0]) > 1:
            break
        column.append(segment)
    return column


@laws
@given(wires())
def test_carets_are_under_the_bytes_they_mark(wire: tuple[bytes, Version]) -> None:
    data, version = wire
    decoded = decode(data, version)
    if not data:
        return
    place = len(data) // 2
    decoded.findings[:] = [found(place, place + 1, "here")]
    rows = screen(decoded, limit=None, secrets=True).split("\n")
    at = next(at for at, row in enumerate(rows) if row.lstrip().startswith("^^"))
    offset, caret = int(rows[at - 1].split()[0], 16), rows[at].index("^^")
    assert rows[at - 1][caret : caret + 2] == f"{data[place]:02x}"
    assert offset + (caret - rows[at - 1].index("  ") - 2) // 3 == place


@pytest.mark.parametrize("data", BROKEN)
@pytest.mark.parametrize("width", [60, 80, 132])
def test_the_dump_of_a_broken_packet_has_all_its_bytes(data: bytes, width: int) -> None:
    decoded = decode(data)
    lines = list(annotate(decoded, width=width, limit=None, secrets=True))
    assert rows_of_bytes(lines, decoded) == data.hex()
    assert sum(text in ("error", "warning", "note") for line in lines for text, _ in line) == len(decoded.findings) > 0


@pytest.mark.parametrize(
    "payload", [b"x" * 1_000_000, b'{"a":[1,2,3]}' * 70_000, b"\x00" * 1_000_000, ("\u4f60" * 300_000).encode()]
)
def test_a_large_payload_is_shown_at_once(payload: bytes) -> None:
    decoded = publish(payload)
    assert len(list(annotate(decoded))) < 80


@pytest.mark.slow
def test_dumping_a_large_payload_needs_linear_time() -> None:
    decoded = publish(b"\x00" * 1_000_000)
    decoded.findings += [found(at, at + 1, "zero") for at in range(10, 100_000, 10)]
    assert sum(1 for _ in annotate(decoded, limit=None)) > 125_000


@pytest.mark.slow
def test_masking_many_secrets_needs_linear_time() -> None:
    decoded = of(Connack(properties=(Property(0x16, b"\1"),) * 5_000))
    assert sum(1 for _ in annotate(decoded)) > 5_000


# the line above


@pytest.mark.parametrize(
    ("packet", "version", "words"),
    [
        (Publish(topic="t"), Version.V5, "PUBLISH  QoS 0  6 bytes  MQTT 5.0"),
        (Publish(topic="t", qos=2, packet_id=7), Version.V311, "PUBLISH  QoS 2  id 7  7 bytes  MQTT 3.1.1"),
        (Pingreq(), Version.V31, "PINGREQ  2 bytes  MQTT 3.1"),
        (
            Puback(packet_id=10, reason_code=0x10), Version.V5,
            "PUBACK  id 10  0x10 No matching subscribers  5 bytes  MQTT 5.0",
        ),
        (Connack(reason_code=0), Version.V311, "CONNACK  0x00 Connection Accepted  4 bytes  MQTT 3.1.1"),
        (Subscribe(packet_id=1, subscriptions=()), Version.V5, "SUBSCRIBE  id 1  5 bytes  MQTT 5.0"),
    ],
)  # fmt: skip
def test_the_headline_has_the_main_facts(packet: Packet, version: Version, words: str) -> None:
    assert plain([headline(of(packet, version))]) == words


def test_headline_with_a_direction() -> None:
    for direction, words in zip(Direction, ("> PUBLISH", "< PUBLISH"), strict=True):
        assert plain([headline(decode(WALKTHROUGH, direction=direction))]) == f"{words}  QoS 0  51 bytes  MQTT 5.0"


def test_headline_without_room() -> None:
    decoded = of(Puback(packet_id=10, reason_code=0x10))
    assert plain([headline(decoded, width=60)]) == "PUBACK  5 bytes  MQTT 5.0"


@pytest.mark.parametrize(
    ("text", "words"), [("", "NOTHING  0 bytes"), ("00", "TYPE 0  1 byte"), ("400100", "PUBACK  3 bytes")]
)
def test_headline_of_a_broken_packet(text: str, words: str) -> None:
    assert plain([headline(decode(bytes.fromhex(text)))]) == f"{words}  MQTT 5.0"


def test_plain_text_has_no_spaces_at_the_end_of_a_line() -> None:
    assert plain([[("a", "x"), ("  ", "")], [], [("b", "")]]) == "a\n\nb"
    assert plain([]) == ""


def test_findings_past_the_end_are_shown() -> None:
    decoded = decode(b"\xc0\x00")
    decoded.findings.append(found(40, 50, "far away"))
    assert Span(40, 50) == decoded.findings[0].span
    assert screen(decoded).split("\n")[-2].strip() == "^^"
