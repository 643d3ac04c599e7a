"""Exchanges and counts of packets in runs are those of the same packets one by one."""

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from mqttpub.capture.reading import CaptureEvents
from mqttpub.capture.types import BadCapture
from mqttpub.cli.decode import views
from mqttpub.common.times import Zero
from mqttpub.reading.follow import JudgedTraffic
from mqttpub.spec.versions import Version
from mqttpub.traffic.context import PacketInContext, TrafficItem
from mqttpub.traffic.events import Closed, Event
from mqttpub.traffic.exchanges import MEMORY, Exchanges
from mqttpub.traffic.handshakes import Exchange, as_exchange
from mqttpub.traffic.runs import PacketRun, RunOrItem, items_of
from mqttpub.view.packet.record_json import dumps
from mqttpub.view.terminal.cells import text_of
from mqttpub.view.traffic.exchanges import ExchangeLines, ExchangeRecords, exchange_record
from tests.build.events import MS, Dialog, linted
from tests.build.runs import with_runs
from tests.fuzz.mutated import mutated
from tests.paths import CAPTURES

TOPICS = ("a", "ends with a space ", "%s 100 %d%", "plant/7/line/31/temperature", "ü/\u4f60", "x" * 130)
REASONS = (None, None, None, 0, 0x10, 0x80, 0x92)
DIALOGS = 60


def dialogs(random: Random) -> list[Event]:
    """Return two connections of one client, in turn or one after the other, with few Packet Identifiers."""
    version = random.choice(tuple(Version))
    talks = [Dialog(number, version) for number in (1, 2)]
    for talk in talks:
        if random.random() < 0.7:
            resumed = version is not Version.V31 and random.random() < 0.6
            talk.say(f"> connect; < connack sp={resumed:d}")
        for _ in range(random.randrange(14)):
            _say(random, talk)
        if random.random() < 0.6:
            talk.closes(None, "end")
    if random.random() < 0.5:
        return [*talks[0].events, *talks[1].events]
    queues = [iter(talk.events) for talk in talks]
    mixed = [next(random.choice(queues), None) for _ in range(300)]
    return [each for each in mixed if each]


def _say(random: Random, talk: Dialog) -> None:
    """Say the same kind of thing a few times."""
    kind = random.choice((*["publish"] * 3, "puback", "pubrec", "pubrel", "pubcomp", "subscribe f=a/#", "suback"))
    end, after = random.choice("><"), random.choice((0, MS, -5 * MS, 700 * MS))
    for _ in range(random.choice((1, 3, 8))):
        id, dup = random.randint(1, 5), random.random() < 0.1
        if random.random() < 0.03:
            talk.time = None
        words, values = f"{kind} i={id}", {"topic": "", "payload": ""}
        if kind == "publish":
            qos = random.randrange(3)
            values["payload"] = "x" * random.choice((0, 5, 20_000))
            values["topic"] = random.choice(TOPICS)
            identified = f"i={id} d{dup:d}" if qos else ""
            words = f"publish q{qos} {identified} r{random.random() < 0.2:d} t=${{topic}} p=${{payload}}"
        elif not kind.startswith("sub"):
            words += f" d{dup:d}" if kind == "pubrel" and talk.version is Version.V31 else ""
            reason = random.choice(REASONS) if talk.version is Version.V5 else None
            words += "" if reason is None else f" c={reason:02x}"
        talk.say(f"{end} {words}", after=after, **values)


@pytest.fixture(scope="module", name="inputs")
def judged() -> list[list[TrafficItem]]:
    """Return what dialogs and captures hold."""
    return list(_judged())


def _judged() -> Iterator[list[TrafficItem]]:
    for number in range(DIALOGS):
        yield list(linted(dialogs(Random(number))))
    files = [each.read_bytes() for each in sorted(CAPTURES.iterdir()) if ".pcap" in each.name]
    for data in [*files, *(mutated(Random(number), files[number % len(files)]) for number in range(20))]:
        items: list[TrafficItem] = []
        with suppress(BadCapture):
            items.extend(items_of(JudgedTraffic(CaptureEvents(BytesIO(data)).events())))
        yield items


def paired(items: Iterable[RunOrItem], memory_bytes: int) -> tuple[list[Exchange], dict[int, tuple[int, int]]]:
    """Return exchanges; by the number of packets so far, the memory that they take and how many were forgotten."""
    exchanges, packets, found = Exchanges(memory_bytes), 0, list[Exchange]()
    states: dict[int, tuple[int, int]] = {}
    for each in items:
        if isinstance(each, PacketRun):
            found += map(as_exchange, exchanges.run(each))
            packets += each.stop - each.start
        elif isinstance(each, PacketInContext):
            ended = exchanges.packet(*each[:4])
            found += [ended] if ended else []
            packets += 1
        elif isinstance(each, Closed):
            found += exchanges.finish(each.ends)
        states[packets] = exchanges.weight, exchanges.forgotten
    return found, states


@pytest.mark.parametrize("memory_bytes", [MEMORY, 6000, 2000, 1])
def test_exchanges_of_runs_are_those_of_their_packets(inputs: list[list[TrafficItem]], memory_bytes: int) -> None:
    usual = 0
    for items in inputs:
        runs = list(with_runs(items))
        expected, alone = paired(items, memory_bytes)
        found, states = paired(runs, memory_bytes)
        assert found == expected
        assert states.items() <= alone.items()
        usual += sum(each.outcome == "complete" for each in found)
    assert usual > DIALOGS


def shown(view: Any, items: Iterable[RunOrItem], *, json: bool, width: int = 80) -> str:
    """Return what a view prints."""
    with patch.object(sys, "stdout", io.StringIO()) as out:
        view(items, views.ViewOptions(Zero(), json=json, width=width))
        return out.getvalue()


@pytest.mark.parametrize("json", [False, True])
@pytest.mark.parametrize("view", [views.flows, views.stats])
def test_views_of_runs_show_what_they_show_of_their_packets(
    inputs: list[list[TrafficItem]], view: Any, json: bool
) -> None:
    for items in inputs:
        assert shown(view, with_runs(items), json=json) == shown(view, items, json=json)


@pytest.mark.parametrize(("width", "most"), [(None, 3), (60, 4096), (120, 4096)])
def test_usual_messages_are_shown_as_their_exchanges(
    inputs: list[list[TrafficItem]], width: int | None, most: int
) -> None:
    drawn, alone = ExchangeLines(width=width, most_forms=most), ExchangeLines(width=width)
    records = ExchangeRecords(most)
    for items in inputs:
        exchanges = Exchanges()
        for run in with_runs(items):
            for each in exchanges.run(run) if isinstance(run, PacketRun) else ():
                lines = [text_of(line).rstrip() for line in alone.lines(as_exchange(each))]
                assert drawn.text(each).split("\n") == lines
                assert records.line(each) == dumps(exchange_record(as_exchange(each)))
                assert all(
                    len(kept) <= most for kept in (drawn.messages, drawn.topics, records.messages, records.topics)
                )
