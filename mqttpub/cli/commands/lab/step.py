"""`mqttpub step`: its flags, and the request that they make."""

from typing import TYPE_CHECKING, Any

import click

from ....common.standard_input import is_interactive
from ...flags.base import flag, together
from ...flags.client import ClientCommand
from ...flags.connect import connection_target, profile_flags, scripted_session_flags
from ...flags.connection import asked_version, output_flags
from ...flags.transport import check
from ...flags.types import NumberType, PathWord

if TYPE_CHECKING:
    from ...step.request import StepRequest

MOST_JOBS = 64

play_flags = together(
    flag(
        "--list", "list_scripts", is_flag=True, common=True,
        help="List the ready scripts, or print those that are named.",
    ),
    flag(
        "--jobs", type=NumberType(1, MOST_JOBS), default=1, show_default=True, metavar="N", common=True,
        help="Play this many scripts at the same time.",
    ),
    flag(
        "--junit", type=PathWord(dir_okay=False, allow_dash=True), metavar="PATH", common=True,
        help="Write the results as JUnit XML.",
    ),
    group="Scripts",
)  # fmt: skip


@click.command(
    name="step",
    cls=ClientCommand,
    examples=(
        "mqttpub step --list",
        "mqttpub step --list qos2 > my-conversation.mqtt",
        "mqttpub step -h broker.example.org qos2 will-on-a-cut",
        "mqttpub step --inspect my-conversation.mqtt",
        "mqttpub step --jobs 4 --junit results.xml tests/*.mqtt",
    ),
)
@click.argument("scripts", nargs=-1, metavar="[SCRIPT]...")
@play_flags
@scripted_session_flags
@output_flags
@profile_flags
def command(**given: Any) -> int:
    """Play scripts against a broker, packet by packet, and check what it answers.

    SCRIPT is a file, - for standard input, or the name of a ready script. `mqttpub help script` explains the notation.
    Without SCRIPT, on a terminal, you drive a conversation yourself, packet by packet.

    The version of MQTT is the first that the script names. -V asks for another of those that it names, and holds where
    it names none.

    Exit status 1: the broker did otherwise than a script says.
    """
    if given["list_scripts"]:
        _list(given["scripts"])
        return 0
    from ...step.run import drive, step

    if not given["scripts"] and is_interactive():
        return drive(step_request(given))
    return step(step_request(given))


def _list(names: tuple[str, ...]) -> None:
    from ...step.scripts import lines_of, ready

    if names:
        # At once: what reads it from a pipe knows a script by more than its comment.
        click.echo("\n".join(line for name in names for line in lines_of(name)))
        return
    found = ready()
    width = max(map(len, found))
    for name, title in found.items():
        click.echo(f"{name:<{width}}  {title}")


def step_request(given: dict[str, Any]) -> "StepRequest":
    """Return the request that the flags make; raises UsageError."""
    from ...observe.shown import shown
    from ...step.request import StepRequest
    from ...step.scripts import check_standard_input, opened

    if not (given["scripts"] or is_interactive()):
        raise click.UsageError("give a script: a file, - for standard input, or a name that --list shows")
    check_standard_input(given["scripts"])
    looking = shown(given)
    if given["jobs"] > 1 and (looking.inspect or looking.lint or looking.capture):
        name = "--inspect" if looking.inspect else "--lint" if looking.lint else "--capture"
        raise click.UsageError(f"{name} follows one script at a time; --jobs does not go with it")
    target = connection_target(given)
    check(target.transport)
    return StepRequest(
        scripts=tuple(map(opened, given["scripts"])), target=target, timeout_s=given["timeout"],
        version=asked_version(given), is_client_id_chosen=bool(given["client_id"] or given["id_prefix"]),
        jobs=given["jobs"], junit=given["junit"] or "", shown=looking,
    )  # fmt: skip
