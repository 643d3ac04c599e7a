"""Results of tests as JUnit XML, which systems for continuous integration read."""

from collections.abc import Iterable, Iterator
from html import escape as quoted
from itertools import chain
from typing import NamedTuple

from ...common.escape import remark


class Case(NamedTuple):
    """One test and how it ended."""

    suite: str
    """Name of what was tested together."""
    name: str
    seconds: float
    failure: str = ""
    """Why it failed, as a sentence; empty if it did not."""
    details: str = ""
    """More lines about the failure."""
    skipped: str = ""
    """Why it was not run; empty if it was."""
    error: str = ""
    """Why it could not end, as a sentence; empty if it did."""


def junit(title: str, cases: Iterable[Case]) -> Iterator[str]:
    """Yield the lines of a file; characters that XML cannot hold are escaped as they are on the screen."""
    suites: dict[str, list[Case]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield f'<testsuites name="{_text(title)}" {_counts(list(chain(*suites.values())))}>'
    for name, of_suite in suites.items():
        yield from _suite(name, of_suite)
    yield "</testsuites>"


def _suite(name: str, cases: list[Case]) -> Iterator[str]:
    time = sum(case.seconds for case in cases)
    yield f'  <testsuite name="{_text(name)}" {_counts(cases)} time="{time:.3f}">'
    for case in cases:
        yield from _case(case)
    yield "  </testsuite>"


def _counts(cases: list[Case]) -> str:
    failed = sum(bool(each.failure) for each in cases)
    errors = sum(bool(each.error) for each in cases)
    skipped = sum(bool(each.skipped) for each in cases)
    return f'tests="{len(cases)}" failures="{failed}" errors="{errors}" skipped="{skipped}"'


def _case(case: Case) -> Iterator[str]:
    head = f'    <testcase classname="{_text(case.suite)}" name="{_text(case.name)}" time="{case.seconds:.3f}"'
    if not (case.failure or case.error or case.skipped):
        yield f"{head}/>"
        return
    yield f"{head}>"
    if case.failure or case.error:
        kind = "failure" if case.failure else "error"
        details = "\n".join(map(_text, case.details.splitlines()))
        yield f'      <{kind} message="{_text(case.failure or case.error)}">{details}</{kind}>'
    else:
        yield f'      <skipped message="{_text(case.skipped)}"/>'
    yield "    </testcase>"


def _text(text: str) -> str:
    return quoted(remark(text))
