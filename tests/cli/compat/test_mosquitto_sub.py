"""mosquitto_sub by its own name: the same lines, run by the real client and by ours."""

import io
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from mqttpub.cli.main import main
from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Publish, Suback
from tests.cli.compat.both import Recorder, Run, ours, run, talk, theirs
from tests.fakes import Peer, answering, scripted, scripted_many
from tests.lab.peer import props

SUB = "mosquitto_sub"

WRONG = """
-d
-t
-t a/#/b
-t a+
-T a+ -t a
-T
-U a+ -t a
-U
-F %z -t a
-F % -t a
-F %- -t a
-F @ -t a
-F '\\q' -t a
-F '\\' -t a
-F
-C 0 -t a
-C
-W 0 -t a
-W x -t a
-W
--random-filter 0 -t a
--random-filter
-R --retained-only -t a
-c -t a
-V 5 -c -t a
-D SUBSCRIBE will-delay-interval 1
-D UNSUBSCRIBE subscription-identifier 1
-L mqtt://h
--latency -t a
-l
-r
-m x
-n
-s
-f x
-e x
--repeat 2
-p 1 -t a -h 127.0.0.1
-t a -h nonexistent.invalid
--unix /nonexistent -t a
-L mqtt://127.0.0.1:1/a/+/#
-q 3 -t a
""".strip().splitlines()
"""Lines that end without a connection."""


@pytest.mark.parametrize("line", WRONG)
def test_wrong_lines(line: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence, with its empty lines, and the exit status are those of the client."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    words = shlex.split(line)
    status = main([SUB, *words])
    mine = Run(status, *capsysbinary.readouterr())
    # 2.1 also says that -U alone is enough.
    stderr = mine.stderr.replace(b" (-t) or unsubscribe from (-U)", b"")
    assert mine._replace(stderr=stderr) == run(theirs(SUB), words)


class Serving(Recorder):
    """Sends messages once the client has subscribed."""

    def __init__(self, *messages: Packet, codes: Sequence[int] | None = None) -> None:
        super().__init__()
        self._messages = messages
        self._codes = codes

    def _answers(self, data: bytes) -> list[bytes]:
        answers = super()._answers(data)
        if data[0] >> 4 == 8:
            if self._codes is not None:
                answers = [encode(Suback(packet_id=1, reason_codes=tuple(self._codes)), self._version)]
            answers += [encode(each, self._version) for each in self._messages]
        return answers


HI, HO = Publish(topic="a", payload=b"hi"), Publish(topic="b/c", payload=b"ho")
EMPTY, KEPT = Publish(topic="a"), Publish(topic="a", payload=b"kept", retain=True)
BINARY = Publish(topic="a", payload=b"\x1b[31m\x00\xff\n")
FULL = Publish(
    topic="a", payload=b"{}", qos=1, packet_id=7,
    properties=props(
        payload_format_indicator=1, message_expiry_interval=60, content_type="c", response_topic="r",
        correlation_data=b"\1\xff", user_property=("k", "v"),
    ),
)  # fmt: skip
RECEIVED: dict[str, tuple[str, tuple[Packet, ...]]] = {
    "one": ("-t a -C 1", (HI,)),
    "-d": ("-t a -C 1 -d", (HI,)),
    "-v": ("-t a -C 3 -v", (HI, EMPTY, HO)),
    "long names": ("--topic a -C 2 --verbose --qos 0 --keepalive 10", (HI, HO)),
    "an empty payload": ("-t a -C 2", (EMPTY, HI)),
    "-N": ("-t a -C 2 -N", (HI, HO)),
    "-N -v": ("-t a -C 2 -N -v", (HI, EMPTY)),
    "-R": ("-t a -C 1 -R", (KEPT, HI)),
    "-R of 5": ("-t a -C 1 -R -V 5", (KEPT, HI)),
    "the scheme in capitals": ("-L MQTT://127.0.0.1:PORT/a -C 1", (HI,)),
    "retained only": ("-t a --retained-only", (KEPT, HI)),
    "-T": ("-t a -C 1 -T a", (HI, HO)),
    "--filter-out": ("-t a -C 1 --filter-out b/#", (HO, HI)),
    "-E": ("-t a -t b/# -E -d", ()),
    "-W": ("-t a -W 1", (HI,)),
    "-W of 5": ("-t a -W 1 -C 3 -V 5", (HI,)),
    "-W --quiet": ("-t a -W 1 --quiet", ()),
    "QoS 1": ("-t a -C 1 -q 1", (HI.replace(qos=1, packet_id=7),)),
    "QoS 2": ("-t a -C 1 -q 2", (HI.replace(qos=2, packet_id=7),)),
    "options of 5": (
        "-t a -C 1 -q 1 --retain-as-published -D SUBSCRIBE subscription-identifier 7 -D SUBSCRIBE user-property a b -d",
        (HI,),
    ),
    "Receive Maximum": ("-t a -C 5 -V 5 -W 1", (HI,)),
    "bytes": ("-t a -C 1", (BINARY,)),
    "format": ("-t a -C 1 -F '%t %q %r %l %x %X %m %p%%@@'", (BINARY,)),
    "format of properties": ("-t a -C 1 -q 1 -V 5 -F '%A|%C|%D|%E|%F|%P|%R|%S|%m'", (FULL,)),
    "format and -v": ("-t a -C 1 -v -F %p", (HI,)),
    "format -N": ("-t a -C 1 -N -F '%p\\t'", (HI,)),
    "URL": ("-L mqtt://u:p@127.0.0.1:PORT/a/# -C 1", (HI,)),
    "will": ("-t a -C 1 --will-topic w --will-payload x --will-qos 1 --will-retain -i x", (HI,)),
}  # fmt: skip
"""Lines, and what the peer sends."""
DISCONNECT = re.compile(rb"\xe0(\x00|\x01[\x00\x04])\Z")


@pytest.mark.slow
@pytest.mark.parametrize("case", RECEIVED)
def test_messages(case: str) -> None:
    """What is sent, written and returned is the same; the client does not always send a DISCONNECT."""
    line, messages = RECEIVED[case]
    words = shlex.split(line)
    real, mine = (talk(make(SUB), words, Serving(*messages)) for make in (theirs, ours))
    assert mine._replace(sent=DISCONNECT.sub(b"", mine.sent)) == real._replace(sent=DISCONNECT.sub(b"", real.sent))


class TestRefusals:
    """What the broker refuses."""

    @pytest.mark.parametrize("codes", [(0x80,), (0x80, 0)])
    def test_suback(self, codes: tuple[int, ...]) -> None:
        """As the client, it ends with 0 if all is refused, and continues with what is granted."""
        words = shlex.split("-C 1 -t a" + " -t b" * (len(codes) - 1))
        messages = [HI] * (0 in codes)
        real, mine = (talk(make(SUB), words, Serving(*messages, codes=codes)) for make in (theirs, ours))
        assert mine[:3] == real[:3]

    @pytest.mark.parametrize("code", ["05", "04", "02", "01"])
    def test_connack(self, code: str) -> None:
        script = answering(connack=f"20 02 00 {code}", last=Peer.wait)
        real, mine = (talk(make(SUB), ["-t", "a"], script) for make in (theirs, ours))
        assert mine == real

    def test_connack_of_5(self) -> None:
        script = answering(connack="20 03 00 87 00", last=Peer.wait)
        real, mine = (talk(make(SUB), shlex.split("-t a -V 5"), script) for make in (theirs, ours))
        assert mine == real
        assert mine.status == 135

    def test_silence(self) -> None:
        """-W before CONNACK ends with 255, and nothing is said."""
        made = talk(ours(SUB), shlex.split("-t a -W 1"), Peer.wait)
        assert made == Run(255, b"", b"")


def test_it_connects_again() -> None:
    """A lost connection is made again, without an end, and messages go on."""

    def gone(peer: Peer) -> None:
        peer.accept("20 02 00 00")
        peer.packet()
        peer.send("90 03 00 01 00")

    with scripted_many([gone, Serving(HI)]) as port:
        made = run(ours(SUB), ["-p", str(port), "-t", "a", "-C", "1"])
    assert made == Run(0, b"hi\n", b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(number: signal.Signals) -> None:
    """A signal ends it with 0, after a DISCONNECT that publishes the will where there is such a Reason Code."""
    sent: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send("90 04 00 01 00 00 30 06 00 01 61 00 68 69")
        assert process.stdout
        assert process.stdout.readline() == b"hi\n"
        process.send_signal(number)
        sent.append(peer.packet())

    with scripted(script) as port:
        process = subprocess.Popen([*ours(SUB), "-p", str(port), "-V", "5", "-t", "a"], stdout=-1, stderr=-1)
        # Its output is read above.
        process.wait(timeout=20)
    _, stderr = process.communicate()
    assert (process.returncode, stderr, sent) == (0, b"", [b"\xe0\x01\x04"])


def test_removing_retained_messages(mosquitto: int) -> None:
    """--remove-retained empties the topics of the retained messages that it shows."""
    run(theirs("mosquitto_pub"), ["-p", str(mosquitto), "-t", "compat/kept", "-m", "x", "-r"])
    words = ["-p", str(mosquitto), "-t", "compat/kept", "-W", "1"]
    assert run(ours(SUB), [*words, "--remove-retained", "--retained-only"]).stdout == b"x\n"
    assert run(theirs(SUB), words).stdout == b""


@pytest.mark.parametrize("kept", [1, 3])
def test_removing_as_many_retained_messages_as_are_counted(mosquitto: int, kept: int) -> None:
    """With -C it ends, without -W as well, once the broker has removed what was shown; the others stay."""
    broker = ["-p", str(mosquitto)]
    topics = [f"compat/removed/{number}" for number in range(kept)]
    for topic in topics:
        run(theirs("mosquitto_pub"), [*broker, "-t", topic, "-m", "x", "-r"]).checked()
    made = run(ours(SUB), [*broker, "-t", "compat/removed/#", "--remove-retained", "-C", "1", "-v"])
    assert (made.status, made.stderr) == (0, b"")
    gone = made.stdout.decode().split()[0]
    left = run(theirs(SUB), [*broker, "-t", "compat/removed/#", "-W", "1", "-F", "%t"]).stdout.decode().split()
    assert {gone, *left} == set(topics)
    assert gone not in left
    for topic in left:
        run(theirs("mosquitto_pub"), [*broker, "-t", topic, "-n", "-r"]).checked()


def test_unsubscribing(mosquitto: int) -> None:
    """-U ends a subscription of the session."""
    session = ["-p", str(mosquitto), "-i", "compat-unsubscribes", "-c", "-q", "1"]
    assert run(ours(SUB), [*session, "-t", "compat/u", "-E"]).status == 0
    assert run(ours(SUB), [*session, "-U", "compat/u", "-t", "compat/other", "-E"]).status == 0
    run(theirs("mosquitto_pub"), ["-p", str(mosquitto), "-t", "compat/u", "-m", "x", "-q", "1"])
    assert run(theirs(SUB), [*session, "-t", "compat/other", "-W", "1"]).stdout == b""


def test_what_cannot_be_used() -> None:
    """Options of 2.1 that draw on a terminal say what to use instead."""
    made = run(ours(SUB), ["-t", "a", "--watch"])
    assert made.status == 1
    assert b"sub --watch" in made.stderr
