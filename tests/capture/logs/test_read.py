"""Bytes between the words of a log: what is taken, from where, and what is said of it."""

import io
import re
import subprocess
from pathlib import Path

import pytest

from mqttpub.capture.logs.account import Log
from mqttpub.capture.logs.read import read_bytes, read_file, read_text
from mqttpub.capture.text import parse as notation
from mqttpub.capture.text.source import BadText, TextPiece
from tests.capture.text.test_parse import Pipe, runs
from tests.capture.text.test_parse import read_text as read_notation
from tests.paths import QOS2

HELLO = bytes.fromhex("300b0003612f6268656c6c6f21")
"""PUBLISH a/b hello!"""
HEX = "30 0b 00 03 61 2f 62 68 65 6c 6c 6f 21"
TWO_ROWS = "32 1a 00 03 61 2f 62 00 01 68 65 6c 6c 6f 20 77", "6f 72 6c 64 2c 20 66 6f 6f 21 21 21"
LONG = bytes.fromhex("".join(TWO_ROWS))
NS = 10**9
CAPTURE = QOS2

LOGS = {
    "syslog": (f"May 01 12:00:01 host app[312]: TX {HEX}\n", [("300b", 1, ">")]),
    "journald": (f"2024-05-01T12:00:00+0200 host app[3]: recv {HEX}\n", [("300b", 1, "<")]),
    "ESP_LOG_BUFFER_HEX": (
        f"I (4320) wifi: connected\nD (4400) mqtt: {TWO_ROWS[0]}\nD (4400) mqtt: {TWO_ROWS[1]}\nI (4500) wifi: done\n",
        [("321a", 2, "")],
    ),
    "ESP_LOG_BUFFER_HEXDUMP": (
        "I (4321) mqtt: 0x3ffb1234   30 0b 00 03 61 2f 62 68  65 6c 6c 6f 21           |0...a/bhello!|\n",
        [("300b", 1, "")],
    ),
    "Zephyr": (
        (
            "[00:00:01.234,567] <dbg> net_mqtt: client_write: TX\n"
            "                    30 0b 00 03 61 2f 62 68  65 6c 6c 6f 21          |0...a/bh ello!\n"
            "[00:00:01.300,000] <inf> net_mqtt: RX\n"
            "                    d0 00                                            |..\n"
        ),
        [("300b", 2, ">"), ("d000", 4, "<")],
    ),
    "Arduino": ("30 B 0 3 61 2F 62 68 65 6C 6C 6F 21\n", [("300b", 1, "")]),
    "Rust": (", ".join(f"{byte:#04x}u8" for byte in HELLO), [("300b", 1, "")]),
    "decimal": (", ".join(map(str, HELLO)), [("300b", 1, "")]),
    "Rust debug": (f"[INFO mqtt] sending {list(HELLO)}\n", [("300b", 1, ">")]),
    "joined": (f"DEBUG received {HELLO.hex()} from 10.0.0.1:1883\n", [("300b", 1, "<")]),
    "walkthrough": (
        (
            "Client  -- PUBLISH (34 33 00 .. ..)    ->  Server\n"
            "Client  <- PUBREC  (50 04 11 c2 10 00) --  Server\n"
            "Client  -- PUBREL  (62 03 11 c2 00)    ->  Server\n"
        ),
        [("5004", 2, "<"), ("6203", 3, ">")],
    ),
    "words of a server": (
        "broker: RX 10 0d 00 04 4d 51 54 54 05 02 00 3c 00 00 00\nbroker: TX 20 03 00 00 00\n",
        [("100d", 1, ">"), ("2003", 2, "<")],
    ),
    "blank lines": (f"boot\nmemory 12 kB\n\nTX {HEX}\n\ndone\n", [("300b", 4, ">")]),
    "strace": (
        (
            'read(5, "\\177ELF\\2"..., 832) = 832\n'
            'write(5, "\\20\\r\\0\\4MQTT\\5\\2\\0<\\0\\0\\0", 15) = 15\n'
            'read(5, " ", 1) = 1\nread(5, "\\3\\0\\0\\0", 4) = 4\nwrite(1, "hello\\n", 6) = 6\n'
        ),
        [("100d", 2, ">"), ("2003", 3, "<")],
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_bytes_are_taken_from_a_log(name: str) -> None:
    text, expected = LOGS[name]
    whole = Log()
    pieces = [*read_text(text, "auto", whole)]
    assert [(piece.data[:2].hex(), piece.line, piece.mark) for piece in pieces] == expected
    assert {piece.data for piece in pieces} <= {HELLO, LONG} or len(expected) > 1
    assert whole.taken + whole.passed == len([line for line in text.splitlines() if line.strip()])
    with pytest.raises(BadText):
        list(read_notation(text))
    for file in (io.BytesIO(text.encode()), io.BufferedReader(Pipe(text.encode()))):
        log = Log()
        assert runs(read_file(file, "auto", log)) == pieces
        assert [*log.remarks()] == [*whole.remarks()]


@pytest.mark.parametrize("text", [
    "30 B 0 3 74", "I (4321) mqtt: 30 0b 00 03 74", "TX: [0x30, 0x0b, 0x00, 0x03, 0x74]",
    "0x30u8, 0x0bu8, 0x00u8, 0x03u8, 0x74u8",
])  # fmt: skip
def test_a_packet_that_is_cut_short_is_taken_as_it_is(text: str) -> None:
    assert [piece.data.hex() for piece in read_text(text, "auto", Log())] == ["300b000374"]


def test_a_time_is_kept_when_its_date_and_zone_are_there() -> None:
    (piece,) = read_text(f"2024-05-01T12:00:00.25+02:00 TX {HEX}", "auto", Log())
    assert piece.time_ns == 1_714_557_600 * NS + NS // 4
    for text in (f"2024-05-01 12:00:00 TX {HEX}", f"12:00:00.25 TX {HEX}", f"2024-99-01T12:00:00Z TX {HEX}"):
        assert next(read_text(text, "auto", Log())).time_ns is None


def test_skipped_lines_are_reported() -> None:
    log = Log()
    list(read_text(f"started\nTX {HEX}\nidle\nRX d0 00\n", "auto", log))
    assert [*log.remarks()] == [
        "bytes in hex were read from 2 lines of a log, 2 lines skipped (the first is line 1)",
        "the log is read as one written by a client: TX, send, write and -> mean sent by the client",
    ]
    assert [*Log().remarks()] == []


@pytest.mark.parametrize("text", [
    "30 31\n32 3g", "c0 00\n30 05 0g", f"{HEX} 3", "hello", "12:00:01 nothing",
    "TX 30 0b 00 03 61 2g", "30 0b 00 3 61 2f", "port 1883 1884",
    "c0 00\n\nc0 0", "TX (30 0b .. ..)", ">>> TLS 1.3, Handshake [length 0006]\n    c0 00\n",
    'write(5, "\\20\\r\\0\\4MQTT\\5\\2\\0<"..., 15) = 15\n',
])  # fmt: skip
def test_mistyped_hex_is_not_a_log(text: str) -> None:
    with pytest.raises(BadText):
        list(read_text(text, "auto", Log()))


@pytest.mark.parametrize(
    ("text", "column", "digit"),
    [
        ("40 03 64 4a 87 zz 11 22", 16, "z"),
        ("40 03 64 4a 87 az", 17, "z"),
        ("> 40,03,64,4a,87,ok,11", 18, "o"),
        ("40 02 00 01 \u00e9a", 13, r"\xe9"),
    ],
)
def test_a_mistyped_byte_after_a_whole_packet_is_an_error(text: str, column: int, digit: str) -> None:
    with pytest.raises(BadText, match=re.escape(f"line 1, column {column}: '{digit}' is not a hex digit")):
        list(read_text(text, "auto", Log()))


@pytest.mark.parametrize(
    "text", ["RX 40 03 64 4a 87 zz 11 22", "40 03 64 4a 87 xyz 11 22", "RX 40 02 00 01 or 40 02 00 02"]
)
def test_bytes_that_a_log_line_has_after_its_packet_are_named_as_skipped(text: str) -> None:
    log = Log()
    list(read_text(f"RX 40 02 00 01 ok\n{text}\n", "auto", log))
    assert "1 line has more bytes after those that were read; they were skipped (the first is line 2)" in log.remarks()


def test_a_log_is_read_in_the_notation_that_is_asked_for() -> None:
    text = f"TX {HEX}\nRX [64, 2, 0, 1]\n".encode()
    assert [piece.data.hex() for piece in read_bytes(text, "hex", Log())] == [HELLO.hex()]
    assert [piece.data.hex() for piece in read_bytes(text, "decimal", Log())] == ["40020001"]
    with pytest.raises(BadText):
        list(notation.read_bytes(text, "hex"))


CONNECT, CONNACK = "10 0d 00 04 4d 51 54 54 05 02 00 3c 00 00 00", "20 03 00 00 00"


def marks(text: str, log: Log) -> list[str]:
    """Return the sides of the packets in a text."""
    return [piece.mark for piece in read_text(text, "auto", log)]


def test_directions_that_contradict_the_packets_are_left_aside() -> None:
    log = Log()
    assert marks(f"TX {CONNECT}\nTX {CONNACK}\nTX {HEX}\n", log) == ["", "", ""]
    assert not log.swapped
    assert [*log.remarks()][1:] == [
        "the directions in the log contradict its packets and were left aside; --direction says who sent the rest"
    ]


def test_one_contradiction_among_many_is_named() -> None:
    log = Log()
    lines = [f"TX {CONNECT}", f"RX {CONNACK}", "TX c0 00", "RX d0 00", "TX d0 00", f"TX {HEX}"]
    assert marks("\n".join(lines), log) == [">", "<", ">", "<", "", ">"]
    assert [*log.remarks()][2:] == [
        "1 packet is of a type that the end on its line never sends; there the type counts (the first is on line 5)"
    ]


def test_an_arrow_after_the_time_is_a_direction_only_where_both_are_there() -> None:
    lines = [f"10:22:31.456 -> {CONNECT}", f"10:22:31.556 -> {CONNACK}", f"10:22:31.656 -> {HEX}"]
    assert marks("\n".join(lines), Log()) == ["", "", ""]
    assert marks("\n".join(lines[2:] * 2), Log()) == ["", ""]
    lines[1] = lines[1].replace("->", "<-")
    assert marks("\n".join(lines), Log()) == [">", "<", ">"]


def test_a_column_is_learned_from_the_packets_that_one_end_sends() -> None:
    sent = [f"up {CONNECT}", "up 82 07 00 01 00 00 01 61 00"]
    lines = [sent[0], f"dn {CONNACK}", sent[1], "dn 90 04 00 01 00 00", f"dn {HEX}", f"up {HEX}"]
    assert marks("\n".join(lines), Log())[-2:] == ["<", ">"]


def test_a_packet_with_a_fault_is_read_where_the_line_says_that_it_is_one() -> None:
    text = f"MQTT_TX: 36 0a 00 01 61 00 01 03 23 00 00 78\nTX {HEX}\nnumbers 36 02 00 01\n"
    assert [piece.line for piece in read_text(text, "auto", Log())] == [1, 2]


def test_a_dump_of_something_else_is_refused_unless_hex_is_asked_for() -> None:
    text = b"0000  47 45 54 20 2f 20 48 54 54 50 2f 31 2e 31 0d 0a   GET / HTTP/1.1..\n0010  41 3a 20 62   A: b\n"
    with pytest.raises(BadText, match="the dump holds no MQTT packet, as none begins with 47 45 54 20"):
        list(read_bytes(text, "auto", Log()))
    assert [piece.data[:3] for piece in read_bytes(text, "hex", Log())] == [b"GET"]


def test_a_count_is_one_only_where_a_message_begins() -> None:
    text = "TX  2 192   0\nTX 11 48 9 0 1 97 1\n 4 192 0 208 0\n"
    assert [piece.data.hex() for piece in read_text(text, "auto", Log())] == ["c000", "300900016101" + "04c000d000"]


def test_frames_of_a_bus_and_machine_code_are_no_packets() -> None:
    frames = "  can0  123   [8]  10 0D 00 04 4D 51 54 54\n  can0  123   [7]  05 02 00 3C 00 00 00\n"
    code = "  401136:\t10 0d 00 04 4d 51 54 54 \tadc %cl,0x4\n  40113e:\t05 02 00 3c 00 00 00 \tadd $0x3c0002\n"
    for text in (frames, code):
        with pytest.raises(BadText, match="no MQTT packet was found"):
            list(read_text(f"$ tool\n{text}done well\n", "auto", Log()))


def test_a_text_without_packets_is_refused_in_one_sentence() -> None:
    with pytest.raises(BadText, match=r"^line 1, column 1: no MQTT packet was found in 3 lines "):
        list(read_text("D (2000) mqtt_client: mqtt write 24 bytes\nwifi started\nip 10.0.0.1", "auto", Log()))
    for nothing in ("", " \n\n"):
        with pytest.raises(BadText, match="there is nothing to read"):
            list(read_text(nothing, "auto", Log()))
    with pytest.raises(BadText, match="there are times, addresses and identifiers, but no bytes"):
        list(read_text("651851e7-2323-5ce9-aae0-f21911eca901\na6366a0d-dc86-57a6-a4ff-e1a197104a79", "auto", Log()))


@pytest.mark.parametrize(
    ("line", "marks"),
    [
        ("192.0.2.1:1024 -> 192.0.2.2:1883 c0 00", [">"]),
        ("192.0.2.2:1883 -> 192.0.2.1:1024 d0 00", ["<"]),
        ("12:00:00.123 -> 12:00:01 30 07 00 03 61 2f 62 68 69", [""]),
    ],
)
def test_an_arrow_between_addresses_is_none_after_a_time(line: str, marks: list[str]) -> None:
    assert [piece.mark for piece in read_text(f"{line}\n", "auto", Log())] == marks


def test_system_calls_of_which_nothing_says_that_they_are_mqtt() -> None:
    """strace that is attached to a process misses the CONNECT."""
    text = 'write(3, "\\300\\0", 2) = 2\nread(3, "\\320\\0", 2) = 2\n'
    with pytest.raises(BadText, match=r"^line 1, column 1: the system calls are not known as MQTT.* \(strace -yy "):
        list(read_text(text, "auto", Log()))
    with_port = text.replace("(3,", "(3<TCP:[10.0.0.1:5->10.0.0.2:1883]>,")
    assert [piece.data for piece in read_text(with_port, "auto", Log())] == [b"\xc0\0", b"\xd0\0"]


def test_a_coloured_line_with_stray_bytes_is_no_raw_packet() -> None:
    log = Log()
    data = f"\x1b[0;32mI (1234) mqtt: TX: {HEX}\x1b[0m\n".encode() + b"caf\xe9 \0 done\n"
    assert [(piece.data, piece.mark) for piece in read_bytes(data, "auto", log)] == [(HELLO, ">")]
    assert [*log.remarks()][-1].endswith("--form raw reads the bytes as is")
    assert [piece.kind for piece in read_bytes(data, "raw", Log())] == ["raw"]


def test_a_packet_may_begin_after_the_lines_by_which_a_text_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqttpub.capture.logs.read.LOOK", 500)
    log = Log()
    text = "I (1) boot: nothing yet, 48 12\n" * 100 + f"TX {HEX}\n" + "idle 1 2 3\n" * 50 + "RX [64, 2, 0, 1]\n"
    found = [*read_file(io.BytesIO(text.encode()), "auto", log)]
    assert [(piece.line, piece.mark) for piece in found] == [(101, ">"), (152, "<")]
    assert log.passed == 150


def test_a_log_of_any_size_is_read_in_parts() -> None:
    text = f"TX {HEX}\nidle\n" * 300
    log = Log()
    pieces = [*read_file(io.BytesIO(text.encode()), "auto", log, large=2000)]
    assert [piece.line for piece in pieces] == list(range(1, 601, 2))
    assert (log.taken, log.passed) == (300, 300)


def test_the_length_that_xxd_writes_is_compared(tmp_path: Path) -> None:
    (tmp_path / "p.bin").write_bytes(HELLO)
    text = subprocess.run(["xxd", "-i", "p.bin"], cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    assert [*read_notation(text)] == [TextPiece(HELLO, 1, "array")]
    with pytest.raises(BadText, match="line 5, column 26: the length is 14, but the array before it has 13 bytes"):
        list(read_text(text.replace("13", "14"), "auto", Log()))


def tshark(*arguments: str) -> bytes:
    return subprocess.run(["tshark", "-r", str(CAPTURE), *arguments], capture_output=True, check=True).stdout


@pytest.mark.tshark
def test_what_tshark_prints_of_a_conversation() -> None:
    """Each line of `follow,tcp,raw` is a segment; those of one end are indented. `-x` shows whole frames."""
    raw = [*read_bytes(tshark("-q", "-z", "follow,tcp,raw,4"), "auto", Log())]
    assert [piece.data[0] >> 4 for piece in raw] == [1, 2, 3, 5, 6, 7, 14]
    log = Log()
    frames = [piece for piece in read_bytes(tshark("-x", "-Y", "tcp.stream == 4"), "auto", log) if piece.data]
    assert [piece.data for piece in frames] == [piece.data for piece in raw]
    assert [piece.mark for piece in frames] == [">", "<", ">", "<", ">", "<", ">"]
    assert "network frames, of which the TCP payload is read" in next(log.remarks())
