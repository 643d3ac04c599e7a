"""Asks the questions: those of a summary, with another run to compare, and what only the page shows."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..spark.pipeline.manifest import Manifest
from .engines import QueryEngine
from .engines.tables import has
from .question import Answers, Question, ReportTables, Stage, together
from .questions import QUESTIONS

OnShare = Callable[[int, int], None]
"""Is called with how many questions are answered, and how many there are."""


def unheard(done: int, total: int) -> None:
    """Ignore how many questions are answered."""


def summary(
    engine: QueryEngine, folder: str | Path, against: str | Path | None = None, *, thorough: bool = True,
    on_share: OnShare = unheard,
) -> Answers:  # fmt: skip
    """Return the answers for a terminal on the tables in a folder, compared with those in `against` if that is given.

    Only if `thorough` are the questions asked that take as long again. Raises OutputRefused, and the engine's errors.
    """
    folders = [folder] if against is None else [against, folder]
    # The question that looks into payloads is among the last, and takes longest: others are answered meanwhile.
    asked = [[each for each in reversed(QUESTIONS) if each.stage in _stages(place, thorough)] for place in folders]
    compared = [each for each in QUESTIONS if each.stage is Stage.COMPARED] if against is not None else []
    share = _Share(on_share, sum(map(len, asked)) + len(compared))
    nothing = Answers(dict.fromkeys(QUESTIONS))
    tables: ReportTables | None = None
    for place, questions in zip(folders, asked, strict=True):
        before, tables = tables, ReportTables(engine, place, answers=nothing)
        tables = tables.knowing(_answered(tables, {each: each.ask for each in questions}, share), other=before)
    assert tables, "there is a folder"
    return _answered(tables, {each: each.ask for each in compared}, share)


def details(engine: QueryEngine, folder: str | Path, known: Answers, on_share: OnShare = unheard) -> Answers:
    """Return all answers for a page: the known ones of a summary, with what only the page shows."""
    tables = ReportTables(engine, folder, answers=known)
    page = {each: each.ask for each in QUESTIONS if each.stage is Stage.PAGE}
    more = {each: partial(_completed, each) for each in QUESTIONS if each.complete and known.get(each) is not None}
    return _answered(tables, {**page, **more}, _Share(on_share, len(page) + len(more)))


class _Share:
    """Counts the questions that are answered."""

    def __init__(self, on_share: OnShare, total: int) -> None:
        self._on_share = on_share
        self._done, self._total = 0, total
        on_share(0, total)

    def more(self) -> None:
        """Count one more."""
        self._done += 1
        self._on_share(self._done, self._total)


def _completed(question: Question[Any], tables: ReportTables) -> Any:
    """Return the answer to a question with what only the page shows."""
    assert question.complete
    return question.complete(tables, tables.answers[question])


def _stages(folder: str | Path, thorough: bool) -> set[Stage]:
    """Return the stages of a summary whose questions the tables of a folder can answer."""
    checked = has(folder, "findings") or any(run.get("lint") for run in Manifest.in_folder(folder).runs)
    return {Stage.ALWAYS, *([Stage.THOROUGH] if thorough else []), *([Stage.CHECKED] if checked else [])}


def _answered(
    tables: ReportTables, asked: Mapping[Question[Any], Callable[[ReportTables], Any]], share: _Share
) -> Answers:
    """Return the known answers with those to some questions, which are asked in parallel."""
    found = together(*(partial(ask, tables) for ask in asked.values()), on_answer=share.more)
    return tables.answers.replaced(dict(zip(asked, found, strict=True)))
