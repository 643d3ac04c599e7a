"""Packets in runs are those that are judged one by one, in the same order, and leave the same state."""

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.columns.runs import read
from mqttpub.columns.runs.clean import CleanPackets
from mqttpub.columns.runs.read import AllRuns, in_runs
from mqttpub.reading.follow import JudgedTraffic
from mqttpub.reading.input import AllEvents, Input, InputOptions
from mqttpub.reading.judged import EventJudge
from mqttpub.reading.located import Location
from mqttpub.spec.packets import (
    Connect,
)
from mqttpub.spec.versions import Version
from mqttpub.traffic.context import PacketInContext, TrafficItem
from mqttpub.traffic.events import Event, PacketSeen, Remark
from mqttpub.traffic.query import PacketFilter
from mqttpub.traffic.runs import PacketRun, RunOrItem
from tests.build.certificates import Authority
from tests.build.events import CLIENT, talks
from tests.build.random_talks import Talk
from tests.build.tls_captures import TlsScript
from tests.build.troubled_captures import troubled
from tests.columns.packet_rows import batches
from tests.fuzz.mutated import mutated
from tests.lint.connection.states import known_by
from tests.paths import CAPTURES, QOS2

V5 = Version.V5
EXAMPLES = 400


@pytest.fixture(scope="module", autouse=True)
def every_run() -> Iterator[None]:
    """Make runs of single packets, too, and look at few packets at a time."""
    with patch.multiple(read, FEWEST=1, WORTH=0, MOST_ROWS=7):
        yield


# both ways


def one_by_one(found: Iterable[RunOrItem]) -> list[Any]:
    """Return the packets of runs, and the other items."""
    return [_plain(item) for each in found for item in (each.items() if isinstance(each, PacketRun) else (each,))]


def _plain(item: TrafficItem) -> Any:
    """Return an item whose findings can be compared."""
    if isinstance(item, PacketInContext):
        return (*item[:-1], [*map(repr, item.findings or ())])
    return (*item[:-1], repr(item.finding)) if isinstance(item, Remark) else item


def assert_equal(found: list[Event], cuts: Iterable[int] = ()) -> list[RunOrItem]:
    """Judge events in runs, in batches, and one by one; return what the former yielded."""
    clean = CleanPackets()
    alone = JudgedTraffic(found)
    runs = JudgedTraffic(each for frames in batches(found, cuts) for each in in_runs(frames, clean))
    given = list(runs)
    assert one_by_one(given) == one_by_one(alone)
    assert (runs.errors, runs.packets, runs.zero.time_ns) == (alone.errors, alone.packets, alone.zero.time_ns)
    assert known_by(runs.judge.rules) == known_by(alone.judge.rules)
    return given


@pytest.mark.slow
def test_a_conversation_in_runs_is_judged_as_packet_by_packet() -> None:
    in_runs = packets = 0
    for seed in range(EXAMPLES):
        found, random = Talk(seed).dialog.events, Random(seed)
        given = assert_equal(found, [random.randrange(len(found) + 1) for _ in range(random.randrange(3))])
        in_runs += sum(each.stop - each.start for each in given if isinstance(each, PacketRun))
        packets += len(found)
    assert in_runs > packets / 4


@given(talks(), st.lists(st.integers(0, 14), max_size=2))
def test_any_events_in_runs_are_judged_as_packet_by_packet(found: list[Event], cuts: list[int]) -> None:
    assert_equal(found, cuts)


@pytest.mark.slow
def test_statements_are_counted_in_runs_as_packet_by_packet() -> None:
    for seed in range(EXAMPLES // 4):
        found, clean = Talk(seed).dialog.events, CleanPackets()
        alone, runs = EventJudge(), EventJudge()
        judged: list[list[Any]] = [[], []]
        for each in (run for frames in batches(found, ()) for run in in_runs(frames, clean)):
            known = runs.run(each) if isinstance(each, PacketRun) else _judged(runs, each)
            judged[0] += [(repr(one.event), list(map(repr, one.findings or ()))) for one in known if one.findings]
        for event in found:
            known = _judged(alone, event)
            judged[1] += [(repr(one.event), list(map(repr, one.findings or ()))) for one in known if one.findings]
        assert judged[0] == judged[1]
        assert (runs.packets, runs.connections) == (alone.packets, alone.connections)
        assert list(runs.end()) == list(alone.end())


def _judged(judge: EventJudge, event: Event) -> Iterator[PacketInContext]:
    if isinstance(event, PacketSeen):
        yield judge.packet(event)
    else:
        judge.other(event, Location())


# files


def both(paths: Iterable[Path], block: int, picked: PacketFilter | None = None) -> tuple[list[Any], list[Any]]:
    """Return what is known of files after they were read in runs, in blocks of so many bytes, and one by one."""
    found = []
    for reader in (AllRuns, AllEvents):
        with ExitStack() as stack, patch.object(read, "BLOCK", block):
            files = [each for path in paths if (each := Input.opened(str(path), stack)).is_capture]
            log = reader(files, InputOptions(), before=3)
            traffic = JudgedTraffic(log, picked)
            items = one_by_one(traffic)
        about = traffic.errors, traffic.packets, traffic.zero.time_ns, log.faults, log.remarks
        found.append([*items, about, [log.names.of(number) for number in range(4, 100)]])
    return found[0], found[1]


BLOCKS = (1 << 20, 512)


@pytest.mark.parametrize("block", BLOCKS)
def test_files_in_runs_are_those_read_one_by_one(tmp_path: Path, block: int) -> None:
    paths = sorted(each for each in CAPTURES.iterdir() if ".pcap" in each.name)
    for random in map(Random, range(20)):
        paths.append(tmp_path / f"{random.random()}.pcap")
        paths[-1].write_bytes(mutated(random, random.choice(paths[:-1]).read_bytes()))
    for picked in (None, PacketFilter.parse("type=PUBLISH qos=2")):
        runs, alone = both(paths, block, picked)
        assert runs == alone


@pytest.mark.parametrize("least", [0, 1 << 30])
def test_what_does_not_pay_is_read_one_by_one(least: int) -> None:
    with ExitStack() as stack, patch.object(read, "WORTH", least):
        found = list(AllRuns([Input.opened(str(QOS2), stack)], InputOptions()))
    assert any(isinstance(each, PacketRun) for each in found) == (not least)


@pytest.mark.slow
@given(st.lists(troubled(), min_size=1, max_size=1), st.sampled_from(BLOCKS))
@settings(max_examples=20)
def test_troubled_files_in_runs_are_those_read_one_by_one(given: list[bytes], block: int) -> None:
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.pcapng" for number in range(len(given))]
        for path, data in zip(paths, given, strict=True):
            path.write_bytes(data)
        runs, alone = both(paths, block)
    assert runs == alone


@pytest.mark.tshark
@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_keys_in_the_middle_of_a_file_are_used(tmp_path: Path, block: int) -> None:
    ca = Authority(tmp_path)
    clear, path, both_parts = CAPTURES / "qos2-mosquitto.pcapng", tmp_path / "keys.pcapng", tmp_path / "both.pcapng"
    secured = TlsScript(tmp_path, ca).say(CLIENT, encode(Connect(client_id="secured"), V5)).written()
    inject = ["editcap", "--inject-secrets", f"tls,{secured.keylog}", str(secured.path), str(path)]
    subprocess.run(inject, check=True, capture_output=True)
    both_parts.write_bytes(clear.read_bytes() + path.read_bytes())
    runs, alone = both([both_parts, clear], block)
    assert runs == alone
    assert sum("secured" in str(each) for each in runs) == 1
