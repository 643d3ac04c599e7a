"""What an observer is shown of the bytes of both ends."""

from typing import Any

import pytest

from mqttpub.codec.frame_runs import FrameRun
from mqttpub.codec.stream import Frame
from mqttpub.lab.proxy.observed import ObservedBytes
from mqttpub.live.net.dial import Route
from mqttpub.spec.versions import Direction, Version

C, S = Direction.CLIENT, Direction.SERVER
CONNECT = bytes.fromhex("100d00044d5154540402003c000161")
PUBLISH = bytes.fromhex("300400016178")
PINGREQ = b"\xc0\0"


class Packets:
    """Notes packets."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, now: float, frame: Frame) -> None:
        self.seen.append((frame.direction, frame.data, frame.offset, frame.version))

    def connected(self, route: Route) -> None:
        """Note the beginning."""
        self.seen.append("connected")

    def over(self) -> None:
        """Note the end."""
        self.seen.append("over")


class Bytes:
    """Notes bytes and ends."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def passed(self, now: float, direction: Direction, data: bytes) -> None:
        """Note bytes."""
        self.seen.append((direction, data))

    def closed(self, now: float, direction: Direction, how: str) -> None:
        """Note an end."""
        self.seen.append((direction, how))


def test_packets_come_whole_with_their_version_however_the_bytes_come() -> None:
    observer = Packets()
    observed = ObservedBytes(observer, Version.V5)
    observed.connected(Route([]))
    for byte in CONNECT + PUBLISH:
        observed.passed(C, bytes([byte]))
    observed.passed(S, b"\x20\x02\0\0" + PUBLISH[:3])
    observed.ended(S, "FIN")
    observed.ended(S, "RST")
    observed.over()
    v = Version.V311
    assert observer.seen == [
        "connected", (C, CONNECT, 0, v), (C, PUBLISH, 15, v), (S, b"\x20\x02\0\0", 0, v), (S, PUBLISH[:3], 4, v), "over"
    ]  # fmt: skip


def test_bytes_come_as_they_passed_and_each_end_once() -> None:
    observer = Bytes()
    observed = ObservedBytes(observer, Version.V5)
    observed.connected(Route([]))
    observed.passed(C, CONNECT[:4])
    observed.ended(C, "FIN")
    observed.ended(C, "RST")
    observed.ended(S, "RST")
    observed.over()
    assert observer.seen == [(C, CONNECT[:4]), (C, "FIN"), (S, "RST")]


@pytest.mark.parametrize("together", [False, True])
def test_what_cannot_be_cut_into_packets_is_shown_as_it_comes(together: bool) -> None:
    observer = Packets()
    if together:
        observer.together = lambda now, runs: observer.seen.extend(runs)  # type: ignore[attr-defined]
    observed = ObservedBytes(observer, Version.V5)
    lost = b"\x30\xff\xff\xff\xff\xff"
    for data in (CONNECT, PUBLISH + PUBLISH + PINGREQ, lost, b"more"):
        observed.passed(C, data)
    messages = [PUBLISH, PUBLISH]
    if together:
        assert observer.seen[1] == FrameRun(PUBLISH + PUBLISH, 15, 6, C, Version.V311)
        messages = [PUBLISH + PUBLISH]
    whole = [each.data if isinstance(each, FrameRun) else each[1] for each in observer.seen]
    assert whole == [CONNECT, *messages, PINGREQ, lost, b"more"]
    assert observer.seen[-1][2] == 35
