"""`mqttpub lint`: its flags, and the request that they make."""

from typing import Any

import click

from ..flags.base import FULL_FLAG, SECRETS_FLAG, Command, flag, together
from ..flags.reading import ABSOLUTE_FLAG, filter_flag, filter_of, input_request, jobs_flag, reading_flags
from ..flags.types import MOST, NumberType

selection_flags = together(
    flag(
        "--select", common=True, metavar="IDS", multiple=True,
        help="Only these statements: ids with or without version (MQTT5-3.3.1-2, 3.3.1-2), prefixes of ids "
        "(MQTT5, 3.3), patterns (*alias*); separate several with commas.",
    ),
    flag("--ignore", metavar="IDS", multiple=True, help="All statements but these."),
    flag(
        "--severity", common=True, type=click.Choice(["error", "warning", "note"]), default="note", show_default=True,
        help="Minimum severity to report.",
    ),
    filter_flag("Only findings that match, by themselves and by their packets; see decode --help."),
    group="Which findings",
)  # fmt: skip
output_flags = together(
    flag("--explain", common=True, is_flag=True, help="Show below each finding what its statement demands."),
    flag("--report", common=True, is_flag=True, help="List every statement: broken, kept, or not exercised."),
    flag(
        "--by", common=True, metavar="NOUN", type=click.Choice(["client", "statement", "topic"]),
        help="End with each client, statement or topic that has findings, most first. [default: client, if there are "
        "several connections]",
    ),
    flag(
        "--limit", type=NumberType(0, MOST), metavar="N",
        help="Show N findings of each statement and count the others; 0 shows all. [default: 10, with --json and "
        "--sarif all]",
    ),
    flag(
        "--json", "as_json", common=True, is_flag=True,
        help="Print one JSON record per finding, with --report per statement too.",
    ),
    flag("--sarif", common=True, is_flag=True, help="Print SARIF 2.1.0, for annotations in CI and editors."),
    ABSOLUTE_FLAG,
    SECRETS_FLAG,
    FULL_FLAG,
    jobs_flag("Check up to N files at the same time; what is shown stays the same."),
    group="Output",
)  # fmt: skip


@click.command(
    name="lint",
    cls=Command,
    examples=(
        "mqttpub lint capture.pcapng",
        "mqttpub lint capture.pcapng --severity error --explain",
        "mqttpub lint captures/*.pcap --sarif > mqtt.sarif",
    ),
)
@click.argument("text", nargs=-1)
@reading_flags(without_connect="the version that fits better")
@selection_flags
@output_flags
def command(**given: Any) -> int:
    """Check captured packets against every statement of the specification that they exercise.

    TEXT is hex in any common notation, escaped strings, C arrays or base64, several packets in a
    row; or the names of files: pcap and pcapng, plain or compressed, transcripts, text. Without
    TEXT and -f, standard input is read. Packets are checked one by one and together with the
    others of their connection. The last lines count statements: broken at least once, kept, or
    not exercised, because no packet put them to the test. `mqttpub help lint` says which
    statements are checked.

    Exit status: 0 no finding of severity error, 1 at least one, 2 an input cannot be read.
    """
    if given["sarif"] and (given["as_json"] or given["report"]):
        raise click.UsageError(f"--sarif and {'--json' if given['as_json'] else '--report'} do not go together")
    from ...reading.selection import USUAL_LIMIT
    from ..lint.findings import OutputOptions
    from ..lint.request import LintRequest
    from ..lint.run import lint

    limit = given["limit"]
    if limit is None:
        limit = 0 if given["as_json"] or given["sarif"] else USUAL_LIMIT
    request = LintRequest(
        input=input_request(given), select=given["select"], ignore=given["ignore"], severity=given["severity"],
        filter=filter_of(given["filter"]), limit=limit or None, by=given["by"], report=given["report"],
        output=OutputOptions(
            json=given["as_json"], sarif=given["sarif"], secrets=given["show_secrets"], full=given["full"],
            absolute=given["absolute_time"], explain=given["explain"], limited=bool(limit),
        ),
        jobs=given["jobs"] or 1,
    )  # fmt: skip
    return lint(request)
