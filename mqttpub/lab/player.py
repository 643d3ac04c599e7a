"""Plays one end of a script: sends its lines, awaits the other's, and says where the two differ."""

import os
import selectors
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from ..codec.decode import decode_packet
from ..codec.framing import frame_length
from ..codec.stream import Frame
from ..common.bad_text import BadText
from ..common.times import SECOND_NS
from ..common.words import counted
from ..live.failures import NotConnected
from ..live.limits import packet_name
from ..script.encoder import RUN, ScriptEncoder
from ..script.packets import Mismatch, corrected, defaults, mismatches
from ..script.steps import EndStep, GapStep, GivenFilter, MidStep, PacketStep, SilenceStep, Step, VersionStep, WaitStep
from ..script.values import TextTemplate, Variable
from ..spec.declare import MISSING
from ..spec.packets import Connect, Publish
from ..spec.versions import Direction, Version
from ..wire.cursor import Overlong
from .raw_client import RawClient

QUIET_S = 0.05
"""How long nothing has to come after the last step, so that a packet that no line awaits is found each time."""
LONGEST_SETTLE_S = 1.0
"""How long to wait for that, where packets that are allowed do not end."""
AFTER_ANSWER_S = 1.0
"""How long a peer may take to close a connection after it answered what it was to close it for."""
MOST_SHOWN_BYTES = 16
"""Bytes that a sentence shows of what is not a packet, at most."""


class PlayFailure(Exception):
    """A conversation that went otherwise than its script says; the text says how, as a sentence."""

    def __init__(
        self, step: Step, message: str, *, came: Frame | None = None, wrong: Iterable[Mismatch] = (),
        awaited: bytes = b"", version: Version = Version.V5, closed: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.step = step
        """The step that was not fulfilled."""
        self.message = message
        self.version = version
        """The version of the connection."""
        self.came = came
        """The packet that came in place of the awaited one."""
        self.wrong = tuple(wrong)
        """What it has otherwise than the step says."""
        self.awaited = awaited
        """The bytes of a packet as the step says it, equal to the one that came in all that the step leaves open."""
        self.closed = closed
        """Whether the other end had closed the connection, and nothing else was otherwise."""


class PlayOptions(NamedTuple):
    """How a script is played."""

    end: Direction = Direction.CLIENT
    """The end that is played."""
    timeout_s: float = 30.0
    """Longest time to wait for a packet that says no other."""
    version: Version | None = None
    """The version that a flag asks for."""
    skips: bool = False
    """Whether packets that no line awaits are skipped, those of the type that the next line awaits excepted."""
    is_judged: bool = False
    """Whether rules judge the packets besides, so that only what a line decides fails the play: a PUBLISH waits where
    another packet is awaited, as it may come before an answer; one whose topic is not of this play is left out; and
    before an awaited end anything may come, but what differs from a line with ? or * of its type.
    """
    quiet_s: float = QUIET_S
    """How long nothing may come after the last step; with 0, nothing more is read then."""
    connect: Callable[[], Mapping[str, Any]] = dict
    """Returns values for fields that a CONNECT does not name, new ones for each connection."""


Dial = Callable[[str, Version], RawClient]
"""Opens the connection of a label; raises NotConnected, and OSError with a sentence where the peer was to open it."""


class Player:
    """Plays scripts over connections that `dial` opens, one for each label."""

    def __init__(self, dial: Dial, options: PlayOptions) -> None:
        self.options = options
        self._dial = dial
        self._encoder = ScriptEncoder(options.version, options.connect)
        if options.end is Direction.CLIENT:
            # A letter first, so that it is never a number by chance.
            self._encoder.bindings[RUN] = b"r" + os.urandom(4).hex().encode()
        else:
            # The client chose it, and says it in the first packet that it sends.
            del self._encoder.bindings[RUN]
        self._connections: dict[str, RawClient] = {}
        self._selector = selectors.DefaultSelector()
        self._watched: set[RawClient] = set()
        """The connections that the selector knows: those of which something is read."""
        self._eager: set[RawClient] = set()
        """Connections that may hold more than their descriptors show, as TLS and WebSocket do."""
        self._awaited_ends: set[str] = set()
        """Labels of the connections whose end a line has awaited."""
        self._optional: dict[str, list[PacketStep]] = {}
        """For each connection, lines with ? or * that a packet may still fulfil."""
        self._waiting: dict[str, deque[Frame]] = defaultdict(deque)
        """For each connection, PUBLISH packets that came where another packet was awaited."""
        self._play: dict[type, Callable[[Any], None]] = {
            VersionStep: self._encoder.version_line, WaitStep: self._wait, SilenceStep: self._silence,
            EndStep: self._end, PacketStep: self._packet,
        }  # fmt: skip

    def bind(self, bindings: Mapping[str, bytes]) -> None:
        """Give variables their values."""
        self._encoder.bindings.update(bindings)

    def play(self, steps: Iterable[Step]) -> None:
        """Play all steps in their order.

        Raises PlayFailure where the other end does otherwise, NotConnected where not even the first connection opens,
        and BadText for a step that cannot be played; before anything is sent, as far as that can be known.
        """
        steps = tuple(steps)
        self.check(steps)
        self.perform(steps)
        if steps:
            self._nothing_left(steps[-1])

    def perform(self, steps: Iterable[Step]) -> None:
        """Play steps that `check` has passed, whatever comes after the last one; raises what `play` does."""
        for step in steps:
            self._play_step(step)

    def _play_step(self, step: Step) -> None:
        try:
            self._play[type(step)](step)
        except BadText as error:
            if self.options.end is Direction.CLIENT:
                raise
            # The client chose a version, which may lack what the step names.
            raise PlayFailure(step, error.message) from None

    def check(self, steps: Sequence[Step]) -> None:
        """Raise BadText for steps that cannot be played after those that have been, whatever the other end sends."""
        if not (self._connections or any(map(self._needs_connection, steps))):
            raise BadText("no step of this script needs a connection", *_place(steps))
        encoder = self._encoder.copy()
        closed = {label for label, connection in self._connections.items() if connection.closed}
        for step in steps:
            if isinstance(step, GapStep | MidStep):
                raise step.word.error(f"{step.word.text} describes a capture and cannot be played")
            if isinstance(step, VersionStep):
                encoder.version_line(step)
            elif isinstance(step, PacketStep | EndStep) and step.direction is self.options.end:
                if step.label in closed:
                    raise step.word.error(
                        "this end has closed the connection; a new one takes another label, such as [b]"
                    )
                if isinstance(step, EndStep):
                    closed.add(step.label)
                else:
                    encoder.bytes_of(step)
            elif isinstance(step, PacketStep):
                _check_awaited(step, encoder)

    def _needs_connection(self, step: Step) -> bool:
        if isinstance(step, PacketStep):
            return True
        return isinstance(step, SilenceStep | EndStep) and step.direction not in (None, self.options.end)

    def listen(self, seconds: float) -> None:
        """Read what comes for some seconds, or until all connections have ended."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0 and not all(each.ended for each in self._connections.values()):
            self._pump(left_s)
            for each in self._connections.values():
                each.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        for connection in self._connections.values():
            connection.close()
        self._selector.close()

    # steps

    def _packet(self, step: PacketStep) -> None:
        if step.direction is self.options.end:
            self._send(step)
        elif step.times:
            self._optional.setdefault(step.label, []).append(step)
        else:
            for _ in range(step.sending.copies):
                self._await(step)

    def _send(self, step: PacketStep) -> None:
        data = self._encoder.bytes_of(step)
        connection = self._connection(step.label, step)
        until_s = time.monotonic() + self.options.timeout_s
        try:
            sent = all(connection.send(data, until_s, step.sending.slice_bytes) for _ in range(step.sending.copies))
        except TimeoutError:
            raise PlayFailure(step, f"not everything was sent within {self.options.timeout_s:g} s") from None
        if not sent:
            raise PlayFailure(step, f"the connection was closed ({connection.ended}) before this was sent", closed=True)

    def _await(self, step: PacketStep) -> None:
        connection = self._connection(step.label, step)
        seconds = self.options.timeout_s if step.within_ns is None else step.within_ns / SECOND_NS
        until_s = time.monotonic() + seconds
        if not _is_whole(step) and self._await_bytes(step, connection, until_s):
            return
        while True:
            frame = self._next(step, connection, until_s)
            if frame is None:
                raise PlayFailure(step, self._nothing_came(connection, step, seconds), closed=_is_closed(connection))
            failure = self._compare(step, frame)
            if failure is None:
                return
            if not (self._is_optional(step.label, frame) or self._is_skipped(step, frame)):
                raise failure

    def _await_bytes(self, step: PacketStep, connection: RawClient, until_s: float) -> bool:
        """Wait for bytes that are not a whole packet; return whether they came before any packet."""
        while not (connection.came or connection.take_bytes(step.raw)):
            left_s = until_s - time.monotonic()
            if left_s <= 0 or not connection.reads:
                return False
            self._pump(left_s)
        return not connection.came

    def _nothing_came(self, connection: RawClient, step: PacketStep, seconds: float) -> str:
        name = _name(step)
        if connection.lost:
            return f"bytes came that are not a packet, where {name} is awaited: {_shown(connection.unfinished)}"
        if _is_closed(connection):
            return f"the peer closed the connection ({connection.ended}), where {name} is awaited"
        if rest := connection.unfinished:
            size = counted(len(rest), "byte")
            return f"only {size} of a packet came within {seconds:g} s, where {name} is awaited: {_shown(rest)}"
        return f"no {name} within {seconds:g} s"

    def _compare(self, step: PacketStep, frame: Frame) -> PlayFailure | None:
        """Return how a packet differs from what a step awaits; None where it does not."""
        if self.options.end is Direction.SERVER and frame.version and frame.data[0] >> 4 == Connect.code:
            try:
                self._encoder.spoken(step.label, frame.version)
            except ValueError as error:
                return PlayFailure(step, str(error), came=frame, version=frame.version)
        if step.packet is None:
            same = frame.data == step.raw
            return None if same else PlayFailure(step, "other bytes came", came=frame, awaited=step.raw)
        version = frame.version or self._encoder.version(step.label)
        packet = decode_packet(frame.data, version)
        if packet is None or not isinstance(packet, step.packet):
            came = "a malformed packet" if packet is None else packet.name
            return PlayFailure(step, f"{came} came, where {_name(step)} is awaited", came=frame, version=version)
        context = self._encoder.context(version)
        wrong = mismatches(step, packet, context)
        if not wrong:
            return None
        names = ", ".join(each.given.word.text for each in wrong)
        awaited = corrected(packet, wrong, context)
        message = f"{packet.name} came, but not with {names}"
        return PlayFailure(step, message, came=frame, wrong=wrong, awaited=awaited, version=version)

    def _is_optional(self, label: str, frame: Frame) -> bool:
        """Whether a line with ? or * allows a packet; one with ? only once."""
        for step in self._optional.get(label, ()):
            if self._compare(step, frame) is None:
                if step.times == "?":
                    self._optional[label].remove(step)
                return True
        return False

    def _is_named(self, label: str, frame: Frame) -> bool:
        """Whether a line with ? or * is for packets of this type."""
        return any(step.packet and step.packet.code == frame.data[0] >> 4 for step in self._optional.get(label, ()))

    def _is_skipped(self, step: PacketStep, frame: Frame) -> bool:
        return self.options.skips and step.packet is not None and step.packet.code != frame.data[0] >> 4

    def _wait(self, step: WaitStep) -> None:
        self._gather(time.monotonic() + step.wait_ns / SECOND_NS)

    def _silence(self, step: SilenceStep) -> None:
        until_s = time.monotonic() + step.wait_ns / SECOND_NS
        if step.direction is self.options.end:
            self._gather(until_s)
            return
        connection = self._connection(step.label, step)
        self._only_optional(step, connection, until_s, "where nothing may come")
        if connection.ended and step.label not in self._awaited_ends:
            message = f"the peer closed the connection ({connection.ended}), where nothing may come"
            raise PlayFailure(step, message, closed=True)
        self._gather(until_s)

    def _only_optional(self, step: SilenceStep | EndStep, connection: RawClient, until_s: float, where: str) -> None:
        """Wait until a moment or the end of a connection; raises PlayFailure for what comes and no line allows."""
        is_free, failure = self.options.is_judged and isinstance(step, EndStep), None
        while frame := self._next(step, connection, until_s):
            if self._is_optional(step.label, frame):
                continue
            message, version = f"{packet_name(frame.data)} came, {where}", self._encoder.version(step.label)
            failure = failure or PlayFailure(step, message, came=frame, version=version)
            if not is_free or self._is_named(step.label, frame):
                raise failure
            until_s = min(until_s, time.monotonic() + AFTER_ANSWER_S)
        if not (is_free and connection.ended):
            if failure:
                raise failure
            _check_whole(step, connection, where)

    def _end(self, step: EndStep) -> None:
        if step.direction is None:
            return
        connection = self._connection(step.label, step)
        if step.direction is self.options.end:
            connection.reset() if step.how == "RST" else connection.finish()
            self._watch(connection)
            return
        until_s = time.monotonic() + self.options.timeout_s
        self._only_optional(step, connection, until_s, "where the end is awaited")
        if not connection.ended and connection.fileno() >= 0:
            raise PlayFailure(step, f"the peer did not close the connection within {self.options.timeout_s:g} s")
        if step.how == "RST" and connection.ended != "RST":
            raise PlayFailure(step, "the peer closed the connection (FIN) instead of resetting it")
        self._awaited_ends.add(step.label)

    def _nothing_left(self, last: Step) -> None:
        """Raise PlayFailure for what came and no line awaited, once nothing has come for a while."""
        until_s = time.monotonic() + LONGEST_SETTLE_S
        quiet_s = 0 if self.options.skips else self.options.quiet_s
        while quiet_s and self._watched and (left_s := until_s - time.monotonic()) > 0:
            if not self._pump(min(quiet_s, left_s)):
                break
            self._take_rest(last)
        self._take_rest(last)
        if not self.options.skips:
            for connection in self._connections.values():
                _check_whole(last, connection, "which no line awaits")

    def _take_rest(self, last: Step) -> None:
        for label, connection in self._connections.items():
            while frame := connection.take():
                if not (self.options.skips or self._is_optional(label, frame)):
                    raise PlayFailure(last, f"{packet_name(frame.data)} came, which no line awaits", came=frame)
            self._watch(connection)

    # connections

    def _connection(self, label: str, step: PacketStep | SilenceStep | EndStep) -> RawClient:
        found = self._connections.get(label)
        if found is None:
            try:
                found = self._dial(label, self._encoder.version(label))
            except NotConnected as error:
                if not self._connections:
                    raise
                raise PlayFailure(step, str(error)) from error
            except OSError as error:
                raise PlayFailure(step, str(error)) from None
            self._connections[label] = found
            self._eager.add(found)
            self._watch(found)
        return found

    def _next(self, step: PacketStep | SilenceStep | EndStep, connection: RawClient, until_s: float) -> Frame | None:
        """Return the next packet of a connection; None at the deadline, and where no more can come."""
        waiting = self._waiting[step.label]
        is_other = isinstance(step, PacketStep) and step.packet is not Publish
        while True:
            if waiting and not is_other:
                return waiting.popleft()
            if frame := connection.take():
                self._watch(connection)
                if not self.options.is_judged or frame.data[0] >> 4 != Publish.code:
                    return frame
                if self._is_ours(step.label, frame):
                    waiting.append(frame)
                continue
            if connection.lost or not connection.reads:
                return None
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return None
            self._pump(left_s)

    def _is_ours(self, label: str, frame: Frame) -> bool:
        """Whether a PUBLISH may be for this play: its topic cannot be read, is an alias, or holds the text of `run`."""
        packet = decode_packet(frame.data, self._encoder.version(label))
        if not isinstance(packet, Publish) or not packet.topic:
            return True
        run = self._encoder.bindings[RUN]
        return isinstance(run, bytes) and run.decode() in packet.topic

    def _gather(self, until_s: float) -> None:
        """Read what comes on all connections until a moment."""
        self._pump(0)
        while (left_s := until_s - time.monotonic()) > 0:
            self._pump(left_s)

    def _pump(self, seconds: float) -> bool:
        """Read what comes on any connection, waiting for it for some seconds at most; return whether anything came."""
        eager, self._eager = self._eager, set()
        ready = self._selector.select(0 if eager else min(seconds, 1.0))
        for connection in eager.union(key.data for key, _ in ready):
            if connection.pump():
                self._eager.add(connection)
            self._watch(connection)
        return bool(eager or ready)

    def _watch(self, connection: RawClient) -> None:
        """Let the selector know whether a connection is to be read."""
        if connection.reads == (connection in self._watched):
            return
        if connection.reads:
            self._selector.register(connection, selectors.EVENT_READ, connection)
            self._watched.add(connection)
        else:
            self._selector.unregister(connection)
            self._watched.remove(connection)


def _check_awaited(step: PacketStep, encoder: ScriptEncoder) -> None:
    """Raise BadText for a line that nothing can fulfil, and take its variables as bound."""
    sending = step.sending
    if sending.cut or sending.overlong or sending.length is not None:
        raise step.word.error("cut=, length= and overlong are for a line that is sent, and this one is awaited")
    if step.packet is None:
        return
    needed = {key: 1 for key, field in step.packet.fields.items() if field.default is MISSING}
    packet = step.packet(**{**needed, **defaults(step.packet)})
    try:
        mismatches(step, packet, encoder.context(encoder.version(step.label)))
    except ValueError as error:
        raise error if isinstance(error, BadText) else step.word.error(str(error)) from None
    for each in step.given:
        for name in _variables(each.value):
            encoder.bindings.setdefault(name, _ANY)


_ANY = b"1"
"""What a variable that the other end gives is taken for, before it has: a number and a text."""


def _variables(value: Any) -> Iterator[str]:
    """Yield the names of the variables in the value of a word."""
    if isinstance(value, Variable):
        yield value.name
    elif isinstance(value, TextTemplate):
        yield from _variables(value.parts)
    elif isinstance(value, GivenFilter):
        yield from _variables(value.filter)
    elif isinstance(value, tuple):
        for part in value:
            yield from _variables(part)


def _check_whole(step: Step, connection: RawClient, where: str) -> None:
    """Raise PlayFailure if bytes came that are not a whole packet."""
    if rest := connection.unfinished:
        what = "bytes came that are not a packet" if connection.lost else "a part of a packet came"
        raise PlayFailure(step, f"{what}, {where}: {_shown(rest)}")


def _is_closed(connection: RawClient) -> bool:
    """Whether the peer has closed a connection after a whole packet."""
    return bool(connection.ended and not connection.unfinished)


def _is_whole(step: PacketStep) -> bool:
    """Whether a step is about a whole packet."""
    try:
        return step.packet is not None or frame_length(step.raw) == len(step.raw)
    except Overlong:
        return False


def _place(steps: Sequence[Step]) -> tuple[int, int, str]:
    """Return line, column and text of the first step."""
    return (steps[0].word.line, steps[0].word.column, steps[0].word.source) if steps else (1, 1, "")


def _shown(data: bytes) -> str:
    """Return bytes as hex, of many the first and their number."""
    more = f" ({counted(len(data), 'byte')})" if len(data) > MOST_SHOWN_BYTES else ""
    return f"{data[:MOST_SHOWN_BYTES].hex(' ')}{more}"


def _name(step: PacketStep) -> str:
    return step.packet.name if step.packet else "the packet"
