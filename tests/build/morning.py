"""The capture that ships for the worked questions: one morning of a small fleet, as its broker saw it.

    python -m tests.build.morning

writes morning.pcap.gz anew. Everything follows from a seed: devices with good and with bad links, of three
versions; acks that come late or never; topics that are said again and again; statements that are broken.
"""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from mqttpub.capture.types import CaptureRecord
from mqttpub.codec.encode import encode
from mqttpub.common.times import SECOND_NS
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from mqttpub.spec.properties import SESSION_EXPIRY_INTERVAL, TOPIC_ALIAS
from mqttpub.spec.versions import Version
from tests.build.containers import zipped
from tests.build.frames import ACK, FIN, LINKS, PUSH, RST, SYN, ipv4, pcap, tcp
from tests.paths import MORNING

SEED = 20260203
MILLISECOND = 1_000_000
HOUR = 3600 * SECOND_NS
START = 1_770_098_400 * SECOND_NS
"""6 o'clock on 3 February 2026, in UTC."""
END = START + 4 * HOUR
BUSY = (1.0, 1.3, 4.0, 1.6)
"""How much longer everything takes in each hour."""
PATIENCE = 20 * SECOND_NS
"""After so long without an ack a device gives up its connection."""
BROKER = (bytes((10, 20, 0, 1)), 1883)
CLIENT, SERVER = 0, 1
WEEK = Property(SESSION_EXPIRY_INTERVAL.id, 7 * 24 * 3600)


class Device(NamedTuple):
    """A client and its link."""

    name: str
    topic: str
    every: int
    """Seconds between two messages."""
    delay: int
    """Milliseconds that an answer takes on a quiet link."""
    lost: float = 0.0
    """Of all messages, the share with which the connection breaks."""
    qos: int = 1
    version: Version = Version.V5
    habit: str = ""
    """What it, or the broker towards it, does wrong."""
    ends: str = ""
    """What it begins last, so that the capture ends before it."""


FLEET = (
    Device("boiler-1", "plant/utrecht/hall-1/boiler/1/temperature/celsius", 60, 4),
    Device("boiler-2", "plant/utrecht/hall-1/boiler/2/temperature/celsius", 60, 4),
    Device("gate-3", "plant/utrecht/gate/3/position", 120, 6, habit="wildcard", ends="publish"),
    Device("kiosk-5", "plant/utrecht/lobby/kiosk/5/visitors", 150, 9, habit="alias"),
    Device("legacy-4", "plant/utrecht/hall-2/press/4/strokes", 100, 12, qos=0, version=Version.V311, habit="dup"),
    Device("meter-2", "plant/utrecht/energy/meter/2/watt", 90, 5, qos=2, ends="release"),
    Device("plc-8", "plant/utrecht/hall-2/line/8/state", 80, 3, version=Version.V31),
    Device("truck-7", "fleet/north/truck/7/telemetry/position", 75, 180, lost=0.12, habit="reuse"),
    Device("truck-9", "fleet/north/truck/9/telemetry/position", 75, 140, lost=0.05, version=Version.V311),
    Device("valve-1", "plant/utrecht/hall-1/valve/1/opening", 200, 5, version=Version.V311, ends="subscribe"),
)


class Sent(NamedTuple):
    """A segment that the capture holds."""

    time: int
    order: int
    frame: bytes


class Line:
    """One TCP connection after the other of one device, as frames."""

    def __init__(self, number: int, version: Version) -> None:
        self.version = version
        self.sent: list[Sent] = []
        self._number = number
        self._ports = 40_000 + 1000 * number

    def dial(self, time: int) -> int:
        """Open a connection and return when it is there."""
        self._ports += 1
        self._places = [0, 0]
        self._segment(time, CLIENT, SYN, back=1)
        self._segment(time + MILLISECOND, SERVER, SYN | ACK, back=1)
        self._segment(time + 2 * MILLISECOND, CLIENT, ACK)
        return time + 3 * MILLISECOND

    def say(self, time: int, side: int, packet: Packet) -> int:
        """Send a packet and return its time."""
        data = encode(packet, self.version)
        self._segment(time, side, ACK | PUSH, data)
        self._places[side] += len(data)
        return time

    def reset(self, time: int) -> int:
        """Break the connection off and return the time."""
        self._segment(time, CLIENT, RST | ACK)
        return time

    def close(self, time: int) -> None:
        """End the connection."""
        self._segment(time, CLIENT, FIN | ACK)

    def _segment(self, time: int, side: int, flags: int, data: bytes = b"", *, back: int = 0) -> None:
        end = (bytes((10, 30, 0, self._number + 1)), self._ports)
        source, target = (end, BROKER) if side == CLIENT else (BROKER, end)
        seq, ack = 1000 + self._places[side] - back, 1000 + self._places[1 - side] if flags & ACK else 0
        segment = tcp((source[1], target[1]), seq, ack, flags, data)
        frame = LINKS["Ethernet"].frame(ipv4((source[0], target[0]), segment))
        self.sent.append(Sent(time, self._number << 32 | len(self.sent), frame))


class Life:
    """What one device does all morning."""

    def __init__(self, number: int, device: Device) -> None:
        self.device = device
        self.random = Random(SEED + number)
        self.line = Line(number, device.version)
        self.id = 1
        self.count = 0

    def lived(self) -> list[Sent]:
        """Return all that it sent and got."""
        time = self._connect(START + self.random.randrange(60) * SECOND_NS, again=False)
        while time < END - 300 * SECOND_NS:
            time = self._message(time) + self.device.every * SECOND_NS + self.random.randrange(3000) * MILLISECOND
            self.count += 1
        getattr(self, f"_end_with_{self.device.ends or 'nothing'}")(time)
        return self.line.sent

    def _later(self, time: int) -> int:
        """Return when an answer comes."""
        hour = min((time - START) // HOUR, len(BUSY) - 1)
        return time + int(self.device.delay * BUSY[hour] * self.random.uniform(0.7, 1.9) * 1000) * 1000

    def _connect(self, time: int, *, again: bool) -> int:
        device, five = self.device, self.device.version == Version.V5
        time = self.line.dial(time)
        # Before 3.1.1 CONNACK does not say whether the session was there.
        kept = again and device.version >= Version.V311
        self.line.say(time, CLIENT, Connect(
            client_id=device.name, keep_alive=600, clean_start=False, properties=(WEEK,) if five else (),
        ))  # fmt: skip
        time = self.line.say(self._later(time), SERVER, Connack(session_present=kept))
        return time if again else self._subscribe(time, answered=True)

    def _subscribe(self, time: int, *, answered: bool) -> int:
        number = self._next()
        subscription = Subscription(filter=f"command/{self.device.name}/#", qos=1)
        self.line.say(time + MILLISECOND, CLIENT, Subscribe(packet_id=number, subscriptions=(subscription,)))
        if answered:
            time = self.line.say(self._later(time), SERVER, Suback(packet_id=number, reason_codes=(1,)))
        return time

    def _next(self) -> int:
        self.id = self.id % 65535 + 1
        return self.id

    def _message(self, time: int) -> int:
        device = self.device
        payload = b'{"value": %d.%d}' % (self.random.randrange(10, 90), self.random.randrange(10))
        message = Publish(topic=device.topic, qos=device.qos, payload=payload)
        if device.qos:
            message = message.replace(packet_id=self._next())
        if device.habit and self.count % 20 == 10:
            return self._wrong(time, message)
        if self.random.random() < device.lost:
            return self._lose(time, message)
        return self._settled(self.line.say(time, CLIENT, message), message)

    def _settled(self, time: int, message: Publish) -> int:
        """Acknowledge a message and return when that is done."""
        number = message.packet_id or 0
        answers: dict[int, tuple[tuple[int, Packet], ...]] = {
            0: (),
            1: ((SERVER, Puback(packet_id=number)),),
            2: ((SERVER, Pubrec(packet_id=number)), (CLIENT, Pubrel(packet_id=number)),
                (SERVER, Pubcomp(packet_id=number))),
        }  # fmt: skip
        for side, packet in answers[message.qos]:
            time = self.line.say(self._later(time), side, packet)
        return time

    def _lose(self, time: int, message: Publish) -> int:
        """Break the connection off instead of an ack, come back, and send the message again."""
        self.line.say(time, CLIENT, message)
        time = self.line.reset(time + PATIENCE)
        time = self._connect(time + 2 * SECOND_NS, again=True)
        time = self.line.say(time + MILLISECOND, CLIENT, message.replace(dup=True))
        return self._settled(time, message)

    # what is wrong

    def _wrong(self, time: int, message: Publish) -> int:
        return int(getattr(self, f"_wrong_{self.device.habit}")(time, message))

    def _wrong_dup(self, time: int, message: Publish) -> int:
        """Say that a message with QoS 0 is a re-delivery."""
        return self.line.say(time, CLIENT, message.replace(dup=True))

    def _wrong_wildcard(self, time: int, message: Publish) -> int:
        """Publish to a wildcard, which this broker lets pass."""
        message = message.replace(topic="plant/utrecht/gate/+/position")
        return self._settled(self.line.say(time, CLIENT, message), message)

    def _wrong_alias(self, time: int, message: Publish) -> int:
        """Get a message from the broker with a Topic Alias, which was not allowed."""
        alias = (Property(TOPIC_ALIAS.id, 1),)
        text = Publish(topic=f"command/{self.device.name}/text", payload=b"welcome", properties=alias)
        return self.line.say(self._settled(self.line.say(time, CLIENT, message), message), SERVER, text)

    def _wrong_reuse(self, time: int, message: Publish) -> int:
        """Use a Packet Identifier for another message while it is still in use."""
        self.line.say(time, CLIENT, message)
        other = message.replace(payload=b'{"value": 0.0}')
        return self._settled(self.line.say(time + 40 * MILLISECOND, CLIENT, other), other)

    # the end of the morning

    def _end_with_nothing(self, time: int) -> None:
        """Be quiet until the capture ends."""

    def _end_with_publish(self, time: int) -> None:
        """Publish three messages that nobody acknowledges."""
        for number in range(3):
            message = Publish(topic=self.device.topic, qos=1, packet_id=self._next(), payload=b'{"value": 1.0}')
            self.line.say(time + number * SECOND_NS, CLIENT, message)

    def _end_with_release(self, time: int) -> None:
        """Leave a message of QoS 2 after its PUBREC."""
        message = Publish(topic=self.device.topic, qos=2, packet_id=self._next(), payload=b'{"value": 1.0}')
        time = self.line.say(time, CLIENT, message)
        self.line.say(self._later(time), SERVER, Pubrec(packet_id=message.packet_id or 0))

    def _end_with_subscribe(self, time: int) -> None:
        """Subscribe, get no answer, and go."""
        self.line.close(self._subscribe(time, answered=False) + 60 * SECOND_NS)


def segments() -> Iterator[Sent]:
    """Yield what the capture holds, in the order of time."""
    yield from sorted(sent for number, device in enumerate(FLEET) for sent in Life(number, device).lived())


def capture() -> bytes:
    """Return the capture, not compressed."""
    link = LINKS["Ethernet"].type
    written = (
        CaptureRecord(number, sent.time, link, sent.frame, len(sent.frame)) for number, sent in enumerate(segments(), 1)
    )
    return pcap(written, link)


if __name__ == "__main__":
    MORNING.write_bytes(zipped(capture()))
