"""What real clients send while a capture is recorded: those of mosquitto, paho, and ours."""

import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from mqttpub.spec.versions import Version
from tests.build import traffic
from tests.build.traffic import Venue
from tests.lab.peer import EACH, V5, V31, V311

LARGE = 1_048_576
"""Bytes of the largest payloads."""
LONG = 17_000
"""Bytes that make a Remaining Length of three bytes."""
Traffic = Callable[[Venue], None]
NAMES = {V31: "mqttv31", V311: "mqttv311", V5: "mqttv5"}
WAIT = 30.0
"""Seconds that a client may take."""


def run(*words: str, stdin: bytes = b"", status: int = 0) -> None:
    """Run a program to its end."""
    ran = subprocess.run(words, input=stdin, capture_output=True, timeout=60)
    assert ran.returncode == status, f"{' '.join(words)}: {ran.returncode}, {ran.stderr.decode()}"


# the clients of mosquitto


def mosquitto(venue: Venue) -> None:
    """The clients of mosquitto in three versions: every QoS both ways, retained, a will, a request, 1 MB."""
    for version in EACH:
        for qos in "012":
            _received(venue, version, qos)
        _will(venue, version)
    _request(venue)


def _said(program: str, venue: Venue, version: Version, *words: str) -> list[str]:
    return [program, "-h", "127.0.0.1", "-p", str(venue.tcp), "-V", NAMES[version], *words]


def _received(venue: Venue, version: Version, qos: str) -> None:
    topic = f"m/{NAMES[version]}/{qos}"
    run(*_said("mosquitto_pub", venue, version, "-t", f"{topic}/kept", "-m", "kept", "-r", "-q", qos))
    sub = _said("mosquitto_sub", venue, version, "-t", f"{topic}/#", "-q", qos, "-C", "5", "-U", "m/none")
    with subprocess.Popen(sub, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"kept\n"
        pub = _said("mosquitto_pub", venue, version, "-t", f"{topic}/x", "-q", qos, "-u", "me", "-P", "secret")
        run(*pub, "-l", stdin=b"one\ntwo\n")
        run(*pub, "-n")
        run(*pub, "-s", stdin=bytes(range(256)) * ((LARGE if qos == "1" else LONG) // 256))
        process.communicate(timeout=30)
        assert process.returncode == 0


def _will(venue: Venue, version: Version) -> None:
    """Kill a client that left a will, which another one gets."""
    topic = f"w/{NAMES[version]}"
    will = ["--will-topic", topic, "--will-payload", "gone", "--will-qos", "1"]
    if version == V5:
        will += ["-D", "will", "will-delay-interval", "0", "-D", "will", "content-type", "text/plain"]
    sub = _said("mosquitto_sub", venue, version, "-C", "1", "-t", topic, "-q", "1")
    with subprocess.Popen(sub, stdout=subprocess.PIPE) as heir:
        # A retained message tells that the client is there, so that it is not killed before its CONNECT.
        dying = _said("mosquitto_sub", venue, version, "-t", f"{topic}/there", *will)
        run(*_said("mosquitto_pub", venue, version, "-t", f"{topic}/there", "-m", "there", "-r"))
        with subprocess.Popen(dying, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"there\n"
            process.kill()
        assert heir.communicate(timeout=30)[0] == b"gone\n"


def _request(venue: Venue) -> None:
    """Let mosquitto_rr ask, and answer it."""
    asking = _said("mosquitto_rr", venue, V5, "-t", "rr/ask", "-e", "rr/answer", "-m", "how much?", "-q", "2")
    answer = _said("mosquitto_pub", venue, V5, "-t", "rr/answer", "-m", "so much", "-q", "2", "-r")
    run(*answer)
    run(*asking, "-W", "20", "-D", "publish", "correlation-data", "7")


# paho


def paho(venue: Venue) -> None:
    """paho in three versions, with every QoS both ways, over TCP and over WebSocket."""
    for transport, port in (("tcp", venue.tcp), ("websockets", venue.ws)):
        for version in EACH:
            _paho(version, transport, port)


def _paho(version: Version, transport: Any, port: int) -> None:
    old = {} if version == V5 else {"clean_session": True}
    client = Client(
        CallbackAPIVersion.VERSION2, client_id=f"paho-{transport[:2]}-{int(version)}",
        protocol=MQTTProtocolVersion(version), transport=transport, **old,
    )  # fmt: skip
    got: list[MQTTMessage] = []
    done: list[int] = []
    client.on_message = lambda _, __, message: got.append(message)
    client.on_subscribe = lambda *_: done.append(1)
    client.on_unsubscribe = lambda *_: done.append(2)
    client.username_pw_set("me", "secret")
    topic = f"p/{transport}/{int(version)}"
    client.will_set(f"{topic}/will", b"gone", qos=1)
    client.connect("127.0.0.1", port, keepalive=30)
    _turn(client, client.is_connected)
    options: Any = SubscribeOptions(qos=2, retainAsPublished=True) if version == V5 else 2
    client.subscribe([(topic, options), (f"{topic}/+", options)])
    _turn(client, lambda: 1 in done)
    payloads = [b"", b"x", b"y" * 126, b"z" * 200, b"0" * LONG]
    for qos, large in ((0, []), (1, []), (2, [bytes(LARGE)] if version == V5 and transport == "tcp" else [])):
        got.clear()
        count = len(payloads + large)
        for payload in payloads + large:
            client.publish(topic, payload, qos=qos, properties=_paho_properties(version))
        _turn(client, lambda count=count: len(got) == count)  # type: ignore[misc]
    client.unsubscribe([topic, f"{topic}/+"])
    _turn(client, lambda: 2 in done)
    assert client.disconnect() == MQTTErrorCode.MQTT_ERR_SUCCESS


def _turn(client: Client, done: Callable[[], bool]) -> None:
    """Turn the loop of a client until something is true; in paho's own thread each turn may take a second."""
    until = time.monotonic() + WAIT
    while not done():
        assert time.monotonic() < until
        client.loop(0.01)


def _paho_properties(version: Version) -> Properties | None:
    if version != V5:
        return None
    made = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    made.ContentType = "application/octet-stream"
    made.CorrelationData = b"\x00\xff"
    made.UserProperty = [("a", "b"), ("a", "c")]
    return made


# ours


def ours(venue: Venue) -> None:
    """`mqttpub pub`: versions, transports, every property it can send, many messages at once, 1 MB."""
    for name in ("3.1", "3.1.1", "5"):
        for qos in "012":
            _pub(venue.tcp, "-V", name, "-q", qos, "-t", "o/1", "-t", "o/2", "-m", "hello", "-u", "me", "-P", "secret")
        _pub(venue.ws, "-V", name, "--ws", "-q", "2", "-t", "o/ws", "-m", "hello")
        _pub(venue.tcp, "-V", name, "-q", "2", "-t", "o/l", "-l", stdin=b"".join(b"%d\n" % n for n in range(200)))
    for where in ([venue.tcp], [venue.ws, "--ws"]):
        _pub(*where, "-q", "1", "-t", "o/large", "--payload-size", "1MB", "-r")
    _pub(venue.tcp, *PROPERTIES)
    _pub(venue.tcp, "-q", "1", "-t", "o/alias", "-ta", "auto", "-l", stdin=b"one\ntwo\nthree\n")


PROPERTIES = shlex.split(
    "-t o/p -q 2 -m {} -pf 1 -e 60 -ct application/json -rt o/r -cd hex:00ff -up a=b -up a=c "
    "-Wt o/w -Wm gone -Wq 1 -Wpf 1 -We 60 -Wct text/plain -Wrt o/r -Wcd hex:00ff -Wd 0 -Wup a=b "
    "-x 60 --request-problem-information 1 --request-response-information 1 --receive-maximum 20 "
    "--topic-alias-maximum 10 -Cup a=b --maximum-packet-size 1000000 "
    "--disconnect-reason-code 4 --disconnect-session-expiry-interval 0 --disconnect-reason-string done "
    "--disconnect-user-property a=b"
)
"""Flags for every property that a client may send to a broker without extended authentication."""


def _pub(port: int, *words: str, stdin: bytes = b"") -> None:
    run(sys.executable, "-m", "mqttpub", "pub", "-h", "127.0.0.1", "-p", str(port), "--quiet", *words, stdin=stdin)


RECORDINGS: dict[str, Traffic] = {
    "mosquitto": mosquitto,
    "paho": paho,
    "mqttpub": ours,
    "sockets": traffic.sockets,
    "scripted": traffic.scripted,
}
"""All traffic that is recorded, by the name of its capture."""
