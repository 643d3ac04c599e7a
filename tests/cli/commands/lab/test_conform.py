"""`conform` against mosquitto, and against peers that are no brokers."""

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mqttpub.cli.main import main
from tests.build.brokers import free_port, plain
from tests.build.brokers import mosquitto as running_mosquitto

CONNACK = bytes.fromhex("2003000000")
Handler = Callable[[Any], None]


def conform(port: int, *words: str) -> int:
    return main(["conform", "-h", "127.0.0.1", "-p", str(port), *words])


def records(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@contextmanager
def serving(handler: Handler) -> Iterator[int]:
    """Treat each connection in a thread of its own, and yield the port."""

    class Each(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                handler(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Each) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.broker
@pytest.mark.slow
def test_statements_are_selected_and_each_has_a_verdict(mosquitto: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert conform(mosquitto, "--json", "-V", "5", "4.3.3-10", "3.12", "MQTT5-3.15.1-1", "MQTT311-3.1.2-24") == 0
    head, *rows = records(capsys)
    assert head == {"event": "conform", "peer": f"127.0.0.1:{mosquitto}"}
    found = {row["statement"]: row for row in rows}
    assert found["MQTT5-4.3.3-10"]["verdict"] == "kept"
    assert "qos2-repeated" in found["MQTT5-4.3.3-10"]["cases"]
    assert found["MQTT5-3.12.4-1"]["verdict"] == "kept"
    assert found["MQTT5-3.15.1-1"] == {
        "event": "statement", "statement": "MQTT5-3.15.1-1", "verdict": "not exercised",
        "why": "only a server with an Authentication Method shows it", "cases": [],
    }  # fmt: skip
    assert all(id.startswith("MQTT5-") for id in found)


@pytest.mark.broker
def test_a_broken_statement_has_its_bytes_everywhere(
    mosquitto: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mosquitto 2.0.11 answers a PINGREQ whose flags are wrong."""
    junit, page = tmp_path / "j.xml", tmp_path / "p.html"
    assert conform(mosquitto, "-V", "3.1.1", "2.2.2-2", "--junit", str(junit), "--page", str(page)) == 1
    shown = capsys.readouterr().out
    assert "BROKEN  2.2.2-2" in shown
    assert "came  < pingresp" in shown
    assert "MQTT 3.1.1  0 kept, 1 broken, 0 not exercised" in shown
    (case,) = ElementTree.parse(junit).iter("testcase")
    assert case.get("name") == "MQTT311-2.2.2-2"
    assert case.find("failure") is not None
    assert "&lt; PINGRESP    d0 00" in page.read_text()
    assert conform(mosquitto, "-V", "3.1.1", "2.2.2-2", "--json") == 1
    packets = records(capsys)[1]["packets"]
    assert [(each["direction"], each["hex"]) for each in packets[-2:]] == [("client", "c100"), ("server", "d000")]


@pytest.mark.broker
def test_what_a_broker_only_should_do_counts_with_strict(mosquitto: int) -> None:
    """Mosquitto 2.0.11 sends retained messages for a new shared subscription."""
    assert conform(mosquitto, "4.8.2/retained") == 0
    assert conform(mosquitto, "4.8.2/retained", "--strict") == 1


@pytest.mark.broker
def test_passwords_are_masked_in_records(mosquitto: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert conform(mosquitto, "-V", "3.1.1", "2.2.2-2", "--json", "-u", "me", "-P", "s3cret!") == 1
    assert b"s3cret!".hex() not in capsys.readouterr().out


@pytest.mark.broker
def test_limits_are_selected_and_shown_everywhere(
    mosquitto: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["maximum_qos", "topic_levels", "receive_maximum"]
    assert conform(mosquitto, "--json", "-V", "5", *names) == 0
    _, *rows = records(capsys)
    assert [row["limit"] for row in rows] == names
    assert rows[2] == {
        "event": "limit", "version": "5.0", "limit": "receive_maximum", "verdict": "kept", "declared": 20, "seen": 20,
        "agreement": "agrees", "why": "PUBREC 0x97 Quota exceeded",
    }  # fmt: skip
    junit, page = tmp_path / "j.xml", tmp_path / "p.html"
    assert conform(mosquitto, "-V", "3.1.1", "limits", "--junit", str(junit), "--page", str(page)) == 0
    shown = capsys.readouterr().out
    assert "\n  Topic levels                                     201  (more: the peer closed" in shown
    assert "MQTT 3.1.1  14 limits, 0 broken  127.0.0.1" in shown
    assert len(list(ElementTree.parse(junit).iter("testcase"))) == 14
    assert "<td>Topic levels</td>" in page.read_text()


@pytest.mark.broker
@pytest.mark.slow
def test_a_broker_that_allows_less_than_the_specification_demands_is_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_mosquitto(tmp_path, lambda port: [*plain(port), "max_qos 1"]) as (port,):
        junit = tmp_path / "j.xml"
        assert conform(port, "-V", "3.1.1", "maximum_qos", "3.3.1-5", "--junit", str(junit)) == 1
    shown = capsys.readouterr().out
    assert "MQTT 3.1.1  1 case and 1 limit, 8 at a time" in shown
    assert "MQTT 3.1.1  1 kept, 0 broken, 0 not exercised; 1 limit, 1 broken" in shown
    assert "Maximum QoS                   2                  1  allows less  (more: the peer closed" in shown
    assert "PUBLISH id 1 QoS 2" in shown
    statement, limit = ElementTree.parse(junit).iter("testcase")
    assert (statement.find("failure"), limit.get("classname")) == (None, "MQTT 3.1.1 limits")
    assert limit.find("failure") is not None


def test_several_runs_stand_side_by_side(tmp_path: Path) -> None:
    for name, verdict, seen in (("one", "kept", 9), ("two", "broken", 4321)):
        row = {"event": "statement", "statement": "MQTT5-2.2.1-5", "verdict": verdict, "why": "<b>", "cases": ["qos1"]}
        limit = {
            "event": "limit", "version": "5.0", "limit": "maximum_packet_size", "verdict": verdict, "declared": 5000,
            "seen": seen, "agreement": "allows less", "why": "<b>",
        }  # fmt: skip
        (tmp_path / f"{name}.json").write_text(f"{json.dumps(row)}\n{json.dumps(limit)}\n")
    both = [word for name in ("one", "two") for word in ("--beside", str(tmp_path / f"{name}.json"))]
    assert main(["conform", "--page", str(tmp_path / "p.html"), *both]) == 0
    page = (tmp_path / "p.html").read_text()
    assert "<title>MQTT conformance: one, two - mqttpub</title>" in page
    assert ">kept</td>" in page
    assert ">broken</td>" in page
    assert "<td>Maximum Packet Size</td>" in page
    assert ">4,321 bytes, not 5,000 bytes</td>" in page
    assert "<h3>two: Maximum Packet Size, MQTT 5.0</h3>" in page
    assert "<b>" not in page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no verdicts in it"),
        ("{", "line 1: not a record"),
        ('{"event":"statement","statement":"MQTT5-9","verdict":"kept"}', "line 1: not a verdict on a statement"),
        ('{"event":"limit","version":"5.0","limit":"topic_bytes","verdict":"kept","seen":{}}', "line 1: not what was"),
        ('{"event":"limit","version":"5.0","limit":"keep_alive","verdict":"kept","seen":1}', "line 1: not what was"),
    ],
)
def test_a_file_without_verdicts_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    assert main(["conform", "--page", str(tmp_path / "p.html"), "--beside", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_a_wrong_selection_and_flags_that_do_not_go_together_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert conform(1, "3.99") == 2
    assert "'3.99' is neither a section nor a statement" in capsys.readouterr().err
    assert conform(1, "--jobs", "2", "--capture", "a.pcapng") == 2
    assert "--jobs does not go with it" in capsys.readouterr().err
    assert conform(1, "limits", "--largest", "1") == 2
    assert "--largest: is not in the range" in capsys.readouterr().err
    assert main(["conform", "--client", "limits", "--", "mosquitto_pub", "-p", "{port}"]) == 2
    assert "'limits' is tried on a broker" in capsys.readouterr().err


def test_a_closed_port_is_status_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert conform(free_port()) == 3
    assert "refused" in capsys.readouterr().err.lower()


def silent(sock: Any) -> None:
    while sock.recv(4096):
        pass


def garbage(sock: Any) -> None:
    sock.recv(4096)
    sock.sendall(bytes(range(256)) * 40)


def closing(sock: Any) -> None:
    sock.recv(4096)


def flooding(sock: Any) -> None:
    sock.recv(4096)
    sock.sendall(CONNACK)
    while True:
        sock.sendall(bytes.fromhex("30040001610078") * 4096)


def accepting_only(sock: Any) -> None:
    sock.recv(4096)
    sock.sendall(CONNACK)
    silent(sock)


@pytest.mark.parametrize(
    ("handler", "words", "status", "message"),
    [
        (silent, ["--timeout", "0.3"], 3, "it does not answer its CONNECT"),
        (garbage, [], 3, "it answers its CONNECT with something else than CONNACK"),
        (closing, [], 3, "it closes the connection"),
    ],
)
def test_a_peer_that_is_no_broker_is_named(
    handler: Handler, words: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(handler) as port:
        assert conform(port, "-V", "5", *words) == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("handler", [flooding, accepting_only])
def test_a_peer_that_floods_or_says_nothing_more_ends_as_verdicts(
    handler: Handler, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(handler) as port:
        words = "4.3.3-10", "4.6.0-5", "session_kept", "granted_qos"
        assert conform(port, "-V", "5", "--timeout", "0.3", "--json", *words) in (0, 1)
    verdicts = {row["verdict"] for row in records(capsys)[1:]}
    assert verdicts & {"broken", "not exercised"}


def test_a_broker_that_closes_at_each_byte_of_its_answers_ends_as_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    counts = iter(range(10_000))

    def cutting(sock: Any) -> None:
        sock.recv(4096)
        sock.sendall((CONNACK + bytes.fromhex("d000"))[: 5 + next(counts) % 3])

    with serving(cutting) as port:
        assert conform(port, "-V", "5", "--timeout", "1", "--json", "4.3.3-10", "4.6.0-5") in (0, 1)
    assert records(capsys)[1]["verdict"] in ("broken", "not exercised", "kept")


def test_a_broker_that_dies_is_a_verdict_and_ends_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    served: list[int] = []
    stop: list[Callable[[], None]] = []

    def dying(sock: Any) -> None:
        served.append(1)
        sock.recv(4096)
        if len(served) == 1:
            sock.sendall(CONNACK)
            return
        stop[0]()

    class Each(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            dying(self.request)

    with socketserver.TCPServer(("127.0.0.1", 0), Each) as server:

        def end() -> None:
            server.socket.close()

        stop.append(end)

        def serve() -> None:
            server.handle_request()
            server.handle_request()

        thread = threading.Thread(target=serve)
        thread.start()
        assert conform(server.server_address[1], "-V", "5", "--timeout", "1", "--jobs", "1", "--json") == 1
        thread.join()
    rows = records(capsys)[1:]
    assert next(row["why"] for row in rows if row["verdict"] == "broken") == "the peer is gone after this case"
    assert any(row.get("why", "").startswith("the peer is gone after the case ") for row in rows)
