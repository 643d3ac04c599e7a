"""Topics in a column that is too narrow for them: what they share is left out, and each keeps what distinguishes it."""

from collections.abc import Sequence

from ...view.terminal.cells import MIDDLE_MARK, clip_middle, reach

STEP = 4
"""Cells by which the column grows until no two topics read alike."""
SHORTEST_LEVEL = 4
"""Cells below which a level is not cut: two of them would be the mark."""


def shared_levels(topics: Sequence[str]) -> str:
    """Return the levels, each with its slash, that all topics begin with and something follows."""
    first, last = min(topics), max(topics)
    most = min(_alike(first, last), min(map(len, topics)) - 1)
    return first[: first.rfind("/", 0, max(most, 0)) + 1]


def _alike(one: str, other: str) -> int:
    """Return the number of characters that two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def short_topics(topics: Sequence[str], room: int, most: int) -> list[str]:
    """Return different topics in at most `room` cells each, or in up to `most` where two would read alike."""
    names = [_short(topic, room) for topic in topics]
    while len(set(names)) < len(names) and room < most:
        room = min(room + STEP, most)
        names = [_short(topic, room) for topic in topics]
    return [_told_apart(topic, name, topics, names, room) for topic, name in zip(topics, names, strict=True)]


def _short(topic: str, room: int) -> str:
    """Return a topic whose longest levels are cut in their middles until it fits."""
    if reach(topic, room) <= room:
        return topic
    levels = topic.split("/", room + 1)
    spare = room - len(levels) + 1
    sizes = [reach(level, room) for level in levels]
    for most in range(spare, SHORTEST_LEVEL - 1, -1):
        if sum(min(size, most) for size in sizes) <= spare:
            return "/".join(clip_middle(level, most) for level in levels)
    return clip_middle(topic, room)


def _told_apart(topic: str, name: str, topics: Sequence[str], names: Sequence[str], room: int) -> str:
    """Return the name of a topic, or where another has the same name the part from which on they differ."""
    alike = [each for each, other in zip(topics, names, strict=True) if other == name and each != topic]
    if not alike:
        return name
    begin = max(_alike(topic, each) for each in alike)
    return f"{MIDDLE_MARK}{clip_middle(topic[begin:], room - len(MIDDLE_MARK))}"
