"""The flags of what is read, and how: inputs and filters of `decode` and `lint`."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from .base import F, FlagValues, flag, parameter, together
from .types import DIRECTIONS, MOST, PORT, VERSION, NumberType

if TYPE_CHECKING:
    from pathlib import Path

    from ...reading.input import InputOptions
    from ...traffic.query import PacketFilter

FORMS = ("auto", "hex", "decimal", "octal", "base64", "escaped", "raw", "script")
_OF_CAPTURES = ("--port", "--key-log", "--max-connections")
"""Flags that have no meaning for text."""
MOST_JOBS = 256
"""Processes that read files at the same time."""


class InputRequest(NamedTuple):
    """The inputs that the user named, and how to read them."""

    words: tuple[str, ...]
    """Arguments: bytes in text, or names of files."""
    files: tuple[str, ...]
    """Files given with `-f`; `-` is standard input."""
    options: "InputOptions"
    capture_flags: tuple[str, ...] = ()
    """The given flags that have no meaning for text."""

    @property
    def uses_standard_input(self) -> bool:
        """Whether standard input is read."""
        return "-" in self.files or not (self.words or self.files)


def reading_flags(*, without_connect: str) -> Callable[[F], F]:
    """Return the decorator that adds the flags; `without_connect` ends the help of --mqtt-version."""
    return together(
        flag(
            "-f", "--file", metavar="PATH", multiple=True, type=click.Path(dir_okay=False, allow_dash=True),
            common=True, help="Read a file; - is standard input.",
        ),
        flag(
            "--form", type=click.Choice(FORMS), default="auto", show_default=True,
            help="Notation of the bytes in a text.",
        ),
        flag(
            "-V", "--mqtt-version", common=True, type=VERSION, aliases=("--protocol-version",), metavar="VERSION",
            help=f"MQTT version: 3.1, 3.1.1 or 5. [default: as CONNECT says; without a CONNECT, {without_connect}]",
        ),
        flag(
            "--direction", type=click.Choice([*DIRECTIONS, "auto"]), default="auto", show_default=True,
            metavar="client|server|auto",
            help="Sender of the packets in a text; auto: as marks in the text say, or the only end that may send them.",
        ),
        flag(
            "--port", type=PORT, multiple=True, metavar="PORT",
            help="Read connections on this TCP port, 1 to 65535, as MQTT even if no CONNECT was captured.",
        ),
        flag(
            "--key-log", aliases=("--keylog", "--tls-keylog"), type=click.Path(exists=True, dir_okay=False),
            metavar="PATH", help="Decrypt TLS with this key log (SSLKEYLOGFILE); needs tshark.",
        ),
        flag(
            "--max-connections", type=NumberType(1, MOST), metavar="N",
            help="Track at most N TCP connections at once, 1 or more. Beyond that, the one idle longest counts as "
            "ended, and what it sends later is read as a new connection. [default: 12288]",
        ),
        group="Input",
    )  # fmt: skip


def input_request(given: FlagValues) -> InputRequest:
    """Return what the flags and the argument `text` ask for."""
    from ...reading.input import InputOptions

    options = InputOptions(
        form=given["form"], version=given["mqtt_version"], direction=DIRECTIONS.get(given["direction"]),
        ports=given["port"], keylog=_path_of(given["key_log"]),
        max_connections=given["max_connections"],
    )  # fmt: skip
    of_captures = tuple(flag for flag in _OF_CAPTURES if given[parameter(flag)])
    return InputRequest(given["text"], given["file"], options, of_captures)


def _path_of(name: str | None) -> "Path | None":
    if not name:
        return None
    from pathlib import Path  # loaded on use: it takes 4 ms, and most captures need no keys

    return Path(name)


def filter_flag(help: str) -> Callable[[F], F]:
    """Return the decorator that adds --filter, which may be repeated."""
    return flag("--filter", multiple=True, metavar="TERMS", help=help)


ABSOLUTE_FLAG = flag(
    "--absolute-time", is_flag=True, help="Show times of day in UTC, not seconds since the first packet."
)  # fmt: skip


def jobs_flag(help: str) -> Callable[[F], F]:
    """Return the decorator that adds --jobs."""
    return flag("--jobs", type=NumberType(1, MOST_JOBS), metavar="N", help=f"{help} [default: 1]")


def filter_of(terms: Sequence[str], client: str | None = None) -> "PacketFilter | None":
    """Return the filter that --filter and --follow make together, None for neither; raises UsageError."""
    if not terms and client is None:
        return None
    from ...traffic.query import PacketFilter

    for text in terms:
        try:
            PacketFilter.parse(text)
        except ValueError as error:
            raise click.UsageError(f"--filter: {error}") from None
    quoted = [] if client is None else ['client="{}"'.format(client.replace("\\", "\\\\").replace('"', '\\"'))]
    return PacketFilter.parse(" ".join([*terms, *quoted]))
