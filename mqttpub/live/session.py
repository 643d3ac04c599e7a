"""One connection from CONNECT to DISCONNECT, driven by one loop without threads.

The session owns the loop and every packet in and out. What arrives for the publish flows goes to the `sender`
(acknowledgements) and the `receiver` (messages); what these put out is written at the end of each step.
"""

import selectors
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, Self

from ..codec.encode import encode
from ..codec.framing import RETURN_CODES
from ..spec.declare import Packet
from ..spec.packets import (
    Auth,
    Connack,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Suback,
    Subscribe,
    Unsubscribe,
)  # fmt: skip
from ..spec.versions import Version
from .failures import (
    MALFORMED,
    ConnectionRefused,
    Lost,
    NoConnack,
    NotConnected,
    OutOfOrder,
    PeerFault,
    Refused,
    Unanswered,
)  # fmt: skip
from .guard import Guard
from .net.client import Client
from .net.dial import half_close
from .net.target import Target
from .packets import acknowledgement, read, reason_text
from .receive import Receiver
from .tap import Observer, Tap, buffering

LINGER_S = 2.0
"""How long to wait for the broker to close after DISCONNECT."""
CLOSED = "the broker closed the connection before {}"
"""Used for a close and for a reset: which of the two is seen is a matter of timing."""
ALL_SENT = "all was sent"
"""What is awaited where no packet is."""
QUIET_S = 0.02
"""How long the connection must be quiet before an observer shows what it has gathered."""
HOUSEKEEPING_S = 0.5
"""The interval between checks of the keep alive."""
OTHER_VERSION = (1, 0x84)
"""Codes that mean that the broker does not support the version."""
ACKS = frozenset((Puback.code, Pubrec.code, Pubcomp.code))
OWN_REASONS = frozenset((0, 0x89, 0x8B, 0x8D, 0x8E, 0x93, 0x98, 0x9C, 0x9D, 0xA0))
"""Codes of a DISCONNECT by which a server ends a connection without blaming what it was sent last."""


class AckHandler(Protocol):
    """The sender's half of the publish flows, as far as a session has to know it."""

    unconfirmed: bool
    """Whether the last message was one that nothing acknowledges."""

    @property
    def awaited(self) -> str:
        """The acknowledgement that the broker owes first, in words; empty for none."""

    @property
    def settled(self) -> bool:
        """Whether the broker has answered for every message, so that no end of the connection leaves one in doubt."""

    def acknowledge(self, code: int, packet_id: int, reason: int | None, time_s: float, text: str) -> bool:
        """Take an acknowledgement; return whether it brings a message forward. Raises OutOfOrder."""

    def take_output(self) -> bytes:
        """Return the packets to write, and forget them."""


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
        self.receiver = receiver or Receiver(target.version)
        self.connack: Connack | None = None
        self._suback_codes: list[int] = []
        """Codes of the SUBACK packets since the last SUBSCRIBE."""
        self._buffering = buffering(observer)
        self._guard = Guard(target.connect, target.version)
        self._client = Client(target, observer, timeout_s, self._guard.packet_limit)
        self._tap: Tap
        self._selector = selectors.DefaultSelector()
        self._wants = selectors.EVENT_READ
        self._input: int | None = None
        self._progress_s = self._kept_s = time.monotonic()
        self._closing = False
        self._mute = False
        """Whether nothing is sent any more, because the connection is lost."""
        self._pinged = False
        """Whether a PINGRESP has come since the last probe."""
        self._farewell: Refused | None = None
        """Why the broker closes, where that blames nothing that the client sent."""

    def __enter__(self) -> Self:
        if self._buffering:
            # Connecting may take long; until then the screen shows what came before it.
            self._buffering.flush()
        try:
            self._tap = self._client.establish()
            self._selector.register(self._tap.fileno(), selectors.EVENT_READ)
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
                raise Lost(CLOSED.format("CONNACK"))
            if self._tap.first:
                self._check_first_bytes()

    def _check_first_bytes(self) -> None:
        """Raise the failure where what came first cannot become a CONNACK: the rest would show nothing more."""
        from .net.errors import begins_wrong, no_mqtt

        if explained := no_mqtt(self._tap, self.target, self.timeout_s):
            raise NotConnected(explained)
        if name := begins_wrong(self._tap.first):
            self._guard.before_connack(None, name, self._tap.first)

    def subscribe(self, packet: Subscribe) -> tuple[int, ...]:
        """Send a SUBSCRIBE, wait for its SUBACK and return the codes, one for each subscription."""
        self._suback_codes.clear()
        self.send(encode(packet, self.target.version), "SUBACK")
        self.restart_clock()
        while len(self._suback_codes) < len(packet.subscriptions):
            self.step("SUBACK")
            self.check_open("SUBACK")
        return tuple(self._suback_codes)

    def unsubscribe(self, packet: Unsubscribe) -> None:
        """Send an UNSUBSCRIBE, without waiting for its UNSUBACK."""
        self.send(encode(packet, self.target.version), "UNSUBACK")

    def probe(self) -> None:
        """Send a PINGREQ and wait for its PINGRESP, which shows that the broker took what was sent before it.

        Before 5.0 a broker can object to a message only by closing the connection, and its close after the
        DISCONNECT would look the same.
        """
        self._pinged = False
        self.send(encode(Pingreq(), self.target.version), "PINGRESP")
        while not self._pinged:
            self.step("PINGRESP")
            if not self._pinged:
                self.check_open("PINGRESP")
        if self.sender:
            self.sender.unconfirmed = False

    def close(self) -> None:
        """Send DISCONNECT, then read until the broker closes, so that a late objection is seen.

        Once the broker has answered for every message, no loss of the connection can change that.
        """
        self._closing = True
        try:
            if not self._tap.ended:
                self._send_disconnect()
            self._await_end()
        except Unanswered:
            if not self.settled:
                raise
        unfinished = self._tap.unfinished
        # A message for the client may be cut off anywhere after DISCONNECT.
        if self._tap.ended and unfinished and unfinished[0] >> 4 != Publish.code:
            raise PeerFault("the broker closed in the middle of a packet", unfinished, MALFORMED)

    def _send_disconnect(self) -> None:
        self.send(encode(self.target.disconnect, self.target.version), ALL_SENT)
        self.restart_clock()
        while self._tap.unsent:
            self.step(ALL_SENT)
        half_close(self._tap.sock)

    def _await_end(self) -> None:
        until_s = time.monotonic() + min(LINGER_S, self.timeout_s)
        while not self._tap.ended and time.monotonic() < until_s:
            self._wait(until_s - time.monotonic(), None)
            self._pump(ALL_SENT)

    def abort(self) -> None:
        """Close the socket at once."""
        self._selector.close()
        self._tap.sock.close()

    def _part(self, error: BaseException | None) -> None:
        """Say to the broker why its connection ends: a Reason Code for its fault, or DISCONNECT after a signal."""
        if isinstance(error, PeerFault):
            if error.code and self.target.version == Version.V5:
                self._leave(Disconnect(reason_code=error.code), self._tap.drain)
        elif error is not None and not isinstance(error, Exception):
            self._leave(self.target.disconnect, self._pump_all)

    def _leave(self, disconnect: Disconnect, read_rest: Callable[[], object]) -> None:
        from .parting import leave

        if not self._closing:
            self._closing = True
            leave(self._tap, encode(disconnect, self.target.version), self.timeout_s, read_rest)

    def _pump_all(self) -> None:
        self._pump(ALL_SENT)

    # what is known of it

    @property
    def awaited(self) -> str:
        """What the broker owes, in words; empty where nothing is awaited."""
        return (self.sender.awaited if self.sender else "") or (ALL_SENT if self._tap.unsent else "")

    @property
    def settled(self) -> bool:
        """Whether no end of the connection leaves the outcome of a message in doubt."""
        return self.sender is None or self.sender.settled

    @property
    def unsent_bytes(self) -> int:
        """Number of bytes that wait for the socket."""
        return self._tap.unsent

    def check_open(self, awaited: str = "") -> None:
        """Raise Lost when the broker has closed its side, Refused when it gave a reason."""
        if self._farewell:
            raise self._farewell
        if self._tap.ended:
            raise Lost(CLOSED.format(awaited or self.awaited or ALL_SENT))

    # the loop

    def step(self, awaited: str | None = None, *, most_s: float = HOUSEKEEPING_S, also: int | None = None) -> bool:
        """Wait for the socket once, handle what came, and return whether `also` can be read.

        `awaited` says in words what the timeout is counted for: by default what the sender awaits, nothing where it
        is empty. `most_s` is how many seconds to wait, `also` another descriptor to wake up for.
        """
        if awaited is None:
            awaited = self.awaited
        left_s = self._progress_s + self.timeout_s - time.monotonic() if awaited else most_s
        if awaited and left_s <= 0:
            missing = "not all was sent" if awaited == ALL_SENT else f"no {awaited}"
            raise Unanswered(f"{missing} within {self.timeout_s:g} s")
        ready = self._wait(min(left_s, most_s, HOUSEKEEPING_S), also)
        if self._tap.fileno() in ready:
            self._flush(awaited or ALL_SENT)
            self._pump(awaited or ALL_SENT)
        self._keep_alive()
        return also in ready

    def restart_clock(self) -> None:
        """Count the timeout from now: something new is awaited."""
        self._progress_s = time.monotonic()

    def send(self, data: bytes, awaited: str) -> None:
        """Send whole packets, as soon as the socket takes them; `awaited` is what a loss is reported to prevent."""
        try:
            self._tap.write(data)
        except OSError as error:
            self._lose(error, awaited)

    def send_output(self) -> None:
        """Send what the sender and the receiver put out; nothing may follow the DISCONNECT (5.0: 3.14.4)."""
        if self._closing or self._mute or self._tap.ended:
            return
        data = self.receiver.take_output()
        if self.sender:
            data += self.sender.take_output()
        if data:
            self.send(data, self.awaited or ALL_SENT)

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
        now_s = time.monotonic()
        if self._closing or now_s - self._kept_s < HOUSEKEEPING_S:
            return
        self._kept_s = now_s
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
        """Handle the loss of the connection; raises Lost unless what came before it has settled everything."""
        self._mute = True
        with suppress(OSError):
            # The loss is known; what came before it can still be read.
            self._tap.pump()
        self._read()
        if not self.settled:
            raise Lost(CLOSED.format(awaited)) from error
        self._tap.give_up()

    # what came

    def _read(self) -> None:
        if self.connack is None:
            self._read_others()
        if self._tap.inbox:
            self._read_flows()
        self._read_others()
        while self._tap.pending() and not self._tap.released:
            self._client.loop_read()
        if self._tap.oversize:
            raise self._guard.oversize(self._tap.oversize)
        if self._tap.lost:
            fault = f"the broker sent bytes that are not an MQTT packet: {self._tap.lost.message}"
            raise PeerFault(fault, self._tap.unfinished, MALFORMED)

    def _read_others(self) -> None:
        others, inbox = self._tap.others, self._tap.inbox
        while others:
            if self.connack is None and inbox and inbox[0][1].offset < others[0][1].offset:
                break
            frame = others.popleft()[1]
            data = frame.data
            packet = read(data, frame.version or self.target.version)
            if self.connack is None and not isinstance(packet, (Connack, Auth)):
                self._guard.before_connack(packet, self._name(packet), data)
            self._guard.explanation(packet, data)
            if handler := _OTHERS.get(type(packet)):
                handler(self, packet, data)
        if self.connack is None and inbox:
            data = inbox[0][1].data
            packet = read(data, self.target.version)
            self._guard.before_connack(packet, packet.name, data)

    def _name(self, packet: Any) -> str:
        """Return the name of a packet, with its code where it is a DISCONNECT."""
        if not isinstance(packet, Disconnect):
            return str(packet.name)
        return f"DISCONNECT ({reason_text(packet, self.target.version)})"

    def _read_flows(self) -> None:
        """Hand the packets of the publish flows to the sender and the receiver, and send what they put out."""
        inbox, version, sender = self._tap.inbox, self.target.version, self.sender
        checks_explanations = not self._guard.wants_explanations
        progress = False
        while inbox:
            time_s, frame = inbox.popleft()
            data = frame.data
            if checks_explanations:
                self._guard.explanation(read(data, version), data)
            if data[0] >> 4 not in ACKS:
                self._receive(read(data, version), data, time_s)
                continue
            if sender is None:
                raise PeerFault(f"the broker sent {read(data, version).name}, though nothing was published", data)
            try:
                progress |= sender.acknowledge(*acknowledgement(data, version, time_s))
            except OutOfOrder as error:
                raise PeerFault(f"the broker sent {error}", data) from None
        self.send_output()
        if progress:
            # Other traffic is not progress: a broker that only answers PINGREQ must not hold the client forever.
            self.restart_clock()

    def _receive(self, packet: Packet, data: bytes, time_s: float) -> None:
        """Hand a PUBLISH or a PUBREL to the receiver; after DISCONNECT, nothing is kept that cannot be acknowledged."""
        if isinstance(packet, Publish):
            self._guard.topic_alias(packet, data)
        if not self._closing:
            self.receiver.receive(packet, data, int(time_s * 1e9))
            self._guard.receive_maximum(self.receiver.unanswered, data)

    def _take_connack(self, packet: Any, data: bytes) -> None:
        if self.connack is not None:
            raise PeerFault("the broker sent a second CONNACK (MQTT5-3.2.0-2)", data)
        if code := packet.reason_code:
            asked = self.target.version
            text = reason_text(packet, min(asked, Version.V311) if code in RETURN_CODES else asked)
            hint = f"; try another --mqtt-version than {asked.label}" if code in OTHER_VERSION else ""
            raise ConnectionRefused(f"the broker refused the connection: {text}{hint}", code)
        self._guard.connack(packet, data)
        self.connack = packet
        self.restart_clock()

    def _take_auth(self, packet: Any, data: bytes) -> None:
        self._guard.auth(packet, data)
        if self.connack is not None:
            raise PeerFault("the broker sent an AUTH that the client did not ask for", data)
        raise NotConnected("the broker asks for another step of authentication (AUTH), which is not supported")

    def _take_pingresp(self, packet: Any, data: bytes) -> None:
        self._pinged = True

    def _take_suback(self, packet: Any, data: bytes) -> None:
        self._suback_codes.extend(packet.reason_codes)

    def _take_disconnect(self, packet: Any, data: bytes) -> None:
        code = packet.reason_code or 0
        refused = Refused(f"the broker disconnected: {reason_text(packet, self.target.version)}", code)
        if not (self.settled and code in OWN_REASONS):
            raise refused
        # It matters only where more is to be sent.
        self._farewell = refused
        self._tap.give_up()


_OTHERS: dict[type[Packet], Any] = {
    Auth: Session._take_auth,
    Connack: Session._take_connack,
    Pingresp: Session._take_pingresp,
    Suback: Session._take_suback,
    Disconnect: Session._take_disconnect,
}
