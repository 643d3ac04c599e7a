"""Lines on a stream: in colour on a terminal that wants it, as plain text everywhere else."""

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TextIO

from .cells import Line, Segment, text_of

if TYPE_CHECKING:
    from rich.console import Console

THEME = {
    "type": "bold",
    "flag": "cyan",
    "length": "bright_blue",
    "id": "bold magenta",
    "topic": "bold green",
    "property": "magenta",
    "reason": "bold cyan",
    "number": "cyan",
    "text": "green",
    "payload": "green",
    "secret": "bold",
    "reserved": "dim",
    "gap": "underline",
    "offset": "dim",
    "ascii": "dim",
    "label": "",
    "error": "bold red",
    "warning": "bold magenta",
    "note": "bold blue",
    "dim": "dim",
    "mark": "bold blue",
    "heading": "bold underline",
}
"""Of the 16 colours that the user's terminal defines, those that are readable on light and dark."""


def wants_color(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream gets colour: if the user asks for it, or on a terminal unless the user refuses it.

    See no-color.org, force-color.org and bixense.com/clicolors for the variables.
    """
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if environ.get("TERM") == "dumb" or environ.get("CLICOLOR") == "0":
        return False
    return stream.isatty()


def has_box_characters() -> bool:
    """Whether the encoding of standard output has the characters of diagrams."""
    try:
        "│─▶◀┄×".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


class Palette:
    """Turns styled text into the text of a stream: as it is, or with the escape sequences of its styles."""

    def __init__(self, *, color: bool) -> None:
        self.color = color
        self._codes = {style: f"\x1b[{_codes(look)}m" for style, look in THEME.items() if look} if color else {}

    def text(self, line: Iterable[Segment]) -> str:
        """Return a line as text; without colours it has no spaces at its end."""
        if not self._codes:
            return text_of(line).rstrip()
        return "".join([self._painted(text, style) for text, style in line])

    def _painted(self, text: str, style: str) -> str:
        code = self._codes.get(style)
        return f"{code}{text}\x1b[0m" if code and text else text


def palette_of(stream: TextIO) -> Palette:
    """Return the palette for a stream."""
    return Palette(color=wants_color(stream))


def _codes(look: str) -> str:
    """Return the parameters of the escape sequence (ECMA-48: 8.3.117) for the words of a style in THEME."""
    return ";".join(_PARAMETERS[word] for word in look.split())


_COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_PARAMETERS = {
    "bold": "1", "dim": "2", "underline": "4",
    **{color: f"{code}" for code, color in enumerate(_COLORS, 30)},
    **{f"bright_{color}": f"{code}" for code, color in enumerate(_COLORS, 90)},
}  # fmt: skip


def show(lines: Iterable[Line], stream: TextIO, *, color: bool | None = None) -> None:
    """Write each line to a stream before the next is asked for; `color` None asks the stream."""
    palette = palette_of(stream) if color is None else Palette(color=color)
    if palette.color:
        for line in lines:
            write(f"{palette.text(line)}\n", stream)
    else:
        show_text(map(text_of, lines), stream)


def show_text(lines: Iterable[str], stream: TextIO) -> None:
    """Write each line, without styles, to a stream before the next is asked for."""
    encoding, put = stream.encoding or "utf-8", stream.write
    for line in lines:
        # Nearly all lines are ASCII, and a call for each takes as long as the rest.
        put(f"{(line if line.isascii() else _writable(line, encoding)).rstrip()}\n")


def write(text: str, stream: TextIO) -> None:
    """Write text to a stream, with backslash escapes for characters that its encoding lacks."""
    stream.write(text if text.isascii() else _writable(text, stream.encoding or "utf-8"))


def _writable(text: str, encoding: str) -> str:
    """Return text with backslash escapes for characters that the encoding lacks."""
    return text if text.isascii() else text.encode(encoding, "backslashreplace").decode(encoding)


def terminal_console(stream: TextIO, *, color: bool | None = None) -> "Console":
    """Return a rich console that draws on a terminal and prints text as it is; `color` None asks the stream."""
    from rich.console import Console
    from rich.theme import Theme

    color = wants_color(stream) if color is None else color
    theme = Theme({f"mqttpub.{name}": style for name, style in THEME.items() if style})
    return Console(
        file=stream, force_terminal=True, color_system="standard" if color else None, no_color=not color, theme=theme,
        markup=False, emoji=False, highlight=False, legacy_windows=False,
    )  # fmt: skip
