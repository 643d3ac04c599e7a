"""One case against one peer: its scripts, the judge, and what it leaves with the broker."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ...codec.encode import encode
from ...codec.stream import Frame
from ...live.failures import NotConnected, PeerFault
from ...live.tap import ByteObserver
from ...spec.declare import Packet
from ...spec.packets import Connect, Disconnect, Publish
from ...spec.properties import SESSION_EXPIRY_INTERVAL, value_of
from ...spec.versions import Direction, Version
from ..player import QUIET_S, Player, PlayFailure, PlayOptions
from ..raw_client import RawClient
from .cases import ConformCase
from .client_cases import ClientCase
from .framing import frame_fault, upgrade_faults
from .judge import MOST_PACKETS, Broken, CaseJudge, JudgedConnection, SeenPacket
from .limits import FoundLimit
from .offers import is_open, not_offered

KEPT, BROKEN, NOT_EXERCISED = "kept", "broken", "not exercised"
AFTER_FAILURE_S = 0.2
"""How long a peer that did otherwise is heard, as what it does next may say why."""
MOST_TOPICS = 100
"""Retained messages and sessions of a case that are remembered, to be removed at its end."""
Open = Callable[[str], tuple[Any, ByteObserver | None]]
"""Opens a socket to the peer for a connection of this name, with what records its bytes; raises NotConnected."""


class Flood(Exception):
    """More packets came in one case than any case asks for."""


class PeerAccess(NamedTuple):
    """How to reach the peer, and as whom."""

    open: Open
    connect: Callable[[], Mapping[str, Any]]
    """Returns values for fields that a CONNECT does not name."""
    timeout_s: float
    """Longest time to wait for a packet."""


class CaseResult(NamedTuple):
    """How a case ended."""

    case: ConformCase | ClientCase
    verdict: str
    """`kept`, `broken` or `not exercised`."""
    why: str = ""
    """Why it was not kept, as a sentence."""
    failure: PlayFailure | None = None
    """The step that was not fulfilled."""
    packets: tuple[SeenPacket, ...] = ()
    broken: tuple[Broken, ...] = ()
    """What lint found at the peer's fault."""
    exercised: frozenset[str] = frozenset()
    """What lint put to the test, by full id."""
    seconds: float = 0.0
    output: bytes = b""
    """The end of what the command of a client printed."""
    found: FoundLimit | None = None
    """What a case for a limit found out."""

    @property
    def failed(self) -> frozenset[str]:
        """The statements that the step which was not fulfilled decides; where the peer is gone, all of the case."""
        if self.verdict != BROKEN:
            return frozenset()
        return self.case.decided_by(self.failure.step) if self.failure else frozenset(self.case.statements)

    @property
    def kept(self) -> frozenset[str]:
        """The statements that fulfilled steps decide, and no step that was not reached."""
        if self.verdict == KEPT:
            return frozenset(self.case.statements)
        if self.verdict != BROKEN or self.failure is None:
            return frozenset()
        at = next(number for number, step in enumerate(self.case.then) if step is self.failure.step)
        before, after = self.case.then[:at], self.case.then[at:]
        decided = frozenset[str]().union(*map(self.case.decided_by, before))
        return decided.difference(*map(self.case.decided_by, after))


def play(case: ConformCase, access: PeerAccess, bindings: Mapping[str, bytes] | None = None) -> CaseResult:
    """Play a case and return how it ended; raises NotConnected where not even its first connection opens.

    `bindings` are values of its variables.
    """
    began = time.monotonic()
    judge = CaseJudge(Direction.SERVER)
    left = _LeftBehind(case.version)

    def dial(label: str, version: Version) -> RawClient:
        sock, recorder = access.open(f"{case.name} {label}".rstrip())
        judge.broken += upgrade_faults(sock, version)
        return RawClient(
            sock, version=version, observer=_Observer(judge, judge.connection(label, version), left, recorder)
        )

    options = PlayOptions(timeout_s=access.timeout_s, version=case.version, connect=access.connect, is_judged=True)
    verdict, failure, stopped = KEPT, None, ""
    with Player(dial, options) as player:
        steps = (*case.given, *case.then)
        player.bind(bindings or {})
        player.check(steps)
        try:
            player.perform(steps)
        except PlayFailure as error:
            is_given = any(step is error.step for step in case.given)
            if is_given or not (case.may_close and error.closed):
                failure = error
                verdict = NOT_EXERCISED if is_given or is_open(error) else BROKEN
        except Flood:
            verdict, stopped = NOT_EXERCISED, f"more than {MOST_PACKETS:,} packets came"
        except PeerFault as error:
            verdict, stopped = NOT_EXERCISED, str(error)
            judge.broken.append(frame_fault(error, case.version))
        with suppress(Flood, PeerFault):
            # What comes right after is judged, too.
            player.listen(AFTER_FAILURE_S if failure else QUIET_S)
    left.remove(access)
    why = failure.message if failure else stopped
    if verdict == BROKEN and (missing := not_offered(judge.packets)):
        verdict, why = NOT_EXERCISED, missing
    packets, broken, exercised = tuple(judge.packets), tuple(judge.broken), frozenset(judge.exercised)
    return CaseResult(case, verdict, why, failure, packets, broken, exercised, time.monotonic() - began)


def first_packet(client: RawClient, until_s: float) -> Frame | None:
    """Return the first packet that comes until a moment of the monotonic clock; None where none does."""
    while not (client.came or client.ended or client.lost) and (left_s := until_s - time.monotonic()) > 0:
        client.wait(left_s)
    return client.take()


class _Observer:
    """Observes a connection for the judge, for what is left behind, and for a recording."""

    def __init__(
        self, judge: CaseJudge, judged: JudgedConnection, left: "_LeftBehind", recorder: ByteObserver | None
    ) -> None:
        self._judge = judge
        self._judged = judged
        self._is_over = False
        self._left = left
        self._recorder = recorder

    def __call__(self, now: float, frame: Frame) -> None:
        if self._judge.is_full:
            # What closes the connection then shows more of it.
            if not self._is_over:
                self._is_over = True
                raise Flood
            return
        packet = self._judged(now, frame)
        if frame.direction is Direction.CLIENT:
            self._left.sent(packet)

    def passed(self, now: float, direction: Direction, data: bytes) -> None:
        """Record bytes."""
        if self._recorder:
            self._recorder.passed(now, direction, data)

    def closed(self, now: float, direction: Direction, how: str) -> None:
        """Judge and record the end of the connection by one of its ends."""
        self._judged.closed(now, direction, how)
        if self._recorder:
            self._recorder.closed(now, direction, how)


class _LeftBehind:
    """What a case leaves with the broker: retained messages and sessions."""

    def __init__(self, version: Version) -> None:
        self._version = version
        self._topics: dict[str, None] = {}
        self._sessions: dict[str, None] = {}

    def sent(self, packet: Packet | None) -> None:
        """Take a packet that the case sent."""
        if isinstance(packet, Publish) and packet.retain and packet.payload and packet.topic:
            self._remember(self._topics, packet.topic)
        elif isinstance(packet, Connect):
            if packet.will and packet.will_retain:
                self._remember(self._topics, packet.will.topic)
            is_old = self._version is not Version.V5
            lasts = not packet.clean_start if is_old else value_of(packet.properties, SESSION_EXPIRY_INTERVAL, 0)
            if lasts and packet.client_id:
                self._remember(self._sessions, packet.client_id)

    def _remember(self, found: dict[str, None], text: str) -> None:
        if len(found) < MOST_TOPICS:
            found[text] = None

    def remove(self, access: PeerAccess) -> None:
        """Remove it, as far as the broker is still there."""
        clients = list(self._sessions) or [""] * bool(self._topics)
        with suppress(NotConnected, PeerFault, OSError):
            for client_id in clients:
                self._visit(access, client_id)

    def _visit(self, access: PeerAccess, client_id: str) -> None:
        until_s = time.monotonic() + access.timeout_s
        sock, _ = access.open("")
        client = RawClient(sock, version=self._version)
        try:
            given = {**access.connect(), "clean_start": True}
            if client_id:
                given["client_id"] = client_id
            client.send(encode(Connect(**given), self._version), until_s)
            first_packet(client, until_s)
            for topic in self._topics:
                client.send(encode(Publish(topic=topic, retain=True), self._version), until_s)
            client.send(encode(Disconnect(), self._version), until_s)
            client.finish()
            while not (client.ended or client.lost) and (left_s := until_s - time.monotonic()) > 0:
                client.wait(left_s)
                client.drop()
        finally:
            client.close()
