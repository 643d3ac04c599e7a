"""One connection from CONNECT to DISCONNECT, driven by one loop without threads."""

import selectors
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from ..codec.encode import encode
from ..codec.framing import RETURN_CODES
from ..spec.declare import Packet
from ..spec.packets import Auth, Connack, Disconnect, Pingreq, Pingresp, Publish, Suback
from ..spec.versions import Version
from .failures import MALFORMED, ConnectionRefused, Lost, NoConnack, NotConnected, PeerFault, Refused, Unanswered
from .guard import Guard
from .net.client import Client
from .net.dial import half_close
from .net.target import Target
from .publish.acks import acknowledgement, read, reason_text
from .publish.flows import ALL_SENT, PUBACK, PUBCOMP, PUBREC, Receiver, Sender, Violation
from .tap import Observer, Tap, buffering

LINGER = 2.0
"""Seconds to wait for the broker to close after DISCONNECT."""
CLOSED = "the broker closed the connection before {}"
"""Said of a close and of a reset alike: which of them comes is a matter of timing."""
QUIET_S = 0.02
"""How long nothing may happen on the connection before an observer shows what it has gathered."""
HOUSEKEEPING = 0.5
"""Seconds between looks at the keep alive."""
OTHER_VERSION = (1, 0x84)
"""Codes that say that the broker does not speak the version."""
ACKS = frozenset((PUBACK, PUBREC, PUBCOMP))
OWN_REASONS = frozenset((0, 0x89, 0x8B, 0x8D, 0x8E, 0x93, 0x98, 0x9C, 0x9D, 0xA0))
"""Codes of a DISCONNECT by which a server ends a connection without blaming what it was sent last."""


class Session:
    """A connection: it carries what `sender` and `receiver` put out, and brings them what comes.

    It connects where its `with` block begins. `timeout` is how many seconds may pass without
    progress. Every method raises a Failure that says what was awaited or refused.
    """

    def __init__(
        self, target: Target, sender: Sender, *, timeout: float = 30.0, observer: Observer | None = None
    ) -> None:
        self.target = target
        self.timeout = timeout
        self.sender = sender
        self.receiver = Receiver(target.version)
        self.connack: Connack | None = None
        self.codes: list[int] = []
        """Codes of the last SUBACK."""
        self._buffering = buffering(observer)
        self._guard = Guard(target.connect, target.version)
        self._client = Client(target, observer, timeout, self._guard.packet_limit)
        self._tap: Tap
        self._selector = selectors.DefaultSelector()
        self._wants = selectors.EVENT_READ
        self._input: int | None = None
        self._progress = self._kept = time.monotonic()
        self._closing = False
        self._mute = False
        """Whether no answers are sent any more, because the connection is lost."""
        self._answered = False
        self._farewell: Refused | None = None
        """Why the broker closes, where that blames nothing that we sent."""

    def __enter__(self) -> Self:
        if self._buffering:
            # Connecting may take long; until then the screen shows what came before it.
            self._buffering.flush()
        try:
            self._tap = self._client.establish()
            self._selector.register(self._tap.fileno(), selectors.EVENT_READ)
        except BaseException as error:
            # The block will not begin, so nobody else ends what has begun.
            if self._client.tap:
                self._tap = self._client.tap
                self.__exit__(type(error), error, None)
            else:
                self._selector.close()
            raise
        self._progress = self._kept = time.monotonic()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._part(error)
        finally:
            self.abort()

    def _part(self, error: BaseException | None) -> None:
        """Tell the broker why its connection ends: with a Reason Code for its fault, or that a signal came."""
        if isinstance(error, PeerFault):
            if error.code and self.target.version == Version.V5:
                self._leave(Disconnect(reason_code=error.code), self._tap.drain)
        elif error is not None and not isinstance(error, Exception):
            self._leave(self.target.disconnect, self._pump_all)

    def _leave(self, disconnect: Disconnect, take: Callable[[], object]) -> None:
        from .parting import leave

        if not self._closing:
            self._closing = True
            leave(self._tap, encode(disconnect, self.target.version), self.timeout, take)

    def _pump_all(self) -> None:
        self._pump(ALL_SENT)

    def _await_end(self) -> None:
        until = time.monotonic() + min(LINGER, self.timeout)
        while not self._tap.ended and time.monotonic() < until:
            self._wait(until - time.monotonic(), None)
            self._pump(ALL_SENT)

    # what a publisher does with it

    def describe(self) -> list[str]:
        """Return a line for each thing between us and the broker: proxy, TLS, WebSocket."""
        return self._client.describe()

    def open(self) -> Connack:
        """Wait for CONNACK and return it; raises NotConnected where none comes, or no MQTT is spoken."""
        try:
            return self._await_connack()
        except (PeerFault, Unanswered) as failure:
            from .net.errors import no_connack, no_mqtt

            if said := no_mqtt(self._tap, self.target, self.timeout):
                raise NotConnected(said) from failure
            if isinstance(failure, PeerFault):
                raise
            raise NoConnack(no_connack(self._tap, self.target, self.timeout)) from failure

    def _await_connack(self) -> Connack:
        while True:
            self.step("CONNACK")
            if self.connack:
                return self.connack
            if self._tap.ended:
                raise Lost(CLOSED.format("CONNACK"))
            if self._tap.first:
                self._judge_first()

    def _judge_first(self) -> None:
        """Raise the failure where what came first cannot become a CONNACK: the rest would show nothing more."""
        from .net.errors import begins_wrong, no_mqtt

        if said := no_mqtt(self._tap, self.target, self.timeout):
            raise NotConnected(said)
        if name := begins_wrong(self._tap.first):
            self._guard.before_connack(None, name, self._tap.first)

    def subscribe(self, topic_filter: str, qos: int) -> tuple[int, ...]:
        """Subscribe to one filter, wait for SUBACK and return its codes."""
        self.codes.clear()
        self._client.subscribe(topic_filter, qos)
        while not self.codes:
            self.step("SUBACK")
            self.check_open("SUBACK")
        return tuple(self.codes)

    def send(self, data: bytes, awaited: str) -> None:
        """Send whole packets, as soon as the socket takes them."""
        try:
            self._tap.write(data)
        except OSError as error:
            self._lose(error, awaited)

    @property
    def settled(self) -> bool:
        """Whether the broker has answered for every message, so that no end of the connection puts one in doubt."""
        return not self.sender.open and not self.sender.unconfirmed

    @property
    def unsent(self) -> int:
        """Bytes that wait for the socket."""
        return self._tap.unsent

    def check_open(self, awaited: str) -> None:
        """Raise Lost when the broker has closed its side, Refused when it gave a reason."""
        if self._farewell:
            raise self._farewell
        if self._tap.ended:
            raise Lost(CLOSED.format(awaited))

    def restart_clock(self) -> None:
        """Count the timeout from now: something new is awaited."""
        self._progress = time.monotonic()

    def step(self, awaited: str, *, most: float = HOUSEKEEPING, also: int | None = None) -> bool:
        """Wait for the socket once, let everybody have what came, and return whether `also` can be read.

        `awaited` says what the timeout is counted for; nothing is awaited when it is empty.
        `most` is how many seconds to wait, `also` another descriptor to wake up for.
        """
        left = self._progress + self.timeout - time.monotonic() if awaited else most
        if awaited and left <= 0:
            missing = "not all was sent" if awaited == ALL_SENT else f"no {awaited}"
            raise Unanswered(f"{missing} within {self.timeout:g} s")
        ready = self._wait(min(left, most, HOUSEKEEPING), also)
        if self._tap.fileno() in ready:
            self._flush(awaited or ALL_SENT)
            self._pump(awaited or ALL_SENT)
        self._keep_alive()
        return also in ready

    def probe(self) -> None:
        """Ask for a PINGRESP, which shows that the broker took what went before it.

        Before 5.0 a broker objects to a message only by closing, and its close after our
        DISCONNECT would look the same.
        """
        self._answered = False
        self.send(encode(Pingreq(), self.target.version), "PINGRESP")
        while not self._answered:
            self.step("PINGRESP")
            if not self._answered:
                self.check_open("PINGRESP")
        self.sender.unconfirmed = False

    def close(self) -> None:
        """Send DISCONNECT, then read until the broker closes, so that a late objection is seen.

        Once the broker has answered for every message, no loss of the connection can change that.
        """
        self._closing = True
        try:
            if not self._tap.ended:
                self._say_goodbye()
            self._await_end()
        except Unanswered:
            if not self.settled:
                raise
        unfinished = self._tap.unfinished
        # A message for us may be cut off anywhere: we have asked to be let go.
        if self._tap.ended and unfinished and unfinished[0] >> 4 != Publish.code:
            raise PeerFault("the broker closed in the middle of a packet", unfinished, MALFORMED)

    def _say_goodbye(self) -> None:
        self.send(encode(self.target.disconnect, self.target.version), ALL_SENT)
        self.restart_clock()
        while self._tap.unsent:
            self.step(ALL_SENT)
        half_close(self._tap.sock)

    def abort(self) -> None:
        """Give the socket back at once."""
        self._selector.close()
        self._tap.sock.close()

    # the loop

    def _wait(self, seconds: float, also: int | None) -> set[int | None]:
        wants = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._tap.unsent else 0)
        if wants != self._wants:
            self._selector.modify(self._tap.fileno(), wants)
            self._wants = wants
        if also != self._input:
            self._listen(also)
        more = self._tap.has_more
        ready: set[int | None] = {key.fd for key, _ in self._select(0 if more else max(seconds, 0))}
        return ready | {self._tap.fileno()} if more else ready

    def _select(self, seconds: float) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for the first event; an observer shows what it has gathered when the connection falls quiet."""
        due_s = self._buffering.show_in_s() if self._buffering else None
        if self._buffering is None or due_s is None:
            return self._selector.select(seconds)
        if due_s <= 0:
            self._buffering.flush()
            return self._selector.select(seconds)
        ready = self._selector.select(min(seconds, due_s, QUIET_S))
        if not ready and seconds:
            self._buffering.flush()
        return ready

    def _listen(self, also: int | None) -> None:
        if self._input is not None:
            self._selector.unregister(self._input)
        if also is not None:
            self._selector.register(also, selectors.EVENT_READ)
        self._input = also

    def _keep_alive(self) -> None:
        now = time.monotonic()
        if self._closing or now - self._kept < HOUSEKEEPING:
            return
        self._kept = now
        self._client.loop_misc()
        if self._tap.released:
            raise Lost("the broker did not answer PINGREQ")

    def _flush(self, awaited: str) -> None:
        before = self._tap.unsent
        if not before:
            return
        try:
            self._tap.flush()
        except OSError as error:
            self._lose(error, awaited)
            return
        if self._tap.unsent < before:
            self.restart_clock()

    def _pump(self, awaited: str) -> None:
        try:
            self._tap.pump()
        except OSError as error:
            self._lose(error, awaited)
            return
        self._read()

    def _lose(self, error: OSError, awaited: str) -> None:
        """Take the loss of the connection; raises Lost unless what came before it has settled everything."""
        self._mute = True
        with suppress(OSError):
            # That it is lost we know; what came before is there to be read.
            self._tap.pump()
        self._read()
        if not self.settled:
            raise Lost(CLOSED.format(awaited)) from error
        self._tap.give_up()

    # what came

    def _read(self) -> None:
        if self.connack is None:
            self._read_others()
        self._read_flows()
        self._read_others()
        while self._tap.pending() and not self._tap.released:
            self._client.loop_read()
        if self._tap.oversize:
            raise self._guard.oversize(self._tap.oversize)
        if self._tap.lost:
            said = f"the broker sent what is no packet: {self._tap.lost.message}"
            raise PeerFault(said, self._tap.unfinished, MALFORMED)

    def _read_others(self) -> None:
        others, inbox = self._tap.others, self._tap.inbox
        while others:
            if self.connack is None and inbox and inbox[0][1].offset < others[0][1].offset:
                break
            frame = others.popleft()[1]
            data = frame.data
            packet = read(data, frame.version or self.target.version)
            if self.connack is None and not isinstance(packet, (Connack, Auth)):
                self._guard.before_connack(packet, self._named(packet), data)
            self._guard.explanation(packet, data)
            if handler := _OTHERS.get(type(packet)):
                handler(self, packet, data)
        if self.connack is None and inbox:
            data = inbox[0][1].data
            packet = read(data, self.target.version)
            self._guard.before_connack(packet, packet.name, data)

    def _named(self, packet: Any) -> str:
        """Return the name of a packet, with its code where it is a DISCONNECT."""
        if not isinstance(packet, Disconnect):
            return str(packet.name)
        return f"DISCONNECT ({reason_text(packet, self.target.version)})"

    def _read_flows(self) -> None:
        inbox, version, acknowledge = self._tap.inbox, self.target.version, self.sender.acknowledge
        judged = not self._guard.wants_explanations
        progress = False
        while inbox:
            now, frame = inbox.popleft()
            data = frame.data
            if judged:
                self._guard.explanation(read(data, version), data)
            if data[0] >> 4 not in ACKS:
                self._take_message(read(data, version), data)
                continue
            try:
                progress |= acknowledge(*acknowledgement(data, version, now))
            except Violation as violation:
                raise PeerFault(f"the broker sent {violation}", data) from None
        self._send_answers()
        if progress:
            # Other traffic is no progress: a broker that only answers PINGREQ must not hold us for ever.
            self.restart_clock()

    def _take_message(self, packet: Packet, data: bytes) -> None:
        self.receiver.receive(packet)
        if isinstance(packet, Publish):
            self._guard.publish(packet, self.receiver.unanswered, data)

    def _send_answers(self) -> None:
        """Send what the receiver has to say; nothing may follow our DISCONNECT (5.0: 3.14.4)."""
        data = self.receiver.take_output()
        if not data or self._closing or self._mute or self._tap.ended:
            return
        self.send(data, self.sender.awaited)

    def _take_connack(self, packet: Any, data: bytes) -> None:
        if self.connack is not None:
            raise PeerFault("the broker sent a second CONNACK (MQTT5-3.2.0-2)", data)
        if code := packet.reason_code:
            asked = self.target.version
            text = reason_text(packet, min(asked, Version.V311) if code in RETURN_CODES else asked)
            hint = f"; --mqtt-version names another than {asked.label}" if code in OTHER_VERSION else ""
            raise ConnectionRefused(f"the broker refused the connection: {text}{hint}", code)
        self._guard.connack(packet, data)
        self.connack = packet
        self.restart_clock()

    def _take_auth(self, packet: Any, data: bytes) -> None:
        self._guard.auth(packet, data)
        if self.connack is not None:
            raise PeerFault("the broker sent AUTH, which we did not ask for", data)
        raise NotConnected("the broker asks for another step of authentication (AUTH), which cannot be given")

    def _take_pingresp(self, packet: Any, data: bytes) -> None:
        self._answered = True

    def _take_suback(self, packet: Any, data: bytes) -> None:
        self.codes.extend(packet.reason_codes)

    def _take_disconnect(self, packet: Any, data: bytes) -> None:
        code = packet.reason_code or 0
        refused = Refused(f"the broker disconnected: {reason_text(packet, self.target.version)}", code)
        if not (self.settled and code in OWN_REASONS):
            raise refused
        # It matters only to those who have more to send.
        self._farewell = refused
        self._tap.give_up()


_OTHERS: dict[type[Packet], Any] = {
    Auth: Session._take_auth,
    Connack: Session._take_connack,
    Pingresp: Session._take_pingresp,
    Suback: Session._take_suback,
    Disconnect: Session._take_disconnect,
}
