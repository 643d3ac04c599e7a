"""Messages made by templates, sent by `pub`, `bench` and `request` to a real mosquitto and read by mosquitto_sub."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from mqttpub.cli.pub import feed
from tests.fakes import Peer, answering, scripted
from tests.program import PROGRAM

TABLE = '\ufeffmachine,Temp (C),note\r\n7,21.5,"a, ""b"""\r\n8,22.0\r\n9,23.5,"two\nlines"\r\n'
GOOD = "machine;temperature\n7;21.5\n8;22.0\n"
FORM = "%t %p %P"


@contextmanager
def heard(port: int, form: str = FORM) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Listen to a topic and what is below; yield its name and the listener, whose output begins with what follows."""
    topic, place = f"template/{os.urandom(4).hex()}", ["-h", "127.0.0.1", "-p", str(port)]
    # The broker keeps this one, so it comes as soon as the subscription is there.
    subprocess.run(["mosquitto_pub", *place, "-t", topic, "-r", "-m", "ready"], check=True, timeout=30)
    words = ["stdbuf", "-oL", "mosquitto_sub", *place, "-V", "5", "-q", "1", "-t", f"{topic}/#", "-F", form]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as listener:
        try:
            assert listener.stdout
            listener.stdout.readline()
            yield topic, listener
        finally:
            subprocess.run(["mosquitto_pub", *place, "-t", topic, "-r", "-n"], check=True, timeout=30)
            listener.kill()


def lines(listener: "subprocess.Popen[str]", topic: str, count: int) -> list[str]:
    """Return the next lines of a listener, without the topic that it listens to."""
    assert listener.stdout
    return [listener.stdout.readline().strip().removeprefix(f"{topic}/") for _ in range(count)]


def say(port: int, command: str, *flags: str, data: bytes = b"", status: int = 0) -> str:
    """Run a command that connects, and return what it said."""
    words = [*PROGRAM, command, "-h", "127.0.0.1", "-p", str(port), *flags]
    done = subprocess.run(words, input=data, capture_output=True, check=False, timeout=60)
    assert done.returncode == status, done.stderr
    return done.stderr.decode()


@pytest.mark.broker
def test_pub_fills_topic_payload_and_user_properties_and_a_seed_repeats_them(mosquitto: int) -> None:
    payload = '{"n":%(count 100 5),"t":%(random 18.0 24.0),"on":%(choice true|false),"id":"%(uuid)","by":"%c"}'
    flags = ["-m", payload, "--template", "--repeat", "3", "-q", "1", "-i", "me", "--user-property", "k=%i %(time s)"]
    with heard(mosquitto) as (topic, listener):
        runs = []
        for seed in ("1", "1", "2"):
            say(mosquitto, "pub", "-t", f"{topic}/%(choice a|b)/%i", *flags, "--seed", seed)
            runs.append([line.rpartition(" k:") for line in lines(listener, topic, 3)])
    sent = [[line for line, _, _ in run] for run in runs]
    assert sent[0] == sent[1] != sent[2]
    assert [line.split("/")[1].split()[0] for line in sent[0]] == ["1", "2", "3"]
    assert [json.loads(line.partition(" ")[2])["n"] for line in sent[2]] == [100, 105, 110]
    assert {json.loads(line.partition(" ")[2])["by"] for run in sent for line in run} == {"me"}
    assert [value.split()[0] for _, _, value in runs[0]] == ["1", "2", "3"]


@pytest.mark.broker
def test_each_line_is_a_template_and_a_bad_one_is_named_and_skipped(mosquitto: int) -> None:
    with heard(mosquitto) as (topic, listener):
        flags = ["-t", f"{topic}/%i", "-l", "--template", "-i", "me", "-q", "1"]
        said = say(mosquitto, "pub", *flags, data=b"%c%%\n50%\n%(count 0)\n", status=2)
        assert lines(listener, topic, 2) == ["1 me%", "3 2"]
    assert said.startswith("mqttpub: line 2: template, byte 3: '%' is none of %i, %d, ")


@pytest.mark.broker
@pytest.mark.parametrize("source", ["table.csv", "-"])
def test_each_row_is_a_message_and_a_row_without_a_cell_is_named_and_skipped(
    source: str, mosquitto: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_bytes(TABLE.encode())
    with heard(mosquitto) as (topic, listener):
        flags = ["-t", f"{topic}/%(column machine)", "-m", "%i %(column Temp (C)) %(column note)", "--csv", source]
        said = say(mosquitto, "pub", *flags, "-q", "1", data=TABLE.encode(), status=2)
        assert lines(listener, topic, 3) == ['7 1 21.5 a, "b"', "9 3 23.5 two", "lines"]
    assert said == "mqttpub: line 3: the row has 2 cells, but the header 3\n"


@pytest.mark.broker
def test_a_payload_of_a_row_is_checked_as_json(mosquitto: int) -> None:
    flags = ["-t", "j", "-m", '{"note":"%(column note)"}', "--csv", "-", "--format", "json"]
    said = say(mosquitto, "pub", *flags, data=b'note\nx\n"a ""b"""\n', status=2)
    assert said == "mqttpub: line 3: json: column 13: a comma or a closing bracket is missing here\n"
    said = say(mosquitto, "pub", *flags, data=b"", status=2)
    assert said == (
        "mqttpub pub: --csv: standard input, line 1: the first line, which names the columns, is empty\n"
    )  # fmt: skip


@pytest.mark.broker
def test_a_row_is_sent_while_the_pipe_stays_open(mosquitto: int) -> None:
    words = [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-m", "%(column a)", "--csv", "-", "-q", "1"]
    with heard(mosquitto) as (topic, listener):
        with subprocess.Popen([*words, "-t", f"{topic}/x"], stdin=subprocess.PIPE) as process:
            assert process.stdin
            process.stdin.write(b"a\n1\n")
            process.stdin.flush()
            assert lines(listener, topic, 1) == ["x 1"]
        assert process.returncode == 0


def test_a_line_of_a_file_that_is_too_long_is_named_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (table := tmp_path / "table.csv").write_text("a\n1\nlong\n")
    made = feed._line_format
    monkeypatch.setattr(feed, "_line_format", lambda *given: made(*given)._replace(longest_bytes=3))
    with scripted(answering()) as port:
        words = ["-h", "127.0.0.1", "-p", str(port), "-t", "a", "-m", "%(column a)", "--csv", str(table)]
        assert main(["pub", *words]) == 2
    assert capsys.readouterr().err == f"mqttpub pub: '{table}': line 3 has more than 3 bytes, but no packet can\n"


@pytest.mark.broker
def test_an_outbox_continues_in_the_middle_of_a_file(mosquitto: int, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    # Long rows, so that several reads make few messages, and end in the second line of a row.
    table.write_text("a,b\n" + "".join(f'{number},"x\n{"x" * 2000}"\n' for number in range(100)))
    outbox = ["--outbox", str(tmp_path / "outbox")]
    # An outbox alone has no message that could be a template.
    say(mosquitto, "pub", *outbox, "--template")
    flags = ["-m", "%(column a)", "--csv", str(table), "-q", "1", *outbox]

    def take_one(peer: Peer) -> None:
        peer.accept()
        peer.packet()

    with heard(mosquitto, "%p") as (topic, listener):
        with scripted(take_one) as port:
            say(port, "pub", "-t", f"{topic}/x", *flags, "-M", "10", status=6)
        say(mosquitto, "pub", "-t", f"{topic}/x", *flags, "--resend-doubtful")
        assert listener.stdout
        found: list[int] = []
        while not found or found[-1] != 99:
            found.append(int(listener.stdout.readline()))
    assert found == list(range(100))


@pytest.mark.broker
def test_bench_fills_the_payload_of_each_message_and_repeats_the_rows(mosquitto: int, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(GOOD)
    payload = "%i %(column machine) %(random 1 1000000) %c"
    flags = ["-m", payload, "--csv", str(table), "--connections", "2", "-n", "3", "-q", "1", "-i", "dev"]
    with heard(mosquitto) as (topic, listener):
        runs = []
        for _ in range(2):
            say(mosquitto, "bench", "-t", f"{topic}/50%%/%i", *flags, "--seed", "5")
            runs.append(sorted(lines(listener, topic, 6)))
    assert runs[0] == runs[1]
    drawn = [line.split() for line in runs[0]]
    assert [(topic, number, machine) for topic, number, machine, _, _ in drawn] == [
        (f"50%/{connection}", number, machine)
        for connection in "12" for number, machine in [("1", "7"), ("2", "8"), ("3", "7")]
    ]  # fmt: skip
    assert [client_id for *_, client_id in drawn] == ["dev-1"] * 3 + ["dev-2"] * 3
    assert len({value for *_, value, _ in drawn}) == 6


@pytest.mark.broker
def test_request_fills_each_request(mosquitto: int, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(GOOD)
    wait = ["-W", "0.2", "--parallel", "3"]
    with heard(mosquitto, "%t %p") as (topic, listener):
        counted = ["-t", f"{topic}/%i", "-m", "%(count 5 5)", "--template", "--repeat", "2"]
        assert "0 of 2 requests answered" in say(mosquitto, "request", *counted, *wait, status=1)
        rows = ["-t", f"{topic}/%(column machine)", "-m", "%(column temperature)", "--csv", str(table)]
        assert "0 of 2 requests answered" in say(mosquitto, "request", *rows, *wait, status=1)
        assert lines(listener, topic, 4) == ["1 5", "2 10", "7 21.5", "8 22.0"]
        table.write_text("machine,temperature\n7,1\n+,1\n")
        said = say(mosquitto, "request", *rows, *wait, status=2)
    assert said.startswith("mqttpub request: message 2: Topic Name holds the wildcard + ")


CSV, BAD, NONE = "table.csv", "bad.csv", "none.csv"
WRONG = [
    ("pub -t %(foo) -m x --template", "--topic: template, byte 1: '%(foo)' is none of "),
    ("pub -t a -m {%i --template --user-property k=%x", "--user-property: template, byte 1: '%x' is none of "),
    ("pub -t a --payload hex:2528 --template", "--payload: template, byte 1: '%(' has no ')' that ends it"),
    (f"pub -t a -m %(column|b) --csv {CSV}", "-m: template, byte 1: the CSV file has no column 'b', but 'machine', "),
    (f"pub -t %(column|x) -m x --csv {CSV}", "--topic: template, byte 1: the CSV file has no column 'x', but "),
    ("pub -t a/%(choice|#|#) -m x --template", "Topic Name holds the wildcard # "),
    ("pub -t a -m {%(count)} --format json --template", "json: column 2: "),
    (f"pub -t a -m x --csv {NONE}", f"--csv: cannot read '{NONE}': No such file or directory"),
    ("pub -t a -m x --csv /dev/null", "--csv: '/dev/null', line 1: the first line, which names the columns, is empty"),
    ("pub -t a -m x --csv /dev/zero", "--csv: '/dev/zero', line 1: it has more than 131,072 bytes"),
    (f"pub -t a --csv {CSV}", "no payload: "),
    (f"pub -t a -l --csv {CSV}", "only one of -l, -0, --jsonl and --csv "),
    (f"pub -t a -m x --csv {CSV} --repeat 2", "--repeat is for a message that flags name, not for standard input or "),
    ("pub -t a --jsonl --template", "--template does not go with --jsonl, "),
    ("pub -t a -m x --seed 1", "--seed needs --template or --csv"),
    ("pub -t a --payload-size 5 --template", "--payload-size makes a payload, which cannot be a template"),
    (f"request -t a -m x --csv {BAD}", f"'{BAD}', line 3: the row has 2 cells, but the header 3"),
    (f"request -t a -m x --csv {CSV} --repeat 2", "--repeat does not go with --csv, whose rows are the requests"),
    (f"bench -t a -m x --csv {BAD}", f"'{BAD}', line 3: the row has 2 cells, but the header 3"),
    (f"bench -t %(column|machine) -m x --csv {CSV}", "--topic: template, byte 1: %(column) is a cell of a row of "),
    ("bench -m %(random|1) --template", "-m: template, byte 1: %(random) takes the lowest and the highest number, "),
    ("bench -m x --csv /dev/null", "--csv: '/dev/null' is not a file, and is read more than once"),
    ("bench sub --template", "--template does not go with bench sub"),
    ("bench conn --csv x", "--csv does not go with bench conn"),
]


@pytest.mark.parametrize(("line", "said"), WRONG)
def test_what_cannot_be_is_said_before_there_is_a_connection(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(CSV).write_text(GOOD)
    Path(BAD).write_text(TABLE)
    words = [word.replace("|", " ", 1) for word in line.split()]
    # Nobody listens on port 1, so a connection would be another status.
    assert main([words[0], "-h", "127.0.0.1", "-p", "1", *words[1:]]) == 2
    shown = capfd.readouterr().err
    assert shown.startswith(f"mqttpub {words[0]}: {said}")
    assert shown.count("\n") == 1
