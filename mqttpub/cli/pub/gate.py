"""What the specification forbids is refused before anything is sent; what it advises against is told."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ...codec.encode import encode
from ...lint.packet.fast import sound
from ...live.net.target import Target
from ...spec.constraints import Law
from ...spec.declare import Packet, Property
from ...spec.packets import Publish
from ...spec.properties import BY_KEY
from ...spec.versions import Direction, Version

if TYPE_CHECKING:
    from ...codec.tree import Finding

TOLD = "mqttpub.told"
"""Where a context keeps the statements that were told about."""

SESSION_EXPIRY = BY_KEY["session_expiry_interval"].id
EXPIRY = Law("3.14.2.2.2/expiry")

Warn = Callable[[str], None]


def warn(text: str) -> None:
    """Say one sentence on stderr."""
    from ..notes import note

    note(text)


def judge(packet: Packet, version: Version, *, force: bool | None, warn: Warn = warn) -> None:
    """Raise UsageError for what cannot be written, and unless forced for what the specification forbids.

    `force` is None where a command has no such flag. `warn` is called with what the specification
    advises against, once in a run for each statement.
    """
    if isinstance(packet, Publish) and packet.qos and packet.packet_id is None:
        # The identifier is given when the message is sent; any serves to judge the rest.
        packet = packet.replace(packet_id=1)
    try:
        data = encode(packet, version)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if force or sound(packet, version, Direction.CLIENT):
        return
    from ...codec.decode import decode
    from ...lint.packet.check import lint

    findings = lint(decode(data, version, direction=Direction.CLIENT), Direction.CLIENT)
    for finding in findings:
        if finding.severity == "error":
            raise _forbidden(finding.message, finding.statement, force)
    for finding in findings:
        if _is_new(finding):
            warn(f"{finding.message} ({finding.statement})")


def judge_expiry(target: Target, *, force: bool) -> None:
    """Raise UsageError, unless forced, for a session that begins to outlive the connection only at its end."""
    asked, last = (_expiry(each.properties) for each in (target.connect, target.disconnect))
    if last and not asked and not force:
        message = f"Session Expiry Interval is {last} in DISCONNECT, but 0 in CONNECT"
        raise _forbidden(message, EXPIRY.id(target.version), force)


def _expiry(properties: tuple[Property, ...] | None) -> int:
    return next((value for id, value in properties or () if id == SESSION_EXPIRY), 0)


def _forbidden(message: str, statement: str, force: bool | None) -> click.UsageError:
    hint = "" if force is None else "; --force sends it anyway"
    return click.UsageError(f"{message} ({statement}){hint}")


def _is_new(finding: "Finding") -> bool:
    """Whether nothing was told about the statement of a finding in this run."""
    context = click.get_current_context(silent=True)
    told: set[str] = context.meta.setdefault(TOLD, set()) if context else set()
    new = finding.statement not in told
    told.add(finding.statement)
    return new
