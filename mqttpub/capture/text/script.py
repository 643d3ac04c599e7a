"""The steps of a script as the events of a capture."""

from collections.abc import Iterable, Iterator

from ...codec.stream import MAX_PACKET
from ...script.encoder import ScriptEncoder
from ...script.reader import read_script
from ...script.steps import EndStep, GapStep, MidStep, PacketStep, Step, VersionStep, WaitStep
from ...spec.versions import Direction, Version
from ...traffic.events import Event, GapSeen
from ..protocol.handler import DemuxSettings, MemoryBudget, SkippedConnections
from ..protocol.mqtt_connection import MqttConnection
from ..types import Chunk, End, Flow

STEP_NS = 1_000_000
"""Time between two steps that no `+` stands between."""
_SIDES = {Direction.CLIENT: 0, Direction.SERVER: 1, None: None}


def script_events(lines: Iterable[str], version: Version | None = None) -> Iterator[Event]:
    """Yield what a script says happens, from the time 0 on; raises BadText.

    `version` is what a flag asks for. Marks that only a player needs (`?`, `*`, `none`, `within`, `slice`) are left
    out, and a variable has its default. Each label is a connection.
    """
    told = _Told(version)
    for step in read_script(lines):
        yield from told.step(step)
    yield from told.finish()


class _Told:
    """The connections of a script so far."""

    def __init__(self, asked: Version | None) -> None:
        self.encoder = ScriptEncoder(asked)
        self.time_ns = 0
        self.connections: dict[str, MqttConnection] = {}
        self.closing: dict[str, Direction | None] = {}
        """The end that has closed its side, of each connection whose other end has not."""
        self.ended: set[str] = set()
        """Labels of connections that are over."""
        self.middles: set[str] = set()
        """Labels of connections whose beginning was not captured."""
        self.budget = MemoryBudget()
        self.count = 0

    def step(self, step: Step) -> Iterator[Event]:
        if isinstance(step, VersionStep):
            self.encoder.version_line(step)
        elif isinstance(step, MidStep):
            self.middles.add(step.label)
        elif isinstance(step, WaitStep):
            self.time_ns += step.wait_ns
        else:
            self.time_ns += STEP_NS
            if isinstance(step, PacketStep):
                yield from self._packet(step)
            elif isinstance(step, EndStep):
                yield from self._end(step)
            elif isinstance(step, GapStep):
                yield from self._gap(step)

    def finish(self) -> Iterator[Event]:
        """Yield the events of connections whose end the script does not say."""
        for connection in self.connections.values():
            yield from connection.end(End(connection.flow, None, self.time_ns, 0, "end"))

    def _packet(self, step: PacketStep) -> Iterator[Event]:
        data = self.encoder.bytes_of(step)
        connection = self._connection(step)
        if self.closing.get(step.label) is step.direction:
            raise step.word.error("this end has closed the connection; a new one takes another label, such as [b]")
        chunk = Chunk(connection.flow, _SIDES[step.direction] or 0, self.time_ns, 0, data)
        for _ in range(step.sending.copies):
            yield from connection.chunk(chunk)

    def _end(self, step: EndStep) -> Iterator[Event]:
        connection = self._connection(step)
        side = _SIDES[step.direction]
        yield from connection.end(End(connection.flow, side, self.time_ns, 0, step.how))
        if step.how != "FIN" or self.closing.setdefault(step.label, step.direction) is not step.direction:
            del self.connections[step.label]
            self.ended.add(step.label)

    def _gap(self, step: GapStep) -> Iterator[Event]:
        ends = self._connection(step).ends
        message = "bytes are missing, as the script says"
        yield GapSeen(ends, self.time_ns, 0, 0, Direction.CLIENT, 1, b"", message, False)

    def _connection(self, step: PacketStep | EndStep | GapStep) -> MqttConnection:
        label = step.label
        if label in self.ended:
            raise step.word.error("the connection is over; a new one takes another label, such as [b]")
        if label not in self.connections:
            self.count += 1
            flow = Flow(self.count, (label or "client", "server"), (0, 1883), label not in self.middles)
            settings = DemuxSettings(
                frozenset(), self.encoder.version(label), MAX_PACKET, SkippedConnections(), self.budget
            )
            self.connections[label] = MqttConnection(flow, settings, 0, begun=flow.opened)
        return self.connections[label]
