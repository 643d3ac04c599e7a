"""The one word that says whether a packet is right."""

from collections.abc import Sequence
from typing import Any

from ...codec.tree import Finding

OK = "ok"
_WEIGHTS = {"error": 0, "warning": 1, "note": 2}


def worst(findings: Sequence[Finding]) -> Finding | None:
    """Return the first of the most severe findings."""
    return min(findings, key=lambda each: _WEIGHTS.get(each.severity, 3), default=None)


def verdict(finding: Finding | None) -> str:
    """Return `ok`, or the statement that is broken; where none is, the severity of what was found."""
    return OK if finding is None else finding.statement or finding.severity


def finding_record(finding: Finding) -> dict[str, Any]:
    """Return a finding as values that JSON has."""
    return {
        "severity": finding.severity,
        "path": finding.path,
        "offset": finding.span.start,
        "length": finding.span.length,
        "mask": finding.mask,
        "message": finding.message,
        "statement": finding.statement,
    }
