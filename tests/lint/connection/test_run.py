"""Packets in runs are judged as packet by packet, and leave the same state."""

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import pytest

from mqttpub.lint.coverage import Coverage
from mqttpub.lint.judge import Judge
from mqttpub.spec.packets import Connack, Connect, Puback, Publish, Subscribe, Subscription
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.context import PacketInContext
from mqttpub.traffic.events import PacketSeen
from mqttpub.traffic.runs import PacketRun, RunOrItem
from tests.build.events import CLIENT, MS, SERVER, Dialog, linted
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


_ALL = Subscription(filter="#")
_ACKED_RIGHT = ((1, 2, 3, 4), (1, 2, 4), (5, 1))
"""Of a session whose beginning was not seen, 5 may be acknowledged, too."""
_ACKED_WRONG = ((1, 3, 2, 4), (2, 1, 3, 4), (1, 2, 2), (3, None, 1, 2))


@pytest.mark.parametrize("acked", [*_ACKED_RIGHT, *_ACKED_WRONG])
def test_acks_of_a_client_are_judged_in_their_order(acked: tuple[int | None, ...]) -> None:
    talk = Dialog(version=Version.V311)
    # The first packet of each end is not followed in a run.
    talk.client(Publish(topic="a")).server(Publish(topic="a"))
    talk.server(*(Publish(topic="a", qos=1, packet_id=id, payload=b"x") for id in (1, 2, 3, 4)))
    for id in acked:
        # A packet of another type ends a run.
        talk.client(Puback(packet_id=id) if id else Subscribe(packet_id=9, subscriptions=(_ALL,)))
    assert _judged_alike(talk) == (acked in _ACKED_WRONG)


_SECONDS = ((1, 1, 1), (1, 1, 31, 1), (1, 31, 1), (31, 1, 1), (1, 15, 1), (1, 31, -31), (-31, 1, 1), (1, -31, 31))


@pytest.mark.parametrize("seconds", _SECONDS)
@pytest.mark.parametrize("sender", [CLIENT, SERVER])
def test_a_silence_of_the_client_is_found_within_a_run(seconds: tuple[int, ...], sender: Direction) -> None:
    talk = Dialog().client(Connect(client_id="c", keep_alive=10)).server(Connack())
    talk.server(Publish(topic="a")) if sender is CLIENT else talk.client(Publish(topic="a"))
    for each in seconds:
        talk.says(sender, Publish(topic="a"), after=1000 * MS * each)
    waited = seconds if sender is CLIENT else accumulate(seconds)
    reported_s = 11.5 if sender is CLIENT else 16.5
    assert _judged_alike(talk, "was silent for") == any(each > reported_s for each in waited)


def _judged_alike(talk: Dialog, words: str = "") -> bool:
    """Compare both ways of judging; return whether a finding with these words was there."""
    items = list(linted(talk.events))
    runs, alone = Both(with_runs(items)), Both(items)
    assert runs.results() == alone.results()
    return any(words in found for found in alone.found)
