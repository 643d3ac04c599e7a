"""Markdown on a stream: in colour on a terminal that wants it, as plain text everywhere else."""

from typing import TYPE_CHECKING, ClassVar, TextIO

from .style import wants_color
from .width import screen_width

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown

WIDEST = 100
"""Columns that a paragraph gets at most; longer lines are hard to read."""
STYLES = {
    "markdown.h1": "bold",
    "markdown.h2": "bold underline",
    "markdown.h3": "bold",
    "markdown.h4": "bold",
    "markdown.code": "cyan",
    "markdown.table.header": "bold",
    "markdown.table.border": "dim",
}
"""Of the 16 colours that the user's terminal defines, those that are readable on light and dark."""
UNDERLINES = {"h1": "="}
"""The character below a heading in plain text, if it is not the hyphen."""


def show_markdown(text: str, stream: TextIO) -> None:
    """Write a Markdown document, wrapped to the width of the screen; blocks of code are never wrapped."""
    from rich.console import Console
    from rich.theme import Theme

    color = wants_color(stream)
    console = Console(
        force_terminal=color, color_system="standard" if color else None, no_color=not color, legacy_windows=False,
        theme=Theme(STYLES), width=min(screen_width(), WIDEST),
    )  # fmt: skip
    with console.capture() as capture:
        console.print(_document(text, plain=not color), crop=False)
    stream.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _document(text: str, *, plain: bool) -> "Markdown":
    """Return the document with our headings, blocks and tables; `plain` marks headings and code without colour."""
    from rich.markdown import CodeBlock, Heading, Markdown, TableElement
    from rich.table import Table
    from rich.text import Text

    class LeftHeading(Heading):
        """A heading at the left edge, where rich would center it."""

        def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
            self.text.justify = "left"
            yield self.text
            if plain:
                yield Text(UNDERLINES.get(self.tag, "-") * len(self.text))

    class Block(CodeBlock):
        """A block of code, indented; rich would give it a background and wrap it."""

        def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
            for line in str(self.text).rstrip().splitlines():
                yield Text(
                    f"    {line}", style="bold" if line.startswith("$ ") else "", no_wrap=True, overflow="ignore"
                )

    class OpenTable(TableElement):
        """A table with a line below its header and none around it."""

        def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
            for table in super().__rich_console__(console, options):
                assert isinstance(table, Table)
                table.show_edge = table.pad_edge = False
                yield table

    class Document(Markdown):
        elements: ClassVar = {
            **Markdown.elements, "heading_open": LeftHeading, "fence": Block, "table_open": OpenTable,
        }  # fmt: skip

    document = Document(text, hyperlinks=False)
    if plain:
        for token in document.parsed:
            for part in token.children or ():
                if part.type == "code_inline":
                    part.content = f"`{part.content}`"
    return document
