"""`step` on a terminal: what it shows, and what each verb does, against mosquitto."""

import os
import pty
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from mqttpub.cli.step.prompt import StepPrompt
from mqttpub.lab.raw_client import RawClient
from mqttpub.live.net.dial import open_socket
from mqttpub.live.net.target import Target
from mqttpub.spec.packets import Connect
from mqttpub.spec.versions import Version
from tests.fakes import Peer, scripted
from tests.program import PROGRAM


class Typed:
    """Lines that a user types at the prompts; they are echoed as a terminal does."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)

    def __call__(self, prompt: str) -> str:
        line = next(self._lines, None)
        if line is None:
            raise EOFError
        sys.stdout.write(f"{prompt}{line}\n")
        return line


def screen(
    port: int, lines: Iterable[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    connect: Connect | None = None, timeout_s: float = 10,
) -> str:  # fmt: skip
    """Return what the user sees after typing lines."""
    target = Target(host="127.0.0.1", port=port)
    monkeypatch.setattr("builtins.input", Typed(lines))

    def dial(label: str, version: Version) -> RawClient:
        return RawClient(open_socket(target, time.monotonic() + 10, 10), version=version)

    assert StepPrompt(dial, Version.V5, connect or Connect(client_id="me"), timeout_s).run() == 0
    return capsys.readouterr().out


QOS2 = """\
Enter sends the packet that is next; help lists what else there is.

next      > connect
step>_
> connect ka=60 id=me
  10 0f 00 04 4d 51 54 54 05 02 00 3c 00 00 02 6d 65
< connack sp=0 c=0x00 topic_alias_maximum=10 receive_maximum=20
  20 09 00 00 06 22 00 0a 21 00 14

          client                        broker
owes      nothing                       nothing
in flight none of 20                    none of 65535
next      > publish q2 i=1 t=step p=hello
step> edit p=ho r1 -t t=step/a

          client                        broker
owes      nothing                       nothing
in flight none of 20                    none of 65535
next      > publish q2 i=1 p=ho r1 t=step/a
step>_
> publish q2 r1 t=step/a i=1 p=ho
  35 0d 00 06 73 74 65 70 2f 61 00 01 00 68 6f
< pubrec i=1
  50 02 00 01

          client                        broker
owes      pubrel i=1                    nothing
in flight 1 of 20                       none of 65535
next      > pubrel i=1
step> hold

          client                        broker
owes      pubrel i=1                    nothing
in flight 1 of 20                       none of 65535
held 1    > pubrel i=1
next      > disconnect
step> send 1
> pubrel i=1
  62 02 00 01
< pubcomp i=1
  70 02 00 01

          client                        broker
owes      nothing                       nothing
in flight none of 20                    none of 65535
next      > disconnect
step>_
> disconnect
  e0 00
< FIN closes the connection

next      > connect clean=0
step> quit
"""


@pytest.mark.broker
def test_a_qos_2_exchange_with_an_edit_and_a_hold(
    mosquitto: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["", "edit p=ho r1 -t t=step/a", "", "hold", "send 1", "", "quit"]
    shown = screen(mosquitto, typed, monkeypatch, capsys)
    assert [line.rstrip() for line in shown.splitlines()] == [
        line.rstrip("_ ") for line in QOS2.splitlines()
    ]  # fmt: skip
    assert max(map(len, shown.splitlines())) <= 80
    screen(mosquitto, ["", "publish r1 t=step/a p=", "quit"], monkeypatch, capsys)


@pytest.mark.broker
def test_what_is_saved_plays_again(
    mosquitto: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "saved.mqtt"
    connect = Connect(client_id="saver", username="u", password=b"deep secret")
    typed = [
        "",
        "publish q1 i=5 t=step p=own",
        "publish q2 i=1 t=step p=x",
        "rst",
        "",
        "subscribe i=6 f=step/none:q1",
        "fin",
        f"save {file}",
    ]
    shown = screen(mosquitto, typed, monkeypatch, capsys, connect)
    assert "deep secret" not in shown
    assert "password=***********" in shown
    assert "the password is left out, flags give it" in shown
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert "password" not in text
    assert "[a] client RST\n" in text
    assert "[b] > connect clean=0" in text
    assert main(["step", "-p", str(mosquitto), "-u", "u", "-P", "x", str(file)]) == 0


@pytest.mark.broker
def test_two_connections_share_no_variable(
    mosquitto: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "saved.mqtt"
    typed = ["", "subscribe i=9 f=step/own:q1", "publish q1 i=3 t=step/own p=1", "", "fin"]
    # The broker numbers its messages from 1 on each connection, so the second one of [b] is new.
    typed += ["connect id=other", "subscribe i=9 f=step/own:q1", *["publish q1 i=3 t=step/own p=1", ""] * 2, "fin"]
    shown = screen(mosquitto, [*typed, f"save {file}"], monkeypatch, capsys)
    assert "$" not in shown
    text = file.read_text()
    assert "[a] < publish q1 t=step/own i=$m1:1 p=1\n" in text
    assert "[b] < publish q1 t=step/own i=$m2:1 p=1\n" in text
    assert "[b] < publish q1 t=step/own i=$m3:2 p=1\n" in text
    assert main(["step", "-p", str(mosquitto), str(file)]) == 0


@pytest.mark.broker
def test_many_connections_have_labels_of_their_own(
    mosquitto: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "saved.mqtt"
    screen(mosquitto, [*["connect id=me", "rst"] * 28, f"save {file}"], monkeypatch, capsys)
    assert "[z] > connect" in file.read_text()
    assert "[b1] > connect" in file.read_text()


@pytest.mark.broker
def test_next_is_what_is_due_now_unless_the_user_changed_it(
    mosquitto: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def following(shown: str) -> list[str]:
        return [line.removeprefix("next      ") for line in shown.splitlines() if line.startswith("next ")]

    typed = ["", "drop", "publish q2 i9 t=me", "drop", "pubrel i=9", "publish q2 i9 t=me", "edit c=92", "pingreq", ""]
    assert following(screen(mosquitto, typed, monkeypatch, capsys)) == [
        "> connect", "> publish q2 i=1 t=step p=hello", "> disconnect", "> pubrel i=9", "> disconnect", "> disconnect",
        "> pubrel i=9", "> pubrel i=9 c=92", "> pubrel i=9 c=92", "> disconnect",
    ]  # fmt: skip


@pytest.mark.broker
def test_steps_are_typed_as_a_script_has_them(
    mosquitto: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = [
        "",
        "+0.01s",
        "[a] > pingreq",
        "raw c000",
        "pingreq; pingreq",
        " publish q1 i",
        "[b] > pingreq",
        "client FIN",
    ]
    shown = screen(mosquitto, typed, monkeypatch, capsys)
    assert shown.count("> pingreq\n  c0 00\n") == 4
    assert "column 13: PUBLISH has no word 'i'" in shown
    assert "column 5: a label names the connection that is open, and [a] is open" in shown
    assert "\nnext      > connect clean=0\n" in shown


def test_what_a_broker_sends_does_not_reach_the_terminal_raw(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = b"\x1b[31mEVIL\x1b]0;pwn\x07" + b"x" * 200
    frame = b"\x30" + bytes([len(topic) + 6 & 0x7F | 0x80, len(topic) + 6 >> 7, 0, len(topic)]) + topic + b"\3\x23\0\1"

    def evil(peer: Peer) -> None:
        peer.accept()
        peer.send(frame.hex())
        peer.wait()

    with scripted(evil) as port:
        shown = screen(port, ["", "wait 0.3"], monkeypatch, capsys)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    (row,) = {line for line in shown.splitlines() if line.startswith("aliases")}
    assert row.startswith("aliases   none                          1=\\x1b[31mEVIL\\x1b]0;pwn\\x07xxx")
    assert len(row) <= 80


def test_a_broker_that_does_not_read_ends_the_connection_and_not_the_session(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    over = threading.Event()

    def deaf(peer: Peer) -> None:
        peer.accept()
        over.wait(20)

    with scripted(deaf) as port:
        shown = screen(port, ["", f"publish p={'x' * 30_000_000}", "quit"], monkeypatch, capsys, timeout_s=0.3)
        over.set()
    assert "the broker did not take all of it within 0.3 s; the connection is broken off" in shown
    assert shown.endswith("next      > connect clean=0\nstep> quit\n")


def test_a_broker_that_is_gone_does_not_end_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def once() -> None:
            peer, _ = server.accept()
            server.close()
            peer.recv(1000)
            peer.close()

        threading.Thread(target=once).start()
        shown = screen(port, ["", "", f"save {tmp_path / 'saved.mqtt'}"], monkeypatch, capsys)
    assert f"cannot connect to 127.0.0.1:{port}: Connection refused" in shown
    assert "wrote 2 steps" in shown


@pytest.mark.broker
def test_verbs_that_break_a_rule_show_it(
    mosquitto: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = screen(mosquitto, ["", "dup", "drop", "quit"], monkeypatch, capsys)
    assert "> publish d1 q2 t=step i=1 p=hello" in shown
    assert "MQTT5-4.3.3-2" in shown
    shown = screen(mosquitto, ["twice", "quit"], monkeypatch, capsys)
    assert shown.count("> connect ka=60") == 2
    assert "MQTT5-3.1.0/once" in shown
    assert "< FIN closes the connection" in shown


def test_what_is_typed_wrong_says_where(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed = [
        "publsh",
        "edit",
        "edit x=1",
        "send 3",
        "save",
        "save /nowhere/x",
        "save /dev/full",
        "wait x",
        "< connack",
        "help",
        "hold",
        "hold",
    ]
    shown = screen(1, typed, monkeypatch, capsys)
    for sentence in (
        "column 1: 'publsh' begins no step", "edit what?", "CONNECT has no 'x'", "nothing is held back",
        "save where?", "cannot write '/nowhere/x'",
            "cannot write '/dev/full': No space left on device", "'x' is not a time",
            "only what the client does can be sent",
        "hold           keep the next packet back", "held 1    > connect",
    ):  # fmt: skip
        assert sentence in shown


def test_the_end_of_the_connection_is_seen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def resetting(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.reset()

    with scripted(resetting) as port:
        shown = screen(port, ["", "", "quit"], monkeypatch, capsys)
    assert "< RST closes the connection" in shown
    with scripted(lambda peer: peer.send("30ffffffffff")) as port:
        shown = screen(port, ["", "quit"], monkeypatch, capsys)
    assert "the broker sent bytes that are not a packet: 30 ff ff ff ff ff" in shown


@pytest.mark.broker
def test_the_program_on_a_terminal(mosquitto: int) -> None:
    ours, its = pty.openpty()
    process = subprocess.Popen([*PROGRAM, "step", "-p", str(mosquitto), "-i", "me"], stdin=its, stdout=its, stderr=its)
    os.close(its)
    shown = b""
    while b"step> " not in shown:
        shown += os.read(ours, 65536)
    os.write(ours, b"\n")
    while shown.count(b"step> ") < 2:
        shown += os.read(ours, 65536)
    os.write(ours, b"\x04")
    assert process.wait(20) == 0
    os.close(ours)
    assert b"connack sp=0 c=0x00" in shown


def test_a_closed_port_is_status_3(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, its = pty.openpty()
    process = subprocess.Popen([*PROGRAM, "step", "-p", "1"], stdin=its, stdout=its, stderr=subprocess.PIPE)
    os.close(its)
    os.write(ours, b"\n")
    assert b"Connection refused" in process.communicate(timeout=20)[1]
    assert process.returncode == 3
    os.close(ours)
