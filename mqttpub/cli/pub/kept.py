"""What an outbox still holds when a run ends, and the command that sends it."""

import shlex
from typing import TYPE_CHECKING

from ...common.words import counted
from ...live.net.target import Target
from ...live.net.transport import Transport
from ...spec.versions import Version
from ..notes import note, print_json

if TYPE_CHECKING:
    from ...live.publish.outbox import Outbox

RECOVER = "move it away once the others are sent (sqlite3 shows what is left of a damaged message)"
AGAIN = "the same command with the same input continues from there"
"""Another command would forget where the input is to be continued."""


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
