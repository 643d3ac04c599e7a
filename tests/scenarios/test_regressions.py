"""Uses that are not in the manual, each of which went wrong once."""

import errno
import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from tests.build.brokers import free_port
from tests.cli.requested import refused
from tests.program import PROGRAM, run


def test_lines_of_a_device_that_cannot_be_waited_for(mosquitto: int) -> None:
    command = [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-l"]
    for more in ([], ["-q", "1"]):
        done = subprocess.run([*command, *more], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_broker_on_a_used_port_says_so(mosquitto: int) -> None:
    done = run("broker", "-p", str(mosquitto))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == f"mqttpub broker: cannot listen on 127.0.0.1:{mosquitto}: Address already in use\n".encode()


@pytest.mark.parametrize("flag", ["--timeout", "--rate", "--repeat-delay"])
@pytest.mark.parametrize("value", ["nan", "inf", "1e12"])
def test_numbers_out_of_range_are_refused(flag: str, value: str) -> None:
    done = run("pub", "-t", "a", "-m", "x", flag, value)
    assert done.returncode == 2
    assert done.stderr.startswith(f"mqttpub pub: {flag}: ".encode())
    assert done.stderr.count(b"\n") == 1


def test_a_pipe_that_closes_early_is_not_a_finding() -> None:
    line = f"{shlex.join(PROGRAM)} walkthrough | head -1; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", line], capture_output=True, timeout=30, check=False).returncode == 141


@pytest.mark.parametrize("text", ["-", "hex:c000", "base64:wAA="])
def test_decode_takes_bytes_as_the_other_commands_do(text: str) -> None:
    done = run("decode", text, data=b"c000")
    assert done.returncode == 0
    assert done.stdout.startswith(b"> PINGREQ")


def test_decode_names_a_file_that_is_not_there() -> None:
    assert run("decode", "/no/such").stderr == b"mqttpub decode: cannot read '/no/such': No such file or directory\n"


def test_bench_is_judged_like_pub() -> None:
    done = run("bench", "-t", "a/+", "-n", "1")
    assert done.returncode == 2
    assert done.stderr == b"mqttpub bench: Topic Name holds the wildcard + (MQTT5-3.3.2-2)\n"


def test_an_outbox_is_drained_without_a_new_message(mosquitto: int, tmp_path: Path) -> None:
    outbox = str(tmp_path / "outbox")
    assert run("pub", "-p", "1", "-t", "kept", "-q", "1", "-m", "hi", "--outbox", outbox).returncode == 3
    done = run("pub", "-h", "127.0.0.1", "-p", str(mosquitto), "--outbox", outbox, "--json")
    assert done.returncode == 0
    assert b'"topic":"kept"' in done.stdout
    again = run("pub", "-h", "127.0.0.1", "-p", str(mosquitto), "--outbox", outbox, "--json")
    nothing = {"accepted": 0, "sent": 0, "refused": 0, "unknown": 0, "bad_lines": 0, "no_subscribers": 0}
    assert (again.returncode, json.loads(again.stdout)) == (0, {"event": "summary", **nothing})


@pytest.mark.parametrize(
    "line",
    ["pub -l", "pub -l -q 1", "pub --jsonl", "decode", "decode -f -", "lint", "encode --json -", "step -", "send -"],
)
def test_closed_standard_input_is_said(line: str, mosquitto: int) -> None:
    command, *flags = line.split()
    to = ["-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a"] if command == "pub" else []
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join([*PROGRAM, command, *to, *flags])} <&-"],
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, f"mqttpub {command}: standard input is closed\n".encode())


def test_a_step_without_a_script_or_a_terminal_asks_for_one() -> None:
    line = f"{shlex.join([*PROGRAM, 'step'])} <&-"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stderr[:30]) == (2, b"mqttpub step: give a script: a")


@pytest.mark.parametrize("words", [["step", "qos0"], ["send", "c000"]])
def test_a_failure_of_a_play_is_a_record_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "-h", "127.0.0.1", "-p", str(free_port()), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["event"] == "failure"


def test_a_message_needs_no_standard_input(mosquitto: int) -> None:
    line = shlex.join([*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-m", "x"]) + " <&-"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "arguments",
    [
        ["-P", "secret", "-V", "3.1.1"],
        ["--mqtt-version", "7"],
        ["--no-such-flag"],
        ["-p", "1"],
        ["--insecure", "-p", "1"],
        ["--cafile", "/dev/null"],
    ],
)
def test_quiet_is_quiet_about_everything(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pub", "-t", "a", "-m", "x", *arguments, "--quiet"]) in (2, 3)
    assert capsys.readouterr() == ("", "")


SAID = {
    "--repeat 0": "--repeat: 0 is not in the range 1 to 1000000000",
    "--max-inflight 65536": "--max-inflight: 65536 is not in the range 1 to 65535",
    "-q two": "--qos: 'two' is not a number",
    "-q 4": "--qos: 4 is not a QoS: 0, 1 or 2 (3 only with --force)",
    "--reconnect x": "--reconnect: 'x' is not a number",
    "--rate 0": "--rate: 0 is too small: it must be above 0",
    "--repeat-delay -1": "--repeat-delay: -1 is too small: it must be at least 0",
    "--timeout soon": "--timeout: 'soon' is not a number",
    "--outbox o --repeat 2 --repeat-delay 1": "--repeat-delay does not go with --outbox",
}


@pytest.mark.parametrize("line", SAID)
def test_numbers_are_refused_in_our_words(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "-t", "a", "-m", "x", *line.split()) == SAID[line]


def test_a_repeat_of_standard_input_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "-t", "a", "-l", "--repeat", "2")
    assert said == "--repeat is for a message that flags name, not for standard input or --csv"


def test_a_payload_declared_as_text_that_is_not_utf_8_is_sent_with_a_warning(mosquitto: int) -> None:
    here = ("pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-pf")
    done = run(*here, "--payload", "hex:61ff")
    assert done.returncode == 0
    assert done.stderr.decode() == (
        "mqttpub: Payload holds ff, which is not UTF-8, but Payload Format Indicator is 1 (MQTT5-3.3.2.3.2/utf8)\n"
    )
    assert run(*here, "-m", "text").stderr == b""


EXPIRY = ("-D", "DISCONNECT", "session-expiry-interval", "9")


def test_a_session_does_not_begin_to_last_at_its_end(mosquitto: int) -> None:
    here = ("pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-m", "x", "-q", "1", *EXPIRY)
    done = run(*here)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "mqttpub pub: Session Expiry Interval is 9 in DISCONNECT, but 0 in CONNECT (MQTT5-3.14.2.2.2/expiry); "
        "--force sends it anyway\n"
    )
    assert run(*here, "--force").returncode == 5
    for lasting in (["-x", "5"], ["--reconnect"], ["-D", "CONNECT", "session-expiry-interval", "1"]):
        assert run(*here, *lasting).returncode == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_no_stream_is_needed(closed: str, mosquitto: int) -> None:
    line = shlex.join([*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-q", "1", "-m", "x"])
    done = subprocess.run(["bash", "-c", f"{line} {closed}"], capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


PRINTING = {
    "pub --embedded -t a -m x --json": 74,
    "pub --embedded -t a -m x --inspect": 74,
    "pub --embedded -t a -m x --lint": 0,
    "bench -h 127.0.0.1 -p {port} -n 1": 74,
    "encode publish -t a": 74,
    "encode publish -t a --format raw": 74,
    "encode publish -t a --inspect": 74,
    "decode hex:c000": 74,
    "decode hex:c000 --json": 74,
    "lint hex:c100": 74,
    "lint hex:c100 --json": 74,
    "explain publish": 74,
    "explain": 74,
    "help": 74,
    "help publish": 74,
    "pub --help-all": 74,
    "walkthrough": 74,
    "broker -p 0": 74,
    "profile list": 74,
    "completion bash": 74,
    "--help": 74,
    "pub --help": 74,
    "--version": 74,
}
"""Commands and their exit status when standard output is closed."""


CLOSING = {"walkthrough": "<&- >&-", "decode hex:c000": "1</dev/null", "explain": "<&- >&-"}


@pytest.mark.slow
@pytest.mark.parametrize("line", PRINTING)
def test_output_that_is_lost_is_said(line: str, mosquitto: int, tmp_path: Path) -> None:
    config = tmp_path / "mqttpub" / "config.toml"
    config.parent.mkdir()
    config.write_text("[profile.x]")
    command = " ".join([shlex.join(PROGRAM), line.format(port=mosquitto), CLOSING.get(line, ">&-")])
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, timeout=30, check=False,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == PRINTING[line], done.stderr
    last = b"mqttpub: the output cannot be written: standard output is closed\n"
    assert done.stderr.endswith(last) == bool(PRINTING[line])
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "2>/dev/full", "2</dev/null", ">&- 2>/dev/full"])
def test_without_standard_error_the_exit_status_is_the_same(closed: str) -> None:
    for line, status in {
        "pub -t a": 2,
        "pub -p 1 -t a -m x": 3,
        "encode publish -t a": 74 * (">&- " in closed),
        "lint 'd0 00'": 74 * closed.endswith("full"),
    }.items():
        command = " ".join([shlex.join(PROGRAM), line, closed])
        done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=30, check=False)
        assert done.returncode == status, line


def test_an_error_of_the_system_passes_for_one_of_the_output_only_where_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = OSError(errno.ENOENT, "no such thing")

    def failing(path: str) -> None:
        raise error

    monkeypatch.setattr("mqttpub.cli.flags.profile.profiles", failing)
    for number in (errno.ENOENT, errno.EBADF):
        error.errno = number
        with pytest.raises(OSError, match="no such thing"):
            main(["profile", "list"])
    assert capsys.readouterr().err == ""


def test_a_full_disk_is_said(mosquitto: int) -> None:
    line = shlex.join([*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-m", "x"])
    for more in ("--json", "--inspect"):
        done = subprocess.run(["bash", "-c", f"{line} {more} >/dev/full"], capture_output=True, timeout=30, check=False)
        assert done.returncode == 74
        assert done.stderr == b"mqttpub: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("name", ["packet", "packet.hex", "packet.bin"])
def test_a_value_from_a_file_is_read_for_any_file_name(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    assert main(["decode", f"@{path}"]) == 2
    assert capsys.readouterr().err == f"mqttpub decode: cannot read '{path}': No such file or directory\n"
    path.write_bytes(bytes.fromhex("c000"))
    assert main(["decode", "-V", "5", f"@{path}"]) == 0
    assert "PINGREQ" in capsys.readouterr().out
