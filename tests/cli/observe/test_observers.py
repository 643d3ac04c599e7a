"""Several connections of a run: told apart, judged at either end, and forgotten once they are over."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.observe.inspect import Inspector
from mqttpub.cli.observe.observers import Observers, observers, recorder
from mqttpub.cli.observe.shown import Showing
from mqttpub.codec.stream import Frame
from mqttpub.common.errors import UserError
from mqttpub.live.net.dial import Route
from mqttpub.live.net.target import Target
from mqttpub.spec.versions import Direction, Version

C, S = Direction.CLIENT, Direction.SERVER
CONNECT = bytes.fromhex("101000044d5154540502003c032100140000")
PUBLISH, PUBACK = bytes.fromhex("3206000161000100"), bytes.fromhex("40020001")
ROUTE = Route([], ("127.0.0.1", 50_000), ("127.0.0.1", 1883))


class Request:
    """A request that shows, checks and records."""

    def __init__(self, capture: Path) -> None:
        self.target = Target()
        self.shown = Showing(inspect=True, lint=True, json=True, capture=str(capture))


def frame(data: bytes, direction: Direction = C) -> Frame:
    """Return a packet of MQTT 5."""
    return Frame(data, 0, direction, Version.V5)


def test_each_connection_has_its_own_name_and_times(capsys: pytest.CaptureFixture[str]) -> None:
    inspector = Inspector(Version.V5, json=True)
    one, two = inspector.of("1", None), inspector.of("2", None)
    for now, observer, packet in (
        (1.0, one, frame(PUBLISH)), (2.0, two, frame(PUBLISH)), (2.5, one, frame(PUBACK, S)),
        (2.75, two, frame(PUBACK, S)),
    ):  # fmt: skip
        observer(now, packet)
    inspector.flush()
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["connection"], each.get("seconds_after_publish")) for each in records] == [
        ("1", None), ("2", None), ("1", 1.5), ("2", 0.75)
    ]  # fmt: skip


@pytest.mark.parametrize(("peers", "status"), [((S,), 0), ((C, S), 7)])
def test_a_connection_that_is_over_is_forgotten_and_counts_for_its_peers(
    peers: tuple[Direction, ...], status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.pcapng"
    with ExitStack() as stack:
        seen = observers(Request(file), stack, peers)
        for label in ("1", "2", "3"):
            _speak(seen.of(label))
        assert _remembered(seen) == ([], [])
    assert seen.status(0) == status
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["errors"], last["peer_errors"]) == (3, 3 if C in peers else 0)


def _speak(observer: Any) -> None:
    """Pass a CONNECT and a PUBLISH whose QoS is 3."""
    observer.connected(ROUTE)
    for data in (CONNECT, b"\x36" + PUBLISH[1:]):
        observer.passed(1.0, C, data)
        observer(1.0, frame(data))
    observer.over()


def _remembered(seen: Observers) -> tuple[list[Any], list[Any]]:
    assert seen.watch
    assert seen.recorder
    return list(seen.watch._connections), list(seen.recorder._open)


def test_a_capture_says_whether_it_holds_passwords(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.pcapng"
    with ExitStack() as stack:
        recorder(Showing(capture=str(path)), stack)
        recorder(Showing(capture=str(path), masks=True), stack)
    assert capsys.readouterr().err == (
        f"mqttpub: '{path}' will hold passwords as they are sent; --capture-masked masks them\n"
    )


def test_a_capture_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "no" / "a.pcapng", "No such file"), (Path("/dev/full"), "No space left")):
        with ExitStack() as stack, pytest.raises(UserError, match=f"--capture: cannot write '{path}': {why}"):
            recorder(Showing(capture=str(path)), stack)
