"""Topic Filters: what they match, and which texts are none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.spec.constraints import LevelWildcards, SingleWildcards, StatementRef
from mqttpub.traffic.topics import filter_problem, has_wildcard, split_shared, topic_matches

MATCHES = [
    ("a/b", "a/b", True),
    ("a/b", "a/c", False),
    ("a/b", "a/b/", False),
    ("a/b", "A/b", False),
    ("#", "a/b", True),
    ("#", "/", True),
    ("a/#", "a", True),
    ("a/#", "a/", True),
    ("a/#", "a/b/c", True),
    ("a/#", "ab", False),
    ("a/+", "a", False),
    ("a/+", "a/", True),
    ("a/+", "a/b", True),
    ("a/+", "a/b/c", False),
    ("+", "a", True),
    ("+", "/a", False),
    ("+/+", "/a", True),
    ("/+", "/a", True),
    ("+/b/#", "a/b", True),
    ("+/b/#", "a/c/b", False),
    ("#", "$SYS/a", False),
    ("+/a", "$SYS/a", False),
    ("+", "$SYS", False),
    ("$SYS/#", "$SYS/a", True),
    ("$SYS/+", "$SYS/a", True),
    ("a/+", "a/$b", True),
    ("a/#", "a/$b", True),
    ("e\u0301", "\u00e9", False),
    ("a/\ufeffb", "a/b", False),
]
"""Filter, topic, whether they match (5.0: 4.7)."""


def by_expression(pattern: str, topic: str) -> bool:
    """Match by a regular expression, as a second opinion."""
    if topic.startswith("$") and pattern[0] in "+#":
        return False
    levels = [{"+": "[^/]*", "#": ".*"}.get(level, re.escape(level)) for level in pattern.split("/")]
    text = "/".join(levels)
    return bool(re.fullmatch(text, topic) or (levels[-1] == ".*" and re.fullmatch("/".join(levels[:-1]), topic)))


NAMES = st.lists(st.sampled_from(["", "a", "b", "$x"]), min_size=1, max_size=5).map("/".join).filter(bool)
FILTERS = (
    st.tuples(st.lists(st.sampled_from(["", "a", "b", "$x", "+"]), max_size=4), st.sampled_from(["", "a", "+", "#"]))
    .map(lambda parts: "/".join([*parts[0], parts[1]]))
    .filter(bool)
)


@pytest.mark.parametrize(("pattern", "topic", "expected"), MATCHES)
def test_a_filter_matches(pattern: str, topic: str, expected: bool) -> None:
    assert topic_matches(pattern.split("/"), topic.split("/")) is expected


@given(FILTERS, NAMES)
def test_a_filter_matches_what_its_regular_expression_matches(pattern: str, topic: str) -> None:
    assert topic_matches(pattern.split("/"), topic.split("/")) == by_expression(pattern, topic)


def test_matching_takes_linear_time_in_the_levels() -> None:
    pattern, topic = "+/" * 30_000 + "b", "a/" * 30_000 + "a"
    assert not topic_matches(pattern.split("/"), topic.split("/"))


@pytest.mark.parametrize(
    ("full", "cut"),
    [
        ("a/b", ("", "a/b")),
        ("$share/g/a/b", ("g", "a/b")),
        ("$share/g/#", ("g", "#")),
        ("$share/g//", ("g", "/")),
        ("$share/g", ("", "$share/g")),
        ("$share//a", ("", "$share//a")),
        ("$share/g/", ("", "$share/g/")),
        ("$shared/g/a", ("", "$shared/g/a")),
    ],
)
def test_a_share_name_is_split_off(full: str, cut: tuple[str, str]) -> None:
    assert split_shared(full) == cut


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is empty"),
        ("a/#/b", "# is not its last level"),
        ("a#", "a wildcard must be a whole level"),
        ("a/+b", "a wildcard must be a whole level"),
        ("a/+/#", ""),
        ("/", ""),
    ],
)
def test_a_text_that_is_not_a_filter_has_a_problem(text: str, problem: str) -> None:
    assert filter_problem(text) == problem


@given(st.text(st.sampled_from("a/+#"), min_size=1))
def test_a_filter_is_valid_when_it_satisfies_the_constraints_of_subscribe(text: str) -> None:
    valid = not any(limit(StatementRef()).violation(text) for limit in (LevelWildcards, SingleWildcards))
    assert (filter_problem(text) == "") == valid
    assert has_wildcard(text) == bool(set(text) & {"+", "#"})
