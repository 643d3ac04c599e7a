"""TLS: how it is shown, what it refuses, and what its failures say."""

import json
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from mqttpub.live import session, tap
from mqttpub.live.failures import NotConnected, Refused
from mqttpub.live.net.target import Target
from mqttpub.live.net.transport import Tls, Transport
from mqttpub.live.publish.publisher import Publisher, PublishOptions
from mqttpub.live.publish.sender import Publication
from mqttpub.live.publish.sources import Listed
from mqttpub.live.tap import half_close
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from tests.build.brokers import Broker
from tests.build.frames import SentSegment, pcap_of
from tests.fakes import Peer, answering, scripted
from tests.live.relays import relay, straight_to
from tests.live.ways import TLS_LINE, WAYS, insecurely, layers, puback, publish, secured, to, trusting

# how it is shown


@pytest.mark.broker
def test_the_tls_layer_is_shown_with_version_cipher_peer_and_days(brokers: Broker) -> None:
    assert layers(WAYS["TLS"](brokers)) == [TLS_LINE]
    (line,) = layers(WAYS["TLS 1.2"](brokers))
    assert line == "TLS 1.2, ECDHE-ECDSA-AES256-GCM-SHA384, peer CN=localhost, valid for 364 more days, verified"


@pytest.mark.broker
def test_an_insecure_connection_is_shown_as_not_verified(brokers: Broker) -> None:
    said = [layers(insecurely(kind)(brokers))[0].split(", ", 2)[2] for kind in ("tls", "expired", "elsewhere")]
    assert said == [
        "peer CN=localhost, valid for 364 more days, NOT verified (--insecure)",
        "peer CN=localhost, expired 1 day ago, NOT verified (--insecure)",
        "peer CN=elsewhere.example, valid for 364 more days, NOT verified (--insecure)",
    ]


@pytest.mark.broker
@pytest.mark.parametrize("loosely", [Tls(insecure=True), Tls(any_name=True)], ids=["insecure", "any name"])
def test_a_ca_file_is_obeyed_where_the_name_is_not(loosely: Tls, brokers: Broker) -> None:
    def shown(kind: str, trusted: Path) -> list[str]:
        return layers(to(brokers, kind, Transport(tls=loosely._replace(ca_file=str(trusted)))))

    (line,) = shown("elsewhere", brokers.ca.cert)
    assert line.endswith("peer CN=elsewhere.example, valid for 364 more days, verified but for its name")
    with pytest.raises(NotConnected, match="is not trusted"):
        shown("tls", brokers.stranger.cert)
    with pytest.raises(NotConnected, match="has expired"):
        shown("expired", brokers.ca.cert)


@pytest.mark.broker
def test_any_name_without_a_ca_file_trusts_those_of_the_system(brokers: Broker) -> None:
    with pytest.raises(NotConnected, match="is not trusted"):
        layers(to(brokers, "tls", Transport(tls=Tls(any_name=True))))


@pytest.mark.broker
def test_a_ca_file_is_trusted_instead_of_those_of_the_system(brokers: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(brokers.ca.cert))
    assert layers(to(brokers, "tls", Transport(tls=Tls()))) == [TLS_LINE]
    with pytest.raises(NotConnected, match="is not trusted"):
        layers(to(brokers, "tls", Transport(tls=Tls(ca_file=str(brokers.stranger.cert)))))


@pytest.mark.broker
@pytest.mark.parametrize("kind", ["tls", "wss"])
def test_a_port_with_tls_is_named_where_none_was_asked_for(kind: str, brokers: Broker) -> None:
    with pytest.raises(NotConnected) as caught:
        publish(to(brokers, kind))
    place = f"localhost:{brokers.ports[kind]}"
    assert str(caught.value) == (
        f"{place} closed the connection before CONNACK, as a TLS port does without --tls; no message was sent"
    )


# TLS that does not come about


def test_a_handshake_that_is_not_answered_is_named() -> None:
    with (
        scripted(Peer.wait) as port,
        pytest.raises(NotConnected, match=r"no answer to the TLS handshake from .* within 1 s"),
    ):
        publish(Target("127.0.0.1", port, transport=Transport(tls=Tls())), timeout=1.0)


REFUSED_TLS: dict[str, tuple[str, Callable[[Broker], Tls], str]] = {
    "untrusted": (
        "tls", lambda brokers: Tls(ca_file=str(brokers.stranger.cert)),
        "the certificate of localhost:{} is not trusted: self-signed certificate in certificate chain",
    ),
    "not of the system": (
        "tls", lambda brokers: Tls(),
        "the certificate of localhost:{} is not trusted: self-signed certificate in certificate chain",
    ),
    "another name": ("elsewhere", trusting, "the certificate of localhost:{} is not for 'localhost'"),
    "another SNI": (
        "tls", lambda brokers: trusting(brokers, server_name="other.example"),
        "the certificate of localhost:{} is not for 'other.example'",
    ),
    "expired": ("expired", trusting, "the certificate of localhost:{} has expired"),
    "no client certificate": ("client", trusting, "localhost:{} asks for a client certificate"),
    "no client certificate, 1.2": (
        "client", lambda brokers: trusting(brokers, maximum="1.2"),
        "localhost:{} refused the TLS handshake: sslv3 alert handshake failure",
    ),
    "plain port": (
        "tcp", trusting, "localhost:{} closed the connection during the TLS handshake; is it a port without TLS?",
    ),
    "HTTP port": ("ws", trusting, "localhost:{} does not speak TLS"),
}  # fmt: skip


@pytest.mark.broker
@pytest.mark.parametrize("name", REFUSED_TLS)
@pytest.mark.parametrize("qos", [0, 1])
def test_a_refused_handshake_says_why(name: str, qos: int, brokers: Broker) -> None:
    kind, tls, sentence = REFUSED_TLS[name]
    with pytest.raises(NotConnected) as caught:
        publish(to(brokers, kind, Transport(tls=tls(brokers))), qos=qos)
    assert str(caught.value) == sentence.format(brokers.ports[kind])


@pytest.mark.broker
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_certificate_for_another_address_is_said_to_be_for_another(host: str, brokers: Broker) -> None:
    target = to(brokers, "elsewhere", Transport(tls=trusting(brokers)), host=host)
    with pytest.raises(NotConnected) as caught:
        publish(target)
    assert str(caught.value) == f"the certificate of {target.place} is not for '{host}'"


@pytest.mark.broker
@pytest.mark.parametrize("name", ["untrusted", "another name", "expired"])
def test_a_wrong_certificate_is_final(name: str, brokers: Broker) -> None:
    kind, tls, _ = REFUSED_TLS[name]
    said: list[str] = []
    message = Publication.of(Publish(topic="way"), Version.V5)
    target = to(brokers, kind, Transport(tls=tls(brokers)))
    made = Publisher(target, Listed([message]), PublishOptions(timeout_s=5.0, reconnects=None), remark=said.append)
    with pytest.raises(NotConnected):
        list(made.run())
    assert said == []


PROCESSES = ["untrusted", "another name", "expired", "no client certificate", "plain port"]


@pytest.mark.broker
@pytest.mark.parametrize("name", PROCESSES)
def test_a_bad_certificate_is_exit_3_and_one_line(name: str, brokers: Broker) -> None:
    kind, tls, sentence = REFUSED_TLS[name]
    port = brokers.ports[kind]
    done = pub("-p", str(port), "--cafile", str(tls(brokers).ca_file))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"mqttpub: {sentence.format(port)}\n"


def pub(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `mqttpub pub` as a process."""
    command = [sys.executable, "-m", "mqttpub", "pub", "-t", "way", "-q", "1", "-m", "x", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.broker
def test_insecure_says_so_each_time(brokers: Broker) -> None:
    for _ in range(2):
        done = pub("-p", str(brokers.ports["expired"]), "--insecure")
        assert done.returncode == 0
        assert done.stderr == "mqttpub: --insecure: the certificate of the broker is not verified\n"


@pytest.mark.slow
@pytest.mark.broker
def test_insecure_with_a_ca_file_checks_the_chain(brokers: Broker) -> None:
    done = pub("-p", str(brokers.ports["elsewhere"]), "--insecure", "--cafile", str(brokers.ca.cert))
    assert done.returncode == 0
    assert done.stderr == "mqttpub: --insecure: the certificate of the broker, but for its chain, is not verified\n"
    done = pub("-p", str(brokers.ports["elsewhere"]), "--no-verify-hostname", "--cafile", str(brokers.ca.cert))
    assert (done.returncode, done.stderr) == (0, "")
    done = pub("-p", str(brokers.ports["tls"]), "--insecure", "--cafile", str(brokers.stranger.cert))
    assert done.returncode == 3
    assert "is not trusted" in done.stderr


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize(("host", "place"), [("", "localhost"), ("-h ::1", "[::1]"), ("-h 127.0.0.1", "127.0.0.1")])
def test_inspect_shows_the_layers(host: str, place: str, brokers: Broker) -> None:
    port = str(brokers.ports["wss"])
    flags = ("-p", port, "--protocol", "wss", "--cafile", str(brokers.ca.cert), "--inspect", *host.split())
    shown = " ".join(pub(*flags).stdout.split())
    assert shown.startswith(f"* connecting to wss://{place}:{port}/mqtt as ")
    began = shown.index("* TLS 1.3")
    assert shown[began:].startswith(
        f"* {TLS_LINE} * WebSocket: GET /mqtt -> 101 Switching Protocols, subprotocol mqtt > CONNECT"
    )
    record = json.loads(pub(*flags, "--json").stdout.splitlines()[0])
    assert record["event"] == "connection"
    assert record["layers"][0] == TLS_LINE


def test_versions_that_do_not_meet_are_named(brokers: Broker) -> None:
    tls = trusting(brokers, minimum="1.3")
    with (
        scripted(secured(brokers, puback, maximum=ssl.TLSVersion.TLSv1_2)) as port,
        pytest.raises(NotConnected) as said,
    ):
        publish(Target("localhost", port, transport=Transport(tls=tls)))
    assert str(said.value) == f"localhost:{port} refused the TLS handshake: no TLS version in common"


def test_the_agreed_alpn_protocol_is_shown(brokers: Broker) -> None:
    tls = trusting(brokers, alpn=("x-amzn-mqtt-ca", "mqtt"))
    with scripted(secured(brokers, puback, "mqtt")) as port:
        (line,) = layers(Target("127.0.0.1", port, transport=Transport(tls=tls)))
    assert "TLS_AES_256_GCM_SHA384, ALPN mqtt, peer CN=localhost" in line


def test_nothing_follows_disconnect_through_tls_which_cannot_be_half_closed(brokers: Broker) -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.accept()
        published = peer.packet()
        peer.send("40 02 " + published[7:9].hex())
        seen.append(peer.packet())
        peer.send("32 06 00 01 61 00 07 00")
        peer.sock.settimeout(0.5)
        with pytest.raises(TimeoutError):
            seen.append(peer.packet())

    with scripted(secured(brokers, script)) as port:
        target = Target("localhost", port, transport=Transport(tls=trusting(brokers)))
        assert publish(target).reason_code == 0
    assert seen == [b"\xe0\0"]


def test_a_late_objection_is_seen_through_tls(brokers: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-closing TLS as if it were TCP would turn what comes after into noise."""
    closed = Event()

    def closing(sock: Any) -> bool:
        closes = half_close(sock)
        closed.set()
        return closes

    def script(peer: Peer) -> None:
        answering("", "")(peer)
        assert closed.wait(60)
        peer.send("e0 02 97 00")

    monkeypatch.setattr(tap, "half_close", closing)
    monkeypatch.setattr(session, "LINGER_S", 60.0)

    with scripted(secured(brokers, script)) as port, pytest.raises(Refused, match="0x97 Quota exceeded"):
        publish(Target("127.0.0.1", port, transport=Transport(tls=trusting(brokers))), qos=0)


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.tshark
def test_tshark_reads_the_connection_with_the_key_log(brokers: Broker, tmp_path: Path) -> None:
    log, capture = tmp_path / "keys", tmp_path / "capture.pcap"
    with relay(straight_to(brokers.ports["tls"])) as wire:
        publish(
            Target("localhost", wire.port, transport=Transport(tls=trusting(brokers, key_log=str(log)))), b"in clear"
        )
    capture.write_bytes(pcap_of((SentSegment(1, each.direction, each.data) for each in wire.passed), port=8883))
    command = [
        "tshark", "-r", str(capture), "-o", f"tls.keylog_file:{log}", "-d", "tcp.port==8883,tls", "-Y", "mqtt.msg",
        "-T", "fields", "-e", "mqtt.msg",
    ]  # fmt: skip
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert shown.split() == [b"in clear".hex()]
    assert log.stat().st_mode & 0o077 == 0
