"""The verdicts of `conform` as a file of JUnit XML: a test for each statement."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...common.files import replacing
from ...lab.conform.playing import BROKEN, NOT_EXERCISED, CaseResult
from ...lab.conform.verdicts import StatementVerdict
from ...view.export.junit import Case, junit
from ...view.terminal.cells import text_of
from .request import ConformRequest
from .screen import failure

WIDTH = 100
"""Columns of the diagrams in the file."""


@contextmanager
def results(
    request: ConformRequest, found: Sequence[StatementVerdict], limits: Sequence[CaseResult]
) -> Iterator[None]:  # fmt: skip
    """Write the file that a request asks for when the run ends, however it ends; `found` and `limits` grow meanwhile.

    The file is opened before anything is played. Raises UserError for a file that cannot be made.
    """
    if not request.junit:
        yield
        return
    broke: BaseException | None = None
    with replacing(request.junit) as out:
        try:
            yield
        except BaseException as error:
            broke = error
        cases = [_case(each, request) for each in found]
        cases += [_limit(each, request) for each in limits]
        if broke:
            cases.append(Case("conform", "the run", 0, error=str(broke) or type(broke).__name__))
        out.writelines(f"{line}\n" for line in junit("mqttpub conform", cases))
    if broke:
        raise broke


def _case(verdict: StatementVerdict, request: ConformRequest) -> Case:
    suite = f"MQTT {verdict.statement.version} {verdict.statement.section}"
    return _of_verdict(suite, verdict.statement.id, verdict.verdict, verdict.why, verdict.results, request)


def _limit(result: CaseResult, request: ConformRequest) -> Case:
    suite = f"MQTT {result.case.version.label} limits"
    return _of_verdict(suite, result.case.name, result.verdict, result.why, (result,), request)


def _of_verdict(
    suite: str, name: str, verdict: str, why: str, results: Sequence[CaseResult], request: ConformRequest
) -> Case:
    seconds = sum(result.seconds for result in results[:1])
    if verdict == NOT_EXERCISED:
        return Case(suite, name, seconds, skipped=why)
    if verdict != BROKEN:
        return Case(suite, name, seconds)
    lines = failure(results[0], WIDTH, ascii=False, secrets=request.shown.secrets)
    return Case(suite, name, seconds, why, "\n".join(map(text_of, lines)))
