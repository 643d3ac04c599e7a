"""The text of a rule: a pattern of `--filter`, then an action from the first word that names one."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ...common.bad_text import BadText
from ...script.lex import ScriptWord, shown, steps
from ...script.names import given
from ...script.packets import StepContext, changed, defaults
from ...script.steps import GivenField, GivenProperty
from ...script.values import time_ns
from ...spec.declare import MISSING
from ...spec.packets import PACKETS, Packet
from ...spec.versions import Version
from ...traffic.events import Endpoints, PacketSeen
from ...traffic.query import PacketFilter, Words, wrong

Given = Sequence[GivenField | GivenProperty]
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%")
_DIGITS = re.compile(r"[0-9]{1,9}")
_JUDGED = ("finding", "severity", "fault", "record")
"""Terms of a filter for what only a capture or a judge knows."""
_FLAGS = ("dup", "retain", "finding")
"""Terms without a value."""


class FaultRule(NamedTuple):
    """Which packets a fault befalls, and what it does to them."""

    text: str
    pattern: PacketFilter
    action: str
    """A name of ACTIONS."""
    chance_percent: float | None = None
    """Of 100 packets that the pattern chooses, how many it befalls; None for all."""
    number: int = 0
    """Later packets that go first, bytes that are cut off, or bytes of a slice."""
    delay_s: float = 0.0
    jitter_s: float = 0.0
    changes: Mapping[type[Packet], Given] = {}
    """For each type of packet that it can change: the new values."""
    words: str = ""
    """What `set` sets, as it was written."""


def fault_rule(text: str) -> FaultRule:
    """Return the rule for a text; raises ValueError, which says at which character the text is wrong.

    A rule that can never act, such as one that sets what none of its packets has, is wrong too.
    """
    name, start = _action(text)
    pattern = PacketFilter.parse(text[:start])
    types = _types(text[:start])
    # Blanks in place of the pattern, so that a column is that of the text.
    found = steps(" " * (start + len(name)) + text[start + len(name) :], 1)
    try:
        if len(found) > 1:
            raise found[1][0].error("a rule has one action")
        words = found[0] if found else []
        chance = None
        if words and (percent := _PERCENT.fullmatch(words[-1].text)):
            chance = float(percent[1])
            if not 0 < chance <= 100:
                raise words[-1].error(f"{shown(words[-1].text)} is not a chance (up to 100%)")
            words = words[:-1]
        rule = FaultRule(text, pattern, name, chance)
        return ACTIONS[name](rule, words, _ActionPlace(len(text), types))
    except BadText as error:
        raise wrong(error.column - 1, error.message) from None


def _action(text: str) -> tuple[str, int]:
    """Return the name of the action and the offset at which it begins."""
    before = ""
    for word, place in Words(text).words:
        # What follows a comma is an alternative, or another value.
        if before not in (",", "!"):
            if word in ACTIONS:
                return word, place
            if "=" not in word and word not in (*_FLAGS, ",", "!"):
                raise wrong(place, f"{shown(word)} is neither a term of --filter nor an action ({', '.join(ACTIONS)})")
        before = word
    raise wrong(len(text), f"an action is missing ({', '.join(ACTIONS)})")


class _ActionPlace(NamedTuple):
    """What the words of an action are checked against."""

    end: int
    """Offset at which a word that is missing would stand."""
    types: Sequence[type[Packet]]
    """Types that the pattern can choose."""

    def missing(self, message: str) -> ValueError:
        return wrong(self.end, message)


# which packets


def _types(pattern: str) -> list[type[Packet]]:
    """Return the types of packet that a pattern can choose; raises ValueError if there is none."""
    types = list(PACKETS.values())
    for term in _terms(Words(pattern)):
        keys = {word.partition("=")[0]: place for word, place in term if "=" in word or word in _FLAGS}
        if judged := next((key for key in keys if key in _JUDGED), None):
            raise wrong(keys[judged], f"{judged} is for captures: a fault befalls a packet before anything judges it")
        if set(keys) == {"type"}:
            chosen = PacketFilter.parse("".join(word for word, _ in term))
            types = [cls for cls in types if chosen.matches(_any_packet(cls))]
    if not types:
        raise wrong(0, f"{shown(pattern.strip())} chooses no packet")
    return types


def _terms(words: Words) -> Iterator[list[tuple[str, int]]]:
    """Yield the words of each term that must be true, with its alternatives."""
    term: list[tuple[str, int]] = []
    for word, place in words.words:
        if term and word != "," and term[-1][0] not in (",", "!"):
            yield term
            term = []
        term.append((word, place))
    if term:
        yield term


def _any_packet(cls: type[Packet]) -> PacketSeen:
    return PacketSeen(Endpoints(1, "", ""), None, 0, bytes((cls.code << 4,)), 0, None, Version.V5, False)


# what becomes of them


def _bare(rule: FaultRule, words: list[ScriptWord], place: _ActionPlace) -> FaultRule:
    if words:
        raise words[0].error(f"{shown(words[0].text)} is one word too many; a chance such as 10% can follow")
    return rule


def _counted(what: str) -> Callable[[FaultRule, list[ScriptWord], _ActionPlace], FaultRule]:
    def read(rule: FaultRule, words: list[ScriptWord], place: _ActionPlace) -> FaultRule:
        if not words:
            raise place.missing(f"a number of {what} is missing, such as {rule.action} 2")
        first, *rest = words
        if not _DIGITS.fullmatch(first.text) or not int(first.text):
            raise first.error(f"{shown(first.text)} is not a number of {what} (1, 2 ...)")
        return _bare(rule._replace(number=int(first.text)), rest, place)

    return read


def _delay(rule: FaultRule, words: list[ScriptWord], place: _ActionPlace) -> FaultRule:
    if not words:
        raise place.missing("a time is missing, such as delay 200ms")
    first, *rest = words
    rule = rule._replace(delay_s=time_ns(first) / 1e9)
    if rest and rest[0].text == "jitter":
        if len(rest) == 1:
            raise place.missing("a time is missing, such as jitter 50ms")
        rule = rule._replace(jitter_s=time_ns(rest[1]) / 1e9)
        rest = rest[2:]
    return _bare(rule, rest, place)


def _set(rule: FaultRule, words: list[ScriptWord], place: _ActionPlace) -> FaultRule:
    if not words:
        raise place.missing("a field or a property and its value are missing, such as set reason_code=0x97")
    changes: dict[type[Packet], Given] = {}
    unknown: list[BadText] = []
    unfit: list[BadText] = []
    for cls in place.types:
        try:
            found = [each for word in words for each in given(word, cls)]
        except BadText as error:
            (unknown if " has no " in error.message else unfit).append(error)
            continue
        try:
            _check(found, cls)
            changes[cls] = found
        except BadText as error:
            unfit.append(error)
    if not changes:
        raise unfit[0] if unfit else unknown[0] if len(unknown) == 1 else _unknown(unknown, words)
    return rule._replace(changes=changes, words=" ".join(word.text for word in words))


def _unknown(errors: list[BadText], words: list[ScriptWord]) -> BadText:
    """Return the error about a word that none of several types of packet has, or not together with the others."""
    column = max(error.column for error in errors)
    word = next(word for word in words if word.column == column)
    return word.error(f"none of these packets has {shown(word.text)}{' too' if word != words[0] else ''}")


def _check(found: Given, cls: type[Packet]) -> None:
    """Raise BadText for values that no version of a type of packet can have."""
    lacking = {key: field for key, field in cls.fields.items() if field.default is MISSING or key == "packet_id"}
    sample = cls(**{key: defaults(cls).get(key, 1) for key in lacking})
    try:
        changed(sample, found, StepContext(Version.V5, {}, {}))
    except BadText as error:
        for version in (Version.V311, Version.V31):
            with suppress(BadText):
                changed(sample, found, StepContext(version, {}, {}))
                return
        raise error


ACTIONS: dict[str, Callable[[FaultRule, list[ScriptWord], _ActionPlace], FaultRule]] = {
    "delay": _delay,
    "drop": _bare,
    "twice": _bare,
    "reorder": _counted("later packets"),
    "set": _set,
    "cut": _counted("bytes"),
    "slice": _counted("bytes"),
    "close": _bare,
    "reset": _bare,
    "silence": _bare,
}
"""What each action makes of the words after its name."""
