"""Which topics a Topic Filter matches."""

from collections.abc import Sequence


def covers(pattern: Sequence[str], topic: Sequence[str]) -> bool:
    """Whether a Topic Filter matches a Topic Name, both cut into levels (5.0: 4.7)."""
    if topic[0].startswith("$") and pattern[0] in ("+", "#"):
        return False
    for index, level in enumerate(pattern):
        if level == "#":
            return True
        if index == len(topic) or level not in ("+", topic[index]):
            return False
    return len(pattern) == len(topic)
