"""A link whose ends note what they are given, on a clock that the test moves."""

from mqttpub.lab.faults.faults import FaultedLink, FaultReport, Faults
from mqttpub.lab.faults.rules import fault_rule
from mqttpub.lab.serving.timers import Timers
from mqttpub.script.packets import StepContext, packet_bytes
from mqttpub.script.reader import read_line
from mqttpub.script.steps import PacketStep
from mqttpub.spec.versions import Direction, Version

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER


def packet(text: str, version: Version = Version.V5) -> bytes:
    """Return the bytes of a step without its mark."""
    (step,) = read_line(text, mark=">")
    assert isinstance(step, PacketStep)
    return packet_bytes(step, StepContext(version, {}, {}))


class NotedEnd:
    """Notes what it is given: bytes, FIN or RST."""

    def __init__(self) -> None:
        self.given: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.given.append(data)

    def close(self) -> None:
        self.given.append("FIN")

    def reset(self) -> None:
        self.given.append("RST")

    @property
    def data(self) -> bytes:
        return b"".join(each for each in self.given if isinstance(each, bytes))


class ManualLoop:
    """Timers on a clock that only `pass_s` moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers = Timers()

    def clock(self) -> float:
        return self.now

    def pass_s(self, seconds: float) -> None:
        until = self.now + seconds
        while (due := self.timers.next()) is not None and due <= until:
            self.now = due
            self.timers.run(due)
        self.now = until


class Wire:
    """One run of rules, and the link of its first connection after CONNECT and CONNACK."""

    def __init__(self, *rules: str, seed: int = 7, version: Version = Version.V5) -> None:
        self.reports: list[FaultReport] = []
        self.version = version
        self.loop = ManualLoop()
        self.faults = Faults([fault_rule(text) for text in rules], seed, self.reports.append)
        self.link, self.ends = self.connect()

    def connect(self) -> tuple[FaultedLink, dict[Direction, NotedEnd]]:
        ends = {end: NotedEnd() for end in Direction}
        return self.faults.link("a", None, ends, self.loop), ends  # type: ignore[arg-type]

    def open(self) -> None:
        """Exchange CONNECT and CONNACK, and forget them."""
        self.client("connect id=c")
        self.server("connack")
        for end in self.ends.values():
            end.given.clear()

    def client(self, text: str) -> bytes:
        """Let the client send a packet; return its bytes."""
        self.link.received(CLIENT, data := packet(text, self.version))
        return data

    def server(self, text: str) -> bytes:
        """Let the server send a packet; return its bytes."""
        self.link.received(SERVER, data := packet(text, self.version))
        return data

    @property
    def to_server(self) -> list[bytes | str]:
        return self.ends[CLIENT].given

    @property
    def to_client(self) -> list[bytes | str]:
        return self.ends[SERVER].given

    @property
    def words(self) -> list[str]:
        return [report.words for report in self.reports]
