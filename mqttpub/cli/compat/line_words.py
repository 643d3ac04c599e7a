"""The words that can stand in the lines of other clients, for shell completion."""

from collections.abc import Iterator
from typing import NamedTuple

from .mosquitto.usage import option_rows
from .mqttx.grammar import NONE
from .mqttx.options import OPTIONS

FILES = ("FILE", "DIRECTORY", "OPTIONS_FILE", "PATH", "SOCKET_PATH")
"""Names of values that are paths."""


class LineOption(NamedTuple):
    """An option of another client."""

    names: tuple[str, ...]
    value: str
    """The name of its value in the usage; empty for none."""

    @property
    def takes_path(self) -> bool:
        """Whether its value is a path."""
        return self.value in FILES

    @property
    def choices(self) -> tuple[str, ...]:
        """The values, where the usage lists them."""
        return tuple(self.value.split("/")) if "/" in self.value else ()


class LineWords(NamedTuple):
    """What can follow the names of a client and its command."""

    path: tuple[str, ...]
    words: tuple[str, ...]
    options: tuple[LineOption, ...]


def line_words() -> Iterator[LineWords]:
    """Yield the words of each client, and of each of its commands."""
    for program in ("pub", "sub", "rr"):
        options = tuple(LineOption(tuple(names), value) for names, value in option_rows(program))
        yield LineWords((f"mosquitto_{program}",), (), options)
    yield LineWords(("mqttx",), tuple(OPTIONS), (LineOption(("--help",), ""), LineOption(("--version",), "")))
    for name, rows in OPTIONS.items():
        shown = (LineOption(row.names, "" if row.value == NONE else row.metavar) for row in rows if not row.refusal)
        yield LineWords(("mqttx", name), (), tuple(shown))
