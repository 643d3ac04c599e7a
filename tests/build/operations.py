"""Captures of an afternoon of clients, and all that was said in it: what operators ask can be counted from that.

Some clients connect again and again, are taken over, or are silent for too long; messages are delivered to subscribers
at once, late, or never; and some clients suddenly behave otherwise than before. Everything follows from a seed.

    python -m tests.build.operations

writes afternoon.pcap.gz anew, on which the guide asks its questions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from mqttpub.capture.types import CaptureRecord
from mqttpub.codec.encode import encode
from mqttpub.common.times import SECOND_NS
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)
from mqttpub.spec.properties import SERVER_KEEP_ALIVE
from mqttpub.spec.versions import Version
from tests.build.containers import zipped
from tests.build.frames import ACK, FIN, LINKS, PUSH, RST, Wire, pcap
from tests.paths import AFTERNOON

START_S = 1_780_000_020
"""A time within an hour and within a minute, in seconds since 1970."""
HOURS = 2
MILLISECOND_NS = 1_000_000
CLIENT, SERVER = 0, 1
TAKEN_OVER, TIMED_OUT, QUOTA = 0x8E, 0x8D, 0x97


class Said(NamedTuple):
    """A packet as it was captured."""

    time_ns: int
    side: int
    packet: Packet


@dataclass
class KnownConnection:
    """A connection with all its packets, and how it ended."""

    number: int
    client_id: str
    version: Version = Version.V5
    said: list[Said] = field(default_factory=list)
    closings: list[tuple[int, int, str]] = field(default_factory=list)
    """Time, side, and FIN or RST; none if the capture has no end of it."""

    def say(self, time_ns: int, side: int, packet: Packet) -> int:
        """Send a packet and return its time."""
        self.said.append(Said(time_ns, side, packet))
        return time_ns

    def close(self, time_ns: int, *sides: int, how: str = "FIN") -> None:
        """End the connection from one side, or from both, a millisecond apart."""
        self.closings += [(time_ns + at * MILLISECOND_NS, side, how) for at, side in enumerate(sides)]

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Yield times and IP packets."""
        wire = Wire(port=20_000 + self.number)
        begin = self.said[0].time_ns
        yield from ((begin - (3 - at) * MILLISECOND_NS // 10, data) for at, data in enumerate(wire.opening()))
        sent = [0, 0]
        events = [(each.time_ns, each.side, encode(each.packet, self.version), ACK | PUSH) for each in self.said]
        events += [(time, side, b"", {"FIN": FIN, "RST": RST}[how] | ACK) for time, side, how in self.closings]
        for time, side, data, flags in sorted(events, key=lambda event: event[0]):
            yield time, wire.packet(side, sent[side], data, flags=flags, ack=sent[1 - side])
            sent[side] += len(data)


class Afternoon:
    """Clients of one server, and the connections that they had."""

    def __init__(self, seed: int, *, devices: int = 8, first: int = 0, site: str = "plant", hours: int = HOURS) -> None:
        self.random = Random(seed)
        self.hours = hours
        self.end_ns = (START_S + hours * 3600) * SECOND_NS
        self.connections: list[KnownConnection] = []
        self.site = site
        subscribers = [self._subscriber(number) for number in range(5)]
        for number in range(first, first + devices):
            self._device(number, subscribers)
        self._beacon(subscribers[0])
        for each in subscribers:
            each.said.sort(key=lambda said: said.time_ns)
        self._churn()
        self._quiet()

    def capture(self) -> bytes:
        """Return the capture."""
        link = LINKS["Ethernet"]
        frames = sorted((frame for each in self.connections for frame in each.frames()), key=lambda frame: frame[0])
        return pcap(
            (
                CaptureRecord(number, time, link.type, data := link.frame(packet), len(data))
                for number, (time, packet) in enumerate(frames, 1)
            ),
            link.type,
        )

    def at(self, second: float) -> int:
        """Return a time in nanoseconds, on a whole microsecond."""
        return START_S * SECOND_NS + round(second * 1_000_000) * 1000

    def connect(
        self, client_id: str, time_ns: int, *, keep_alive: int = 60, code: int = 0,
        server_keep_alive: int | None = None, version: Version = Version.V5,
    ) -> KnownConnection:  # fmt: skip
        """Open a connection and return it."""
        made = KnownConnection(len(self.connections), client_id, version)
        self.connections.append(made)
        made.say(time_ns, CLIENT, Connect(client_id=client_id, keep_alive=keep_alive))
        given = () if server_keep_alive is None else (Property(SERVER_KEEP_ALIVE.id, server_keep_alive),)
        made.say(time_ns + MILLISECOND_NS, SERVER, Connack(reason_code=code, properties=given))
        return made

    # messages and deliveries

    def _subscriber(self, number: int) -> KnownConnection:
        made = self.connect(f"sub-{number}", self.at(number), keep_alive=0)
        time = made.say(self.at(number + 0.5), CLIENT, Subscribe(
            packet_id=1, subscriptions=(Subscription(filter=f"{self.site}/#"),)
        ))  # fmt: skip
        made.say(time + MILLISECOND_NS, SERVER, Suback(packet_id=1, reason_codes=(0,)))
        return made

    def _device(self, number: int, subscribers: list[KnownConnection]) -> None:
        """Publish every half minute; in the middle of the afternoon some devices behave differently."""
        random, made = self.random, self.connect(f"dev-{number}", self.at(6 + number))
        topic = f"{self.site}/line-{number % 3}/{('temperature', 'state')[number % 2]}/{number}"
        second, identifier = 20.0 + number, 0
        odd = self.hours * 3600 * 0.7
        while second < self.hours * 3600 - 40:
            strange = odd < second < odd + 200
            size = 400 if strange and number % 8 == 1 else random.randint(8, 12)
            payload = bytes(random.choices(b"0123456789abcdef", k=size))
            qos = number % 2
            identifier += qos
            publish = Publish(
                topic=topic, qos=qos, packet_id=identifier or None, payload=payload, retain=number % 4 == 1
            )
            time = made.say(self.at(second), CLIENT, publish)
            if qos:
                refused = strange and number % 8 == 3
                made.say(time + 2 * MILLISECOND_NS, SERVER, Puback(packet_id=identifier, reason_code=QUOTA * refused))
            self._deliver(number, time, publish, subscribers)
            if strange and number % 8 == 2:
                second += random.uniform(1, 2)
            else:
                second += 30 + random.uniform(-3, 3)

    def _deliver(self, number: int, time: int, publish: Publish, subscribers: list[KnownConnection]) -> None:
        """Deliver a message of an even device to none or some, of another to all; one in twenty far too late."""
        random = self.random
        for each in subscribers if number % 2 else subscribers[: random.randint(0, 3)]:
            wait_us = random.randint(11_000_000, 14_000_000) if random.random() < 0.05 else random.randint(900, 40_000)
            delivered = publish.replace(qos=0, packet_id=None, retain=False)
            each.say(time + wait_us * 1000, SERVER, delivered)

    def _beacon(self, subscriber: KnownConnection) -> None:
        """Publish the same message every 4 seconds, once again with DUP; one was got from the store before."""
        made = self.connect("beacon", self.at(1000))
        subscriber.say(self.at(999), SERVER, Publish(topic="beacon", payload=b"here", retain=True))
        for turn in range(5):
            publish = Publish(topic="beacon", qos=1, packet_id=turn + 1, payload=b"here", retain=True)
            time = made.say(self.at(1000.5 + 4 * turn), CLIENT, publish)
            subscriber.say(time + MILLISECOND_NS, SERVER, Publish(topic="beacon", payload=b"here"))
            if turn == 2:
                made.say(time + 2 * MILLISECOND_NS, CLIENT, publish.replace(dup=True))
            made.say(time + 3 * MILLISECOND_NS, SERVER, Puback(packet_id=turn + 1))
        made.close(made.say(self.at(1020), CLIENT, Disconnect()) + MILLISECOND_NS, CLIENT, SERVER)

    # connections

    def _churn(self) -> None:
        """Connect again and again, with all the ways in which a connection ends."""
        second = 100.0
        for turn in range(24):
            made = self.connect("flapper", self.at(second))
            end = made.say(self.at(second + 30 + 10 * (turn % 6)), CLIENT, Pingreq())
            made.say(end + MILLISECOND_NS, SERVER, Pingresp())
            (self._said, self._notified, self._fin, self._rst, self._taken, self._left)[turn % 6](made, end + SECOND_NS)
            second = (end - self.at(0)) / SECOND_NS + 20
        for turn in range(3):
            refused = self.connect("intruder", self.at(200 + 2000 * turn), code=0x87)
            refused.close(refused.said[-1].time_ns + MILLISECOND_NS, SERVER, CLIENT)
        for turn in range(4):
            made = self.connect("walker", self.at(300 + 500 * turn), version=Version.V311)
            made.close(made.say(self.at(300 + 500 * turn + 45), CLIENT, Pingreq()) + SECOND_NS, CLIENT, SERVER)

    def _said(self, made: KnownConnection, time: int) -> None:
        """End by DISCONNECT of the client."""
        made.close(made.say(time, CLIENT, Disconnect()) + MILLISECOND_NS, CLIENT, SERVER)

    def _notified(self, made: KnownConnection, time: int) -> None:
        """Be taken over, with a DISCONNECT that says so: the next connection begins 19 s later."""
        late = time + 25 * SECOND_NS
        made.close(made.say(late, SERVER, Disconnect(reason_code=TAKEN_OVER)) + MILLISECOND_NS, SERVER, CLIENT)

    def _fin(self, made: KnownConnection, time: int) -> None:
        """Close without DISCONNECT, long after the next connection began."""
        made.close(time + 30 * SECOND_NS, CLIENT, SERVER)

    def _rst(self, made: KnownConnection, time: int) -> None:
        """Break off."""
        made.close(time, CLIENT, how="RST")

    def _taken(self, made: KnownConnection, time: int) -> None:
        """Be taken over without a word."""
        made.close(time + 30 * SECOND_NS, SERVER, CLIENT)

    def _left(self, made: KnownConnection, time: int) -> None:
        """Never end."""

    def _quiet(self) -> None:
        """Be silent for longer than agreed, or than the server agreed to."""
        clients = (("sleepy", 100, 60, None), ("drowsy", 70, 60, None), ("awake", 50, 60, None),
                   ("corrected", 50, 60, 20), ("free", 900, 0, None))  # fmt: skip
        for name, gap, keep_alive, corrected in clients:
            made = self.connect(name, self.at(700), keep_alive=keep_alive, server_keep_alive=corrected)
            second = 700.0
            for step in (10, 20, gap, 15):
                second += step
                made.say(self.at(second), CLIENT, Pingreq())
                made.say(self.at(second) + MILLISECOND_NS, SERVER, Pingresp())
            made.close(made.say(self.at(second + 5), CLIENT, Disconnect()) + MILLISECOND_NS, CLIENT, SERVER)
        gone = self.connect("gone", self.at(900), keep_alive=30)
        time = gone.say(self.at(900 + 50), SERVER, Disconnect(reason_code=TIMED_OUT))
        gone.close(time, SERVER)


def shipped() -> bytes:
    """Return the capture that ships for the guide, not compressed."""
    return Afternoon(20260528, devices=4, hours=1).capture()


if __name__ == "__main__":
    AFTERNOON.write_bytes(zipped(shipped()))
