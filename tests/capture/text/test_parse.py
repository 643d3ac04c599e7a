"""Everything that people paste: what is read back, and where each error stands."""

import base64
import contextlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.text.parse import FORMS, LARGE, BadText, TextPiece, read_bytes, read_raw, read_rows, run_parts
from mqttpub.capture.text.rows import blocks, rows_of_text
from mqttpub.capture.text.rows import rows as rows_of
from mqttpub.spec.versions import Version
from tests.strategies import encoded

PACKET = bytes.fromhex("300a0003612f6268656c6c6f")
"""PUBLISH a/b hello."""

packets = st.binary(max_size=70).map(lambda rest: b"\x30" + rest)


def read_file(file: BinaryIO, *, large: int = LARGE) -> Iterator[TextPiece]:
    """Return the pieces of a file that is read part by part."""
    return read_rows(rows_of(blocks(file)), large=large)


def read_text(text: str) -> Iterator[TextPiece]:
    """Yield the bytes in a text."""
    return (piece for piece, _ in run_parts(rows_of_text(text)))


def one(text: str) -> TextPiece:
    """Return the only piece of a text."""
    (piece,) = read_text(text)
    return piece


def error(text: str) -> BadText:
    """Return the error of a text, after checking that its place exists."""
    with pytest.raises(BadText) as caught:
        list(read_text(text))
    checked(text, caught.value)
    return caught.value


def checked(text: str, found: BadText) -> None:
    """Check that an error stands within its text."""
    rows = re.split("\r\n|\n|\r", text)
    assert found.source in (rows[found.line - 1], "")
    assert 1 <= found.column <= len(rows[found.line - 1]) + 1
    assert str(found) == f"line {found.line}, column {found.column}: {found.message}"


# Layouts of other programs, character by character


def shown(data: bytes) -> str:
    """Return the text column of a dump."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)


def rows(data: bytes, layout: Callable[[int, bytes], str], size: int = 16) -> str:
    """Return the lines of a dump."""
    return "\n".join(layout(start, data[start : start + size]) for start in range(0, len(data), size))


def halves(row: bytes) -> str:
    """Return sixteen bytes with a gap in the middle."""
    return f"{row[:8].hex(' ')}  {row[8:].hex(' ')}".ljust(48)


def grouped(row: bytes, size: int) -> str:
    """Return hex in groups that are filled from the left."""
    return " ".join(row[at : at + size].hex() for at in range(0, len(row), size))


def hexdump(data: bytes) -> str:
    """Return what `hexdump -Cv` prints."""
    table = rows(data, lambda start, row: f"{start:08x}  {halves(row)}  |{shown(row)}|")
    return f"{table}\n{len(data):08x}\n"


def tcpdump(data: bytes, text: bool) -> str:
    """Return what `tcpdump -x` or `-X` prints."""

    def layout(start: int, row: bytes) -> str:
        column = f"{grouped(row, 2):<39}  {shown(row)}" if text else grouped(row, 2)
        return f"\t0x{start:04x}:  {column}"

    return "12:00:00.000001 IP 10.0.0.1.50000 > 10.0.0.2.1883: Flags [P.], length 12\n" + rows(data, layout)


def follow(data: bytes) -> str:
    """Return what `tshark -z follow,tcp,hex` prints."""
    line = "=" * 67
    head = f"{line}\nFollow: tcp,hex\nFilter: tcp.stream eq 0\nNode 0: 10.1.1.1:50000\nNode 1: 10.2.2.2:1883\n"
    table = rows(data, lambda start, row: f"{start:08X}  {halves(row)}  {shown(row[:8])} {shown(row[8:])}")
    return f"{head}{table}\n{line}\n"


def wireshark_c(data: bytes) -> str:
    """Return what Wireshark exports as a C array."""
    table = rows(data, lambda _, row: " ".join(f"0x{byte:02x}," for byte in row) + " /* text */", 8)
    return f"/* Frame ({len(data)} bytes) */\nstatic const unsigned char pkt1[{len(data)}] = {{\n{table}\n}};\n"


def escapes(data: bytes) -> str:
    """Return bytes as escapes."""
    return "".join(f"\\x{byte:02x}" for byte in data)


def wireshark_string(data: bytes) -> str:
    """Return what Wireshark copies as an escaped string."""
    return rows(data, lambda _, row: f'"{escapes(row)}" \\')


def c_string(data: bytes) -> str:
    """Return a C string with as much text as can be."""
    return '"\\x30' + "".join(chr(b) if chr(b).isalpha() and b < 0x7F else f"\\{b:03o}" for b in data[1:]) + '"'


WRITERS: dict[str, tuple[str, Callable[[bytes], str]]] = {
    "plain": ("hex", bytes.hex),
    "upper": ("hex", lambda data: data.hex().upper()),
    "colons": ("hex", lambda data: data.hex(":")),
    "dots": ("hex", lambda data: data.hex(".")),
    "wrapped": ("hex", lambda data: rows(data, lambda _, row: row.hex(" "))),
    "0x words": ("hex", lambda data: " ".join(f"0x{byte:02X}" for byte in data)),
    "0x short": ("hex", lambda data: ",".join(f"{byte:#x}" for byte in data)),
    "0x one": ("hex", lambda data: f"0x{data.hex()}"),
    "quoted": ("hex", lambda data: json.dumps(data.hex())),
    "fromhex": ("hex", lambda data: f'data = bytes.fromhex("{data.hex(" ")}")'),
    "sql": ("hex", lambda data: f"x'{data.hex()}'"),
    "node buffer": ("hex", lambda data: f"<Buffer {data.hex(' ')}>"),
    "commented": ("hex", lambda data: rows(data, lambda _, row: f"{row.hex()} # row\n  // 99 /* 99", 4)),
    "xxd": ("dump", lambda data: rows(data, lambda s, row: f"{s:08x}: {grouped(row, 2):<39}  {shown(row)}")),
    "xxd -c 8": ("dump", lambda data: rows(data, lambda s, row: f"{s:08x}: {grouped(row, 2):<19}  {shown(row)}", 8)),
    "xxd -g 1": ("dump", lambda data: rows(data, lambda s, row: f"{s:08x}: {row.hex(' '):<47}  {shown(row)}")),
    "hexdump -C": ("dump", hexdump),
    "tcpdump -x": ("dump", lambda data: tcpdump(data, text=False)),
    "tcpdump -X": ("dump", lambda data: tcpdump(data, text=True)),
    "wireshark": ("dump", lambda data: rows(data, lambda s, row: f"{s:04x}  {row.hex(' '):<47}   {shown(row)}")),
    "wireshark hex": ("dump", lambda data: rows(data, lambda s, row: f"{s:04x}   {row.hex(' ')}")),
    "follow": ("dump", follow),
    "C array": ("array", lambda data: f"uint8_t p[] = {{ {', '.join(map(hex, data))} }};"),
    "wireshark C": ("array", wireshark_c),
    "python list": ("array", lambda data: str(list(data))),
    "python bytes()": ("array", lambda data: f"bytes({list(data)})"),
    "json": ("array", lambda data: json.dumps(list(data), indent=1)),
    "node json": ("array", lambda data: json.dumps({"type": "Buffer", "data": list(data)})),
    "java": ("array", lambda data: str([byte - 256 if byte > 127 else byte for byte in data])),
    "java source": ("array", lambda data: f"byte[] p = new byte[] {{{', '.join(f'(byte) {b:#x}' for b in data)}}};"),
    "go": ("array", lambda data: f"[]byte{{{', '.join(map(hex, data))}}}"),
    "go %v": ("array", lambda data: f"[{' '.join(map(str, data))}]"),
    "rust": ("array", lambda data: f"vec![{', '.join(map(hex, data))}]"),
    "erlang": ("array", lambda data: f"<<{','.join(map(str, data))}>>"),
    "python bytes": ("escaped", repr),
    "python bytearray": ("escaped", lambda data: repr(bytearray(data))),
    "C string": ("escaped", c_string),
    "C strings": ("escaped", lambda data: f"const char p[] =\n{wireshark_string(data)[:-2]};"),
    "wireshark string": ("escaped", wireshark_string),
    "escapes": ("escaped", escapes),
    "escapes apart": ("escaped", lambda data: rows(data, lambda _, row: " ".join(escapes(bytes([b])) for b in row))),
    "printf": ("escaped", lambda data: f"printf '{escapes(data)}' | nc localhost 1883"),
    "bytea": ("escaped", lambda data: f"\\x{data.hex()}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
@given(data=packets)
def test_reads_back(name: str, data: bytes) -> None:
    """What a layout writes is read back as one piece."""
    kind, write = WRITERS[name]
    found = one(write(data))
    assert (found.data, found.kind) == (data, kind)
    assert b"".join(piece.data for piece in read_bytes(write(data).replace("\n", "\r\n").encode())) == data


@given(packet=st.sampled_from(Version).flatmap(encoded))
def test_base64_of_packets(packet: bytes) -> None:
    """A packet in base64 is distinguished from hex in every alphabet, with padding and without, also wrapped."""
    standard = base64.b64encode(packet).decode()
    url_safe = base64.urlsafe_b64encode(packet).decode()
    wrapped = base64.encodebytes(packet).decode()
    expected = "hex" if re.fullmatch("(?:[0-9a-fA-F]{2})*", standard) else "base64"
    for text in (standard, url_safe, standard.rstrip("="), wrapped, f'"{standard}"'):
        found = one(text)
        assert found.kind == expected
        assert expected == "hex" or found.data == packet


@given(packets)
def test_base64_on_request(data: bytes) -> None:
    """With form="base64" no first byte and no `//` is in doubt."""
    for raw in (data, b"\xff\xf0" + data):
        assert [*read_bytes(base64.b64encode(raw), "base64")] == [TextPiece(raw, 1, "base64")]
        assert b"".join(p.data for p in read_bytes(base64.encodebytes(raw * 5), "base64")) == raw * 5


separators = st.sampled_from(["", " ", "\t", ":", ",", "-", ".", "\n", ", ", ": ", " - ", "\r\n\t", "\u00a0"])


@given(data=packets, mixed=st.data())
def test_any_mixture_between_pairs(data: bytes, mixed: st.DataObject) -> None:
    """Separators may change from byte to byte."""
    text = "".join(
        mixed.draw(st.sampled_from([f"{b:02x}", f"{b:02X}", f" 0x{b:x},"])) + mixed.draw(separators) for b in data
    )
    assert one(text) == TextPiece(data, 1, "hex")


PROGRAMS = {
    "od -A x -t x1 -v": "dump",
    "od -A d -t x1 -v": "dump",
    "od -t x1 -v": "dump",
    "od -A x -t x1z -v": "dump",
    "od -A n -t x1 -v": "hex",
    "base64": "base64",
    "base64 -w 0": "base64",
    "base64 -w 75": "base64",
}


@pytest.mark.parametrize("command", PROGRAMS)
def test_real_programs(command: str) -> None:
    """The output of programs of coreutils is read back."""
    data = PACKET + bytes(range(256)) * 3
    text = subprocess.run(command.split(), input=data, capture_output=True, check=True).stdout
    assert [*read_bytes(text)] == [TextPiece(data, 1, PROGRAMS[command])]


@pytest.mark.parametrize("command", ["od -x", "od", "od -A x -t x1"])
def test_real_programs_that_lose_bytes(command: str) -> None:
    """Words in the byte order of a machine and squeezed lines are refused."""
    text = subprocess.run(command.split(), input=b"0" * 64, capture_output=True, check=True).stdout
    with pytest.raises(BadText, match=r"words of . digits stand|stands for lines that were left out"):
        list(read_bytes(text))


# In parts


class Pipe(io.RawIOBase):
    """Bytes that come once, and few at a time."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.rest[: min(len(buffer), 7)]
        buffer[: len(piece)], self.rest = piece, self.rest[len(piece) :]
        return len(piece)


def runs(pieces: Iterable[TextPiece]) -> list[TextPiece]:
    """Return pieces, those of one run together, after checking that each stands where the one before it ended."""
    found: list[TextPiece] = []
    for piece in pieces:
        if piece.start:
            assert piece.start == len(found[-1].data)
            assert (piece.kind, piece.mark) == (found[-1].kind, found[-1].mark)
            found[-1] = found[-1]._replace(data=found[-1].data + piece.data)
        else:
            found.append(piece)
    return found


@pytest.mark.parametrize("name", WRITERS)
def test_long_text_is_read_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is long gives the same bytes, in pieces of whole packets; what cannot be cut comes as a whole."""
    for module, constant, value in (("runs", "LARGE", 40), ("rows", "BLOCK", 11)):
        monkeypatch.setattr(f"mqttpub.capture.text.{module}.{constant}", value)
    kind, write = WRITERS[name]
    data = PACKET * 40 + PACKET[:5]
    text = f"\n\n{write(data)}\n\n> {write(PACKET)}".encode()
    whole = [*read_bytes(text)]
    assert [piece.data for piece in whole] == [data, PACKET]
    for file in (io.BytesIO(text), io.BufferedReader(Pipe(text))):
        pieces = [*read_file(file, large=100)]
        assert runs(pieces) == whole
        assert {len(piece.data) % len(PACKET) for piece in pieces[:-2]} <= {0}
        divided = kind == "dump" or name in ("wrapped", "commented")
        assert len(pieces) > 4 if divided else len(pieces) == 2


@pytest.mark.parametrize(("first", "second"), [("", "\t"), ("\t", "")])
def test_a_long_conversation_of_tshark_is_read_in_parts(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one end sent is cut into parts, and still ends where the indentation of the lines changes."""
    monkeypatch.setattr("mqttpub.capture.text.runs.LARGE", 40)
    rows = [f"{first}{PACKET.hex()}\n"] * 40 + [f"{second}{PACKET.hex()}\n"] * 30
    line = "=" * 67 + "\n"
    text = f"{line}Follow: tcp,raw\nFilter: tcp.stream eq 0\n{''.join(rows)}{line}"
    pieces = [*read_file(io.BytesIO(text.encode()), large=100)]
    assert [(piece.data, piece.line) for piece in runs(pieces)] == [(PACKET * 40, 4), (PACKET * 30, 44)]
    assert len(pieces) > 4


@pytest.mark.parametrize("name", ["plain", "upper", "colons", "dots", "0x words", "0x short"])
def test_a_long_line_is_read_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, constant, value in (("runs", "LARGE", 40), ("rows", "LONG", 50), ("rows", "BLOCK", 11)):
        monkeypatch.setattr(f"mqttpub.capture.text.{module}.{constant}", value)
    data = PACKET * 40
    pieces = [*read_file(io.BytesIO(WRITERS[name][1](data).encode()), large=100)]
    assert runs(pieces) == [TextPiece(data, 1, "hex")]
    assert len(pieces) > 4
    monkeypatch.setattr("mqttpub.capture.text.rows.LONGEST", 400)
    with pytest.raises(BadText, match="line 2, column 1: the line has more than 400 characters and cannot be read"):
        list(read_file(io.BytesIO(b"30\n" + WRITERS["python bytes"][1](data).encode())))


@pytest.mark.parametrize(
    "text", ["3g", "30 31\n" * 50 + "30 3g", "30 31 " * 50 + "3g", "30 31\n" * 50 + "MDEA\n", "y\n" * 90]
)
def test_errors_of_parts_stand_where_those_of_the_whole_do(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqttpub.capture.text.rows.LONG", 50)
    places = []
    for pieces in (read_bytes(text.encode()), read_file(io.BytesIO(text.encode()), large=100)):
        with pytest.raises(BadText) as caught:
            list(pieces)
        places.append((caught.value.line, caught.value.column, caught.value.message))
    assert places[0] == places[1]


@pytest.mark.parametrize(("form", "data", "message"), [
    ("raw", bytes(100), "there is no MQTT packet in 64 bytes"),
    ("hex", b"00 00\n" * 100, "there is no MQTT packet in 64 bytes"),
    (
        "raw", b"\xc0\0" * 100 + b"\x30\xff\xff\xff\xff" * 9,
        "no packet can begin at offset 200, and only 30 bytes after it are read",
    ),
])  # fmt: skip
def test_a_text_that_never_becomes_a_packet(
    form: str, data: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, constant, value in (("runs", "LARGE", 64), ("runs", "MOST_LOST", 30), ("rows", "BLOCK", 8)):
        monkeypatch.setattr(f"mqttpub.capture.text.{module}.{constant}", value)
    file = io.BytesIO(data)
    with pytest.raises(BadText) as caught:
        list(read_raw(blocks(file)) if form == "raw" else read_file(file, large=10))
    assert caught.value.message == message


# Single cases


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3031", "3031"),
        ("30 3130\n31", "30313031"),
        ("3005 0001\n6161", "300500016161"),
        ("0X30,0x31", "3031"),
        ("30 31// 32\n# 33\n34/* 35 */36", "30313436"),
        ("/* 1\n\n 2 */ 30", "30"),
        ("\ufeff30\u00a031", "3031"),
        (r'"\x30\x0a\x00\x03a/b"', "300a0003612f62"),
        (r"""b'\x30\'"#//'""", "3027222 32f2f".replace(" ", "")),
        (r'"\a\b\f\n\r\t\v\0\\\"\'\12\377"', "07080c0a0d090b005c22270aff"),
        ('"\\x30\\\n\\x31"', "3031"),
        ('"\\x30" /* a */ "1" // b\n"2"\n//c\n"3"', "30313233"),
        ('"\\x30" + u8"\u00e9"', "30c3a9"),
        ("b'3031'", "33303331"),
        (r"\x30\x04\x00\x02a #", "3004000261"),
        (r"\x82\x06\x00\x01\x00\x01#\x00", "8206000100012300"),
        (r"\x30, \x31", "3031"),
        (r"\x30\x03\x00\x01(", "3003000128"),
        ("uint8_t p[] = { 0x30, 0x31, 48, '1' };", "30313031"),
        ("p = {0x30, // one\n\n# two\n0x31,/* three */ '\\n', '\\x00',}", "30310a00"),
        ("new Uint8Array([48, 5])", "3005"),
        ("Uint8Array(2) [ 48, 5 ]", "3005"),
        ("Buffer.from([0x30, 5])", "3005"),
        ("[0x0030]", "30"),
        ("MDEAB3Jl", "30310007 7265".replace(" ", "")),
        ("\n  MDEA\n  B3Jl\n", "303100077265"),
        ("EAD_", "1000ff"),
        ("EAD/\n//A=", "1000fffff0"),
        ("0000  30 31  01\n0002  32    2\n", "303132"),
        ("0000  30\n0001  3132\n", "303132"),
        ("00000010: 3061 00               0a.\n", "306100"),
        ("0010  30 31 32 33 34 35 36 37\n0018  38\n", "303132333435363738"),
        ("3031  33  33", "30313333"),
        ("3031 30\n3032 31", "303130303231"),
        ("0x0010:  3031\n", "3031"),
        ("0x0000:  3031\n\t0x0002:  32\n", "303132"),
        ("00000000: 3334 3536 3738 3930  34567890\n", "3334353637383930"),
        ("00000000  30 31 32 33 34 35 36 37  38 39\n", "30313233343536373839"),
        ("0000  30 31 # 99\n0002  32 // 99\n", "303132"),
    ],
)
def test_one_piece(text: str, expected: str) -> None:
    """Each of these is one run of bytes."""
    assert one(text).data.hex() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30 31\n\n\n40\n", [("3031", 1, ""), ("40", 4, "")]),
        ("> 30\n31\n< 40\n-> 50\n<- 60", [("3031", 1, ">"), ("40", 3, "<"), ("50", 4, ">"), ("60", 5, "<")]),
        ("C->S: 30\ns->c:\n\n# answer\n```hex\n40 02\n```\n50", [("30", 1, ">"), ("4002", 6, "<"), ("50", 8, "")]),
        ("> 0000  30\n0001  31\n< 0000  40\n< 0001  41", [("3031", 1, ">"), ("4041", 3, "<")]),
        ("0000  30 31\n0002  32\n0000  40\n", [("303132", 1, ""), ("40", 3, "")]),
        ("0000  30\n0001\n30 31", [("30", 1, ""), ("3031", 3, "")]),
        (
            "0000  10 26\n    0000  20\n0002  30\n    0001  d0",
            [("1026", 1, ""), ("20", 2, ""), ("30", 3, ""), ("d0", 4, "")],
        ),
        ("char a[] = { 0x30 };\nchar b[] = { /* 2 */ 0x31 };", [("30", 1, ""), ("31", 2, "")]),
        ("a = b'\\x30'; b = '31'\n\n[]\n\n''", [("30", 1, ""), ("31", 1, "")]),
        ("# title\n\n/* a\n b */\n0000  30", [("30", 5, "")]),
        ("MDEAB3Jl\n\n30", [("303100077265", 1, ""), ("30", 3, "")]),
        ("Frame (1 bytes):\n0000  30  0\n\nReassembled TCP (1 bytes):\n0000  31  1", [("30", 2, ""), ("31", 5, "")]),
        ("    1 0.000000000     10.1.1.1 → 10.2.2.2     MQTT 98 Connect Command\n\n0000  30   0", [("30", 3, "")]),
    ],
)
def test_pieces(text: str, expected: list[tuple[str, int, str]]) -> None:
    """Pieces end where people end them, and know their line and mark."""
    assert [(piece.data.hex(), piece.line, piece.mark) for piece in read_text(text)] == expected


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", (1, 1), "no bytes"),
        ("# nothing\n\n```\n```\n", (1, 1), "no bytes"),
        ("30 31\n32 3g", (2, 5), "'g' is not a hex digit"),
        ("303", (1, 3), "'3' is a single hex digit, but a byte needs two"),
        ("3 0", (1, 1), "'3' is a single hex digit, but a byte needs two"),
        ("30 0x313", (1, 8), "'3' is a single hex digit, but a byte needs two"),
        ("0xg0", (1, 3), "'g' is not a hex digit"),
        ("zz", (1, 1), "'z' is not a hex digit"),
        ("30 \x1b[31m", (1, 4), r"'\x1b' is not a hex digit"),
        ("30 31 ... 39", (1, 7), "'...' stands for bytes that were left out"),
        ("<Buffer 30 ... 5 more bytes>", (1, 12), "'...' stands for bytes that were left out"),
        ("<Buffer 30", (1, 1), "'<' is not closed"),
        ("30 [31]", (1, 4), "'[' is not a hex digit"),
        ("MDEAB3J", (1, 1), "'M' is not a hex digit"),
        ("MDEA B3Jl", (1, 1), "'M' is not a hex digit"),
        ("0AB", (1, 3), "'B' is a single hex digit, but a byte needs two"),
        ("E00", (1, 3), "'0' is a single hex digit, but a byte needs two"),
        ("hello", (1, 1), "'h' is not a hex digit"),
        ('"\\x3g"', (1, 5), "'g' is not a hex digit"),
        ("\\x3", (1, 3), "'3' is a single hex digit, but a byte needs two"),
        ("\\x", (1, 3), "the text ends where a hex digit is expected"),
        ("\\x30\\", (1, 5), "a backslash ends the text"),
        (r"'\q'", (1, 2), "'q' after a backslash is not an escape"),
        (r"'\400'", (1, 2), "an octal number above 377 does not fit a byte"),
        ("'\\x30\ud800'", (1, 6), r"'\ud800' cannot be encoded as UTF-8"),
        ('"\\x30', (1, 1), "the string is not closed"),
        ('"\\x30" zz', (1, 8), "'z' is not the start of an array or a string"),
        ("[48", (1, 1), "'[' is not closed"),
        ("[48, 0x3g]", (1, 9), "'g' is not a hex digit"),
        ("[48, 3a]", (1, 7), "'a' is not a decimal digit"),
        ("[48, zz]", (1, 6), "'z' is not a number or a character"),
        ("[48, 256]", (1, 6), "a number outside -128 to 255 does not fit a byte"),
        ("[" + "9" * 9999, (1, 2), "a number outside -128 to 255 does not fit a byte"),
        ("[0x3031]", (1, 2), "a number above 0xff does not fit a byte"),
        ("[48,\n\n05]", (3, 1), "a number with a leading 0 may be octal or decimal"),
        ("['ab']", (1, 2), "a text of 2 bytes stands where one character is expected"),
        ("['a]", (1, 2), "the string is not closed"),
        ("0000  30 3g", (1, 11), "'g' is not a hex digit"),
        ("0000  30\n0001  3g", (2, 8), "'g' is not a hex digit"),
        ("0000  30 313", (1, 12), "'3' is a single hex digit, but a byte needs two"),
        ("0000  30  31  32", (1, 9), "more bytes follow where the text column is expected"),
        ("0000  30\n*\n0010", (2, 1), "'*' stands for lines that were left out"),
        ("0000  30 31\n0003  32", (2, 1), "offset 0003 stands 2 bytes after offset 0000"),
        ("0000  30 31\n0005", (2, 1), "offset 0005 stands 2 bytes after offset 0000"),
        ("0000000 3130\n0000002", (1, 9), "words of 4 digits stand where single bytes are expected"),
        ("> 30 3g", (1, 7), "'g' is not a hex digit"),
    ],
)
def test_errors(text: str, place: tuple[int, int], message: str) -> None:
    """An error has the place of the first character that is wrong, and says what it is."""
    found = error(text)
    assert ((found.line, found.column), found.message) == (place, message)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("MDEA!", (1, 5), "'!' is not a base64 character"),
        ("MDEA\n M", (2, 2), "5 base64 characters, where 4 or 6 make bytes"),
        ("MD=", (1, 3), "the padding has 1 '=' instead of 2"),
        ("=", (1, 1), "the padding has 1 '=' instead of 0"),
        ("MDF", (1, 3), "'F' has bits that belong to no byte"),
        ("[48]", (1, 1), "'[' is not a base64 character"),
    ],
)
def test_errors_of_base64(text: str, place: tuple[int, int], message: str) -> None:
    """When base64 is announced, its own errors come."""
    with pytest.raises(BadText) as caught:
        list(read_bytes(text.encode(), "base64"))
    checked(text, caught.value)
    assert ((caught.value.line, caught.value.column), caught.value.message) == (place, message)


@pytest.mark.parametrize(
    ("data", "form", "expected"),
    [
        (b"30\t31\r\n", "auto", TextPiece(b"01", 1, "hex")),
        (b"\xef\xbb\xbf30", "auto", TextPiece(b"0", 1, "hex")),
        (b"30", "raw", TextPiece(b"30", 1, "raw")),
        (b"30", "hex", TextPiece(b"0", 1, "hex")),
        (b"b'3031'", "hex", TextPiece(b"01", 1, "hex")),
        (b"3031", "base64", TextPiece(b"\xdf\x4d\xf5", 1, "base64")),
        (b"0\\x01 a ", "escaped", TextPiece(b"0\x01 a", 1, "escaped")),
        (b'"3031"', "escaped", TextPiece(b"3031", 1, "escaped")),
    ],
)
def test_forms(data: bytes, form: str, expected: TextPiece) -> None:
    """A text is taken as what it is, or as what it is said to be."""
    assert [*read_bytes(data, form)] == [expected]


@pytest.mark.parametrize("form", FORMS)
def test_empty_file(form: str) -> None:
    """No form makes bytes from nothing."""
    with pytest.raises(BadText, match="no bytes"):
        list(read_bytes(b"", form))


def test_hex_form_excludes_base64() -> None:
    """With form="hex" base64 is an error."""
    with pytest.raises(BadText, match="line 1, column 1: 'M' is not a hex digit"):
        list(read_bytes(b"MDEAB3Jl", "hex"))


def test_bytes_that_are_not_text() -> None:
    """What should be text but is not UTF-8 has a place as well."""
    with pytest.raises(BadText, match="line 2, column 4: byte 0xff is not UTF-8"):
        list(read_bytes(b"30\r\n30 \xff", "hex"))


# Whatever comes

FRAGMENTS = (
    "0000  |30 |3|0x|\\x|\\|\"|'|[|]|{|}|(|)|<<|>>|<Buffer |>|> |C->S:|"
    "//|/*|*/|#|*|...|=|b'|,|\n|\n\n|\r|```|MDEA|g|\t| "
)
pasted = st.one_of(
    st.text(st.characters()),
    st.lists(st.sampled_from(FRAGMENTS.split("|"))).map("".join),
    st.lists(st.sampled_from([write(PACKET) for _, write in WRITERS.values()]), max_size=3).map("\n".join),
)


@given(pasted, st.integers(0, 200), st.sampled_from(["", *FRAGMENTS.split("|"), "\ud800", "\u2028", "\x00"]))
def test_any_text(text: str, at: int, inserted: str) -> None:
    """Any text is pieces with bytes, or an error with a place."""
    text = text[:at] + inserted + text[at:]
    try:
        found = list(read_text(text))
    except BadText as bad:
        checked(text, bad)
    else:
        assert all(piece.data for piece in found)
        assert found


@given(st.one_of(st.binary(), pasted.map(lambda text: text.encode(errors="replace"))), st.sampled_from(FORMS))
def test_any_bytes(data: bytes, form: str) -> None:
    """Any file is pieces with bytes, or an error."""
    with contextlib.suppress(BadText):
        assert all(piece.data for piece in read_bytes(data, form))


@given(pasted, st.integers(1, 30))
def test_any_text_in_parts(text: str, size: int) -> None:
    """No cut changes what a text is, but for errors, before which there may be pieces."""
    data = text.encode(errors="replace")
    try:
        expected = [*read_bytes(data)]
    except BadText:
        with pytest.raises(BadText):
            list(read_file(io.BytesIO(data), large=size))
    else:
        assert runs(read_file(io.BytesIO(data), large=size)) == expected


REPEATED = (
    "\"'",
    '"\\',
    '"\\\n',
    "[1]x!",
    "f(",
    "f([1])",
    "a=[1]",
    "/*",
    "//",
    "(a)",
    "A=",
    "b'\\0';",
    "=",
    "> \n",
    "30  ",
)
"""Texts that a careless pattern would look at again and again."""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["auto", "base64", "escaped"])
@pytest.mark.parametrize("start", ["", "30 ", "[48 ", "0000  30 31  ", '"', "\\x30"])
def test_linear_time(start: str, form: str) -> None:
    """No repeated text takes more than its length."""
    for text in REPEATED:
        with contextlib.suppress(BadText):
            list(read_bytes((start + text * (30_000 // len(text))).encode(), form))


def test_light_import() -> None:
    """Reading text loads no module that is slow to load."""
    code = "import sys, mqttpub.capture.text.parse; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    assert not {"dataclasses", "inspect", "base64", "enum_tools", "mqttpub.spec", "rich", "click"} & {*loaded}
