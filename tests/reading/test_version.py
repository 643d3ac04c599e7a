"""Packets without the CONNECT that announces their version: each connection has one, whatever it is read for."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.cli.main import main
from mqttpub.codec.encode import encode
from mqttpub.reading.input import AllEvents, Input, InputOptions
from mqttpub.reading.located import LocatedInput
from mqttpub.reading.text import file_events
from mqttpub.reading.version import MOST_HELD, MOST_SETTLED, settle
from mqttpub.spec.packets import Connect, Pingreq, Puback, Publish, Pubrel, Subscribe, Subscription
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints, Event, PacketSeen
from tests.cli.faulty import C, S, capture

V31, V311, V5 = Version.V31, Version.V311, Version.V5
THREE = "< 4002 0001\n> 3008 0001 61 686970616e\n> 3008 0001 61 00 7070 6161\n"
"""The same in all versions; right in 3.1.1 only; right in both, with other values."""
AMBIGUOUS = bytes.fromhex("3008000161007070 6161")
ONLY_OLD = bytes.fromhex("3008000161686970616e")
UNKNOWN_LEVEL = bytes.fromhex("100d 0004 4d515454 06 02 003c 0001 61")
VIEWS = (("--json",), ("--summary", "--json"))


def shown(*arguments: str) -> list[dict[str, Any]]:
    """Return the JSON lines of a run, whatever its status."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        assert main([*arguments]) in (0, 1)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def versions_of(events: Any) -> list[tuple[int, str]]:
    """Return connection and version of each packet among events."""
    return [(each.ends.number, each.version.label) for each in events if isinstance(each, PacketSeen)]


def judged(path: Path) -> list[tuple[int, str]]:
    """Return what `lint` reads."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        return versions_of([*AllEvents([LocatedInput(Input.opened(str(path), stack))], InputOptions())])


def of_text(path: Path) -> dict[str, list[str]]:
    """Return the versions of a text of one connection, by who reads it."""
    found = {
        " ".join(view): [each["version"] for each in shown("decode", *view, str(path)) if "version" in each]
        for view in VIEWS
    }
    found["lint"] = [version for _, version in judged(path)]
    with path.open("rb") as file:
        found["pipeline"] = [version for _, version in versions_of(file_events(file, path.read_bytes()))]
    return found


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (THREE, "3.1.1"),
        ("".join(reversed(THREE.splitlines(keepends=True))), "3.1.1"),
        (AMBIGUOUS.hex() + "\n" + AMBIGUOUS.hex(), "5.0"),
        (AMBIGUOUS.hex() + "\n" + ONLY_OLD.hex()[:-2], "5.0"),
        (AMBIGUOUS.hex() + "\n300800012b686970616e", "3.1.1"),
        (AMBIGUOUS.hex() + "\n400500016161", "3.1.1"),
        ("> c000\n< d000\n", "5.0"),
        ("> c000\n< 2003008400\n", "5.0"),
        ("> c000\n< 20020001\n", "3.1.1"),
    ],
)
def test_every_view_reads_a_text_in_one_version(text: str, version: str, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text(text)
    found = of_text(path)
    assert {name: set(each) for name, each in found.items()} == {name: {version} for name in found}


PINGS = [(C, b"\xc0\0")]
EARLY = 3
"""Packets that the client sends before it reads the answer to its CONNECT."""


def refusing(version: Version, answer: str, *, before: str = "") -> list[tuple[Direction, bytes]]:
    """Return a CONNECT and its answer among other packets, which are so many that tables are made by columns."""
    connect = encode(Connect(client_id="a"), version)
    first = [(S, bytes.fromhex(before))] if before else []
    return [(C, connect), *PINGS * EARLY, *first, (S, bytes.fromhex(answer)), *PINGS * 30]


def in_every_view(sent: list[tuple[Direction, bytes]], folder: Path) -> dict[str, list[str]]:
    """Return the versions of packets of a text and of a capture, by who reads it."""
    import pyarrow.parquet as pq

    text, path, table = folder / "text.txt", folder / "c.pcap", folder / "c.parquet"
    text.write_text("".join(f"{end.mark} {data.hex()}\n" for end, data in sent))
    path.write_bytes(capture([*sent], port=50_000))
    assert main(["decode", "--parquet", str(table), str(path)]) == main(["decode", "--summary", str(path)])
    found = {f"text {name}": each for name, each in of_text(text).items()}
    for view in VIEWS:
        found[" ".join(view)] = [each["version"] for each in shown("decode", *view, str(path)) if "version" in each]
    found["lint"] = [version for _, version in judged(path)]
    found["columns"] = [row["version"] for row in pq.read_table(table).to_pylist()]
    return found


@pytest.mark.parametrize(
    ("announced", "answer", "before", "version"),
    [
        (V5, "20020001", "", "3.1.1"),
        (V5, "20020105", "", "3.1.1"),
        (V31, "20020001", "", "3.1"),
        (V5, "20020000", "", "5.0"),
        (V5, "20020006", "", "5.0"),
        (V5, "2003000100", "", "5.0"),
        (V5, "20020001", "f000", "5.0"),
        (V5, "20020001", "2003000000", "5.0"),
    ],
)
def test_every_view_reads_a_refusal_in_the_form_that_it_has(
    announced: Version, answer: str, before: str, version: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    sent = refusing(announced, answer, before=before)
    expected = [announced.label] * len(sent)
    expected[EARLY + bool(before) + 1] = version
    found = in_every_view(sent, tmp_path)
    assert {name: each for name, each in found.items() if each != expected} == {}


def pieces() -> st.SearchStrategy[tuple[Direction, bytes]]:
    """Packets of both versions, right and wrong, that tell more or less about theirs."""
    topics, payloads = st.sampled_from(["a", "a/b"]), st.sampled_from([b"", b"\0x", b"hi", b"\x02\x01\x00"])
    both = st.sampled_from([V311, V5])
    published = st.builds(
        lambda topic, payload, version, end: (end, encode(Publish(topic=topic, payload=payload), version)),
        topics, payloads, both, st.sampled_from([C, S]),
    )  # fmt: skip
    asked = st.builds(
        lambda version: (C, encode(Subscribe(packet_id=1, subscriptions=(Subscription(filter="a"),)), version)), both
    )
    same = st.sampled_from([
        (C, encode(Pingreq(), V5)), (S, b"\xd0\0"), (S, encode(Puback(packet_id=1), V5)), (C, b"\x60\2\0\1"),
        (C, encode(Pubrel(packet_id=1), V5)), (S, b"\x20\2\0\1"), (S, b"\x20\3\0\x84\0"), (C, UNKNOWN_LEVEL),
    ])  # fmt: skip
    return st.one_of(published, published, asked, same)


@settings(max_examples=40)
@given(st.lists(pieces(), min_size=2, max_size=8))
def test_any_text_has_one_version_in_every_view(tmp_path_factory: pytest.TempPathFactory, sent: Any) -> None:
    sent = [each for at, each in enumerate(sent) if not at or each[1] != UNKNOWN_LEVEL]
    if len(sent) < 2:
        return
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(f"{end.mark} {data.hex()}\n" for end, data in sent))
    found = of_text(path)
    first = found.pop("lint")
    assert all(each == first for each in found.values())
    later = first[1:] if sent[0][1] == UNKNOWN_LEVEL else first
    assert len(set(later)) == 1


@settings(max_examples=25)
@given(st.lists(pieces(), min_size=1, max_size=8))
def test_any_capture_has_one_version_in_every_view(tmp_path_factory: pytest.TempPathFactory, sent: Any) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    sent = [each for at, each in enumerate(sent) if not at or each[1] != UNKNOWN_LEVEL]
    folder = tmp_path_factory.mktemp("capture")
    path, table = folder / "c.pcap", folder / "c.parquet"
    path.write_bytes(capture(sent, port=50_000))
    found = {" ".join(view): [each["version"] for each in shown("decode", *view, "--port", "1883", str(path))
                              if "version" in each] for view in VIEWS}  # fmt: skip
    found["lint"] = [version for _, version in judged(path)]
    assert main(["decode", "--parquet", str(table), str(path)]) == main(["decode", "--summary", str(path)])
    rows = pq.read_table(table).to_pylist()
    found["columns"] = [row["version"] for row in rows]
    first = found.pop("lint")
    assert all(each == first for each in found.values())
    assert len(first) == len(sent)
    later = first[1:] if sent[0][1] == UNKNOWN_LEVEL else first
    assert len(set(later)) <= 1


# single packets


def test_a_single_packet_leads_with_the_reading_without_an_error() -> None:
    found = shown("decode", "--json", ONLY_OLD.hex())
    assert [(each["version"], each["version_known"]) for each in found] == [("3.1.1", False), ("5.0", False)]
    assert [bool(each["findings"]) for each in found] == [False, True]
    assert [each["version"] for each in shown("decode", "--json", AMBIGUOUS.hex())] == ["5.0", "3.1.1"]
    (same,) = shown("decode", "--json", "c000")
    assert (same["version"], same["direction"], "version_known" in same) == ("5.0", "client", False)


# bounds


def seen(data: bytes, number: int = 1, *, version: Version = V5, guessed: bool = True) -> PacketSeen:
    return PacketSeen(Endpoints(number, "", ""), None, 0, data, 0, None, version, guessed)


def test_no_more_is_held_than_needed() -> None:
    taken: list[Event] = []

    def taking(events: list[PacketSeen]) -> Any:
        for event in events:
            taken.append(event)
            yield event

    first = next(iter(settle(taking([seen(AMBIGUOUS)] * 5 + [seen(ONLY_OLD)] * 5))))
    assert isinstance(first, PacketSeen)
    assert (first.version, len(taken)) == (V311, 8)
    taken.clear()
    first = next(iter(settle(taking([seen(AMBIGUOUS)] * 2 * MOST_HELD))))
    assert len(taken) == MOST_HELD


def test_a_connection_keeps_its_version_after_the_buffer_is_full() -> None:
    found = [*settle([seen(AMBIGUOUS)] * MOST_HELD + [seen(ONLY_OLD)] * 3)]
    assert {each.version for each in found if isinstance(each, PacketSeen)} == {V5}


def test_connections_that_take_turns_have_each_its_own() -> None:
    found = [*settle([seen(AMBIGUOUS, 1), seen(AMBIGUOUS, 2), seen(b"\xc0\0", 3, version=V31), seen(ONLY_OLD, 2)])]
    assert versions_of(found) == [(1, "5.0"), (2, "3.1.1"), (3, "5.0"), (2, "3.1.1")]
    known = [seen(AMBIGUOUS, 1), seen(ONLY_OLD, 1, version=V311, guessed=False), seen(AMBIGUOUS, 1)]
    assert versions_of(settle(known)) == [(1, "5.0"), (1, "3.1.1"), (1, "5.0")]
    many = [seen(b"\xc0\0", number) for number in range(MOST_SETTLED + 10)]
    assert len(versions_of(settle(many))) == len(many)
