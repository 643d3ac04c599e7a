"""Whatever the block size, the number of files and the network did: the packets are those of single records."""

import io
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.types import BadCapture
from mqttpub.columns.read import Source, finish, read
from mqttpub.columns.reassemble import framing, reassemble
from mqttpub.columns.reassemble.assembly import Batch
from mqttpub.columns.reassemble.frames import of_events, packets_of
from mqttpub.columns.reassemble.state import State
from mqttpub.spec.versions import Direction, Version
from tests.build import variations
from tests.build.containers import damaged
from tests.build.frames import LINKS, Wire, pcap, records
from tests.build.known_captures import Truth, truth, write
from tests.build.troubled_captures import troubled
from tests.columns.batches import BLOCKS, ReadEvents, all_events, scalar
from tests.paths import CAPTURES
from tests.scenarios.test_containers_agree import FILES, NAMES, NETWORKS

Original = tuple[bytes, variations.Frames]
ACK = 16 + 14 + 20 + 8
"""Where the Acknowledgment Number stands in a record of Ethernet and IPv4."""
truths = st.builds(
    truth,
    st.integers(0, 10**6),
    connections=st.integers(1, 8),
    messages=st.integers(1, 30),
    files=st.just(1),
    link=st.sampled_from(list(LINKS.values())),
)


EAGER = pytest.param(True, id="leaps whenever possible")


@pytest.fixture(params=[EAGER, pytest.param(False, id="as it is", marks=pytest.mark.long)], autouse=True)
def eager(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let columns take what they would leave to single records, as tests are small."""
    if request.param:
        monkeypatch.setattr(reassemble, "FEWEST_IN_COLUMNS", 1)
        monkeypatch.setattr(reassemble, "FEWEST", 1)
        monkeypatch.setattr(framing, "FEWEST", 1)


def of(*files: bytes, block: int, **settings: object) -> ReadEvents:
    """Return what columns give of files."""
    return all_events(read([io.BytesIO(file) for file in files], block=block, **settings))  # type: ignore[arg-type]


# the law


@settings(max_examples=10)
@given(truths, st.sampled_from(BLOCKS))
def test_columns_are_single_records(made: Truth, block: int) -> None:
    assert of(made.files[0], block=block) == scalar(made.files[0])


@pytest.mark.slow
@settings(max_examples=12)
@given(troubled(), st.sampled_from(BLOCKS))
def test_columns_agree_with_single_records_on_a_troubled_network(file: bytes, block: int) -> None:
    assert of(file, block=block) == scalar(file)


@pytest.mark.long
@settings(max_examples=1000)
@given(troubled(), st.sampled_from(BLOCKS))
def test_columns_agree_with_single_records_a_thousand_times(file: bytes, block: int) -> None:
    assert of(file, block=block) == scalar(file)


@pytest.mark.long
@settings(max_examples=50)
@given(truths, st.data())
def test_cut_files_broken_bytes_and_other_settings_change_nothing(made: Truth, data: st.DataObject) -> None:
    file = bytearray(made.files[0])
    for place in data.draw(st.lists(st.integers(24, len(file) - 1), max_size=20)):
        file[place] ^= data.draw(st.integers(1, 255))
    broken = bytes(file[: data.draw(st.integers(24, len(file)))])
    if data.draw(st.booleans()):
        broken = damaged(Random(data.draw(st.integers(0, 10**9))), broken)
    version = data.draw(st.sampled_from((None, *Version)))
    block = data.draw(st.sampled_from(BLOCKS))
    assert of(broken, block=block, version=version, ports=(40_001,)) == scalar(broken, version=version, ports=(40_001,))


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.integers(1, 19), st.sampled_from(BLOCKS), st.randoms(use_true_random=False))
def test_rotated_files_are_one_capture_if_only_the_state_is_kept(
    seed: int, files: int, block: int, random: Random
) -> None:
    made = truth(seed, files=files)
    assert all_events(_with_pauses(made.files, block, random)) == scalar(*made.files)


def _with_pauses(files: list[bytes], block: int, random: Random) -> Iterator[Batch]:
    state = State()
    for file in files:
        yield from read([io.BytesIO(file)], state=state, block=block)
        if random.random() < 0.5:
            state = pickle.loads(pickle.dumps(state))
    yield finish(state)


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 7), st.sampled_from(BLOCKS))
def test_each_packet_is_in_one_bucket_and_has_the_same_key_there(seed: int, files: int, parts: int, block: int) -> None:
    made = truth(seed, files=files, connections=9, messages=20)
    whole = _keyed(made.files, block, (0, 1))
    found = [_keyed(made.files, 5_000, (number, parts)) for number in range(parts)]
    assert sum(found, Counter[object]()) == whole
    assert sum(map(len, found)) == len(whole)


def _keyed(files: list[bytes], block: int, bucket: tuple[int, int]) -> Counter[object]:
    keyed: Counter[object] = Counter()
    for batch in read([io.BytesIO(file) for file in files], block=block, bucket=bucket):
        keyed.update((batch.names[each.ends.number], each._replace(ends=None)) for each in packets_of(batch))  # type: ignore[arg-type]
    return keyed


# what is known


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
@pytest.mark.parametrize("files", [1, 19])
def test_packets_of_known_captures(seed: int, files: int) -> None:
    made = truth(seed, files=files, connections=8, messages=80)
    found = of(*made.files, block=50_000)
    assert made.retransmitted > 10
    assert made.reordered > 10
    assert made.lost > 10
    mine = [
        (each.record, each.time, each.direction, each.offset, each.data.hex(), each.version, each.guessed)
        for each in sorted(found.packets, key=lambda each: each.record)
    ]
    assert mine == [
        (row.record, row.time, Direction(row.sender), row.offset, row.data, Version(row.version), row.guessed)
        for row in made.packets
    ]


def test_known_captures_can_be_written_to_files(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tests.build.known_captures", tmp_path, "3", "2", "5", "2"], check=True)
    made = truth(3, connections=2, messages=5, files=2)
    assert [each.read_bytes() for each in sorted(tmp_path.glob("*.pcap"))] == made.files
    assert len((tmp_path / "packets.jsonl").read_text().splitlines()) == len(made.packets)


# real captures, and what may become of them


@pytest.fixture(scope="module", params=NAMES)
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Original:
    """A capture that ships with the tests, and its frames."""
    path = CAPTURES / f"{request.param}.pcapng"
    copy = tmp_path_factory.mktemp("frames") / path.name
    copy.write_bytes(path.read_bytes())
    return path.read_bytes(), variations.frames(copy)


@pytest.mark.parametrize("block", BLOCKS)
def test_real_captures(original: Original, block: int) -> None:
    found = of(original[0], block=block)
    assert found == scalar(original[0])
    assert len(found.packets) in (32, 54)


@pytest.mark.parametrize("name", FILES)
def test_in_other_containers_and_below_other_links(name: str, original: Original) -> None:
    file = FILES[name](original[1])
    for block in (700, BLOCKS[-1]):
        assert of(file, block=block) == scalar(file)


@pytest.mark.parametrize("name", NETWORKS)
def test_as_other_networks_deliver_them(name: str, original: Original) -> None:
    file = variations.pcap(NETWORKS[name](original[1]))
    for block in (700, BLOCKS[-1]):
        assert of(file, block=block) == scalar(file)


@pytest.mark.parametrize("midstream", [False, True])
def test_frames_are_those_that_events_give(midstream: bool) -> None:
    made = truth(11, connections=4, messages=40, midstream=midstream)
    batches = list(read([io.BytesIO(made.files[0])]))
    from mqttpub.capture.reading import events

    slow = of_events(events(io.BytesIO(made.files[0])))
    assert len(batches) == 2
    assert len(batches[1]) == 0
    assert batches[0].connections == slow.connections
    for name in ("time", "record", "connection", "direction", "offset", "version", "guessed"):
        mine, theirs = getattr(batches[0], name), getattr(slow, name)
        assert mine.dtype == theirs.dtype
        assert mine.tolist() == theirs.tolist()


@settings(max_examples=10)
@given(truths)
def test_frames_of_events_hold_each_with_its_ends(made: Truth) -> None:
    seen = scalar(made.files[0]).packets
    # Who is the client may become clear within a connection, and its ends are others from then on.
    later = [each._replace(ends=each.ends._replace(client=each.ends.server, server=each.ends.client)) for each in seen]
    assert list(packets_of(of_events([*seen, *later]))) == [*seen, *later]


# sources


def test_paths_and_files(tmp_path: Path) -> None:
    made = truth(4, files=3)
    paths = write(made, tmp_path)
    with paths[1].open("rb") as file:
        sources: list[Source] = [str(paths[0]), file, paths[2]]
        batches = list(read(sources))
    assert all_events(batches) == scalar(*made.files)
    ends = [_records(paths[0]), _records(paths[0]) + _records(paths[1])]
    assert sorted({batch.before for batch in batches}) == [0, *ends]


def _records(path: Path) -> int:
    return len(pcap_records(path.read_bytes()))


def pcap_records(data: bytes) -> list[object]:
    from mqttpub.capture.containers.registry import records as scalar_records

    return list(scalar_records(io.BytesIO(data)))


def test_a_broken_source_is_reported_after_its_packets(tmp_path: Path) -> None:
    made = truth(5, files=2)
    text, none = tmp_path / "text.pcap", tmp_path / "none.pcap"
    text.write_text("no capture at all")
    for broken, error, message in (
        (text, BadCapture, "no capture begins with"), (none, FileNotFoundError, "No such file"),
        (io.BytesIO(made.files[1][:-7]), BadCapture, "but the file ends"),
    ):  # fmt: skip
        found: list[Batch] = []
        with pytest.raises(error, match=message):
            found.extend(read([io.BytesIO(made.files[0]), broken]))
        # The last batch is that of the end of the capture.
        assert len(all_events(found).packets) > len(all_events(found[:-1]).packets) * 0.9
        assert len(found) > 1
    with pytest.raises(FileNotFoundError):
        list(read([none], state=State()))


def test_nothing_at_all() -> None:
    assert all_events(read([])) == ReadEvents([], [], [])
    assert of(pcap([]), block=1) == ReadEvents([], [], [])
    wire = Wire()
    assert of(pcap(records(wire.opening())), block=1) == scalar(pcap(records(wire.opening())))


@pytest.mark.parametrize(("seed", "record"), [(6, 21), (38, 41), (40, 39)])
@pytest.mark.parametrize("block", BLOCKS)
def test_an_ack_of_what_was_never_sent(block: int, seed: int, record: int) -> None:
    """What is acknowledged is told as missing, although later acks are lower."""
    broken = bytearray(truth(seed, connections=2, messages=10).files[0])
    broken[list(record_places(broken))[record] + ACK + 2] ^= 0x40
    assert of(bytes(broken), block=block) == scalar(bytes(broken))


def record_places(file: bytes | bytearray) -> Iterator[int]:
    """Yield where the records of a capture begin."""
    at = 24
    while at < len(file):
        yield at
        at += 16 + int.from_bytes(file[at + 8 : at + 12], "little")
