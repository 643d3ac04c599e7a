"""Groups of findings, those with the most first, as lines of a screen or as JSON values."""

from collections.abc import Iterator
from typing import Any

from ...common.escape import escape, json_text
from ...common.words import counted, plural
from ...reading.grouping import FindingGroup, FindingGroups, GroupName
from ...reading.selection import SEVERITIES
from ..terminal.cells import Line, Segment, cells, clip, measure, wrap

MOST_SHOWN = 10
"""Groups on a screen, unless all are asked for."""
MOST_NAMED = 5
"""Statements of a group, or clients of a statement, that a line names."""
_NAME_CELLS = 32
_SHORTEST = 24
"""Cells of the narrowest column of names; where there are fewer, they are below."""
_UNNAMED = {"client": "(not known)", "statement": "(none)", "topic": "(no PUBLISH)"}


def group_lines(groups: FindingGroups, width: int, most: int | None = MOST_SHOWN) -> Iterator[Line]:
    """Yield a heading, a line or more for each of the first `most` groups (None shows all), and what is left out."""
    ranked = groups.ranked()
    shown = ranked[:most]
    names = [clip(_name(each.name, groups.by), _NAME_CELLS) for each in shown]
    counts = [_counts(each) for each in shown]
    first, second = max(map(cells, names), default=0), max(map(measure, counts), default=0)
    room = width - first - second - 6
    yield [(f"Findings by {groups.by}, most first", "heading")]
    for each, name, count in zip(shown, names, counts, strict=True):
        head: Line = [("  ", ""), (name, "text"), (" " * (first - cells(name) + 2), ""), *count]
        parts = wrap([(_parts(each, groups.by), "dim")], room if room >= _SHORTEST else width - 4)
        if room >= _SHORTEST:
            yield [*head, (" " * (second - measure(count) + 2), ""), *parts[0]]
            parts = parts[1:]
            indent = first + second + 6
        else:
            yield head
            indent = 4
        yield from ([(" " * indent, ""), *line] for line in parts)
    if said := _left_out(groups, shown):
        yield from wrap([("  ", ""), (said, "dim")], width)


def group_records(groups: FindingGroups) -> Iterator[dict[str, Any]]:
    """Yield a JSON object for each group, and one for what is left out, if anything is."""
    shown, others = groups.ranked(), "client" if groups.by == "statement" else "statement"
    for each in shown:
        parts = [{**_named(part, others), "findings": count} for part, count in each.parts.most_common()]
        yield {
            "event": "group", "by": groups.by, **_named(each.name, groups.by), "findings": each.findings,
            **{f"{word}s": each.severities[word] for word in SEVERITIES},
            f"{others}s": parts, "findings_left_out": each.parts_left_out,
        }  # fmt: skip
    if left := groups.findings - sum(each.findings for each in shown):
        yield {"event": "groups_left_out", "by": groups.by, "findings": left}


def _name(name: GroupName, by: str) -> str:
    return escape(str(name)) if name.text else str(name) or _UNNAMED[by]


def _named(name: GroupName, by: str) -> dict[str, Any]:
    text = json_text(name.text) or None
    return {by: text, "end": name.end.value} if name.end else {by: text}


def _counts(group: FindingGroup) -> list[Segment]:
    found = [(counted(group.severities[word], word), word) for word in SEVERITIES if group.severities[word]]
    return [segment for each in found for segment in ((", ", ""), each)][1:]


def _parts(group: FindingGroup, by: str) -> str:
    most = group.parts.most_common(MOST_NAMED)
    of = "client" if by == "statement" else "statement"
    words = [_name(part, of) + (f" ({count:,})" if count > 1 else "") for part, count in most]
    if rest := group.findings - sum(count for _, count in most):
        words.append(f"{rest:,} of others")
    return ", ".join(words)


def _left_out(groups: FindingGroups, shown: list[FindingGroup]) -> str:
    findings = groups.findings - sum(each.findings for each in shown)
    if not findings:
        return ""
    more = len(groups) - len(shown)
    words = f"{more:,} more {plural(more, groups.by)} with {counted(findings, 'finding')}"
    return f"... at least {words}; counts may be too low" if groups.dropped else f"... {words}"
