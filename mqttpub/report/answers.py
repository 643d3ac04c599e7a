"""Asks the questions: those of a summary, with another run to compare, and what only the page shows."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..spark.pipeline.manifest import Manifest
from .question import Answers, Question, ReportTables, Stage, together
from .questions import QUESTIONS
from .tables import has


def summary(session: Any, folder: str | Path, against: str | Path | None = None, *, thorough: bool = True) -> Answers:
    """Return the answers for a terminal on the tables in a folder, compared with those in `against` if that is given.

    Only if `thorough` are the questions asked that take as long again. Raises OutputRefused, and the engine's errors.
    """
    tables = _summarized(session, folder, thorough=thorough)
    if against is None:
        return tables.answers
    tables = tables.knowing(tables.answers, other=_summarized(session, against, thorough=thorough))
    return _answered(tables, {question: question.ask for question in QUESTIONS if question.stage is Stage.COMPARED})


def details(session: Any, folder: str | Path, known: Answers) -> Answers:
    """Return all answers for a page: the known ones of a summary, with what only the page shows."""
    tables = ReportTables(session, folder, answers=known)
    page = {each: each.ask for each in QUESTIONS if each.stage is Stage.PAGE}
    more = {each: partial(_completed, each) for each in QUESTIONS if each.complete and known.get(each) is not None}
    return _answered(tables, {**page, **more})


def _completed(question: Question[Any], tables: ReportTables) -> Any:
    """Return the answer to a question with what only the page shows."""
    assert question.complete
    return question.complete(tables, tables.answers[question])


def _summarized(session: Any, folder: str | Path, *, thorough: bool) -> ReportTables:
    """Return the tables of a folder, with the answers of a summary known."""
    stages = {Stage.ALWAYS}
    if thorough:
        stages.add(Stage.THOROUGH)
    if has(folder, "findings") or any(run.get("lint") for run in Manifest.in_folder(folder).runs):
        stages.add(Stage.CHECKED)
    tables = ReportTables(session, folder, answers=Answers(dict.fromkeys(QUESTIONS)))
    return tables.knowing(_answered(tables, {each: each.ask for each in QUESTIONS if each.stage in stages}))


def _answered(tables: ReportTables, asked: Mapping[Question[Any], Callable[[ReportTables], Any]]) -> Answers:
    """Return the known answers with those to some questions, which are asked in parallel."""
    found = together(*(partial(ask, tables) for ask in asked.values()))
    return tables.answers.replaced(dict(zip(asked, found, strict=True)))
