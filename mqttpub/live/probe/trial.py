"""One connection on which one thing is tried, and what became of it."""

import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ...codec.encode import encode
from ...spec.declare import Packet, Property
from ...spec.packets import (
    Connack,
    Connect,
    Disconnect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
)
from ...spec.properties import AUTHENTICATION_DATA, AUTHENTICATION_METHOD, SUBSCRIPTION_IDENTIFIER, USER_PROPERTY
from ...spec.reason_codes import Codes
from ...spec.versions import Version
from ..failures import Failure, NoConnack, NotConnected
from ..net.target import Target
from ..receive import ReceivedMessage, Receiver
from ..session import Session
from ..tap import Observer

LONGEST_S = 5.0
"""How long the answer to one trial is waited for at most."""
ARRIVAL_S = 1.0
"""How long a message that should come back is waited for."""
KEPT = (AUTHENTICATION_METHOD.id, AUTHENTICATION_DATA.id, USER_PROPERTY.id)
"""Properties of CONNECT that a broker may need to accept a client; no probe changes them."""
FIRST_REFUSAL = 0x80
"""The lowest Reason Code that refuses (5.0: 2.4)."""


class Trial(NamedTuple):
    """What became of one thing that was tried."""

    works: bool
    said: str = ""
    """Why it does not work, in one sentence."""
    value: Any = None
    """What the trial returned."""


class NotAllowed(Exception):
    """The broker answered a trial with a refusal that leaves the connection open."""


class TrialAcks:
    """Takes the acknowledgements of the messages of a trial."""

    def __init__(self) -> None:
        self.output: list[bytes] = []
        self.awaited = ""
        self.settled = True
        self.codes: dict[tuple[int, int], int] = {}
        """Reason Codes by packet type and Packet Identifier."""
        self.wanted: tuple[int, int] | None = None
        """The acknowledgement that is waited for; no other is progress."""

    def acknowledge(self, code: int, packet_id: int, reason: int | None, time_s: float, text: str) -> bool:
        """Keep an acknowledgement."""
        self.codes[code, packet_id] = reason or 0
        return (code, packet_id) == self.wanted

    def acknowledge_many(self, code: int, packet_ids: list[int], reasons: bytes | None, time_s: float) -> int:
        """Take none: each is kept by itself."""
        return 0

    def take_output(self) -> bytes:
        """Return nothing: the trial writes its own packets."""
        return b""

    def prove(self) -> None:
        """Do nothing: each packet of a trial is answered."""

    def mark(self) -> tuple[int, int]:
        """Return nothing."""
        return 0, 0

    def outlive(self, mark: tuple[int, int]) -> None:
        """Do nothing."""

    def lose(self) -> None:
        """Do nothing."""


class TrialSession:
    """An open session with the steps that trials are made of; each raises a Failure, or NotAllowed."""

    def __init__(self, session: Session, acks: TrialAcks, arrivals: deque[ReceivedMessage], connack: Connack) -> None:
        self.session = session
        self.connack = connack
        self._version = session.target.version
        self._acks = acks
        self._arrivals = arrivals
        self._last_id = 0

    def publish(self, topic: str, payload: bytes = b"", *, qos: int, release: bool = True, **fields: Any) -> None:
        """Publish a message and wait until the broker has accepted it; with QoS 2, PUBREL is sent only to `release`."""
        packet_id = self._next_id() if qos else None
        packet = Publish(topic=topic, payload=payload, qos=qos, packet_id=packet_id, **fields)
        self.session.send(encode(packet, self._version), "an answer")
        if packet_id is None:
            self.session.probe()
            return
        self._await(Puback if qos == 1 else Pubrec, packet_id)
        if qos == 2 and release:
            self.session.send(encode(Pubrel(packet_id=packet_id), self._version), "PUBCOMP")
            self._await(Pubcomp, packet_id)

    def subscribe(self, filter: str, *, qos: int = 0, identifier: int | None = None) -> int:
        """Subscribe and return the QoS that the broker grants."""
        properties = () if identifier is None else (Property(SUBSCRIPTION_IDENTIFIER.id, identifier),)
        packet = Subscribe(
            packet_id=self._next_id(), subscriptions=(Subscription(filter=filter, qos=qos),), properties=properties
        )
        (code,) = self.session.subscribe(packet)
        if code >= FIRST_REFUSAL:
            raise NotAllowed(f"SUBACK 0x{code:02x} {Codes('SUBACK').name(code, self._version)}")
        return code

    def arrival(self) -> ReceivedMessage | None:
        """Wait for a message that the broker should send, and return it; None if none comes."""
        until_s = time.monotonic() + ARRIVAL_S
        while not self._arrivals and (left_s := until_s - time.monotonic()) > 0:
            self.session.step("", most_s=left_s)
            self.session.check_open("a message")
        return self._arrivals.popleft() if self._arrivals else None

    def _next_id(self) -> int:
        self._last_id = self._last_id % 0xFFFF + 1
        return self._last_id

    def _await(self, ack: type[Packet], packet_id: int) -> None:
        self._acks.wanted = wanted = ack.code, packet_id
        while wanted not in self._acks.codes:
            self.session.step(ack.name)
            if wanted not in self._acks.codes:
                self.session.check_open(ack.name)
        if (reason := self._acks.codes.pop(wanted)) >= FIRST_REFUSAL:
            raise NotAllowed(f"{ack.name} 0x{reason:02x} {Codes(ack.name).name(reason, self._version)}")


class Prober:
    """Makes the connections of a probe.

    `most_bytes` bounds the packets that are sent to find the largest. All topics begin with `prefix`.
    """

    def __init__(
        self, target: Target, *, timeout_s: float = 30.0, most_bytes: int = 1 << 20, prefix: str = "mqttpub/probe",
        observer: Observer | None = None,
    ) -> None:  # fmt: skip
        self.target = _plain(target)
        self.most_bytes = most_bytes
        self.topic = f"{prefix}/{os.urandom(4).hex()}"
        """The topic below which everything is published."""
        self.trials = 0
        """Number of connections so far."""
        self._timeout_s = min(timeout_s, LONGEST_S)
        self._observer = observer

    @property
    def version(self) -> Version:
        """The version that is probed."""
        return self.target.version

    def attempt(
        self, act: Callable[[TrialSession], Any] = lambda session: None, *, target: Target | None = None
    ) -> Trial:
        """Connect, do something, disconnect, and return what became of it.

        Raises NotConnected where the broker cannot be reached any more.
        """
        self.trials += 1
        target = target or self.target
        acks, arrivals = TrialAcks(), deque[ReceivedMessage]()
        receiver = Receiver(target.version, queue=arrivals)
        try:
            with Session(
                target, acks, receiver=receiver, timeout_s=self._timeout_s, observer=self._observer
            ) as session:
                value = act(TrialSession(session, acks, arrivals, session.open()))
                session.close()
        except NoConnack as failure:
            return Trial(False, str(failure))
        except NotConnected:
            raise
        except (Failure, NotAllowed) as failure:
            return Trial(False, str(failure))
        return Trial(True, value=value)

    def connected(self, **connect: Any) -> Trial:
        """Connect with a changed CONNECT, and return the Trial with the CONNACK as its value."""
        return self.attempt(lambda session: session.connack, target=self.target.changed(**connect))


def _plain(target: Target) -> Target:
    """Return the target without its will, its old session and its limits."""
    connect = target.connect
    properties = tuple(each for each in connect.properties if each[0] in KEPT) if target.version == Version.V5 else ()
    bare: Connect = connect.replace(
        will=None, will_qos=0, will_retain=False, clean_start=True, properties=properties
    )  # fmt: skip
    return target._replace(connect=bare, disconnect=Disconnect())


def highest(low: int, high: int, works: Callable[[int], bool]) -> int | None:
    """Return the highest number of a range that works, where all below one that works do too; None if `low` does not.

    The upper end is tried first, because most brokers allow it.
    """
    if works(high):
        return high
    if low == high or not works(low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low
