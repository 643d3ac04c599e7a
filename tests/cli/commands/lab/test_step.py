"""`step` plays scripts: the ready ones against mosquitto, and ones that a peer does not keep to."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mqttpub.cli.main import main
from mqttpub.cli.step.scripts import ready
from tests.build.brokers import Broker, free_port
from tests.fakes import Peer, scripted
from tests.program import PROGRAM

SLOW = {"keep-alive", "expired-while-offline", "session-expired", "will-delayed"}
"""Ready scripts that wait for seconds."""
READY = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in sorted(ready())
]  # fmt: skip
ONLY_5 = {
    "alias-remapped", "alias-unknown", "assigned-identifier", "expired-while-offline", "no-local", "pubrec-refused",
    "queued-while-offline", "request-response", "retain-handling", "session-expired", "subscription-identifier",
    "taken-over", "will-delayed", "window", "window-exceeded",
}  # fmt: skip


def step(port: int, *words: str) -> int:
    return main(["step", "-h", "127.0.0.1", "-p", str(port), "--timeout", "20", *words])


def played(port: int, tmp_path: Path, text: str, *flags: str) -> int:
    """Play a script that is a file `talk.mqtt`."""
    file = tmp_path / "talk.mqtt"
    file.write_text(text)
    return step(port, str(file), *flags)


@pytest.mark.broker
@pytest.mark.parametrize("name", READY)
def test_a_ready_script_is_kept_by_mosquitto(name: str, mosquitto: int) -> None:
    assert step(mosquitto, name) == 0


@pytest.mark.broker
@pytest.mark.parametrize("version", ["3.1.1", "3.1"])
@pytest.mark.parametrize("name", sorted(set(ready()) - ONLY_5 - SLOW))
def test_a_ready_script_for_all_versions_is_kept_in_each(name: str, version: str, mosquitto: int) -> None:
    assert step(mosquitto, name, "-V", version) == 0


def test_a_script_for_one_version_is_not_played_in_another(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ONLY_5:
        assert step(free_port(), name, "-V", "3.1.1") == 2
        assert "the script is for MQTT 5.0, not for 3.1.1" in capsys.readouterr().err


def test_a_broker_that_takes_more_than_its_receive_maximum_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    def taking(peer: Peer) -> None:
        # CONNACK with Receive Maximum 20
        peer.accept("200600000321 0014".replace(" ", ""))
        for number in range(1, 22):
            peer.packet()
            peer.send(f"5002{number:04x}")
        peer.wait()

    with scripted(taking) as port:
        assert step(port, "window-exceeded") == 1
    assert "PUBREC came" in capsys.readouterr().out


@pytest.mark.broker
@pytest.mark.parametrize("way", ["tls", "ws", "wss", "unix"])
def test_ready_scripts_are_kept_over_each_transport(way: str, brokers: Broker) -> None:
    quick = sorted(set(ready()) - SLOW)
    flags = {
        "tls": ["--tls", "--cafile", str(brokers.ca.cert)], "ws": ["--ws"],
        "wss": ["--ws", "--tls", "--cafile", str(brokers.ca.cert)], "unix": ["--unix", str(brokers.socket)],
    }[way]  # fmt: skip
    if way == "unix":
        assert main(["step", "--jobs", "4", *flags, *quick]) == 0
    else:
        assert main(["step", "-p", str(brokers.ports[way]), "--jobs", "4", *flags, *quick]) == 0


# A peer that keeps to nothing. Its CONNACK accepts, and then it does what the line says.


def silent(peer: Peer) -> None:
    peer.accept()
    peer.wait()


def closing(peer: Peer) -> None:
    peer.accept()
    peer.packet()


def resetting(peer: Peer) -> None:
    peer.accept()
    peer.packet()
    peer.reset()


def answering(hexadecimal: str) -> Any:
    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send(hexadecimal)
        peer.wait()

    return script


@pytest.mark.parametrize(
    ("script", "text", "message"),
    [
        (silent, "> publish q1 i7\n< puback i7 within=0.2s", "line 3: no PUBACK within 0.2 s"),
        (closing, "> publish q1 i7\n< puback i7",
         "line 3: the peer closed the connection (FIN), where PUBACK is awaited"),
        (resetting, "> publish q1 i7\n< puback i7",
         "line 3: the peer closed the connection (RST), where PUBACK is awaited"),
        (answering("40020008"), "> publish q1 i7\n< puback i7", "line 3: PUBACK came, but not with i7"),
        (answering("50020007"), "> publish q1 i7\n< puback i7", "line 3: PUBREC came, where PUBACK is awaited"),
        (answering("4001"), "> publish q1 i7\n< puback i7 within=0.2s",
         "line 3: only 2 bytes of a packet came within 0.2 s, where PUBACK is awaited"),
        (answering("40ffffffffff"), "> publish q1 i7\n< puback i7",
         "line 3: bytes came that are not a packet, where PUBACK is awaited: 40 ff ff ff ff ff"),
        (answering("400100"), "> publish q1 i7\n< puback i7",
         "line 3: a malformed packet came, where PUBACK is awaited"),
        (answering("40020007d000"), "> publish q1 i7\n< puback i7; < none 0.1s",
         "line 3: PINGRESP came, where nothing may come"),
        (answering("40020007d000"), "> publish q1 i7\n< puback i7; +0.1",
         "line 3: PINGRESP came, which no line awaits"),
        (answering("40020007"), "> publish q1 i7\n< puback i7\nserver FIN",
         "line 4: the peer did not close the connection within 0.3 s"),
        (closing, "> publish q1 i7\nserver RST",
         "line 3: the peer closed the connection (FIN) instead of resetting it"),
        (answering("40020007"), "> publish q1 i7\nserver FIN", "line 3: PUBACK came, where the end is awaited"),
    ],
)  # fmt: skip
def test_a_conversation_that_goes_otherwise_names_the_line(
    script: Any, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with scripted(script) as port:
        assert played(port, tmp_path, f"> connect; < connack\n{text}", "--timeout", "0.3") == 1
    assert message in capsys.readouterr().out.splitlines()[0]


def test_the_two_packets_stand_one_above_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(answering("4003000710")) as port:
        assert played(port, tmp_path, "> connect; < connack\n> publish q1 i7\n< puback i7 c00") == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "           3  < puback i7 c00",
        "        came  < puback i=7 c=0x10",
        "0000  awaited  40 03 00 07 00                                   @....",
        "      came     40 03 00 07 10                                   @....",
        "                           ^^",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "< connack; <? pingresp; > publish q1 i7; < puback i7",
        "< connack; <* pingresp; > publish q1 i7; < puback i7",
        "< connack; > publish q1 i7; <? pingresp; < puback i7",
        "< connack; > publish q1 i7; < puback i7; <? pingresp; < none 0.1s",
    ],
)
def test_packets_that_may_come_may_come_anywhere_below(text: str, tmp_path: Path) -> None:
    order = "40020007d000" if text.endswith("0.1s") else "d00040020007"
    with scripted(answering(order)) as port:
        assert played(port, tmp_path, f"> connect; {text}") == 0


def test_what_may_come_once_may_not_come_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(answering("d000d00040020007")) as port:
        assert played(port, tmp_path, "> connect; < connack; > publish q1 i7; <? pingresp; < puback i7") == 1
    assert "PINGRESP came, where PUBACK is awaited" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("> connekt", "talk.mqtt: line 1, column 3: 'connekt' is not a packet; raw, hex or one of connect"),
        ("mid > publish", "talk.mqtt: line 1, column 1: mid describes a capture and cannot be played"),
        ("> connect; < connack\ngap", "talk.mqtt: line 2, column 1: gap describes a capture and cannot be played"),
        ("> connect; < connack cut=1", "line 1, column 12: cut=, length= and overlong are for a line that is sent"),
        ("> connect; < connack\n> puback i=$p", "line 2, column 10: the variable p has no value yet"),
        ("> connect; < connack\nclient RST\n> pingreq", "line 3, column 1: this end has closed the connection"),
    ],
)
def test_a_script_that_cannot_be_played_says_where(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Nobody listens, so it would be another status if the program tried to connect first.
    assert played(free_port(), tmp_path, text) == 2
    assert message in capsys.readouterr().err


def test_arguments_that_are_no_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        (["nothing"], "there is neither a file nor a ready script 'nothing' (see step --list)"),
        ([], "give a script: a file, - for standard input, or a name that --list shows"),
        (["-", "qos1", "-"], "- is given twice, and standard input can be read only once"),
        (["/dev/null"], "/dev/null: it has no steps"),
        (["/dev/zero"], "/dev/zero: line 1, column 1: the line has more than 67,108,864 bytes"),
        (["--list", "/dev/zero"], "/dev/zero: line 1, column 1: the line has more than 67,108,864 bytes"),
        (["qos1", "--jobs", "2", "--inspect"], "--inspect follows one script at a time"),
    ):
        assert step(free_port(), *words) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["step", "send"])
@pytest.mark.parametrize(
    ("endless", "message"),
    [
        ("yes '> pingreq'", "standard input: a script has 200,000 steps at most"),
        ("yes \"# $(printf '%0100000d' 0)\"", "standard input: a script has 64 MiB at most"),
        ("printf '# only a remark\nversion 5.0\n'", "standard input: it has no steps"),
        ("printf ''", "standard input: it has no steps"),
    ],
)
def test_standard_input_that_is_no_script(command: str, endless: str, message: str) -> None:
    line = f"ulimit -v 4000000; {endless} | {shlex.join([*PROGRAM, command, '-p', '1', '-'])}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.broker
def test_jobs_play_scripts_at_the_same_time(mosquitto: int, tmp_path: Path) -> None:
    topic = f"step/jobs/{tmp_path.name}"
    for own, other in (("a", "b"), ("b", "a")):
        (tmp_path / own).write_text(
            f"> connect; < connack c=00; > publish q1 i1 r1 t={topic}/{own} p={own}; < puback i1\n"
            f"> subscribe i2 f={topic}/{other}; < suback i2; < publish t={topic}/{other} p={other}\n"
        )
    scripts = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert step(mosquitto, *scripts, "--jobs", "2", "--timeout", "10") == 0


def test_a_closed_port_is_no_failure_of_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert step(free_port(), "qos1") == 3
    assert "Connection refused" in capsys.readouterr().err


@pytest.mark.broker
def test_results_as_json_and_as_junit(mosquitto: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.mqtt").write_text("> connect\n< connack c=87")
    out = tmp_path / "results.xml"
    assert step(mosquitto, "qos1", str(tmp_path / "wrong.mqtt"), "--json", "--junit", str(out)) == 1
    good, wrong = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (good["event"], good["script"], good["outcome"]) == ("script", "qos1", "passed")
    assert (wrong["outcome"], wrong["line"], wrong["step"]) == ("failed", 2, "< connack c=87")
    assert wrong["message"] == "CONNACK came, but not with c=87"
    root = ElementTree.parse(out).getroot()
    assert (root.attrib["tests"], root.attrib["failures"]) == ("2", "1")


@pytest.mark.broker
def test_flags_fill_what_connect_leaves_open(tmp_path: Path) -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        seen.append(peer.accept())
        peer.wait()

    with scripted(script) as port:
        flags = ["-u", "user", "-P", "pass", "-i", "me", "--will-topic", "w", "-k", "7"]
        assert played(port, tmp_path, "> connect ka=9; < connack", *flags) == 0
    assert b"user" in seen[0]
    assert b"pass" in seen[0]
    assert b"\x00\x02me" in seen[0]
    assert b"\x00\x01w" in seen[0]
    assert seen[0][10:12] == b"\x00\x09", "what the script names goes before the flag"


@pytest.mark.broker
def test_inspect_shows_the_packets_of_each_connection(mosquitto: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert step(mosquitto, "qos1", "--inspect") == 0
    packets: dict[str, list[str]] = {}
    # Who of the two has its packet from the broker first is open.
    for line in capsys.readouterr().out.splitlines():
        match line.split(" "):
            case ["*", "connection", name]:
                shown = packets.setdefault(name, [])
            case [(">" | "<") as way, type, *_]:
                shown.append(f"{way} {type}")
    assert packets == {
        "s": ["> CONNECT", "< CONNACK", "> SUBSCRIBE", "< SUBACK", "< PUBLISH", "> PUBACK"],
        "p": ["> CONNECT", "< CONNACK", "> PUBLISH", "< PUBACK", "> DISCONNECT"],
    }


def test_the_list_names_every_ready_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["step", "--list"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == sorted(ready())
    assert len(shown) >= 10
    assert all(len(line) <= 125 for line in shown)


FAULTY = {"alias-unknown", "overlong", "publish-first", "qos3", "second-connect", "window-exceeded"}
"""Ready scripts in which the client breaks a rule on purpose."""


@pytest.mark.parametrize("name", sorted(ready()))
def test_a_ready_script_is_read_by_the_other_commands(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["step", "--list", name]) == 0
    file = tmp_path / f"{name}.mqtt"
    file.write_text(capsys.readouterr().out)
    assert main(["lint", str(file)]) == (1 if name in FAULTY else 0)
    assert ("no findings" in capsys.readouterr().err) == (name not in FAULTY)
    assert main(["decode", str(file), "--summary"]) in (0, 1)
