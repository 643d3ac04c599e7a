"""The verdict on a packet in one word."""

from collections.abc import Sequence
from typing import Any

from ...codec.tree import Finding

OK = "ok"
_WEIGHTS = {"error": 0, "warning": 1, "note": 2}


def worst(findings: Sequence[Finding]) -> Finding | None:
    """Return the first of the most severe findings."""
    return min(findings, key=lambda each: _WEIGHTS.get(each.severity, 3), default=None)


def verdict(finding: Finding | None) -> str:
    """Return `ok`, or the statement of the worst finding, or its severity if it cites no statement."""
    return OK if finding is None else finding.statement or finding.severity


def finding_record(finding: Finding) -> dict[str, Any]:
    """Return a finding as a JSON object."""
    return {
        "severity": finding.severity,
        "path": finding.path,
        "offset": finding.span.start,
        "length": finding.span.length,
        "mask": finding.mask,
        "message": finding.message,
        "statement": finding.statement,
        "at_fault": finding.at_fault.value if finding.at_fault else None,
    }
