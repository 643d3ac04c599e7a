"""Topics are rewritten as `sed -E` rewrites lines, and wrong expressions are named with their column."""

import shutil
import subprocess

import pytest

from mqttpub.common.bad_text import BadText
from mqttpub.lab.replay.rewrite import rewrite, rewrite_filter

TOPICS = ["plant/a/b", "plant/plant/x", "a.b/c&d", "", "$SYS/broker", "A/a/A"]
EXPRESSIONS = [
    "s/plant/test/", "s/plant/test/g", "s,/,-,g", "s|a(.)b|<\\1>|", "s/^/x&y/", "s/a/A/gI", "s/\\//:/g", "s/[ab]/&&/g",
    "s/a/\\&/", "s/a/b\\/c/",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_topics_are_rewritten_as_sed_does(expression: str) -> None:
    sed = shutil.which("sed")
    assert sed
    text = "".join(f"{each}\n" for each in TOPICS)
    ran = subprocess.run([sed, "-E", expression], input=text, capture_output=True, text=True, check=True)
    how = rewrite(expression.replace("I", "i"))
    assert [how(each) for each in TOPICS] == ran.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("expression", "column", "message"),
    [
        ("", 1, "'s/old/new/' is awaited"),
        ("y/a/b/", 1, "'s/old/new/' is awaited"),
        ("sxaxbx", 1, "'s/old/new/' is awaited"),
        ("s/a", 4, "the pattern does not end: '/' is missing"),
        ("s/a/b", 6, "the replacement does not end: '/' is missing"),
        ("s/a/b/gx", 8, "'x' is not a flag"),
        ("s/\\/\\/a(/b/", 8, "the pattern is wrong: missing )"),
        ("s/a\\/b/x\\1/", 9, "the pattern has no group 1"),
    ],
)
def test_a_wrong_expression_is_named_with_its_column(expression: str, column: int, message: str) -> None:
    with pytest.raises(BadText) as caught:
        rewrite(expression)
    assert caught.value.column == column
    assert message in caught.value.message


def test_of_a_shared_subscription_the_filter_is_rewritten() -> None:
    how = rewrite("s/^a/x/")
    assert rewrite_filter("$share/a/a/#", how) == "$share/a/x/#"
    assert rewrite_filter("a/#", how) == "x/#"
