"""Uses that are not in the manual, each of which went wrong once."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-m", "mqttpub"]


def mqttpub(*arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PROGRAM, *arguments], input=data, capture_output=True, timeout=30, check=False)


def test_lines_of_a_device_that_cannot_be_waited_for(mosquitto: int) -> None:
    command = [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-l"]
    for more in ([], ["-q", "1"]):
        done = subprocess.run([*command, *more], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_broker_on_a_used_port_says_so(mosquitto: int) -> None:
    done = mqttpub("broker", "-p", str(mosquitto))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == f"mqttpub broker: cannot listen on 127.0.0.1:{mosquitto}: Address already in use\n".encode()


@pytest.mark.parametrize("flag", ["--timeout", "--rate", "--repeat-delay"])
@pytest.mark.parametrize("value", ["nan", "inf", "1e12"])
def test_numbers_that_are_none_are_refused(flag: str, value: str) -> None:
    done = mqttpub("pub", "-t", "a", "-m", "x", flag, value)
    assert done.returncode == 2
    assert done.stderr.startswith(f"mqttpub pub: {flag}: ".encode())
    assert done.stderr.count(b"\n") == 1


def test_a_template_needs_an_input_that_it_is_filled_for() -> None:
    assert mqttpub("pub", "-t", "%i", "-m", "x", "--template").stderr == b"mqttpub pub: --template needs -l or -0\n"


def test_a_pipe_that_closes_early_is_no_finding() -> None:
    line = f"{' '.join(PROGRAM)} walkthrough | head -1; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", line], capture_output=True, timeout=30, check=False).returncode == 141


@pytest.mark.parametrize("text", ["-", "hex:c000", "base64:wAA="])
def test_decode_takes_bytes_as_the_other_commands_do(text: str) -> None:
    done = mqttpub("decode", text, data=b"c000")
    assert done.returncode == 0
    assert done.stdout.startswith(b"PINGREQ")


def test_decode_names_a_file_that_is_not_there() -> None:
    assert (
        mqttpub("decode", "/no/such").stderr == b"mqttpub decode: cannot read '/no/such': No such file or directory\n"
    )


def test_bench_is_judged_like_pub() -> None:
    done = mqttpub("bench", "-t", "a/+", "-n", "1")
    assert done.returncode == 2
    assert b"holds the wildcard +" in done.stderr


def test_an_outbox_is_drained_without_a_new_message(mosquitto: int, tmp_path: Path) -> None:
    outbox = str(tmp_path / "outbox")
    assert mqttpub("pub", "-p", "1", "-t", "kept", "-q", "1", "-m", "hi", "--outbox", outbox).returncode == 3
    done = mqttpub("pub", "-h", "127.0.0.1", "-p", str(mosquitto), "--outbox", outbox, "--json")
    assert done.returncode == 0
    assert b'"topic":"kept"' in done.stdout
    again = mqttpub("pub", "-h", "127.0.0.1", "-p", str(mosquitto), "--outbox", outbox, "--json")
    assert (again.returncode, again.stdout) == (0, b'{"event":"summary"}\n')
