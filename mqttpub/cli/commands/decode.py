"""`mqttpub decode`."""

from typing import Any

import click

from ..flags.base import flag
from ..flags.types import DIRECTIONS, VERSION

FORMS = ("auto", "hex", "base64", "escaped", "raw")
CONNECTIONS_HELP = (
    "Remember so many TCP connections at once. Of more, the one that was idle longest counts as ended; what it sends "
    "later is read as another connection. [default: 8192]"
)


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
@flag(
    "--port", type=click.IntRange(1, 65535), multiple=True, metavar="PORT",
    help="Take connections of this TCP port for MQTT, also where no CONNECT was captured.",
)  # fmt: skip
@flag(
    "--key-log", "keylog", aliases=("--keylog", "--tls-keylog"), type=click.Path(exists=True, dir_okay=False),
    metavar="PATH", help="Read TLS with this key log (SSLKEYLOGFILE); needs tshark.",
)  # fmt: skip
@flag("--max-connections", type=click.IntRange(1), metavar="N", help=CONNECTIONS_HELP)
@flag("--summary", is_flag=True, help="Show one line per packet.")
@flag("--flows", is_flag=True, help="Show one line per QoS exchange: its packets, times, re-deliveries, outcome.")
@flag("--stats", is_flag=True, help="Show counts, sizes, overhead, acknowledgement times, the rate of DUP per client.")
@flag("--ladder", is_flag=True, help="Draw the sequence diagram.")
@flag("--svg", is_flag=True, help="Write the sequence diagram as SVG.")
@flag("--mermaid", is_flag=True, help="Write the sequence diagram as Mermaid.")
@flag("--html", type=click.Path(), metavar="PATH", help="Write a page that shows every byte, to open in a browser.")
@flag("--parquet", type=click.Path(dir_okay=False), metavar="PATH", help="Write a table, one row per packet.")
@flag(
    "--arrow", type=click.Path(dir_okay=False, allow_dash=True), metavar="PATH",
    help="Write the same as an Arrow stream; - is standard output.",
)  # fmt: skip
@flag("--pdml", is_flag=True, help="Write PDML with tshark's field names.")
@flag("--tshark-json", is_flag=True, help="Write JSON as `tshark -T json -x` does.")
@flag(
    "--filter", multiple=True, metavar="TERMS",
    help="Only packets with these: type=PUBLISH topic=a/+/# payload=text client=ID id=42 qos=1 finding "
    "severity=error; a space is and, a comma or, ! not.",
)  # fmt: skip
@flag("--follow", metavar="CLIENT", help="Only the connections of this Client Identifier; * stands for any characters.")
@flag("--absolute-time", is_flag=True, help="Show times of day in UTC, not seconds since the first packet.")
@flag("--json", "as_json", is_flag=True, help="Print one JSON record per packet, line or exchange.")
@flag("--show-secrets", is_flag=True, help="Do not mask passwords and authentication data.")
@flag("--full", is_flag=True, help="Show every byte of a long field.")
def command(**given: Any) -> int:
    """Read captured bytes, every field named and judged.

    TEXT is hex in any common writing, escaped strings, C arrays or base64, several packets in a
    row; or the names of files: pcap and pcapng, plain or compressed, transcripts, text. Without
    TEXT and -f, standard input is read.

    Exit status: 0 read, 1 something is wrong with a packet, 2 something cannot be read.
    """
    from ..inspect.decode import decode

    return decode(given)
