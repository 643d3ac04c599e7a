"""One connection from CONNECT to DISCONNECT, driven without threads by whoever calls `step`.

The session owns the connection: it waits, reads and writes. `Incoming` hands acknowledgements to the sender and
messages to the receiver, who own the exchanges; what these put out is sent as soon as everything that came was read.
"""

import selectors
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Self, TypeVar

from ..codec.encode import encode
from ..common.words import counted
from ..spec.declare import Property
from ..spec.packets import Connack, Disconnect, Pingreq, Publish, Subscribe, Unsubscribe
from ..spec.properties import AUTHENTICATION_DATA
from ..spec.versions import Version
from .authentication import REAUTHENTICATE, ScramExchange
from .failures import MALFORMED, ConnectionLost, NoConnack, NotConnected, PeerFault, Unanswered
from .incoming import AckHandler, Incoming, Mark, auth
from .limits import packet_name
from .net.connection import PahoConnection
from .net.target import Target
from .receive import Receiver
from .tap import Observer, Tap, buffering

LINGER_S = 2.0
"""How long to wait for the broker to close after DISCONNECT."""
ALL_SENT = "everything was sent"
"""What is awaited where no packet is."""
QUIET_S = 0.02
"""How long the connection must be quiet before an observer shows what it has gathered."""
LOOK_S = 0.1
"""How long a connection must stay open after a write to show that the peer did not end it before."""
HOUSEKEEPING_S = 0.5
"""The interval between checks of the keep alive."""
SUBACK_CODES = {Version.V5: "MQTT5-3.8.4-6", Version.V311: "MQTT311-3.8.4-5", Version.V31: "MQTT31-3.9/count"}
"""The statement that a SUBACK has as many codes as the SUBSCRIBE has Topic Filters."""

T = TypeVar("T")


class Session:
    """A connection, open from the beginning of its `with` block.

    `sender` is None for a session that publishes nothing. `timeout_s` is how many seconds may pass
    without progress. Every method raises a Failure that says what was awaited or refused.
    """

    def __init__(
        self, target: Target, sender: AckHandler | None = None, *, receiver: Receiver | None = None,
        timeout_s: float = 30.0, observer: Observer | None = None,
    ) -> None:  # fmt: skip
        self.target = target
        self.timeout_s = timeout_s
        self.sender = sender
        self.unsent = bytearray()
        """The bytes that wait for the socket."""
        self._buffering = buffering(observer) if observer else None
        self._exchange = ScramExchange(target.authentication) if target.authentication else None
        self._incoming = Incoming(target, sender, receiver, self._exchange)
        opening = _authenticating(target, self._exchange) if self._exchange else target
        self._client = PahoConnection(opening, observer, timeout_s, self._incoming.guard.packet_limit)
        self._tap: Tap
        self._descriptor: int
        self._selector = selectors.DefaultSelector()
        self._wants = selectors.EVENT_READ
        self._input: int | None = None
        self._progress_s = self._kept_s = self._looked_s = time.monotonic()
        self._queued: tuple[Mark, int] | None = None
        """What the sender had put out at an earlier look, and the bytes that have to leave for it."""
        self._left: Mark | None = None
        """The same, once these bytes have left."""
        self._mute = False
        """Whether nothing is sent any more, because the connection is lost."""
        self._in_bulk = False
        """Whether answers wait for `send_output`, and the socket is read before it is waited for."""

    def __enter__(self) -> Self:
        if self._buffering:
            # Connecting may take long; until then the screen shows what came before it.
            self._buffering.flush()
        try:
            self._tap = self._client.establish()
            self.unsent = self._tap.unsent
            self._descriptor = self._tap.fileno()
            self._selector.register(self._descriptor, selectors.EVENT_READ)
        except BaseException as error:
            # The block will not begin, so its end will not clean up.
            if self._client.tap:
                self._tap = self._client.tap
                self.__exit__(type(error), error, None)
            else:
                self._selector.close()
            raise
        self._progress_s = self._kept_s = time.monotonic()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self._part(error)
        finally:
            self.abort()

    # the life of a connection

    def open(self) -> Connack:
        """Wait for CONNACK and return it; raises NotConnected where none comes, or the peer does not speak MQTT."""
        try:
            return self._await_connack()
        except (PeerFault, Unanswered) as failure:
            from .net.errors import no_connack, no_mqtt

            if explained := no_mqtt(self._tap, self.target, self.timeout_s):
                raise NotConnected(explained) from failure
            if isinstance(failure, PeerFault):
                raise
            raise NoConnack(no_connack(self._tap, self.target, self.timeout_s)) from failure

    def _await_connack(self) -> Connack:
        while True:
            self.step("CONNACK")
            if self.connack:
                return self.connack
            if self._tap.ended:
                raise ConnectionLost(self._closed("CONNACK"))
            if self._tap.first:
                self._check_first_bytes()

    def _check_first_bytes(self) -> None:
        """Raise the failure where what came first cannot become a CONNACK: the rest would show nothing more."""
        from .net.errors import begins_wrong, no_mqtt

        if explained := no_mqtt(self._tap, self.target, self.timeout_s):
            raise NotConnected(explained)
        if name := begins_wrong(self._tap.first):
            self._incoming.guard.before_connack(None, name, self._tap.first)

    def subscribe(self, packet: Subscribe) -> tuple[int, ...]:
        """Send a SUBSCRIBE, wait for its SUBACK and return the codes, one for each subscription.

        Raises PeerFault for another number of codes (5.0: 3.8.4).
        """
        return _result(self.subscribing(packet))

    def subscribing(self, packet: Subscribe) -> Generator[None, None, tuple[int, ...]]:
        """Do what `subscribe` does, and yield whenever something may have come that is not the SUBACK."""
        answer, data = yield from self._asking(packet, packet.packet_id, "SUBACK")
        codes: tuple[int, ...] = answer.reason_codes
        if len(codes) != (asked := len(packet.subscriptions)):
            said = f"the broker sent SUBACK with {counted(len(codes), 'code')} for {counted(asked, 'Topic Filter')}"
            raise PeerFault(f"{said} ({SUBACK_CODES[self.target.version]})", data)
        return codes

    def unsubscribe(self, packet: Unsubscribe) -> tuple[int, ...]:
        """Send an UNSUBSCRIBE, wait for its UNSUBACK and return the codes: none before 5.0."""
        return _result(self.unsubscribing(packet))

    def unsubscribing(self, packet: Unsubscribe) -> Generator[None, None, tuple[int, ...]]:
        """Do what `unsubscribe` does, and yield whenever something may have come that is not the UNSUBACK."""
        answer, _ = yield from self._asking(packet, packet.packet_id, "UNSUBACK")
        codes: tuple[int, ...] = answer.reason_codes
        return codes

    def _asking(
        self, packet: Subscribe | Unsubscribe, packet_id: int, awaited: str
    ) -> Generator[None, None, tuple[Any, bytes]]:
        """Send a packet and return the answer with the same Packet Identifier, and its bytes."""
        incoming = self._incoming
        incoming.ask(packet_id)
        self.send(encode(packet, self.target.version), awaited)
        self.restart_clock()
        while not (answer := incoming.answered()):
            self.step(awaited)
            if not incoming.answered():
                self.check_open(awaited)
            yield
        return answer

    def probe(self) -> None:
        """Send a PINGREQ and wait for its PINGRESP, which shows that the broker took what was sent before it.

        Before 5.0 a broker can object to a message only by closing the connection, and its close after the
        DISCONNECT would look the same.
        """
        self._incoming.pinged = False
        self.send(encode(Pingreq(), self.target.version), "PINGRESP")
        while not self._incoming.pinged:
            self.step("PINGRESP")
            if not self._incoming.pinged:
                self.check_open("PINGRESP")

    def reauthenticate(self) -> None:
        """Authenticate again while the connection is open (5.0: 4.12.1); the target must name who.

        Raises Refused if the broker rejects it, PeerFault if the broker does not prove that it knows the password.
        """
        exchange = self._exchange
        if exchange is None:
            raise ValueError("the target has no authentication")
        self.send(encode(auth(REAUTHENTICATE, exchange.method, exchange.begin()), self.target.version), "AUTH")
        self.restart_clock()
        while exchange.running:
            self.step("AUTH")
            if exchange.running:
                self.check_open("AUTH")

    def close(self, disconnect: Disconnect | None = None) -> None:
        """Send DISCONNECT, that of the target where none is given, then read until the broker closes.

        So a late objection is seen.

        Once the broker has answered for every message, no loss of the connection can change that. A QoS 0 message
        counts as sent if the broker closes after it has received everything.
        """
        self._incoming.closing = True
        try:
            if not self.settled:
                # An end that is already there came before our last write.
                self._transfer(ALL_SENT)
                self.check_open(ALL_SENT)
            if not self._tap.ended:
                self._send_disconnect(disconnect or self.target.disconnect)
            self._await_end()
        except Unanswered:
            if not self.settled:
                raise
        unfinished = self._tap.unfinished if self._tap.ended else b""
        # A message for the client may be cut off anywhere after DISCONNECT.
        if unfinished and unfinished[0] >> 4 != Publish.code:
            raise PeerFault(f"the broker closed in the middle of {packet_name(unfinished)}", unfinished, MALFORMED)

    def _send_disconnect(self, disconnect: Disconnect) -> None:
        self.send(encode(disconnect, self.target.version), ALL_SENT)
        self.restart_clock()
        while self.unsent:
            self.step(ALL_SENT)
        self._tap.half_close()

    def _await_end(self) -> None:
        tap, longest_s = self._tap, min(LINGER_S, self.timeout_s) if self.settled else self.timeout_s
        until_s = time.monotonic() + longest_s
        while not tap.ended and time.monotonic() < until_s:
            self._wait(until_s - time.monotonic(), None)
            self._transfer(ALL_SENT)
        if not tap.ended:
            raise Unanswered(f"the broker did not close the connection within {longest_s:g} s after DISCONNECT")
        if not self._has_closed_last():
            raise ConnectionLost(self._closed(ALL_SENT))

    def abort(self) -> None:
        """Close the socket at once."""
        if self.sender:
            self.sender.lose()
        self._selector.close()
        self._tap.abort()

    def _part(self, error: BaseException | None) -> None:
        """Say to the broker why its connection ends: a Reason Code for its fault, or DISCONNECT after a signal."""
        if isinstance(error, PeerFault):
            if error.code and self.target.version == Version.V5:
                self._leave(Disconnect(reason_code=error.code), self._tap.drain)
        elif error is not None and not isinstance(error, Exception) and not self._tap.ended:
            self._leave(self.target.disconnect, lambda: self._transfer(ALL_SENT))
            if self.sender and self._has_closed_last():
                self.sender.prove()

    def _has_closed_last(self) -> bool:
        """Whether the broker closed, and that after it had received everything."""
        tap = self._tap
        return tap.ended and not (tap.ended_early or self.unsent or self._mute)

    def _leave(self, disconnect: Disconnect, read_rest: Callable[[], object]) -> None:
        from .parting import leave

        if not self._incoming.closing:
            self._incoming.closing = True
            leave(self._tap, encode(disconnect, self.target.version), self.timeout_s, read_rest)

    # what is known of it

    @property
    def connack(self) -> Connack | None:
        """The CONNACK, once it has come."""
        return self._incoming.connack

    @property
    def descriptor(self) -> int:
        """The descriptor that can be read when something comes, for a caller that waits for several connections."""
        return self._descriptor

    @property
    def awaited(self) -> str:
        """What the broker owes, in words; empty where nothing is awaited."""
        return (self.sender.awaited if self.sender else "") or (ALL_SENT if self.unsent else "")

    @property
    def settled(self) -> bool:
        """Whether no end of the connection leaves the outcome of a message in doubt."""
        return self._incoming.settled

    def check_open(self, awaited: str = "") -> None:
        """Raise ConnectionLost when the broker has closed its side, Refused when it gave a reason."""
        if self._incoming.farewell:
            raise self._incoming.farewell
        if self._tap.ended:
            raise ConnectionLost(self._closed(awaited))

    def _closed(self, awaited: str) -> str:
        return f"the broker closed the connection before {awaited or self.awaited or ALL_SENT}"

    # one step of the loop, which its driver owns

    def step(self, awaited: str | None = None, *, most_s: float = HOUSEKEEPING_S, also: int | None = None) -> bool:
        """Wait for the socket once, handle what came, and return whether `also` can be read.

        `awaited` says in words what the timeout is counted for: by default what the sender awaits, nothing where it
        is empty. `most_s` is how many seconds to wait, `also` another descriptor to wake up for.
        """
        if awaited is None:
            awaited = self.awaited
        left_s = self._progress_s + self.timeout_s - time.monotonic() if awaited else most_s
        if awaited and left_s <= 0:
            missing = "not everything was sent" if awaited == ALL_SENT else f"no {awaited}"
            raise Unanswered(f"{missing} within {self.timeout_s:g} s")
        ready: set[int | None] = set()
        if also is not None or not self._has_read_at_once(awaited):
            ready = self._wait(min(left_s, most_s, HOUSEKEEPING_S), also)
        if self._descriptor in ready:
            self._transfer(awaited)
        if self.sender and not self._tap.ended and time.monotonic() - self._looked_s > LOOK_S:
            self._look(self.sender)
        self._keep_alive()
        if not awaited:
            # The timeout of what is sent next does not begin before it is sent.
            self.restart_clock()
        return also in ready

    def _look(self, sender: AckHandler) -> None:
        """Tell the sender what had left by the last look: a peer that ends the connection may not have read more."""
        self._looked_s = time.monotonic()
        if self._left:
            sender.outlive(self._left)
        self._left = None
        if self._queued is None or self._tap.sent_bytes >= self._queued[1]:
            self._left = self._queued[0] if self._queued else None
            self._queued = sender.mark(), self._tap.sent_bytes + len(self.unsent)

    def _has_read_at_once(self, awaited: str) -> bool:
        """Read without waiting, where acknowledgements come faster than they are taken; return whether any came.

        An observer shows what it has gathered between the waits.
        """
        return self._in_bulk and not self.unsent and self._buffering is None and self._transfer(awaited)

    def begin_bulk(self) -> None:
        """Expect many acknowledgements: they are taken together, and answers to them wait for `send_output`."""
        self._in_bulk = self._tap.joins_acks = True

    def end_bulk(self) -> None:
        """Take each acknowledgement by itself again, and send answers at once."""
        self._in_bulk = self._tap.joins_acks = False

    def restart_clock(self) -> None:
        """Count the timeout from now: something new is awaited."""
        self._progress_s = time.monotonic()

    def send(self, data: bytes, awaited: str = "") -> None:
        """Send whole packets, as soon as the socket takes them; `awaited` is what a loss is reported to prevent."""
        try:
            self._tap.write(data)
        except OSError as error:
            self._lose(error, awaited)

    def send_output(self) -> None:
        """Send what the sender and the receiver put out; nothing may follow the DISCONNECT (5.0: 3.14.4)."""
        if self._incoming.closing or self._mute or self._tap.ended:
            return
        receiver, sender = self._incoming.receiver, self.sender
        data = receiver.take_output() if receiver else b""
        if sender and sender.output:
            data += sender.take_output()
        if data:
            self.send(data)

    def _wait(self, seconds: float, also: int | None) -> set[int | None]:
        wants = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.unsent else 0)
        if wants != self._wants:
            self._selector.modify(self._descriptor, wants)
            self._wants = wants
        if also != self._input:
            self._listen(also)
        self._tap.acknowledge()
        more = self._tap.has_more
        ready: set[int | None] = {key.fd for key, _ in self._select(0 if more else max(seconds, 0))}
        return ready | {self._descriptor} if more else ready

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
        now_s = time.monotonic()
        if self._incoming.closing or now_s - self._kept_s < HOUSEKEEPING_S:
            return
        self._kept_s = now_s
        self._client.loop_misc()
        if self._tap.released:
            raise ConnectionLost("the broker did not answer PINGREQ")

    def _transfer(self, awaited: str) -> bool:
        """Write what waits, as far as the socket takes it, and read what has come; return whether anything has."""
        tap, unsent = self._tap, len(self.unsent)
        try:
            if unsent:
                tap.flush()
            came = tap.pump()
        except OSError as error:
            self._lose(error, awaited)
            return True
        if len(self.unsent) < unsent:
            self.restart_clock()
        if came:
            self._read()
        return came

    def _lose(self, error: OSError, awaited: str) -> None:
        """Handle the loss of the connection; raises ConnectionLost unless everything is settled by what came before."""
        self._mute = True
        with suppress(OSError):
            # The loss is known; what came before it can still be read.
            self._tap.pump()
        self._read()
        if not self.settled:
            # The same for a close and a reset: which of the two is seen is a matter of timing.
            raise ConnectionLost(self._closed(awaited)) from error
        self._tap.give_up()

    def _read(self) -> None:
        incoming, tap = self._incoming, self._tap
        if incoming.read_flows(tap):
            # Other traffic is not progress: a broker that only answers PINGREQ must not hold the client forever.
            self.restart_clock()
        if not self._in_bulk or tap.others:
            self.send_output()
        incoming.read_others(tap)
        while tap.for_paho and not tap.released:
            self._client.loop_read()


def _authenticating(target: Target, exchange: ScramExchange) -> Target:
    """Return the target with the first message of an exchange in its CONNECT."""
    data = Property(AUTHENTICATION_DATA.id, exchange.begin())
    return target.changed(properties=(*target.connect.properties, data))


def _result(steps: Generator[None, None, T]) -> T:
    """Take all steps and return what the last one returns."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
