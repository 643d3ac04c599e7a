"""One connection from CONNECT to DISCONNECT, driven by one loop without threads."""

import selectors
import time
from typing import Any

from ..codec.encode import encode
from ..spec.fields import Packet
from ..spec.packets import Connack, Disconnect, Pingreq, Pingresp, Suback
from ..spec.terms import Version
from .acks import acknowledgement, read, reason_text
from .connection import Target, open_connection
from .dial import half_close
from .failures import ConnectionRefused, Lost, NotConnected, PeerFault, Refused, Unanswered
from .flows import PUBACK, PUBCOMP, PUBREC, Receiver, Sender, Violation
from .tap import Observer, buffering

LINGER = 2.0
"""Seconds to wait for the broker to close after DISCONNECT."""
CLOSED = "the broker closed the connection before {}"
"""Said of a close and of a reset alike: which of them comes is a matter of timing."""
QUIET_S = 0.02
"""How long nothing may happen on the connection before an observer shows what it has gathered."""
HOUSEKEEPING = 0.5
"""Seconds between looks at the keep alive."""
CONNACK, REFUSAL_SIZE = 0x20, 4
"""First byte of CONNACK, and its size before 5.0."""
RETURN_CODES = range(1, 6)
"""Refusals in a CONNACK before 5.0, which are no Reason Codes of 5.0."""
OTHER_VERSION = (1, 0x84)
"""Codes that say that the broker does not speak the version."""
ACKS = frozenset((PUBACK, PUBREC, PUBCOMP))


class Session:
    """A connection: it carries what `sender` and `receiver` put out, and brings them what comes.

    `timeout` is how many seconds may pass without progress. Every method raises a Failure
    that says what was awaited or refused.
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
        if self._buffering:
            # Connecting may take long; until then the screen shows what came before it.
            self._buffering.flush()
        self._client, self._tap = open_connection(target, timeout, observer)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._tap.fileno(), selectors.EVENT_READ)
        self._wants = selectors.EVENT_READ
        self._input: int | None = None
        self._progress = self._kept = time.monotonic()
        self._closing = False
        self._answered = False

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    # what a publisher does with it

    def describe(self) -> list[str]:
        """Return a line for each thing between us and the broker: proxy, TLS, WebSocket."""
        return self._client.describe()

    def open(self) -> Connack:
        """Wait for CONNACK and return it; raises NotConnected where TLS is refused or no MQTT is spoken."""
        try:
            return self._await_connack()
        except (PeerFault, Unanswered) as failure:
            from .causes import no_mqtt

            if said := no_mqtt(self._tap, self.target, self.timeout):
                raise NotConnected(said) from failure
            raise

    def _await_connack(self) -> Connack:
        while True:
            self.step("CONNACK")
            if self.connack:
                return self.connack
            if self._tap.ended:
                raise Lost("the broker closed the connection instead of sending CONNACK")

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
            self._last_words()
            raise Lost(CLOSED.format(awaited)) from error

    @property
    def unsent(self) -> int:
        """Bytes that wait for the socket."""
        return self._tap.unsent

    def check_open(self, awaited: str) -> None:
        """Raise Lost when the broker has closed its side."""
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
            raise Unanswered(f"no {awaited} within {self.timeout:g} s")
        ready = self._wait(min(left, most, HOUSEKEEPING), also)
        if self._tap.fileno() in ready:
            self._flush(awaited or "all was sent")
            self._pump(awaited or "all was acknowledged")
        self._keep_alive()
        if self._tap.lost:
            raise PeerFault(f"the broker sent what is no packet: {self._tap.lost.message}", self._tap.unfinished)
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

    def close(self) -> None:
        """Send DISCONNECT, then read until the broker closes, so that a late objection is seen."""
        self._closing = True
        if not self._tap.ended:
            self.send(encode(self.target.disconnect, self.target.version), "all was sent")
            self.restart_clock()
            while self._tap.unsent:
                self.step("all was sent")
            half_close(self._tap.sock)
        until = time.monotonic() + min(LINGER, self.timeout)
        while not self._tap.ended and self._tap.lost is None and time.monotonic() < until:
            self._wait(until - time.monotonic(), None)
            self._pump("the broker closed")
        if self._tap.ended and self._tap.unfinished:
            raise PeerFault("the broker closed in the middle of a packet", self._tap.unfinished)

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
        return {key.fd for key, _ in self._select(max(seconds, 0))}

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
            self._last_words()
            raise Lost(CLOSED.format(awaited)) from error
        if self._tap.unsent < before:
            self.restart_clock()

    def _pump(self, awaited: str) -> None:
        try:
            self._tap.pump()
        except OSError as error:
            self._read()
            raise Lost(CLOSED.format(awaited)) from error
        self._read()

    def _last_words(self) -> None:
        """Read what the broker said before it closed."""
        try:
            self._tap.pump()
        except OSError:
            self._read()
            return
        self._read()

    # what came

    def _read(self) -> None:
        self._read_flows()
        while self._tap.others:
            _, frame = self._tap.others.popleft()
            packet = read(frame.data, self._form(frame.data))
            if handler := _OTHERS.get(type(packet)):
                handler(self, packet)
        while self._tap.pending() and not self._tap.released:
            self._client.loop_read()

    def _read_flows(self) -> None:
        inbox, version, acknowledge = self._tap.inbox, self.target.version, self.sender.acknowledge
        progress = False
        while inbox:
            now, frame = inbox.popleft()
            data = frame.data
            if data[0] >> 4 not in ACKS:
                self._take_message(read(data, version))
                continue
            try:
                progress |= acknowledge(*acknowledgement(data, version, now))
            except Violation as violation:
                raise PeerFault(f"the broker sent {violation}", data) from None
        if progress:
            # Other traffic is no progress: a broker that only answers PINGREQ must not hold us for ever.
            self.restart_clock()

    def _take_message(self, packet: Packet) -> None:
        self.receiver.receive(packet)
        if not self._tap.ended:
            data = b"".join(self.receiver.output)
            self.receiver.output.clear()
            self.send(data, "its message was acknowledged")

    def _form(self, data: bytes) -> Version:
        """Return the version whose form a packet has: brokers before 5.0 refuse 5.0 in their own."""
        older = len(data) == REFUSAL_SIZE and data[0] == CONNACK and data[-1] in RETURN_CODES
        return min(self.target.version, Version.V311) if older else self.target.version

    def _take_connack(self, packet: Any) -> None:
        if self.connack is not None:
            raise PeerFault("the broker sent a second CONNACK")
        if code := packet.reason_code:
            asked = self.target.version
            text = reason_text(packet, min(asked, Version.V311) if code in RETURN_CODES else asked)
            hint = f"; --mqtt-version names another than {asked.label}" if code in OTHER_VERSION else ""
            raise ConnectionRefused(f"the broker refused the connection: {text}{hint}", code)
        self.connack = packet
        self.restart_clock()

    def _take_pingresp(self, packet: Any) -> None:
        self._answered = True

    def _take_suback(self, packet: Any) -> None:
        self.codes.extend(packet.reason_codes)

    def _take_disconnect(self, packet: Any) -> None:
        text = reason_text(packet, self.target.version)
        raise Refused(f"the broker disconnected: {text}", packet.reason_code or 0)


_OTHERS: dict[type[Packet], Any] = {
    Connack: Session._take_connack,
    Pingresp: Session._take_pingresp,
    Suback: Session._take_suback,
    Disconnect: Session._take_disconnect,
}
