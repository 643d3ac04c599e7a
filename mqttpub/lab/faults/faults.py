"""The rules of one run, applied to both directions of each connection."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random, SystemRandom
from typing import Any, NamedTuple

from ...codec.decode import decode_packet
from ...codec.stream import ConnectionStreams, Frame, LostSync
from ...common.bad_text import BadText
from ...common.escape import escape
from ...common.words import counted
from ...script.lex import shown
from ...script.packets import StepContext, changed
from ...spec.declare import Packet
from ...spec.packets import PACKETS
from ...spec.versions import Direction, Version
from ...traffic.aliases import Topic
from ...traffic.clients import Clients
from ...traffic.events import Endpoints
from ...traffic.seen import SeenConnection
from ..serving.served_socket import Loop
from .lane import MOST_HELD_BYTES, FaultedEnd, Lane, Passing, Wait
from .rules import FaultRule

MOST_PACKET_BYTES = 64 << 20
"""Size of the largest packet that is cut out of a stream; larger ones pass unchanged, with all that follows."""
SEEDS = 1 << 32
"""Seeds that are chosen by chance are below this."""


class FaultReport(NamedTuple):
    """What a fault did to a packet."""

    label: str
    """The connection."""
    direction: Direction
    """Which end sent the packet."""
    time_s: float
    """Seconds since the connection began."""
    rule: str
    """The rule as it was written; empty where no rule acted."""
    packet: str
    """Name of the packet."""
    words: str
    """What was done, such as `dropped PUBACK i=1`; text of a peer in it is not escaped."""

    @property
    def line(self) -> str:
        """The report as a line, escaped."""
        rule = f"  (rule: {self.rule})" if self.rule else ""
        return escape(f"[{self.label}] {self.time_s:.3f} s  {self.words}{rule}")

    @property
    def record(self) -> dict[str, Any]:
        """The report as a record of JSON."""
        return {
            "event": "fault", "connection": self.label, "direction": self.direction.value,
            "time_s": round(self.time_s, 6), "packet": self.packet, "rule": self.rule, "text": escape(self.words),
        }  # fmt: skip


class Faults:
    """The rules of one run, with one seed: the same packets on the same connection meet the same chance again."""

    def __init__(self, rules: Sequence[FaultRule], seed: int | None, report: Callable[[FaultReport], None]) -> None:
        self.rules = rules
        self.seed = SystemRandom().randrange(SEEDS) if seed is None else seed
        """The seed in use."""
        self.report = report
        self.is_random = any(rule.chance_percent is not None or rule.jitter_s for rule in rules)
        """Whether the seed matters."""
        self.clients = Clients()
        self._links = 0

    def link(
        self, label: str, version: Version | None, ends: Mapping[Direction, FaultedEnd], loop: Loop,
        address: str = "",
    ) -> "FaultedLink":  # fmt: skip
        """Return the link of the next connection.

        `ends` says where the packets of each direction go, so that of the client leads to the server. `address` is
        that of the client. The version is that of the CONNECT; `version` holds where none comes.
        """
        self._links += 1
        return FaultedLink(self, label, version, ends, loop, Endpoints(self._links, address, "", True))


class FaultedLink:
    """One connection, both directions: takes what the ends send, and passes on what the rules leave of it."""

    def __init__(
        self, faults: Faults, label: str, version: Version | None, ends: Mapping[Direction, FaultedEnd], loop: Loop,
        endpoints: Endpoints,
    ) -> None:  # fmt: skip
        self._faults = faults
        self._label = label
        self._loop = loop
        self._endpoints = endpoints
        self._seen = SeenConnection(faults.clients, endpoints)
        self._begun_s = loop.clock()
        self._cut = ConnectionStreams(version, max_packet=MOST_PACKET_BYTES)
        self._lanes = {end: Lane(end, ends[end], loop, self._drained) for end in Direction}
        self._unable: set[tuple[int, int]] = set()
        """The types of packet in which a rule could not set its values, which is said once."""
        self._closing: Lane | None = None
        """The direction in which a rule closes the connection, when what is held there has been written."""
        self._is_over = False

    # what the user of a link calls

    def received(self, direction: Direction, data: bytes) -> None:
        """Take the next bytes that an end sent."""
        lane, stream = self._lanes[direction], self._cut.streams[direction]
        if self._takes_nothing(lane):
            return
        if stream.lost:
            lane.let(Passing(data, "bytes"))
            return
        try:
            for frame in self._cut.feed(direction, data):
                self._packet(lane, frame)
                if self._takes_nothing(lane):
                    return
        except LostSync as lost:
            self._say(lane, "", "", f"passes bytes on unchanged from here: {lost.message}")
            lane.let(Passing(stream.pending, "bytes"))
            stream.pass_over(len(stream.pending))

    def passes(self, direction: Direction) -> bool:
        """Whether nothing is held in a direction."""
        return self._lanes[direction].is_empty

    def full(self, direction: Direction) -> bool:
        """Whether so much is held in a direction that nothing more should be read there; ask again at each write."""
        return self._lanes[direction].held_bytes > MOST_HELD_BYTES

    def ended(self, direction: Direction) -> None:
        """Take the end of a direction: `close` of where it goes is called when what is held has been written."""
        lane, stream = self._lanes[direction], self._cut.streams[direction]
        if not self._takes_nothing(lane) and (rest := stream.pending):
            lane.let(Passing(rest, "bytes"))
        if not (self._is_over or lane.is_ended):
            lane.finish()

    def close(self) -> None:
        """Forget everything that is held."""
        if not self._is_over:
            self._is_over = True
            self._seen.over()
            for lane in self._lanes.values():
                lane.clear()

    def _takes_nothing(self, lane: Lane) -> bool:
        return self._is_over or lane.is_silent or lane.is_ended

    def _drained(self, lane: Lane) -> None:
        if self._is_over:
            return
        if lane is not self._closing:
            lane.end.close()
            return
        self.close()
        for each in self._lanes.values():
            if each is lane or not each.is_ended:
                each.end.close()

    # one packet

    def _packet(self, lane: Lane, frame: Frame) -> None:
        """Let every rule act on a packet that fits it, until one ends its way."""
        version, seen = frame.version or Version.V5, self._seen.candidate(frame)
        passing = Passing(frame.data, _named(frame.data, seen.packet, seen.topic))
        for number, rule in enumerate(self._faults.rules):
            chosen = rule.pattern.chooses(seen)
            if chosen and self._strikes(lane, number) and self._act(lane, number, passing, version):
                return
        lane.let(passing)

    def _strikes(self, lane: Lane, number: int) -> bool:
        percent = self._faults.rules[number].chance_percent
        return percent is None or self._chance(lane, number).random() * 100 < percent

    def _chance(self, lane: Lane, number: int) -> Random:
        """Return the source of chance of a rule here, which no other connection, direction or rule draws from."""
        if number not in lane.chances:
            parts = (self._faults.seed, self._endpoints.number, lane.direction.value, number)
            lane.chances[number] = Random("/".join(map(str, parts)))
        return lane.chances[number]

    def _act(self, lane: Lane, number: int, passing: Passing, version: Version) -> bool:
        """Do what a rule says; return whether the packet does not pass on from here."""
        rule = self._faults.rules[number]
        say = partial(self._say, lane, rule.text, passing.name.partition(" ")[0])
        if rule.action == "reorder":
            # One packet at a time, because those that wait are not the later ones that are to go first.
            if not (passing.wait or lane.is_waiting(number)):
                passing.wait = Wait(number, rule.number, say)
            return False
        if rule.action == "delay":
            drawn_s = self._chance(lane, number).uniform(-rule.jitter_s, rule.jitter_s) if rule.jitter_s else 0.0
            passing.delay_s += max(0.0, rule.delay_s + drawn_s)
        words = self._set(passing, number, version) if rule.action == "set" else _DONE[rule.action](passing, rule)
        if words:
            say(words)
        if rule.action in _ENDS:
            _ENDS[rule.action](self, lane)
            return True
        return False

    def _set(self, passing: Passing, number: int, version: Version) -> str:
        """Change the values of a packet; return what was done in words, nothing where nothing was."""
        rule, packet = self._faults.rules[number], decode_packet(passing.data, version)
        given = rule.changes.get(type(packet)) if packet else None
        if packet is None or given is None:
            return ""
        try:
            data = changed(packet, given, StepContext(version, {}, {}))
        except BadText as error:
            if (number, packet.code) in self._unable:
                return ""
            self._unable.add((number, packet.code))
            return f"left {passing.name} as it is: {error.message}"
        if data == passing.data:
            return ""
        passing.data = data
        return f"set {rule.words} in {passing.name}"

    def _silence(self, lane: Lane) -> None:
        lane.is_silent = True

    def _close(self, lane: Lane) -> None:
        self._closing = lane
        lane.finish()

    def _reset(self, lane: Lane) -> None:
        self.close()
        for each in self._lanes.values():
            each.end.reset()

    # what is said about it

    def _say(self, lane: Lane, rule: str, packet: str, words: str) -> None:
        time_s = self._loop.clock() - self._begun_s
        self._faults.report(FaultReport(self._label, lane.direction, time_s, rule, packet, words))


def _named(data: bytes, packet: Packet | None, topic: Topic | None) -> str:
    """Return a packet in words: its name, its Packet Identifier and its topic."""
    cls = PACKETS.get(data[0] >> 4)
    name = cls.name if cls else f"packet type {data[0] >> 4}"
    identifier = getattr(packet, "packet_id", None)
    return "".join((
        name, f" i={identifier}" if identifier is not None else "", f" t={shown(topic.text)[1:-1]}" if topic else "",
    ))  # fmt: skip


def _twice(passing: Passing, rule: FaultRule) -> str:
    passing.copies += 1
    return f"sent {passing.name} twice"


def _cut(passing: Passing, rule: FaultRule) -> str:
    passing.cut += rule.number
    return f"cut {counted(min(rule.number, len(passing.data)), 'byte')} off {passing.name}"


def _slice(passing: Passing, rule: FaultRule) -> str:
    passing.slice_bytes = rule.number
    return f"sent {passing.name} in {counted(len(passing.writes()), 'piece')}"


_DONE: dict[str, Callable[[Passing, FaultRule], str]] = {
    "delay": lambda passing, rule: f"delayed {passing.name} by {passing.delay_s * 1000:.0f} ms",
    "drop": lambda passing, rule: f"dropped {passing.name}",
    "twice": _twice,
    "cut": _cut,
    "slice": _slice,
    "close": lambda passing, rule: f"closed the connection instead of sending {passing.name}",
    "reset": lambda passing, rule: f"reset the connection instead of sending {passing.name}",
    "silence": lambda passing, rule: f"silent from {passing.name} on",
}
"""Changes a packet by a rule, and says what was done."""
_ENDS: dict[str, Callable[[FaultedLink, Lane], None]] = {
    "drop": lambda link, lane: None,
    "close": FaultedLink._close,
    "reset": FaultedLink._reset,
    "silence": FaultedLink._silence,
}
"""What ends the way of a packet."""
