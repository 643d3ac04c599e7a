"""Packets in runs are those that are judged one by one, in the same order, and leave the same state."""

import subprocess
from collections.abc import Iterable
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
from mqttpub.columns.runs import judged
from mqttpub.columns.runs.judged import JudgedRuns, RunJudge
from mqttpub.lint.judge import Judge
from mqttpub.reading.follow import JudgedTraffic
from mqttpub.reading.input import AllEvents, Input, InputOptions
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
from mqttpub.traffic.events import Event
from mqttpub.traffic.runs import PacketRun, RunOrItem
from tests.build.certificates import Authority
from tests.build.events import CLIENT, MS, SERVER, Dialog, talks
from tests.build.tls_captures import TlsScript
from tests.build.troubled_captures import troubled
from tests.columns.packet_rows import batches
from tests.fuzz.mutated import mutated
from tests.paths import CAPTURES

SECOND = 1000 * MS
V5 = Version.V5
MOST_PACKETS = 60


# what happens on a connection


@st.composite
def conversations(draw: st.DrawFn) -> list[Event]:
    """Return the packets of a connection: most of them as they should be, with few identifiers and topics."""
    version = draw(st.sampled_from(Version))
    talk = Dialog(version=version)
    if draw(st.integers(0, 5)):
        _opening(draw, talk, version)
    steps = st.sampled_from((0, 0, MS, 20 * SECOND))
    for _ in range(draw(st.integers(0, MOST_PACKETS // 4))):
        side, packets = draw(st.sampled_from((CLIENT, SERVER))), draw(st.lists(_packets(version), max_size=4))
        if draw(st.integers(0, 3)):
            # A usual exchange, in which one packet may be missing or come twice.
            packets = draw(_exchanges(version))
            odd = draw(st.integers(0, 12))
            packets[odd : odd + 1] = packets[odd : odd + 1] * draw(st.sampled_from((0, 2)))
            for sent_back, packet in packets:
                talk.says(_other(side) if sent_back else side, packet, after=draw(steps))
            continue
        for _, packet in packets:
            talk.says(side, packet, after=draw(steps))
    if draw(st.booleans()):
        talk.closes(draw(st.sampled_from((CLIENT, SERVER, None))))
    return talk.events


Sent = tuple[bool, bytes]
"""Whether the receiver of a message sends it, and its bytes."""


def _other(side: Any) -> Any:
    return SERVER if side is CLIENT else CLIENT


def _opening(draw: st.DrawFn, talk: Dialog, version: Version) -> None:
    limits = {0x21: st.integers(1, 3), 0x24: st.integers(0, 1), 0x25: st.integers(0, 1), 0x27: st.integers(20, 60)}
    given = {id: draw(value) for id, value in limits.items() if version is V5 and not draw(st.integers(0, 5))}
    properties = tuple(Property(id, value) for id, value in given.items())
    of_client = tuple(each for each in properties if each.id in (0x21, 0x27)) if draw(st.booleans()) else ()
    keep_alive = draw(st.sampled_from((0, 10, 60)))
    talk.client(Connect(client_id="c", keep_alive=keep_alive, properties=of_client, will=None))
    talk.server(
        Connack(session_present=version is not Version.V31 and not draw(st.integers(0, 3)), properties=properties)
    )
    if draw(st.booleans()):
        filter = draw(st.sampled_from(("#", "a/+", "b", "$share/s/#")))
        talk.client(Subscribe(packet_id=9, subscriptions=(Subscription(filter=filter, qos=draw(st.integers(0, 2))),)))
        talk.server(Suback(packet_id=9, reason_codes=(draw(st.integers(0, 2)),)))


_TOPICS = st.sampled_from(("a/1", "a/2", "b", "ü/1", "$SYS/x", "", "a/#"))
_PROPERTIES = st.sampled_from((
    Property(0x01, 1), Property(0x01, 0), Property(0x02, 5), Property(0x03, "text"), Property(0x03, "a\0"),
    Property(0x08, "answers"), Property(0x08, "a/+"), Property(0x09, b"\xff"), Property(0x26, ("k", "v")),
    Property(0x26, ("k", "w")), Property(0x23, 1), Property(0x0B, 7), Property(0x26, ("k", "é")),
))  # fmt: skip
_IDS = st.integers(1, 3)


@st.composite
def _messages(draw: st.DrawFn, version: Version, qos: int) -> Publish:
    retain, dup = draw(st.integers(0, 7)) == 0, qos > 0 and draw(st.integers(0, 12)) == 0
    many = st.lists(_PROPERTIES, max_size=3) if version is V5 and draw(st.booleans()) else st.just([])
    return Publish(
        qos=qos, dup=dup, retain=retain, topic=draw(st.sampled_from(("a/1", "b")) | _TOPICS),
        packet_id=draw(_IDS) if qos else None, properties=tuple(draw(many)),
        payload=draw(st.sampled_from((b"", b"four", b"\xff\xff\xff\xff"))),
    )  # fmt: skip


@st.composite
def _exchanges(draw: st.DrawFn, version: Version) -> list[Sent]:
    qos = draw(st.integers(0, 2))
    many = [draw(_messages(version, qos)) for _ in range(draw(st.integers(1, 3)))]
    sent: list[tuple[bool, Packet]] = [(False, each) for each in many]
    codes = st.sampled_from((None, None, None, 0, 0x10, 0x92, 0x97)) if version is V5 else st.none()
    for cls, back in ((Puback, True),) if qos == 1 else ((Pubrec, True), (Pubrel, False), (Pubcomp, True)):
        sent += [(back, cls(packet_id=each.packet_id or 0, reason_code=draw(codes))) for each in many if qos]
    return [(back, encode(packet, version)) for back, packet in sent]


@st.composite
def _packets(draw: st.DrawFn, version: Version) -> Sent:
    """Return a packet that nobody expects."""
    kind = draw(st.sampled_from((Puback, Pubrec, Pubrel, Pubcomp, Publish, Publish, Pingreq, Pingresp)))
    if kind is Publish:
        return False, encode(draw(_messages(version, draw(st.integers(0, 2)))), version)
    packet = kind() if kind in (Pingreq, Pingresp) else kind(packet_id=draw(_IDS))
    return False, encode(packet, version)


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
    traffic, runs = JudgedTraffic(found), RunJudge()
    given = [each for frames in batches(found, cuts) for each in runs.judged(frames)]
    assert one_by_one(given) == one_by_one(traffic)
    ours, alone = runs.traffic, traffic
    assert (ours.errors, ours.packets, ours.zero.time_ns) == (alone.errors, alone.packets, alone.zero.time_ns)
    assert runs.items == len(one_by_one(given))
    assert _judge(ours.judge) == _judge(alone.judge)
    return given


def _judge(judge: Judge) -> Any:
    return {number: state_of(each) for number, each in judge._conversations.items()}


@pytest.mark.slow
@given(conversations(), st.lists(st.integers(0, MOST_PACKETS), max_size=3))
@settings(max_examples=300)
def test_a_conversation_in_runs_is_judged_as_packet_by_packet(found: list[Event], cuts: list[int]) -> None:
    assert_equal(found, cuts)


@given(talks(), st.lists(st.integers(0, 14), max_size=2))
def test_any_events_in_runs_are_judged_as_packet_by_packet(found: list[Event], cuts: list[int]) -> None:
    assert_equal(found, cuts)


# files


def both(paths: Iterable[Path], block: int) -> tuple[list[Any], list[Any]]:
    """Return what is known of files after they were read in runs, in blocks of so many bytes, and one by one."""
    found = []
    for reader in (JudgedRuns, AllEvents):
        with ExitStack() as stack, patch.object(judged, "BLOCK", block):
            files = [each for path in paths if (each := Input(str(path), stack)).is_capture]
            log = reader(files, InputOptions(), before=3)
            traffic = log if isinstance(log, JudgedRuns) else JudgedTraffic(log)
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
    runs, alone = both(paths, block)
    assert runs == alone


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
