"""`bench` measures what really went."""

import json
import re
import signal
import subprocess
import threading
from typing import Any

import pytest

from mqttpub.cli.bench.run import histogram
from mqttpub.cli.main import main
from mqttpub.codec.decode import decode
from mqttpub.common.quantiles import Latencies
from mqttpub.live.publish.publisher import Publisher
from mqttpub.spec.versions import Version
from tests.fakes import Peer, scripted, scripted_at_once
from tests.program import PROGRAM, on_terminal

BENCH = [*PROGRAM, "bench"]


def bench(port: int, *arguments: str) -> str:
    done = subprocess.run(
        [*BENCH, "-h", "127.0.0.1", "-p", str(port), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


@pytest.mark.broker
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_connections_times_messages_are_sent(qos: str, mosquitto: int) -> None:
    record = json.loads(bench(mosquitto, "--connections", "3", "-n", "50", "-q", qos, "--json"))
    assert (record["messages"], record["connections"], record["refused"]) == (150, 3, 0)
    assert ("latency_us" in record) == (qos != "0")
    if qos != "0":
        latency = record["latency_us"]
        ordered = [latency[key] for key in ("min", "p50", "p99", "max")]
        assert ordered == sorted(ordered)


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize(
    ("flags", "payload"),
    [
        (["-m", "hi"], b"hi"), (["--payload", "hex:00ff"], b"\x00\xff"), (["-m", "6869", "--format", "hex"], b"hi"),
        (["-f", "-"], b"typed"), (["-s"], b"typed"), (["--null-message"], b""), (["-S", "1K"], b"x" * 1024),
        ([], b"x" * 64),
    ],
)  # fmt: skip
def test_the_payload_is_named_as_for_pub(flags: list[str], payload: bytes, mosquitto: int) -> None:
    line = [*BENCH, "-h", "127.0.0.1", "-p", str(mosquitto), "-n", "1", "-r", "-t", "bench/payload", "--json", *flags]
    done = subprocess.run(line, input=b"typed", capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout)["payload_bytes"] == len(payload)
    kept = ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "bench/payload", "-N"]
    if payload:
        assert subprocess.run([*kept, "-C", "1"], capture_output=True, check=True, timeout=20).stdout == payload


PLACEHOLDERS = [
    (["-t", "t/%i/%c/%u/%%", "-i", "dev-%i", "-u", "me"], ["dev-1 t/1/dev-1/me/%", "dev-2 t/2/dev-2/me/%"]),
    (["-i", "dev"], ["dev-1 bench/1", "dev-2 bench/2"]),
    (["-i", "%u-%i", "-u", "me"], ["me-1 bench/1", "me-2 bench/2"]),
    (["-i", "%u", "-u", "me"], ["me-1 bench/1", "me-2 bench/2"]),
    (["-i", "%%i"], ["%i-1 bench/1", "%i-2 bench/2"]),
    (["--connections", "1", "-i", "%u%%", "-u", "me"], ["me% bench/1"]),
]


@pytest.mark.parametrize(("flags", "expected"), PLACEHOLDERS)
def test_numbers_and_names_in_topics_and_client_ids(flags: list[str], expected: list[str]) -> None:
    found: list[str] = []

    def script(peer: Peer) -> None:
        connect: Any = decode(peer.accept(), Version.V5).packet
        publish: Any = decode(peer.packet(), Version.V5).packet
        found.append(f"{connect.client_id} {publish.topic}")
        peer.wait()

    with scripted_at_once([script] * len(expected)) as port:
        words = [*BENCH, "-h", "127.0.0.1", "-p", str(port), "-n", "1", "--connections", "2", *flags]
        subprocess.run(words, capture_output=True, check=True, timeout=60)
    assert sorted(found) == expected


@pytest.mark.broker
def test_publishers_and_subscribers_of_one_number_are_different_clients(mosquitto: int) -> None:
    flags = ["--connections", "2", "--publishers", "2", "-n", "20", "-q", "1", "--rate", "200"]
    record = json.loads(bench(mosquitto, "sub", *flags, "--json", "-t", "bench/%c", "-i", "bench-both-%i"))
    assert (record["published"], record["received"], record["lost"]) == (40, 80, 0)


RATES = {
    "pub": r" +1 s  messages \d+ \(\d+ per second\)", "conn": r" +1 s  connected 1 \(1 per second\)",
    "sub": r" +1 s  published \d+ \(\d+ per second\), received \d+ \(\d+ per second\)",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("kind", RATES)
def test_a_terminal_shows_the_rates_of_each_second(kind: str, mosquitto: int) -> None:
    flags = ["--duration", "2.5", *(["--rate", "120"] if kind != "conn" else [])]
    shown, status = on_terminal([*BENCH, kind, "-h", "127.0.0.1", "-p", str(mosquitto), *flags])
    first, second, *_ = [line for line in shown.decode().splitlines() if " s  " in line]
    assert status == 0
    assert re.fullmatch(RATES[kind], first)
    assert second.startswith("    2 s  ")


@pytest.mark.slow
@pytest.mark.broker
def test_nothing_shows_the_rates_but_a_terminal(mosquitto: int) -> None:
    words = [*BENCH, "conn", "-h", "127.0.0.1", "-p", str(mosquitto), "--duration", "1.5"]
    assert subprocess.run(words, capture_output=True, check=True, timeout=60).stderr == b""


def test_a_format_without_a_payload_is_refused() -> None:
    done = subprocess.run(
        [*BENCH, "--format", "hex", "-p", "1"], capture_output=True, text=True, check=False, timeout=30
    )
    said = "mqttpub bench: a format needs a payload: give one of -m, --payload, -f or -s\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.slow
@pytest.mark.broker
def test_a_rate_and_a_duration_bound_the_messages(mosquitto: int) -> None:
    record = json.loads(bench(mosquitto, "--duration", "1", "--rate", "50", "-q", "1", "--json"))
    assert 30 <= record["messages"] <= 51


@pytest.mark.broker
def test_the_table_has_a_histogram_on_request(mosquitto: int) -> None:
    shown = bench(mosquitto, "-n", "200", "-q", "1", "--histogram")
    assert "messages per second" in shown
    assert shown.count("<=") == 12


def test_warnings_about_the_connection_are_said_once() -> None:
    done = subprocess.run(
        [*BENCH, "-p", "1", "--connections", "3", "--insecure"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "mqttpub: --insecure: the certificate of the broker is not verified",
        "mqttpub: cannot connect to localhost:1: Connection refused",
    ]


def test_an_error_of_a_worker_does_not_pass_for_a_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Publisher) -> None:
        raise TypeError("broken")

    monkeypatch.setattr(Publisher, "run", broken)
    with pytest.raises(TypeError, match="broken"):
        main(["bench", "-p", "1", "-n", "1", "--connections", "2"])


def test_the_histogram_of_equal_times_has_one_bar() -> None:
    latencies = Latencies()
    for _ in range(5):
        latencies.add(1_000_000)
    assert [line for line in histogram(latencies) if "100.0 %" in line]


def test_a_refused_connection_is_the_exit_status() -> None:
    done = subprocess.run(
        [*BENCH, "-h", "127.0.0.1", "-p", "1", "-n", "1"], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 3
    assert done.stderr == "mqttpub: cannot connect to 127.0.0.1:1: Connection refused\n"


ENDS = [(signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "hung up")]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status", "word"), ENDS)
def test_a_signal_ends_it_with_what_was_measured(number: signal.Signals, status: int, word: str) -> None:
    here, last = threading.Event(), []

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send("40 02 00 01")
        here.set()
        last.append(peer.packet().hex(" "))

    with scripted(script) as port:
        words = [*BENCH, "-h", "127.0.0.1", "-p", str(port), "-q", "1", "-n", "9", "--rate", "0.01", "--json"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert here.wait(30)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert last == ["e0 00"]
    assert json.loads(out)["messages"] == 1
    assert (process.returncode, err) == (status, f"mqttpub: {word}; measured up to then\n")


def test_messages_of_qos_0_that_were_never_written_are_not_measured() -> None:
    with scripted(lambda peer: peer.send("20 03 00 00 00 e0 01 8b")) as port:
        words = [*BENCH, "-h", "127.0.0.1", "-p", str(port), "-q", "0", "-n", "9", "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, json.loads(done.stdout)["messages"]) == (5, 0)


def test_a_signal_ends_the_broker() -> None:
    words = [*BENCH[:-1], "broker", "-p", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().startswith("listening on 127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
        assert process.stderr.read().strip() == "mqttpub: terminated"


# sub and conn


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_each_subscriber_receives_what_all_publish(qos: str, mosquitto: int) -> None:
    flags = ["--connections", "2", "--publishers", "3", "-n", "50", "-q", qos, "-S", "100", "--rate", "200"]
    record = json.loads(bench(mosquitto, "sub", *flags, "--json", "-t", f"bench/sub/{qos}/%i"))
    assert (record["subscribers"], record["publishers"], record["payload_bytes"]) == (2, 3, 100)
    assert (record["published"], record["received"], record["lost"], record["disordered"]) == (150, 300, 0, 0)
    latency = record["latency_us"]
    assert 0 < latency["min"] <= latency["p50"] <= latency["p99"] <= latency["max"]


@pytest.mark.slow
@pytest.mark.broker
def test_the_messages_of_others_are_counted(mosquitto: int) -> None:
    words = [*BENCH, "sub", "-h", "127.0.0.1", "-p", str(mosquitto), "--publishers", "0", "-n", "100", "--json"]
    with subprocess.Popen([*words, "-t", "bench/others"], stdout=subprocess.PIPE, text=True) as process:
        pub = ["mosquitto_pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "bench/others", "-m", "x"]
        # Until it subscribes, messages go to nobody; enough of them come afterwards.
        while process.poll() is None:
            subprocess.run([*pub, "--repeat", "50"], check=True, timeout=20)
        assert process.stdout
        record = json.loads(process.stdout.read())
    assert record["received"] >= 100
    assert (record["published"], record["lost"], "latency_us" in record) == (0, 0, False)


def test_messages_that_do_not_arrive_are_lost() -> None:
    def script(peer: Peer) -> None:
        # Which of the two connects first is open.
        peer.accept()
        first = peer.packet()
        if first[0] >> 4 == 8:
            peer.send("90 04 00 01 00 01")
        else:
            peer.send(f"40 02 {first[2 + 2 + first[3] :][:2].hex()}")
            peer.packet()
        peer.wait()

    with scripted_at_once([script, script]) as port:
        words = [*BENCH, "sub", "-h", "127.0.0.1", "-p", str(port), "-q", "1", "-n", "1", "--json", "-t", "a"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    record = json.loads(done.stdout)
    assert (record["published"], record["received"], record["lost"], done.returncode) == (1, 0, 1, 1)


@pytest.mark.broker
def test_connections_are_opened_and_held(mosquitto: int) -> None:
    record = json.loads(bench(mosquitto, "conn", "--connections", "30", "--duration", "0.3", "--json"))
    assert (record["connections"], record["connected"], record["failed_connections"]) == (30, 30, 0)
    assert record["latency_us"]["min"] > 0


@pytest.mark.broker
def test_connections_begin_one_after_the_other(mosquitto: int) -> None:
    record = json.loads(bench(mosquitto, "conn", "--connections", "4", "--connect-interval", "100", "--json"))
    assert 0.3 <= record["seconds"] < 5


def test_one_refused_connection_does_not_keep_the_others() -> None:
    def accepted(peer: Peer) -> None:
        peer.accept()
        peer.wait()

    def refused(peer: Peer) -> None:
        peer.accept("20 03 00 87 00")
        peer.wait()

    with scripted_at_once([accepted, refused, accepted]) as port:
        words = [*BENCH, "conn", "-h", "127.0.0.1", "-p", str(port), "--connections", "3", "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    record = json.loads(done.stdout)
    assert (record["connected"], record["failed_connections"], done.returncode) == (2, 1, 4)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--publishers", "2"], "--publishers does not go with bench pub"),
        (["sub", "-m", "x"], "-m does not go with bench sub"),
        (["sub", "-S", "5"], "--payload-size: must be at least 22 bytes"),
        (["sub", "--connect-interval", "5"], "--connect-interval does not go with bench sub"),
        (["conn", "-q", "1"], "--qos does not go with bench conn"),
        (["conn", "-n", "5"], "--messages does not go with bench conn"),
        (["sub", "conn"], "1 argument too many"),
        (["-t", "a/%u"], "--topic: template, byte 3: %u stands for the user name, but there is none"),
        (["-t", "a/%x"], "--topic: template, byte 3: '%x' is none of %i, %d, %c, %u, %%"),
        (["conn", "-i", "a%c"], "--client-id: %c is the client id, so it cannot be a part of it"),
        (["sub", "--publishers", "0", "-t", "a%i"], "MQTT5-4.7.1-"),
        (["-c", "10"], "-c keeps the session; MQTTX's -c is --connections here"),
    ],
)
def test_flags_of_another_benchmark_are_refused(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "-p", "1", *flags]) == 2
    assert said in capsys.readouterr().err
