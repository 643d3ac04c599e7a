"""Packets in which the bytes at fault are marked.

A case is written in the mini notation of tests/vectors/notation.py, with these pieces more:

    r        the Remaining Length of all that follows
    @        protocol name and level of the version
    s(...)   two bytes of length and what is inside; s'a' is short for s('a')
    p(...)   a Property Length and what is inside; nothing before 5.0
    v5(...)  what is inside, in 5.0 only; v3(...) before 5.0 only
    {...}    the bytes at fault; {...}&08 these bits of the byte; {} a place between bytes

The lines of a table have the labels of a statement in 5.0, 3.1.1 and 3.1 (a dot where a version is
not meant, commas between several), the sender (> client, < server, - unknown) and a case. In a table
of faults it has just that one fault; in a table of near misses, none.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from mqttpub.codec.decode import decode
from mqttpub.codec.tree import Finding
from mqttpub.lint.packet.check import lint
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.cursor import Span
from mqttpub.wire.types import VARIABLE
from tests.lint.label_tables import labelled_lines
from tests.vectors.notation import parse

_PIECE = re.compile(
    r"\s*(?:(?P<open>s\(|p\(|v[35]\(|\{(?!r\}))|(?P<close>\)|\})(?:&(?P<mask>[0-9a-f]{2}))?|(?P<word>[@r](?=\s|$)|\{r\})"
    r"|(?P<string>s(?='))?(?P<plain>(?:'[^']*'|%[01_]+|(?:[0-9a-fA-F]{2})+)(?:\*\d+)?))"
)
_PROTOCOL = {Version.V5: "0004 'MQTT' 05", Version.V311: "0004 'MQTT' 04", Version.V31: "0006 'MQIsdp' 03"}


class Mark(NamedTuple):
    """Bytes at fault and, in a single byte, the bits."""

    span: Span
    mask: int = 0


class Case(NamedTuple):
    """The bytes of a packet and what is at fault in them."""

    data: bytes = b""
    marks: tuple[Mark, ...] = ()

    def __add__(self, other: "Case") -> "Case":  # type: ignore[override]
        moved = (mark._replace(span=mark.span.shifted(len(self.data))) for mark in other.marks)
        return Case(self.data + other.data, (*self.marks, *moved))


def case(text: str, version: Version) -> Case:
    """Return the case that a text describes; raises ValueError."""
    made, end = _inside(text.rstrip(), 0, version)
    if end < len(text.rstrip()):
        raise ValueError(f"no piece of a case at {text[end:]!r}")
    return made


def _inside(text: str, pos: int, version: Version) -> tuple[Case, int]:
    made = Case()
    while match := _PIECE.match(text, pos):
        pos = match.end()
        if match["close"]:
            return made, match.start()
        if match["word"] and "r" in match["word"]:
            rest, pos = _inside(text, pos, version)
            length = Case(VARIABLE.write(len(rest.data)))
            return made + (_marked(length, version, 0) if "{" in match["word"] else length) + rest, pos
        if match["open"]:
            inner, end = _inside(text, pos, version)
            close = _PIECE.match(text, end)
            assert close, text
            made, pos = made + _BRACKETS[match["open"]](inner, version, int(close["mask"] or "0", 16)), close.end()
        else:
            plain = parse(_PROTOCOL[version] if match["word"] else match["plain"])
            made += _string(Case(plain), version, 0) if match["string"] else Case(plain)
    return made, pos


def _string(inner: Case, version: Version, mask: int) -> Case:
    return Case(len(inner.data).to_bytes(2, "big")) + inner


def _properties(inner: Case, version: Version, mask: int) -> Case:
    return Case(VARIABLE.write(len(inner.data))) + inner if version == Version.V5 else Case()


def _marked(inner: Case, version: Version, mask: int) -> Case:
    return inner._replace(marks=(*inner.marks, Mark(Span(0, len(inner.data)), mask)))


_BRACKETS: dict[str, Callable[[Case, Version, int], Case]] = {
    "s(": _string,
    "p(": _properties,
    "{": _marked,
    "v5(": lambda inner, version, mask: inner if version == Version.V5 else Case(),
    "v3(": lambda inner, version, mask: inner if version < Version.V5 else Case(),
}


class Row(NamedTuple):
    """One line of a table, for one of its versions."""

    ids: tuple[str, ...]
    version: Version
    sender: Direction | None
    text: str

    def found(self) -> list[Finding]:
        """Return what lint finds in the bytes."""
        return lint(decode(case(self.text, self.version).data, self.version), self.sender)

    def expected(self) -> list[tuple[str, Mark]]:
        """Return the findings that the marks stand for."""
        return [(id, mark) for id in self.ids for mark in case(self.text, self.version).marks]

    def __str__(self) -> str:
        return f"{' '.join(self.ids)} {self.text}"


_SENDERS = {"-": None, ">": Direction.CLIENT, "<": Direction.SERVER}


def rows(table: str) -> list[Row]:
    """Return the lines of a table, once for each version that they are about."""
    return [Row(ids, version, _SENDERS[sender], text) for ids, version, (sender, text) in labelled_lines(table, 2)]


def table_test(table: list[Row], check: Callable[[Row], None]) -> Callable[[Row], None]:
    """Return a test of each row of a table."""

    @pytest.mark.parametrize("row", table, ids=str)
    def test(row: Row) -> None:
        check(row)

    return test


def assert_one_fault(row: Row) -> None:
    """Assert that lint finds what is marked and nothing else, at the end that sent it or alone can have."""
    findings = row.found()
    found = [(each.statement, Mark(each.span, each.mask)) for each in findings]
    assert found == row.expected(), findings
    for each in findings:
        assert each.at_fault == (row.sender or statement(each.statement).bound or each.at_fault), each


def assert_no_fault(row: Row) -> None:
    """Assert that lint finds nothing."""
    assert row.found() == []
