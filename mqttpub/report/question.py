"""A question of the report, how it asks the tables, and the answers to all.

Its SQL is that of Spark, which each engine runs, and has a NamedTuple for each row.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from ..view.terminal.cells import Line
from .engines import QueryEngine
from .markup import Content
from .rows import Row, plain, structured

A = TypeVar("A")
Contents = list[Content]
"""What a section of the page shows; one that shows nothing is left out."""


class Stage(IntEnum):
    """When a question is asked. JSON has the answers in the order of the stages."""

    ALWAYS = 1
    THOROUGH = 2
    """Only where a person asked for a summary or a page, as it takes as long again."""
    COMPARED = 3
    """Where there is another run; all questions before are answered for both."""
    CHECKED = 4
    """Where packets were checked."""
    PAGE = 5
    """Only for the page, after all others."""


class Section(NamedTuple, Generic[A]):
    """A section of the page."""

    anchor: str
    heading: str
    contents: Callable[[A, "Answers"], Contents]
    """Makes it from the answer, and from the answers to other questions."""


class Unasked(NamedTuple):
    """What is shown where a question was not asked."""

    said: str = ""
    """A sentence for the last section; without one there is no section."""
    record: Mapping[str, Any] = {}
    """Values for JSON."""


NOT_SHOWN = Unasked()


@dataclass(frozen=True, eq=False)
class Question(Generic[A]):
    """A question, whose answer consists of plain values."""

    stage: Stage
    ask: Callable[["ReportTables"], A]
    complete: "Callable[[ReportTables, A], A] | None" = None
    """Adds to an answer what only the page shows, when all questions before Stage.PAGE are answered."""
    sections: tuple[Section[A], ...] = ()
    blocks: tuple[Callable[[A, "Answers", int], Iterator[Line]], ...] = ()
    """Each yields the lines of a block on the terminal, for a width of that; none where there is nothing to say."""
    record: "Callable[[A, Answers], Mapping[str, Any]] | None" = None
    """Returns values for JSON by name; times are ISO 8601 in UTC."""
    unasked: Unasked = NOT_SHOWN


@dataclass(frozen=True)
class Answers:
    """Questions in the order in which they are shown, with their answers; None for one that was not asked."""

    found: Mapping[Question[Any], Any] = field(default_factory=dict)

    def __getitem__(self, question: Question[A]) -> A:
        """Return the answer to a question that was asked."""
        answer: A | None = self.found[question]
        assert answer is not None, "a question is shown after it was asked"
        return answer

    def get(self, question: Question[A]) -> A | None:
        """Return the answer to a question; None if it was not asked."""
        answer: A | None = self.found.get(question)
        return answer

    def replaced(self, more: Mapping[Question[Any], Any]) -> "Answers":
        """Return these answers with some of them replaced or added."""
        return Answers({**self.found, **more})


def record(answers: Answers) -> dict[str, Any]:
    """Return all answers as values for JSON; times are ISO 8601 in UTC, latencies are in microseconds."""
    found: dict[str, Any] = {}
    for question, answer in sorted(answers.found.items(), key=lambda pair: pair[0].stage):
        if answer is None:
            found.update(question.unasked.record)
        elif question.record:
            found.update(question.record(answer, answers))
    return found


# tables

TOP = 20
"""Rows in a list of the top clients, topics and so on."""
AT_ONCE = 3
"""Queries that run in parallel; one alone leaves cores idle at its beginning and end."""
OTHER = "other_"
"""Begins the names of the tables of another run in SQL."""
_TABLE = re.compile(r"\{(\w+)\}")
_ALL = "all"


class RankedRow(Protocol):
    """A row of a ranking: a NamedTuple whose first field is `who`."""

    @property
    def who(self) -> str | None:
        """The name of what is ranked; None in totals."""

    def _asdict(self) -> dict[str, Any]: ...


Ranked = TypeVar("Ranked", bound=RankedRow)


class Ranking(NamedTuple, Generic[Ranked]):
    """The first rows in several orders, and the totals of all."""

    number: int
    """How many rows there are."""
    total: Ranked
    first: Mapping[str, Sequence[Ranked]]
    """The first rows by the name of an order, as far as they are above 0 in it."""

    def top(self, order: str) -> Sequence[Ranked]:
        """Return the first rows in an order."""
        return self.first.get(order, ())

    def record(self) -> dict[str, Any]:
        """Return totals and rows as values for JSON."""
        rows = {order: [_values(row, 1) for row in rows] for order, rows in self.first.items()}
        return {_ALL: _values(self.total, self.number), **rows}


def _values(row: RankedRow, number: int) -> dict[str, Any]:
    """Return a row as values for JSON; one without a name says how many it is for."""
    return {"who": row.who, **({"number": number} if row.who is None else {}), **plain(row)}


class ReportTables:
    """The tables of a folder, and the engine that answers queries about them."""

    def __init__(
        self, engine: QueryEngine, folder: str | Path, *, tables: Mapping[str, Any] | None = None,
        answers: Answers | None = None, other: "ReportTables | None" = None,
    ) -> None:  # fmt: skip
        self.engine = engine
        self.folder = folder
        self.answers = answers or Answers()
        """What is known when this is asked."""
        self.other = other
        """The other run, in Stage.COMPARED."""
        self._tables = engine.tables(folder) if tables is None else tables

    def knowing(self, answers: Answers, other: "ReportTables | None" = None) -> "ReportTables":
        """Return this with answers that are known, and another run."""
        return ReportTables(self.engine, self.folder, tables=self._tables, answers=answers, other=other)

    def table(self, name: str) -> Any:
        """Return the table for a name in SQL."""
        if self.other and name.startswith(OTHER):
            return self.other.table(name.removeprefix(OTHER))
        return self._tables[name]

    def named(self, query: str, more: Mapping[str, Any] = {}) -> dict[str, Any]:
        """Return the tables that a query names in braces, those of `more` too."""
        return {name: more[name] if name in more else self.table(name) for name in _TABLE.findall(query)}

    def rows(self, made: type[Row], query: str, given: Mapping[str, Any] = {}, **more: Any) -> list[Row]:
        """Return the rows of a query, whose columns are the fields of `made`.

        Names in braces stand for tables, of `more` too, and those after a colon for the values `given`.
        """
        return [structured(made, row) for row in self.engine.rows(query, self.named(query, more), given)]

    def ranking(
        self, made: type[Ranked], each: str, totals: Mapping[str, str], orders: Mapping[str, str],
        second: Mapping[str, str] | str,
    ) -> Ranking[Ranked]:  # fmt: skip
        """Return the first rows of `each` in every order, as far as they are above 0, and the totals.

        `each` is a query for rows of `who` and the columns of `totals`, which names the function that makes the total
        of a column, or none. Rows that are equal in an order are ranked by the `second` column.
        """
        found: dict[str, list[Ranked]] = {order: [] for order in (_ALL, *orders)}
        number, make = 0, cast("Callable[..., Ranked]", made)
        query = _ranking(each, totals, orders, second)
        for values in self.engine.rows(query, self.named(query), {}):
            order, count = values.pop("top"), values.pop("number")
            number = count if order == _ALL else number
            found[order].append(make(**values))
        (whole,) = found.pop(_ALL)
        return Ranking(number, whole, found)


def _ranking(each: str, totals: Mapping[str, str], orders: Mapping[str, str], second: Mapping[str, str] | str) -> str:
    """Return the query of a ranking.

    All branches select the same columns, so that Spark reuses one shuffle and reads the table once.
    """
    whole = ", ".join(
        f"coalesce({function}({name}), 0) AS {name}" if function else f"NULL AS {name}"
        for name, function in totals.items()
    )
    names = ", ".join(totals)
    branches = [f"SELECT '{_ALL}' AS top, CAST(NULL AS string) AS who, count(*) AS number, {whole} FROM each"]
    branches += [
        f"(SELECT '{name}' AS top, who, 1 AS number, {names} FROM each WHERE {order} > 0 "
        f"ORDER BY {order} DESC, {second if isinstance(second, str) else second[name]} DESC, who LIMIT {TOP})"
        for name, order in orders.items()
    ]
    return f"WITH each AS ({each}) {' UNION ALL '.join(branches)}"


def chosen(names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the SQL for a list of names, and the values that it stands for."""
    given = {f"name{number}": name for number, name in enumerate(names)}
    return ", ".join(f":{each}" for each in given), given


def together(*queries: Callable[[], Any], on_answer: Callable[[], None] = lambda: None) -> list[Any]:
    """Run queries in parallel, and return their answers; the first one that fails ends all.

    `on_answer` is called after each answer, in this thread.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pending = [pool.submit(query) for query in queries]
        try:
            for each in as_completed(pending):
                each.result()
                on_answer()
            return [each.result() for each in pending]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
