"""The arguments of targets as strategies: seeds that were changed, and choices; for Hypothesis and for atheris."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqttpub.capture.text.parse import FORMS
from mqttpub.spec.versions import Version
from tests.fuzz.built import Step
from tests.fuzz.mutated import mutated, scratched
from tests.fuzz.seeds import MOST, seeds
from tests.fuzz.targets import DIRECTIONS, ENCODINGS, TARGETS, VERSIONS, VIEWS

BYTE = st.integers(0, 255)


def edited(random: Random, steps: Sequence[Step]) -> list[Step]:
    """Return steps of which a few differ, are new, gone, repeated or swapped."""
    made = list(steps)
    for _ in range(random.choice((1, 1, 2, 4, 8))):
        at, other = random.randrange(len(made) + 1), random.randrange(len(made) + 1)
        match random.randrange(8):
            case 0:
                del made[at : at + 1]
            case 1:
                made[at:at] = made[other : other + 1]
            case 2:
                made.insert(at, Step(random.randrange(256), random.randbytes(random.randrange(40))))
            case 3 if at < len(made) > other:
                made[at], made[other] = made[other], made[at]
            case 4 if at < len(made):
                made[at] = made[at]._replace(choice=made[at].choice ^ 1 << random.randrange(8))
            case _ if at < len(made):
                made[at] = made[at]._replace(data=scratched(random, made[at].data))
    return made


def arguments(name: str, changes: st.SearchStrategy[Random]) -> tuple[st.SearchStrategy[Any], ...]:
    """Return the strategies of a target's arguments."""

    def changed(at: int, change: Callable[[Random, Any], Any] = scratched) -> st.SearchStrategy[Any]:
        return st.builds(change, changes, st.sampled_from([each[at] for each in seeds()[name]]))

    few = st.binary(max_size=20)
    match name:
        case "packet":
            return st.sampled_from(VERSIONS), st.sampled_from(DIRECTIONS), changed(2)
        case "stream":
            return st.sampled_from(MOST), st.binary(min_size=4, max_size=4), changed(2)
        case "talk":
            return st.sampled_from(Version), changed(1, edited)
        case "file":
            return st.integers(0, 65535), changed(1, mutated)
        case "segments":
            return (changed(0, edited),)
        case "connection":
            return BYTE, changed(1, edited)
        case "websocket":
            return BYTE, st.tuples(few, few), changed(2, edited)
        case "text":
            return st.sampled_from(FORMS), changed(1)
        case "program":
            return changed(0, mutated), st.sampled_from(VIEWS), st.sampled_from(ENCODINGS)
    return (changed(0),)


def fuzzed(name: str, examples: int | None = None) -> Callable[[], None]:
    """Return a test of a target by examples, the same each time; its `hypothesis.fuzz_one_input` takes any bytes.

    Without a number of examples, each number that changes need is drawn, so that a fuzzer can steer them. That takes
    longer than to draw the seed of all.
    """

    @settings(max_examples=examples or 1, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.tuples(*arguments(name, st.randoms(use_true_random=examples is not None))))
    def test(given: tuple[Any, ...]) -> None:
        TARGETS[name](*given)

    return test
