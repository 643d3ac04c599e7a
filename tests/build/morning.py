"""The capture that ships for the worked questions: one morning of a small fleet, as its broker saw it.

    python -m tests.build.morning

writes morning.pcap.gz anew. Everything follows from a seed: devices with good and with bad links, of three
versions; acks that come late or never; topics that are said again and again; statements that are broken.
"""

from random import Random
from typing import NamedTuple

from mqttpub.common.times import SECOND_NS
from mqttpub.spec.versions import Version
from tests.build import story
from tests.build.containers import zipped
from tests.build.frames import Wire
from tests.build.story import CLIENT, Talk, Value
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
BROKER = bytes((10, 20, 0, 1))
WEEK_S = 7 * 24 * 3600
ACKS = ((), ("< puback i=$i",), ("< pubrec i=$i", "> pubrel i=$i", "< pubcomp i=$i"))
"""What follows a message of each QoS."""


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


class Life:
    """What one device does all morning."""

    def __init__(self, number: int, device: Device) -> None:
        self.device = device
        self.random = Random(SEED + number)
        self.talks: list[Talk] = []
        self.id = 1
        self.count = 0
        self.value = ""
        self._number = number

    def lived(self) -> list[Talk]:
        """Return its connections, with all that it sent and got."""
        time = self._connect(START + self.random.randrange(60) * SECOND_NS, again=False)
        while time < END - 300 * SECOND_NS:
            time = self._message(time) + self.device.every * SECOND_NS + self.random.randrange(3000) * MILLISECOND
            self.count += 1
        getattr(self, f"_end_with_{self.device.ends or 'nothing'}")(time)
        return self.talks

    def _say(self, time: int, line: str, **values: Value) -> int:
        """Send a packet, in which `$i` is the Packet Identifier, and return its time."""
        return self.talks[-1].say(time, line, i=self.id, value=self.value, **values)

    def _later(self, time: int) -> int:
        """Return when an answer comes."""
        hour = min((time - START) // HOUR, len(BUSY) - 1)
        return time + int(self.device.delay * BUSY[hour] * self.random.uniform(0.7, 1.9) * 1000) * 1000

    def _dial(self, time: int) -> int:
        """Open a connection and return when it is there."""
        port = 40_001 + 1000 * self._number + len(self.talks)
        wire = Wire(isn=(999, 999), port=port, ends=(bytes((10, 30, 0, self._number + 1)), BROKER))
        self.talks.append(Talk(wire, self.device.version))
        self.talks[-1].dial(time, MILLISECOND)
        return time + 3 * MILLISECOND

    def _connect(self, time: int, *, again: bool) -> int:
        time = self._dial(time)
        self._say(time, f"> connect id={self.device.name} ka=600 clean=0 session_expiry_interval={WEEK_S}")
        time = self._say(self._later(time), f"< connack sp={again:d}")
        return time if again else self._subscribe(time, answered=True)

    def _subscribe(self, time: int, *, answered: bool) -> int:
        self._next()
        self._say(time + MILLISECOND, f"> subscribe i=$i f=command/{self.device.name}/#:q1")
        return self._say(self._later(time), "< suback i=$i c=01") if answered else time

    def _next(self) -> None:
        self.id = self.id % 65535 + 1

    def _publish(self, time: int, words: str = "", topic: str = "") -> int:
        """Send the message, with words that differ from the usual."""
        identified = "i=$i " if self.device.qos else ""
        return self._say(
            time, f"> publish q{self.device.qos} {identified}{words} t={topic or self.device.topic} p=${{value}}"
        )

    def _message(self, time: int) -> int:
        device = self.device
        self.value = f'{{"value": {self.random.randrange(10, 90)}.{self.random.randrange(10)}}}'
        if device.qos:
            self._next()
        if device.habit and self.count % 20 == 10:
            return int(getattr(self, f"_wrong_{device.habit}")(time))
        if self.random.random() < device.lost:
            return self._lose(time)
        return self._settled(self._publish(time))

    def _settled(self, time: int) -> int:
        """Acknowledge a message and return when that is done."""
        for line in ACKS[self.device.qos]:
            time = self._say(self._later(time), line)
        return time

    def _lose(self, time: int) -> int:
        """Break the connection off instead of an ack, come back, and send the message again."""
        self._publish(time)
        self.talks[-1].close(time + PATIENCE, CLIENT, how="RST")
        time = self._connect(time + PATIENCE + 2 * SECOND_NS, again=True)
        return self._settled(self._publish(time + MILLISECOND, "d1"))

    # what is wrong

    def _wrong_dup(self, time: int) -> int:
        """Say that a message with QoS 0 is a re-delivery."""
        return self._publish(time, "d1")

    def _wrong_wildcard(self, time: int) -> int:
        """Publish to a wildcard, which this broker lets pass."""
        return self._settled(self._publish(time, topic="plant/utrecht/gate/+/position"))

    def _wrong_alias(self, time: int) -> int:
        """Get a message from the broker with a Topic Alias, which was not allowed."""
        time = self._settled(self._publish(time))
        return self._say(time, f"< publish t=command/{self.device.name}/text topic_alias=1 p=welcome")

    def _wrong_reuse(self, time: int) -> int:
        """Use a Packet Identifier for another message while it is still in use."""
        self._publish(time)
        self.value = '{"value": 0.0}'
        return self._settled(self._publish(time + 40 * MILLISECOND))

    # the end of the morning

    def _end_with_nothing(self, time: int) -> None:
        """Be quiet until the capture ends."""

    def _end_with_publish(self, time: int) -> None:
        """Publish three messages that nobody acknowledges."""
        self.value = '{"value": 1.0}'
        for number in range(3):
            self._next()
            self._publish(time + number * SECOND_NS)

    def _end_with_release(self, time: int) -> None:
        """Leave a message of QoS 2 after its PUBREC."""
        self.value = '{"value": 1.0}'
        self._next()
        self._say(self._later(self._publish(time)), ACKS[2][0])

    def _end_with_subscribe(self, time: int) -> None:
        """Subscribe, get no answer, and go."""
        self.talks[-1].close(self._subscribe(time, answered=False) + 60 * SECOND_NS, CLIENT)


def capture() -> bytes:
    """Return the capture, not compressed."""
    return story.capture(talk for number, device in enumerate(FLEET) for talk in Life(number, device).lived())


if __name__ == "__main__":
    MORNING.write_bytes(zipped(capture()))
