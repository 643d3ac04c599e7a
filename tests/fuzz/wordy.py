"""Text that grows: what people paste, and what our own program prints."""

import json

from tests.fuzz.raw import packet


def hex_lines(size: int) -> bytes:
    """Return lines of hex."""
    return b"30 05 00 01 74 00 61\n" * size


def dump_lines(size: int) -> bytes:
    """Return a dump with offsets."""
    rows = (
        b"%08x  30 05 00 01 74 00 61 30  05 00 01 74 00 61 c0 00  |0...t.a0...t.a..|\n" % (at * 16)
        for at in range(size)
    )
    return b"".join(rows)


def brackets(size: int) -> bytes:
    """Return brackets that nobody closes."""
    return b"x = {{[(\n" * size


def comments(size: int) -> bytes:
    """Return comments that nobody closes."""
    return b"30 /* 05 //\n" * size


def quotes(size: int) -> bytes:
    """Return a string that nobody closes."""
    return b'b"' + b"\\x30\\'\\" * size


def one_line(size: int) -> bytes:
    """Return one line of hex."""
    return b"3005000174" * size


def base64_lines(size: int) -> bytes:
    """Return lines of base64 that may be comments."""
    return b"//AAAA//AAAA\n" * size


def blanks(size: int) -> bytes:
    """Return space."""
    return b"30" + b" \t" * size + b"x"


def records_as_json(size: int) -> bytes:
    """Return records of packets."""
    return b'{"version":"5.0","hex":"c000"}\n' * size


def dumps_of_packets(size: int) -> bytes:
    """Return dumps of packets with lines among them that do not belong there."""
    return b"> PUBLISH  7 bytes  MQTT 5.0\n0000  30 05 00 01 74 00 61\n{\n" * size


def long_record(size: int) -> bytes:
    """Return a record of one long packet."""
    data = packet(0x30, b"\0\1a\0" + bytes(size))
    return json.dumps({"version": "5.0", "hex": data.hex()}).encode() + b"\n"


def spaced_braces(size: int) -> bytes:
    """Return a line that looks like a record again and again."""
    return b"  {  " * size + b'"hex": "' * size


def log_lines(size: int) -> bytes:
    """Return lines of a log, one packet in each."""
    return b"12:00:00.123 mqtt: TX (8): 30 05 00 01 74 00 61 c0 | server client\n" * size


def rows_without_end(size: int) -> bytes:
    """Return lines of which each may begin a packet that all the others go on with."""
    return b"D (1) mqtt: 30 ff ff 7f 30 ff ff 7f\n" * size


def one_line_of_words(size: int) -> bytes:
    """Return one line that looks like bytes, times, columns and calls again and again."""
    return b'TX 30 05 0x3 write(1, "\\1 server    ..  12:00:0 1.2.3 ' * size + b"x"
