"""Publisher and broker killed at random events: what arrives all the same."""

import random
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.build.brokers import free_port, mosquitto_program, wait_for_port
from tests.build.kills import LONGEST_S, Compared, KilledProgram, compared
from tests.program import PROGRAM

SESSION_EXPIRY = 0x11
MARK = b"that was all"
RECORD_BYTES = 200
CONFIG = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location {folder}/
autosave_interval 1
autosave_on_changes true
max_inflight_messages 0
max_queued_messages 0
log_dest {log}
log_type error
log_type warning
log_type notice
log_type debug
log_type subscribe
user root
"""


class Broker(KilledProgram):
    """A mosquitto that writes its sessions to disk at every change, though only after it has acknowledged."""

    def __init__(self, folder: Path, *, log: Path | None = None) -> None:
        self.port = free_port()
        config = folder / "survival.conf"
        config.write_text(CONFIG.format(port=self.port, folder=folder, log=f"file {log}" if log else "none"))
        super().__init__(folder, [mosquitto_program(), "-c", str(config)], said="broker.said")

    def start(self, *more: str) -> None:
        """Run it and wait until it listens."""
        super().start(*more)
        wait_for_port(self.port)

    def restart(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it and start it again."""
        self.end(how)
        self.start()


class Listener:
    """A subscriber with a session that lives on, which counts what it gets."""

    def __init__(self, broker: Broker, topic: str, qos: int) -> None:
        self.seen: Counter[bytes] = Counter()
        self.again = 0
        """Messages that the broker brought again under the same Packet Identifier, with DUP, after their PUBREL.

        mosquitto does so after a restart; it is its own leg, and says nothing about the publisher's."""
        self._ids: dict[bytes, int] = {}
        self._topic, self._qos = topic, qos
        self._connected, self._subscribed, self._marked = threading.Event(), threading.Event(), threading.Event()
        self.client = Client(
            CallbackAPIVersion.VERSION2, client_id=f"listener-{qos}", protocol=MQTTProtocolVersion.MQTTv5
        )
        self.client.reconnect_delay_set(1, 1)
        self.client.on_message = self._message
        self.client.on_connect = lambda *_: self._connected.set()
        self.client.on_subscribe = lambda *_: self._subscribed.set()
        properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = 3600
        properties.ReceiveMaximum = 65535
        self.client.connect("127.0.0.1", broker.port, clean_start=False, properties=properties)
        self.client.loop_start()
        assert self._connected.wait(LONGEST_S)
        self.client.subscribe(topic, qos)
        assert self._subscribed.wait(LONGEST_S)

    def _message(self, client: Client, data: object, message: Any) -> None:
        if message.payload == MARK:
            self._marked.set()
            return
        if message.dup and self._ids.get(message.payload) == message.mid:
            self.again += 1
            return
        self._ids[message.payload] = message.mid
        self.seen[message.payload] += 1

    def drain(self, topic: str = "") -> None:
        """Return when all that the broker had for it came: a message that it sends itself comes after them."""
        self.client.publish(topic or self._topic, MARK, self._qos)
        assert self._marked.wait(LONGEST_S)

    def stop(self) -> None:
        """End it."""
        self.client.disconnect()
        self.client.loop_stop()


class Outcome(NamedTuple):
    """What came of a run."""

    arrived: Compared[bytes]
    brought_again: int
    """Messages that the broker brought to the listener a second time by itself."""
    publisher_kills: int
    broker_kills: int


def survive(
    folder: Path, *, qos: int, lines: int, kills: int, broker_share: float, seed: int, broker_signal: signal.Signals,
    late: bool = False, rate: int = 2000,
) -> Outcome:  # fmt: skip
    """Publish lines of a file with an outbox through kills and return what arrived.

    `late` takes the subscriber off while messages go, so that the broker keeps them all; it
    fetches them at the end. Otherwise the broker's own leg to it is under test as well.
    """
    expected = [f"line {number}".encode() for number in range(lines)]
    source = folder / "lines"
    source.write_bytes(b"\n".join(expected) + b"\n")
    with Broker(folder) as broker:
        listener = Listener(broker, "survive", qos)
        if late:
            listener.stop()
        words = [
            *PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(broker.port), "-t", "survive", "-q", str(qos), "-l", "--json",
            "--outbox", str(folder / "outbox"), "--reconnect", "--timeout", "20", "--rate", str(rate),
        ]  # fmt: skip
        chance, killed = random.Random(seed), Counter[bool]()
        with KilledProgram(folder, words, stdin=source) as publisher:

            def printed() -> int:
                """Return how many bytes of records of messages it has printed."""
                return publisher.output.stat().st_size

            most = lines // (kills + 1) * RECORD_BYTES
            while killed.total() < kills and publisher.reach(printed, chance.randrange(most)):
                of_broker = chance.random() < broker_share
                if of_broker:
                    broker.restart(broker_signal)
                else:
                    publisher.kill()
                    publisher.start()
                killed[of_broker] += 1
            assert publisher.end() == 0, publisher.said()
        if late:
            listener = Listener(broker, "survive", qos)
        listener.drain()
        listener.stop()
    return Outcome(compared(expected, listener.seen.elements()), listener.again, killed[False], killed[True])
