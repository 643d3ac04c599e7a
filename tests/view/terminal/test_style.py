"""Colours, and doing without them."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from mqttpub.codec.tree import Decoded
from mqttpub.view.packet.dump import annotate, plain
from mqttpub.view.terminal.cells import Line
from mqttpub.view.terminal.style import THEME, show, terminal_console, wants_color
from tests.view.samples import CONNACK, CONNECT, judged, laws, of

MARKUP = "[red]not[/red] [link=x]markup[/] :smile: 12.5 'quoted' http://x"


class Stream(io.StringIO):
    """A stream that may be a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def shown(lines: list[Line], *, color: bool | None, terminal: bool = True) -> str:
    """Return what `show` writes."""
    stream = Stream(terminal)
    show(lines, stream, color=color)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("terminal", "environ", "wanted"),
    [
        (True, {}, True),
        (True, {"TERM": "xterm-256color"}, True),
        (True, {"NO_COLOR": ""}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_colour_follows_the_terminal_and_the_environment(terminal: bool, environ: dict[str, str], wanted: bool) -> None:
    assert wants_color(Stream(terminal), environ) is wanted


def test_styles_become_escape_sequences_only_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    line = [("0000", "offset"), ("  ", ""), ("30", "topic"), ("  plain ", ""), ("wrong", "error")]
    assert shown([line], color=True) == "\x1b[2m0000\x1b[0m  \x1b[1;32m30\x1b[0m  plain \x1b[1;31mwrong\x1b[0m\n"
    assert shown([line], color=None) == "0000  30  plain wrong\n"


def test_only_the_sixteen_colours_are_used() -> None:
    text = shown([[("x", style)] for style in THEME], color=True)
    for codes in re.findall(r"\x1b\[([\d;]*)m", text):
        assert {int(code) for code in codes.split(";")} <= {0, 1, 2, 4, *range(31, 37), *range(91, 97)} - {33, 93}


def test_text_is_never_markup() -> None:
    for style in ("topic", "", "bold red", "unknown"):
        text = shown([[(MARKUP, style)]], color=True)
        assert re.sub(r"\x1b\[[\d;]*m", "", text) == MARKUP + "\n"
        assert len(re.findall("\x1b", text)) == (2 if style == "topic" else 0)


def test_long_lines_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert shown([[("word " * 50, "")], []], color=True) == "word " * 50 + "\n\n"


@pytest.mark.slow
@laws
@given(judged())
def test_color_changes_nothing_else(decoded: Decoded) -> None:
    lines = list(annotate(decoded))
    colored = re.sub(r"\x1b\[[\d;]*m", "", shown(lines, color=True))
    assert "\n".join(row.rstrip() for row in colored.split("\n")) == plain(lines) + "\n"
    assert shown(lines, color=False) == plain(lines) + "\n"


def test_a_stream_that_cannot_encode_gets_escapes() -> None:
    for color in (True, False):
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding="ascii")
        show([[("\u4f60 caf\u00e9", "")]], stream, color=color)
        stream.flush()
        assert raw.getvalue() == b"\\u4f60 caf\\xe9\n"


def test_lines_are_written_as_they_come() -> None:
    stream = Stream(False)

    def lines() -> Iterator[Line]:
        yield [("one", "")]
        assert stream.getvalue() == "one\n"

    show(lines(), stream)


@pytest.mark.parametrize("environ", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_lines_need_no_rich(environ: dict[str, str]) -> None:
    script = """
import sys
from mqttpub.codec.decode import decode
from mqttpub.view.packet import dump
from mqttpub.view.packet import record_json as record
from mqttpub.view.terminal import style as terminal
terminal.show(dump.annotate(decode(b"\\xc0\\x00")), sys.stdout)
terminal.show(dump.annotate(decode(b"\\xc0\\x00")), sys.stdout, color=False)
terminal.show(dump.annotate(decode(b"\\xc0\\x00")), sys.stdout, color=True)
print([name for name in ("rich", "json", "datetime", "base64") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **environ}, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n")


def test_every_style_of_a_dump_has_a_colour() -> None:
    for packet in (CONNECT, CONNACK):
        assert {style for line in annotate(of(packet)) for _, style in line} <= {"", *THEME}


@laws
@given(st.lists(st.lists(st.tuples(st.text("ab \u4f60[\\", max_size=3), st.sampled_from(["", "unknown", *THEME])))))
def test_colours_are_those_that_rich_draws(lines: list[Line]) -> None:
    stream = Stream(True)
    console = terminal_console(stream, color=True)
    for line in lines:
        styled = [(text, f"mqttpub.{style}" if THEME.get(style) else "") for text, style in line]
        console.print(Text.assemble(*styled, end=""), soft_wrap=True)
    assert shown(lines, color=True) == stream.getvalue()
