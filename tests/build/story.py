"""What clients and a server say to each other, and when, in the notation of scripts; and captures of that.

    talk = Talk(Wire(), Version.V5)
    talk.say(time_ns, "> publish q1 i=$i t=a p=${payload}", i=7, payload=b"x")
    capture([talk])

`mqttpub help script` describes the notation. Words for what a version does not have are left out in it.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from mqttpub.capture.types import CaptureRecord
from mqttpub.codec.decode import decode_packet
from mqttpub.script.packets import StepContext, packet_bytes
from mqttpub.script.reader import read_line
from mqttpub.script.steps import PacketStep, Step, WaitStep
from mqttpub.spec.declare import Packet
from mqttpub.spec.versions import Direction, Version
from tests.build.frames import ACK, FIN, LINKS, PUSH, RST, Wire, pcap

CLIENT, SERVER = 0, 1
SIDES = (Direction.CLIENT, Direction.SERVER)
Value = int | str | bytes
"""What a variable of a line stands for."""


class Said(NamedTuple):
    """A packet as it was captured."""

    time_ns: int
    side: int
    data: bytes
    version: Version

    @property
    def packet(self) -> Packet:
        """The packet itself."""
        packet = decode_packet(self.data, self.version)
        assert packet
        return packet


def said(line: str, version: Version, time_ns: int = 0, step_ns: int = 0, /, **values: Value) -> Iterator[Said]:
    """Yield the packets of a line, with values for its variables; `step_ns` and waits of the line are between them."""
    bindings = {name: value.encode() if isinstance(value, str) else value for name, value in values.items()}
    context = StepContext(version, bindings, {}, any_version=True)
    for step in _steps(line):
        if isinstance(step, PacketStep):
            yield Said(time_ns, SIDES.index(step.direction), packet_bytes(step, context), version)
            time_ns += step_ns
        elif isinstance(step, WaitStep):
            time_ns += step.wait_ns


@lru_cache(1000)
def _steps(line: str) -> list[Step]:
    return list(read_line(line))


class Talk:
    """A TCP connection, and all that its ends say; without `dial`, a capture does not hold its beginning."""

    def __init__(self, wire: Wire, version: Version = Version.V5) -> None:
        self.version = version
        self.said: list[Said] = []
        self.closings: list[tuple[int, int, str]] = []
        """Time, side, and FIN or RST."""
        self._wire = wire
        self._opening: list[tuple[int, bytes]] = []

    def dial(self, time_ns: int, step_ns: int) -> None:
        """Open the connection."""
        self._opening = [(time_ns + at * step_ns, packet) for at, packet in enumerate(self._wire.opening())]

    def say(self, time_ns: int, line: str, step_ns: int = 0, /, **values: Value) -> int:
        """Send the packets of a line from a time on, and return that."""
        self.said.extend(said(line, self.version, time_ns, step_ns, **values))
        return time_ns

    def close(self, time_ns: int, *sides: int, how: str = "FIN") -> None:
        """End the connection from one side, or from both, a millisecond apart."""
        self.closings += [(time_ns + at * 1_000_000, side, how) for at, side in enumerate(sides)]

    def packets(self) -> Iterator[tuple[int, bytes]]:
        """Yield times and IP packets."""
        yield from self._opening
        sent = [0, 0]
        events = [(each.time_ns, each.side, each.data, ACK | PUSH) for each in self.said]
        events += [(time, side, b"", {"FIN": FIN, "RST": RST}[how] | ACK) for time, side, how in self.closings]
        for time, side, data, flags in sorted(events, key=itemgetter(0)):
            yield time, self._wire.packet(side, sent[side], data, flags=flags, ack=sent[1 - side])
            sent[side] += len(data)


def capture(talks: Iterable[Talk]) -> bytes:
    """Return a capture of connections, in the order of time."""
    link = LINKS["Ethernet"]
    sent = sorted((packet for talk in talks for packet in talk.packets()), key=itemgetter(0))
    frames = ((time, link.frame(packet)) for time, packet in sent)
    return pcap(
        CaptureRecord(number, time, link.type, frame, len(frame)) for number, (time, frame) in enumerate(frames, 1)
    )
