"""Whatever a network does to segments: their bytes come out in order, and what was lost is told where it was."""

import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mqttpub.capture.types import CaptureRecord, Chunk, End, Missing, Piece
from tests.build.containers import Pcapng, RawRecord
from tests.build.frames import LINKS, LinkLayer
from tests.build.network import Captured, SimulatedConnection, Trouble, captures
from tests.capture.network.piece_words import read

few = settings(max_examples=40)

Places = list[int | None]
"""The bytes of a stream, None where one is missing."""


def heard(pieces: Iterable[Piece]) -> dict[tuple[str, str], Places]:
    """Return the streams by the ends that sent and got them."""
    streams: dict[tuple[str, str], Places] = defaultdict(list)
    for piece in pieces:
        if isinstance(piece, End):
            continue
        sender, receiver = piece.flow.ends[piece.side], piece.flow.ends[1 - piece.side]
        streams[sender, receiver] += piece.data if isinstance(piece, Chunk) else [None] * piece.length
    return streams


def spoken(talks: Iterable[SimulatedConnection]) -> dict[tuple[str, str], Places]:
    """Return the streams that were sent, without what was lost."""
    streams: dict[tuple[str, str], Places] = {}
    for talk in talks:
        hosts = ("10.0.0.1", "10.0.0.2") if talk.wire.version == 4 else ("[fd00::a]", "[fd00::b]")
        ends = [f"{host}:{port}" for host, port in zip(hosts, talk.wire.ports, strict=True)]
        for side in (0, 1):
            stream, lost = talk.spoken(side)
            streams[ends[side], ends[1 - side]] = [None if at in lost else byte for at, byte in enumerate(stream)]
    return streams


def check(capture: Captured) -> None:
    pieces = read(capture.records)
    assert heard(pieces) == spoken(capture.talks)
    ends = [(piece.flow.ends, piece.side) for piece in pieces if isinstance(piece, End)]
    assert len(ends) == len(set(ends)) == 2 * len(capture.talks)
    assert all(piece.how == "FIN" for piece in pieces if isinstance(piece, End))
    assert len({piece.flow for piece in pieces}) == len(capture.talks)


@few
@given(captures(Trouble(again=40, late=40, fragmented=20, probes=20)))
def test_again_late_and_in_fragments(capture: Captured) -> None:
    check(capture)


@pytest.mark.slow
@few
@given(captures(Trouble(lost=30)))
def test_lost(capture: Captured) -> None:
    check(capture)


@few
@given(captures(Trouble(again=30, late=30, fragmented=20, lost=20)))
def test_everything_at_once(capture: Captured) -> None:
    check(capture)


@few
@given(captures(Trouble(again=20, late=20)))
def test_every_record_twice(capture: Captured) -> None:
    check(capture._replace(records=[record for record in capture.records for _ in range(2)]))


@few
@given(captures(Trouble(again=20, late=20, lost=20, fragmented=10)), st.randoms(use_true_random=False))
def test_no_bytes_raise(capture: Captured, random: Random) -> None:
    broken = [mutated(record, random) for record in capture.records]
    pieces = read(broken)
    assert sum(len(piece.data) for piece in pieces if isinstance(piece, Chunk)) <= sum(
        len(each.data) for each in broken
    )
    assert all(piece.data for piece in pieces if isinstance(piece, Chunk))
    assert all(piece.length > 0 for piece in pieces if isinstance(piece, Missing))
    open = {piece.flow.number for piece in pieces}
    for piece in pieces:
        if isinstance(piece, End):
            done = piece.side is None or any(
                isinstance(other, End) and other.flow == piece.flow and other.side == 1 - piece.side for other in pieces
            )
            open -= {piece.flow.number} if done else set()
    assert not open


def mutated(record: CaptureRecord, random: Random) -> CaptureRecord:
    """Return a record of which something may be wrong."""
    data = bytearray(record.data)
    kind = random.randrange(6)
    if kind == 0:
        for _ in range(random.randrange(1, 5)):
            data[random.randrange(min(len(data), 80))] = random.choice((0, 255, random.randrange(256)))
    elif kind == 1:
        del data[random.randrange(len(data)) :]
    elif kind == 2:
        at = random.randrange(len(data))
        data[at:at] = random.randbytes(random.randrange(5))
    link = random.choice([0, 1, 12, 101, 108, 113, 147, 228, 276]) if kind == 3 else record.link
    return record._replace(data=bytes(data), link=link, length=max(record.length, len(data)))


@given(st.lists(st.tuples(st.sampled_from([*LINKS.values()]), st.binary(max_size=120)), max_size=20))
def test_random_bytes_never_raise(frames: list[tuple[LinkLayer, bytes]]) -> None:
    read(CaptureRecord(number, None, link.type, data, len(data)) for number, (link, data) in enumerate(frames, 1))


# tshark


def followed(file: Path, count: int) -> dict[int, tuple[bytes, bytes]]:
    """Return the streams of both sides as tshark shows them, by the number of their flow from 1."""
    wanted = [word for number in range(count) for word in ("-z", f"follow,tcp,raw,{number}")]
    shown = subprocess.run(
        ["tshark", "-r", str(file), "-q", *wanted], capture_output=True, text=True, check=True
    ).stdout
    streams: dict[int, tuple[bytes, bytes]] = {}
    for block in shown.split("Filter: tcp.stream eq ")[1:]:
        number, lines = block.split("\n", 1)[0], block.split("Node 1:")[1].split("=")[0].split("\n")[1:]
        sides: tuple[list[str], list[str]] = ([], [])
        for line in lines:
            sides[line.startswith("\t")].append(line.strip())
        streams[int(number) + 1] = bytes.fromhex("".join(sides[0])), bytes.fromhex("".join(sides[1]))
    return streams


def ours(given: Iterable[CaptureRecord]) -> dict[int, tuple[bytes, bytes]]:
    """Return the streams of both sides by the number of their flow; what is missing in the words of tshark."""
    streams: dict[int, tuple[bytearray, bytearray]] = defaultdict(lambda: (bytearray(), bytearray()))
    for piece in read(given):
        if isinstance(piece, Missing):
            streams[piece.flow.number][piece.side].extend(b"[%d bytes missing in capture file]\0" % piece.length)
        elif isinstance(piece, Chunk):
            streams[piece.flow.number][piece.side].extend(piece.data)
    return {number: (bytes(one), bytes(other)) for number, (one, other) in streams.items()}


def pcapng(given: Iterable[CaptureRecord]) -> bytes:
    """Return a file with an interface for each link layer of its records."""
    kept = list(given)
    interfaces = {link: number for number, link in enumerate(dict.fromkeys(record.link for record in kept))}
    file = Pcapng()
    file.section()
    for link in interfaces:
        file.interface(link)
    for record in kept:
        file.enhanced(interfaces[record.link], RawRecord(record.number, record.data))
    return bytes(file.data)


READ_BY_TSHARK = (("QinQ",), ("Ethernet", "Linux cooked", "Linux cooked v2", "raw IP", "loopback of macOS"))
"""Link layers that one capture may mix, because tshark puts fragments together only within one VLAN.

It reads the others as well, but for IPv6 on the loopback of Windows and Linux.
"""


@pytest.mark.slow
@pytest.mark.tshark
@pytest.mark.parametrize("names", READ_BY_TSHARK, ids=["VLAN", "no VLAN"])
@pytest.mark.parametrize("trouble", [Trouble(again=20, late=20, fragmented=10), Trouble(lost=30)], ids=["late", "lost"])
def test_tshark_follows_the_same_bytes(names: tuple[str, ...], trouble: Trouble, tmp_path: Path) -> None:
    file = tmp_path / "capture.pcapng"

    @settings(max_examples=5, phases=[Phase.generate])
    @given(captures(trouble, links=tuple(LINKS[name] for name in names)))
    def follow(capture: Captured) -> None:
        file.write_bytes(pcapng(capture.records))
        streams = ours(capture.records)
        assert followed(file, len(streams)) == streams

    follow()
