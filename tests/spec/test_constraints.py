"""Demands on single values."""

from typing import Any

import pytest

from mqttpub.spec import constraints
from mqttpub.spec.constraints import (
    Ascii,
    Characters,
    Constraint,
    InTable,
    LevelWildcards,
    NearlyWellFormed,
    NoControl,
    NoJavaForm,
    NoNull,
    NonZero,
    NotEmpty,
    NoWildcards,
    OneOf,
    ShareFilter,
    ShareName,
    SingleWildcards,
    StatementRef,
    WellFormed,
    valid,
)
from mqttpub.spec.declare import Field, Group
from mqttpub.spec.packets import PACKETS, Subscription, Will
from mqttpub.spec.properties import PROPERTIES
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Version

V31, V311, V5 = Version
LAW = StatementRef("3.3.1-4", "3.3.1-4", "2.1/qos3")
ZERO, FEW = OneOf(LAW, (0,)), OneOf(LAW, (0, 1, 2))
HASH, PLUS = LevelWildcards(LAW), SingleWildcards(LAW)
SHARED_HASH, SHARED_PLUS = LevelWildcards(LAW, shared=True), SingleWildcards(LAW, shared=True)
NAME, FILTER = ShareName(LAW), ShareFilter(LAW)

JAVA_NULL, JAVA_PAIR = "\udcc0\udc80", "\udced\udca0\udc80\udced\udcb0\udc80"
LONG = "x" * 30


def test_a_law_is_an_id_per_version() -> None:
    assert [LAW.id(version) for version in Version] == ["MQTT31-2.1/qos3", "MQTT311-3.3.1-4", "MQTT5-3.3.1-4"]
    assert StatementRef("3.8.3-5").id(V311) == ""
    assert StatementRef(v31="2.2/name").id(V31) == "MQTT31-2.2/name"


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        (Constraint(LAW), 7), (InTable(LAW), 7),
        (ZERO, 0), (ZERO, False), (FEW, 2), (OneOf(LAW, ("MQTT",)), "MQTT"),
        (NonZero(LAW), 1), (NonZero(LAW), 65535),
        (NoWildcards(LAW), ""), (NoWildcards(LAW), "a/b$"),
        (NotEmpty(LAW), "a"), (NotEmpty(LAW), (1,)),
        (HASH, ""), (HASH, "#"), (HASH, "a/#"), (HASH, "/#"), (HASH, "a/b"), (HASH, "+/#"),
        (PLUS, ""), (PLUS, "+"), (PLUS, "/+"), (PLUS, "+/"), (PLUS, "a/+/b"), (PLUS, "+/+"), (PLUS, "a/b"),
        (SHARED_HASH, "$share/g#/a"), (SHARED_HASH, "$share/g/#"), (SHARED_HASH, "$share/g#"), (SHARED_HASH, "a/#"),
        (SHARED_PLUS, "$share/g+/a"), (SHARED_PLUS, "$share/g/+"), (SHARED_PLUS, "$share/g+"), (SHARED_PLUS, "+"),
        (NAME, "a"), (NAME, "$share"), (NAME, "$share/g"), (NAME, "$share/g/a"), (NAME, "$shared//"),
        (FILTER, "a"), (FILTER, "$share/g/a"), (FILTER, "$share/g//"), (FILTER, "$share/g/+/#"), (FILTER, "$share//a"),
        (Ascii(LAW), b""), (Ascii(LAW), b"\x00\x7f"),
        (Characters(LAW, 1, 3), "a"), (Characters(LAW, 1, 3), "üöä"), (Characters(LAW, 0, 3), ""),
        (WellFormed(LAW), ""), (WellFormed(LAW), "a\0\x1f\ufeff\U0010ffff"),
        (NearlyWellFormed(LAW), "aü"), (NearlyWellFormed(LAW), "a\0"), (NearlyWellFormed(LAW), JAVA_NULL),
        (NearlyWellFormed(LAW), f"a{JAVA_PAIR}b{JAVA_NULL}"),
        (NoJavaForm(LAW), "aü"), (NoJavaForm(LAW), "\udcff"), (NoJavaForm(LAW), "\0"),
        (NoNull(LAW), "a"), (NoNull(LAW), "\x01"),
        (NoControl(LAW), "a ü\xa0"), (NoControl(LAW), "\0"), (NoControl(LAW), "\ufeff\ufffd\u202e"),
    ],
)  # fmt: skip
def test_an_allowed_value_violates_nothing(limit: Constraint, value: Any) -> None:
    assert limit.violation(value) == ""


@pytest.mark.parametrize(
    ("limit", "value", "says", "at"),
    [
        (ZERO, 1, "is 1, but must be 0", None),
        (ZERO, True, "is 1, but must be 0", None),
        (FEW, 3, "is 3, but must be 0, 1 or 2", None),
        (OneOf(LAW, (0, 1)), 2, "is 2, but must be 0 or 1", None),
        (OneOf(LAW, ("MQTT",)), "mqtt", "is 'mqtt', but must be 'MQTT'", None),
        (OneOf(LAW, ("MQTT",)), "\x1b[0m\udcff", r"is '\x1b[0m\udcff', but must be 'MQTT'", None),
        (OneOf(LAW, ("MQTT",)), LONG, f"is '{LONG[:24]}' and 6 more characters, but must be 'MQTT'", None),
        (NonZero(LAW), 0, "is 0, but must be 1 or more", None),
        (NoWildcards(LAW), "a/+", "holds the wildcard +", (2, 3)),
        (NoWildcards(LAW), "#", "holds the wildcard #", (0, 1)),
        (NoWildcards(LAW), "a#/+", "holds the wildcard + and #", (1, 2)),
        (NotEmpty(LAW), "", "is empty", None),
        (NotEmpty(LAW), (), "is empty", None),
        (HASH, "a#", "has a # that is not a whole last level", (1, 2)),
        (HASH, "#/a", "has a # that is not a whole last level", (0, 1)),
        (HASH, "a/#/b", "has a # that is not a whole last level", (2, 3)),
        (HASH, "##", "has a # that is not a whole last level", (0, 1)),
        (HASH, "$share/g#/a", "has a # that is not a whole last level", (8, 9)),
        (SHARED_HASH, "$share/g#/a#", "has a # that is not a whole last level", (11, 12)),
        (PLUS, "a+", "has a + that is not a whole level", (1, 2)),
        (PLUS, "+a", "has a + that is not a whole level", (0, 1)),
        (PLUS, "+/++", "has a + that is not a whole level", (2, 3)),
        (PLUS, "$share/g+/a", "has a + that is not a whole level", (8, 9)),
        (SHARED_PLUS, "$share/g+/+/a+", "has a + that is not a whole level", (13, 14)),
        (NAME, "$share/", "has no ShareName after $share/", None),
        (NAME, "$share//a", "has no ShareName after $share/", None),
        (FILTER, "$share/g", "has no filter after its ShareName", None),
        (FILTER, "$share/g/", "has no filter after its ShareName", None),
        (FILTER, "$share/g+/a", "has a wildcard in its ShareName", (8, 9)),
        (FILTER, "$share/#", "has a wildcard in its ShareName", (7, 8)),
        (Ascii(LAW), b"a\x80\xffb", "has bytes above 0x7F", (1, 3)),
        (Characters(LAW, 1, 3), "", "has 0 characters, but must have 1 to 3", None),
        (Characters(LAW, 1, 3), "abcd", "has 4 characters, but must have 1 to 3", None),
        (Characters(LAW, 0, 3), "abcd", "has 4 characters, but must have at most 3", None),
        (WellFormed(LAW), "a\udcc0\udc80b\udcff", "holds c0 80, which is not UTF-8", (1, 3)),
        (WellFormed(LAW), "\udcff" * 9, "holds ff ff ff ff ff ff ff ff and 1 byte more, which is not UTF-8", (0, 9)),
        (WellFormed(LAW), "a\ud800", "holds U+D800, which is not UTF-8", (1, 2)),
        (NearlyWellFormed(LAW), "a\udcff", "holds ff, which is not UTF-8", (1, 2)),
        (NearlyWellFormed(LAW), f"{JAVA_NULL}\udcff", "holds ff, which is not UTF-8", (2, 3)),
        (NearlyWellFormed(LAW), f"\udcff{JAVA_NULL}", "holds ff, which is not UTF-8", (0, 1)),
        (NearlyWellFormed(LAW), "\udcff\n", "holds ff, which is not UTF-8", (0, 1)),
        (NearlyWellFormed(LAW), "\udced\udca0", "holds ed a0, which is not UTF-8", (0, 2)),
        (NoJavaForm(LAW), f"a{JAVA_NULL}", "holds c0 80, which only Java's form of UTF-8 has", (1, 3)),
        (NoJavaForm(LAW), JAVA_PAIR, "holds ed a0 80 ed b0 80, which only Java's form of UTF-8 has", (0, 6)),
        (NoNull(LAW), "a\0b", "holds U+0000", (1, 2)),
        (NoControl(LAW), "a\x1b", "holds U+001B, which a string should not hold", (1, 2)),
        (NoControl(LAW), "\x7f", "holds U+007F, which a string should not hold", (0, 1)),
        (NoControl(LAW), "\x9f", "holds U+009F, which a string should not hold", (0, 1)),
        (NoControl(LAW), "\ufdd0", "holds U+FDD0, which a string should not hold", (0, 1)),
        (NoControl(LAW), "\U0010ffff", "holds U+10FFFF, which a string should not hold", (0, 1)),
    ],
)  # fmt: skip
def test_a_violation_has_words_and_place(limit: Constraint, value: Any, says: str, at: tuple[int, int] | None) -> None:
    assert limit.violation(value) == says
    assert limit.at(value) == at


@pytest.mark.parametrize("limit", [NoWildcards(LAW), Ascii(LAW), PLUS, WellFormed(LAW), NearlyWellFormed(LAW)])
def test_a_right_value_has_no_place_at_fault(limit: Constraint) -> None:
    assert limit.at(b"a" if isinstance(limit, Ascii) else "a") is None


def test_a_field_says_which_statement_makes_its_strings_valid() -> None:
    strict, older = valid("3.3.2-1", "3.3.2-1", "3.3/topic")
    assert isinstance(strict, WellFormed)
    assert [strict.ref.id(version) for version in Version] == ["", "MQTT311-3.3.2-1", "MQTT5-3.3.2-1"]
    assert isinstance(older, NearlyWellFormed)
    assert [older.ref.id(version) for version in Version] == ["MQTT31-3.3/topic", "", ""]
    (alone,) = valid("3.3.2-19")
    assert alone.ref == StatementRef("3.3.2-19")


def laws() -> set[StatementRef]:
    """Return every law that the table and the module of constraints name."""
    groups: list[type[Group]] = [*PACKETS.values(), Will, Subscription]
    fields: list[Field] = [field for cls in groups for field in cls.layout]
    limits = [limit for field in fields for limit in (*field.limits, *field.each)]
    limits += [limit for row in PROPERTIES.values() for limit in row.limits]
    limits += constraints.STRINGS
    named = [value for value in vars(constraints).values() if isinstance(value, StatementRef)]
    return {limit.ref for limit in limits} | set(named)


def test_every_law_of_the_table_is_a_statement() -> None:
    found = [law.id(version) for law in laws() for version in Version if law.id(version)]
    assert len(found) > 100
    for id in found:
        assert statement(id).text


@pytest.mark.parametrize("version", Version)
def test_every_finding_of_decoding_has_a_statement_in_every_version(version: Version) -> None:
    for law in (constraints.SHORT, constraints.TRAILING, constraints.LENGTH, constraints.SHORTEST, constraints.TYPE):
        assert statement(law.id(version)).visibility[0] == "A"
