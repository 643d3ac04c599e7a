"""Topic Filters and what they match (5.0: 4.7, 4.8.2)."""

from collections.abc import Sequence

from ..spec.constraints import SHARE


def topic_matches(filter_levels: Sequence[str], topic_levels: Sequence[str]) -> bool:
    """Whether a Topic Filter matches a Topic Name, both split at `/`.

    A topic that begins with `$` is not matched by a filter that begins with a wildcard (5.0: 4.7.2).
    """
    if topic_levels[0].startswith("$") and filter_levels[0] in ("+", "#"):
        return False
    for index, level in enumerate(filter_levels):
        if level == "#":
            return True
        if index == len(topic_levels) or level not in ("+", topic_levels[index]):
            return False
    return len(filter_levels) == len(topic_levels)


def has_wildcard(filter: str) -> bool:
    """Whether a Topic Filter has a wildcard."""
    return "+" in filter or "#" in filter


def split_shared(filter: str) -> tuple[str, str]:
    """Split `$share/NAME/filter` into name and filter; the name is empty for a filter that is not shared."""
    if filter.startswith(SHARE):
        name, _, rest = filter[len(SHARE) :].partition("/")
        if name and rest:
            return name, rest
    return "", filter


def filter_problem(filter: str) -> str:
    """Return why a text is not a Topic Filter (5.0: 4.7.1), as the end of a sentence; empty if it is one."""
    levels = filter.split("/")
    if not filter:
        return "it is empty"
    if "#" in levels[:-1]:
        return "# is not its last level"
    if any(len(level) > 1 and has_wildcard(level) for level in levels):
        return "a wildcard must be a whole level"
    return ""
