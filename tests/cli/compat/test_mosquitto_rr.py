"""mosquitto_rr by its own name: the same lines, run by the real client and by ours."""

import re
import shlex

import pytest

from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Publish
from tests.cli.compat.both import Recorder, ours, run, talk, theirs
from tests.fakes import Peer, answering

RR = "mosquitto_rr"
ANSWER = Publish(topic="r", payload=b"ok!")


class Answering(Recorder):
    """Answers the request of the client with messages."""

    def __init__(self, *messages: Packet) -> None:
        super().__init__()
        self._messages = messages

    def _answers(self, data: bytes) -> list[bytes]:
        from mqttpub.codec.encode import encode

        sent = [encode(each, self._version) for each in self._messages] if data[0] >> 4 == 3 else []
        return super()._answers(data) + sent


LINES: dict[str, tuple[str, tuple[Packet, ...]]] = {
    "plain": ("", (ANSWER,)), "-v": ("-v", (ANSWER,)), "-F": ("-F '%t %p' -N", (ANSWER,)),
    "empty": ("-v", (ANSWER.replace(payload=b""),)), "3.1.1": ("-V 311", (ANSWER,)),
    "properties": ("-D PUBLISH correlation-data cd -D PUBLISH user-property a b", (ANSWER,)),
    "-W": ("-W 1", ()), "-d and -W": ("-d -W 1", ()),
    "-R of 3.1.1": ("-R -V 311", (ANSWER,)),
    "another topic": ("", (ANSWER.replace(topic="q"), ANSWER)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", LINES)
def test_requests(case: str) -> None:
    """What is sent, written and returned is the same; the client does not always send a DISCONNECT."""
    line, messages = LINES[case]
    words = shlex.split(f"-t a -e r -m hi -i x {line}")
    real, mine = (talk(make(RR), words, Answering(*messages)) for make in (theirs, ours))
    ends = re.compile(rb"\xe0(\x00|\x01[\x00\x04])\Z")
    # Another topic than that of the answers cannot be used: the client would take it for one.
    assert mine[:3] == real[:3] or case == "another topic"
    assert ends.sub(b"", mine.sent) == ends.sub(b"", real.sent)


@pytest.mark.parametrize(
    "line",
    [
        "-t a -e b",
        "-t a -m x",
        "-t a -e b -m x -D publish response-topic b",
        "-e a -m x",
        "-t a -e b/# -m x",
        "-e",
        "-C 1",
        "-l",
        "-r",
    ],
)
def test_wrong_lines(line: str) -> None:
    """The sentence and the exit status are those of the client."""
    assert run(ours(RR), shlex.split(line)) == run(theirs(RR), shlex.split(line))


def test_refused() -> None:
    """The exit status is the code of CONNACK."""
    script = answering(connack="20 03 00 87 00", last=Peer.wait)
    real, mine = (talk(make(RR), shlex.split("-t a -e r -m hi"), script) for make in (theirs, ours))
    assert mine == real


@pytest.mark.parametrize(("line", "options"), [
    ("", 0), ("-R", 0x20), ("--retain-handling always -R", 0), ("--retain-handling new", 0x10),
    ("--retain-handling never", 0x20),
    ("--retain-as-published --retain-handling new -q 1", 0x19), ("--retain-handling never -V 311", 0),
])  # fmt: skip
def test_retain_handling(line: str, options: int) -> None:
    """--retain-handling and --retain-as-published, as in 2.1, are options of the subscription (5.0: 3.8.3.1)."""
    made = talk(ours(RR), shlex.split(f"-t a -e r -m hi {line}"), Answering(ANSWER)).checked()
    assert bytes([0, 1]) + b"r" + bytes([options]) in made.sent


def test_latency() -> None:
    """--latency, as in 2.1, adds the time to the answer."""
    made = talk(ours(RR), shlex.split("-t a -e r -m hi --latency"), Answering(ANSWER))
    assert re.fullmatch(rb"ok!\nLatency: [0-9.]+ms\n", made.stdout)
