"""mqttx pub by its own grammar: the bytes that its lines put on the wire, what it says, and how it ends."""

import shlex
from pathlib import Path

import pytest

from mqttpub.cli.compat.mqttx.grammar import LineError, read
from mqttpub.cli.compat.mqttx.options import MESSAGE, OPTIONS
from tests.cli.compat.both import Recorder, ours, run, talk
from tests.fakes import Peer, Script, answering, scripted_many

CONNECT = "10 12 00 04 4d 51 54 54 05 02 00 1e 02 17 01 00 03 69 64 31"
BYE = "e0 02 00 00"
WIRE = {
    "-t a/b -m hi -q 1": f"{CONNECT} 32 0a 00 03 61 2f 62 00 01 00 68 69 {BYE}",
    "-t a/b -m hi -d": f"{CONNECT} 38 08 00 03 61 2f 62 00 68 69 {BYE}",
    "-t a/b -m hi -si 3 -pf -e 5": f"{CONNECT} 30 11 00 03 61 2f 62 09 01 01 02 00 00 00 05 0b 03 68 69 {BYE}",
    "-t a/b -m hi -V 3.1": "10 11 00 06 4d 51 49 73 64 70 03 02 00 1e 00 03 69 64 31 30 07 00 03 61 2f 62 68 69 e0 00",
    "-t a/b -m hi -V 3.1.1": "10 0f 00 04 4d 51 54 54 04 02 00 1e 00 03 69 64 31 30 07 00 03 61 2f 62 68 69 e0 00",
    "-t a -m 6869 -f hex": f"{CONNECT} 30 06 00 01 61 00 68 69 {BYE}",
    "-t a -m aGk= -f base64": f"{CONNECT} 30 06 00 01 61 00 68 69 {BYE}",
    "-t a -m hi -f binary": f"{CONNECT} 30 06 00 01 61 00 68 69 {BYE}",
    "-t a -m '{\"a\": 1.0}' -f json": f"{CONNECT} 30 0b 00 01 61 00 7b 22 61 22 3a 31 7d {BYE}",
    "-t a -m x -q1": f"{CONNECT} 32 07 00 01 61 00 01 00 78 {BYE}",
    "-t a -m x --qos=1": f"{CONNECT} 32 07 00 01 61 00 01 00 78 {BYE}",
    "-t a -m x -e 30": f"{CONNECT} 30 0a 00 01 61 05 02 00 00 00 1e 78 {BYE}",
    "-t a -m x -up 'a: b' 'c: d: e' -r": (
        f"{CONNECT} 31 16 00 01 61 11 26 00 01 61 00 01 62 26 00 01 63 00 04 64 3a 20 65 78 {BYE}"
    ),
    "surplus -t a -m x -up 'a: b' -up 'c: d'": (
        f"{CONNECT} 30 13 00 01 61 0e 26 00 01 61 00 01 62 26 00 01 63 00 01 64 78 {BYE}"
    ),
    "-t a -m x -rt r -cd c -ct t": (
        f"{CONNECT} 30 11 00 01 61 0c 08 00 01 72 09 00 01 63 03 00 01 74 78 {BYE}"
    ),
    "-t a -m ''": f"{CONNECT} 30 04 00 01 61 00 {BYE}",
    "-t a": f"{CONNECT} 30 18 00 01 61 00 {MESSAGE.encode().hex(' ')} {BYE}",
    "-t a -t b -m x": f"{CONNECT} 30 05 00 01 62 00 78 {BYE}",
    "-t a -m x -k 60 -u me -P pw": (
        "10 1a 00 04 4d 51 54 54 05 c2 00 3c 02 17 01 00 03 69 64 31 00 02 6d 65 00 02 70 77 "
        f"30 05 00 01 61 00 78 {BYE}"
    ),
    "-t a -m x --no-clean": (
        f"10 17 00 04 4d 51 54 54 05 00 00 1e 07 11 ff ff ff ff 17 01 00 03 69 64 31 30 05 00 01 61 00 78 {BYE}"
    ),
    "-t a -m x -se 9 --rcv-max 5 --maximum-packet-size 99 --topic-alias-maximum 7 --req-response-info": (
        "10 24 00 04 4d 51 54 54 05 02 00 1e 14 11 00 00 00 09 21 00 05 27 00 00 00 63 22 00 07 19 01 17 01 "
        f"00 03 69 64 31 30 05 00 01 61 00 78 {BYE}"
    ),
    "-t a -m x --no-req-problem-info -Cup 'a: b'": (
        f"10 19 00 04 4d 51 54 54 05 02 00 1e 09 17 00 26 00 01 61 00 01 62 00 03 69 64 31 30 05 00 01 61 00 78 {BYE}"
    ),
    "-t a -m x -Wt w -Wm bye -Wq 1 -Wr -Wd 3": (
        "10 20 00 04 4d 51 54 54 05 2e 00 1e 02 17 01 00 03 69 64 31 05 18 00 00 00 03 00 01 77 00 03 62 79 65 "
        f"30 05 00 01 61 00 78 {BYE}"
    ),
}  # fmt: skip
"""Lines with -i id1, and what is on the wire; Packet Identifiers are ours."""


@pytest.mark.slow
@pytest.mark.parametrize("line", WIRE)
def test_bytes_on_the_wire(line: str) -> None:
    made = talk(ours("mqttx"), ["pub", *shlex.split(f"{line} -i id1")], Recorder()).checked()
    assert made.sent.hex(" ") == WIRE[line]
    assert made.stderr.decode() == "- Connecting...\n✔ Connected\n- Message publishing...\n✔ Message published\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "data", "payloads"),
    [
        ("-s", b"one\ntwo\n", [b"one\ntwo\n"]), ("-s -M", b"one\n\ntwo", [b"one", b"two"]),
        ("-M -s", b"one\r\ntwo\r\n", [b"one", b"two"]), ("-sM", b"one\n", [b"one"]), ("-lm", b"one\n", [b"one"]),
        ("-s -M -f hex", b"6869\n", [b"hi"]), ("-f hex -s", b"6869", [b"hi"]),
        ("-s -M -q 2", b"one\ntwo\n", [b"one", b"two"]),
    ],
)  # fmt: skip
def test_standard_input(line: str, data: bytes, payloads: list[bytes]) -> None:
    """Each line is a message with -M, but for empty ones; formats apply to lines as well."""
    recorder = Recorder()
    talk(ours("mqttx"), ["pub", "-t", "a", "-V", "3.1.1", *shlex.split(line)], recorder, data).checked()
    assert [payload for payload in payloads if payload in recorder.sent] == payloads
    assert recorder.sent.count(b"\0\x01a") == len(payloads)


def test_files_and_sizes(tmp_path: Path) -> None:
    """--file-read takes a file, -S random bytes."""
    (tmp_path / "x.json").write_text('{"a": [1, 2]}')
    recorder = Recorder()
    talk(ours("mqttx"), ["pub", "-t", "a", "--file-read", str(tmp_path / "x.json"), "-f", "json"], recorder).checked()
    assert b'{"a":[1,2]}' in recorder.sent
    sized = Recorder()
    talk(ours("mqttx"), ["pub", "-t", "a", "-S", "1KB", "-i", "id1"], sized).checked()
    assert len(sized.sent) == 20 + 3 + 4 + 1024 + 4


A3 = "20 02 00 00"
ENDS: dict[str, tuple[str, Script, int, str]] = {
    "refused": ("-V 3.1.1", answering(connack="20 02 00 05", last=Peer.wait), 0, "Connection refused: Not authorized"),
    "refused in 5": ("", answering(connack="20 03 00 87 00", last=Peer.wait), 0, "Connection refused: Not authorized"),
    "denied": ("-q 1", answering("40 03 00 01 87", last=Peer.wait), 1, "Publish error: Not authorized"),
    "denied in QoS 2": ("-q 2", answering("50 03 00 01 87", last=Peer.wait), 1, "Publish error: Not authorized"),
    "alias": ("-ta 50", answering(last=Peer.wait), 1, "Topic Alias is 50"),
    "closed": ("-q 1 -rp 0", answering("", last=Peer.reset), 1, "Connection closed"),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDS)
def test_ends(case: str) -> None:
    """The exit statuses are those of MQTTX, 0 for a refused connection among them."""
    line, script, status, sentence = ENDS[case]
    made = talk(ours("mqttx"), ["pub", "-t", "a", "-m", "x", *shlex.split(line)], script)
    assert made.status == status
    assert sentence in made.stderr.decode()


def test_it_connects_again() -> None:
    """A connection that is lost is made again, as often as is asked for."""
    recorder = Recorder()
    with scripted_many([answering("", last=Peer.reset), recorder]) as port:
        made = run(ours("mqttx"), ["pub", "-p", str(port), "-t", "a", "-m", "hello", "-q", "1"])
    assert made.status == 0
    assert b"hello" in recorder.sent


@pytest.mark.parametrize(
    ("line", "status", "sentence"),
    [
        ("-t a -m x -p 1 -h 127.0.0.1", 0, "Error: connect ECONNREFUSED 127.0.0.1:1"),
        ("-t a -m x -h nonexistent.invalid", 0, "Error: getaddrinfo ENOTFOUND nonexistent.invalid"),
        ("-t a -m x --nope", 1, "error: unknown option '--nope'"),
        ("-t a -m x -Z", 1, "error: unknown option '-Z'"),
        ("-t a -m x -rZ", 1, "error: unknown option '-Z'"),
        ("-t", 1, "error: option '-t, --topic <TOPIC>' argument missing"),
        ("-t a/# -m x", 1, "wildcards"),
        ("-t a -m x -q 3", 1, "3"),
        ("-t a -m x -k x", 1, "x is not a number."),
        ("-t a -m x -V 4", 1, "version"),
        ("-t a -m x -l http", 1, "mqtts"),
        ("-t a -m x -f text", 1, "hex"),
        ("-t a -m zz -f hex", 1, "hex"),
        ("-t a -m x -up a:b", 1, "pair"),
        ("-t a -m x -wh 'a: b'", 1, "WebSocket"),
        ("-t a --file-read /nonexistent", 1, "No such file"),
        ("-t a -S 1X", 1, "1X"),
        ("-t a -m x -k 70000", 1, "70000"),
        ("-t a -m x -k 1.5", 1, "1.5 is not a Keep Alive"),
    ],
)
def test_wrong_lines(line: str, status: int, sentence: str) -> None:
    made = run(ours("mqttx"), ["pub", *shlex.split(line)])
    assert made.status == status
    assert sentence in made.stderr.decode()
    assert b"Traceback" not in made.stderr


def test_no_topic() -> None:
    """The sentence about a missing topic is on standard output."""
    made = run(ours("mqttx"), ["pub", "-m", "x"])
    assert (made.status, made.stderr) == (1, b"")
    assert b"--topic" in made.stdout


class TestConfiguration:
    """~/.mqttx-cli/config."""

    def test_configuration(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """~/.mqttx-cli/config has defaults."""
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / ".mqttx-cli").mkdir()
        (tmp_path / ".mqttx-cli" / "config").write_text("[default]\noutput = text\n[mqtt]\nusername = me\nport = 1\n")
        recorder = Recorder()
        talk(ours("mqttx"), shlex.split("pub -t a -m x"), recorder).checked()
        assert b"\0\x02me" in recorder.sent


class TestGrammar:
    """Lines as MQTTX takes them apart."""

    @pytest.mark.parametrize(
        ("line", "key", "value"),
        [
            ("-lwss", "protocol", "wss"), ("-l mqtts", "protocol", "mqtts"), ("-sM", "multiline", True),
            ("-pf", "payload_format_indicator", True),
            ("--alpn a b -r", "alpn", ["a", "b"]), ("--no-clean", "clean", False),
            ("-m -x", "message", "-x"), ("--message=a=b", "message", "a=b"), ("-- -r", "retain", None),
            ("-p1", "port", 1), ("-p 1 -p 2", "port", 2),
        ],
    )  # fmt: skip
    def test_values(self, line: str, key: str, value: object) -> None:
        assert read(shlex.split(line), OPTIONS["pub"])[key] == value

    def test_keep_alive_is_not_an_option_of_sub(self) -> None:
        """As with MQTTX, -k is unknown to sub."""
        with pytest.raises(LineError, match="unknown option '-k'"):
            read(["-k", "5"], OPTIONS["sub"])
