"""Plays one end of a script: sends its lines, awaits the other's, and says where the two differ."""

import os
import select
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Self

from ..codec.decode import decode_packet
from ..codec.stream import Frame
from ..live.failures import NotConnected
from ..script.encoder import RUN, ScriptEncoder
from ..script.packets import Mismatch, corrected, mismatches
from ..script.steps import EndStep, GapStep, MidStep, PacketStep, SilenceStep, Step, VersionStep, WaitStep
from ..spec.versions import Direction, Version
from .raw_client import RawClient

NS = 1_000_000_000


class PlayFailure(Exception):
    """A conversation that went otherwise than its script says; the text says how, as a sentence."""

    def __init__(
        self, step: Step, message: str, *, came: Frame | None = None, wrong: Iterable[Mismatch] = (),
        awaited: bytes = b"", version: Version = Version.V5,
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
            self._encoder.bindings[RUN] = os.urandom(4).hex().encode()
        else:
            # The client chose it, and says it in the first packet that it sends.
            del self._encoder.bindings[RUN]
        self._connections: dict[str, RawClient] = {}
        self._optional: dict[str, list[PacketStep]] = {}
        """For each connection, lines with ? or * that a packet may still fulfil."""
        self._play: dict[type, Callable[[Any], None]] = {
            VersionStep: self._encoder.version_line, WaitStep: self._wait, SilenceStep: self._silence,
            EndStep: self._end, PacketStep: self._packet, GapStep: _unplayable, MidStep: _unplayable,
        }  # fmt: skip

    def play(self, steps: Iterable[Step]) -> None:
        """Play all steps in their order.

        Raises PlayFailure where the other end does otherwise, BadText for a step that cannot be played, and
        NotConnected where not even the first connection opens.
        """
        last: Step | None = None
        for last in steps:
            self._play[type(last)](last)
        if last is not None:
            self._nothing_left(last)

    @property
    def bindings(self) -> Mapping[str, int | bytes]:
        """What the variables of the script stand for."""
        return self._encoder.bindings

    def listen(self, seconds: float) -> None:
        """Read what comes for some seconds, or until all connections have ended."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0 and not all(each.ended for each in self._connections.values()):
            self._pump(left_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        for connection in self._connections.values():
            connection.close()

    # steps

    def _packet(self, step: PacketStep) -> None:
        if step.direction is self.options.end:
            self._send(step)
        elif step.times:
            self._check_awaited(step)
            self._optional.setdefault(step.label, []).append(step)
        else:
            self._check_awaited(step)
            for _ in range(2 if step.sending.twice else 1):
                self._await(step)

    def _check_awaited(self, step: PacketStep) -> None:
        sending = step.sending
        if sending.cut or sending.overlong or sending.length is not None:
            raise step.word.error("cut=, length= and overlong are for a line that is sent, and this one is awaited")

    def _send(self, step: PacketStep) -> None:
        data = self._encoder.bytes_of(step)
        connection = self._connection(step.label, step)
        until_s = time.monotonic() + self.options.timeout_s
        try:
            sent = all(
                connection.send(data, until_s, step.sending.slice_bytes) for _ in range(2 if step.sending.twice else 1)
            )
        except TimeoutError:
            raise PlayFailure(step, f"not everything was sent within {self.options.timeout_s:g} s") from None
        if not sent:
            raise PlayFailure(step, f"the connection was closed ({connection.ended}) before this was sent")

    def _await(self, step: PacketStep) -> None:
        connection = self._connection(step.label, step)
        seconds = self.options.timeout_s if step.within_ns is None else step.within_ns / NS
        until_s = time.monotonic() + seconds
        while True:
            frame = self._next(connection, until_s)
            if frame is None:
                # Bytes that are no packet may be just those that are awaited.
                if connection.lost and step.raw and step.raw.startswith(connection.unfinished):
                    return
                raise PlayFailure(step, self._nothing_came(connection, step, seconds))
            failure = self._compare(step, frame)
            if failure is None:
                return
            if not (self._is_optional(step.label, frame) or self._is_skipped(step, frame)):
                raise failure

    def _nothing_came(self, connection: RawClient, step: PacketStep, seconds: float) -> str:
        name = _name(step)
        if connection.lost:
            return f"bytes came that are no packet, where {name} is awaited: {connection.unfinished[:16].hex(' ')}"
        if connection.ended:
            return f"the peer closed the connection ({connection.ended}), where {name} is awaited"
        if rest := connection.unfinished:
            return f"only {len(rest)} bytes of a packet came within {seconds:g} s, where {name} is awaited"
        return f"no {name} within {seconds:g} s"

    def _compare(self, step: PacketStep, frame: Frame) -> PlayFailure | None:
        """Return how a packet differs from what a step awaits; None where it does not."""
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

    def _is_skipped(self, step: PacketStep, frame: Frame) -> bool:
        return self.options.skips and step.packet is not None and step.packet.code != frame.data[0] >> 4

    def _wait(self, step: WaitStep) -> None:
        self._gather(time.monotonic() + step.wait_ns / NS)

    def _silence(self, step: SilenceStep) -> None:
        until_s = time.monotonic() + step.wait_ns / NS
        if step.direction is self.options.end:
            self._gather(until_s)
            return
        connection = self._connection(step.label, step)
        while frame := self._next(connection, until_s):
            if not self._is_optional(step.label, frame):
                raise PlayFailure(step, f"{_frame_name(frame)} came, where nothing may come", came=frame)

    def _end(self, step: EndStep) -> None:
        if step.direction is None:
            return
        connection = self._connection(step.label, step)
        if step.direction is self.options.end:
            connection.reset() if step.how == "RST" else connection.finish()
            return
        until_s = time.monotonic() + self.options.timeout_s
        while frame := self._next(connection, until_s):
            if not self._is_optional(step.label, frame):
                raise PlayFailure(step, f"{_frame_name(frame)} came, where the end is awaited", came=frame)
        if not connection.ended and connection.fileno() >= 0:
            raise PlayFailure(step, f"the peer did not close the connection within {self.options.timeout_s:g} s")
        if step.how == "RST" and connection.ended != "RST":
            raise PlayFailure(step, "the peer closed the connection (FIN) instead of resetting it")

    def _nothing_left(self, last: Step) -> None:
        """Raise PlayFailure for a packet that no line awaited."""
        self._gather(0)
        for label, connection in self._connections.items():
            while frame := connection.take():
                if not (self.options.skips or self._is_optional(label, frame)):
                    raise PlayFailure(last, f"{_frame_name(frame)} came, which no line awaits", came=frame)

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
        elif found.closed and _needs_open(step, self.options.end):
            raise step.word.error("this end has closed the connection; a new one takes another label, such as [b]")
        return found

    def _next(self, connection: RawClient, until_s: float) -> Frame | None:
        """Return the next packet of a connection; None at the deadline, and where no more can come."""
        while True:
            if frame := connection.take():
                return frame
            if connection.ended or connection.lost or connection.fileno() < 0:
                return None
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return None
            self._pump(left_s)

    def _gather(self, until_s: float) -> None:
        """Read what comes on all connections until a moment."""
        self._pump(0)
        while (left_s := until_s - time.monotonic()) > 0:
            self._pump(left_s)

    def _pump(self, seconds: float) -> None:
        """Read what comes on any connection, waiting for it for some seconds at most."""
        reading = [each for each in self._connections.values() if not (each.ended or each.lost or each.fileno() < 0)]
        came = [each.pump() for each in reading]
        if any(came) or not seconds:
            return
        waiting = [each for each in reading if not each.ended]
        ready, _, _ = select.select(waiting, [], [], min(seconds, 1.0))
        for connection in ready:
            connection.pump()


def _needs_open(step: PacketStep | SilenceStep | EndStep, end: Direction) -> bool:
    """Whether a step needs the sending side of this end."""
    return not isinstance(step, SilenceStep) and step.direction is end


def _unplayable(step: GapStep | MidStep) -> None:
    raise step.word.error(f"{step.word.text} describes a capture and cannot be played")


def _name(step: PacketStep) -> str:
    return step.packet.name if step.packet else "the packet"


def _frame_name(frame: Frame) -> str:
    from ..live.limits import packet_name

    return packet_name(frame.data)
