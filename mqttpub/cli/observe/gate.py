"""What the specification forbids becomes a usage error, and what it advises against a warning on stderr.

Everything that a request makes a program send passes `admit` before the request is made.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from ...lint.gate import Forbidden, check_expiry, check_packet
from ...live.net.target import Target
from ...spec.declare import Packet
from ...spec.versions import Version
from ..flags.transport import check

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


def admit(
    target: Target, packets: Iterable[Packet] = (), *, force: bool | None, ends_session: bool = False
) -> None:  # fmt: skip
    """Judge the CONNECT and the DISCONNECT of a target, and what is sent between them, as `judge` does.

    With `ends_session`, the first DISCONNECT is the last: then only CONNECT can ask for a session that outlives the
    connection. Raises BadParameter, naming the flag, for files and names of TLS that no connection could use.
    """
    for first_or_last in (target.connect, target.disconnect):
        judge(first_or_last, target.version, force=force)
    if ends_session and not force:
        _judge_expiry(target)
    for packet in packets:
        judge(packet, target.version, force=force)
    check(target.transport)


def _judge_expiry(target: Target) -> None:
    try:
        check_expiry(target.connect, target.disconnect, target.version)
    except Forbidden as error:
        raise _usage_error(error, force=False) from None


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
