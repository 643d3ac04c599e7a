"""An edge node or a host of Sparkplug B, followed from message to message: births, deaths and faults.

The rules are those of the Sparkplug specification 3.0, sections 4.2 (births and deaths), 5 (order) and 6.4 (payloads).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from ...common.escape import escape
from ...payload.sparkplug import STATE
from ..rows import plain, schema_of
from .events import MOST_METRICS, WILL, Event

FAULTS = {
    "gaps": "gap in seq", "backwards": "seq went back", "without_seq": "no seq", "unborn": "before its birth",
    "unknown": "metric that no birth has", "doubled": "alias given twice", "bd_seq": "bdSeq does not match",
    "malformed": "not a payload of Sparkplug B",
}  # fmt: skip
"""What can be wrong with a message, with a name for people."""
COUNTS = (
    "messages", "births", "deaths", "device_births", "device_deaths", "data", "commands", "rebirths", "before",
    "missing", *FAULTS,
)  # fmt: skip
"""What is counted of a node.

`before` are messages before the first birth of a capture that begins in the middle, and `missing` the sequence numbers
that gaps leave out.
"""
MOST_EXAMPLES = 3
"""Messages that are named for each kind of fault of a node."""
MOST_SPANS = 200
MOST_DEVICES = 1000
"""Devices of a node that are followed."""
MOST_NAMED = 30
"""Devices of a node that its row names."""
MOST_ALIASES = 50_000
"""Metrics of a node that are remembered; of one with more, unknown ones are not counted."""
SEQ = 256
"""Sequence numbers are counted modulo this."""


class NodeDevice(NamedTuple):
    """A device of an edge node."""

    device: str
    births: int
    deaths: int
    data: int


class NodeExample(NamedTuple):
    """A message with a fault."""

    fault: str
    """One of FAULTS."""
    time: int | None
    """Microseconds since 1970."""
    capture: str
    frame: int
    device: str
    about: str


class OnlineSpan(NamedTuple):
    """A time online, in microseconds since 1970."""

    begin: int
    end: int | None
    """None while it lasts."""
    how: str
    """What ended it: death, or reconnect where a CONNECT came without a death; empty while it lasts."""


class SparkplugNode(NamedTuple):
    """What one stream shows of an edge node or of a host: a row of NODE."""

    group: str
    node: str
    """Empty for topics of another form."""
    stream: str
    """The client that received it; empty for what publishers sent."""
    host: bool
    published: bool
    """Whether anything in the stream came from a client."""
    online: bool | None
    """The last that is known."""
    first: int | None
    """Microseconds since 1970."""
    last: int | None
    messages: int
    births: int
    deaths: int
    device_births: int
    device_deaths: int
    data: int
    commands: int
    rebirths: int
    before: int
    """Messages before the first birth of a capture that begins in the middle."""
    missing: int
    """The sequence numbers that gaps leave out."""
    gaps: int
    backwards: int
    without_seq: int
    unborn: int
    unknown: int
    doubled: int
    bd_seq: int
    malformed: int
    faults: int
    """The sum of all that are in FAULTS."""
    device_count: int
    devices: Sequence[NodeDevice]
    """The first of them."""
    examples: Sequence[NodeExample]
    spans: Sequence[OnlineSpan]

    @property
    def by_fault(self) -> dict[str, int]:
        """Numbers of faults by their names in FAULTS."""
        return {name: getattr(self, name) for name in FAULTS}

    @property
    def name(self) -> str:
        """Group and name of an edge node, or the name of a host, escaped."""
        name = self.node if self.host else f"{self.group}/{self.node}"
        return escape(name) if self.node else "(other topics)"


NODE = schema_of(SparkplugNode)
"""The columns of nodes."""


def sessions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield a row of NODE for each node of each stream of events, which are in order, those of one together."""
    node: EdgeNode | None = None
    for batch in batches:
        done = []
        columns = (batch[name].to_pylist() for name in Event._fields)
        for event in map(Event._make, zip(*columns, strict=True)):
            if node is None or not node.has(event):
                if node:
                    done.append(node.row())
                node = EdgeNode(event)
            node.feed(event)
        yield _batch(done)
    if node:
        yield _batch([node.row()])


def _batch(nodes: Sequence[SparkplugNode]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(map(plain, nodes)), NODE)


class EdgeNode:
    """What was seen of an edge node with its devices, or of a host, which is that of a first event."""

    def __init__(self, event: Event) -> None:
        self._event = event
        self._counts = dict.fromkeys(COUNTS, 0)
        self._examples: list[NodeExample] = []
        self._spans: list[OnlineSpan] = []
        self._devices: dict[str, _Device] = {}
        self._first: int | None = None
        self._last: int | None = None
        self._published = False
        self._online: bool | None = None
        self._begun = False
        """Whether a birth, a death or a CONNECT was seen: what comes before may have been born earlier."""
        self._expected: int | None = None
        """The next sequence number."""
        self._last_seq: int | None = None
        self._born_with: int | None = None
        self._will: int | None = None
        self._deaths: set[tuple[int | None, int | None]] = set()
        self._aliases: dict[int, tuple[str, str | None]] = {}
        self._metrics: set[tuple[str, str]] = set()
        self._all_known = True

    def has(self, event: Event) -> bool:
        """Return whether an event is of this node and this stream."""
        own = self._event
        return (event.group, event.node, event.host, event.stream) == (own.group, own.node, own.host, own.stream)

    def feed(self, event: Event) -> None:
        """Take the next message into account."""
        if self._is_copy(event):
            return
        self._published |= not event.server
        if event.time is not None:
            self._first = event.time if self._first is None else self._first
            self._last = event.time
        type = event.type
        self._counts["messages"] += type != WILL
        if event.malformed or not type:
            self._fault("malformed", event, "" if type else "the topic has another form")
        elif type in _RULES:
            _RULES[type](self, event)

    def row(self) -> SparkplugNode:
        """Return what was seen."""
        own, devices = self._event, sorted(self._devices.items())
        return SparkplugNode(
            own.group, own.node, own.stream, own.host, self._published, self._online, self._first, self._last,
            **self._counts, faults=sum(self._counts[each] for each in FAULTS), device_count=len(devices),
            devices=[NodeDevice(name, **each.counts) for name, each in devices[:MOST_NAMED]],
            examples=self._examples, spans=self._spans,
        )  # fmt: skip

    # copies

    def _is_copy(self, event: Event) -> bool:
        """Return whether a message was seen before: re-delivered, or sent by the server to several subscribers."""
        type = event.type
        if event.dup and event.seq is not None and event.seq == self._last_seq:
            return True
        if type not in ("NDEATH", STATE) or event.malformed:
            return False
        key = (event.bd_seq if type != STATE else int(bool(event.online))), event.stamp
        if key in self._deaths:
            return True
        if len(self._deaths) >= MOST_SPANS or (type == STATE and event.stamp is None):
            self._deaths.clear()
        self._deaths.add(key)
        return False

    # the rules

    def _will_set(self, event: Event) -> None:
        """A CONNECT: the bdSeq of its will is that of the births that follow."""
        if self._online or not self._begun:
            self._ended(event, "reconnect")
        self._begun, self._expected, self._will = True, None, event.bd_seq
        if self._will is None:
            self._fault("bd_seq", event, "the will has no bdSeq")

    def _node_born(self, event: Event) -> None:
        self._counts["births"] += 1
        self._counts["rebirths"] += self._online is True
        self._deaths = {each for each in self._deaths if each[1] is not None}
        self._aliases, self._metrics, self._all_known = {}, set(), True
        for device in self._devices.values():
            device.online = False
        born = event.bd_seq
        if born is None:
            self._fault("bd_seq", event, "NBIRTH has no bdSeq")
        elif self._will is not None and born != self._will:
            self._fault("bd_seq", event, f"NBIRTH has bdSeq {born}, but the will of its CONNECT {self._will}")
        self._born_with, self._begun, self._expected = born, True, None
        self._sequence(event)
        self._defined(event, "")
        self._began(event)

    def _node_died(self, event: Event) -> None:
        self._counts["deaths"] += 1
        died = event.bd_seq
        if died is None:
            self._fault("bd_seq", event, "NDEATH has no bdSeq")
        elif self._born_with is not None and died != self._born_with:
            # It is that of an earlier session, which must not end this one.
            self._fault("bd_seq", event, f"NDEATH has bdSeq {died}, but the last NBIRTH {self._born_with}")
            return
        self._begun, self._expected = True, None
        self._ended(event, "death")

    def _device_born(self, event: Event) -> None:
        if self._device_changed(event, "births", online=True):
            self._defined(event, event.device)

    def _device_died(self, event: Event) -> None:
        self._device_changed(event, "deaths", online=False)

    def _device_changed(self, event: Event, count: str, *, online: bool) -> bool:
        """Count a birth or death of a device; return whether its node may send it."""
        self._counts[f"device_{count}"] += 1
        self._sequence(event)
        if not self._is_born(event):
            return False
        if device := self._device(event):
            device.counts[count] += 1
            device.online = online
        return True

    def _data(self, event: Event) -> None:
        self._counts["data"] += 1
        self._sequence(event)
        device = self._device(event) if event.device else None
        if device:
            device.counts["data"] += 1
        if not self._is_born(event) or not self._online:
            return
        if event.device and device and not device.online:
            self._fault("unborn", event, f"{event.type} of a device without a DBIRTH")
            return
        self._check_metrics(event)

    def _commanded(self, event: Event) -> None:
        self._counts["commands"] += 1

    def _state(self, event: Event) -> None:
        """A host is online or offline."""
        self._counts["births" if event.online else "deaths"] += 1
        if event.online:
            self._began(event)
        else:
            self._ended(event, "death")

    # what the rules share

    def _fault(self, fault: str, event: Event, about: str) -> None:
        self._counts[fault] += 1
        if self._counts[fault] <= MOST_EXAMPLES:
            self._examples.append(
                NodeExample(fault, event.time, event.capture, event.frame, event.device, about or event.type)
            )

    def _sequence(self, event: Event) -> None:
        """Compare the sequence number with the one before; after a break it counts on from there."""
        seq = event.seq
        if seq is None or not 0 <= seq < SEQ:
            self._fault("without_seq", event, f"{event.type} has {'no seq' if seq is None else f'seq {seq}'}")
            return
        if self._expected is not None and seq != self._expected:
            missing, before = (seq - self._expected) % SEQ, (self._expected - 1) % SEQ
            if missing < SEQ // 2:
                self._counts["missing"] += missing
                self._fault("gaps", event, f"seq {seq} after {before}: {missing} missing")
            else:
                self._fault("backwards", event, f"seq {seq} after {before}")
        self._last_seq, self._expected = seq, (seq + 1) % SEQ

    def _is_born(self, event: Event) -> bool:
        """Return whether the node may send this; before the first birth of a capture, nothing is known of it."""
        if self._online:
            return True
        if self._begun:
            self._fault("unborn", event, f"{event.type} without an NBIRTH")
            return False
        self._counts["before"] += 1
        self._seen(event)
        return True

    def _device(self, event: Event) -> "_Device | None":
        """Return the device of a message; None once there are too many to remember."""
        if event.device not in self._devices and len(self._devices) >= MOST_DEVICES:
            return None
        return self._devices.setdefault(event.device, _Device())

    def _defined(self, event: Event, device: str) -> None:
        """Remember the metrics of a birth."""
        for name, alias in zip(event.names or (), event.aliases or (), strict=True):
            if alias is not None and self._aliases.setdefault(alias, (device, name)) != (device, name):
                other = self._aliases[alias][1]
                self._fault("doubled", event, f"alias {alias} is given to '{other}' and to '{name}'")
            if name is not None:
                self._metrics.add((device, name))
        if len(self._metrics) > MOST_ALIASES or len(event.names or ()) >= MOST_METRICS:
            self._aliases, self._metrics, self._all_known = {}, set(), False

    def _check_metrics(self, event: Event) -> None:
        if not self._all_known:
            return
        for name, alias in zip(event.names or (), event.aliases or (), strict=True):
            if alias is not None and alias in self._aliases:
                continue
            if name is None or (event.device, name) not in self._metrics:
                unnamed = "a metric without a name" if alias is None else f"alias {alias}"
                self._fault("unknown", event, f"no birth has {unnamed if name is None else repr(name)}")

    def _began(self, event: Event) -> None:
        self._online = True
        self._seen(event)

    def _seen(self, event: Event) -> None:
        """Begin a time online, unless one lasts."""
        ended = not self._spans or self._spans[-1].end is not None
        if ended and event.time is not None and len(self._spans) < MOST_SPANS:
            self._spans.append(OnlineSpan(event.time, None, ""))

    def _ended(self, event: Event, how: str) -> None:
        if self._spans and self._spans[-1].end is None:
            self._spans[-1] = self._spans[-1]._replace(end=event.time, how=how)
        self._online = False
        for device in self._devices.values():
            device.online = False


class _Device:
    """What was seen of a device."""

    __slots__ = ("counts", "online")

    def __init__(self) -> None:
        self.counts = {"births": 0, "deaths": 0, "data": 0}
        self.online = False


_RULES: dict[str, Callable[[EdgeNode, Event], None]] = {
    WILL: EdgeNode._will_set, "NBIRTH": EdgeNode._node_born, "NDEATH": EdgeNode._node_died,
    "DBIRTH": EdgeNode._device_born, "DDEATH": EdgeNode._device_died, "NDATA": EdgeNode._data,
    "DDATA": EdgeNode._data, "NCMD": EdgeNode._commanded, "DCMD": EdgeNode._commanded, STATE: EdgeNode._state,
}  # fmt: skip
