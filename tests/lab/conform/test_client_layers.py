"""Clients that begin TLS and WebSocket are served over them, and those that break WebSocket below MQTT are caught."""

import socket
import sys
from contextlib import suppress

import pytest

from mqttpub.capture.protocol.websocket import COMPRESSED, TEXT
from mqttpub.lab.conform.client_playing import ClientAccess, ClientRun, play_client
from mqttpub.lab.conform.client_server import NO_WEBSOCKET
from mqttpub.lab.conform.command import RunningClient
from mqttpub.lab.serving.certificate import MadeCertificate, make_certificate
from mqttpub.lab.serving.server import Server
from mqttpub.script.encoder import ScriptEncoder
from mqttpub.script.reader import read_script
from mqttpub.script.steps import PacketStep
from mqttpub.spec.versions import Version
from tests.build.websocket import frame
from tests.lab.conform.client_proving import FRAMED, TIMEOUT_S, ScriptedClient, broken, named
from tests.lab.serving.test_websocket import request


class WritingClient(ScriptedClient):
    """Asks for an upgrade, sends PINGREQ in a frame after CONNECT, and closes its side or waits for the server."""

    def __init__(self, server: Server, version: Version, offers: str, ping: bytes, *, stays: bool) -> None:
        super().__init__([], version, server)
        self._data = request(Sec_WebSocket_Protocol=offers) + frame(packet("> connect", version)) + ping
        self._stays = stays

    def _play(self) -> None:
        place = self.target.host, self.target.port
        with suppress(OSError), socket.create_connection(place, 10) as sock:
            sock.sendall(self._data)
            if not self._stays:
                sock.shutdown(socket.SHUT_WR)
            while sock.recv(4096):
                pass


def packet(text: str, version: Version) -> bytes:
    step = next(each for each in read_script([text]) if isinstance(each, PacketStep))
    return ScriptEncoder(version).bytes_of(step)


PING = packet("> pingreq", Version.V5)


def played(
    version: Version, offers: str = "mqtt", ping: bytes = frame(PING), case: str = "websocket", *, stays: bool = False
) -> ClientRun:  # fmt: skip
    """Play such a client."""
    client = ClientAccess(lambda server: WritingClient(server, version, offers, ping, stays=stays), TIMEOUT_S)
    return play_client(named(version, case), client)


@pytest.mark.parametrize("version", list(Version), ids=str)
def test_a_client_that_breaks_websocket_is_caught_and_one_that_does_not_is_not(version: Version) -> None:
    # Section 1 of 3.1 demands a transport that keeps bytes whole; 6 of the others, more than that.
    labels = ("1/transport",) * 2 if version is Version.V31 else ("6.0.0-1", "6.0.0/frames")
    text, frames = (f"{version.prefix}-{label}" for label in labels)
    run = played(version)
    assert (run.result.verdict, broken(run.result)) == ("kept", set())
    assert {text, frames} | FRAMED[version] == set(run.result.case.statements)
    assert broken(played(version, ping=frame(PING, TEXT)).result) == {text}
    assert broken(played(version, ping=frame(PING, rsv=COMPRESSED)).result) == {frames}
    assert broken(played(version, ping=frame(PING, masked=False)).result) == {frames}


@pytest.mark.parametrize("version", [Version.V5, Version.V311], ids=str)
@pytest.mark.parametrize("offers", ["", "mqttv3.1", "amqp, xmqtt"])
def test_a_client_that_does_not_offer_mqtt_is_caught_and_served(version: Version, offers: str) -> None:
    run = played(version, offers)
    assert broken(run.result) == {f"{version.prefix}-6.0.0-3"}
    assert [each.frame.data[0] >> 4 for each in run.result.packets[:2]] == [1, 2]


@pytest.mark.parametrize("version", [Version.V5, Version.V311], ids=str)
def test_a_client_that_takes_connack_in_a_text_frame_is_caught(version: Version) -> None:
    run = played(version, case="websocket-text", stays=True)
    assert broken(run.result) == {f"{version.prefix}-6.0.0-1"}
    assert broken(played(version, case="websocket-text").result) == set()


# TLS


@pytest.fixture(scope="module")
def certificate() -> MadeCertificate:
    return make_certificate()


@pytest.mark.parametrize(
    ("scheme", "case", "found"),
    [
        ("mqtts", "receives-qos1-waiting", ("kept", "")),
        ("mqtts", "websocket", ("not exercised", NO_WEBSOCKET)),
        ("wss", "websocket-split-waiting", ("kept", "")),
    ],
)
def test_a_client_that_begins_tls_is_served(
    scheme: str,
    case: str,
    found: tuple[str, str],
    certificate: MadeCertificate,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    file = tmp_path_factory.mktemp(scheme) / "ca.pem"
    file.write_bytes(certificate.cert)
    words = ("pub", "-L", f"{scheme}://{{host}}:{{port}}/mqtt", "--cafile", "{cafile}", "-t", "a", "-m", "b", "-q", "1")
    command = (sys.executable, "-m", "mqttpub", *words)
    access = ClientAccess(
        lambda server: RunningClient(command, server, str(file)), TIMEOUT_S, tls=certificate.context()
    )
    result = play_client(named(Version.V5, case), access).result
    assert (result.verdict, result.why) == found


def test_a_client_that_begins_tls_without_a_certificate_is_named() -> None:
    hello = "import socket, sys; s = socket.create_connection(sys.argv[1:]); s.sendall(b'\\x16\\3\\1\\0'); s.recv(1)"
    client = ClientAccess(
        lambda server: RunningClient((sys.executable, "-c", hello, "{host}", "{port}"), server), TIMEOUT_S
    )
    why = play_client(named(Version.V5, "plain"), client).result.why
    assert why.startswith("the client sent no CONNECT: ")
    assert "begins TLS, but its command does not name {cafile}" in why


def test_a_client_that_does_not_trust_the_certificate_is_named(certificate: MadeCertificate) -> None:
    hello = (
        "import socket, ssl, sys; s = socket.create_connection(sys.argv[1:]); "
        "ssl.create_default_context().wrap_socket(s, server_hostname='localhost')"
    )
    client = ClientAccess(
        lambda server: RunningClient((sys.executable, "-c", hello, "{host}", "{port}"), server), TIMEOUT_S,
        tls=certificate.context(),
    )  # fmt: skip
    why = play_client(named(Version.V5, "plain"), client).result.why
    assert why.startswith("the client sent no CONNECT: ")
    assert "unknown ca" in why
