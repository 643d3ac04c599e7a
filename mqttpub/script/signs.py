"""The words by which a text is known as a script, without what reads one: every text is asked."""

import re
from itertools import takewhile

from ..spec.declare import Packet
from ..spec.packets import PACKETS
from ..spec.versions import Direction, Version

TYPES: dict[str, type[Packet]] = {cls.name.lower(): cls for cls in PACKETS.values()}
"""The fifteen packets by their names in a script."""
LABEL = re.compile(r"\[([A-Za-z0-9_.-]{1,64})\]")
MARKS = re.compile(r"(!?)([<>])([?*]?)")
_WAIT = re.compile(r"\+[0-9]+(?:\.[0-9]+)?(?:ms|s)?")
SIDES = {"client": Direction.CLIENT, "server": Direction.SERVER}


def is_script(first: str) -> bool:
    """Whether the first line of a text that is neither blank nor a comment is a step of a script.

    Lines of hex after `>` or `<` are not: they are notations of bytes, which a script shares. Nor is a text of
    comments, which other notations have too.
    """
    lines = [line for line in map(str.strip, first.removeprefix("\ufeff").split("\n")) if line]
    step = next((line for line in lines if not line.startswith("#")), "")
    words = takewhile(lambda word: not word.startswith("#"), step.partition(";")[0].split())
    return bool(step) and _begins_script(list(words))


def _begins_script(words: list[str]) -> bool:
    """Whether these words are a step that no other text has."""
    if words[:1] == ["version"]:
        return len(words) > 1 and all(map(_is_version, words[1:]))
    opening = list(takewhile(lambda word: LABEL.fullmatch(word) or word in ("mid", "@"), words))
    first, *rest = words[len(opening) :] or [""]
    if "@" in opening or (opening[-1:] == ["mid"] and not first):
        return True
    name = first.removeprefix("!")
    if name in SIDES:
        return len(rest) == 1 and rest[0] in ("FIN", "RST")
    if opening and not rest and (name == "end" or first == "gap" or _WAIT.fullmatch(first)):
        return True
    marks = MARKS.match(first)
    packet = next(filter(None, (first[marks.end() :], *rest)), "") if marks else ""
    return packet in (*TYPES, "raw", "none")


def _is_version(text: str) -> bool:
    return text in {version.label for version in Version}
