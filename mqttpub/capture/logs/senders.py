"""Who sent what, from all lines together: packets that only one end sends show what words and columns mean."""

from collections import Counter

from ...codec.framing import frame_length
from ...spec.declare import only_sender
from ...spec.versions import Direction
from .account import Log
from .assembly import Taken
from .directions import Mark

_LEAST = 2
"""Packets that show which end a word stands for, at least."""
_OTHER = {">": "<", "<": ">"}
_MOST_VOTES = 10_000
"""Words and ends that are remembered."""
_CLEAR = 3
"""How many times as many packets agree with words as contradict them, at least."""


class Senders:
    """Learns the sides of marks; `log` keeps what the words mean, and what contradicts them."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._votes: dict[Mark, Counter[str]] = {}
        self._told: set[tuple[str, str]] = set()
        """Kinds of marks, each with a side for which it is a sign."""

    def learn(self, taken: Taken) -> None:
        """Note the ends that send the packets of a mark."""
        side, mark = sender(taken.data), taken.mark
        if mark is None:
            return
        if mark.kind == "word":
            self._log.marked = True
        if not side or len(self._votes) > _MOST_VOTES:
            return
        for each in _parts(mark):
            self._votes.setdefault(each, Counter())[side] += 1

    def decide(self) -> None:
        """Decide what the words of the log mean."""
        client = self._count(">", ">") + self._count("<", "<")
        server = self._count(">", "<") + self._count("<", ">")
        self._log.swapped = server > client
        labels = {(each.kind, side) for each in self._votes if each.kind != "pair" and (side := self._unanimous(each))}
        words = {side for kind, side in labels if kind in ("word", "end")}
        self._told = {(kind, side) for kind, side in labels if (kind, _OTHER[side]) in labels or _OTHER[side] in words}
        self._log.without_direction = min(client, server) * _CLEAR > max(client, server)

    def _count(self, word: str, side: str) -> int:
        return self._votes.get(Mark(word, "word"), Counter())[side]

    def side(self, taken: Taken) -> str:
        """Return `>`, `<`, or nothing for the sender of packets; their types count more than what the line says."""
        mark = taken.mark
        shown, certain = self._meant(mark), sender(taken.data)
        if certain and shown and certain != shown:
            if mark and mark.kind in ("word", "end"):
                self._log.contradicted += 1
                self._log.first_contradicted = self._log.first_contradicted or taken.run.line.number
            return ""
        return shown

    def _meant(self, mark: Mark | None) -> str:
        if mark is None:
            return ""
        if mark.kind == "end":
            return mark.side
        if mark.kind == "word":
            if self._log.without_direction:
                return ""
            return _OTHER[mark.side] if self._log.swapped else mark.side
        return self._learned(mark)

    def _learned(self, mark: Mark) -> str:
        """Return the side of a label or a pair: the packets have to agree, and others have to be the other side."""
        if mark.kind == "pair":
            found, turned = self._unanimous(mark), self._unanimous(_turned(mark))
            return (found or _OTHER.get(turned, "")) if found != turned else ""
        told = {(each.kind, self._unanimous(each)) for each in _parts(mark)} & self._told
        sides = {side for _, side in told}
        return sides.pop() if len(sides) == 1 else ""

    def _unanimous(self, mark: Mark) -> str:
        votes = self._votes.get(mark)
        if not votes or len(votes) > 1 or (mark.kind == "label" and votes.total() < _LEAST):
            return ""
        return next(iter(votes))


def _parts(mark: Mark) -> list[Mark]:
    """Return what may show the sender: each word of a label and its indent, or the mark as a whole."""
    if mark.kind != "label":
        return [mark]
    return [Mark(mark.side[:1], "indent"), *(Mark(word, "label") for word in {*mark.side.split()})]


def _turned(mark: Mark) -> Mark:
    return mark._replace(side=mark.side[:-1] + _OTHER[mark.side[-1]])


def sender(data: bytes) -> str:
    """Return the side of the first packet that only one end may send; nothing if both may send all of them."""
    at = 0
    while at < len(data):
        end = only_sender(data[at] >> 4)
        if end:
            return ">" if end is Direction.CLIENT else "<"
        at += frame_length(data, at) or len(data)
    return ""
