"""`mqttpub lint`."""

from typing import Any

import click

from ..flags.base import Command, flag, together
from ..flags.types import DIRECTIONS, VERSION
from .decode import CONNECTIONS_HELP, FORMS

reading_flags = together(
    flag(
        "-f", "--file", metavar="PATH", multiple=True, type=click.Path(dir_okay=False, allow_dash=True),
        help="Read a file, text or binary; - is standard input.",
    ),
    flag("--form", type=click.Choice(FORMS), default="auto", show_default=True, help="How the bytes are written."),
    flag(
        "-V", "--mqtt-version", type=VERSION, aliases=("--protocol-version",), metavar="VERSION",
        help="MQTT version: 3.1, 3.1.1 or 5. [default: what CONNECT says; without one, the version that fits better]",
    ),
    flag(
        "--direction", type=click.Choice([*DIRECTIONS, "auto"]), default="auto", show_default=True,
        metavar="client|server|auto",
        help="Which end sent the packets of a text; auto: as their marks say, or the one end that may send them.",
    ),
    flag(
        "--port", type=click.IntRange(1, 65535), multiple=True, metavar="PORT",
        help="Take connections of this TCP port for MQTT, also where no CONNECT was captured.",
    ),
    flag(
        "--key-log", "keylog", aliases=("--keylog", "--tls-keylog"), type=click.Path(exists=True, dir_okay=False),
        metavar="PATH", help="Read TLS with this key log (SSLKEYLOGFILE); needs tshark.",
    ),
    flag("--max-connections", type=click.IntRange(1), metavar="N", help=CONNECTIONS_HELP),
    group="Input",
)  # fmt: skip

choosing_flags = together(
    flag(
        "--select", metavar="IDS", multiple=True,
        help="Only these statements: ids with or without version (MQTT5-3.3.1-2, 3.3.1-2), what they begin with "
        "(MQTT5, 3.3), patterns (*alias*); a comma between several.",
    ),
    flag("--ignore", metavar="IDS", multiple=True, help="All but these statements."),
    flag(
        "--severity", type=click.Choice(["error", "warning", "note"]), default="note", show_default=True,
        help="Only what is at least so severe.",
    ),
    flag("--filter", multiple=True, metavar="TERMS", help="Only packets with these; see decode --help."),
    group="Which findings",
)  # fmt: skip

output_flags = together(
    flag("--explain", is_flag=True, help="Show below each finding what its statement demands."),
    flag("--report", is_flag=True, help="List every statement: broken, kept, or not exercised."),
    flag(
        "--limit", type=click.IntRange(0), metavar="N",
        help="Show N findings of each statement and count the others; 0 shows all. [default: 10, with --json and "
        "--sarif all]",
    ),
    flag("--json", "as_json", is_flag=True, help="Print one JSON record per finding, with --report per statement too."),
    flag("--sarif", is_flag=True, help="Print SARIF 2.1.0, for annotations in CI and editors."),
    flag("--absolute-time", is_flag=True, help="Show times of day in UTC, not seconds since the first packet."),
    flag("--show-secrets", is_flag=True, help="Do not mask passwords and authentication data."),
    flag("--full", is_flag=True, help="Show every byte of a long field."),
    group="Output",
)  # fmt: skip


@click.command(name="lint", cls=Command)
@click.argument("text", nargs=-1)
@reading_flags
@choosing_flags
@output_flags
def command(**given: Any) -> int:
    """Judge captured packets by every statement of the specification that they show.

    TEXT is hex in any common writing, escaped strings, C arrays or base64, several packets in a
    row; or the names of files: pcap and pcapng, plain or compressed, transcripts, text. Without
    TEXT and -f, standard input is read. Packets are judged each by itself and together with the
    others of their connection; what no packet put to the test is called not exercised.

    Exit status: 0 nothing of severity error, 1 something is, 2 something cannot be read.
    """
    from .lint_run import lint

    return lint(given)
