"""Real clients, and clients that are none, run for a case."""

import os
import sys
import time
from pathlib import Path

import pytest

from mqttpub.common.errors import UserError
from mqttpub.lab.conform.client_cases import client_cases
from mqttpub.lab.conform.client_playing import ClientAccess, play_client
from mqttpub.lab.conform.client_run import run_client
from mqttpub.lab.conform.command import RunningClient
from mqttpub.lab.conform.playing import CaseResult
from mqttpub.lab.conform.verdicts import verdicts
from mqttpub.script.encoder import ScriptEncoder
from mqttpub.script.steps import PacketStep
from mqttpub.spec.versions import Direction, Version
from tests.lab.conform.client_proving import named

MQTTPUB = [sys.executable, "-m", "mqttpub"]
AT = ["-h", "{host}", "-p", "{port}"]


def access(*words: str) -> ClientAccess:
    return ClientAccess(lambda server: RunningClient(words, server), 1.0)


def script(*lines: str) -> ClientAccess:
    """Run Python, which knows the port as `port`, a CONNECT as `hello`, and how to make a connection."""
    head = (
        "import socket, sys, time, os, signal",
        "port = int(sys.argv[1])",
        "hello = bytes.fromhex('100e00044d5154540502003c0000016378'[:-2])",
        "dial = lambda: socket.create_connection(('127.0.0.1', port))",
    )
    return access(sys.executable, "-c", "\n".join((*head, *lines)), "{port}")


def played(name: str, client: ClientAccess, version: Version = Version.V5) -> CaseResult:
    return play_client(named(version, name), client).result


# real clients


def test_every_step_of_every_case_can_be_played_in_its_version() -> None:
    for version in Version:
        for case in client_cases(version):
            encoder = ScriptEncoder(version)
            encoder.bindings |= {"m": 1, "n": 2, "a": 3, "t": b"t", "p": b"p", "method": b"m"}
            if case.act is None:
                continue
            encoder.version_line(case.act.versions)
            for step in case.act.steps:
                if isinstance(step, PacketStep) and step.direction is Direction.SERVER and not step.times:
                    # Raises BadText for words that the version does not have.
                    assert encoder.bytes_of(step)


@pytest.mark.broker
def test_mosquitto_pub_is_put_to_the_test() -> None:
    client = access("mosquitto_pub", *AT, "-V", "5", "-t", "a/b", "-m", "hello", "-q", "1")
    kept = played("receives-qos1-waiting", client)
    assert (kept.verdict, kept.why) == ("kept", "")
    assert [each.frame.data[0] >> 4 for each in kept.packets] == [1, 2, 3, 3, 4, 4, 14]
    missed = played("released-again", client)
    assert missed.verdict == "not exercised"
    assert missed.why == "the client sent no packet as in '> pubrel i=$m'"
    broken = played("session-unknown", client)
    assert (broken.verdict, broken.why) == ("broken", "the client did not close the connection within 1 s")
    other = played("plain", client, Version.V311)
    assert (other.verdict, other.why) == ("not exercised", "the client speaks MQTT 5.0 this time")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "words"),
    [
        (Version.V5, ["pub", *AT, "-t", "a/b", "-m", "hello", "-q", "2", "--retain"]),
        pytest.param(
            Version.V311, ["sub", *AT, "-t", "a/#", "-q", "2", "-V", "3.1.1", "-k", "2"], marks=pytest.mark.long
        ),
        pytest.param(Version.V5, ["sub", *AT, "-t", "a/#", "-q", "2", "--reconnect"], marks=pytest.mark.long),
        pytest.param(Version.V5, ["request", *AT, "-t", "a/b", "-m", "hello"], marks=pytest.mark.long),
        pytest.param(Version.V5, ["respond", *AT, "-t", "a/b", "--", "cat"], marks=pytest.mark.long),
        pytest.param(Version.V31, ["pub", *AT, "-t", "a/b", "-m", "x", "-q", "1", "-V", "3.1"], marks=pytest.mark.long),
    ],
    ids=["pub", "sub-3.1.1", "sub", "request", "respond", "pub-3.1"],
)
def test_the_clients_of_mqttpub_keep_all(version: Version, words: list[str]) -> None:
    found = list(verdicts(version, run_client(client_cases(version), access(*MQTTPUB, *words), 16), Direction.CLIENT))
    assert [(each.statement.id, each.why) for each in found if each.verdict == "broken"] == []
    assert sum(each.verdict == "kept" for each in found) > 30


# clients that are none


def test_a_client_that_cannot_be_started_leaves_no_server() -> None:
    with pytest.raises(UserError, match=r"^cannot run '/nonexistent/client': No such file or directory$"):
        played("plain", access("/nonexistent/client", *AT))


def test_a_client_that_connects_without_end_is_ended() -> None:
    result = played("plain", script("while True:", "    dial()"))
    assert result.verdict == "not exercised"
    assert result.why == "the client sent no CONNECT: the client connected more than 20 times"
    assert result.seconds < 5


def test_a_client_that_sends_without_end_is_ended() -> None:
    client = script("s = dial()", "s.sendall(hello)", "while True:", "    s.sendall(b'\\xc0\\0' * 999)")
    result = played("plain", client)
    assert len(result.packets) < 2100
    assert result.seconds < 5


def test_a_client_that_ignores_the_server_and_signals_is_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    client = script(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "ready, is_ready = os.pipe()",
        "other = os.fork()",
        f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')",
        # One after the other, each in one write; the case begins when both are there.
        "if other: os.read(ready, 1)",
        "os.write(1, b'stays\\n')",
        "if not other: os.write(is_ready, b'x')",
        "s = dial() if other else None",
        "if s: s.sendall(hello)",
        "time.sleep(600)",
    )
    result = played("disconnected", client)
    assert (result.verdict, result.why) == ("broken", "the client did not close the connection within 1 s")
    assert result.output == b"stays\n" * 2
    # What it started has ended with it.
    for pid in map(int, pids.read_text().split()):
        until_s = time.monotonic() + 5
        while _lives(pid):
            assert time.monotonic() < until_s, pid


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_client_that_only_listens_ends_as_no_client() -> None:
    began = time.monotonic()
    run = play_client(named(Version.V5, "plain"), script("s = dial()", "s.recv(1)"))
    assert run.version is None
    assert time.monotonic() - began < 5


def test_a_client_that_dies_at_once_has_shown_what_it_sent() -> None:
    result = played("plain", script("dial().sendall(b'\\xc0\\0')", "os._exit(1)"))
    assert [each.statement for each in result.broken] == ["MQTT5-3.1.0-1"]


def test_descriptors_are_closed() -> None:
    client = script("dial().sendall(hello)")
    played("plain", client)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        played("plain", client)
    assert len(os.listdir("/proc/self/fd")) == before
