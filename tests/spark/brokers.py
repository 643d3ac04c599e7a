"""A mosquitto as the tests of the data sources need it: queues without end, a log, users and rights; its clients."""

import os
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from mqttpub.codec.publish_writer import PublishWriter
from mqttpub.live.net.target import Target
from mqttpub.live.publish.flows import Message
from mqttpub.live.publish.publisher import publish_all
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from tests.conftest import free_port, mosquitto_program, wait_for_port
from tests.live.certificates import Authority

WITHIN = 30.0
"""Seconds that a message may take on a busy machine."""
CONFIG = """\
per_listener_settings false
allow_anonymous true
max_queued_messages 0
max_inflight_messages 0
acl_file {folder}/acl
listener {port} 127.0.0.1
listener {tls} 127.0.0.1
cafile {authority}
certfile {certificate}
keyfile {key}
log_dest file {folder}/log
log_type all
"""
RIGHTS = """\
topic readwrite #
topic deny forbidden/#
"""


class Broker(NamedTuple):
    """Where it listens, and whom to trust."""

    port: int
    tls: int
    authority: Path
    log: Path


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """Run a mosquitto on which nobody may use what is below forbidden/."""
    authority = Authority(folder / "ca")
    pair = authority.signed("server")
    made = Broker(free_port(), free_port(), authority.cert, folder / "log")
    (folder / "acl").write_text(RIGHTS)
    config = folder / "mosquitto.conf"
    settings = CONFIG.format(
        folder=folder, port=made.port, tls=made.tls, authority=made.authority, certificate=pair.cert, key=pair.key
    )
    config.write_text(settings + "user root\n" * (os.getuid() == 0))
    process = subprocess.Popen([mosquitto_program(), "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        wait_for_port(made.port)
        wait_for_port(made.tls)
        yield made
    finally:
        process.terminate()
        process.wait(10)


class Heard:
    """Messages that a subscriber got."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.subscribed = threading.Event()

    def wait_for(self, count: int) -> list[Any]:
        until = time.monotonic() + WITHIN
        while len(self.messages) < count:
            assert time.monotonic() < until, len(self.messages)
            time.sleep(0.05)
        time.sleep(0.2)
        assert len(self.messages) == count
        return self.messages


@contextmanager
def listening(port: int, topic: str) -> Iterator[Heard]:
    heard = Heard()
    client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    client.on_message = lambda client, data, message: heard.messages.append(message)
    client.on_subscribe = lambda *_: heard.subscribed.set()
    client.connect("127.0.0.1", port)
    client.loop_start()
    until = time.monotonic() + WITHIN
    while not client.is_connected():
        assert time.monotonic() < until
        time.sleep(0.02)
    client.subscribe(topic, 2)
    assert heard.subscribed.wait(WITHIN)
    try:
        yield heard
    finally:
        client.disconnect()
        client.loop_stop()


def messages(topic: str, payloads: Iterable[bytes], qos: int, *properties: Property) -> list[Message]:
    writer = PublishWriter(Publish(topic=topic, qos=qos, properties=properties), Version.V5)
    return [Message(writer, payload) for payload in payloads]


def publish(port: int, topic: str, payloads: Iterable[bytes], qos: int, *properties: Property) -> None:
    publish_all(Target("127.0.0.1", port), messages(topic, payloads, qos, *properties))
