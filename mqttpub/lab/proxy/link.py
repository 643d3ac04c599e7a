"""A client and its connection to the broker."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from ...live.failures import Failure
from ...live.net.dial import describe
from ...live.net.target import Target
from ...live.net.transport import authority
from ...live.tap import Observer
from ...spec.versions import Direction, Version
from ..faults.faults import FaultedLink, Faults
from ..serving.dialing import Caller, dial
from ..serving.served_socket import Loop, ServedSocket
from .intercept import InterceptedLink, Interception
from .observed import ObservedBytes

MOST_WAITING = 1 << 18
"""Bytes that wait for one end, above which nothing is read from the other."""
LINGER_S = 2.0
"""Seconds that an end has to read what was written to it, and to close, once the connection is over."""
HALF_OPEN_S = 60.0
"""Seconds without a byte after which a connection that one end has closed is over, though the other has not."""
WORDS = {Direction.CLIENT: "the client", Direction.SERVER: "the broker"}


class LinkEvent(NamedTuple):
    """Something to tell the user about a connection."""

    kind: str
    """opened, closed, failed or refused."""
    label: str
    words: str
    """As the rest of a sentence that begins with the connection."""
    details: Mapping[str, Any] = {}
    """The same for programs."""


class LinkOwner(Loop, Caller, Protocol):
    """What a link needs of the proxy."""

    target: Target
    timeout_s: float
    observe: Callable[[str], Observer | None]
    faults: Faults | None
    interception: Interception | None
    on_event: Callable[[LinkEvent], None]
    links: dict["ProxyLink", None]


class LinkEnd:
    """The socket of one end, and what it has sent."""

    def __init__(self, link: "ProxyLink", direction: Direction, sock: Any) -> None:
        self.link = link
        self.direction = direction
        """Which end this is, and so the direction of what it sends."""
        self.sent_bytes = 0
        self.has_ended = False
        """Whether it sends nothing more."""
        self.socket = ServedSocket(link.owner, sock, self)

    def received(self, data: bytes) -> None:
        """Pass bytes on."""
        if not self.sent_bytes:
            self.link.first(self.direction)
        self.sent_bytes += len(data)
        self.link.received(self.direction, data)

    def drained(self) -> None:
        """Read from the other end again, as this one has read what waited."""
        self.link.read(self.direction.other)

    def ended(self) -> bool:
        """Pass the end on; what the other sends is still written to this one."""
        self.has_ended = True
        self.link.ended(self.direction)
        return True

    def gone(self, why: str) -> None:
        """End the other end as well."""
        had_ended, self.has_ended = self.has_ended, True
        self.link.gone(self.direction, why, had_ended)


class Way:
    """Where the packets of one direction go, once the rules for faults have acted on them."""

    def __init__(self, link: "ProxyLink", direction: Direction) -> None:
        self._link = link
        self._direction = direction

    def write(self, data: bytes) -> None:
        """Write bytes to the end that they are for."""
        self._link.pass_on(self._direction, data)
        self._link.read(self._direction)

    def close(self) -> None:
        """Close that end, of which more is read only if it is the other one's end that is passed on."""
        self._link.end_way(self._direction)

    def reset(self) -> None:
        """Break both ends off, as a rule says."""
        self._link.close("closed", None, "reset by a fault")
        self._link.abort()


class ProxyLink:
    """A client, its connection to the broker, and what passes between them."""

    def __init__(self, owner: LinkOwner, label: str, sock: Any, place: tuple[str, int]) -> None:
        self.owner = owner
        self.label = label
        self.place = place
        """Address and port of the client."""
        owner.links[self] = None
        self.ends = {Direction.CLIENT: LinkEnd(self, Direction.CLIENT, sock)}
        # What it says is read when there is somebody to pass it on to.
        self.ends[Direction.CLIENT].socket.pause()
        self.observed: ObservedBytes | None = None
        self.faulted: FaultedLink | None = None
        self.intercepted: InterceptedLink | None = None
        self._ending: tuple[str, Direction | None, str] | None = None
        """How it ended, by whom, and in words."""
        dial(owner, owner.target, owner.timeout_s, self._dialled)

    def _dialled(self, made: Any) -> None:
        client = self.ends[Direction.CLIENT].socket
        if isinstance(made, Failure):
            self.close("failed", None, f"closed: {made}")
            client.close("there is no broker")
        elif not client.open:
            made.close()
        else:
            route = describe(made, self.owner.target.transport)._replace(client=self.place)
            self.ends[Direction.SERVER] = LinkEnd(self, Direction.SERVER, made)
            if observer := self.owner.observe(self.label):
                self.observed = ObservedBytes(observer, Version.V5)
                self.observed.connected(route)
            if faults := self.owner.faults:
                ways = {end: Way(self, end) for end in Direction}
                self.faulted = faults.link(self.label, None, ways, self.owner, authority(*self.place))
            if interception := self.owner.interception:
                self.intercepted = InterceptedLink(interception, self)
            client.resume()

    # bytes

    def first(self, direction: Direction) -> None:
        """Wait for the first bytes of the broker from the first of the client on."""
        timers = self.owner.timers
        if direction is Direction.SERVER:
            timers.cancel((self, "answer"))
        elif not self.ends[Direction.SERVER].sent_bytes:
            timers.set((self, "answer"), self.owner.clock() + self.owner.timeout_s, self._unanswered)

    def _unanswered(self) -> None:
        place, seconds = self.owner.target.place, self.owner.timeout_s
        self.close("failed", None, f"closed: {place} accepted it, but sent nothing within {seconds:g} s")
        self.finish()

    def received(self, direction: Direction, data: bytes) -> None:
        """Take bytes of one end: the user may hold what is in them, then rules for faults act on it."""
        if self.intercepted:
            self.intercepted.received(direction, data)
        elif self.faulted:
            self.faulted.received(direction, data)
        else:
            self.pass_on(direction, data)
            return
        if self._is_full(direction):
            self.ends[direction].socket.pause()

    def released(self, direction: Direction, data: bytes) -> None:
        """Take a packet that the user does not hold, or not any more."""
        if self.faulted:
            self.faulted.received(direction, data)
        else:
            self.pass_on(direction, data)

    def _is_full(self, direction: Direction) -> bool:
        """Whether too much of what an end sent still waits."""
        is_held = self.intercepted is not None and self.intercepted.holds(direction)
        is_faulted = self.faulted is not None and self.faulted.full(direction)
        return is_held or is_faulted or len(self.ends[direction.other].socket.output) > MOST_WAITING

    def pass_on(self, direction: Direction, data: bytes) -> None:
        """Write bytes of one end to the other, and show them."""
        if self.observed:
            self.observed.passed(direction, data)
        to = self.ends[direction.other].socket
        if not to.open:
            return
        to.write(data)
        if len(to.output) > MOST_WAITING:
            self.ends[direction].socket.pause()

    def read(self, direction: Direction) -> None:
        """Read from an end again, unless too much of what it sent still waits."""
        if not self._is_full(direction):
            self.ends[direction].socket.resume()

    # the end

    def ended(self, direction: Direction) -> None:
        """Take the end (FIN) of one of the ends, and pass it on after what it sent."""
        self.close("closed", direction, f"closed by {WORDS[direction]}")
        self._await_other()
        if self.intercepted:
            self.intercepted.ended(direction)
        else:
            self.end_released(direction)

    def end_released(self, direction: Direction) -> None:
        """Take the end of a direction, in which the user holds nothing more."""
        if self.faulted:
            self.faulted.ended(direction)
        else:
            self.end_way(direction)

    def end_way(self, direction: Direction) -> None:
        """End a direction: by the end (FIN) of who sent it, or, where that goes on, by closing the connection."""
        if not self.ends[direction].has_ended:
            self.close("closed", None, "closed by a fault")
            self.finish()
            return
        if self.observed:
            self.observed.ended(direction, "FIN")
        self.ends[direction.other].socket.shut()

    def _await_other(self) -> None:
        """Close both ends once nothing has passed for a while."""
        owner, before = self.owner, self._progress()

        def look() -> None:
            if self._progress() == before:
                self.finish()
            else:
                self._await_other()

        owner.timers.set((self, "end"), owner.clock() + HALF_OPEN_S, look)

    def _progress(self) -> list[int]:
        return [number for end in self.ends.values() for number in (end.sent_bytes, len(end.socket.output))]

    def close(self, kind: str, by: Direction | None, words: str) -> None:
        """Note how the connection ends; the first to say so is right."""
        self._ending = self._ending or (kind, by, words)

    def break_off(self, how: str) -> None:
        """Close both ends, FIN or RST, as the user says."""
        if how == "RST":
            self.close("closed", None, "reset by the user")
            self.abort()
        else:
            self.close("closed", None, "closed by the user")
            self.finish()

    def finish(self) -> None:
        """Close both ends once what waits for them is written."""
        for end in list(self.ends.values()):
            end.socket.finish(LINGER_S)

    def abort(self) -> None:
        """Break both ends off."""
        if self.observed:
            self.observed.ended(Direction.SERVER, "RST")
        for end in list(self.ends.values()):
            end.socket.abort("broken off")

    def gone(self, direction: Direction, why: str, had_ended: bool) -> None:
        """Take the loss of one end: the other is reset if it was, and closed otherwise.

        `had_ended` is whether it had sent its end (FIN) before.
        """
        end = self.ends[direction]
        other = self.ends.get(direction.other)
        was_reset = end.socket.was_reset
        words = f"reset by {WORDS[direction]}" if was_reset else f"closed by {WORDS[direction]}: {why}"
        self.close("closed", direction, words)
        if self.observed:
            self.observed.ended(direction, "RST" if was_reset else "FIN")
        if other is None or not other.socket.open:
            self._over()
        elif was_reset:
            other.socket.abort("the other end was reset")
        elif other.has_ended and had_ended:
            # All was said, and may take its time to be read.
            pass
        else:
            other.socket.finish(LINGER_S)

    def _over(self) -> None:
        """Forget the connection and say how it ended."""
        timers = self.owner.timers
        timers.cancel((self, "answer"))
        timers.cancel((self, "end"))
        for stage in (self.intercepted, self.faulted):
            if stage:
                stage.close()
        del self.owner.links[self]
        if self.observed:
            self.observed.over()
        assert self._ending
        kind, by, words = self._ending
        client, server = (self.ends[each].sent_bytes if each in self.ends else 0 for each in Direction)
        details = {"by": by.name.lower() if by else None, "client_bytes": client, "server_bytes": server}
        if kind == "closed":
            words += f"; {client:,} bytes of the client, {server:,} of the broker"
        self.owner.on_event(LinkEvent(kind, self.label, words, {"message": words, **details}))
