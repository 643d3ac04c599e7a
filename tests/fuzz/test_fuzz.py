"""The short form of fuzzing: seeds and changed ones through every target, with the same choices in each run.

The long form, guided by coverage, is tests/fuzz/atheris_run.py.
"""

import time
from contextlib import ExitStack
from itertools import islice
from random import Random

import pytest

from mqttpub.capture.containers.registry import RecordReader
from mqttpub.columns.runs.read import AllRuns
from mqttpub.reading.input import Input, InputOptions
from mqttpub.traffic.runs import PacketRun
from tests.fuzz.growth import GROWTHS
from tests.fuzz.memory import MEMORIES, peak
from tests.fuzz.mutated import mutated
from tests.fuzz.seeds import captures, seeds
from tests.fuzz.strategies import fuzzed
from tests.fuzz.targets import TARGETS, VIEWS, Dribble, program

EXAMPLES = {
    "packet": 150, "stream": 1500, "talk": 32, "file": 250, "segments": 200, "connection": 32, "websocket": 32,
    "text": 1500, "transcript": 150, "picked": 1500, "program": 100,
}  # fmt: skip
"""Inputs of each target, up to two seconds of processor time each."""
STEEPEST = 2.5
"""How many times as much as the size the time may grow; that would be 4 if it grew with the square."""

TOTAL = ((), ("--json",), ("--summary",), ("--ladder",), ("--pdml",))
"""Views that show something of every capture that holds packets."""

each_target = pytest.mark.parametrize("name", TARGETS)


def test_every_target_has_seeds() -> None:
    assert set(EXAMPLES) == set(TARGETS) == set(seeds())
    assert all(seeds().values())


@each_target
def test_changed_seeds_break_nothing(name: str) -> None:
    fuzzed(name, EXAMPLES[name])()


@pytest.mark.slow
@each_target
def test_the_seeds_break_nothing(name: str) -> None:
    for arguments in seeds()[name]:
        TARGETS[name](*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: " ".join(view) or "annotated")
def test_every_view_of_every_capture_and_of_mutated_ones(view: tuple[str, ...]) -> None:
    random = Random(" ".join(view))
    for name, raw in captures().items():
        shown = program(raw, view)
        assert shown.out or view not in TOTAL or name == "kinds.pcapng", shown
        program(mutated(random, raw), view, random.choice(("utf-8", "ascii", "latin-1")))


def test_captures_among_the_seeds_are_whole() -> None:
    for name, raw in captures().items():
        assert list(RecordReader(Dribble(raw))), name


@pytest.mark.slow
@pytest.mark.parametrize("name", GROWTHS)
def test_four_times_the_input_takes_about_four_times_as_long(name: str) -> None:
    growth = GROWTHS[name]
    inputs = [growth.make(growth.size * times) for times in (1, 4)]
    grown = max(4, len(inputs[1]) / len(inputs[0]))
    # What was slow because the machine was busy is tried again.
    for attempt in range(4):
        one, four = (_seconds(growth.use, data, attempt + 1) for data in inputs)
        if four <= STEEPEST * grown * max(one, 0.005):
            return
    pytest.fail(f"{one * 1000:.0f} ms for {len(inputs[0])} bytes, {four * 1000:.0f} ms for {len(inputs[1])}")


def _seconds(use: object, data: bytes, times: int) -> float:
    """Return the least processor time of a few runs."""
    taken = []
    for _ in range(times):
        begun = time.process_time()
        use(data)  # type: ignore[operator]
        taken.append(time.process_time() - begun)
    return min(taken)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEMORIES)
def test_a_large_capture_is_read_in_64_mb(name: str) -> None:
    memory = MEMORIES[name]
    used = peak(memory.written())
    assert used < 64 * 1000 + memory.largest // 1000, f"{used / 1000:.1f} MB"


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("short lives", marks=pytest.mark.long), "specks", "large packet"])
def test_reading_in_columns_takes_no_more_than_its_libraries_and_64_mb(name: str) -> None:
    memory = MEMORIES[name]
    used = peak(memory.written(), columns=True)
    assert used < LIBRARIES_KB + 64 * 1000 + memory.largest // 1000, f"{used / 1000:.1f} MB"


@pytest.mark.slow
@pytest.mark.parametrize("view", ["--summary", "--flows", "--stats", "--json"])
def test_runs_of_tiny_packets_take_no_more_than_their_libraries_and_64_mb(view: str) -> None:
    path = MEMORIES["tiny"].written()
    with ExitStack() as stack:
        events = iter(AllRuns([Input.opened(str(path), stack)], InputOptions()))
        assert sum(isinstance(each, PacketRun) for each in islice(events, 20)) > 10
    used = peak(path, view, columns=True)
    assert used < LIBRARIES_KB + 64 * 1000, f"{used / 1000:.1f} MB"


LIBRARIES_KB = 62_000
"""What numpy and pyarrow take."""
