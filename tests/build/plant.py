"""The capture that ships for questions about payloads: an hour of a plant, as its broker saw it.

    python -m tests.build.plant

writes plant.pcap.gz anew. A press gets new firmware, an oven loses its sensor at times, and of three edge nodes of
Sparkplug B one has a bad link and one forgets its births.
"""

import math

from mqttpub.common.times import SECOND_NS
from mqttpub.spec.versions import Version
from tests.build import story
from tests.build.containers import zipped
from tests.build.frames import numbered
from tests.build.known_payloads import metric, sparkplug
from tests.build.story import Talk
from tests.paths import PLANT

START = 1_772_438_400
"""2026-03-02T08:00:00Z, in seconds since 1970."""
HOUR = 3600
HISTORIAN = 1
"""The connection of the client that subscribes to all of Sparkplug B."""
DEVICES = ("press-1", "oven-2", "scale-3", "label-4", "meter-5")


class Plant:
    """What was said, on connections that have numbers; times are seconds from the beginning."""

    def __init__(self) -> None:
        self.talks: dict[int, Talk] = {}

    def say(self, time: float, connection: int, line: str, payload: bytes = b"") -> None:
        """Send a packet."""
        talk = self.talks.setdefault(connection, Talk(numbered(connection), Version.V311))
        talk.say(START * SECOND_NS + round(time * 1000) * 1_000_000, line, p=payload)

    def connect(self, time: float, connection: int, name: str, will: str = "", payload: bytes = b"") -> None:
        """Begin a connection, perhaps with a will."""
        words = f" will.topic={will} will.payload=${{p}}" if will else ""
        self.say(time, connection, f"> connect id={name} ka=0{words}", payload)
        self.say(time + 0.004, connection, "< connack")

    def publish(self, time: float, connection: int, topic: str, payload: bytes) -> None:
        """Send a message, and its copy to the historian if it is of Sparkplug B."""
        self.say(time, connection, f"> publish t={topic} p=${{p}}", payload)
        if topic.startswith("spBv1.0/"):
            self.deliver(time + 0.002, topic, payload)

    def deliver(self, time: float, topic: str, payload: bytes) -> None:
        """Send a message to the historian."""
        self.say(time, HISTORIAN, f"< publish t={topic} p=${{p}}", payload)


def devices(plant: Plant) -> None:
    """Let those speak that are not of Sparkplug B."""
    for connection, name in enumerate(DEVICES, 10):
        plant.connect(connection / 10, connection, name)
    for minute in range(1, 60):
        time, wave = minute * 60.0, math.sin(minute / 7)
        newer = f', "rpm": {900 + minute}, "pos": {{"x": {wave:.2f}, "y": 4}}' if minute >= 30 else ""
        press = f'{{"temp": {21 + wave:.1f}, "unit": "C"{newer}}}'
        oven = f'{{"temp": {"null" if minute % 8 == 5 else f"{180 + 9 * wave:.1f}"}, "door": false}}'
        scale = f"{40 + wave:.2f}" if minute != 44 else "OVERLOAD"
        # {"id": minute, "ok": true} in CBOR, and {"kwh": minute} in MessagePack
        label = b"\xa2\x62id\x18" + bytes([24 + minute]) + b"\x62ok\xf5"
        meter = b"\x81\xa3kwh\xcc" + bytes([128 + minute])
        own = (press.encode(), oven.encode(), scale.encode(), label, meter)
        for connection, (name, payload) in enumerate(zip(DEVICES, own, strict=True), 10):
            plant.publish(time + connection / 10, connection, f"hall/{name}", payload)


def host(plant: Plant) -> None:
    """Let the host application speak: its subscription, and its states, of which one is its will."""
    plant.connect(0.1, HISTORIAN, "historian")
    plant.say(0.2, HISTORIAN, "> subscribe i1 f=spBv1.0/#")
    plant.say(0.21, HISTORIAN, "< suback i1 c=00")
    for time, connection in ((0.5, 2), (2400, 3)):
        state = b'{"online": %s, "timestamp": %d}'
        stamp = (START + int(time)) * 1000
        topic = "spBv1.0/STATE/scada"
        plant.connect(time, connection, "scada", topic, state % (b"false", stamp))
        plant.publish(time + 0.1, connection, topic, state % (b"true", stamp))
        if connection == 2:
            plant.deliver(2100, topic, state % (b"false", stamp))


class Line:
    """An edge node with a pump."""

    def __init__(self, plant: Plant, number: int) -> None:
        self.plant = plant
        self.name = f"line-{number}"
        self.connection = 20 + 10 * number
        self.seq = 0
        self.bd_seq = 0

    def topic(self, type: str, device: str = "") -> str:
        """Return the topic of a message."""
        return f"spBv1.0/plant/{type}/{self.name}" + (f"/{device}" if device else "")

    def say(self, time: float, type: str, *metrics: bytes, device: str = "") -> None:
        """Send a message with the next sequence number."""
        payload = sparkplug(self.seq, *metrics, stamp=(START + int(time)) * 1000)
        self.seq = (self.seq + 1) % 256
        self.plant.publish(time, self.connection, self.topic(type, device), payload)

    def death(self) -> bytes:
        """Return the payload of an NDEATH."""
        return sparkplug(None, metric("bdSeq", None, self.bd_seq))

    def connect(self, time: float) -> None:
        """Begin a connection with a will."""
        self.connection += 1
        self.plant.connect(time, self.connection, self.name, self.topic("NDEATH"), self.death())

    def born(self, time: float) -> None:
        """Send the births of the node and its pump."""
        self.seq = 0
        rebirth = metric("Node Control/Rebirth", None, 0)
        self.say(time, "NBIRTH", metric("bdSeq", None, self.bd_seq), rebirth, metric("load", 1, 0.5))
        self.say(time + 0.1, "DBIRTH", metric("rpm", 2, 900), metric("flow", 3, 1.5), device="pump")

    def data(self, begin: float, end: float) -> None:
        """Send data of the pump, every 30 seconds."""
        for time in range(int(begin), int(end), 30):
            self.say(time, "DDATA", metric(None, 2, 900 + time % 50), device="pump")

    def died(self, time: float) -> None:
        """Send the will, as the historian gets it."""
        self.plant.deliver(time, self.topic("NDEATH"), self.death())
        self.bd_seq += 1


def lines(plant: Plant) -> None:
    """Let the three edge nodes speak."""
    good, weak, forgetful = (Line(plant, number) for number in (1, 2, 3))
    for line, begin in ((good, 1), (weak, 3), (forgetful, 5)):
        line.connect(begin)
        line.born(begin + 1)
    good.data(30, HOUR)
    weak.data(30, 900)
    for outage in (900, 1800, 2700):
        weak.seq += 4
        weak.data(outage, outage + 480)
        weak.died(outage + 500)
        weak.connect(outage + 560)
        weak.born(outage + 561)
        weak.data(outage + 570, outage + 900)
    forgetful.data(30, 1200)
    forgetful.died(1210)
    forgetful.connect(1230)
    forgetful.data(1240, 1300)
    forgetful.born(1310)
    forgetful.say(1320, "DDATA", metric(None, 9, 1), device="pump")
    plant.publish(1330, forgetful.connection, forgetful.topic("NDATA"), b"\x08\xff")
    forgetful.data(1350, HOUR)


def capture() -> bytes:
    """Return the capture, not compressed."""
    plant = Plant()
    for speak in (devices, host, lines):
        speak(plant)
    return story.capture(plant.talks.values())


if __name__ == "__main__":
    PLANT.write_bytes(zipped(capture()))
