"""What the tests of the data sources send to a broker, and what they get from it."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from mqttpub.codec.publish_writer import PublishWriter
from mqttpub.live.net.target import Target
from mqttpub.live.publish.publisher import publish_all
from mqttpub.live.publish.sender import Publication
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version

WITHIN = 30.0
"""Seconds that a message may take on a busy machine."""


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


def messages(topic: str, payloads: Iterable[bytes], qos: int, *properties: Property) -> list[Publication]:
    writer = PublishWriter(Publish(topic=topic, qos=qos, properties=properties), Version.V5)
    return [Publication(writer, payload) for payload in payloads]


def publish(port: int, topic: str, payloads: Iterable[bytes], qos: int, *properties: Property) -> None:
    publish_all(Target("127.0.0.1", port), messages(topic, payloads, qos, *properties))
