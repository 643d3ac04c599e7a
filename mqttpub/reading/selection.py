"""Which findings are shown: by statement, by severity, and not too many of one kind."""

from collections import Counter
from collections.abc import Iterable, Mapping

from ..codec.tree import Finding
from ..common.errors import UserError
from ..spec.statements import Statement, matches, statements

SEVERITIES = ("error", "warning", "note")
USUAL_LIMIT = 10
"""Findings of one statement that are shown by default."""


class Selection:
    """Picks findings, counts them by severity, and limits how many of one statement are shown.

    `select` and `ignore` are terms that `spec.statements.matches` knows, comma separated; raises UserError for one
    that matches no statement. `severity` is the lowest one that is picked; `limit` is how many findings of one
    statement are shown, None for all of them. `counts` includes the findings that are picked but not shown.
    """

    def __init__(
        self, select: Iterable[str] = (), ignore: Iterable[str] = (), *, severity: str = "note",
        limit: int | None = USUAL_LIMIT,
    ) -> None:  # fmt: skip
        self.limit = limit
        self.counts = dict.fromkeys(SEVERITIES, 0)
        self.left_out: Counter[str] = Counter()
        """The number of findings that were picked but not shown, by statement."""
        self._select = _terms(select, "--select")
        self._ignore = _terms(ignore, "--ignore")
        self._severities = SEVERITIES[: SEVERITIES.index(severity) + 1]
        self._shown: Counter[str] = Counter()
        self._known: dict[str, bool] = {}

    def pick(self, findings: Iterable[Finding]) -> list[Finding]:
        """Count findings and return those to show."""
        return self.limited(self.picked(findings))

    def picked(self, findings: Iterable[Finding]) -> list[Finding]:
        """Count findings and return those that are picked, whether or not they are to be shown."""
        return [each for each in findings if self._picks(each)]

    def limited(self, picked: Iterable[Finding]) -> list[Finding]:
        """Return those of picked findings that are to be shown."""
        return [each for each in picked if self._shows(each)]

    def add_left_out(self, other: "Selection", shown: Mapping[str, int]) -> None:
        """Add what another selection left out of other inputs; `shown` is how many it showed, by severity.

        The findings that it showed are picked here again, as a limit holds for all inputs together.
        """
        for severity, count in other.counts.items():
            self.counts[severity] += count - shown.get(severity, 0)
        self.left_out.update(other.left_out)
        self._shown.update(other.left_out)

    def covers(self, row: Statement) -> bool:
        """Whether findings of a statement are picked."""
        return self._wanted(row.id) and row.severity in self._severities

    def _picks(self, finding: Finding) -> bool:
        picked = finding.severity in self._severities and self._wanted(finding.statement)
        if picked:
            self.counts[finding.severity] += 1
        return picked

    def _shows(self, finding: Finding) -> bool:
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


def _terms(given: Iterable[str], flag: str) -> list[str]:
    terms = [term for text in given for each in text.split(",") if (term := each.strip().strip("[]").casefold())]
    for term in terms:
        if not any(matches(term, row.id) for row in statements()):
            raise UserError(f"{flag}: no statement is called '{term}'")
    return terms
