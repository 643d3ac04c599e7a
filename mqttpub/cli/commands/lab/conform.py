"""`mqttpub conform`: its flags, and the request that they make."""

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ...flags.base import SECRETS_FLAG, flag, together
from ...flags.client import ClientCommand
from ...flags.connect import connection_target, profile_flags
from ...flags.connection import CAPTURE_FLAGS, QUIET_FLAG, asked_version, user_flags
from ...flags.payload import SizeType
from ...flags.transport import check, transport_flags
from ...flags.types import NumberType, PathWord

if TYPE_CHECKING:
    from ....spec.versions import Version
    from ...conform.request import ConformRequest

MOST_JOBS = 64
JOBS = 8
WITH_CLIENT = (
    "words", "is_client", "list_cases", "strict", "jobs", "junit", "page", "as_json", "show_secrets", "quiet",
    "capture", "capture_masked", "capture_size", "mqtt_version", "timeout",
)  # fmt: skip
"""Flags that go with --client; all others are about connections to a broker."""
LIMITS = "limits"
"""The word for all limits of a broker."""
LEAST_BYTES, MOST_BYTES = 128, 1 << 28
LONGEST_S = 5.0
"""How long an answer is awaited at most: a case that fails takes as long."""

conform_flags = together(
    flag("--client", "is_client", is_flag=True, common=True,
         help="Try a client: run the command after -- once a case, with {host}, {port} and {cafile} replaced in it."),
    flag("--list", "list_cases", is_flag=True, common=True, help="List the cases, and why a statement has none."),
    flag("--strict", is_flag=True, common=True, help="Count what a broker should do as what it must do."),
    flag("--largest", type=SizeType(), default="1M", show_default=True, metavar="SIZE",
         help="Largest packet that is sent to find the limit, such as 64K or 1.5M."),
    flag("--thorough", is_flag=True, common=True, help="Play also what a broker that others use should be spared."),
    flag(
        "--jobs", type=NumberType(1, MOST_JOBS), metavar="N", common=True,
        help=f"Cases at the same time. [default: {JOBS}; 1 with --capture]",
    ),
    flag("--junit", type=PathWord(dir_okay=False, allow_dash=True), metavar="PATH", common=True,
         help="Write the verdicts as JUnit XML."),
    flag("--page", type=PathWord(dir_okay=False, allow_dash=True), metavar="PATH", common=True,
         help="Write the verdicts as a page."),
    flag("--beside", multiple=True, type=PathWord(exists=True, dir_okay=False), metavar="PATH", common=True,
         help="Put this output of --json on the page. Repeatable."),
    flag("--json", "as_json", is_flag=True, common=True, help="Print JSON Lines, one for each statement."),
    SECRETS_FLAG, QUIET_FLAG, *CAPTURE_FLAGS,
    group="Conformance",
)  # fmt: skip


class ConformCommand(ClientCommand):
    """A command whose arguments may end with the words of another command, after `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words of a client apart, then parse the rest."""
        own, client = args, tuple[str, ...]()
        if "--client" in args and "--" in args:
            at = args.index("--")
            own, client = args[:at], tuple(args[at + 1 :])
        rest = super().parse_args(ctx, own)
        ctx.params["client"] = client
        if ctx.params["is_client"]:
            self._check_flags(ctx)
        return rest

    def _check_flags(self, ctx: click.Context) -> None:
        """Raise UsageError for a flag about connections to a broker."""
        for each in self.params:
            name = each.name or ""
            if name not in WITH_CLIENT and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                flag = next(word for word in each.opts if word.startswith("--"))
                raise click.UsageError(f"--client makes a server of its own, so {flag} does not go with it", ctx)


@click.command(
    name="conform",
    cls=ConformCommand,
    examples=(
        "mqttpub conform -h broker.example.org --mqtt-version 5 3.3 MQTT5-4.3.2-4",
        "mqttpub conform limits --largest 16M",
        "mqttpub conform --json > mosquitto.json",
        "mqttpub conform --page all.html --beside mosquitto.json --beside other.json",
        "mqttpub conform --client -- mosquitto_pub -h {host} -p {port} -t a -m b -q 1",
    ),
)
@click.argument("words", nargs=-1, metavar="[SECTION|STATEMENT|limits]...")
@conform_flags
@user_flags
@transport_flags
@profile_flags
def command(**given: Any) -> int:
    """Find out which statements of the specification a broker keeps, or a client.

    Cases are played against the broker, each with Client Identifiers and topics of its own, and every packet that comes
    back is judged. Each statement is kept, broken, or not exercised. SECTION and STATEMENT select: 3.3, 4.7.1-1,
    MQTT311-3.1.2-24. The word limits, or a name such as topic_bytes, selects the limits of a broker: what it declares,
    beside what it allows.

    With --client, the command after -- is run once a case, against a server that does what the case says.

    Exit status 1: a statement is broken, or less is allowed than declared.
    """
    if given["list_cases"]:
        from ....spec.versions import Direction
        from ...conform.run import list_cases

        peer = Direction.CLIENT if given["is_client"] else Direction.SERVER
        click.echo("\n".join(list_cases(asked_version(given), peer)))
        return 0
    if given["beside"]:
        return _beside(given)
    request = conform_request(given)
    if request.client:
        from ...conform.client import conform_client

        return conform_client(request)
    from ...conform.run import conform

    return conform(request)


def _beside(given: dict[str, Any]) -> int:
    from ...conform.page import write_page
    from ...conform.records import read_verdicts

    if not given["page"]:
        raise click.UsageError("--beside says what stands on the page, so --page is needed too")
    write_page(given["page"], list(map(read_verdicts, given["beside"])))
    return 0


def conform_request(given: dict[str, Any]) -> "ConformRequest":
    """Return the request that the flags make; raises UsageError."""
    from ...conform.request import ConformRequest
    from ...observe.shown import shown

    client = _client(given)
    looking = shown(given, inspect=False)
    if looking.capture and (given["jobs"] or 1) > 1:
        raise click.UsageError("--capture follows one case at a time; --jobs does not go with it")
    target = connection_target(given)
    check(target.transport)
    return ConformRequest(
        target=target, timeout_s=min(given["timeout"], LONGEST_S), version=asked_version(given),
        wanted=_wanted(given["words"], client, asked_version(given)), most_bytes=_largest(given["largest"]),
        jobs=given["jobs"] or (1 if looking.capture else JOBS),
        is_strict=given["strict"], is_thorough=given["thorough"],
        junit=given["junit"] or "", page=given["page"] or "", client=client, shown=looking,
    )  # fmt: skip


def _client(given: dict[str, Any]) -> tuple[str, ...]:
    """Return the words of the command of a client."""
    from shutil import which

    words: tuple[str, ...] = given["client"]
    if not given["is_client"]:
        return ()
    if not words:
        raise click.UsageError("--client needs a command after --, such as: -- mosquitto_pub -h {host} -p {port}")
    if which(words[0]) is None:
        raise click.UsageError(f"there is no program '{words[0]}'")
    if not any("{port}" in word for word in words):
        raise click.UsageError("the command needs {port} in one of its words: it is another one for each case")
    return words


def _wanted(words: tuple[str, ...], client: tuple[str, ...], version: "Version | None") -> frozenset[str]:
    from ....lab.conform.limits import limits_by_name
    from ....spec.statements import find
    from ...conform.run import names_of

    wanted: set[str] = set()
    for word in words:
        names = [name for name in limits_by_name() if word in (name, LIMITS)]
        if names and client:
            raise click.UsageError(f"'{word}' is tried on a broker, so it does not go with --client")
        found = names or [each.id for each in find(word)]
        if not found:
            raise click.UsageError(f"'{word}' is neither a section nor a statement, such as 3.3 or 3.3.1-2, nor limits")
        wanted.update(found)
    if wanted and version and wanted.isdisjoint(names_of(version)):
        raise click.UsageError(f"nothing of what is selected is of MQTT {version.label}")
    return frozenset(wanted)


def _largest(text: str) -> int:
    from ....payload.formats import payload_size

    size = payload_size(text)
    if not LEAST_BYTES <= size <= MOST_BYTES:
        raise click.BadParameter(f"is not in the range {LEAST_BYTES} to {MOST_BYTES} bytes", param_hint="--largest")
    return size
