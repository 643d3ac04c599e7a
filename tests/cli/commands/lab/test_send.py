"""`send` writes steps or bytes, shows what comes back, and checks what must come."""

import io
import json
import sys

import pytest

from mqttpub.cli.main import main
from tests.build.brokers import free_port
from tests.fakes import Peer, scripted


def send(port: int, *words: str) -> int:
    return main(["send", "-h", "127.0.0.1", "-p", str(port), "--timeout", "5", "-W", "0.05", *words])


class Recording:
    """A peer that accepts, and notes what comes."""

    def __init__(self, *answers: str) -> None:
        self.seen: list[str] = []
        self.answers = answers

    def __call__(self, peer: Peer) -> None:
        while packet := peer.packet():
            self.seen.append(packet.hex())
            if packet[0] == 0x10:
                peer.send("2003000000")
            for answer in self.answers:
                peer.send(answer)


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (["publish t=a p=hi", "pingreq"], ["300600016100" + b"hi".hex(), "c000"]),
        (["30", "05", "00 01 61 00", "78"], ["30050001610078"]),
        (["c000", "> publish", "c0:00"], ["c000", "30050001610078", "c000"]),
        (["raw c000 twice"], ["c000", "c000"]),
        (["publish; > pingreq"], ["30050001610078", "c000"]),
    ],
)
def test_steps_and_bytes_go_out_after_a_connect_of_the_flags(words: list[str], seen: list[str]) -> None:
    peer = Recording()
    with scripted(peer) as port:
        assert send(port, *words, "-i", "me") == 0
    assert peer.seen[0].startswith("10")
    assert b"me".hex() in peer.seen[0]
    assert peer.seen[1:] == seen


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["--no-connect", "c000"], "c000"),
        (["connect id=x", "< connack"], "100e"),
        (["100e00044d5154540502003c0000017a00"[:32]], "100e"),
    ],
)
def test_no_connect_goes_first_where_none_is_wanted(words: list[str], first: str) -> None:
    peer = Recording()
    with scripted(peer) as port:
        assert send(port, *words) == 0
    assert peer.seen[0].startswith(first)
    assert len(peer.seen) == 1


def typed(text: str) -> io.TextIOWrapper:
    """Return standard input with a text."""
    return io.TextIOWrapper(io.BytesIO(text.encode()))


def test_standard_input_is_hex_or_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", typed("\ufeffc0 00\n# nothing\n> publish; > pingreq\r\npublish t=b\n"))
    peer = Recording()
    with scripted(peer) as port:
        assert send(port, "-") == 0
    assert peer.seen[1:] == ["c000", "30050001610078", "c000", "30050001620078"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('c000\npublish t=a p="x\u2028y"\npublish q', "standard input: line 3, column 9: PUBLISH has no word 'q'"),
        ("publish t=a\nc00\n", "standard input: line 2, column 7: a single hex digit, but a byte needs two"),
        ("", "standard input: it has no steps"),
        ("# nothing\n", "standard input: it has no steps"),
    ],
)
def test_what_is_wrong_in_standard_input_has_its_line(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", typed(text))
    assert send(free_port(), "-") == 2
    assert message in capsys.readouterr().err


def test_what_comes_back_is_annotated(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(Recording()) as port:
        assert send(port, "pingreq") == 0
    shown = capsys.readouterr().out
    assert "> PINGREQ  2 bytes" in shown
    assert "< CONNACK  0x00 Success" in shown
    with scripted(Recording()) as port:
        assert send(port, "pingreq", "--json") == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["type"] for record in records if record["event"] == "packet"] == ["CONNECT", "CONNACK", "PINGREQ"]


@pytest.mark.broker
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["publish q1 i1 t=send/a", "--expect", "puback i1 c10"], 0),
        (["publish q1 i1 t=send/a", "--expect", "puback i1 c00"], 1),
        (["publish q1 i1 t=send/a", "--expect", "puback i2"], 1),
        (
            [
                "subscribe i1 f=send/b",
                "publish q1 i2 t=send/b",
                "--expect",
                "puback i2",
                "--expect",
                "puback i3 within=0.1s",
            ],
            1,
        ),
        (["subscribe i1 f=send/c", "publish q1 i2 t=send/c p=x", "--expect", "publish p=x"], 0),
    ],
)
def test_what_is_expected_decides_the_status(words: list[str], status: int, mosquitto: int) -> None:
    assert send(mosquitto, *words) == status


@pytest.mark.parametrize(
    ("connack", "version", "message"),
    [
        ("2003008700", "5", "the broker refused the connection: 0x87 Not authorized"),
        ("20020005", "3.1.1", "the broker refused the connection: 5 not authorized"),
        ("20020001", "5", "; try another --mqtt-version than 5.0"),
    ],
)
def test_a_refused_connection_is_a_status_of_its_own(
    connack: str, version: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def refusing(peer: Peer) -> None:
        peer.accept(connack)
        peer.wait()

    with scripted(refusing) as port:
        assert send(port, "pingreq", "-V", version) == 4
        assert message in (sent := capsys.readouterr().err)
    with scripted(refusing) as port:
        assert main(["pub", "-h", "127.0.0.1", "-p", str(port), "-V", version, "-t", "a", "-m", "x"]) == 4
    assert message in capsys.readouterr().err
    assert sent.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["publish q"], "'publish q': line 1, column 9: PUBLISH has no word 'q'"),
        (["c00"], "a single hex digit, but a byte needs two"),
        (["hello"], "'hello' begins no step"),
        ([""], "there is nothing to send: give a step, bytes in hex, or - for standard input"),
        (["# nothing"], "there is nothing to send"),
        (["-", "-"], "- is given twice"),
        (["> publish; publish q1 i"], "line 1, column 23: PUBLISH has no word 'i'"),
        (["pingreq", "--expect", "client FIN"], "--expect takes packets, not 'client'"),
    ],
)
def test_wrong_words_say_where(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert send(free_port(), *words) == 2
    assert message in capsys.readouterr().err


def test_a_closed_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert send(free_port(), "pingreq") == 3
