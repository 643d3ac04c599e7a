"""The verdicts on the statements of one version, from the results of its cases."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...spec.statements import Statement, statement
from ...spec.versions import Direction, Version
from .cases import in_reach, without_case
from .client_cases import ClientCase
from .playing import BROKEN, KEPT, NOT_EXERCISED, CaseResult

UNTESTED = "nothing that the peer did puts it to the test"


class StatementVerdict(NamedTuple):
    """What all cases together say of one statement."""

    statement: Statement
    verdict: str
    """`kept`, `broken` or `not exercised`."""
    why: str
    """Why it is not kept, as a sentence."""
    results: tuple[CaseResult, ...]
    """The cases that say so."""

    @property
    def is_violation(self) -> bool:
        """Whether a statement is broken that says what a peer must do, not what it should or what is left open."""
        return self.verdict == BROKEN and any(_is_error(self.statement, each) for each in self.results)


def _is_error(broken: Statement, result: CaseResult) -> bool:
    """Whether a result says that a statement is broken, and lint does not say that the text leaves it open."""
    if broken.id in result.failed:
        return broken.severity == "error" and not (isinstance(result.case, ClientCase) and result.case.is_advice)
    return any(each.statement == broken.id and each.severity == "error" for each in result.broken)


def verdicts(
    version: Version, results: Iterable[CaseResult], peer: Direction = Direction.SERVER
) -> Iterator[StatementVerdict]:
    """Yield the verdict on each statement that binds the peer and that it can be put to the test on.

    Statements that are broken outside of these come too.
    """
    said = _Said()
    for result in results:
        said.take(result)
    reasons = without_case(version, peer)
    for id in dict.fromkeys([*in_reach(version, peer), *sorted(said.broken)]):
        if id in said.broken:
            yield _verdict(id, BROKEN, said.broken[id])
        elif id in said.kept:
            yield StatementVerdict(statement(id), KEPT, "", _once(said.kept[id]))
        elif id in said.missed:
            yield _verdict(id, NOT_EXERCISED, said.missed[id])
        else:
            yield StatementVerdict(statement(id), NOT_EXERCISED, reasons.get(id, UNTESTED), ())


class _Said:
    """What the results of cases say of each statement, by full id."""

    def __init__(self) -> None:
        self.broken: dict[str, list[tuple[str, CaseResult]]] = {}
        self.kept: dict[str, list[CaseResult]] = {}
        self.missed: dict[str, list[tuple[str, CaseResult]]] = {}

    def take(self, result: CaseResult) -> None:
        """Take the result of a case."""
        for each in result.broken:
            self.broken.setdefault(each.statement, []).append((each.message, result))
        kept, failed = result.kept, result.failed
        for id in result.case.statements:
            if id in kept:
                self.kept.setdefault(id, []).append(result)
            else:
                where = self.broken if id in failed else self.missed
                where.setdefault(id, []).append((result.why, result))
        for id in result.exercised:
            self.kept.setdefault(id, []).append(result)


def _verdict(id: str, verdict: str, found: list[tuple[str, CaseResult]]) -> StatementVerdict:
    return StatementVerdict(statement(id), verdict, found[0][0], _once(result for _, result in found))


def _once(results: Iterable[CaseResult]) -> tuple[CaseResult, ...]:
    return tuple({each.case.name: each for each in results}.values())
