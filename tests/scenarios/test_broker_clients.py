"""The embedded broker with other people's clients: paho-mqtt and the mosquitto programs."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from mqttpub.lab.broker.server import Broker
from mqttpub.spec.versions import Version
from tests.lab.peer import EACH, V5, V31, V311
from tests.lab.sockets import eventually

pytestmark = pytest.mark.slow

each_version = pytest.mark.parametrize("version", EACH, ids=[version.label for version in EACH])
each_qos = pytest.mark.parametrize("qos", [0, 1, 2])
mosquitto_programs = pytest.mark.broker


class Noted:
    """A broker and what happened in it."""

    def __init__(self, **more: Any) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.broker = Broker(on_event=lambda *event: self.events.append(event), **more)

    def saw(self, kind: str, client_id: str, times: int = 1) -> bool:
        """Wait for something to happen."""
        return eventually(lambda: [event[:2] for event in self.events].count((kind, client_id)) >= times)


@pytest.fixture
def noted() -> Iterator[Noted]:
    """A running broker."""
    made = Noted()
    with made.broker:
        yield made


# paho


class Paho:
    """A client of paho, with what it got."""

    def __init__(self, noted: Noted, client_id: str, version: Version = V5, **connect: Any) -> None:
        self.noted = noted
        old = {} if version == V5 else {"clean_session": connect.pop("clean", True)}
        self.client = Client(
            CallbackAPIVersion.VERSION2, client_id=client_id, protocol=MQTTProtocolVersion(version), **old
        )
        self.got: list[MQTTMessage] = []
        self.connected: list[Any] = []
        self.acked: dict[int | None, Any] = {}
        self.ended: list[Any] = []
        self.client.on_message = lambda client, data, message: self.got.append(message)
        self.client.on_connect = lambda client, data, flags, reason, properties: self.connected.append((flags, reason))
        self.client.on_publish = lambda client, data, mid, reason, properties: self.acked.update({mid: reason})
        self.client.on_subscribe = lambda client, data, mid, reasons, properties: self.acked.update({mid: reasons})
        self.client.on_disconnect = lambda client, data, flags, reason, properties: self.ended.append(reason)
        self.connect = connect

    def __enter__(self) -> "Paho":
        self.client.connect("127.0.0.1", self.noted.broker.port, **self.connect)
        self.client.loop_start()
        assert eventually(lambda: self.connected)
        return self

    def __exit__(self, *error: object) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def publish(self, topic: str, payload: bytes = b"x", **more: Any) -> Any:
        """Publish and return the reason of the acknowledgement."""
        info = self.client.publish(topic, payload, **more)
        assert eventually(lambda: info.mid in self.acked)
        return self.acked[info.mid]

    def subscribe(self, *args: Any, **more: Any) -> Any:
        """Subscribe and return the reasons of the acknowledgement."""
        result, mid = self.client.subscribe(*args, **more)
        assert result == MQTTErrorCode.MQTT_ERR_SUCCESS
        assert eventually(lambda: mid in self.acked)
        return self.acked[mid]

    def payloads(self, count: int) -> list[bytes]:
        """Return the payloads of so many messages."""
        assert eventually(lambda: len(self.got) >= count), self.got
        return [bytes(message.payload) for message in self.got]


def given(kind: int, **values: Any) -> Properties:
    """Return properties as paho wants them."""
    made = Properties(kind)  # type: ignore[no-untyped-call]
    for key, value in values.items():
        setattr(made, key, value)
    return made


@each_version
@each_qos
def test_paho_publishes_and_subscribes(noted: Noted, version: Version, qos: int) -> None:
    with Paho(noted, "sub", version) as sub, Paho(noted, "pub", version) as pub:
        sub.subscribe("a/+", qos)
        for index in range(50):
            pub.publish(f"a/{index}", b"%d" % index, qos=qos)
        assert sub.payloads(50) == [b"%d" % index for index in range(50)]
        assert {message.qos for message in sub.got} == {qos}


@each_version
def test_paho_gets_retained_messages_and_wills(noted: Noted, version: Version) -> None:
    with Paho(noted, "sub", version) as sub:
        dying = Paho(noted, "dying", version, keepalive=10)
        dying.client.will_set("w", b"gone", qos=1, retain=True)
        sub.subscribe("w", 1)
        with dying:
            dying.publish("r", b"kept", qos=1, retain=True)
            sock = dying.client.socket()
            assert sock is not None
            dying.client.loop_stop()
            sock.close()
        assert noted.saw("will", "dying")
        sub.subscribe("r", 1)
        assert sub.payloads(2) == [b"gone", b"kept"]
        assert [message.retain for message in sub.got] == [False, True]


@each_version
def test_paho_resumes_its_session(noted: Noted, version: Version) -> None:
    more: dict[str, Any] = {"clean": False}
    if version == V5:
        more = {"clean_start": False, "properties": given(PacketTypes.CONNECT, SessionExpiryInterval=60)}
    with Paho(noted, "sub", version, **dict(more)) as sub:
        sub.subscribe("t", 2)
        assert not sub.connected[0][0].session_present
    assert noted.saw("disconnect", "sub")
    with Paho(noted, "pub", version) as pub:
        for qos in (1, 2):
            pub.publish("t", b"%d" % qos, qos=qos)
    with Paho(noted, "sub", version, **dict(more)) as sub:
        assert sub.payloads(2) == [b"1", b"2"]
        assert sub.connected[0][0].session_present is (version > V31)


def test_paho_sees_properties_and_reasons(noted: Noted) -> None:
    with Paho(noted, "sub") as sub, Paho(noted, "pub") as pub:
        assert pub.publish("t", qos=1) == "No matching subscribers"
        assert pub.publish("$SYS/t", qos=1) == "Topic name invalid"
        identified = given(PacketTypes.SUBSCRIBE, SubscriptionIdentifier=7)
        sub.subscribe("t", options=SubscribeOptions(qos=2, retainAsPublished=True), properties=identified)
        sent = given(PacketTypes.PUBLISH, ContentType="x", UserProperty=[("b", "1"), ("a", "2")])
        assert pub.publish("t", qos=2, retain=True, properties=sent) == "Success"
        sub.payloads(1)
        got: Any = sub.got[0].properties
        assert (got.ContentType, got.UserProperty, got.SubscriptionIdentifier) == ("x", [("b", "1"), ("a", "2")], [7])
        assert sub.got[0].retain


@pytest.mark.slow
def test_paho_gets_the_reason_of_a_disconnect(noted: Noted) -> None:
    with Paho(noted, "c") as first, Paho(noted, "c") as second:
        assert eventually(lambda: first.ended)
        assert first.ended[0] == "Session taken over"
        first.client.loop_stop()
        second.client.publish("t", properties=given(PacketTypes.PUBLISH, TopicAlias=11))
        assert eventually(lambda: second.ended)
        assert second.ended[0] == "Topic alias invalid"


@each_version
def test_paho_shares(noted: Noted, version: Version) -> None:
    with Paho(noted, "a", version) as one, Paho(noted, "b", version) as two, Paho(noted, "pub", version) as pub:
        for each in (one, two):
            each.subscribe("$share/g/t", 1)
        for _ in range(10):
            pub.publish("t", qos=1)
        assert (len(one.payloads(5)), len(two.payloads(5))) == (5, 5)


# mosquitto_pub and mosquitto_sub

NAMES = {version: f"mqttv{version.label.replace('.0', '').replace('.', '')}" for version in EACH}


def command(program: str, noted: Noted, version: Version, *more: str) -> list[str]:
    """Return a command line of a mosquitto program."""
    found = shutil.which(program)
    assert found, f"the tests need {program} (Debian: apt-get install mosquitto-clients)"
    return [found, "-p", str(noted.broker.port), "-V", NAMES[version], *more]


def pub(noted: Noted, version: Version, *more: str, lines: str | None = None, status: int = 0) -> str:
    """Run mosquitto_pub and return what it says."""
    done = subprocess.run(
        command("mosquitto_pub", noted, version, *more), input=lines, capture_output=True, text=True, timeout=10
    )
    assert done.returncode == status, done.stderr
    return done.stderr


@contextmanager
def sub(noted: Noted, version: Version, client_id: str, *more: str) -> Iterator["subprocess.Popen[str]"]:
    """Run mosquitto_sub and wait until its first subscription is there."""
    args = command("mosquitto_sub", noted, version, "-i", client_id, *more)
    before = sum(event[:2] == ("subscribe", client_id) for event in noted.events)
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert noted.saw("subscribe", client_id, before + 1)
            yield process
        finally:
            process.kill()


def said(process: "subprocess.Popen[str]") -> list[str]:
    """Return the lines of a program that ends."""
    return process.communicate(timeout=10)[0].splitlines()


@mosquitto_programs
@each_version
@each_qos
def test_mosquitto_publishes_and_subscribes(noted: Noted, version: Version, qos: int) -> None:
    with sub(noted, version, "sub", "-t", "a/#", "-q", str(qos), "-C", "101", "-F", "%q %t %p") as process:
        pub(noted, version, "-t", "a/b", "-q", str(qos), "-m", "hi")
        pub(noted, version, "-t", "a/l", "-q", str(qos), "-l", lines="".join(f"{index}\n" for index in range(100)))
        assert said(process) == [f"{qos} a/b hi", *(f"{qos} a/l {index}" for index in range(100))]


@mosquitto_programs
@each_version
def test_mosquitto_gets_retained_messages(noted: Noted, version: Version) -> None:
    for topic in ("a/1", "a/2", "b", "$x/y"):
        pub(noted, version, "-t", topic, "-m", topic, "-r", "-q", "1")
    pub(noted, version, "-t", "a/2", "-n", "-r", "-q", "1")
    with sub(noted, version, "sub", "-t", "a/+", "-t", "#", "-t", "$x/+", "-C", "4", "-F", "%r %t") as process:
        assert sorted(said(process)) == ["1 $x/y", "1 a/1", "1 a/1", "1 b"]


@mosquitto_programs
@each_version
def test_mosquitto_leaves_a_will(noted: Noted, version: Version) -> None:
    with sub(noted, version, "watcher", "-t", "w", "-q", "1", "-C", "1") as watcher:
        will = ("--will-topic", "w", "--will-payload", "gone", "--will-qos", "1")
        with sub(noted, version, "dying", "-t", "x", *will) as dying:
            dying.kill()
            assert said(watcher) == ["gone"]


@mosquitto_programs
@each_version
def test_mosquitto_resumes_its_session(noted: Noted, version: Version) -> None:
    lasting = ("-t", "t", "-q", "2", "-c", *(("-x", "60") if version == V5 else ()))
    with sub(noted, version, "sub", *lasting, "-E") as process:
        assert said(process) == []
    for qos in "12":
        pub(noted, version, "-t", "t", "-q", qos, "-m", f"qos {qos}")
    with sub(noted, version, "sub", *lasting, "-C", "2") as process:
        assert said(process) == ["qos 1", "qos 2"]


@mosquitto_programs
def test_mosquitto_shares(noted: Noted) -> None:
    shared = ("-t", "$share/g/t", "-q", "1", "-C", "2")
    with sub(noted, V5, "a", *shared) as one, sub(noted, V5, "b", *shared) as two:
        for index in range(4):
            pub(noted, V5, "-t", "t", "-q", "1", "-m", str(index))
        assert sorted([*said(one), *said(two)]) == ["0", "1", "2", "3"]


@mosquitto_programs
def test_mosquitto_sees_properties(noted: Noted) -> None:
    with sub(noted, V5, "sub", "-t", "t", "-C", "1", "-F", "%C %P %E %A %D %R") as process:
        properties = ("content-type x", "user-property b 1", "user-property a 2", "message-expiry-interval 60",
                      "correlation-data id", "response-topic r")  # fmt: skip
        flags = [word for each in properties for word in ("-D", "publish", *each.split())]
        pub(noted, V5, "-t", "t", "-m", "hi", *flags, "-D", "publish", "topic-alias", "3")
        assert said(process) == ["x b:1 a:2 60  id r"]


@mosquitto_programs
def test_mosquitto_is_refused() -> None:
    noted = Noted(users={"ann": b"secret"})
    with noted.broker:
        assert "Bad User Name or Password" in pub(noted, V5, "-t", "t", "-m", "x", status=0x86)
        assert "bad user name or password" in pub(noted, V311, "-t", "t", "-m", "x", status=4)
        pub(noted, V5, "-t", "t", "-m", "x", "-u", "ann", "-P", "secret")
