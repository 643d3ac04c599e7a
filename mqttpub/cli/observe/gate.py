"""What the specification forbids becomes a usage error, and what it advises against a warning on stderr."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ...lint.gate import Forbidden, check_expiry, check_packet
from ...live.net.target import Target
from ...spec.declare import Packet
from ...spec.versions import Version

if TYPE_CHECKING:
    from ...codec.tree import Finding

WARNED = "mqttpub.warned"
"""Key of a click context under which the statements with a warning are kept."""

Warn = Callable[[str], None]


def warn(text: str) -> None:
    """Print one sentence on stderr."""
    from ..notes import note

    note(text)


def judge(packet: Packet, version: Version, *, force: bool | None, warn: Warn = warn) -> None:
    """Raise UsageError for a packet that cannot be encoded and, unless forced, for one that is forbidden.

    `force` is None where a command has no such flag. `warn` is called for what the specification advises against,
    once per run for each statement.
    """
    try:
        findings = check_packet(packet, version, forced=bool(force))
    except Forbidden as error:
        raise _usage_error(error, force) from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    for finding in findings:
        if _is_new(finding):
            warn(f"{finding.message} ({finding.statement})")


def judge_connection(target: Target, *, force: bool | None) -> None:
    """Judge the CONNECT and the DISCONNECT of a target, as `judge` does."""
    for packet in (target.connect, target.disconnect):
        judge(packet, target.version, force=force)


def judge_expiry(target: Target, *, force: bool) -> None:
    """Raise UsageError, unless forced, if only DISCONNECT asks for a session that outlives the connection."""
    if force:
        return
    try:
        check_expiry(target.connect, target.disconnect, target.version)
    except Forbidden as error:
        raise _usage_error(error, force) from None


def _usage_error(error: Forbidden, force: bool | None) -> click.UsageError:
    hint = "" if force is None else "; --force sends it anyway"
    return click.UsageError(f"{error}{hint}")


def _is_new(finding: "Finding") -> bool:
    """Whether this run has not yet warned about the statement of a finding."""
    context = click.get_current_context(silent=True)
    warned: set[str] = context.meta.setdefault(WARNED, set()) if context else set()
    new = finding.statement not in warned
    warned.add(finding.statement)
    return new
