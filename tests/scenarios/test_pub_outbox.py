"""`pub --outbox` as a user has it: what is kept, one program at a time, files that cannot be used."""

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main
from tests.build.kills import KilledProgram
from tests.cli.commands.test_pub import subscribed
from tests.cli.requested import refused
from tests.program import PROGRAM
from tests.scenarios.test_pub_bulk import pub

pytestmark = pytest.mark.broker


def command(port: int, outbox: Path, *more: str, topic: str = "kept") -> list[str]:
    here = ["-h", "127.0.0.1", "-p", str(port), "-t", topic, "-q", "1", "-l", "--outbox", str(outbox)]
    return [*PROGRAM, "pub", *here, *more]


@contextmanager
def started(*arguments: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run the program on a pipe, and leave nothing of it."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(command(*arguments), bufsize=0, **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def in_use(port: int, outbox: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that uses an outbox: it has had a message acknowledged and waits for more."""
    with started(port, outbox, "--json") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"first\n")
        assert json.loads(process.stdout.readline())["outcome"] == "accepted"
        yield process


def end(process: subprocess.Popen[bytes], data: bytes = b"") -> tuple[int, list[str]]:
    """Give a program the rest of its input and return how it ended and what it said."""
    said = process.communicate(data)[1]
    return process.returncode, said.decode().splitlines()


# what is kept


def test_a_message_that_nothing_acknowledges_is_warned_about(
    mosquitto: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = ["pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "kept", "-m", "x", "--outbox", str(tmp_path / "ob")]
    assert main(here) == 0
    warned = "mqttpub: --outbox keeps a QoS 0 message only until it is sent, because nothing acknowledges it\n"
    assert capsys.readouterr().err == warned
    assert main([*here, "-q", "1"]) == 0
    assert capsys.readouterr().err == ""


def test_an_outbox_sends_what_an_earlier_run_could_not(mosquitto: int, tmp_path: Path) -> None:
    outbox = tmp_path / "outbox"
    flags = ["-t", "later", "-q", "2", "-l", "--outbox", str(outbox)]
    done = subprocess.run([*PROGRAM, "pub", "-h", "127.0.0.1", "-p", "1", *flags], input=b"a\nb\n", check=False)
    assert done.returncode == 3
    with subscribed("later", mosquitto) as listener:
        pub(*flags, port=mosquitto, data=b"c\n")
        assert listener.stdout
        # Nothing was read before there was a connection, so only what this run read is there.
        assert listener.stdout.readline().strip() == b"c".hex().encode()


def test_a_file_is_continued_where_the_outbox_of_a_killed_program_left_it(mosquitto: int, tmp_path: Path) -> None:
    source, kept = tmp_path / "lines", tmp_path / "kept"
    source.write_bytes(b"".join(b"%d\n" % number for number in range(3000)))
    kept.mkdir()
    outbox = kept / "outbox"
    # One at a time: when the fifth is seen, the first has been forgotten.
    slow = command(mosquitto, outbox, "--rate", "50", "-M", "1", topic="cont")
    with subscribed("cont", mosquitto) as listener, KilledProgram(tmp_path, slow, stdin=source) as program:
        assert listener.stdout
        for _ in range(5):
            listener.stdout.readline()
        program.kill()
    # Nobody else can read what it left.
    assert {each.name: each.stat().st_mode & 0o077 for each in kept.iterdir()} == {"outbox": 0, "outbox-journal": 0}
    with open(source, "rb") as stdin:
        done = subprocess.run(command(mosquitto, outbox, "--json"), stdin=stdin, capture_output=True, check=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    sent = [each["number"] for each in records if each["event"] == "message"]
    assert 0 < len(sent) < 3000
    assert sent[-1] == 3000
    assert sent == sorted(sent)


# one program at a time


def test_a_second_program_waits_until_the_first_has_ended(mosquitto: int, tmp_path: Path) -> None:
    outbox = tmp_path / "outbox"
    with in_use(mosquitto, outbox) as first, started(mosquitto, outbox, "--json") as second:
        assert second.stderr
        assert second.stderr.readline().decode() == (
            f"mqttpub: waiting for another program that uses the outbox '{outbox}'\n"
        )
        assert end(first, b"second\n") == (0, [])
        out, said = second.communicate(b"third\n")
    assert (second.returncode, said) == (0, b"")
    records = [json.loads(line) for line in out.splitlines()]
    assert [each["number"] for each in records if each["event"] == "message"] == [3]


def test_a_second_program_gives_up_at_its_timeout(mosquitto: int, tmp_path: Path) -> None:
    outbox = tmp_path / "outbox"
    with in_use(mosquitto, outbox) as first:
        with started(mosquitto, outbox, "--timeout", "0.3") as second:
            status, said = end(second, b"x\n")
        assert (status, said[1:]) == (
            2, [f"mqttpub pub: --outbox: '{outbox}' is still in use by another program after 0.3 s"],
        )  # fmt: skip
        assert end(first) == (0, [])


def test_a_wait_for_the_outbox_can_be_interrupted(mosquitto: int, tmp_path: Path) -> None:
    outbox = tmp_path / "outbox"
    with in_use(mosquitto, outbox), started(mosquitto, outbox) as second:
        assert second.stderr
        second.stderr.readline()
        second.send_signal(signal.SIGINT)
        assert end(second) == (130, ["mqttpub: interrupted; nothing was sent"])


def test_what_two_programs_publish_through_one_outbox_arrives(mosquitto: int, tmp_path: Path) -> None:
    data = [b"".join(b"%s%d\n" % (name, number) for number in range(200)) for name in (b"a", b"b")]
    more = ("-q", "2", "--reconnect", "-M", "20")
    with subscribed("both", mosquitto) as listener:
        processes = [
            subprocess.Popen(command(mosquitto, tmp_path / "outbox", *more, topic="both"), stdin=subprocess.PIPE)
            for _ in data
        ]
        for process, lines in zip(processes, data, strict=True):
            assert process.stdin
            process.stdin.write(lines)
            process.stdin.close()
        assert [process.wait() for process in processes] == [0, 0]
        assert listener.stdout
        got = [bytes.fromhex(listener.stdout.readline().decode()) for _ in range(400)]
    assert sorted(got) == sorted(b"".join(data).split())


# files that cannot be used


def test_a_full_disk_is_said_and_loses_nothing(mosquitto: int, tmp_path: Path) -> None:
    outbox = tmp_path / "outbox"
    line = "ulimit -f 100; exec " + shlex.join(command(mosquitto, outbox, "--json"))
    data = b"small\n" + b"x" * 150_000 + b"\n"
    done = subprocess.run(["bash", "-c", line], input=data, capture_output=True, check=False)
    sentence = f"the outbox '{outbox}' cannot be written: disk I/O error"
    *before, last = done.stderr.decode().splitlines()
    assert (done.returncode, last) == (74, f"mqttpub: {sentence}")
    assert [each.split(";")[0] for each in before] == [f"mqttpub: 1 message is kept in the outbox '{outbox}'"]
    records = [json.loads(each) for each in done.stdout.splitlines()]
    assert {"event": "failure", "status": 74, "message": sentence} in records
    # What was kept is whole and goes out, once there is room.
    later, _ = pub("--outbox", str(outbox), "--json", port=mosquitto, data=b"")
    assert {each["number"] for each in (*records, *later) if each.get("outcome") == "accepted"} == {1}


def test_a_damaged_outbox_is_named_before_anything_is_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outbox = tmp_path / "outbox"
    assert main(["pub", "-p", "1", "-t", "a", "-q", "1", "-m", "payload", "--outbox", str(outbox)]) == 3
    outbox.write_bytes(outbox.read_bytes().replace(b"TABLE message", b"\x812BLE message"))
    capsys.readouterr()
    assert main(["pub", "-p", "1", "--outbox", str(outbox)]) == 2
    assert capsys.readouterr().err == (
        f"mqttpub pub: --outbox: the outbox '{outbox}' is damaged: its tables are not those of an outbox; "
        "move it away to start a new one (sqlite3 FILE .recover shows what is left of it)\n"
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "--outbox: it is empty"),
        (":memory:", "--outbox: ':memory:' is not the name of a file"),
        ("/no/such/folder/ob", "--outbox: '/no/such/folder/ob' cannot be used as an outbox: No such file or directory"),
    ],
)
def test_a_path_that_cannot_be_used_is_refused(path: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "-t", "a", "-m", "x", "--outbox", path) == said
    assert not os.path.exists(path)
