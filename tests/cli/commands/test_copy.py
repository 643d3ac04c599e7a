"""`copy` between two real brokers, and what it says of wrong input."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.codec.encode import encode
from mqttpub.spec.packets import Connack, Publish, Suback
from mqttpub.spec.versions import Version
from tests.build import brokers
from tests.fakes import Peer, scripted
from tests.program import PROGRAM, run

pytestmark = pytest.mark.broker
Ends = tuple[str, str]
KEPT = {
    "payload_format_indicator": 1, "message_expiry_interval": 1000, "content_type": "text/plain",
    "response_topic": "r/1", "correlation_data": {"base64": "AP8="},
    "user_property": [["a", "b"], ["a", "c"], ["mqttpub-hops", "1"]],
}  # fmt: skip


@pytest.fixture(scope="module")
def ends(mosquitto: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ends]:
    """Run a second mosquitto and yield the URLs of both."""
    with brokers.mosquitto(tmp_path_factory.mktemp("second"), brokers.plain) as (port,):
        yield url(mosquitto), url(port)


def url(port: int) -> str:
    return f"mqtt://127.0.0.1:{port}"


@contextmanager
def copying(*words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `copy` until the block ends, from when it has subscribed."""
    with subprocess.Popen([*PROGRAM, "copy", *words], stdout=-1, stderr=-1, text=True) as process:
        assert process.stderr
        assert "copying" in process.stderr.readline()
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(30)


def published(broker: str, topic: str, *flags: str, data: bytes = b"") -> None:
    assert run("pub", "-L", broker, "-t", topic, *flags, data=data).returncode == 0


def received(broker: str, filter: str, count: int, *flags: str) -> list[dict[str, Any]]:
    """Return messages as a subscriber of the broker gets them."""
    done = run("sub", "-L", broker, "-t", filter, "-q", "2", "-C", count, "-W", "20", "--json", *flags)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("extra", [(), ("--outbox", "{folder}/outbox")], ids=["memory", "outbox"])
def test_everything_of_a_message_is_kept(extra: tuple[str, ...], ends: Ends, tmp_path: Path) -> None:
    topic = f"copy/kept/{len(extra)}"
    published(
        ends[0], topic, "-q", "2", "-r", "-s", "-pf", "1", "-e", "1000", "-ct", "text/plain", "-rt", "r/1",
        "-cd", "hex:00ff", "-up", "a=b", "-up", "a=c", "--force", data=b"\x00\xff",
    )  # fmt: skip
    words = [each.format(folder=tmp_path) for each in extra]
    done = run("copy", *ends, "-t", topic, "-C", "1", "--json", *words)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["taken"], summary["accepted"], summary["unknown"], summary["waiting"]) == (1, 1, 0, 0)
    (message,) = received(ends[1], topic, 1)
    assert message["payload"] == {"base64": "AP8="}
    assert (message["qos"], message["retain"]) == (2, True)
    assert {**message["properties"], "message_expiry_interval": 1000} == KEPT


def test_live_messages_keep_their_order_qos_and_retain(ends: Ends) -> None:
    lines = b"".join(
        b'{"topic":"copy/live/%d","payload":"%d","qos":%d,"retain":%s}\n' % (n, n, n % 3, [b"false", b"true"][n % 2])
        for n in range(300)
    )  # fmt: skip
    with subprocess.Popen(
        [*PROGRAM, "sub", "-L", ends[1], "-t", "new/live/#", "-q", "2", "-rap", "-C", "300", "--json", "-d"],
        stdout=-1, stderr=subprocess.DEVNULL, text=True,
    ) as sub, copying(
        *ends, "-t", "$share/group/copy/live/#", "--rewrite-topic", "s/^copy/new/", "-C", "300"
    ) as copy:  # fmt: skip
        assert sub.stdout
        next(line for line in sub.stdout if "SUBACK" in line)
        published(ends[0], "", "--jsonl", data=lines)
        assert copy.wait(60) == 0
        seen = [json.loads(line) for line in sub.stdout if line.startswith('{"topic"')]
    found = [(each["topic"], int(each["payload"]), each["qos"], each["retain"]) for each in seen]
    # QoS 0 may overtake, and QoS 2 is given on by the broker once it is released.
    for qos in range(3):
        assert [each for each in found if each[2] == qos] == [
            (f"new/live/{n}", n, qos, bool(n % 2)) for n in range(qos, 300, 3)
        ]


def test_copies_in_both_directions_end(ends: Ends) -> None:
    with (
        copying(*ends, "-t", "copy/loop", "-C", "50", "--hops", "1") as there,
        copying(*reversed(ends), "-t", "copy/loop", "-C", "50") as back,
    ):
        published(ends[0], "copy/loop", "-q", "1", "-l", data=b"x\n" * 50)
        said = [process.communicate(timeout=30)[1] for process in (there, back)]
    assert "50 messages taken, 50 given\n" in said[0]
    assert "50 messages taken, 0 given, 50 left out\n" in said[1]


def test_without_a_mark_the_topic_shows_what_would_come_back(ends: Ends, capsys: pytest.CaptureFixture[str]) -> None:
    published(ends[0], "copy/old/1", "-r", "-m", "x")
    line = ["copy", ends[0], ends[0], "-V", "3.1.1", "-t", "copy/old/#", "-C", "1", "--rewrite-topic"]
    assert main([*line, "s/old/old\\/er/"]) == 0
    assert "1 message taken, 0 given, 1 left out" in capsys.readouterr().err
    assert main([*line, "s/old/new/"]) == 0
    assert "1 message taken, 1 given" in capsys.readouterr().err


def test_dollar_topics_only_when_they_are_named(ends: Ends, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["copy", *ends, "-t", "$SYS/broker/version", "-C", "1"]
    assert main([*line, "--rewrite-topic", "s/^.SYS/sys/"]) == 0
    assert received(ends[1], "sys/broker/version", 1)[0]["retain"]
    # mosquitto lets nobody write there.
    assert main(line) == 5
    said = capsys.readouterr().err
    assert "the target refused a message to '$SYS/broker/version': 0x87 Not authorized" in said
    assert "1 message taken, 0 given, 1 refused" in said


def test_what_the_target_does_not_acknowledge_is_not_acknowledged_to_the_source(ends: Ends) -> None:
    packets: list[bytes] = []

    def silent(peer: Peer) -> None:
        peer.packet()
        peer.sock.sendall(encode(Connack(session_present=False, reason_code=0), Version.V5))
        packets.append(peer.packet())
        peer.wait()

    def source(peer: Peer) -> None:
        peer.packet()
        peer.sock.sendall(encode(Connack(session_present=False, reason_code=0), Version.V5))
        peer.packet()
        peer.sock.sendall(encode(Suback(packet_id=1, reason_codes=(1,)), Version.V5))
        peer.sock.sendall(encode(Publish(topic="a", qos=1, packet_id=7, payload=b"x"), Version.V5))
        packets.append(peer.packet())

    with scripted(source) as first, scripted(silent) as second:
        done = run("copy", url(first), url(second), "-t", "a", "--timeout", "2")
    assert done.returncode == 6, done.stderr
    assert b"1 message taken, 0 given, 1 in doubt, 1 message not given" in done.stderr
    assert re.search(rb"to 127.0.0.1:\d+: no PUBACK for Packet Identifier 1 within 2 s", done.stderr)
    publish, farewell = packets
    assert publish.startswith(b"\x32")
    assert farewell[0] == 0xE0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["localhost", "mqtt://b", "-t", "a"], "FROM: 'localhost' is neither a URL, such as"),
        (["mqtt://a", "http://b", "-t", "a"], "TO: "),
        (["mqtt://a", "mqtt://b/topic", "-t", "a"], "TO: the URL names the topic 'topic'"),
        (["mqtt://a", "mqtt://b"], "no topic: give a Topic Filter with -t"),
        (["mqtt://a", "mqtt://b", "-t", "a/#/b"], "# that is not a whole last level (MQTT5-4.7.1-1)"),
        (["mqtt://a", "mqtt://a", "-t", "a"], "FROM and TO are the same broker"),
        (["mqtt://a", "mqtt://b", "-t", "a", "--rewrite-topic", "s/("], "column"),
        (["mqtt://a", "mqtt://b", "-t", "a", "--resend-doubtful"], "--resend-doubtful needs --outbox"),
        (["mqtt://a", "-t", "a"], "Missing argument"),
        (["mqtt://a:1", "mqtts://b", "-t", "a", "--cafile", "/none"], "/none"),
    ],
)  # fmt: skip
def test_wrong_input(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["copy", *words]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown


def test_an_end_can_be_a_profile(ends: Ends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mqttpub").mkdir()
    port = ends[1].rpartition(":")[2]
    (tmp_path / "mqttpub" / "config.toml").write_text(
        f'[profile.cloud]\nhost = "127.0.0.1"\nport = {port}\nclient-id = "it"\n'
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    published(ends[0], "copy/profile", "-r", "-m", "x")
    assert main(["copy", ends[0], "cloud", "-t", "copy/profile", "-C", "1"]) == 0
    assert len(received(ends[1], "copy/profile", 1)) == 1
