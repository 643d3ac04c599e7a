"""The act of a case for a client: steps that are sent and awaited from the moment on at which a packet comes."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from ...codec.stream import Frame
from ...common.times import SECOND_NS
from ...script.encoder import ScriptEncoder
from ...script.packets import mismatches
from ...script.steps import EndStep, PacketStep, Step, WaitStep
from ...spec.declare import Packet
from ...spec.packets import Disconnect, Pingreq, Subscribe
from ...spec.versions import Direction, Version
from ...traffic.topics import split_shared
from ..player import PlayFailure
from ..serving.timers import Timers
from .client_cases import AFTER, BEFORE, CaseAct
from .playing import BROKEN, KEPT, NOT_EXERCISED

TOPIC = "topic"
"""A variable for a topic that the first Topic Filter of the client matches."""
NEXT = "next"
"""Label of the connection that the client makes after the one on which the act begins."""


class ActedLink(Protocol):
    """What an act needs of a connection."""

    @property
    def is_over(self) -> bool:
        """Whether the client has ended it."""

    @property
    def has_parted(self) -> bool:
        """Whether the client has left, not because of an error that it names, so that it owes nothing more."""

    def write(self, data: bytes, slice_bytes: int = 0) -> None:
        """Write bytes of the server."""

    def pass_on(self, frame: Frame) -> None:
        """Let a packet reach the end that it is for."""

    def finish(self, how: str) -> None:
        """End the server's side: FIN or RST."""


class Acting:
    """Plays an act once; meanwhile, packets of the client that no step awaits wait."""

    def __init__(
        self, act: CaseAct, version: Version, timeout_s: float, clock: Callable[[], float], timers: Timers
    ) -> None:
        self.act = act
        self.verdict = NOT_EXERCISED
        who = "the client sent" if act.on.direction is Direction.CLIENT else "it got"
        self.why = f"{who} no packet as in '{act.on.word.source}'"
        """Why the verdict is not `kept`."""
        self.failure: PlayFailure | None = None
        self.is_done = False
        self._version = version
        self._timeout_s = timeout_s
        self._clock = clock
        self._timers = timers
        self._encoder = ScriptEncoder(version)
        self._encoder.version_line(act.versions)
        self._steps: deque[Step] = deque(act.steps)
        self._link: ActedLink | None = None
        """The connection on which it began."""
        self._next: ActedLink | None = None
        """The connection that the client made after that."""
        self._held: list[Frame] = []
        """Packets that go on when the act is over."""
        self._forbidden: list[PacketStep] = []
        """Packets that must not come before the next awaited one."""
        self._near = ""
        """How a packet differs that came almost as awaited."""

    @property
    def is_running(self) -> bool:
        """Whether it has begun and is not over."""
        return self._link is not None and not self.is_done

    def takes(self, link: ActedLink, frame: Frame, packet: Packet | None) -> bool:
        """Take a packet of either end; return whether that is all that is to happen to it for now."""
        if isinstance(packet, Subscribe) and packet.subscriptions:
            self._encoder.bindings.setdefault(TOPIC, _matched(packet.subscriptions[0].filter))
        if self.is_running:
            return self._take(link, frame, packet)
        if self._link is None and self._fulfils(self.act.on, frame, packet):
            self._begin(link, frame)
            return True
        return False

    def ended(self, link: ActedLink) -> None:
        """Note that the client has ended a connection."""
        step = self._steps[0] if self.is_running and self._steps else None
        if step is None or isinstance(step, WaitStep) or link is not self._of(step):
            return
        if isinstance(step, EndStep):
            self._fulfilled()
        elif isinstance(step, PacketStep):
            self._missed(step, "the client closed the connection")

    def abandon(self, why: str) -> None:
        """Note that nothing more will come."""
        if self.is_running:
            self._finish(NOT_EXERCISED, why)

    # packets

    def _fulfils(self, step: PacketStep, frame: Frame, packet: Packet | None) -> bool:
        if frame.direction is not step.direction or packet is None or step.packet is not type(packet):
            return False
        wrong = mismatches(step, packet, self._encoder.context(self._version))
        if wrong:
            self._near = f"{packet.name} came, but not with {', '.join(each.given.word.text for each in wrong)}"
        return not wrong

    def _begin(self, link: ActedLink, frame: Frame) -> None:
        self._link, self._near = link, ""
        if self.act.moment == AFTER:
            link.pass_on(frame)
        elif self.act.moment == BEFORE:
            self._held.append(frame)
        self._go()

    def _take(self, link: ActedLink, frame: Frame, packet: Packet | None) -> bool:
        step, is_first = self._steps[0], link is self._link
        if not is_first and frame.direction is Direction.CLIENT and self._next is None:
            self._next = link
        for each in self._forbidden:
            if link is self._of(each) and self._fulfils(each, frame, packet):
                self._fail(each, f"{each.packet.name if each.packet else 'it'} came as in '{_text(each)}'")
                return False
        if isinstance(step, PacketStep) and link is self._of(step) and self._fulfils(step, frame, packet):
            self._take_awaited(link, frame)
            return True
        # Without PINGRESP a client would close the connection for another reason than that of the case.
        if not is_first or frame.direction is Direction.SERVER or isinstance(packet, Disconnect | Pingreq):
            return False
        self._held.append(frame)
        return True

    def _take_awaited(self, link: ActedLink, frame: Frame) -> None:
        """Go on after a packet; on the connection on which the act began, the broker never sees it."""
        if frame.direction is Direction.SERVER:
            link.pass_on(frame)
        self._fulfilled()
        if frame.direction is Direction.CLIENT and link is not self._link:
            link.pass_on(frame)

    # steps

    def _of(self, step: Step) -> ActedLink | None:
        return self._next if getattr(step, "label", "") == NEXT else self._link

    def _fulfilled(self) -> None:
        self._timers.cancel(self)
        self._steps.popleft()
        self._forbidden.clear()
        self._near = ""
        self._go()

    def _go(self) -> None:
        """Do the steps up to the next one that takes time."""
        while self._steps:
            step = self._steps[0]
            link = self._of(step)
            if isinstance(step, PacketStep) and step.fault:
                self._forbidden.append(step)
                self._steps.popleft()
                continue
            if isinstance(step, WaitStep):
                self._set(step.wait_ns / SECOND_NS, self._fulfilled)
                return
            if isinstance(step, PacketStep | EndStep) and _is_awaited(step):
                if not (isinstance(step, EndStep) and link is not None and link.is_over):
                    self._await(step)
                    return
            elif link is not None:
                self._do(step, link)
            self._steps.popleft()
        self._finish(KEPT, "")

    def _do(self, step: Step, link: ActedLink) -> None:
        if isinstance(step, EndStep):
            link.finish(step.how)
        elif isinstance(step, PacketStep):
            for _ in range(step.sending.copies):
                link.write(self._encoder.bytes_of(step), step.sending.slice_bytes)

    def _await(self, step: PacketStep | EndStep) -> None:
        within_ns = step.within_ns if isinstance(step, PacketStep) else None
        seconds = self._timeout_s if within_ns is None else within_ns / SECOND_NS
        self._set(seconds, lambda: self._missed(step, f"within {seconds:g} s"))

    def _set(self, seconds: float, then: Callable[[], None]) -> None:
        self._timers.set(self, self._clock() + seconds, then)

    def _missed(self, step: PacketStep | EndStep, when: str) -> None:
        """Note that what is awaited does not come."""
        link = self._of(step)
        if isinstance(step, EndStep):
            message = f"the client did not close the connection {when}"
        else:
            name = step.packet.name if step.packet else "such bytes"
            message = self._near or f"no {name} as in '{_text(step)}': {when}"
        # Whoever has left owes no answer: perhaps it was done.
        owes_nothing = link is None or link.has_parted
        if isinstance(step, PacketStep) and (step.times or owes_nothing):
            self._finish(NOT_EXERCISED, message)
        else:
            self._fail(step, message)

    def _fail(self, step: Step, message: str) -> None:
        self.failure = PlayFailure(step, message, version=self._version)
        self._finish(BROKEN, message)

    def _finish(self, verdict: str, why: str) -> None:
        self._timers.cancel(self)
        self.verdict, self.why, self.is_done = verdict, why, True
        held, self._held = self._held, []
        for frame in held:
            if self._link is not None:
                self._link.pass_on(frame)


def _is_awaited(step: PacketStep | EndStep) -> bool:
    """Whether a step is not ours: one of the client, or one of the broker, which may come."""
    return step.direction is Direction.CLIENT or (isinstance(step, PacketStep) and bool(step.times))


def _matched(filter: str) -> bytes:
    """Return a topic that a Topic Filter matches."""
    levels = split_shared(filter)[1].split("/")
    topic = "/".join("x" if level in ("+", "#") else level for level in levels)
    return topic.encode("utf-8", "surrogateescape")


def _text(step: PacketStep) -> str:
    """Return a step as it was written."""
    word = step.word
    return word.source[word.column - 1 :].partition(";")[0].strip()
