"""`pub --lint`: both ends judged while messages go."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mqttpub.cli.lint.findings import OutputOptions
from mqttpub.cli.main import main
from mqttpub.cli.observe.watch import Watch
from mqttpub.codec.stream import ConnectionStreams
from mqttpub.spec.versions import Direction, Version
from tests.fakes import Peer, scripted, scripted_many

RIGHT = "20 03 00 00 00"
WRONG = "20 03 00 00 00 d0 00"
"""CONNACK, and a PINGRESP that nobody asked for, which nothing but a lint minds."""
C, S = Direction.CLIENT, Direction.SERVER
UNWANTED = "PINGRESP is sent, but no PINGREQ awaits it"
Screen = pytest.CaptureFixture[str]


def broker(connack: str, puback: str = "40 02 00 01", *, last: str = "") -> Callable[[Peer], None]:
    """Return the script of a broker that takes one message, and answers it if there is something to answer."""

    def script(peer: Peer) -> None:
        peer.accept(connack)
        if puback:
            peer.packet()
            peer.send(puback + last)
        peer.wait()

    return script


def gone(peer: Peer) -> None:
    """Accept a client, send it what it does not want, and close."""
    peer.accept(WRONG)
    peer.packet()


def pub(screen: Screen, port: int, *flags: str, status: int) -> tuple[str, str]:
    """Publish with `--lint` and return what it prints on standard output and on standard error."""
    line = ["pub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", "-m", "x", "-i", "me", "-q", "1", "--lint", *flags]
    assert main(line) == status
    shown = screen.readouterr()
    return shown.out, shown.err


def test_where_nothing_is_wrong_the_status_is_that_of_publishing(capsys: Screen) -> None:
    with scripted(broker(RIGHT)) as port:
        out, err = pub(capsys, port, status=0)
    assert out == ""
    assert err.startswith("5 packets: no findings\n224 statements of MQTT 5.0: 0 statements broken, ")


def test_an_error_of_the_broker_is_shown_and_is_status_7(capsys: Screen) -> None:
    with scripted(broker(WRONG)) as port:
        out, err = pub(capsys, port, status=7)
    assert out == ""
    assert "< PINGRESP  2 bytes  MQTT 5.0\n  at 0.0" in err
    assert f"error  {UNWANTED}" in err
    assert "the broker broke the protocol: 1 error in" in err


@pytest.mark.parametrize(
    ("connack", "last", "warned"),
    [(f"{RIGHT} 30 04 00 01 61 00", "", "Topic Name 'a' matches no Topic Filter of this client"),
     (RIGHT, " 40 02 00 07", "PUBACK for Packet Identifier 7, but no PUBLISH with it is in flight")],
)  # fmt: skip
def test_a_warning_about_the_broker_leaves_the_status(capsys: Screen, connack: str, last: str, warned: str) -> None:
    with scripted(broker(connack, last=last)) as port:
        _, err = pub(capsys, port, status=0)
    assert f"warning  {warned}" in err
    assert "the broker broke" not in err


def test_a_refused_message_stays_status_5(capsys: Screen) -> None:
    with scripted(broker(WRONG, "40 03 00 01 87")) as port:
        _, err = pub(capsys, port, status=5)
    assert UNWANTED in err


def test_what_ends_the_run_is_judged_before(capsys: Screen) -> None:
    with scripted(broker("20 05 00 00 02 25 02", "")) as port:
        _, err = pub(capsys, port, status=7)
    assert "error  Retain Available is 2, but must be 0 or 1" in err
    assert err.splitlines()[-1].startswith("mqttpub: the broker sent CONNACK with an error at offset ")


def test_a_refusal_in_the_form_of_an_older_version_is_allowed(capsys: Screen) -> None:
    with scripted(broker("20 02 00 01", "")) as port:
        _, err = pub(capsys, port, "-V", "5", status=4)
    assert "2 packets: no findings" in err
    with scripted(broker("20 02 00 01", "")) as port:
        out, _ = pub(capsys, port, "-V", "5", "--inspect", "--json", status=4)
    (connack,) = [each for each in map(json.loads, out.splitlines()) if each.get("type") == "CONNACK"]
    assert (connack["version"], connack["findings"]) == ("3.1.1", [])


def test_a_forced_fault_is_not_counted_as_the_brokers(capsys: Screen) -> None:
    with scripted(broker(RIGHT, "")) as port:
        _, err = pub(capsys, port, "--dup", "-q", "0", "--force", status=0)
    assert "error  DUP is 1, but QoS is 0" in err
    assert "the broker broke" not in err


def test_with_inspect_a_finding_stands_in_the_dump(capsys: Screen) -> None:
    with scripted(broker(RIGHT, last=" d0 00")) as port:
        out, err = pub(capsys, port, "--inspect", status=7)
    assert out.count("error  PINGRESP is sent") == 1
    assert "error  " not in err
    assert "the broker broke the protocol: 1 error in" in err


def test_json_has_findings_and_a_last_word(capsys: Screen) -> None:
    with scripted(broker(WRONG)) as port:
        out, _ = pub(capsys, port, "--json", status=7)
    records = [json.loads(line) for line in out.splitlines()]
    assert [each["event"] for each in records] == ["finding", "message", "lint"]
    assert (records[0]["statement"], records[0]["direction"]) == ("MQTT5-3.13/unasked", "server")
    last: dict[str, Any] = records[-1]
    assert (last["packets"], last["errors"], last["peer_errors"]) == (6, 1, 1)
    assert set(last["statements"]) == {"broken", "kept", "not_exercised"}


def test_json_with_inspect_has_them_in_the_packets(capsys: Screen) -> None:
    with scripted(broker(RIGHT, last=" d0 00")) as port:
        out, _ = pub(capsys, port, "--json", "--inspect", status=7)
    records = [json.loads(line) for line in out.splitlines()]
    assert not [each for each in records if each["event"] == "finding"]
    found = [each["statement"] for entry in records for each in entry.get("findings", ())]
    assert len(found) == 1


def test_another_connection_is_another_conversation(capsys: Screen) -> None:
    with scripted_many([gone, broker(WRONG)]) as port:
        out, err = pub(capsys, port, "--json", "--reconnect", "1", status=7)
    findings = [json.loads(line) for line in out.splitlines() if '"finding"' in line]
    assert [each["connection"] for each in findings] == [1, 2]
    assert "of 2 connections: 2 findings (2 errors)" in err


def test_quiet_leaves_the_status(capsys: Screen) -> None:
    with scripted(broker(WRONG)) as port:
        assert pub(capsys, port, "--quiet", status=7) == ("", "")


SECOND = 1_700_000_000.0


def watched(*frames: tuple[float, Direction, str]) -> Watch:
    """Return a watch by which packets passed, with their seconds, behind CONNECT and CONNACK."""
    watch, stream = Watch(Version.V5, OutputOptions()), ConnectionStreams(Version.V5)
    connection = watch.connection()
    opening = [(0.0, C, "10 0e 00 04 4d 51 54 54 05 02 00 00 00 00 01 61"), (0.0, S, RIGHT)]
    for seconds, direction, data in [*opening, *frames]:
        for frame in stream.feed(direction, bytes.fromhex(data)):
            connection(SECOND + seconds, frame)
    watch.end()
    watch.end()
    return watch


def test_a_missing_answer_of_the_broker_counts_against_it(capsys: Screen) -> None:
    ping = [(20.0, C, "c0 00"), (20.0, S, "d0 00")]
    assert watched((1.0, C, "82 07 00 05 00 00 01 61 01"), *ping).peer_errors == 1
    said = capsys.readouterr().err
    assert "with Packet Identifier 5 got no SUBACK" in said
    assert said.count("packets: 1 finding (1 error)") == 1


def test_a_missing_answer_of_the_client_is_not_counted_against_the_broker(capsys: Screen) -> None:
    messages = [(1.0, S, f"32 06 00 01 61 00 0{id} 00") for id in (1, 2)]
    subscribed = [(0.5, C, "82 07 00 05 00 00 01 61 01"), (0.6, S, "90 04 00 05 00 01")]
    assert watched(*subscribed, *messages, (1.1, C, "40 02 00 02")).peer_errors == 0
    assert "with Packet Identifier 1 got no PUBACK" in capsys.readouterr().err


@pytest.mark.broker
@pytest.mark.parametrize("version", ["3.1", "3.1.1", "5"])
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_a_real_broker_breaks_nothing(mosquitto: int, capsys: Screen, version: str, qos: str) -> None:
    _, err = pub(capsys, mosquitto, "-V", version, "-q", qos, status=0)
    assert "packets: no findings" in err
