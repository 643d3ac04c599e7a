"""Publisher and broker killed at random moments: what arrives all the same."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from mqttpub.live.net.target import Target
from mqttpub.live.publish.sender import PUBCOMP, Publication, Sender
from mqttpub.live.session import Session
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connect, Publish
from tests.build.brokers import free_port, mosquitto_program, wait_for_port

SESSION_EXPIRY = 0x11
MARK = b"that was all"
MOST = 300
"""Seconds after which something that must come is given up, however busy the machine is."""
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


AEDES = """\
import {{ createServer }} from 'node:net'
import {{ Aedes }} from 'aedes'
import persistence from 'aedes-persistence-level'
import {{ Level }} from 'level'
const kept = persistence(new Level('{folder}/sessions'))
const broker = await Aedes.createBroker({{ persistence: kept, queueLimit: 1000000 }})
createServer(broker.handle).listen({port}, '127.0.0.1')
"""


class Broker:
    """A broker that keeps its sessions on disk: mosquitto, or Aedes where the folder of its packages is given.

    mosquitto acknowledges before it has written, Aedes has written before it acknowledges.
    """

    def __init__(self, folder: Path, packages: Path | None = None, *, log: Path | None = None) -> None:
        self.port = free_port()
        self.version = MQTTProtocolVersion.MQTTv311 if packages else MQTTProtocolVersion.MQTTv5
        if packages:
            script = folder / "broker.mjs"
            script.write_text(AEDES.format(port=self.port, folder=folder))
            (folder / "node_modules").symlink_to(packages / "node_modules")
            self.command = ["node", str(script)]
        else:
            config = folder / "survival.conf"
            config.write_text(CONFIG.format(port=self.port, folder=folder, log=f"file {log}" if log else "none"))
            self.command = [mosquitto_program(), "-c", str(config)]
        self.start()

    def start(self) -> None:
        """Run it and wait until it listens."""
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)
        wait_for_port(self.port)

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it and start it again."""
        self.stop(how)
        self.start()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it."""
        self.process.send_signal(how)
        self.process.wait(20)


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
        old = broker.version != MQTTProtocolVersion.MQTTv5
        self.client = Client(
            CallbackAPIVersion.VERSION2, client_id=f"listener-{qos}", protocol=broker.version,
            clean_session=False if old else None,
        )  # fmt: skip
        self.client.reconnect_delay_set(1, 1)
        self.client.on_message = self._message
        self.client.on_connect = lambda *_: self._connected.set()
        self.client.on_subscribe = lambda *_: self._subscribed.set()
        if old:
            self.client.connect("127.0.0.1", broker.port)
        else:
            properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = 3600
            properties.ReceiveMaximum = 65535
            self.client.connect("127.0.0.1", broker.port, clean_start=False, properties=properties)
        self.client.loop_start()
        assert self._connected.wait(MOST)
        self.client.subscribe(topic, qos)
        assert self._subscribed.wait(MOST)

    def _message(self, client: Client, data: object, message: Any) -> None:
        if message.payload == MARK:
            self._marked.set()
            return
        if message.dup and self._ids.get(message.payload) == message.mid:
            self.again += 1
            return
        self._ids[message.payload] = message.mid
        self.seen[message.payload] += 1

    def drain(self) -> None:
        """Return when all that the broker had for it came: a message that it sends itself comes after them."""
        self.client.publish(self._topic, MARK, self._qos)
        assert self._marked.wait(MOST)

    def stop(self) -> None:
        """End it."""
        self.client.disconnect()
        self.client.loop_stop()


class Outcome(NamedTuple):
    """What came of a run."""

    lost: list[bytes]
    doubled: list[bytes]
    brought_again: int
    """Messages that the broker brought to the listener a second time by itself."""
    publisher_kills: int
    broker_kills: int


def survive(
    folder: Path, *, qos: int, lines: int, kills: int, broker_share: float, seed: int, broker_signal: signal.Signals,
    late: bool = False, packages: Path | None = None, rate: int = 2000,
) -> Outcome:  # fmt: skip
    """Publish lines of a file through kills and return what arrived.

    `late` takes the subscriber off while messages go, so that the broker keeps them all; it
    fetches them at the end. Otherwise the broker's own leg to it is under test as well.
    """
    expected = [f"line {number}".encode() for number in range(lines)]
    (folder / "lines").write_bytes(b"\n".join(expected) + b"\n")
    broker = Broker(folder, packages)
    listener = Listener(broker, "survive", qos)
    if late:
        listener.stop()
    kill = Kills(folder, broker, qos, rate)
    try:
        kill.run(random.Random(seed), kills, broker_share, broker_signal)
        if late:
            listener = Listener(broker, "survive", qos)
        listener.drain()
    finally:
        listener.stop()
        kill.end()
        broker.stop()
    lost = [line for line in expected if line not in listener.seen]
    doubled = [line for line, times in listener.seen.items() if times > 1]
    return Outcome(lost, doubled, listener.again, kill.of_publisher, kill.of_broker)


class Kills:
    """The program on the file, with its outbox, killed and started again until it has ended well."""

    def __init__(self, folder: Path, broker: Broker, qos: int, rate: int) -> None:
        self.folder = folder
        self.broker = broker
        self.of_publisher = self.of_broker = 0
        version = "5" if broker.version == MQTTProtocolVersion.MQTTv5 else "3.1.1"
        self.command = [
            sys.executable, "-m", "mqttpub", "pub", "-h", "127.0.0.1", "-p", str(broker.port), "-t", "survive",
            "-q", str(qos), "-V", version, "-l", "--outbox", str(folder / "outbox"), "--reconnect",
            "--timeout", "20", "--rate", str(rate),
        ]  # fmt: skip
        self.process = self._start()

    def run(self, chance: random.Random, kills: int, broker_share: float, broker_signal: signal.Signals) -> None:
        """Kill the one or the other at random moments; afterwards, let the program end."""
        while (status := _wait(self.process, chance.uniform(0.1, 0.6))) is None or status < 0:
            if self.of_publisher + self.of_broker >= kills:
                continue
            if status is None and chance.random() < broker_share:
                self.broker.kill(broker_signal)
                self.of_broker += 1
            elif self._kill() != 0:
                self.of_publisher += 1
                self.process = self._start()
        assert status == 0, (self.folder / "remarks").read_text()

    def end(self) -> None:
        """Leave nothing behind."""
        self._kill()

    def _kill(self) -> int:
        self.process.kill()
        return self.process.wait()

    def _start(self) -> "subprocess.Popen[bytes]":
        with open(self.folder / "lines", "rb") as lines, open(self.folder / "remarks", "wb") as remarks:
            return subprocess.Popen(self.command, stdin=lines, stderr=remarks)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


class Withholding(Sender):
    """A sender that can keep its PUBREL back."""

    withholds = False

    def take_output(self) -> bytes:
        """Return nothing while packets are kept back."""
        return b"" if self.withholds else super().take_output()


def forgotten_behind_pubrec(folder: Path, seconds: float) -> bool:
    """Whether a mosquitto killed so long after its PUBREC loses the message, though it answers our PUBREL.

    Then no sender that keeps to the protocol can bring the message at QoS 2.
    """
    broker = Broker(folder)
    Listener(broker, "survive", 2).stop()
    target = Target("127.0.0.1", broker.port, connect=Connect(
        client_id="sender", clean_start=False, properties=(Property(SESSION_EXPIRY, 3600),)
    ))  # fmt: skip
    sender = Withholding(target.version)
    sender.publish(Publication.of(Publish(topic="survive", qos=2, payload=b"x"), target.version))
    for awaited in ("PUBREC", "PUBCOMP"):
        with Session(target, sender) as session:
            session.open()
            session.send_output()
            sender.withholds = awaited == "PUBREC"
            while not (sender.open[1].awaits == PUBCOMP if awaited == "PUBREC" else sender.ended):
                session.step(awaited)
        time.sleep(seconds)
        sender.output.clear()
        sender.withholds = False
        if awaited == "PUBREC":
            broker.kill()
            sender.resume(True)
    listener = Listener(broker, "survive", 2)
    listener.drain()
    listener.stop()
    broker.stop()
    return not listener.seen
