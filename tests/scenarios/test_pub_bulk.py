"""Publishing many messages from standard input, against a real mosquitto."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.test_pub import subscribed
from tests.fakes import Peer, answering, scripted, scripted_many
from tests.program import PROGRAM

pytestmark = pytest.mark.broker


def pub(*arguments: str, port: int, data: bytes, status: int = 0) -> tuple[list[dict[str, Any]], str]:
    """Run `pub` with input; return its JSON records and what it said."""
    done = subprocess.run(
        [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(port), *arguments],
        input=data, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_each_line_is_a_message_in_order(qos: str, mosquitto: int) -> None:
    topic = f"lines/{qos}"
    lines = [b"one", b"", b"three \xff", b"last"]
    with subscribed(topic, mosquitto) as listener:
        pub("-t", topic, "-q", qos, "-l", port=mosquitto, data=b"\n".join(lines))
        assert listener.stdout
        assert [listener.stdout.readline().strip() for _ in lines] == [line.hex().encode() for line in lines]


@pytest.mark.parametrize(
    ("flags", "data"),
    [(["-0"], b"a\0b"), (["-l", "--delimiter", "--"], b"a--b"), (["-l", "--delimiter", "crlf"], b"a\r\nb\r\n")],
)
def test_other_delimiters(flags: list[str], data: bytes, mosquitto: int) -> None:
    records, _ = pub("-t", "d", "-q", "1", "--json", *flags, port=mosquitto, data=data)
    assert [each["payload_bytes"] for each in records if each["event"] == "message"] == [1, 1]
    nothing = {"sent": 0, "refused": 0, "unknown": 0, "bad_lines": 0}
    assert records[-1] == {"event": "summary", "accepted": 2, "no_subscribers": 2, **nothing}


def test_empty_input_sends_nothing_and_succeeds(mosquitto: int) -> None:
    for qos in ("0", "1"):
        records, said = pub("-t", "d", "-q", qos, "-l", "--json", port=mosquitto, data=b"")
        assert (records[:-1], said) == ([], "")


def test_objects_bring_topic_qos_and_properties_of_their_own(mosquitto: int) -> None:
    lines = [
        {"topic": "j/1", "payload": "x", "qos": 1},
        {"payload": {"hex": "00ff"}},
        {"topic": "j/3", "properties": {"user_property": [["k", "v"]]}, "qos": 2},
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    records, _ = pub("-t", "j/2", "--jsonl", "--json", port=mosquitto, data=data)
    got = sorted((each["number"], each["topic"], each["qos"]) for each in records if each["event"] == "message")
    assert got == [(1, "j/1", 1), (2, "j/2", 0), (3, "j/3", 2)]


def test_blank_lines_are_skipped(mosquitto: int) -> None:
    data = b'{"topic": "a"}\n\n  \r\n{"topic": "b"}\n\n'
    records, said = pub("--jsonl", "--json", port=mosquitto, data=data)
    assert [(each["number"], each["topic"]) for each in records[:-1]] == [(1, "a"), (4, "b")]
    assert said == ""


def test_each_message_beyond_a_limit_has_its_record(mosquitto: int) -> None:
    connack = "20 06 00 00 03 22 00 03"

    def script(peer: Peer) -> None:
        peer.accept(connack)
        peer.wait()

    with scripted(script) as port:
        flags = ("-t", "a", "-l", "-q", "0", "-ta", "4", "--json")
        records, said = pub(*flags, port=port, data=b"x\n" * 1500, status=5)
    turned = [each for each in records if each["event"] == "message"]
    assert [each["number"] for each in turned] == list(range(1, 1501))
    assert {each["outcome"] for each in turned} == {"not sent"}
    assert set(turned[0]) == {"event", "number", "topic", "qos", "retain", "payload_bytes", "outcome", "reason"}
    assert records[-1]["refused"] == 1500
    assert said.splitlines()[-1] == "mqttpub: 1,490 more like these"
    assert len(said.splitlines()) == 11


def test_a_message_of_a_packet_identifier_in_flight_is_not_lost_from_the_account() -> None:
    script = answering("40 02 00 05", "40 03 00 05 87", last=Peer.wait)
    with scripted(script) as port:
        data = b'{"topic":"a","qos":1,"packet_id":5}\n{"topic":"b","qos":1,"packet_id":5}\n'
        records, said = pub("--jsonl", "--json", port=port, data=data, status=5)
    assert [(each["number"], each["packet_id"], each["outcome"]) for each in records[:-1]] == [
        (1, 5, "accepted"), (2, 5, "refused")
    ]  # fmt: skip
    assert said == "mqttpub: the broker refused message 2 to 'b': 0x87 Not authorized\n"


def test_a_hyphen_is_standard_input(mosquitto: int) -> None:
    for flag in ("-f", "-m"):
        records, _ = pub("-t", "dash", "-q", "1", flag, "-", "--json", port=mosquitto, data=b"from\nstdin")
        assert records[0]["payload_bytes"] == 10
    records, _ = pub("-t", "dash", "-q", "1", "--payload", "text:-", "--json", port=mosquitto, data=b"from\nstdin")
    assert records[0]["payload_bytes"] == 1
    said = pub("-t", "dash", "-f", "-", "-m", "x", port=1, data=b"x", status=2)[1]
    assert said == "mqttpub pub: only one payload at a time, but -m and -f were given\n"


def test_a_payload_may_be_any_json(mosquitto: int) -> None:
    with subscribed("json", mosquitto) as listener:
        pub("-t", "json", "-q", "1", "--jsonl", port=mosquitto, data=b'{"payload": {"t": 21.5}}\n{"payload": [1]}\n')
        assert listener.stdout
        assert [bytes.fromhex(listener.stdout.readline().decode()) for _ in range(2)] == [b'{"t":21.5}', b"[1]"]


@pytest.mark.parametrize(("count", "last"), [(10, "line 10"), (11, "1 more like these")])
def test_ten_complaints_are_named_and_the_others_counted(count: int, last: str, mosquitto: int) -> None:
    _, said = pub("--jsonl", port=mosquitto, data=b"nonsense\n" * count, status=2)
    assert len(said.splitlines()) == count
    assert said.splitlines()[-1].startswith(f"mqttpub: {last}")


def test_a_record_counts_how_often_a_message_was_sent_again() -> None:
    sent: list[bytes] = []

    def losing(peer: Peer) -> None:
        peer.accept("20 03 01 00 00" if sent else "20 03 00 00 00")
        sent.append(peer.packet())

    def answering(peer: Peer) -> None:
        peer.accept("20 03 01 00 00")
        sent.append(peer.packet())
        peer.send("40 02 00 01")
        peer.wait()

    with scripted_many([losing, losing, answering]) as port:
        records, _ = pub("-t", "a", "-m", "x", "-q", "1", "--reconnect", "--json", port=port, data=b"")
    assert [packet[0] for packet in sent] == [0x32, 0x3A, 0x3A]
    assert [each["redeliveries"] for each in records if each["event"] == "message"] == [2]
    with scripted(answering) as port:
        records, _ = pub("-t", "a", "-m", "x", "-q", "1", "--json", "--no-clean", port=port, data=b"")
    assert "redeliveries" not in records[0]


def test_bad_lines_are_named_and_the_others_are_sent(mosquitto: int) -> None:
    data = b'{"topic": "a", "qos": 1}\n{"topic": "a/+"}\nnonsense\n{"topic": "b", "qos": 1}\n'
    records, said = pub("--jsonl", "--json", port=mosquitto, data=data, status=2)
    assert [each["topic"] for each in records if each["event"] == "message"] == ["a", "b"]
    assert said.splitlines() == [
        "mqttpub: line 2: Topic Name holds the wildcard + (MQTT5-3.3.2-2); --force sends it anyway",
        "mqttpub: line 3, column 1: no JSON value begins here",
    ]
    assert records[-1]["bad_lines"] == 2


def test_a_line_goes_out_while_the_pipe_stays_open(mosquitto: int) -> None:
    with subscribed("live", mosquitto) as listener:
        process = subprocess.Popen(
            [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "live", "-q", "1", "-l"],
            stdin=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin
        assert listener.stdout
        for text in (b"now", b"then"):
            process.stdin.write(text + b"\n")
            process.stdin.flush()
            assert listener.stdout.readline().strip() == text.hex().encode()
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["-q 1", "-q 0 -V 3.1.1"])
def test_a_pipe_may_be_silent_for_longer_than_the_timeout(flags: str, mosquitto: int) -> None:
    """The timeout counts from what is sent after the silence: a message, or the PINGREQ after the last of QoS 0."""
    publish = f"{shlex.join(PROGRAM)} pub -h 127.0.0.1 -p {mosquitto} -t s {flags} -l --timeout 2"
    line = f"(echo a; sleep 2.5; echo b) | {publish}"
    assert subprocess.run(["bash", "-c", line], check=False).returncode == 0


@pytest.mark.slow
def test_the_rate_is_kept(mosquitto: int) -> None:
    began = time.monotonic()
    pub("-t", "r", "-q", "1", "-l", "--rate", "100", port=mosquitto, data=b"x\n" * 100)
    assert time.monotonic() - began > 0.9


def test_repeats_with_a_pause(mosquitto: int) -> None:
    began = time.monotonic()
    records, _ = pub(
        "-t", "r", "-q", "1", "-m", "x", "--repeat", "3", "--repeat-delay", "0.3", "--json", port=mosquitto, data=b""
    )
    assert [each["number"] for each in records if each["event"] == "message"] == [1, 2, 3]
    assert time.monotonic() - began > 0.6


def test_require_subscribers_fails_without_a_subscriber(mosquitto: int) -> None:
    _, said = pub("-t", "nobody", "-q", "1", "-m", "x", "--require-subscribers", port=mosquitto, data=b"", status=5)
    assert said == "mqttpub: nobody subscribes to 'nobody' (0x10)\n"


@pytest.mark.slow
def test_require_subscribers_is_refused_if_the_broker_cannot_tell(mosquitto: int, tmp_path: Path) -> None:
    need = "needs QoS 1 or 2: a QoS 0 message is not acknowledged\n"
    flags = ("-t", "nobody", "--require-subscribers")
    for more in (["-m", "x"], ["-m", "x", "--repeat", "2"], ["-l"], ["-l", "--rate", "9"], ["-0"]):
        assert pub(*flags, *more, port=1, data=b"x", status=2)[1] == f"mqttpub pub: --require-subscribers {need}"
    for version in ("3.1", "3.1.1"):
        said = pub(*flags, "-q", "1", "-m", "x", "-V", version, port=1, data=b"", status=2)[1]
        assert said == f"mqttpub pub: --require-subscribers needs MQTT 5, but the version is {version}\n"
    lines = b'{"qos": 1}\n{"qos": 0}\n{"qos": 2}\n{}\n'
    records, said = pub(*flags, "--jsonl", "--json", port=mosquitto, data=lines, status=5)
    # mosquitto says it in PUBACK, not in PUBREC.
    assert [(each["number"], each["reason_code"]) for each in records[:-1]] == [(1, 0x10), (3, 0)]
    assert [line for line in said.splitlines(keepends=True) if "line" in line] == [
        f"mqttpub: line {number}, qos: --require-subscribers {need}" for number in (2, 4)
    ]
    outbox = ("--outbox", str(tmp_path / "outbox"))
    pub("-t", "kept", "-m", "x", *outbox, port=1, data=b"", status=3)
    said = pub("--require-subscribers", *outbox, port=mosquitto, data=b"", status=6)[1]
    assert said == "mqttpub: it is unknown whether 'kept' has subscribers: the QoS is 0\n"


def test_aliases_are_chosen_where_the_broker_allows_them(mosquitto: int) -> None:
    records, _ = pub(
        "-t", "a/long/topic", "-q", "1", "-l", "-ta", "auto", "--json", "--inspect", port=mosquitto, data=b"a\nb\n"
    )
    flow = [each["hex"] for each in records if each["event"] == "packet" and each["type"] == "PUBLISH"]
    assert flow == [
        "3215000c612f6c6f6e672f746f70696300010323000161",
        "32090000" + "0002" + "03230001" + "62",
    ]


def test_payload_formats_apply_to_each_line(mosquitto: int) -> None:
    records, said = pub(
        "-t", "f", "-q", "1", "-l", "--format", "hex", "--json", port=mosquitto, data=b"00ff\n0g\n01\n", status=2
    )
    assert [each["payload_bytes"] for each in records if each["event"] == "message"] == [2, 1]
    assert said.startswith("mqttpub: line 2: hex: ")


@pytest.mark.slow
def test_memory_does_not_grow_with_the_input(mosquitto: int, tmp_path: Path) -> None:
    source = tmp_path / "lines"
    with open(source, "wb") as file:
        for _ in range(300):
            file.write(b"0123456789012345678901234567890\n" * 5000)
    peaks = []
    for size in (150_000, 1_500_000):
        line = (
            f"head -n {size} '{source}' | '{sys.executable}' -c 'import resource; from mqttpub.cli.main import main;"
            f'status = main(["pub", "-h", "127.0.0.1", "-p", "{mosquitto}", "-t", "m", "-l"]);'
            "print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)'"
        )
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True, cwd=os.getcwd())
        status, peak = done.stdout.split()
        assert status == "0"
        peaks.append(int(peak))
    assert peaks[1] < 60_000
    assert peaks[1] < peaks[0] * 1.3
