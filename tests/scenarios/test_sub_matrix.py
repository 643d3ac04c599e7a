"""Every version, QoS, RETAIN and property, published by two programs and received by two: all four agree."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, NamedTuple

import pytest

from tests.build import brokers as starters
from tests.program import PROGRAM

LAYOUT = "%t|%x|%q|%r|%l|%A|%C|%D|%F|%P|%R|%S|%E"
PAYLOAD = b"\x00\xff caf\xc3\xa9 \x1b[31m\n"
VERSIONS = {"3.1": "mqttv31", "3.1.1": "mqttv311", "5": "mqttv5"}
EXPIRY_S = 100_000
"""A Message Expiry Interval that a broker lowers by the seconds that it kept the message."""
PROPERTIES: dict[str, list[list[str]]] = {
    "none": [],
    "payload_format_indicator": [["payload-format-indicator", "1"]],
    "message_expiry_interval": [["message-expiry-interval", str(EXPIRY_S)]],
    "content_type": [["content-type", "text/ünï"]],
    "response_topic": [["response-topic", "answers/to me"]],
    "correlation_data": [["correlation-data", "c\x1b1 %s"]],
    "user_property": [["user-property", "k", "v"], ["user-property", "k", "w w"]],
    "topic_alias": [["topic-alias", "5"]],
    "all": [["payload-format-indicator", "0"], ["content-type", "x"], ["user-property", "a:b", ""]],
}


class Case(NamedTuple):
    """A message."""

    version: str
    qos: int
    retained: bool
    properties: str

    @property
    def payload(self) -> bytes:
        return PAYLOAD if self.properties != "payload_format_indicator" else "café".encode()

    def topic(self, publisher: str) -> str:
        """Return the topic that a publisher uses."""
        return f"matrix/{self.version}/{publisher}/{self.qos}/{self.retained:d}/{self.properties}"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run a mosquitto for this module, because retained messages stay in it."""
    with starters.mosquitto(tmp_path_factory.mktemp("mosquitto"), starters.plain) as (port,):
        yield port


def cases(version: str, *, retained: bool) -> list[Case]:
    """Return all messages of a version."""
    kinds = PROPERTIES if version == "5" else {"none"}
    return [Case(version, qos, retained, kind) for qos in (0, 1, 2) for kind in kinds]


def publish(case: Case, port: int) -> None:
    """Publish a message with both programs."""
    words = [word for each in PROPERTIES[case.properties] for word in ("-D", "PUBLISH", *each)]
    common = ["-h", "127.0.0.1", "-p", str(port), "-q", str(case.qos), *["-r"] * case.retained, *words, "-s"]
    theirs = ["mosquitto_pub", "-V", VERSIONS[case.version], "-t", case.topic("theirs"), *common]
    subprocess.run(theirs, input=case.payload, check=True, timeout=20)
    ours = [*PROGRAM, "pub", "-V", case.version, "-t", case.topic("ours"), *common]
    subprocess.run(ours, input=case.payload, check=True, timeout=20)


@contextmanager
def receivers(version: str, port: int) -> Iterator[list[IO[bytes]]]:
    """Run both subscribers until both have their subscription, and yield what they write."""
    ready = f"matrix/{version}/ready"
    subprocess.run(["mosquitto_pub", "-p", str(port), "-t", ready, "-r", "-m", "ready"], check=True)
    common = ["-h", "127.0.0.1", "-p", str(port), "-t", f"matrix/{version}/#", "-q", "2", "-F", LAYOUT]
    identifier = ["-D", "SUBSCRIBE", "subscription-identifier", "77"] if version == "5" else []
    theirs = ["stdbuf", "-oL", "mosquitto_sub", "-V", VERSIONS[version], *common, *identifier]
    ours = [*PROGRAM, "sub", "-V", version, "--raw", *common, *identifier]
    with ExitStack() as stack:
        streams = []
        for command in (theirs, ours):
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            stack.callback(process.terminate)
            assert process.stdout
            streams.append(process.stdout)
        yield streams


def received(stream: IO[bytes], count: int) -> list[bytes]:
    """Read some messages besides that of `ready`, sorted; what is left of an expiry is checked and cut off."""
    lines: list[bytes] = []
    while len(lines) < count:
        line = stream.readline()
        assert line.endswith(b"\n"), lines
        topic = line.split(b"|")[0]
        if topic.endswith(b"/ready"):
            continue
        text, _, expiry = line.rpartition(b"|")
        assert not expiry.strip() or EXPIRY_S - 100 < int(expiry) <= EXPIRY_S
        lines.append(text + b"|" + (b"expires" if expiry.strip() else b""))
    return sorted(lines)


def wait_for_ready(stream: IO[bytes]) -> None:
    assert b"/ready|" in stream.readline()


def expected(case: Case, publisher: str) -> bytes:
    """Return the line for a message without its expiry, from what was asked for."""
    given: dict[str, list[list[str]]] = {}
    for name, *values in PROPERTIES[case.properties]:
        given.setdefault(name, []).append(values)

    def one(name: str) -> bytes:
        return given.get(name, [[""]])[0][0].encode()

    pairs = " ".join(":".join(pair) for pair in given.get("user-property", []))
    # A Topic Alias is between a client and the broker; mosquitto does not hand it on.
    fields = [
        case.topic(publisher).encode(), case.payload.hex().encode(), b"%d" % case.qos, b"%d" % case.retained,
        b"%d" % len(case.payload), b"", one("content-type"), one("correlation-data"),
        one("payload-format-indicator"), pairs.encode(), one("response-topic"), b"77" * (case.version == "5"),
    ]  # fmt: skip
    return b"|".join(fields) + b"|" + b"expires" * ("message-expiry-interval" in given)


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.parametrize("retained", [False, True], ids=["live", "retained"])
@pytest.mark.parametrize("version", VERSIONS)
def test_both_publishers_and_both_subscribers_agree(version: str, retained: bool, broker: int) -> None:
    every = cases(version, retained=retained)
    if retained:
        for case in every:
            publish(case, broker)
    with receivers(version, broker) as streams:
        if not retained:
            for stream in streams:
                wait_for_ready(stream)
            for case in every:
                publish(case, broker)
        theirs, ours = (received(stream, 2 * len(every)) for stream in streams)
    assert ours == theirs == sorted(expected(case, who) for case in every for who in ("ours", "theirs"))
