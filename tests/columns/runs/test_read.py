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
from mqttpub.lint.judge import Judge
from mqttpub.reading.follow import JudgedTraffic
from mqttpub.reading.input import AllEvents, Input, InputOptions
from mqttpub.reading.judged import EventJudge
from mqttpub.reading.located import Location
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from mqttpub.spec.versions import Version
from mqttpub.traffic.context import PacketInContext, TrafficItem
from mqttpub.traffic.events import Event, PacketSeen
from mqttpub.traffic.query import PacketFilter
from mqttpub.traffic.runs import PacketRun, RunOrItem
from tests.build.certificates import Authority
from tests.build.events import CLIENT, MS, SERVER, Dialog, talks
from tests.build.tls_captures import TlsScript
from tests.build.troubled_captures import troubled
from tests.columns.packet_rows import batches
from tests.fuzz.mutated import mutated
from tests.paths import CAPTURES, QOS2

SECOND = 1000 * MS
V5 = Version.V5
MOST_PACKETS = 60
EXAMPLES = 400


@pytest.fixture(scope="module", autouse=True)
def every_run() -> Iterator[None]:
    """Make runs of single packets, too, and look at few packets at a time."""
    with patch.multiple(read, FEWEST=1, WORTH=0, MOST_ROWS=7):
        yield


# what happens on a connection


class Talk:
    """A conversation in which most packets are as they should be, with few identifiers and topics."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.version = random.choice((*Version, V5))
        self.dialog = Dialog(version=self.version)
        if self.rarely(0.9):
            self.open()
        for _ in range(random.randrange(MOST_PACKETS // 4)):
            if self.rarely(0.8):
                self.exchange()
            else:
                self.say(random.random() < 0.5, self.stray())
        if self.rarely(0.3):
            self.dialog.closes(random.choice((CLIENT, SERVER, None)))

    def rarely(self, share: float) -> bool:
        """Return True in this share of calls."""
        return self.random.random() < share

    def say(self, server: bool, packet: Packet) -> None:
        """Send a packet, often at the time of the one before it."""
        after = self.random.choice((0, 0, 0, MS, MS, 20 * SECOND))
        self.dialog.says(SERVER if server else CLIENT, encode(packet, self.version), after=after)

    def open(self) -> None:
        """Send CONNECT and CONNACK with limits, and subscribe or not."""
        random, v5 = self.random, self.version is V5
        limits = {0x21: random.randint(1, 3), 0x24: 1, 0x25: 0, 0x27: random.randint(20, 60)}
        given = tuple(Property(id, value) for id, value in limits.items() if v5 and self.rarely(0.3))
        keep_alive, own = random.choice((0, 10, 60)), tuple(each for each in given if each.id in (0x21, 0x27))
        resumed = self.version is not Version.V31 and self.rarely(0.2)
        self.say(False, Connect(client_id="c", keep_alive=keep_alive, properties=own * self.rarely(0.5), will=None))
        self.say(True, Connack(session_present=resumed, properties=given))
        if self.rarely(0.6):
            identifier = (Property(0x0B, 7),) if v5 and self.rarely(0.1) else ()
            wanted = Subscription(filter=random.choice(("#", "#", "a/+", "$share/s/#")), qos=random.randrange(3))
            self.say(False, Subscribe(packet_id=9, subscriptions=(wanted,), properties=identifier))
            self.say(True, Suback(packet_id=9, reason_codes=(random.choice((0, 1, 2, 2)),)))

    def exchange(self) -> None:
        """Send messages of one QoS and their acks, from which one packet may be missing or come twice."""
        random, qos, side = self.random, self.random.randrange(3), self.rarely(0.5)
        ids = random.sample((1, 2, 3, 4), random.randint(1, 4))
        packets: list[tuple[bool, Packet]] = [(side, self.message(qos, id)) for id in ids]
        acks: tuple[Any, ...] = (Puback,) if qos == 1 else (Pubrec, Pubrel, Pubcomp) if qos else ()
        for cls in acks:
            if self.rarely(0.1):
                random.shuffle(ids)
            back = side == (cls is Pubrel)
            packets += [(back, cls(packet_id=id, reason_code=self.reason(cls))) for id in ids]
        if self.rarely(0.2):
            at = random.randrange(len(packets))
            packets[at : at + 1] = packets[at : at + 1] * random.choice((0, 2))
        for server, packet in packets[: random.choice((len(packets), len(packets), 3))]:
            self.say(server, packet)

    def reason(self, cls: type[Packet]) -> int | None:
        """Return a Reason Code, or none."""
        code = self.random.choice((None, None, None, None, 0, 0, 0x10, 0x92, 0x97)) if self.version is V5 else None
        return code if code in (None, 0) or (code == 0x92) == (cls in (Pubrel, Pubcomp)) else 0

    def message(self, qos: int, packet_id: int) -> Publish:
        """Return a PUBLISH that is seldom wrong."""
        random, some = self.random, 4 * self.rarely(0.1)
        many = random.choices(_PROPERTIES, k=random.randrange(3 + some)) if self.version is V5 else []
        return Publish(
            qos=qos, dup=qos > 0 and self.rarely(0.04), retain=self.rarely(0.06), packet_id=packet_id if qos else None,
            topic=random.choice(_TOPICS) if some else random.choice(("a/1", "b")), properties=tuple(many),
            payload=random.choice((b"", b"four", b"five5", b"\xff\xff\xff\xff")),
        )  # fmt: skip

    def stray(self) -> Packet:
        """Return a packet that nobody expects."""
        kind: type[Any] = self.random.choice((Puback, Pubrec, Pubrel, Pubcomp, Publish, Pingreq, Pingresp))
        if kind is Publish:
            return self.message(self.random.randrange(3), self.random.randint(1, 4))
        given = {} if kind in (Pingreq, Pingresp) else {"packet_id": self.random.randint(1, 4)}
        packet: Packet = kind(**given)
        return packet


_TOPICS = ("a/1", "a/2", "ü/1", "$SYS/x", "", "a/#")
_PROPERTIES = (
    *[Property(0x26, ("k", "v")), Property(0x02, 5), Property(0x03, "text")] * 4, Property(0x01, 1), Property(0x01, 0),
    Property(0x03, "a\0"), Property(0x08, "answers"), Property(0x08, "a/+"), Property(0x09, b"\xff"),
    Property(0x26, ("k", "w")), Property(0x23, 1), Property(0x0B, 7), Property(0x26, ("k", "é")),
)  # fmt: skip


# both ways


def one_by_one(found: Iterable[RunOrItem]) -> list[Any]:
    """Return the packets of runs, and the other items."""
    return [_plain(item) for each in found for item in (each.items() if isinstance(each, PacketRun) else (each,))]


def _plain(item: TrafficItem) -> Any:
    """Return an item whose findings can be compared."""
    return (*item[:-1], [*map(repr, item.findings or ())]) if isinstance(item, PacketInContext) else item


def state_of(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """Return all that an object of `lint` knows, to compare."""
    if isinstance(value, dict):
        return {key: state_of(each, seen) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [state_of(each, seen) for each in value]
    if not type(value).__module__.startswith("mqttpub.lint") or id(value) in seen:
        return None if id(value) in seen else value
    defaults = {name for name, default in vars(type(value)).items() if isinstance(default, int | tuple)}
    names = {*getattr(value, "__slots__", ()), *getattr(value, "__dict__", ()), *defaults} - {"__slots__"}
    # Matches are a cache; Topic Aliases are always judged one by one.
    left_out = {"_matches", "aliases"}
    return {name: state_of(getattr(value, name), (*seen, id(value))) for name in names if name not in left_out}


def assert_equal(found: list[Event], cuts: Iterable[int] = ()) -> list[RunOrItem]:
    """Judge events in runs, in batches, and one by one; return what the former yielded."""
    clean = CleanPackets()
    alone = JudgedTraffic(found)
    runs = JudgedTraffic(each for frames in batches(found, cuts) for each in in_runs(frames, clean))
    given = list(runs)
    assert one_by_one(given) == one_by_one(alone)
    assert (runs.errors, runs.packets, runs.zero.time_ns) == (alone.errors, alone.packets, alone.zero.time_ns)
    assert _judge(runs.judge) == _judge(alone.judge)
    return given


def _judge(judge: Judge) -> Any:
    return {number: state_of(each) for number, each in judge._conversations.items()}


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
            files = [each for path in paths if (each := Input(str(path), stack)).is_capture]
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
        found = list(AllRuns([Input(str(QOS2), stack)], InputOptions()))
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
