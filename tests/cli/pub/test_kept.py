"""What `pub --outbox` says of messages that stay in the outbox, and that its command sends them once."""

import json
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.cli.pub.kept import RECOVER
from mqttpub.codec.decode import decode_packet
from mqttpub.spec.versions import Version
from tests.build.brokers import free_port
from tests.cli.commands.test_pub import subscribed
from tests.fakes import Peer, Script, answering, scripted
from tests.program import PROGRAM

ENDS: dict[str, tuple[int, Script]] = {
    "no CONNACK": (3, lambda peer: None),
    "refused": (4, answering(connack="20 03 00 87 00")),
    "disconnected": (5, answering("e0 01 97")),
    "lost": (6, answering("")),
    "a broken rule": (7, answering("70 02 00 01")),
}


def published(port: int, outbox: Path, *more: str) -> list[str]:
    return ["pub", "-h", "127.0.0.1", "-p", str(port), "-t", "kept", "-q", "1", "--outbox", str(outbox), *more]


@pytest.mark.parametrize("name", ENDS)
def test_every_failure_says_what_is_kept_and_what_sends_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, script = ENDS[name]
    outbox = tmp_path / "an outbox"
    with scripted(script) as port:
        assert main(published(port, outbox, "-m", "x", "--json")) == status
        said = capsys.readouterr()
    command = f"mqttpub pub -h 127.0.0.1 -p {port} --outbox '{outbox}'"
    assert f"mqttpub: 1 message is kept in the outbox '{outbox}'; this sends what it holds: {command}\n" in said.err
    assert json.loads(said.out.splitlines()[-1]) == {
        "event": "outbox", "path": str(outbox), "kept": 1, "in_doubt": 0, "damaged": 0, "command": command,
    }  # fmt: skip


@pytest.mark.broker
def test_the_command_sends_each_message_once(
    mosquitto: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outbox = tmp_path / "outbox"
    nowhere = free_port()
    assert main(published(nowhere, outbox, "-m", "x", "--repeat", "3", "--json")) == 3
    command: str = json.loads(capsys.readouterr().out.splitlines()[-1])["command"]
    with subscribed("kept", mosquitto) as listener:
        words = shlex.split(command.replace(str(nowhere), str(mosquitto)))
        assert main([*words[1:], "--json"]) == 0
        assert main(published(mosquitto, outbox, "-m", "last")) == 0
        assert listener.stdout
        assert [bytes.fromhex(listener.stdout.readline().decode()) for _ in range(4)] == [b"x", b"x", b"x", b"last"]
    said = capsys.readouterr()
    assert [json.loads(line)["event"] for line in said.out.splitlines()] == [*["message"] * 3, "summary"]
    assert said.err == ""


def test_a_secret_is_not_part_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("-m", "x", "-V", "3.1.1", "-u", "me", "--password-file", str(tmp_path / "password"))
    (tmp_path / "password").write_text("secret")
    port = free_port()
    assert main(published(port, tmp_path / "outbox", *given)) == 3
    assert capsys.readouterr().err.splitlines()[0] == (
        f"mqttpub: 1 message is kept in the outbox '{tmp_path}/outbox'; this sends what it holds, with the other flags "
        f"of the connection: mqttpub pub -h 127.0.0.1 -p {port} -V 3.1.1 --outbox {tmp_path}/outbox"
    )


def test_a_message_in_doubt_needs_another_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outbox = tmp_path / "outbox"
    with scripted(answering("")) as port:
        assert main(published(port, outbox, "-q", "2", "-m", "x")) == 6
    capsys.readouterr()
    # Its session is gone, so whether it arrived is unknown.
    with scripted(answering("")) as port:
        assert main(["pub", "-h", "127.0.0.1", "-p", str(port), "--outbox", str(outbox)]) == 6
    command = f"mqttpub pub -h 127.0.0.1 -p {port} --outbox {outbox} --resend-doubtful"
    said = f"mqttpub: 1 message in doubt kept in the outbox '{outbox}'; this sends them again: {command}\n"
    assert said in capsys.readouterr().err


def test_a_signal_within_a_file_says_that_the_same_input_goes_on(tmp_path: Path) -> None:
    source, outbox = tmp_path / "lines", tmp_path / "outbox"
    source.write_text("1\n2\n3\n")

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        process.send_signal(signal.SIGTERM)
        peer.wait()

    with scripted(script) as port, open(source, "rb") as stdin:
        words = [*PROGRAM, *published(port, outbox, "-l", "--json")]
        process = subprocess.Popen(words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, said = process.communicate(timeout=30)
    assert process.returncode == 143
    record: dict[str, Any] = json.loads(out.splitlines()[-1])
    assert (record["kept"], record["command"]) == (3, None)
    same = "the same command with the same input continues from there"
    assert said.splitlines()[0] == f"mqttpub: 3 messages are kept in the outbox '{outbox}'; {same}"


def test_sending_what_is_kept_does_not_forget_where_the_input_goes_on(tmp_path: Path) -> None:
    source, outbox = tmp_path / "lines", tmp_path / "outbox"
    source.write_text("1\n2\n")
    with scripted(answering("")) as port, open(source, "rb") as stdin:
        words = [*PROGRAM, *published(port, outbox, "-l")]
        assert subprocess.run(words, stdin=stdin, capture_output=True, check=False).returncode == 6
    with scripted(acknowledging([])) as port:
        assert main(["pub", "-h", "127.0.0.1", "-p", str(port), "--outbox", str(outbox)]) == 0
    seen: list[bytes] = []
    with scripted(acknowledging(seen)) as port, open(source, "rb") as stdin:
        words = [*PROGRAM, *published(port, outbox, "-l")]
        assert subprocess.run(words, stdin=stdin, check=False).returncode == 0
    assert seen == []


@pytest.mark.broker
def test_a_damaged_message_is_named_and_stays_and_the_others_are_sent(
    mosquitto: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outbox = tmp_path / "outbox"
    payloads = [f"{number} ".encode() * 1000 for number in range(30)]
    for payload in payloads:
        (tmp_path / "payload").write_bytes(payload)
        assert main(published(free_port(), outbox, "-f", str(tmp_path / "payload"))) == 3
    data = outbox.read_bytes()
    outbox.write_bytes(data.replace(b"17 17 17 ", b"17 17 71 ", 1))
    capsys.readouterr()
    with subscribed("kept", mosquitto) as listener:
        assert main(["pub", "-h", "127.0.0.1", "-p", str(mosquitto), "--outbox", str(outbox), "--json"]) == 74
        assert listener.stdout
        came = [bytes.fromhex(listener.stdout.readline().decode()) for _ in range(29)]
    assert came == [payload for number, payload in enumerate(payloads) if number != 17]
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        f"mqttpub: message 18 of the outbox '{outbox}' is damaged and is not sent",
        f"mqttpub: 1 damaged message is kept in the outbox '{outbox}'; {RECOVER}",
    ]
    record = json.loads(said.out.splitlines()[-1])
    assert (record["kept"], record["damaged"]) == (0, 1)
    assert b"17 17 71 " in outbox.read_bytes()


@pytest.mark.parametrize("begun", [False, True])
def test_a_damaged_message_that_was_perhaps_sent_makes_the_session_a_new_one(begun: bool, tmp_path: Path) -> None:
    """Otherwise another message could get its Packet Identifier, and the broker would drop it as sent twice."""
    outbox = tmp_path / "outbox"
    with scripted(answering("") if begun else (lambda peer: None)) as port:
        main(published(port, outbox, "-q", "2", "-m", "a message"))
    outbox.write_bytes(outbox.read_bytes().replace(b"a message", b"b message", 1))
    connects: list[Any] = []

    def script(peer: Peer) -> None:
        connects.append(decode_packet(peer.accept(), Version.V5))
        assert peer.packet() == b"\xe0\x00"

    with scripted(script) as port:
        assert main(["pub", "-h", "127.0.0.1", "-p", str(port), "--outbox", str(outbox)]) == 74
    assert [each.clean_start for each in connects] == [begun]


def acknowledging(seen: list[bytes]) -> Script:
    """Return a script that accepts, notes each PUBLISH, and answers everything."""

    def script(peer: Peer) -> None:
        peer.accept()
        while (packet := peer.packet())[0] != 0xE0:
            if packet[0] >> 4 == 3:
                seen.append(packet)
                peer.send(f"40 02 {packet[8:10].hex()}")
            else:
                peer.send("d0 00")

    return script
