"""Packets in runs are judged as packet by packet, and leave the same state."""

from collections.abc import Iterable
from typing import Any

from mqttpub.lint.coverage import Coverage
from mqttpub.lint.judge import Judge
from mqttpub.spec.versions import Version
from mqttpub.traffic.context import PacketInContext
from mqttpub.traffic.events import PacketSeen
from mqttpub.traffic.runs import PacketRun, RunOrItem
from tests.build.events import linted
from tests.build.random_talks import Talk
from tests.build.runs import with_runs
from tests.lint.connection.states import known_by

SEEDS = 80


class Both:
    """A judge with its coverage."""

    def __init__(self, items: Iterable[RunOrItem]) -> None:
        self.judge = Judge(tally=True)
        self.coverage = Coverage()
        self.found: list[str] = []
        self.followed = 0
        """Parts of runs without findings."""
        for item in items:
            if isinstance(item, PacketRun):
                self._run(item)
            elif isinstance(item, PacketInContext):
                self._packet(item.event)
            else:
                self.found += map(repr, self.judge.event(item))

    def _run(self, run: PacketRun) -> None:
        for part, clean in self.judge.parts(run):
            self.followed += clean
            if clean:
                self.coverage.run(part)
            for event in () if clean else part.events():
                self._packet(event)

    def _packet(self, event: PacketSeen) -> None:
        packet, findings = self.judge.packet(event)
        self.coverage.packet(event, packet)
        self.found += map(repr, findings)

    def results(self) -> list[Any]:
        """Return what was found and counted."""
        known = known_by(self.judge)
        self.judge.finish()
        counts = self.judge.exercised, self.judge.broken
        return [self.found, known, *counts, {one: list(self.coverage.rows(one, *counts)) for one in self.versions}]

    @property
    def versions(self) -> list[Version]:
        """The versions that were spoken."""
        return self.coverage.versions


def test_runs_are_judged_as_packet_by_packet() -> None:
    followed = 0
    for seed in range(SEEDS):
        items = list(linted(Talk(seed).dialog.events))
        runs, alone = Both(with_runs(items)), Both(items)
        followed += runs.followed
        assert runs.results() == alone.results(), seed
    assert followed > SEEDS
