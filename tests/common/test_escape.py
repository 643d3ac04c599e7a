"""Escaping of foreign text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.common.escape import ascii_column, escape, remark
from tests.checks import for_each
from tests.view.samples import laws

ANY = st.text(st.characters(codec=None))
FORBIDDEN = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x61C]
FORBIDDEN += [0x2028, 0x2029, 0xFEFF, 0xAD, 0xE0001, *range(0xD800, 0xE000)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("caf\u00e9 \u4f60 \U0001f44b", "caf\u00e9 \u4f60 \U0001f44b"),
        ("a\nb\rc\td", "a\\nb\\rc\\td"),
        ("\x00\x1b[31m\x7f", "\\x00\\x1b[31m\\x7f"),
        ("\x85\x9b\xa0", "\\u0085\\u009b\\u00a0"),
        ("\u202e\u2066\u200f\u061c\u2028", "\\u202e\\u2066\\u200f\\u061c\\u2028"),
        ("\udc80\udcff", "\\x80\\xff"),
        ("\ud800\udbff\udc7f", "\\ud800\\udbff\\udc7f"),
        ("\U000e0001", "\\U000e0001"),
        ("back\\slash", "back\\\\slash"),
        ("", ""),
    ],
)
def test_escape(text: str, shown: str) -> None:
    assert escape(text) == shown


@for_each(FORBIDDEN, hex)
def test_nothing_forbidden_passes(code: int) -> None:
    for shown in (escape(chr(code)), remark(chr(code))):
        assert shown.isascii()
        assert shown.isprintable()


@laws
@given(ANY)
def test_all_output_is_printable(text: str) -> None:
    assert escape(text).isprintable()
    assert remark(text).isprintable()


ESCAPE = re.compile(r"\\(?:(\W|[nrt])|x(..)|[uU]((?<=u)....|(?<=U)........))")


def unescape(text: str) -> str:
    """Return the text that was escaped."""

    def meant(match: re.Match[str]) -> str:
        letter, byte, code = match.groups()
        if letter:
            return {"n": "\n", "r": "\r", "t": "\t"}.get(letter, letter)
        return chr(int(code, 16)) if code else bytes.fromhex(byte).decode("utf-8", "surrogateescape")

    return ESCAPE.sub(meant, text)


@pytest.mark.slow
@laws
@given(ANY)
def test_escapes_are_unambiguous(text: str) -> None:
    assert unescape(escape(text)) == text


@laws
@given(st.binary())
def test_no_byte_is_lost(data: bytes) -> None:
    assert unescape(escape(data.decode("utf-8", "surrogateescape"))).encode("utf-8", "surrogateescape") == data


def test_a_byte_and_a_character_look_different() -> None:
    assert escape("\udc85") == "\\x85"
    assert escape("\x85") == "\\u0085"
    assert escape("\\x85") == "\\\\x85"


def test_remark_keeps_backslashes() -> None:
    assert remark("holds '\\x1b' \x1b") == "holds '\\x1b' \\x1b"


def test_ascii_column() -> None:
    assert ascii_column(b"a\x00 ~\x7f\xc3\n") == "a. ~..."
    assert ascii_column(b"") == ""
