"""Verdicts as plain data: what JSON Lines hold, and what the page is made of."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...common.errors import UserError
from ...lab.conform.judge import SeenPacket
from ...lab.conform.limits import limits_by_name
from ...lab.conform.playing import BROKEN, KEPT, NOT_EXERCISED, CaseResult
from ...lab.conform.verdicts import StatementVerdict
from ...spec.statements import statement
from ...view.packet.masking import without_secrets

MOST_PACKETS = 40
"""Packets of a case that a record holds, at most."""
AFTER = 10
"""How many of them come after one that breaks the statement, at least, if there are so many."""
VERDICTS = (KEPT, BROKEN, NOT_EXERCISED)
MOST_RECORDS = 20_000
"""Records of a file that is read."""


class PeerVerdicts(NamedTuple):
    """The verdicts on one peer."""

    name: str
    rows: Sequence[Mapping[str, Any]]
    """Records of statements."""
    limits: Sequence[Mapping[str, Any]] = ()
    """Records of limits."""


def record(verdict: StatementVerdict, *, secrets: bool) -> dict[str, Any]:
    """Return the record of a statement; packets come with those that are broken only."""
    known: dict[str, Any] = {
        "event": "statement", "statement": verdict.statement.id, "verdict": verdict.verdict,
    }  # fmt: skip
    if verdict.why:
        known["why"] = verdict.why
    known["cases"] = [result.case.name for result in verdict.results]
    if verdict.verdict == BROKEN:
        shown = _shown(verdict.results[0], verdict.statement.id)
        known["packets"] = [_packet(each, secrets=secrets) for each in shown]
    return known


def limit_record(result: CaseResult) -> dict[str, Any]:
    """Return the record of a limit."""
    known: dict[str, Any] = {
        "event": "limit", "version": result.case.version.label, "limit": result.case.name, "verdict": result.verdict,
    }  # fmt: skip
    if found := result.found:
        known |= {"declared": found.declared, "seen": found.seen}
        known |= {"at_least": True} if found.at_least else {}
        known["agreement"] = str(found.agreement)
    if result.why:
        known["why"] = result.why
    return known


def _shown(result: CaseResult, id: str) -> Sequence[SeenPacket]:
    """Return the packets of a case that a record holds: the last ones, or those about one that breaks the statement."""
    packets = result.packets
    culprit = next((each.packet for each in result.broken if each.statement == id and each.packet), None)
    end = packets.index(culprit) + AFTER if culprit in packets else len(packets)
    return packets[max(0, min(end, len(packets)) - MOST_PACKETS) :][:MOST_PACKETS]


def _packet(seen: SeenPacket, *, secrets: bool) -> dict[str, Any]:
    frame = seen.frame
    data = frame.data if secrets else without_secrets(frame.data, seen.version, frame.direction)
    return {
        "connection": seen.label, "direction": frame.direction.value if frame.direction else None,
        "time": seen.time_s, "hex": data.hex(),
    }  # fmt: skip


def read_verdicts(path: str) -> PeerVerdicts:
    """Return the verdicts that `conform --json` printed to a file, whose name is that of the peer; raises UserError."""
    rows: list[dict[str, Any]] = []
    limits: list[dict[str, Any]] = []
    name = os.path.splitext(os.path.basename(path))[0]
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                row = _parsed(path, number, line)
                if row.get("event") == "statement":
                    rows.append(_checked(path, number, row))
                elif row.get("event") == "limit":
                    limits.append(_checked_limit(path, number, row))
                if len(rows) + len(limits) > MOST_RECORDS:
                    raise UserError(f"{path}: more than {MOST_RECORDS:,} verdicts")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from None
    if not (rows or limits):
        raise UserError(f"{path}: there are no verdicts in it; `conform --json` prints them")
    return PeerVerdicts(name, rows, limits)


def _parsed(path: str, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise UserError(f"{path}: line {number}: not a record of `conform --json`")
    return row


def _checked(path: str, number: int, row: dict[str, Any]) -> dict[str, Any]:
    try:
        statement(row["statement"])
        if row["verdict"] not in VERDICTS:
            raise KeyError(row["verdict"])
    except (KeyError, TypeError):
        raise UserError(f"{path}: line {number}: not a verdict on a statement") from None
    return row


def _checked_limit(path: str, number: int, row: dict[str, Any]) -> dict[str, Any]:
    values = row.get("declared"), row.get("seen")
    named = limits_by_name().get(str(row.get("limit")))
    is_named = named is not None and row.get("version") in named.versions
    if not (is_named and row.get("verdict") in VERDICTS and all(map(_is_value, values))):
        raise UserError(f"{path}: line {number}: not what was found of a limit")
    return row


def _is_value(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    return value is None or isinstance(value, int)
