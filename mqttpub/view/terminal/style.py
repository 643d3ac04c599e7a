"""Lines on a stream: in colour on a terminal that wants it, as plain text everywhere else."""

import os
from collections.abc import Iterable, Iterator, Mapping
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


def show(lines: Iterable[Line], stream: TextIO, *, color: bool | None = None) -> None:
    """Write lines to a stream, each as soon as it comes; `color` None asks the stream."""
    if not (wants_color(stream) if color is None else color):
        show_text(map(text_of, lines), stream)
        return
    encoding = stream.encoding or "utf-8"
    _colored(([(_writable(text, encoding), style) for text, style in line] for line in lines), stream)


def show_text(lines: Iterable[str], stream: TextIO) -> None:
    """Write lines without styles to a stream, each as soon as it comes."""
    encoding, write = stream.encoding or "utf-8", stream.write
    for line in lines:
        # Nearly all lines are ASCII, and a call for each takes as long as the rest.
        write(f"{(line if line.isascii() else _writable(line, encoding)).rstrip()}\n")


def _writable(text: str, encoding: str) -> str:
    """Return text with backslash escapes for characters that the encoding lacks."""
    return text if text.isascii() else text.encode(encoding, "backslashreplace").decode(encoding)


def _colored(lines: Iterable[Line], stream: TextIO) -> None:
    from rich.text import Text

    console = terminal_console(stream, color=True)
    for line in lines:
        text = Text.assemble(*_styled(line), end="")
        console.print(text, soft_wrap=True, end="\n")


def _styled(line: Line) -> Iterator[Segment]:
    """Yield the segments with the theme's names of their styles; rich interprets no markup or emoji in them."""
    for text, style in line:
        yield text, f"mqttpub.{style}" if THEME.get(style) else ""


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
