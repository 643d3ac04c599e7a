"""Real clients and a real broker keep the rules."""

import subprocess
import threading
from collections.abc import Callable
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from mqttpub.spec.versions import Version
from tests.lab.sockets import eventually
from tests.lint.connection.recorded import Recorder, judged, recorder

pytestmark = pytest.mark.broker
VERSIONS = ("mqttv31", "mqttv311", "mqttv5")
SOME = [pytest.param(name, marks=pytest.mark.slow) for name in VERSIONS[:2]] + [pytest.param(VERSIONS[2])]
SUBSCRIBER = """-D CONNECT topic-alias-maximum 5 -D CONNECT receive-maximum 2 -D SUBSCRIBE subscription-identifier 7"""
PUBLISHER = "-D PUBLISH topic-alias 3 -D PUBLISH user-property a b -D CONNECT session-expiry-interval 9 -i me"


def tool(name: str, port: int, version: str, *more: str, text: str = "") -> str:
    """Run one of mosquitto's clients and return what it printed."""
    command = [f"mosquitto_{name}", "-h", "127.0.0.1", "-p", str(port), "-V", version, *more]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, check=True).stdout


def listen(port: int, version: str, *more: str) -> "subprocess.Popen[str]":
    """Start mosquitto_sub and return when it has subscribed."""
    command = ["stdbuf", "-oL", "mosquitto_sub", "-h", "127.0.0.1", "-p", str(port), "-V", version, "-d", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    for line in process.stdout:
        if "Subscribed" in line or "SUBACK" in line:
            return process
    raise AssertionError("mosquitto_sub did not subscribe")


def assert_clean(proxy: Recorder, *ids: str) -> None:
    """Assert that nothing was found, and that these statements were put to the test."""
    assert eventually(lambda: not any(pair.open for pair in proxy.pairs), 20), "a client never closed"
    exercised: set[str] = set()
    for pair in proxy.pairs:
        found, tally, _ = judged(pair)
        assert found == []
        exercised |= tally.exercised.keys()
    assert set(ids) <= exercised, exercised


@pytest.mark.parametrize("version", SOME)
def test_subscriber_and_publishers(mosquitto: int, version: str) -> None:
    with recorder(mosquitto) as proxy:
        tool("pub", proxy.port, version, "-t", f"{version}/r", "-m", "kept", "-r", "-q", "1")
        sub = listen(proxy.port, version, "-t", f"{version}/#", "-t", f"{version}/+", "-q", "2", "-C", "7")
        for qos in "012":
            tool("pub", proxy.port, version, "-t", f"{version}/a", "-q", qos, "-l", text="one\ntwo\n")
        sub.communicate(timeout=20)
        tool("pub", proxy.port, version, "-t", f"{version}/r", "-n", "-r")
        name = Version.named(version).prefix
        by_version = {"MQTT5": "4.6.0-4", "MQTT311": "4.6.0-4", "MQTT31": "4.3/order"}
        assert_clean(proxy, f"{name}-{by_version[name]}")


def test_properties_of_a_publisher(mosquitto: int) -> None:
    with recorder(mosquitto) as proxy:
        sub = listen(proxy.port, "mqttv5", "-t", "props", "-q", "1", "-C", "2", *SUBSCRIBER.split())
        tool("pub", proxy.port, "mqttv5", "-t", "props", "-q", "1", "-l", *PUBLISHER.split(), text="one\ntwo\n")
        sub.communicate(timeout=20)
        assert_clean(proxy, "MQTT5-3.2.2-17", "MQTT5-3.3.4-3", "MQTT5-3.3.4-7", "MQTT5-3.3.4-9")


@pytest.mark.slow
def test_request_and_response(mosquitto: int) -> None:
    with recorder(mosquitto) as proxy:
        sub = listen(proxy.port, "mqttv5", "-t", "ask", "-C", "1", "-F", "%R")
        process = subprocess.Popen(
            ["mosquitto_rr", "-p", str(proxy.port), "-V", "mqttv5", "-t", "ask", "-e", "reply", "-m", "?", "-W", "5"],
            stdout=subprocess.PIPE,
        )
        sub.communicate(timeout=20)
        tool("pub", proxy.port, "mqttv5", "-t", "reply", "-m", "!")
        process.communicate(timeout=20)
        assert_clean(proxy)


def client(proxy: Recorder, version: int, act: Callable[[paho.Client], None], **more: object) -> None:
    """Run paho with something to do."""
    made = paho.Client(CallbackAPIVersion.VERSION2, client_id="paho", protocol=version)  # type: ignore[arg-type]
    connected = threading.Event()
    made.on_connect = lambda *_: connected.set()
    made.user_data_set([])
    made.on_message = lambda _, came, message: came.append(message.payload)
    made.connect("127.0.0.1", proxy.port, keepalive=60, **more)  # type: ignore[arg-type]
    made.loop_start()
    try:
        assert connected.wait(20)
        act(made)
    finally:
        made.disconnect()
        made.loop_stop()


def subscribe(made: paho.Client, filters: list[Any]) -> None:
    """Subscribe and return when the broker has acknowledged it."""
    acknowledged = threading.Event()
    made.on_subscribe = lambda *_: acknowledged.set()
    made.subscribe(filters)
    assert acknowledged.wait(20)


@pytest.mark.parametrize(
    "version", [pytest.param(3, marks=pytest.mark.slow), 4, pytest.param(5, marks=pytest.mark.slow)]
)
def test_paho_publishes_to_itself(mosquitto: int, version: int) -> None:
    came: list[bytes] = []

    def act(made: paho.Client) -> None:
        made.user_data_set(came)
        subscribe(made, [("paho/#", 2), ("paho/a", 1)])
        sent = [made.publish("paho/a", str(index), qos=index % 3) for index in range(60)]
        for each in sent:
            each.wait_for_publish(10)
        made.unsubscribe("paho/#")
        made.subscribe("paho/a", qos=0)
        assert eventually(lambda: len(came) >= 60, 20), len(came)

    with recorder(mosquitto) as proxy:
        client(proxy, version, act)
        assert_clean(proxy)


@pytest.mark.slow
def test_a_session_is_resumed(mosquitto: int) -> None:
    lasting: Any = Properties(1)  # type: ignore[no-untyped-call]
    lasting.SessionExpiryInterval = 60

    def receive(made: paho.Client) -> None:
        # The broker keeps what was sent with QoS 1 and 2.
        assert eventually(lambda: len(made.user_data_get()) == 2, 20)

    lasting_filter = ("lasting", SubscribeOptions(qos=2))
    with recorder(mosquitto) as proxy:
        client(proxy, 5, lambda made: subscribe(made, [lasting_filter]), clean_start=False, properties=lasting)
        for qos in "012":
            tool("pub", proxy.port, "mqttv5", "-t", "lasting", "-q", qos, "-m", "m")
        client(proxy, 5, receive, clean_start=False, properties=lasting)
        client(proxy, 5, lambda made: None, clean_start=True)
        assert_clean(proxy, "MQTT5-4.5.0-2", "MQTT5-3.2.2-2")


@pytest.mark.slow
def test_the_pings_of_mosquitto_sub_keep_connections_alive(mosquitto: int) -> None:
    with recorder(mosquitto) as proxy:
        subs = [listen(proxy.port, version, "-t", "never", "-k", "5", "-W", "12") for version in VERSIONS]
        for sub in subs:
            sub.communicate(timeout=30)
        assert len(proxy.pairs) == len(VERSIONS)
        assert_clean(proxy, "MQTT31-2.2/keepalive-send", "MQTT311-3.1.2-23", "MQTT5-3.1.2-20")
