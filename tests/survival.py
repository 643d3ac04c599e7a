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

from tests.conftest import free_port, mosquitto_program, wait_for_port

CONFIG = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location {folder}/
autosave_interval 1
autosave_on_changes true
max_inflight_messages 0
max_queued_messages 0
log_dest none
user root
"""


class Broker:
    """A mosquitto that keeps its sessions on disk."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        config = folder / "survival.conf"
        config.write_text(CONFIG.format(port=self.port, folder=folder))
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

    def __init__(self, port: int, topic: str, qos: int) -> None:
        self.seen: Counter[bytes] = Counter()
        self.again = 0
        """Messages that the broker brought again under the same Packet Identifier, with DUP, after their PUBREL.

        mosquitto does so after a restart; it is its own leg, and says nothing about the publisher's."""
        self._ids: dict[bytes, int] = {}
        self._subscribed = threading.Event()
        self.client = Client(
            CallbackAPIVersion.VERSION2, client_id=f"listener-{qos}", protocol=MQTTProtocolVersion.MQTTv5
        )
        self.client.reconnect_delay_set(1, 1)
        self.client.on_message = self._message
        self.client.on_subscribe = lambda *_: self._subscribed.set()
        properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = 3600
        properties.ReceiveMaximum = 65535
        self.client.connect("127.0.0.1", port, clean_start=False, properties=properties)
        self.client.loop_start()
        until = time.monotonic() + 10
        while not self.client.is_connected() and time.monotonic() < until:
            time.sleep(0.02)
        self.client.subscribe(topic, qos)
        assert self._subscribed.wait(10)

    def _message(self, client: Client, data: object, message: Any) -> None:
        if message.dup and self._ids.get(message.payload) == message.mid:
            self.again += 1
            return
        self._ids[message.payload] = message.mid
        self.seen[message.payload] += 1

    def wait_for(self, count: int, seconds: float) -> None:
        """Return when so many different messages came, or the time is over."""
        until = time.monotonic() + seconds
        while len(self.seen) < count and time.monotonic() < until:
            time.sleep(0.05)

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
    folder: Path, *, qos: int, lines: int, kills: int, broker_share: float, seed: int, broker_signal: signal.Signals
) -> Outcome:
    """Publish lines of a file through kills and return what arrived."""
    chance = random.Random(seed)
    source = folder / "lines"
    expected = [f"line {number}".encode() for number in range(lines)]
    source.write_bytes(b"\n".join(expected) + b"\n")
    broker = Broker(folder)
    listener = Listener(broker.port, "survive", qos)
    count = {"publisher": 0, "broker": 0}
    try:
        process = publish(folder, broker.port, qos)
        while (status := _wait(process, chance.uniform(0.1, 0.6))) is None or status < 0:
            if status is None and sum(count.values()) < kills and chance.random() < broker_share:
                broker.kill(broker_signal)
                count["broker"] += 1
            elif sum(count.values()) < kills:
                process.kill()
                process.wait()
                count["publisher"] += 1
                process = publish(folder, broker.port, qos)
        assert status == 0, process.stderr.read().decode() if process.stderr else ""
        listener.wait_for(lines, 20)
    finally:
        listener.stop()
        process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()
        broker.stop()
    lost = [line for line in expected if line not in listener.seen]
    doubled = [line for line, times in listener.seen.items() if times > 1]
    return Outcome(lost, doubled, listener.again, count["publisher"], count["broker"])


def publish(folder: Path, port: int, qos: int) -> subprocess.Popen[bytes]:
    """Start the program on the file, with the outbox that it has there."""
    with open(folder / "lines", "rb") as lines:
        return subprocess.Popen(
            [sys.executable, "-m", "mqttpub", "pub", "-h", "127.0.0.1", "-p", str(port), "-t", "survive",
             "-q", str(qos), "-l", "--outbox", str(folder / "outbox"), "--reconnect", "--timeout", "20",
             "--rate", "2000"],
            stdin=lines, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
