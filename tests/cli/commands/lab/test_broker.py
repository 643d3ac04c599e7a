"""`broker` as a process: fault rules before real clients, limits, and the server's end of scripts."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from mqttpub.lab.broker.limits import Limits
from mqttpub.lab.broker.server import Broker
from tests.build.brokers import free_port
from tests.program import PROGRAM

pytestmark = pytest.mark.slow


class Running:
    """A broker that runs, and what it printed once it was stopped."""

    def __init__(self, *words: str) -> None:
        command = [*PROGRAM, "broker", "-p", "0", *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        found = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+); press Ctrl-C to stop\n", self.line())
        assert found, self.process.communicate(timeout=20)
        self.port = int(found[1])
        self.out = self.err = ""

    def wait(self) -> int:
        """Return the exit status of a broker that ends by itself."""
        self.out, self.err = self.process.communicate(timeout=30)
        return self.process.returncode

    def line(self) -> str:
        """Wait for the next line that it prints."""
        assert self.process.stdout
        return self.process.stdout.readline()

    def pub(self, client_id: str, *words: str, qos: int = 1) -> int:
        """Publish `hi` to `a` with our client and return the exit status."""
        target = ["-h", "127.0.0.1", "-p", str(self.port), "-i", client_id]
        topic = [] if "-t" in words else ["-t", "a"]
        payload = [] if "-m" in words else ["-m", "hi"]
        return main(["pub", *target, *topic, *payload, "-q", str(qos), *words])

    def mosquitto(self, program: str, *words: str, data: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a client of mosquitto."""
        command = [program, "-V", "mqttv5", "-h", "127.0.0.1", "-p", str(self.port), *words]
        return subprocess.run(command, input=data, capture_output=True, text=True, timeout=30, check=False)


@contextmanager
def running(*words: str) -> Iterator[Running]:
    """Run a broker, and end it as Ctrl-C does."""
    made = Running(*words)
    try:
        yield made
    finally:
        if made.process.returncode is None:
            made.process.send_signal(signal.SIGINT)
            status = made.wait()
            assert status == 130, made.err


BREAKS = {
    "drop": ("type=PUBACK drop", 6, "dropped PUBACK i=1"),
    "set": ('type=PUBACK set reason_code=0x97 reason_string="no room"', 5,
            'set reason_code=0x97 reason_string="no room" in PUBACK i=1'),
    "reset": ("type=PUBACK reset", 6, "reset the connection instead of sending PUBACK i=1"),
    "close": ("type=PUBACK close", 6, "closed the connection instead of sending PUBACK i=1"),
    "silence": ("type=PUBACK silence", 6, "silent from PUBACK i=1 on"),
    "cut": ("type=PUBACK cut 1", 6, "cut 1 byte off PUBACK i=1"),
    "slice": ("slice 1", 0, "sent PUBLISH i=1 t=a in 10 pieces"),
    "twice": ("type=PUBACK twice", 0, "sent PUBACK i=1 twice"),
    "delay": ("direction=server delay 50ms", 0, "delayed PUBACK i=1 by 50 ms"),
    "reorder": ("type=PUBLISH reorder 1", 0, "sent PUBLISH i=1 t=a after 0 later packets, as no more came within 1 s"),
}  # fmt: skip
"""For each action: a rule, the exit status of `pub` that meets it, and what is said of it."""


def test_each_action_does_to_pub_what_it_should(capsys: pytest.CaptureFixture[str]) -> None:
    rules = [word for name, (rule, _, _) in BREAKS.items() for word in ("--fault", f"client={name} {rule}")]
    with running("-q", *rules) as broker:
        found = {name: broker.pub(name, "--timeout", "2" if status == 0 else "0.5")
                 for name, (_, status, _) in BREAKS.items()}  # fmt: skip
    assert found == {name: status for name, (_, status, _) in BREAKS.items()}
    told = capsys.readouterr().err
    assert "mqttpub: the broker refused the message: 0x97 Quota exceeded: no room" in told
    assert "mqttpub: no PUBACK for Packet Identifier 1 within 0.5 s" in told
    for number, (name, (rule, _, words)) in enumerate(BREAKS.items(), 1):
        line = rf"^\[{number}\] \d+\.\d{{3}} s  {re.escape(words)}  \(rule: client={name} {re.escape(rule)}\)$"
        assert re.search(line, broker.err, re.MULTILINE), (line, broker.err)
    assert "--seed" not in broker.err


@pytest.mark.broker
def test_the_clients_of_mosquitto_meet_the_same_faults() -> None:
    rules = ("client=reset type=PUBACK reset", "client=set type=PUBACK set c=97", "client=sub type=PUBLISH twice",
             "client=denied type=SUBACK set c=87", "client=bytes slice 1")  # fmt: skip
    with running("-q", *(word for rule in rules for word in ("--fault", rule))) as broker:
        lost = broker.mosquitto("mosquitto_pub", "-i", "reset", "-t", "a", "-m", "hi", "-q", "1")
        refused = broker.mosquitto("mosquitto_pub", "-i", "set", "-t", "a", "-m", "hi", "-q", "1")
        assert broker.pub("keeps", "-r", qos=0) == 0
        got = broker.mosquitto("mosquitto_sub", "-i", "sub", "-t", "a", "-C", "2", "-W", "10", "-q", "1")
        denied = broker.mosquitto("mosquitto_sub", "-i", "denied", "-t", "a", "-C", "1", "-W", "10")
        sliced = broker.mosquitto("mosquitto_sub", "-i", "bytes", "-t", "a", "-C", "1", "-W", "10")
    assert (lost.returncode, lost.stderr) == (7, "Error: The connection was lost.\n")
    assert "Quota exceeded" in refused.stderr
    assert got.stdout == "hi\nhi\n"
    assert "denied" in denied.stderr
    assert sliced.stdout == "hi\n"


@pytest.mark.broker
def test_a_seed_repeats_a_run() -> None:
    def run(*seed: str) -> tuple[list[str], str]:
        with running("-q", "--fault", "direction=client type=PUBLISH drop 30%", *seed) as broker:
            lines = "".join(f"{number}\n" for number in range(60))
            assert broker.mosquitto("mosquitto_pub", "-t", "a", "-l", data=lines).returncode == 0
            # The broker has read all of it when it answers another client.
            assert main(["conn", "-h", "127.0.0.1", "-p", str(broker.port)]) == 0
        said, *acts = broker.err.splitlines()
        return [re.sub(r"\d+\.\d+ s", "", act) for act in acts if act.startswith("[1]")], said

    first, said = run("--seed", "5")
    assert said == "chance of this run: --seed 5"
    assert 5 < len(first) < 35
    assert run("--seed", "5")[0] == first
    assert run("--seed", "6")[0] != first


def test_without_a_seed_the_one_in_use_is_printed() -> None:
    with running("-q", "--fault", "drop 1%") as broker:
        pass
    assert re.match(r"chance of this run: --seed \d+\n", broker.err)


@pytest.mark.broker
def test_limits_hold_for_our_clients_and_those_of_mosquitto(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--maximum-qos", "1", "--retain-available", "0", "--wildcard-subscription-available", "0",
             "--shared-subscription-available", "0", "--receive-maximum", "5", "--server-keep-alive", "7",
             "--maximum-packet-size", "1000", "--session-expiry-interval", "60")  # fmt: skip
    with running(*flags) as broker:
        assert broker.pub("q2", qos=2) == 5
        assert broker.pub("retain", "-r") == 5
        assert broker.pub("large", "-m", "x" * 1000) != 0
        assert main(["conn", "-h", "127.0.0.1", "-p", str(broker.port), "-i", "look", "-x", "900"]) == 0
        for filter in ("a/#", "$share/g/a"):
            assert broker.mosquitto("mosquitto_sub", "-t", filter, "-C", "1", "-W", "10").stdout == ""
        sent = broker.mosquitto("mosquitto_pub", "-t", "a", "-m", "hi", "-q", "2")
    shown = capsys.readouterr().out
    for name, value in (("Receive Maximum", "5"), ("Maximum QoS", "1"), ("Keep Alive", "7 s"),
                        ("Session Expiry Interval", "60")):  # fmt: skip
        assert re.search(rf"{name}\s+{value}\b", shown), (name, shown)
    assert "QoS" in sent.stderr
    assert "this broker accepts no wildcards in a Topic Filter" in broker.out
    assert "this broker has no Shared Subscriptions" in broker.out


PUBLISH = "version 5.0 3.1.1\n> connect; < connack c=00\n> publish q1 i=$p t=a p=hi; < puback i=$p\n> disconnect\n"


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A script of which the client publishes a message."""
    file = tmp_path / "talk.mqtt"
    file.write_text(PUBLISH)
    return file


def test_a_script_is_played_once_with_its_result_as_status(talk: Path) -> None:
    for words, client, status, shown in (
        ((), 0, 0, "ok      {}  "),
        (("-t", "b"), 6, 1, "FAILED  {}  line 3: PUBLISH came, but not with t=a\n"),
        (("-V", "3.1"), 3, 1, "FAILED  {}  line 2: the client speaks MQTT 3.1, but the script is for 5.0, 3.1.1\n"),
    ):
        broker = Running("--script", str(talk), "--once")
        found = broker.pub("c", *words)
        assert (broker.wait(), found) == (status, client)
        assert broker.out.startswith(shown.format(talk))


def test_a_script_to_which_no_client_comes_has_failed(talk: Path) -> None:
    broker = Running("--script", str(talk), "--once", "--timeout", "0.2")
    assert broker.wait() == 1
    assert "no client connected within 0.2 s" in broker.out


@pytest.mark.broker
def test_a_script_is_played_to_one_client_after_another(talk: Path) -> None:
    with running("--script", str(talk)) as broker:
        assert broker.mosquitto("mosquitto_pub", "-t", "a", "-m", "hi", "-q", "1").returncode == 0
        assert broker.line().startswith(f"ok      {talk}  ")
        assert broker.pub("b", "-t", "other") == 6
        assert broker.line() == f"FAILED  {talk}  line 3: PUBLISH came, but not with t=a\n"
        assert broker.pub("c", "-V", "3.1.1") == 0
        while not (line := broker.line()).startswith("ok"):
            assert line
    with running("--script", str(talk), "-q") as broker:
        assert (broker.pub("c"), broker.pub("c", "-t", "other")) == (0, 6)
        assert broker.line().startswith("FAILED")


def test_authentication_is_a_script(tmp_path: Path) -> None:
    file = tmp_path / "auth.mqtt"
    file.write_text(
        "> connect authentication_method=X authentication_data=hex:01\n"
        "< auth c=18 authentication_method=X authentication_data=hex:02\n"
        "> auth c=18 authentication_method=X authentication_data=hex:03\n"
        "< connack c=00 authentication_method=X\n"
        "> disconnect\n"
    )
    broker = Running("--script", str(file), "--once")
    assert main(["step", "-h", "127.0.0.1", "-p", str(broker.port), str(file)]) == 0
    assert broker.wait() == 0


@pytest.mark.parametrize(("words", "message"), [
    (["--fault", "type=PUBACK dorp"], "--fault: character 13: 'dorp' is neither a term of --filter nor an action"),
    (["--fault", "type=PUBACK set topic=x"], "--fault: character 17: PUBACK has no 'topic'"),
    (["--seed", "1"], "--seed is for the chance of rules: give --fault too"),
    (["--once"], "--once is for --script"),
    (["--timeout", "1"], "--timeout is for --script"),
    (["--script", "qos1", "--fault", "drop"], "--fault is for the embedded broker"),
    (["--script", "qos1", "--maximum-qos", "1"], "--maximum-qos is for the embedded broker"),
    (["--script", "nothing"], "there is neither a file nor a ready script 'nothing' (see step --list)"),
    (["--maximum-qos", "2"], "--maximum-qos is 2, but must be 0 or 1"),
    (["--receive-maximum", "0"], "--receive-maximum is 0, but must be 1 or more"),
    (["--maximum-packet-size", "9000000"], "this broker takes packets of 8,388,608 bytes at most"),
    (["-A", "192.0.2.1"], "'192.0.2.1' is 192.0.2.1, but the embedded broker listens on loopback addresses only"),
    (["-A", "192.0.2.1", "--script", "qos1"], "a scripted server listens on loopback addresses only"),
])  # fmt: skip
def test_wrong_flags_are_one_sentence(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    assert main(["broker", "-p", str(free_port()), *words]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.startswith("mqttpub broker: ")
    assert told.count("\n") == 1


def test_a_script_that_cannot_be_played_is_known_before_a_client_comes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.mqtt"
    file.write_text("> connect\n< publish q1 t=a\n")
    assert main(["broker", "-p", "0", "--script", str(file)]) == 2
    assert capsys.readouterr().err == f"mqttpub broker: {file}: line 2, column 1: PUBLISH needs i= (packet_id)\n"


@pytest.mark.parametrize("more", [[], ["--script", "qos1"]])
def test_a_port_in_use_is_one_sentence(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        assert main(["broker", "-p", str(broker.port), *more]) == 2
        assert capsys.readouterr().err == (
            f"mqttpub broker: cannot listen on 127.0.0.1:{broker.port}: Address already in use\n"
        )


def test_what_a_rule_sets_may_be_a_secret() -> None:
    with running("-q", "--fault", "type=CONNECT set password=s3cret!") as broker:
        assert broker.pub("c") == 0
    assert "s3cret!" not in broker.err
    assert "set password=******* in CONNECT  (rule: type=CONNECT set password=*******)" in broker.err


def test_the_defaults_of_the_flags_are_those_of_the_broker() -> None:
    with running() as broker:
        assert broker.pub("c") == 0
    assert Limits().receive == 100
    assert "connect    c  MQTT 5.0" in broker.out
