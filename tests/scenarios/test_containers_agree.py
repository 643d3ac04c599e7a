"""The same capture in other containers, on other links and as other networks deliver it gives the same rows."""

import gzip
import io
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mqttpub.capture.reading import events
from mqttpub.traffic.events import Closed, GapSeen, PacketSeen, Remark
from tests.build import variations
from tests.build.containers import zipped
from tests.build.frames import LINKS as ALL_LINKS
from tests.build.frames import ONE_VERSION
from tests.build.variations import CapturedFrame, Frames, frames, pcap, pcapng
from tests.paths import CAPTURES

NAMES = ("qos2-mosquitto", "every-type-and-property")

LINKS: dict[str, tuple[int, Callable[[CapturedFrame], CapturedFrame]]] = {
    "padded Ethernet": (1, variations.padded),
    **{name: (link.type, variations.on(link)) for name, link in ALL_LINKS.items() if name != "Ethernet"},
    "raw IPv4": (ONE_VERSION[4].type, variations.on(ONE_VERSION[4])),
}
FILES: dict[str, Callable[[Frames], bytes]] = {
    "pcap, nanoseconds": pcap,
    "pcap, nanoseconds, big-endian": lambda given: pcap(given, order=">"),
    "pcapng, big-endian": pcapng,
    "pcapng, little-endian, three interfaces": lambda given: pcapng(given, order="<", interfaces=3),
    "gzip of pcap": lambda given: gzip.compress(pcap(given)),
    "gzip in two members of pcapng": lambda given: zipped(pcapng(given), members=2),
    "zstd of pcap": lambda given: variations.zstd(pcap(given)),
    "zstd of pcapng": lambda given: variations.zstd(pcapng(given)),
    **{
        name: lambda given, link=link, change=change: pcap(map(change, given), link=link)  # type: ignore[misc]
        for name, (link, change) in LINKS.items()
    },
}
"""The same records, each with its own time."""
MICRO: dict[str, Callable[[Frames], bytes]] = {
    "pcap, microseconds": lambda given: pcap(given, kind="micro"),
    "pcap, microseconds, big-endian": lambda given: pcap(given, kind="micro", order=">"),
}
"""The same records, with times cut to microseconds."""
NETWORKS: dict[str, Callable[[Frames], Frames]] = {
    "retransmitted": variations.retransmitted,
    "reordered": lambda given: variations.reordered(variations.cut(given, 9)),
    "cut into bytes": variations.cut,
    "cut into pieces of 7 bytes": lambda given: variations.cut(given, 7),
    "overlapping": variations.overlapping,
    "IP fragments": variations.fragmented,
    "reordered, cut and retransmitted": lambda given: variations.retransmitted(
        variations.reordered(variations.cut(given, 11))
    ),
}
"""Other records of the same connections."""


class Row(NamedTuple):
    """What a capture tells of a packet, whatever carried it."""

    ends: tuple[Any, ...]
    direction: Any
    offset: int
    data: bytes
    version: Any
    guessed: bool


def read(data: bytes) -> list[Any]:
    """Return all events of a file."""
    return list(events(io.BytesIO(data)))


def rows(found: list[Any]) -> list[Row]:
    """Return the packets; nothing but packets and ends of connections may be there."""
    assert [each for each in found if isinstance(each, GapSeen | Remark)] == []
    assert all(isinstance(each, PacketSeen | Closed) for each in found)
    return [
        Row(each.ends, each.direction, each.offset, each.data, each.version, each.guessed)
        for each in found
        if isinstance(each, PacketSeen)
    ]


@pytest.fixture(scope="module", params=NAMES)
def original(request: pytest.FixtureRequest) -> Path:
    """A capture that ships with the tests."""
    return CAPTURES / f"{request.param}.pcapng"


@pytest.fixture(scope="module")
def found(original: Path) -> list[Any]:
    """What is read of it as it is."""
    return read(original.read_bytes())


@pytest.fixture(scope="module")
def given(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """Its frames."""
    copy = tmp_path_factory.mktemp("frames") / original.name
    copy.write_bytes(original.read_bytes())
    return frames(copy)


def test_the_originals_hold_what_they_are_named_for(original: Path, found: list[Any]) -> None:
    types = {row.data[0] >> 4 for row in rows(found)}
    assert len(rows(found)) == {"qos2-mosquitto": 54, "every-type-and-property": 32}[original.stem]
    assert types >= ({3, 5, 6, 7} if original.stem == NAMES[0] else set(range(1, 16)))
    assert {row.guessed for row in rows(found)} == {False}


@pytest.mark.parametrize("name", FILES)
def test_the_same_records_give_the_same_events(name: str, found: list[Any], given: Frames) -> None:
    assert read(FILES[name](given)) == found


@pytest.mark.parametrize("name", MICRO)
def test_times_in_microseconds_are_cut(name: str, found: list[Any], given: Frames) -> None:
    # How long a handshake took is the difference of two times, of which each was cut.
    cut = [each._replace(time=each.time // 1000 * 1000) for each in found]
    assert list(map(without_handshake, read(MICRO[name](given)))) == list(map(without_handshake, cut))


def without_handshake(event: Any) -> Any:
    return (
        event._replace(tcp=event.tcp._replace(handshake_ns=None)) if isinstance(event, Closed) and event.tcp else event
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_other_records_give_the_same_rows(name: str, found: list[Any], given: Frames) -> None:
    delivered = NETWORKS[name](given)
    assert [frame.data for frame in delivered] != [frame.data for frame in given]
    mine = rows(read(pcap(delivered)))
    assert sorted(mine, key=_in_its_stream) == sorted(rows(found), key=_in_its_stream)


def _in_its_stream(row: Row) -> tuple[Any, ...]:
    return row.ends, str(row.direction), row.offset


@pytest.mark.tshark
@pytest.mark.parametrize("form", ["pcap", "nsecpcap", "modpcap", "pcapng"])
def test_what_editcap_writes(form: str, original: Path, found: list[Any], tmp_path: Path) -> None:
    target = tmp_path / "made"
    _run("editcap", "-F", form, original, target)
    assert rows(read(target.read_bytes())) == rows(found)


@pytest.mark.tshark
def test_what_mergecap_writes(original: Path, found: list[Any], given: Frames, tmp_path: Path) -> None:
    """Put two halves together, which are two interfaces in the file then."""
    wanted, parts = f"1-{len(given) // 2}", [tmp_path / "first", tmp_path / "second"]
    _run("editcap", "-r", original, parts[0], wanted)
    _run("editcap", original, parts[1], wanted)
    _run("mergecap", "-w", tmp_path / "made", *parts[::-1])
    assert read((tmp_path / "made").read_bytes()) == found


def _run(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
