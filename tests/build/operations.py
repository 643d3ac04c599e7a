"""Captures of an afternoon of clients, and all that was said in it: what operators ask can be counted from that.

Some clients connect again and again, are taken over, or are silent for too long; messages are delivered to subscribers
at once, late, or never; and some clients suddenly behave otherwise than before. Everything follows from a seed.

    python -m tests.build.operations

writes afternoon.pcap.gz anew, on which the guide asks its questions.
"""

from random import Random

from mqttpub.common.times import SECOND_NS
from mqttpub.spec.versions import Version
from tests.build import story
from tests.build.containers import zipped
from tests.build.frames import Wire
from tests.build.story import CLIENT, SERVER, Talk
from tests.paths import AFTERNOON

START_S = 1_780_000_020
"""A time within an hour and within a minute, in seconds since 1970."""
HOURS = 2
MILLISECOND_NS = 1_000_000
TAKEN_OVER, TIMED_OUT, QUOTA = 0x8E, 0x8D, 0x97


class KnownConnection(Talk):
    """A connection with all its packets, and how it ended."""

    def __init__(self, number: int, client_id: str, version: Version) -> None:
        super().__init__(Wire(port=20_000 + number), version)
        self.number, self.client_id = number, client_id


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
        return story.capture(self.connections)

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
        made.dial(time_ns - 3 * MILLISECOND_NS // 10, MILLISECOND_NS // 10)
        made.say(time_ns, f"> connect id={client_id} ka={keep_alive}")
        given = "" if server_keep_alive is None else f" server_keep_alive={server_keep_alive}"
        made.say(time_ns + MILLISECOND_NS, f"< connack c={code:02x}{given}")
        return made

    # messages and deliveries

    def _subscriber(self, number: int) -> KnownConnection:
        made = self.connect(f"sub-{number}", self.at(number), keep_alive=0)
        time = made.say(self.at(number + 0.5), f"> subscribe i1 f={self.site}/#")
        made.say(time + MILLISECOND_NS, "< suback i1 c=00")
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
            words = f"q{qos}{' i=$i' * qos} r{number % 4 == 1:d}"
            time = made.say(self.at(second), f"> publish {words} t={topic} p=${{p}}", i=identifier, p=payload)
            if qos:
                refused = strange and number % 8 == 3
                made.say(time + 2 * MILLISECOND_NS, f"< puback i=$i c={QUOTA * refused:02x}", i=identifier)
            self._deliver(number, time, f"< publish t={topic} p=${{p}}", payload, subscribers)
            if strange and number % 8 == 2:
                second += random.uniform(1, 2)
            else:
                second += 30 + random.uniform(-3, 3)

    def _deliver(
        self, number: int, time: int, line: str, payload: bytes, subscribers: list[KnownConnection]
    ) -> None:  # fmt: skip
        """Deliver a message of an even device to none or some, of another to all; one in twenty far too late."""
        random = self.random
        for each in subscribers if number % 2 else subscribers[: random.randint(0, 3)]:
            wait_us = random.randint(11_000_000, 14_000_000) if random.random() < 0.05 else random.randint(900, 40_000)
            each.say(time + wait_us * 1000, line, p=payload)

    def _beacon(self, subscriber: KnownConnection) -> None:
        """Publish the same message every 4 seconds, once again with DUP; one was got from the store before."""
        made = self.connect("beacon", self.at(1000))
        subscriber.say(self.at(999), "< publish r1 t=beacon p=here")
        for turn in range(5):
            time = made.say(self.at(1000.5 + 4 * turn), "> publish q1 r1 i=$i t=beacon p=here", i=turn + 1)
            subscriber.say(time + MILLISECOND_NS, "< publish t=beacon p=here")
            if turn == 2:
                made.say(time + 2 * MILLISECOND_NS, "> publish q1 r1 d1 i=$i t=beacon p=here", i=turn + 1)
            made.say(time + 3 * MILLISECOND_NS, "< puback i=$i", i=turn + 1)
        made.close(made.say(self.at(1020), "> disconnect") + MILLISECOND_NS, CLIENT, SERVER)

    # connections

    def _churn(self) -> None:
        """Connect again and again, with all the ways in which a connection ends."""
        second = 100.0
        for turn in range(24):
            made = self.connect("flapper", self.at(second))
            end = made.say(self.at(second + 30 + 10 * (turn % 6)), "> pingreq")
            made.say(end + MILLISECOND_NS, "< pingresp")
            (self._said, self._notified, self._fin, self._rst, self._taken, self._left)[turn % 6](made, end + SECOND_NS)
            second = (end - self.at(0)) / SECOND_NS + 20
        for turn in range(3):
            refused = self.connect("intruder", self.at(200 + 2000 * turn), code=0x87)
            refused.close(refused.said[-1].time_ns + MILLISECOND_NS, SERVER, CLIENT)
        for turn in range(4):
            made = self.connect("walker", self.at(300 + 500 * turn), version=Version.V311)
            made.close(made.say(self.at(300 + 500 * turn + 45), "> pingreq") + SECOND_NS, CLIENT, SERVER)

    def _said(self, made: KnownConnection, time: int) -> None:
        """End by DISCONNECT of the client."""
        made.close(made.say(time, "> disconnect") + MILLISECOND_NS, CLIENT, SERVER)

    def _notified(self, made: KnownConnection, time: int) -> None:
        """Be taken over, with a DISCONNECT that says so: the next connection begins 19 s later."""
        late = time + 25 * SECOND_NS
        made.close(made.say(late, f"< disconnect c={TAKEN_OVER:02x}") + MILLISECOND_NS, SERVER, CLIENT)

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
                made.say(self.at(second), "> pingreq")
                made.say(self.at(second) + MILLISECOND_NS, "< pingresp")
            made.close(made.say(self.at(second + 5), "> disconnect") + MILLISECOND_NS, CLIENT, SERVER)
        gone = self.connect("gone", self.at(900), keep_alive=30)
        time = gone.say(self.at(900 + 50), f"< disconnect c={TIMED_OUT:02x}")
        gone.close(time, SERVER)


def shipped() -> bytes:
    """Return the capture that ships for the guide, not compressed."""
    return Afternoon(20260528, devices=4, hours=1).capture()


if __name__ == "__main__":
    AFTERNOON.write_bytes(zipped(shipped()))
