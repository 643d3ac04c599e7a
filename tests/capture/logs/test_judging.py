"""Text with some bytes that are none, told from packets as they are."""

import pytest

from mqttpub.capture.logs.judging import in_utf8, is_plain, is_text

LINE = "I (1234) mqtt: TX: 30 05 00 03 61 2f 62\n"
PUBLISH = bytes.fromhex("3005 0003 612f62")


@pytest.mark.parametrize("data", [
    f"\x1b[0;32m{LINE.strip()}\x1b[0m".encode(), b"\0" + LINE.encode() * 3, LINE.encode() + b"caf\xe9 words here\n",
    LINE.encode("utf-16"), b"2024-05-01 \xff started and connected\n" * 4,
])  # fmt: skip
def test_text(data: bytes) -> None:
    assert is_text(data)
    assert not is_plain(data)


@pytest.mark.parametrize("data", [
    PUBLISH, PUBLISH * 40, b"\x30\x1f\0\3a/b" + b"some words of text, and more", b"\x36\x0a\0\1a\0\1\3#\0\0x",
    bytes(100),
    b"\x10\x1b\0\4MQTT\5\2\0<\0\0\x0ea client of words", bytes(range(256)),
])  # fmt: skip
def test_packets_as_they_are(data: bytes) -> None:
    assert not is_text(data)


def test_utf_16_is_read() -> None:
    data = LINE.encode("utf-16-le")
    blocks = [b"\xff\xfe" + data[:7], data[7:]]
    assert b"".join(in_utf8(blocks)).decode() == LINE
    assert [*in_utf8([b"abc", b"d"])] == [b"abc", b"d"]
