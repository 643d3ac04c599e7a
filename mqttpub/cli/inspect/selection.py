"""Which findings are shown: by statement, by severity, and not too many of one kind."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import click

from ...codec.tree import Finding
from ...spec.statements import Statement, matches, statements

SEVERITIES = ("error", "warning", "note")
SOME = 10
"""Findings of one statement that are shown unless more are asked for."""


class Selection:
    """Picks findings and counts them.

    `limit` is how many of one statement are shown; None for all. `errors` and the like in `counts`
    are of those that were picked, whether shown or not.
    """

    def __init__(
        self, select: Iterable[str] = (), ignore: Iterable[str] = (), *, severity: str = "note",
        limit: int | None = SOME,
    ) -> None:  # fmt: skip
        self.limit = limit
        self.counts = dict.fromkeys(SEVERITIES, 0)
        self.left_out: Counter[str] = Counter()
        """How many findings of a statement were picked, but not shown."""
        self._select = _terms(select, "--select")
        self._ignore = _terms(ignore, "--ignore")
        self._severities = SEVERITIES[: SEVERITIES.index(severity) + 1]
        self._shown: Counter[str] = Counter()
        self._known: dict[str, bool] = {}

    def pick(self, findings: Iterable[Finding]) -> list[Finding]:
        """Count findings and return those to show."""
        return [each for each in findings if self._takes(each) and self._room(each)]

    def covers(self, row: Statement) -> bool:
        """Whether findings of a statement are picked."""
        return self._wanted(row.id) and row.severity in self._severities

    def _takes(self, finding: Finding) -> bool:
        taken = finding.severity in self._severities and self._wanted(finding.statement)
        if taken:
            self.counts[finding.severity] += 1
        return taken

    def _room(self, finding: Finding) -> bool:
        id = finding.statement
        self._shown[id] += 1
        if self.limit is None or self._shown[id] <= self.limit:
            return True
        self.left_out[id] += 1
        return False

    def _wanted(self, id: str) -> bool:
        known = self._known.get(id)
        if known is None:
            selected = not self._select or any(matches(term, id) for term in self._select)
            known = self._known[id] = selected and not any(matches(term, id) for term in self._ignore)
        return known


def selection_of(given: dict[str, Any]) -> Selection:
    """Return the Selection that flags make; raises UsageError for one that no statement can match."""
    limit = given["limit"]
    if limit is None:
        limit = 0 if given["as_json"] or given["sarif"] else SOME
    return Selection(given["select"], given["ignore"], severity=given["severity"], limit=limit or None)


def _terms(given: Iterable[str], flag: str) -> list[str]:
    terms = [term for text in given for each in text.split(",") if (term := each.strip().strip("[]").casefold())]
    for term in terms:
        if not any(matches(term, row.id) for row in statements()):
            raise click.BadParameter(f"no statement is called '{term}'", param_hint=flag)
    return terms
