"""One connection from CONNECT to DISCONNECT, driven by one loop without threads."""

import selectors
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ..codec.encode import encode
from ..spec.fields import Packet
from ..spec.packets import Connack, Disconnect, Pingreq, Pingresp, Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback
from ..spec.properties import BY_KEY
from .acks import read, reason_text
from .connection import Target, open_connection
from .failures import ConnectionRefused, PeerFault, Refused, Unanswered
from .flows import Exchange, Receiver, Sender, Violation
from .tap import Observer

OUTPUT_LIMIT = 1 << 18
"""Bytes that may wait for the socket before more messages are taken."""
LINGER = 2.0
"""Seconds to wait for the broker to close after DISCONNECT."""
DEFAULT_WINDOW = 65535
CLOSED = "the broker closed the connection before {}"
"""Said of a close and of a reset alike: which of them comes is a matter of timing."""


class Session:
    """A connection on which messages are published.

    `timeout` is how many seconds may pass without progress. Every method raises a Failure
    that says what was awaited or refused.
    """

    def __init__(
        self, target: Target, *, timeout: float = 30.0, observer: Observer | None = None, first_id: int = 1
    ) -> None:
        self.target = target
        self.timeout = timeout
        self.connack: Connack | None = None
        self.sender = Sender(target.version, first_id=first_id)
        self.receiver = Receiver(target.version)
        self._client, self._tap = open_connection(target, timeout, observer)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._tap.fileno(), selectors.EVENT_READ)
        self._progress = time.monotonic()
        self._closing = False
        self._answered = False
        self.subscribed: list[int] = []
        """Codes of the last SUBACK."""

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    def open(self) -> Connack:
        """Wait for CONNACK and return it."""
        while True:
            self._step("CONNACK")
            self._read_others()
            if connack := self.connack:
                self.sender.window = _limit(connack, "receive_maximum", DEFAULT_WINDOW)
                return connack
            if self._tap.ended:
                raise Unanswered("the broker closed the connection instead of sending CONNACK")

    def subscribe(self, topic_filter: str, qos: int) -> tuple[int, ...]:
        """Subscribe to one filter, wait for SUBACK and return its codes."""
        self.subscribed.clear()
        self._client.subscribe(topic_filter, qos)
        while not self.subscribed:
            self._step("SUBACK")
            self._read_others()
            if self._tap.ended:
                raise Unanswered(CLOSED.format("SUBACK"))
        return tuple(self.subscribed)

    def publish(self, messages: Iterable[tuple[Publish, Any]]) -> Iterator[Exchange]:
        """Send messages and yield each exchange when it has ended; tokens come back with them."""
        source = iter(messages)
        more = True
        while True:
            more = more and self._fill(source)
            while self.sender.done:
                yield self.sender.done.popleft()
            if not more and not self.sender.open and not self._tap.unsent:
                return
            self._step(self._awaited())
            self._read_flows()
            self._read_others()
            if self._tap.ended and (self.sender.open or self._tap.unsent or more):
                raise Unanswered(CLOSED.format(self._awaited()))

    def _fill(self, source: Iterator[tuple[Publish, Any]]) -> bool:
        while self.sender.has_room and self._tap.unsent < OUTPUT_LIMIT:
            packet, token = next(source, (None, None))
            if packet is None:
                return False
            self.sender.publish(packet, token, time.time())
            self._write()
        return True

    def _write(self) -> None:
        for output in (self.receiver.output, self.sender.output):
            if output:
                data = b"".join(output)
                output.clear()
                self._send(data)

    def _send(self, data: bytes) -> None:
        try:
            self._tap.write(data)
        except OSError as error:
            # What the broker said before it closed is still to be read.
            self._drain()
            raise Unanswered(CLOSED.format(self._awaited())) from error

    def _drain(self) -> None:
        try:
            self._tap.pump()
        except OSError:
            return
        self._read_others()

    def _awaited(self) -> str:
        for exchange in self.sender.open.values():
            assert exchange.awaits is not None
            return f"{exchange.awaits.name} for Packet Identifier {exchange.packet_id}"
        return "all was sent"

    def unfinished(self) -> str:
        """Say which messages have no answer yet."""
        missing = [
            f"{each.awaits.name} came for Packet Identifier {id}"
            for id, each in self.sender.open.items()
            if each.awaits
        ]
        if not missing:
            return "nothing was awaited"
        more = f", nor for {len(missing) - 1} more" if missing[1:] else ""
        return f"no {missing[0]}{more}"

    def probe(self) -> None:
        """Ask for a PINGRESP, which shows that the broker took what went before it.

        Before 5.0 a broker objects to a message only by closing, and its close after our
        DISCONNECT would look the same.
        """
        self._answered = False
        self._send(encode(Pingreq(), self.target.version))
        while not self._answered:
            self._step("PINGRESP")
            self._read_others()
            if self._tap.ended:
                raise Unanswered(CLOSED.format("PINGRESP"))

    def close(self) -> None:
        """Send DISCONNECT, then read until the broker closes, so that a late objection is seen."""
        self._closing = True
        if not self._tap.ended:
            self._send(encode(self.target.disconnect, self.target.version))
            while self._tap.unsent:
                self._step("all was sent")
            self._half_close()
        until = time.monotonic() + min(LINGER, self.timeout)
        while not self._tap.ended and self._tap.lost is None and time.monotonic() < until:
            self._wait(until - time.monotonic())
            self._pump("the broker closed")
            self._read_flows()
            self._read_others()
        self._complain_if_cut_short()

    def _complain_if_cut_short(self) -> None:
        if self._tap.ended and self._tap.unfinished:
            raise PeerFault("the broker closed in the middle of a packet", self._tap.unfinished)

    def _half_close(self) -> None:
        try:
            self._tap.sock.shutdown(socket.SHUT_WR)
        except (OSError, AttributeError):
            return  # gone already, or a transport that cannot: reading on says which

    def abort(self) -> None:
        """Give the socket back at once."""
        self._selector.close()
        self._tap.sock.close()

    # the loop

    def _step(self, awaited: str) -> None:
        """Wait for the socket once, and let everybody have what came."""
        left = self._progress + self.timeout - time.monotonic()
        if left <= 0:
            raise Unanswered(f"no {awaited} within {self.timeout:g} s")
        # paho wants to look at its keep alive from time to time
        if self._wait(min(left, 1.0)):
            self._flush(awaited)
            self._pump(awaited)
        if not self._closing:
            self._client.loop_misc()
        if self._tap.released:
            raise Unanswered("the broker did not answer PINGREQ")
        if self._tap.lost:
            raise PeerFault(f"the broker sent what is no packet: {self._tap.lost.message}", self._tap.unfinished)

    def _wait(self, seconds: float) -> bool:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._tap.unsent else 0)
        self._selector.modify(self._tap.fileno(), events)
        return bool(self._selector.select(max(seconds, 0)))

    def _flush(self, awaited: str) -> None:
        before = self._tap.unsent
        try:
            self._tap.flush()
        except OSError as error:
            self._drain()
            raise Unanswered(CLOSED.format(awaited)) from error
        if self._tap.unsent < before:
            self._progress = time.monotonic()

    def _pump(self, awaited: str) -> None:
        try:
            self._tap.pump()
        except OSError as error:
            self._read_flows()
            self._read_others()
            raise Unanswered(CLOSED.format(awaited)) from error

    # what came

    def _read_flows(self) -> None:
        while self._tap.inbox:
            now, frame = self._tap.inbox.popleft()
            packet = read(frame, self.target.version)
            try:
                _FLOWS[type(packet)](self, packet, now)
            except Violation as violation:
                raise PeerFault(f"the broker sent {violation}", frame.data) from None
        if not self._tap.ended:
            self._write()

    def _take_ack(self, packet: Any, now: float) -> None:
        if packet.packet_id in self.sender.open:
            # Other traffic is no progress: a broker that only answers PINGREQ must not hold us for ever.
            self._progress = time.monotonic()
        self.sender.receive(packet, now)

    def _take_message(self, packet: Packet, now: float) -> None:
        self.receiver.receive(packet)

    def _read_others(self) -> None:
        while self._tap.others:
            _, frame = self._tap.others.popleft()
            packet = read(frame, self.target.version)
            if handler := _OTHERS.get(type(packet)):
                handler(self, packet)
        while self._tap.pending() and not self._tap.released:
            self._client.loop_read()

    def _connack(self, packet: Any) -> None:
        if self.connack is not None:
            raise PeerFault("the broker sent a second CONNACK")
        if packet.reason_code:
            raise ConnectionRefused(f"the broker refused the connection: {reason_text(packet, self.target.version)}")
        self.connack = packet
        self._progress = time.monotonic()

    def _pingresp(self, packet: Any) -> None:
        self._answered = True

    def _suback(self, packet: Any) -> None:
        self.subscribed.extend(packet.reason_codes)

    def _disconnected(self, packet: Any) -> None:
        raise Refused(f"the broker disconnected: {reason_text(packet, self.target.version)}")


def _limit(connack: Connack, key: str, default: int) -> int:
    row = BY_KEY[key]
    return next((value for id, value in connack.properties if id == row.id), default)


_FLOWS: dict[type[Packet], Any] = {
    **dict.fromkeys((Puback, Pubrec, Pubcomp), Session._take_ack),
    **dict.fromkeys((Publish, Pubrel), Session._take_message),
}
_OTHERS: dict[type[Packet], Any] = {
    Connack: Session._connack,
    Pingresp: Session._pingresp,
    Suback: Session._suback,
    Disconnect: Session._disconnected,
}
