"""`request` takes the answers that are meant for it, and `respond` makes them, over a real broker."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connack, Publish, Suback
from mqttpub.spec.properties import CORRELATION_DATA, RESPONSE_INFORMATION, RESPONSE_TOPIC, value_of
from mqttpub.spec.versions import Direction, Version
from tests.fakes import Peer, scripted, scripted_many
from tests.program import PROGRAM

pytestmark = pytest.mark.broker


BY_LINE = ("stdbuf", "-oL")
"""Makes a program write each line at once, though its output is a pipe."""


@pytest.fixture
def topic() -> str:
    """Return a topic of this test alone."""
    return f"rr/{os.urandom(4).hex()}"


def place(port: int) -> list[str]:
    return ["-h", "127.0.0.1", "-p", str(port)]


@contextmanager
def responding(port: int, topic: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `respond` until the block ends; `words` are its other flags and the command."""
    line = [*PROGRAM, "respond", *place(port), "-t", topic, *words]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert process.stderr.readline().startswith("mqttpub: answering requests to ")
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)


def request(port: int, topic: str, *flags: str) -> "subprocess.CompletedProcess[bytes]":
    line = [*PROGRAM, "request", *place(port), "-t", topic, *flags]
    return subprocess.run(line, capture_output=True, check=False, timeout=60)


def shell(text: str) -> list[str]:
    """Return the words of a command that runs a line of Python with its standard input in `given`."""
    return ["--", sys.executable, "-c", f"import os, sys; given = sys.stdin.buffer.read(); {text}"]


@pytest.mark.parametrize("payload", [b"", b"hello", bytes(range(256)), b"x" * 1_000_000], ids=len)
def test_every_byte_goes_to_the_command_and_back(payload: bytes, topic: str, mosquitto: int) -> None:
    with responding(mosquitto, topic, "--", "cat"):
        line = [*PROGRAM, "request", *place(mosquitto), "-t", topic, "-s", "--raw"]
        done = subprocess.run(line, input=payload, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, payload)
    assert done.stderr.startswith(b"mqttpub: answered after ")


@pytest.mark.parametrize(
    "rounds", [pytest.param(100, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.long)]
)
def test_all_rounds_find_their_own_answers(rounds: int, topic: str, mosquitto: int) -> None:
    with responding(
        mosquitto, topic, "--parallel", "8", *shell("sys.stdout.write(os.environ['MQTT_CORRELATION_DATA'])")
    ):
        flags = ("--repeat", str(rounds), "--parallel", "16", "--json", "--timeout", "60")
        done = request(mosquitto, topic, "-m", "x", *flags)
    *answers, summary = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, len(answers), summary["complete"], summary["strangers"]) == (0, rounds, rounds, 0)
    assert sorted(each["received"]["request"] for each in answers) == list(range(1, rounds + 1))
    for each in answers:
        carried = correlation(each)
        assert each["payload"] == carried.hex()
        assert carried != correlation(answers[0]) or each is answers[0]
    assert 0 < summary["latency_us"]["p50"] <= summary["latency_us"]["max"]


def correlation(record: dict[str, Any]) -> bytes:
    """Return the Correlation Data of a JSON record."""
    import base64

    data = record["properties"]["correlation_data"]
    return data.encode() if isinstance(data, str) else base64.b64decode(data["base64"])


def test_the_answer_of_a_stranger_is_not_taken(topic: str, mosquitto: int) -> None:
    line = [*PROGRAM, "request", *place(mosquitto), "-t", topic, "-m", "x", "-e", f"{topic}/answers", "-cd", "mine"]
    sub = [*BY_LINE, "mosquitto_sub", *place(mosquitto), "-V", "5", "-t", topic, "-C", "1", "-W", "20"]
    with subprocess.Popen([*sub, "-d"], stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout
        while "SUBACK" not in watcher.stdout.readline():
            continue
        with subprocess.Popen([*line, "-W", "20"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asking:
            watcher.communicate(timeout=20)
            for data, text in (("other", "theirs"), ("", "nobody's"), ("mine", "ours")):
                given = ["-D", "publish", "correlation-data", data] if data else []
                pub = ["mosquitto_pub", *place(mosquitto), "-V", "5", "-t", f"{topic}/answers", "-q", "1", "-m", text]
                subprocess.run([*pub, *given], check=True, timeout=20)
            out, err = asking.communicate(timeout=30)
    assert (asking.returncode, out) == (0, b"ours\n")
    assert b"2 messages on the topic of the answers belonged to no request" in err


@pytest.mark.parametrize("version", ["3.1", "3.1.1", "5"])
def test_mosquitto_answers_us_and_asks_us(version: str, topic: str, mosquitto: int) -> None:
    name = {"3.1": "mqttv31", "3.1.1": "mqttv311", "5": "mqttv5"}[version]
    # mosquitto_sub piped into mosquitto_pub cannot copy Correlation Data, so any answer is taken.
    sub = [
        *BY_LINE,
        "mosquitto_sub",
        *place(mosquitto),
        "-V",
        name,
        "-t",
        topic,
        "-C",
        "1",
        "-W",
        "20",
        "-d",
        "-F",
        "asked: %p",
    ]
    with subprocess.Popen(sub, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout
        while "SUBACK" not in watcher.stdout.readline():
            continue
        line = [*PROGRAM, "request", *place(mosquitto), "-V", version, "-t", topic, "-m", "1", "-e", f"{topic}/a"]
        with subprocess.Popen([*line, "--any-answer"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asking:
            assert "asked: 1\n" in watcher.communicate(timeout=20)[0]
            pub = ["mosquitto_pub", *place(mosquitto), "-V", name, "-t", f"{topic}/a", "-m", "answer"]
            subprocess.run(pub, check=True, timeout=20)
            assert asking.communicate(timeout=30)[0] == b"answer\n"
    fallback = ["--answer-topic", f"{topic}/b", "-V", version] if version != "5" else []
    with responding(mosquitto, topic, *fallback, "--", "tr", "a-z", "A-Z"):
        rr = ["mosquitto_rr", *place(mosquitto), "-V", name, "-t", topic, "-e", f"{topic}/b", "-m", "hello", "-W", "20"]
        assert subprocess.run(rr, capture_output=True, check=True, timeout=30).stdout == b"HELLO\n"


def test_several_answers_and_a_wait_that_ends(topic: str, mosquitto: int) -> None:
    with responding(mosquitto, topic, "--", "echo", "one"), responding(mosquitto, topic, "--", "echo", "two"):
        both = request(mosquitto, topic, "-m", "x", "-C", "2")
        more = request(mosquitto, topic, "-m", "x", "-C", "3", "-W", "1")
    assert (both.returncode, sorted(both.stdout.split())) == (0, [b"one\\n", b"two\\n"])
    assert (more.returncode, sorted(more.stdout.split())) == (1, [b"one\\n", b"two\\n"])
    assert more.stderr.splitlines()[0] == b"mqttpub: 2 of 3 answers came"


def test_nobody_answers(topic: str, mosquitto: int) -> None:
    done = request(mosquitto, topic, "-m", "x", "-W", "0.2")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().splitlines() == [
        f"mqttpub: nobody subscribes to '{topic}' (0x10)", "mqttpub: no answer within 0.2 s",
    ]  # fmt: skip


def test_topic_and_properties_are_in_the_environment(topic: str, mosquitto: int) -> None:
    names = [
        "TOPIC", "QOS", "RETAIN", "CONTENT_TYPE", "CORRELATION_DATA", "RESPONSE_TOPIC", "PAYLOAD_FORMAT_INDICATOR",
        "MESSAGE_EXPIRY_INTERVAL", "USER_PROPERTIES", "USER_PROPERTY_1_NAME", "USER_PROPERTY_1_VALUE",
        "USER_PROPERTY_2_NAME", "USER_PROPERTY_2_VALUE",
    ]  # fmt: skip
    text = f"print('|'.join(os.environ['MQTT_' + name] for name in {names}), end='')"
    flags = ["-ct", "text/x", "-cd", "hex:00ff", "-e", f"{topic}/a", "-pf", "--message-expiry-interval", "60",
             "-up", "LD_PRELOAD=x", "-up", "a: b=c"]  # fmt: skip
    with responding(mosquitto, topic, *shell(text)):
        done = request(mosquitto, topic, "-m", "x", *flags)
    shown = f"{topic}|1|0|text/x|00ff|{topic}/a|1|60|2|LD_PRELOAD|x|a|b=c\n"
    assert done.stdout.decode() == shown


def test_a_password_of_ours_does_not_reach_the_command(
    topic: str, mosquitto: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQTTPUB_PASSWORD", "secret")
    monkeypatch.setenv("MQTT_TOPIC", "inherited")
    text = "print(os.environ['MQTT_TOPIC'], [name for name in os.environ if name.startswith('MQTTPUB_')], end='')"
    with responding(mosquitto, topic, *shell(text)):
        assert request(mosquitto, topic, "-m", "x").stdout.decode() == f"{topic} []\n"


UNANSWERED = [
    (["--", "false"], [], "the command failed: it ended with status 1"),
    (["--time-limit", "0.2", "--", "sleep", "60"], [], "the command failed: it ran for more than 0.2 s"),
    (["--output-limit", "1000", "--", "yes"], [], "the command failed: it printed more than 1,000 bytes"),
    (["--shell", "kill -9 $$"], [], "the command failed: signal 9 ended it"),
    (["--allow", "answers/#", "--", "cat"], ["-e", "elsewhere"], "its Response Topic 'elsewhere' is not allowed"),
    (["--", "cat"], ["-e", "$own/a"], "its Response Topic '$own/a' is not allowed"),
    (["--", "cat"], ["-e", "a/+", "--force"], "its Response Topic 'a/+' holds a wildcard (MQTT5-3.3.2-14)"),
]


@pytest.mark.parametrize(("flags", "asked", "reason"), UNANSWERED, ids=[reason for _, _, reason in UNANSWERED])
def test_a_request_that_is_not_answered_is_named(
    flags: list[str], asked: list[str], reason: str, topic: str, mosquitto: int
) -> None:
    with responding(mosquitto, topic, "-C", "1", *flags) as process:
        # Not `request`, whose subscription to such a topic would be refused.
        response = asked[1] if asked else "answers/x"
        pub = ["pub", *place(mosquitto), "-t", topic, "-m", "x", "-q", "1", "-rt", response]
        assert main([*pub, *asked[2:]]) == 0
        _, err = process.communicate(timeout=30)
    assert err.splitlines()[0] == f"mqttpub: no answer to a request to '{topic}': {reason}"
    assert process.returncode == 1


def test_a_failure_may_be_answered_and_a_shell_used(topic: str, mosquitto: int) -> None:
    with responding(mosquitto, topic, "--answer-failures", "-ct", "text/plain", "--shell", "read a; echo $a$a; exit 3"):
        done = request(mosquitto, topic, "-m", "ab", "-F", "%C %p")
    assert done.stdout == b"text/plain abab\\n\n"


def test_no_more_commands_run_than_may(topic: str, mosquitto: int, tmp_path: Any) -> None:
    # Each command finds out how many of its kind run: a file for each, counted while all of a batch are there.
    text = (
        f"name = '{tmp_path}/' + str(os.getpid()); open(name, 'w').close(); import time; time.sleep(0.05); "
        f"print(len(os.listdir('{tmp_path}')), end=''); os.remove(name)"
    )
    with responding(mosquitto, topic, "--parallel", "3", *shell(text)):
        done = request(mosquitto, topic, "-m", "x", "--repeat", "12", "--parallel", "12")
    seen = [int(each) for each in done.stdout.split()]
    assert len(seen) == 12
    assert max(seen) in (2, 3)


def test_a_command_of_a_signal_ends_with_it(topic: str, mosquitto: int, tmp_path: Any) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    with responding(mosquitto, topic, "--shell", f"echo $$ > {started}; sleep 60") as process:
        assert main(["pub", *place(mosquitto), "-t", topic, "-m", "x", "-q", "1", "-rt", "a"]) == 0
        child = int(started.read_text())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted; 0 requests answered" in err
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


# what the broker says


def packets_of(peer: Peer) -> Any:
    packet = decode(peer.packet(), Version.V5, direction=Direction.CLIENT).packet
    assert packet is not None
    return packet


def send(peer: Peer, packet: Any) -> None:
    peer.sock.sendall(encode(packet, Version.V5))


def test_the_response_information_is_the_basis_of_the_topic(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    def script(peer: Peer) -> None:
        packets_of(peer)
        send(peer, Connack(properties=(Property(RESPONSE_INFORMATION.id, "replies/me/"),)))
        subscribe = packets_of(peer)
        (subscription,) = subscribe.subscriptions
        assert subscription.filter.startswith("replies/me/")
        send(peer, Suback(packet_id=subscribe.packet_id, reason_codes=(1,)))
        publish = packets_of(peer)
        assert value_of(publish.properties, RESPONSE_TOPIC) == subscription.filter
        data = Property(CORRELATION_DATA.id, value_of(publish.properties, CORRELATION_DATA))
        send(peer, Publish(topic=subscription.filter, payload=b"old", retain=True, properties=(data,)))
        send(peer, Publish(topic=subscription.filter, payload=b"new", properties=(data,)))
        peer.wait()

    with scripted(script) as port:
        line = ["request", *place(port), "-t", "a", "-m", "x", "-q", "0", "--request-response-information", "1"]
        assert main(line) == 0
    assert capsysbinary.readouterr().out == b"new\n"


@pytest.mark.parametrize(
    ("basis", "wrong"),
    [
        ("$SYS/#", "holds the wildcard #"),
        ("a/+/b", "holds the wildcard +"),
        ("", "is empty"),
        ("$share/g/a", "makes a Shared Subscription"),
        ("x" * 65_530, "has more than 65526 bytes"),
    ],
    ids=lambda text: text[:20],
)
def test_response_information_that_cannot_begin_a_topic_is_refused(
    basis: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rest: list[bytes] = []

    def script(peer: Peer) -> None:
        packets_of(peer)
        send(peer, Connack(properties=(Property(RESPONSE_INFORMATION.id, basis),)))
        rest.append(peer.packet())
        peer.wait()

    with scripted(script) as port:
        line = ["request", *place(port), "-t", "a", "-m", "x", "--request-response-information", "1"]
        assert main(line) == 5
    assert rest == [b"\xe0\0"]
    assert capsys.readouterr().err.endswith(f"cannot begin a Response Topic: it {wrong}; -e names another topic\n")


REFUSALS = [("90 04 00 01 00 87", 5, "the broker refused the Topic Filter"), ("90 04 00 02 00 87", 6, "no SUBACK")]


@pytest.mark.parametrize(("suback", "status", "said"), REFUSALS)
def test_a_refused_subscription(suback: str, status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send(suback)
        if status == 5:
            assert peer.packet() == bytes.fromhex("e000")
        peer.wait()

    with scripted(script) as port:
        assert main(["request", *place(port), "-t", "a", "-m", "x", "--timeout", "1"]) == status
    assert said in capsys.readouterr().err


def test_a_refused_request(capsys: pytest.CaptureFixture[str]) -> None:
    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send("90 04 00 01 00 01")
        packet_id = packets_of(peer).packet_id
        peer.send(f"40 03 {packet_id:04x} 87")
        assert peer.packet() == bytes.fromhex("e000")
        peer.wait()

    with scripted(script) as port:
        assert main(["request", *place(port), "-t", "a", "-m", "x"]) == 5
    assert "the broker refused the request: 0x87 Not authorized" in capsys.readouterr().err


def subscribed(peer: Peer, connack: str = "20 03 00 00 00") -> None:
    """Accept the client and its subscription."""
    peer.accept(connack)
    assert packets_of(peer).name == "SUBSCRIBE"
    peer.send("90 04 00 01 00 01")


def asked(text: str, qos: int = 0) -> Publish:
    """Return a request whose answer goes to `b`."""
    properties = Property(RESPONSE_TOPIC.id, "b"), Property(CORRELATION_DATA.id, b"1")
    return Publish(
        topic="a", payload=text.encode(), qos=qos, packet_id=7 if qos else None, properties=properties
    )  # fmt: skip


def test_a_responder_begins_nothing_new_when_its_time_is_up() -> None:
    answers = 0

    def always_more(peer: Peer) -> None:
        nonlocal answers
        subscribed(peer)
        for _ in range(10):
            send(peer, asked("x"))
        while peer.packet()[:1] == b"\x30":
            answers += 1
            send(peer, asked("x"))

    with scripted(always_more) as port:
        line = [*PROGRAM, "respond", *place(port), "-t", "a", "-W", "1", "--shell", "sleep 0.3"]
        done = subprocess.run(line, capture_output=True, check=False, timeout=30)
    assert (done.returncode, 1 <= answers <= 5) == (0, True)


def test_a_responder_ends_in_time_without_a_connection() -> None:
    def lost(peer: Peer) -> None:
        subscribed(peer)
        peer.reset()

    with scripted_many([lost, Peer.reset]) as port:
        line = [*PROGRAM, "respond", *place(port), "-t", "a", "-W", "1", "--timeout", "1", "--reconnect", "--", "cat"]
        done = subprocess.run(line, capture_output=True, check=False, timeout=30)
    assert (done.returncode, b"connecting again" in done.stderr) == (0, True)


def test_a_responder_connects_again() -> None:
    answers: list[Any] = []

    def second(peer: Peer) -> None:
        subscribed(peer)
        send(peer, asked("x", qos=1))
        puback, answer = sorted((packets_of(peer), packets_of(peer)), key=lambda packet: packet.name)
        answers.extend((puback.packet_id, answer.topic, answer.payload, value_of(answer.properties, CORRELATION_DATA)))
        peer.send(f"40 02 {answer.packet_id:04x}")
        peer.wait()

    with scripted_many([subscribed, second]) as port:
        assert main(["respond", *place(port), "-t", "a", "--reconnect", "-C", "1", "--", "cat"]) == 0
    assert answers == [7, "b", b"x", b"1"]


def test_an_answer_of_qos_0_counts_as_sent_only_if_the_broker_closes_after_it() -> None:
    answer = encode(Publish(topic="b", payload=b"x", properties=(Property(CORRELATION_DATA.id, b"1"),)), Version.V5)
    for status in (0, 6):

        def script(peer: Peer, status: int = status) -> None:
            subscribed(peer)
            send(peer, asked("x"))
            # What stays in the socket makes its close a reset.
            assert (peer.sock.recv(len(answer)) if status else peer.packet()) == answer
            assert status or peer.packet() == b"\xe0\x00"

        with scripted(script) as port:
            line = ["respond", *place(port), "-t", "a", "-q", "0", "-C", "1", "--", "cat"]
            assert main(line) == status


def test_of_too_many_requests_the_oldest_are_dropped(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)

    def flood(peer: Peer) -> None:
        subscribed(peer)
        peer.sock.sendall(b"".join(encode(asked(str(number)), Version.V5) for number in range(1200)))
        # PINGREQ comes once the flood was read.
        while peer.packet()[0] != 0xC0:
            continue
        peer.send("d0 00")
        go.write_text("go\n")
        peer.wait()

    with scripted(flood) as port:
        line = ["respond", *place(port), "-t", "a", "-k", "1", "-C", "1", "--json", "--shell", f"read x < {go}; cat"]
        assert main(line) == 0
    shown = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    dropped = [each for each in shown if each["event"] == "unanswered"]
    assert 100 <= len(dropped) <= 200
    assert all(each["reason"].endswith(" requests already wait") for each in dropped)


WRONG = [
    (["request", "-m", "x"], "no topic"),
    (["request", "-t", "a", "-m", "x", "-V", "3.1.1"], "-e is needed: MQTT 3.1.1"),
    (["request", "-t", "a", "-m", "x", "-e", "a/#"], "Response Topic holds the wildcard #"),
    (["request", "-t", "a", "-m", "x", "--any-answer", "--parallel", "2"], "--parallel needs Correlation Data"),
    (["request", "-t", "a", "-m", "x", "-cd", "1", "--repeat", "2"], "--repeat needs Correlation Data of its own"),
    (["request", "-t", "a", "-m", "x", "-F", "%z"], "Invalid format specifier 'z'."),
    (["request", "-t", "a", "-m", "x", "-v", "--json"], "only one of -v, -F, --json and --raw"),
    (["respond", "-t", "a"], "Missing argument"),
    (["respond", "--", "cat"], "no topic: give a Topic Filter with -t"),
    (["respond", "-t", "a", "--", "no-such-program"], "there is no program 'no-such-program'"),
    (["respond", "-t", "a/#", "--answer-topic", "a/b", "--", "cat"], "each answer would be another request"),
    (["respond", "-t", "a", "--answer-topic", "b/#", "--", "cat"], "must not hold wildcards"),
    (["respond", "-t", "a", "--allow", "a/#/b", "--", "cat"], "--allow: 'a/#/b' is not a Topic Filter"),
    (["respond", "-t", "a", "--shell", "cat", "-n"], "--shell takes one line"),
]


@pytest.mark.parametrize(("line", "said"), WRONG, ids=[said for _, said in WRONG])
def test_lines_that_cannot_work(line: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([line[0], "-p", "1", *line[1:]]) == 2
    assert said in capsys.readouterr().err
