"""What is taken off a line before bytes are looked for."""

import pytest

from mqttpub.capture.logs.cleaning import BLANK, log_line, without_times


@pytest.mark.parametrize("text", [
    "2026-11-26T10:11:12.123456Z", "2026-11-26 10:11:12,123", "10:11:12.5", "11-26 10:11:12.123", "Nov 26 10:11:12",
    "[   12.345678]", "20261126 101112.123", "(4711)", "[4711]", "192.0.2.1:1883", "10.0.0.1.50000", "fe80::1",
    "651851e7-2323-5ce9-aae0-f21911eca901", "main.c:61", "26.11.2026", "10:11:12 PM",
])  # fmt: skip
def test_a_time_or_an_address_is_no_byte(text: str) -> None:
    assert without_times(text).strip(f"{BLANK} ") == ""


@pytest.mark.parametrize(
    "text", ["20:02:00:00", "10:1a:00", "40 02 00 01", "[48, 2]", "c0:00", "20020000", "<101a0004>"]
)
def test_bytes_stay(text: str) -> None:
    assert without_times(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[0;32mI (1) a: TX\x1b[0m", "I (1) a: TX"),
        ("^[[0;32mTX^[[0m", "TX"),
        ("[0;32mTX[0m", "TX"),
        ("a\0b\ufffd", "a b"),
        ('{"log":"TX 30\\n","stream":"stdout"}', "log=TX 30 ; stream=stdout"),
        ('{"data":" \\u0002\\u0000\\u00ff"}', 'data=" \\x02\\x00\\xff"'),
        ('{"data":[48,2]}', "data=[48, 2]"),
        ("{not json}", "{not json}"),
    ],
)
def test_colours_and_json(text: str, shown: str) -> None:
    assert log_line(1, text).text == shown
