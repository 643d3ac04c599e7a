"""The mini notation of the vectors."""

import pytest

from tests.vectors.notation import parse


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""),
        ("  \n ", b""),
        ("30 31 0007 'request'", b"\x30\x31\x00\x07request"),
        ("4d515454", b"MQTT"),
        ("'a b' 00*3 'xy'*2", b"a b\0\0\0xyxy"),
        ("'ü'", b"\xc3\xbc"),
        ("''", b""),
        ("%0011_0010", b"\x32"),
        ("%0011001011111111", b"\x32\xff"),
    ],
)
def test_pieces_become_bytes(text: str, data: bytes) -> None:
    assert parse(text) == data


@pytest.mark.parametrize("text", ["3", "30 3", "xx", "'open", "%0011", "'a''b'", "30*", "*3"])
def test_an_unknown_piece_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no piece of bytes at|no whole bytes"):
        parse(text)
