"""The outbox of a run: how it is opened, what it still holds at the end, and the command that sends that."""

import shlex
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import click

from ...common.words import counted
from ...live.net.target import Target
from ...live.net.transport import Transport
from ...spec.versions import Version
from ..notes import note, print_json
from .report import RunReport

if TYPE_CHECKING:
    from ...live.publish.outbox import Outbox

RECOVER = "move it away once the others are sent (sqlite3 shows what is left of a damaged message)"
AGAIN = "the same command with the same input continues from there"
"""Another command would forget where the input is to be continued."""


class OutboxRequest(NamedTuple):
    """Which outbox to use, and how."""

    path: str
    wait_s: float
    """How many seconds to wait for another program that uses it."""
    renews: bool = False
    """Whether to send again what an earlier run left in doubt."""
    is_client_id_chosen: bool = False
    """Whether the user gave the Client Identifier, which is otherwise that of the outbox."""
    json: bool = False


def opened(
    request: OutboxRequest, target: Target, report: RunReport, stack: ExitStack
) -> tuple["Outbox", Target]:  # fmt: skip
    """Return the outbox, which the stack closes, and the target with its Client Identifier; raises UsageError."""
    from ...live.publish.outbox import Outbox, OutboxError

    try:
        outbox = stack.enter_context(Outbox(request.path, wait_s=request.wait_s, remark=report.warn))
        client_id = outbox.client_id
        if client_id is not None and not request.is_client_id_chosen:
            target = target.changed(client_id=client_id)
        outbox.claim(target.connect.client_id, target.version)
        if request.renews:
            outbox.renew_doubtful()
    except OutboxError as error:
        raise click.UsageError(f"--outbox: {error}") from None
    report.damaged(request.path, outbox.damaged)
    # However the run ends, what is kept is not to be given to the program a second time.
    stack.callback(report_kept, outbox, target, json=request.json)
    return outbox, target


def report_kept(outbox: "Outbox", target: Target, *, json: bool) -> None:
    """Say how many messages stay in an outbox and what sends them; nothing where it is empty."""
    waiting, doubtful = outbox.waiting()
    damaged = len(outbox.damaged)
    if not (waiting or doubtful or damaged):
        return
    command = None if outbox.has_place else _command(outbox.path, target)
    if json:
        print_json({
            "event": "outbox", "path": outbox.path, "kept": waiting, "in_doubt": doubtful, "damaged": damaged,
            "command": command,
        })  # fmt: skip
    where = f"kept in the outbox '{outbox.path}'"
    flags = "" if _is_plain(target) else ", with the other flags of the connection"
    if waiting:
        how = f"this sends what it holds{flags}: {command}" if command else AGAIN
        note(f"{counted(waiting, 'message is', 'messages are')} {where}; {how}")
    if damaged:
        note(f"{counted(damaged, 'damaged message is', 'damaged messages are')} {where}; {RECOVER}")
    if doubtful:
        again = f"this sends them again{flags}: {command} --resend-doubtful"
        how = again if command else f"{AGAIN}, and with --resend-doubtful sends them again"
        note(f"{counted(doubtful, 'message')} in doubt {where}; {how}")


def _command(path: str, target: Target) -> str:
    """Return the command that sends what an outbox holds; it takes the Client Identifier from there."""
    words = ["mqttpub", "pub"]
    if target.transport.kind != "unix":
        words += ["-h", target.host, "-p", str(target.port)]
    if target.version != Version.V5:
        words += ["-V", target.version.label]
    return shlex.join([*words, "--outbox", path])


def _is_plain(target: Target) -> bool:
    """Whether host, port and version are all that the connection needs; a user name and secrets are not repeated."""
    connect = target.connect
    return target.transport == Transport() and connect.username is None and connect.password is None
