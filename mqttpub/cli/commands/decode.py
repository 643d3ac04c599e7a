"""`mqttpub decode`: its flags, and the request that they make."""

from typing import TYPE_CHECKING, Any

import click

from ..decode.views import VIEWS, View, chosen_view
from ..flags.base import FULL_FLAG, SECRETS_FLAG, Command, FlagValues, flag, together
from ..flags.payload import payload_format, payload_format_flags
from ..flags.reading import (
    ABSOLUTE_FLAG,
    filter_flag,
    filter_of,
    input_request,
    jobs_flag,
    reading_flags,
)

if TYPE_CHECKING:
    from ...view.packet.formatted import PayloadFormat


view_flags = together(
    *(
        flag(
            view.flag,
            help=view.help,
            common=view.common,
            **({"type": view.path, "metavar": "PATH"} if view.path else {"is_flag": True}),
        )
        for view in VIEWS
    ),
    group="Views",
)
filter_flags = together(
    filter_flag(
        "Only packets that match: type=PUBLISH topic=a/+/# payload=text client=ID id=42 qos=1 finding severity=error; "
        "a space means and, a comma or, ! not."
    ),
    flag(
        "--follow", metavar="CLIENT",
        help="Only the connections of this Client Identifier; * stands for any characters.",
    ),
    group="Which packets",
    common=True,
)  # fmt: skip
output_flags = together(
    ABSOLUTE_FLAG,
    flag("--json", "as_json", common=True, is_flag=True, help="Print one JSON record per packet, line or exchange."),
    SECRETS_FLAG,
    FULL_FLAG,
    jobs_flag(
        "Read up to N files at the same time, for --summary, --json and the bytes of packets; what is shown stays the "
        "same."
    ),
    payload_format_flags(
        "--format",
        help="the values are shown with the bytes. [default: JSON and other text are recognised]",
    ),
    group="Output",
)


@click.command(
    name="decode",
    cls=Command,
    examples=(
        "mqttpub decode -V 5 '40 04 64 4a 10 00'",
        "mqttpub decode capture.pcapng --summary --filter 'topic=sensors/# finding'",
        "mqttpub decode capture.pcapng --ladder --follow pub-4",
    ),
)
@click.argument("text", nargs=-1)
@reading_flags(without_connect="both 5 and 3.1.1")
@view_flags
@filter_flags
@output_flags
def command(**given: Any) -> int:
    """Read captured bytes; every field is named and checked.

    TEXT is hex in any common notation, escaped strings, C arrays or base64, several packets in a
    row; or the names of files: pcap and pcapng, plain or compressed, transcripts, text. Without
    TEXT and -f, standard input is read.

    Exit status: 0 no error, 1 a packet has an error in every version shown, 2 unreadable input.
    """
    from ..decode.request import DecodeRequest
    from ..decode.run import decode

    view = chosen_view(given)
    request = DecodeRequest(
        input=input_request(given), view=view, path=given[view.name] if view and view.path else "",
        filter=filter_of(given["filter"], given["follow"]), follow=given["follow"], json=given["as_json"],
        secrets=given["show_secrets"], full=given["full"], absolute=given["absolute_time"],
        payloads=_payloads(given, view), jobs=given["jobs"] or 1,
    )  # fmt: skip
    return decode(request)


def _payloads(given: FlagValues, view: View | None) -> "PayloadFormat | None":
    """Return the format that payloads are read in; raises UsageError."""
    name, read = payload_format(given)
    if read is None:
        return None
    if view:
        raise click.UsageError(f"{view.flag} does not read payloads; --format goes with the dump and its --json")
    from ...payload.formats import FORMATS
    from ...view.packet.formatted import PayloadFormat

    return PayloadFormat(name, FORMATS[name].title, read)
