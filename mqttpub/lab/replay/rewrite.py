"""`s/PATTERN/REPLACEMENT/FLAGS`: how topics are rewritten."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ...common.bad_text import BadText
from ...spec.constraints import SHARE

Rewrite = Callable[[str], str]

_FLAGS = "gi"


class _Part(NamedTuple):
    """A part of an expression, and the column of each of its characters."""

    text: str
    columns: list[int]


def rewrite(text: str) -> Rewrite:
    """Return what rewrites a topic as an expression of sed says; raises BadText with the column.

    PATTERN is a regular expression of Python. In REPLACEMENT, `&` is what matched and `\\1` to `\\9` are its groups.
    Any mark may take the place of `/`. Flags: `g` for every match instead of the first, `i` to ignore case.
    """
    if text[:1] != "s" or not text[1:2].strip() or text[1].isalnum() or text[1] == "\\":
        raise BadText("an expression such as 's/old/new/' is awaited", 1, 1, text)
    pattern, replacement, flags = _parts_of_substitution(text)
    for flag, column in zip(*flags, strict=False):
        if flag not in _FLAGS:
            raise BadText(f"{flag!r} is not a flag (g: every match, i: ignore case)", 1, column, text)
    try:
        compiled = re.compile(pattern.text, re.IGNORECASE if "i" in flags.text else 0)
    except re.error as error:
        raise BadText(f"the pattern is wrong: {error.msg}", 1, pattern.columns[error.pos or 0], text) from None
    pieces = tuple(_pieces(replacement, compiled.groups, text))

    def replaced(found: re.Match[str]) -> str:
        return "".join(each if isinstance(each, str) else found[each] or "" for each in pieces)

    return lambda topic: compiled.sub(replaced, topic, count=0 if "g" in flags.text else 1)


def in_turn(steps: Iterable[Rewrite]) -> Rewrite:
    """Return what rewrites a topic by each of the steps in turn."""
    steps = tuple(steps)

    def rewritten(topic: str) -> str:
        for step in steps:
            topic = step(topic)
        return topic

    return rewritten


def rewrite_filter(filter: str, how: Rewrite) -> str:
    """Return a Topic Filter rewritten; of a shared subscription, what follows the ShareName (5.0: 4.8.2)."""
    if not filter.startswith(SHARE):
        return how(filter)
    name, mark, rest = filter.removeprefix(SHARE).partition("/")
    return f"{SHARE}{name}{mark}{how(rest)}"


def is_topic_name(text: str) -> bool:
    """Whether a message can have this topic (5.0: 4.7.1)."""
    return bool(text) and not {"#", "+", "\0"} & set(text)


def _parts_of_substitution(text: str) -> list[_Part]:
    """Return pattern, replacement and flags."""
    mark = text[1]
    found: list[_Part] = []
    part = ""
    columns: list[int] = []
    at = 2
    while at < len(text):
        here = text[at]
        if here == mark and len(found) < 2:
            found.append(_Part(part, [*columns, at + 1]))
            part, columns = "", []
        elif here == "\\" and at + 1 < len(text) and len(found) < 2:
            # Only before the mark itself is the backslash meant for this notation.
            kept = text[at + 1] if text[at + 1] == mark else text[at : at + 2]
            part += kept
            columns += range(at + 3 - len(kept), at + 3)
            at += 1
        else:
            part += here
            columns.append(at + 1)
        at += 1
    if len(found) < 2:
        what = "pattern" if not found else "replacement"
        raise BadText(f"the {what} does not end: {mark!r} is missing", 1, len(text) + 1, text)
    return [*found, _Part(part, columns)]


def _pieces(replacement: _Part, groups: int, source: str) -> Iterator[str | int]:
    """Yield what stands for a match: texts, and numbers of its groups."""
    text, at = replacement.text, 0
    while at < len(text):
        here, after = text[at], text[at + 1 : at + 2]
        if here == "&":
            yield 0
        elif here == "\\" and after:
            at += 1
            if after in "0123456789":
                if int(after) > groups:
                    raise BadText(f"the pattern has no group {after}", 1, replacement.columns[at - 1], source)
                yield int(after)
            else:
                yield after
        else:
            yield here
        at += 1
