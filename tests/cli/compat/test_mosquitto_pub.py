"""mosquitto_pub by its own name: the same lines, run by the real client and by ours, say, send and return the same."""

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from mqttpub.cli.compat.mosquitto.grammar import read
from mqttpub.cli.compat.mosquitto.target import target_of
from mqttpub.cli.main import main
from mqttpub.codec.stream import ConnectionStreams
from mqttpub.spec.versions import Direction, Version
from tests.cli.compat.both import Recorder, Run, compared, ours, run, talk, theirs
from tests.fakes import Peer, Script, answering, scripted_many

PUB = "mosquitto_pub"

WRONG = """
-t
-m x
-t a
-t a -m x -q 3
-t a -m x -q -1
-t a -m x -q
-q1 -t a -m x
-t a -m x --qos=1
-t a -m x -rd
-t a -m x extra
-z
-t a/# -m x
-t a/+ -m x
-t a\tb -m x
-t a -m x -n
-t a -m x -m y
-t a -m x -l
-t a -m x -s
-t a -m x -f y
-k 3 -t a -m x
-k 65536 -t a -m x
-k 0
-k abc
-k
-V 9
-V
-c -t a -m x
-c -I pre -t a -m x
-V 5 -c -t a -m x
-V 5 -c -I pre -t a -m x
-x -1 -V 5 -t a -m x
-x abc
-x 5000000000
-x -2
-x
-i a -I b
-I a -i b
-i
-I
-p 70000
-p
-h
-u
-P
-A
-f
-L
-L mqtt://a
-L mqtt://
-L mqtt://h/a/+ -m x
-M
-M 0
--repeat 0
--repeat x
--repeat
--repeat-delay -1
--repeat-delay
--psk 12 -t a -m x
--psk 12 --psk-identity a --cafile b -t a -m x
--psk
--psk-identity
--proxy
--proxy http://x
--proxy socks5h://
--unix
--cafile
--capath
--cert
--cert a -t b -m x
--key
--key a -t b -m x
--keyform
--keyform pem -t b -m x
--tls-engine
--tls-engine-kpass-sha1
--tls-engine-kpass-sha1 x -t b -m x
--tls-version
--tls-alpn
--ciphers
--will-topic
--will-topic a/+
--will-payload
--will-payload x -t a -m x
--will-qos
--will-qos 3
--will-retain -t a -m x
-D
-D PUBLISH
-D PUBLISH content-type
-D PUBLISH user-property k
-D PUBACK reason-string x
-D PUBREC user-property x
-D AUTH reason-string x
-D PUBLISH will-delay-interval 3
-D CONNECT will-delay-interval 3
-D WILL topic-alias 3
-D PUBLISH subscription-identifier 3
-D PUBLISH topic-alias 70000
-D PUBLISH topic-alias 0 -t a -m x
-D PUBLISH topic-alias abc -t a -m x
-D PUBLISH message-expiry-interval 4294967296
-D PUBLISH message-expiry-interval -1
-D PUBLISH payload-format-indicator 256
-D CONNECT receive-maximum 0 -t a -m x
-D CONNECT maximum-packet-size 0 -t a -m x
-D CONNECT request-problem-information 2 -t a -m x
-D CONNECT request-response-information 2 -t a -m x
-D PUBLISH content-type a -D PUBLISH content-type b -t a -m x
-D CONNECT session-expiry-interval 5 -x 6 -t a -m x
-t a -m x -P secret
-t a -m x -i ''
-t a -m x --cafile /nonexistent
-t a -m x --cafile /dev/null/x --insecure
-t a -s
-t a -m x --unix /nonexistent/socket
-t a -m x --tls-version tlsv1.9 --cafile /etc/ssl/certs/ca-certificates.crt
-t a -m x --tls-engine nope
-t a -m x -h nonexistent.invalid
-t a -m x -h 127.0.0.1 -p 1
-t a -m x --proxy socks5h://127.0.0.1:1
-t a -m x -A 192.0.2.1 -h 127.0.0.1
-C 3
-E
-F %p
-N
-R
-T a
-U a
-v
-W 3
-e a
--pretty
--retained-only
--remove-retained
--retain-as-published
--random-filter 3
""".strip().splitlines()
"""Lines that end without a connection."""


@pytest.mark.parametrize("line", WRONG)
def test_wrong_lines(line: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence, with its empty lines, and the exit status are those of the client."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    words = shlex.split(line)
    real = run(theirs(PUB), words)
    status = main([PUB, *words])
    mine = Run(status, *capsysbinary.readouterr())
    if b"must be supplied" in real.stderr:
        # The usage follows, which each writes in its own words.
        assert mine.stdout.startswith(b"mosquitto_pub ")
        real, mine = real._replace(stdout=b""), mine._replace(stdout=b"")
    assert mine == real


NEWER = {
    "-L foo://a": "Unsupported URL scheme.\n",
    "-D foo content-type 3": "Invalid command foo given in --property argument.\n",
    "-D PUBLISH Nope 3": "Invalid property name Nope given in --property argument.\n",
    "-D subscribe topic-alias 3": "topic-alias property not allowed for subscribe in --property argument.\n",
    "-D Will topic-alias 3": "topic-alias property not allowed for Will in --property argument.\n",
    "-D publish subscription-identifier 3": (
        "subscription-identifier property not supported for publish in --property argument.\n"
    ),
    "-D suback reason-string x": "reason-string property not supported for suback in --property argument.\n",
}
"""Lines of which 2.1 says something else than 2.0, and what."""


@pytest.mark.parametrize("line", NEWER)
def test_sentences_of_the_newer_client(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([PUB, *shlex.split(line)]) == 1
    assert capsys.readouterr() == ("", f"Error: {NEWER[line]}\n\nUse 'mosquitto_pub --help' to see usage.\n")


@pytest.mark.parametrize(
    ("path", "reason"), [("/nonexistent", "No such file or directory"), ("/etc/passwd/x", "Not a directory")]
)
def test_a_file_that_cannot_be_read(path: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([PUB, "-t", "a", "-f", path]) == 1
    said = f'Error: Unable to read file "{path}": {reason}.\nError loading input file "{path}".\n'
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    ("line", "port", "kind", "secure"), [
        ("", 1883, "tcp", False), ("--ws", 1883, "websocket", False), ("--cafile x", 8883, "tcp", True),
        ("--ws --cafile x", 8883, "websocket", True), ("-L ws://h/a", 1883, "websocket", False),
        ("-L WSS://h/a", 8883, "websocket", True), ("-L mqtts://h/a", 8883, "tcp", True),
        ("-L ws://h:80/a", 80, "websocket", False), ("-p 8883", 8883, "tcp", True),
    ],
)  # fmt: skip
def test_ports_without_p(line: str, port: int, kind: str, secure: bool) -> None:
    """The ports are those of the clients, for WebSocket too."""
    target = target_of(read("pub", shlex.split(f"-t a -m x {line}")))
    assert (target.port, target.transport.kind, target.transport.tls is not None) == (port, kind, secure)


SENT = """
-t a/b -m hi -i id1
-V 5 -q 1 -t a/b -m hi -i id1
-V 31 -t a/b -m hi -i id1
-t a/b -m hi
-D PUBLISH user-property k v -c -t a -m hi -i x
-D publish topic-alias 5 --repeat 2 -q 1 -t a -m hi -i x
-D publish topic-alias 5 --repeat 3 -t a -m hi -i x -d
-n -r -t a
-d -q 2 -t ok/a -m hi -i x
-d -q 1 -t ok/a -m hi -V 5
-d -t a -m hi -i x --will-topic w --will-payload bye --will-qos 2 --will-retain
-t a -m hi -D WILL will-delay-interval 3 --will-topic w
-t a -m hi -D WILL content-type x
-t a -m hi -u me -P pw
-t a -m hi -u ''
-V 5 -t a -m hi -P pw
-V 5 -x 10 -t a -m x
-V 5 -x 0 -t a -m x
-V 5 -x -1 -t a -m x -i x
-V 5 -x ∞ -t a -m x -i x
-t a -m hi -D CONNECT receive-maximum 5
-M 7 -V 5 -t a -m hi
-t a -m hi -D DISCONNECT reason-string bye
-t a -m hi -D DISCONNECT session-expiry-interval 5
-t a -m x -D SUBSCRIBE subscription-identifier 5
-D PUBLISH payload-format-indicator 2 -t a -m x
-D PUBLISH Response-Topic r/# -D PUBLISH correlation-data cd -D PUBLISH message-expiry-interval 60 -t a -m x
-D CONNECT user-property a b -D CONNECT user-property a c -x 6 -t a -m x
-D CONNECT maximum-packet-size 1000 -D CONNECT topic-alias-maximum 9 -t a -m x
-D PUBLISH content-type x -V 5 -t a -m x
-t a -t b -m x
-i x -i y -t a -m x
-q abc -t a -m x
-q 2abc -t a -m x -i x -d
--repeat 3 --repeat-delay 0.01 -t a -m x -q 2 -d -i x
-t a -m '' -r
-f /dev/null -t a
-t $SYS/x -m x
-t a -m x -k 65535 -M 70000 --nodelay --quiet --insecure
-t a -m x -A 127.0.0.1
--will-qos 1 -t a -m x
--topic a --message x --qos 1 --retain --host localhost --keepalive 20 --username u --pw p --id i --debug
--protocol-version mqttv311 --disable-clean-session --id i --topic a --null-message
-L mqtt://u%40:p:q@127.0.0.1:PORT/to%20pic/x -m x
--url mqtt://u@127.0.0.1:PORT/t -m x
-L mqtt://:p@127.0.0.1:PORT/t -m x
-L mqtt://127.0.0.1:PORT/t -t later -m x
""".strip().splitlines()
"""Lines that publish."""


@pytest.mark.slow
@pytest.mark.parametrize("line", SENT)
def test_bytes_on_the_wire(line: str) -> None:
    """Every byte, the lines of -d and the exit status are those of the client."""
    real, mine = compared(PUB, line)
    assert mine == real
    assert real.sent


PUBREL = 0x62
INPUT = {
    "lines": ("-l -t a -i x", b"a\nb\n\nc"),
    "lines of QoS 2": ("-l -t a -i x -q 2 -V 5", b"a\nb\n"),
    "an alias for lines": ("-l -t a -i x -D PUBLISH topic-alias 3", b"a\nb\n"),
    "no line": ("-l -t a -d -i x", b""),
    "no last newline": ("--stdin-line -t a", b"\n\nlast"),
    "all": ("-s -t a", b"one\ntwo\n"),
    "all, by its long name": ("--stdin-file -t a", b"\0\xff"),
}  # fmt: skip


def in_flows(run: Run) -> tuple[Run, list[bytes]]:
    """Return what a run did, with each PUBREL after all other packets."""
    packets = [frame.data for frame in ConnectionStreams(Version.V5).feed(Direction.CLIENT, run.sent)]
    return run._replace(sent=b""), sorted(packets, key=lambda packet: packet[0] == PUBREL)


@pytest.mark.slow
@pytest.mark.parametrize("case", INPUT)
def test_standard_input(case: str) -> None:
    """Messages from standard input are those of the client."""
    line, data = INPUT[case]
    real, mine = compared(PUB, line, data)
    # Whether a line or a PUBREC comes first is a matter of time.
    assert in_flows(mine) == in_flows(real)


A3 = "20 02 00 00"


def close_early(peer: Peer) -> None:
    """Close instead of answering CONNECT."""
    peer.packet()


def reset_early(peer: Peer) -> None:
    """Reset the connection instead of answering CONNECT."""
    peer.packet()
    peer.reset()


def close_late(peer: Peer) -> None:
    """Close after the first PUBLISH."""
    peer.accept(A3)
    peer.packet()


B = "-t a -m x -d -i x"
FAULTS: dict[str, tuple[str, Script]] = {
    **{f"return code {code}": (B, answering(connack=f"20 02 00 0{code}", last=Peer.wait)) for code in range(1, 6)},
    **{
        f"reason 0x{code}": (f"{B} -V 5", answering(connack=f"20 03 00 {code} 00", last=Peer.wait))
        for code in ("81", "84", "86", "87", "89", "8a", "97", "9f")
    },
    "quiet": (f"{B} --quiet", answering(connack="20 02 00 05", last=Peer.wait)),
    "closes before CONNACK": (B, close_early),
    "resets before CONNACK": (B, reset_early),
    "closes after PUBLISH": (f"{B} -q 1", close_late),
    "closes after PUBLISH of QoS 0": (B, close_late),
    **{
        f"PUBACK 0x{code}": (f"{B} -q 1 -V 5", answering(f"40 03 00 01 {code}", last=Peer.wait))
        for code in ("10", "80", "83", "87", "90", "97", "99")
    },
    "PUBREC 0x10": (f"{B} -q 2 -V 5", answering("50 03 00 01 10", "70 02 00 01", last=Peer.wait)),
    "PUBREC 0x87": (f"{B} -q 2 -V 5", answering("50 03 00 01 87", last=Peer.wait)),
    "PUBCOMP 0x92": (f"{B} -q 2 -V 5", answering("50 02 00 01", "70 03 00 01 92", last=Peer.wait)),
    "quiet PUBACK": (f"{B} -q 1 -V 5 --quiet", answering("40 03 00 01 87", last=Peer.wait)),
    "malformed PUBACK": (f"{B} -q 1", answering("40 01 00", connack=A3, last=Peer.wait)),
    "DISCONNECT 0x8b": (f"{B} -q 1 -V 5", answering("e0 01 8b", last=Peer.wait)),
    "DISCONNECT 0x87": (f"{B} -q 1 -V 5", answering("e0 02 87 00")),
    "Receive Maximum 1": (
        f"{B} -q 1 -V 5 --repeat 2",
        answering("40 02 00 01", "40 02 00 02", connack="20 06 00 00 03 21 00 01", last=Peer.wait),
    ),
    "assigned Client Identifier": (
        "-t a -m x -d -V 5", answering(connack="20 0a 00 00 07 12 00 04 61 75 74 6f", last=Peer.wait),
    ),
}  # fmt: skip
"""What a peer does, and the line that meets it."""


@pytest.mark.slow
@pytest.mark.parametrize("case", FAULTS)
def test_faults_of_the_peer(case: str) -> None:
    """Refusals and lost connections have the sentences and the exit statuses of the client."""
    line, script = FAULTS[case]
    real, mine = compared(PUB, line, script=lambda: script)
    assert mine == real


class TestDepartures:
    """Where the client loses a message, hangs, or says that all is well, ours does not."""

    def test_limits(self) -> None:
        """A message that the broker does not allow is not reported as sent."""
        for connack, line, status in (
            ("20 05 00 00 02 24 00", f"{B} -q 1", 24), ("20 08 00 00 05 27 00 00 00 05", B, 25),
            ("20 05 00 00 02 25 00", f"{B} -r", 10),
        ):  # fmt: skip
            script = answering(connack=connack, last=Peer.wait)
            assert talk(ours(PUB), shlex.split(f"{line} -V 5"), script).status == status

    @pytest.mark.parametrize(
        ("connack", "line"),
        [
            ("20 02 00 06", B), ("20 03 00 f0 00", f"{B} -V 5"), ("20 02 01 00", B), ("20 03 01 00 00", f"{B} -V 5"),
            ("20 03 00 00 00", f"{B} -D CONNECT authentication-method m"),
        ],
    )  # fmt: skip
    def test_connack(self, connack: str, line: str) -> None:
        """A CONNACK that the specification forbids is a protocol error."""
        made = talk(ours(PUB), shlex.split(line), answering(connack=connack))
        assert made.status == 2
        assert b"A network protocol error occurred" in made.stderr

    @pytest.mark.parametrize("line", ["--capath /nonexistent", "--cafile /dev/null --ciphers NOPE"])
    def test_unusable_tls(self, line: str) -> None:
        """What makes TLS impossible is named before there is a connection."""
        made = run(ours(PUB), [*shlex.split(line), "-t", "a", "-m", "x", "-p", "1"])
        assert made.status == 1
        assert line.split()[-1] in made.stderr.decode()

    def test_silence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A peer that never answers ends the run with the status of a timeout."""
        monkeypatch.setenv("MQTTPUB_TIMEOUT", "0.3")
        made = talk(ours(PUB), shlex.split(f"{B} -q 1"), answering("40 02 00 09", connack=A3, last=Peer.wait))
        assert (made.status, made.stderr) == (27, b"Error: Timed out\n")

    def test_empty_topic(self) -> None:
        """An empty topic is refused before anything is sent."""
        made = run(ours(PUB), ["-t", "", "-m", "x"])
        assert (made.status, made.stderr) == (3, b"Error: Invalid input. Does your topic contain '+' or '#'?\n")

    @pytest.mark.parametrize(("line", "why"), [("-S -h h -t a -m x", "SRV"), ("--psk 12 --psk-identity i", "3.13")])
    def test_what_python_cannot(self, line: str, why: str) -> None:
        """SRV records and pre-shared keys are recognized, and the refusal says what stands in the way."""
        made = run(ours(PUB), shlex.split(line))
        assert made.status == 1
        assert why in made.stderr.decode()

    def test_expiry_chooses_the_version(self) -> None:
        """As in 2.1, -x makes the version 5."""
        recorder = Recorder()
        talk(ours(PUB), shlex.split("-x 10 -t a -m x"), recorder)
        assert recorder.sent.hex(" ").startswith("10 15 00 04 4d 51 54 54 05 02 00 3c 08 11 00 00 00 0a 21 00 14")

    def test_messages_survive_a_broker_that_goes_away(self) -> None:
        """A line read from standard input reaches the next connection."""
        recorder = Recorder()
        with scripted_many([close_late, recorder]) as port:
            made = run(ours(PUB), ["-p", str(port), "-l", "-t", "a", "-q", "1", "-i", "x"], b"one\n")
        assert made == Run(0, b"", b"")
        assert b"one" in recorder.sent


class TestFiles:
    """Options files."""

    @pytest.mark.parametrize(
        "text",
        [
            "-t from/file with blanks\n  -q 1\n-m a b  c \n\n#-q 5\n", "-t a\r\n-m x\r\n", "-q 5\n", "-t a\n-m x\n-n\n",
            "-D PUBLISH content-type x\n", "-i\n", "-t a\n-m x\n--nope\n",
        ],
    )  # fmt: skip
    def test_own_file(self, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """~/.config/mosquitto_pub is read line by line, before the arguments."""
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        (tmp_path / PUB).write_text(text)
        real, mine = run(theirs(PUB), ["-p", "1"]), run(ours(PUB), ["-p", "1"])
        if b"refused" in real.stderr:
            # The line is right, and there is something to send.
            real, mine = compared(PUB, "-d -i me")
        assert mine == real

    def test_home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without XDG_CONFIG_HOME the file is in the home directory."""
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / ".config").mkdir()
        (tmp_path / ".config" / PUB).write_text("-t a\n-m x\n")
        real, mine = compared(PUB, "-d -i me")
        assert mine == real
        assert mine.status == 0

    def test_chosen_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """-o names a file that replaces the client's own."""
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        (tmp_path / PUB).write_text("-z\n")
        (tmp_path / "options").write_text("-t from/file\n-m x\n")
        recorder = Recorder()
        assert talk(ours(PUB), ["-q", "1", "-o", str(tmp_path / "options")], recorder).status == 0
        assert b"from/file" in recorder.sent
        for words, sentence in ((["-o"], "but no options file"), (["-o", "a", "-o", "b"], "Duplicate -o")):
            made = run(ours(PUB), words)
            assert made.status == 1
            assert sentence in made.stderr.decode()


def test_by_the_name_of_a_link(tmp_path: Path) -> None:
    """A link named mosquitto_pub is mosquitto_pub."""
    link = tmp_path / PUB
    link.write_text(f"#!{ours(PUB)[0]}\nfrom mqttpub.cli.start import run\n\nrun()\n")
    link.chmod(0o755)
    recorder = Recorder()
    assert talk([str(link)], shlex.split("-t a/b -m hi -i id1"), recorder).status == 0
    assert recorder.sent.hex() == "100f00044d515454040200" + "3c0003696431" + "30070003612f626869" + "e000"


def test_help_and_version() -> None:
    """Both go to standard output and end with 1, as with the client."""
    for word in ("--help", "--version"):
        made = run(ours(PUB), ["-t", "a", word])
        assert made.status == 1
        assert b"mosquitto_pub version 2." in made.stdout
        assert made.stderr == b""


def test_every_option_is_listed() -> None:
    """The usage names each option that the usage of the client names."""
    real, mine = (run(command, ["--help"]).stdout.decode() for command in (theirs(PUB), ours(PUB)))
    words = set(re.findall(r"(?<= )--?[a-zA-Z][a-z0-9-]*", real))
    assert words <= set(re.findall(r"(?<= )--?[a-zA-Z][a-z0-9-]*", mine))
