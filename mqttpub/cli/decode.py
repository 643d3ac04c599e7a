"""`mqttpub decode`."""

from typing import Any

import click

from .flags import flag
from .value_types import DIRECTIONS, VERSION

FORMS = ("auto", "hex", "base64", "escaped", "raw")


@click.command(name="decode", context_settings={"help_option_names": ["--help"], "max_content_width": 100})
@click.argument("text", nargs=-1)
@flag(
    "-f", "--file", metavar="PATH", multiple=True, type=click.Path(dir_okay=False, allow_dash=True),
    help="Read a file, text or binary; - is standard input.",
)  # fmt: skip
@flag("--form", type=click.Choice(FORMS), default="auto", show_default=True, help="How the bytes are written.")
@flag(
    "-V", "--mqtt-version", type=VERSION, aliases=("--protocol-version",), metavar="VERSION",
    help="MQTT version: 3.1, 3.1.1 or 5. [default: what CONNECT says; without one, 5 and 3.1.1 both]",
)  # fmt: skip
@flag(
    "--direction", type=click.Choice(list(DIRECTIONS)), metavar="client|server",
    help="Which end sent the packets, for the rules that depend on it.",
)  # fmt: skip
@flag("--json", "as_json", is_flag=True, help="Print one JSON record per packet.")
@flag("--show-secrets", is_flag=True, help="Do not mask passwords and authentication data.")
@flag("--full", is_flag=True, help="Show every byte of a long field.")
def command(**given: Any) -> int:
    """Read captured bytes, every field named and judged.

    TEXT is hex in any common writing, escaped strings, C arrays or base64, several packets in a
    row; or the name of a file. Without TEXT and -f, standard input is read.

    Exit status: 0 read, 1 something is wrong with a packet, 2 the text cannot be read.
    """
    from .decoding import Decoding

    return Decoding(given).run()
