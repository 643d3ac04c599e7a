"""Runs of the pipeline on an object store, killed at random moments, and what readers of the tables see then.

Runs replace, continue and add to tables in turn; each is repeated until it is in the tables. Half of the moments
are points in time, half are requests to the store, as a commit is short.
"""

import os
import random
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from mqttpub.spark.pipeline.manifest import MANIFEST, Manifest
from mqttpub.spark.storage.folder import StorageFolder
from mqttpub.spark.storage.lock import LOCK
from tests.build.kills import KilledProgram, kill
from tests.build.object_store import ObjectStore
from tests.processes import below, words_of
from tests.program import PROGRAM
from tests.scenarios.spark.kills import parts
from tests.scenarios.spark.test_object_store import named
from tests.spark.running import piped

STEPS = (("overwrite", 2), ("resume", 4), ("append", 6))
"""Modes, and how many files of the ring a run is given."""
OPTIONS = ("--lint", "--partition-by", "type", "--no-summary")
WITHOUT = "none"
"""The master of runs without Spark."""
SIZES = {True: ("--partitions", "6"), False: ("--conf", "spark.executor.memory=600m")}
"""More options, by whether the run is without Spark."""
_LEFT = re.compile(r".*/(part|open)-[^/]*|_state/.*")
_SENTENCES = re.compile(r"(mqttpub: .*\n)+")
"""The step that a run was at, if it took long, and how it ended."""
Rows = dict[str, list[str]]


class Place(NamedTuple):
    """Where a run is done, and what of it is killed."""

    name: str
    master: str
    part: str
    """One of kills.parts, or "all" for each process of the program."""


class Killed(NamedTuple):
    """What a reader saw after a kill."""

    place: str
    mode: str
    moment: str
    state: str
    """old or new: the tables before the run, or after it."""


class Lasted(NamedTuple):
    """How long a run takes."""

    seconds: float
    requests: int
    """Requests to the store, each counted when it comes and when it is answered."""


class TableKills:
    """A folder of tables in a store, and a folder here where every run that is in them was repeated without a kill."""

    def __init__(
        self, store: ObjectStore, out: str, ring: list[Path], folder: Path, seed: int, say: Callable[[str], None],
        *, table_format: str = "parquet", seen: Callable[[str], Rows] = named,
    ) -> None:  # fmt: skip
        self.out = out
        self.killed: list[Killed] = []
        self._store, self._ring, self._folder, self._say = store, ring, folder, say
        self._format, self._seen = table_format, seen
        self._chance = random.Random(seed)
        self._steps = 0
        self._clean, self._next = folder / "clean", folder / "next"
        self._lasted: dict[tuple[str, str], Lasted] = {}
        """How long runs took that nobody killed, by master and mode."""

    def run(self, plan: list[Place]) -> None:
        """Kill a run for each place, then do one of each mode without a kill; raises AssertionError."""
        self._step()
        places = {each.master: each for each in plan}
        for place in places.values():
            self._uninterrupted(place)
        quickest = min(self._lasted, key=lambda each: self._lasted[each].seconds)[0]
        for _ in STEPS[1:]:
            self._uninterrupted(places[quickest])
        for place in plan:
            while not self._kill(place):
                self._say("   (it had ended before)")
        for _ in STEPS:
            self._uninterrupted(places[quickest])
        kinds: Counter[Any] = Counter((each.place, each.moment, each.state) for each in self.killed)
        for (place, moment, state), count in sorted(kinds.items()):
            self._say(f"{count:3} kills of {place}, {moment}: {state} tables")

    def _step(self) -> None:
        """Prepare what the next run will give."""
        shutil.rmtree(self._next, ignore_errors=True)
        if self._clean.exists():
            shutil.copytree(self._clean, self._next)
        mode, files = self._wanted()
        piped(*files, out=self._next, mode=mode, lint=True, partition_by=("type",))

    def _wanted(self) -> tuple[str, list[Path]]:
        mode, count = STEPS[self._steps % len(STEPS)]
        return mode, self._ring[:count]

    def _took(self) -> None:
        """Begin the next run, as this one is in the tables."""
        shutil.rmtree(self._clean, ignore_errors=True)
        self._next.rename(self._clean)
        self._steps += 1
        self._step()

    def _uninterrupted(self, place: Place) -> None:
        """Do a run to its end, which must show its tables and leave nothing else."""
        began, count = time.monotonic(), 0

        def counted() -> None:
            nonlocal count
            count += 1

        self._store.on_request = counted
        program = self._start(place)
        assert program.end() == 0, program.said()
        self._store.on_request = None
        mode, _ = self._wanted()
        lasted = self._lasted[place.master, mode] = Lasted(time.monotonic() - began, count)
        assert named(self.out) == named(self._next)
        assert self._seen(self.out) == named(self._next)
        if self._format == "parquet":
            # Those of tables with logs are left to their own maintenance.
            assert self._left() == set(), "files that no manifest names"
        assert LOCK not in StorageFolder(self.out).files()
        self._say(f"   {place.name}, {mode}, without a kill: {lasted.seconds:.1f} s, {lasted.requests} requests")
        self._took()

    def _start(self, place: Place) -> KilledProgram:
        mode, files = self._wanted()
        (self._folder / "said").write_bytes(b"")
        how = ("--resume",) if mode == "resume" else ("--mode", mode)
        words = [
            *PROGRAM,
            "pipeline",
            *map(str, files),
            "--out",
            self.out,
            "--format",
            self._format,
            "--master",
            place.master,
        ]
        return KilledProgram(self._folder, [*words, *how, *OPTIONS, *SIZES[place.master == WITHOUT]])

    def _kill(self, place: Place) -> bool:
        """Kill a run and check what a reader sees; return whether it was still there."""
        mode, _ = self._wanted()
        folder = StorageFolder(self.out)
        manifest, files = folder.stored(MANIFEST), set(folder.files())
        program = self._start(place)
        at = self._reach_moment(place, program)
        found = self._end(place, program)
        status = program.end()
        program.kill()
        self._store.on_request = None
        state = self._state()
        moment = self._moment(manifest != folder.stored(MANIFEST), files)
        if place.part == "all":
            found = status == -signal.SIGKILL
        elif found:
            # Who outlives a kill says how it ended.
            assert (status, state) in ((0, "new"), (2, "old")), (status, state, program.said())
            assert status == 0 or _SENTENCES.fullmatch(program.said()), program.said()
            moment = "the run continued" if status == 0 else moment
        if found:
            self.killed.append(Killed(place.name, mode, moment, state))
            self._say(f"{len(self.killed):2} {place.name} at {at}, {mode}: {moment}, {state}, status {status}")
        if state == "new":
            self._took()
        return found

    def _reach_moment(self, place: Place, program: KilledProgram) -> str:
        """Wait for a random moment, or the end of the program if that comes first."""
        mode, _ = self._wanted()
        lasted = self._lasted.get((place.master, mode)) or next(
            each for (master, _), each in self._lasted.items() if master == place.master
        )
        number, after_s = self._chance.randint(1, lasted.requests), self._chance.uniform(0, lasted.seconds)
        by_request = self._chance.random() < 0.5
        count, reached = 0, False

        def watch() -> None:
            nonlocal count, reached
            count += 1
            if by_request and count == number:
                reached = True
                if place.part == "all":
                    # At once, before the request is answered; the rest of the session is killed next.
                    program.process.kill()

        self._store.on_request = watch
        until = time.monotonic() + after_s
        program.wait(lambda: reached or (not by_request and time.monotonic() > until))
        return f"request {number} of {lasted.requests}" if by_request else f"{after_s:.1f} s"

    def _end(self, place: Place, program: KilledProgram) -> bool:
        """Kill what is to be killed; return whether it was there before the program ended."""
        if place.part == "all":
            program.kill()
            return True

        found: list[int] = []

        def look() -> bool:
            pids = executors() if place.part == "executor" else parts(program).get(place.part, [])
            found.extend(pid for pid in pids if pid != program.process.pid)
            return bool(found)

        if program.wait(look):
            kill([self._chance.choice(found)])
        return bool(found)

    def _state(self) -> str:
        """Return whether a reader sees the tables before the run or after it; raises AssertionError for any other."""
        manifest = Manifest.in_folder(self.out)
        found = named(self.out)
        old, new = named(self._clean), named(self._next)
        assert found in (old, new), f"neither old nor new after {self.killed[-3:]}"
        state = "new" if found == new else "old"
        assert len(manifest.runs) == len(Manifest.in_folder(self._next if state == "new" else self._clean).runs)
        seen = self._seen(self.out)
        for table in old.keys() | new.keys():
            assert seen.get(table, []) in (old.get(table, []), new.get(table, [])), table
        return state

    def _left(self) -> set[str]:
        """Return the files of tasks that the manifest does not name."""
        manifest = Manifest.in_folder(self.out)
        kept = {*manifest.saved, *(part.path for part in manifest.parts)}
        return {name for name in StorageFolder(self.out).files() if _LEFT.fullmatch(name)} - kept

    def _moment(self, committed: bool, before: set[str]) -> str:
        left = self._left()
        if committed:
            return "after the commit, before the end" if left else "after the end"
        return "while files were written" if left - before else "before the first file"


def executors() -> list[int]:
    """Return the executors that were started below this process."""
    return [each for each in below(os.getpid()) if "CoarseGrainedExecutorBackend" in words_of(each)]
