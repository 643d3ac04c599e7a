"""Results of tests as JUnit XML, which systems for continuous integration read."""

from collections.abc import Iterable, Iterator
from html import escape as quoted
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


def junit(title: str, cases: Iterable[Case]) -> Iterator[str]:
    """Yield the lines of a file; characters that XML cannot hold are escaped as they are on the screen."""
    found = list(cases)
    failed, skipped = (sum(bool(each[at]) for each in found) for at in (3, 5))
    yield '<?xml version="1.0" encoding="utf-8"?>'
    counts = f'tests="{len(found)}" failures="{failed}" errors="0" skipped="{skipped}"'
    yield f'<testsuites name="{_text(title)}" {counts}>'
    for suite in dict.fromkeys(case.suite for case in found):
        yield from _suite(suite, [case for case in found if case.suite == suite])
    yield "</testsuites>"


def _suite(name: str, cases: list[Case]) -> Iterator[str]:
    failed, skipped = (sum(bool(each[at]) for each in cases) for at in (3, 5))
    time = sum(case.seconds for case in cases)
    counts = f'tests="{len(cases)}" failures="{failed}" errors="0" skipped="{skipped}" time="{time:.3f}"'
    yield f'  <testsuite name="{_text(name)}" {counts}>'
    for case in cases:
        yield from _case(case)
    yield "  </testsuite>"


def _case(case: Case) -> Iterator[str]:
    head = f'    <testcase classname="{_text(case.suite)}" name="{_text(case.name)}" time="{case.seconds:.3f}"'
    if not (case.failure or case.skipped):
        yield f"{head}/>"
        return
    yield f"{head}>"
    if case.failure:
        details = "\n".join(map(_text, case.details.splitlines()))
        yield f'      <failure message="{_text(case.failure)}">{details}</failure>'
    else:
        yield f'      <skipped message="{_text(case.skipped)}"/>'
    yield "    </testcase>"


def _text(text: str) -> str:
    return quoted(remark(text))
