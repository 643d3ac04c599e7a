"""Conversations that keep every rule have no findings, whatever part of them was captured."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.tree import Finding
from mqttpub.lint.connection import Conversation
from mqttpub.spec.versions import Direction, Version
from tests.lint.connection.valid import Seen, conversation

randoms = st.randoms(use_true_random=False)
seeds = st.integers(0, 2**32)


def heard(talk: Conversation, seen: list[Seen], version: Version, *, fast: bool = True) -> list[Finding]:
    """Return all that is found in some packets."""
    found: list[Finding] = []
    for time, direction, data in seen:
        if fast:
            found += talk.fast(data, decode_packet(data, version), direction, time, version)
        else:
            found += talk.packet(decode(data, version, direction=direction), time)
    return found


def ended(talk: Conversation, seen: list[Seen]) -> list[Finding]:
    """Return what is found when both ends close."""
    last = seen[-1].time if seen else 0
    closes = [(Direction.CLIENT, "FIN"), (Direction.SERVER, "FIN"), (None, "end")]
    return [each for end, how in closes for each in talk.closed(end, how, last + 1)]


@given(seeds, st.sampled_from(Version), st.booleans())
@settings(max_examples=50)
def test_a_whole_conversation(seed: int, version: Version, fast: bool) -> None:
    seen = conversation(Random(seed), version)
    talk = Conversation()
    assert heard(talk, seen, version, fast=fast) + ended(talk, seen) == []


@given(seeds, st.sampled_from(Version), st.integers(0, 60))
@settings(max_examples=50)
def test_a_conversation_without_its_beginning(seed: int, version: Version, missing: int) -> None:
    seen = conversation(Random(seed), version)[missing:]
    talk = Conversation(version, complete=False)
    assert heard(talk, seen, version) + ended(talk, seen) == []


@given(seeds, st.sampled_from(Version), st.integers(1, 40), st.integers(1, 20), st.sampled_from([None, *Direction]))
@settings(max_examples=50)
def test_missing_packets_cause_no_finding(
    seed: int, version: Version, start: int, length: int, one: Direction | None
) -> None:
    seen = conversation(Random(seed), version)
    lost = [each for each in seen[start : start + length] if one in (None, each.direction)]
    if not lost:
        return
    first = seen.index(lost[0])
    talk = Conversation()
    found = heard(talk, seen[:first], version)
    talk.gap(one, 10)
    missing = {id(each) for each in lost}
    rest = [each for each in seen[first:] if id(each) not in missing]
    # A gap is told again whenever more is missing.
    for each in rest:
        if lost and each.time > lost[0].time:
            talk.gap(one, 10)
            lost.pop(0)
        found += heard(talk, [each], version)
    assert found + ended(talk, seen) == []


@pytest.mark.slow
@pytest.mark.parametrize("version", list(Version))
def test_many_long_conversations(version: Version) -> None:
    for seed in range(150):
        seen = conversation(Random(seed), version, 400)
        talk = Conversation()
        assert heard(talk, seen, version) + ended(talk, seen) == [], seed
