"""SCRAM over MQTT 5, against a peer that computes the server's half by itself, and against the vectors of the RFCs."""

from collections.abc import Callable
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.live.authentication import METHODS, NotAuthentic, ScramExchange, ScramUser
from mqttpub.live.failures import Unusable
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Auth, Connack
from mqttpub.spec.properties import AUTHENTICATION_DATA, AUTHENTICATION_METHOD, value_of
from mqttpub.spec.versions import Direction, Version
from tests.fakes import Peer, scripted
from tests.live.scram_server import ScramServer

VECTORS = [
    # RFC 5802, section 5
    (
        "SCRAM-SHA-1", "fyko+d2lbbFgONRv9qkxdawL", "3rfcNHYJY1ZVvWVs7j", "QSXCR+Q6sek8bf92",
        "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=", "rmF9pqV8S7suAoZWja4dJRkFsKQ=",
    ),
    # RFC 7677, section 3
    (
        "SCRAM-SHA-256", "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", "W22ZaJ0SNY7soEsUEjb6gQ==",
        "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("method", "ours", "theirs", "salt", "proof", "signature"), VECTORS)
def test_the_exchanges_of_the_rfcs(
    method: str, ours: str, theirs: str, salt: str, proof: str, signature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scramp.core.Nonce.create", lambda: __import__("scramp.core").core.Nonce(ours))
    exchange = ScramExchange(ScramUser(method, "user", "pencil"))
    assert exchange.begin() == f"n,,n=user,r={ours}".encode()
    final = exchange.answer(f"r={ours}{theirs},s={salt},i=4096".encode())
    assert final == f"c=biws,r={ours}{theirs},p={proof}".encode()
    exchange.finish(f"v={signature}".encode())
    assert not exchange.running


CHALLENGES = [
    (b"r=OTHER,s=QSXCR+Q6sek8bf92,i=4096", "nonce"),
    (b"r={nonce}x,s=QSXCR+Q6sek8bf92,i=1", "4096"),
    (b"r={nonce}x,s=QSXCR+Q6sek8bf92,i=99999999999", "10000000"),
    (b"r={nonce}x,s=!!!,i=4096", "base 64"),
    (b"m=ext,r={nonce}x,s=QSXCR+Q6sek8bf92,i=4096", "."),
    (b"r={nonce}x,s=QSXCR+Q6sek8bf92", "."),
    (b"", "."),
    (b"\xff\xfe", "."),
    (b"=,=,=", "."),
    (None, "no Authentication Data"),
]


@pytest.mark.parametrize(("challenge", "said"), CHALLENGES)
def test_a_challenge_that_cannot_be_used_is_refused(challenge: bytes | None, said: str) -> None:
    exchange = ScramExchange(ScramUser("SCRAM-SHA-256", "user", "pencil"))
    nonce = exchange.begin().rpartition(b"r=")[2]
    with pytest.raises(NotAuthentic, match=said):
        exchange.answer(challenge and challenge.replace(b"{nonce}", nonce))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("signature", [b"v=AAAA", b"v=", b"e=invalid-proof", b"x", None])
def test_a_wrong_signature_is_refused(method: str, signature: bytes | None) -> None:
    exchange = ScramExchange(ScramUser(method, "user", "pencil"))
    first = exchange.begin()
    exchange.answer(ScramServer(method, "pencil").challenge(first))
    with pytest.raises(NotAuthentic):
        exchange.finish(signature)
    assert exchange.running


def test_names_that_saslprep_forbids_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(Unusable, match="user name or password"):
        ScramExchange(ScramUser("SCRAM-SHA-256", "us\x07er", "pencil"))


# over a connection


def packet_data(data: bytes) -> Any:
    """Return the packet of a client, which must be of MQTT 5."""
    packet = decode(data, Version.V5, direction=Direction.CLIENT).packet
    assert packet is not None
    return packet


def authentication_data(packet: Any) -> bytes:
    """Return the Authentication Data of a packet."""
    data: bytes = value_of(packet.properties, AUTHENTICATION_DATA)
    return data


def step(method: str, data: bytes) -> tuple[Property, ...]:
    """Return the properties of one step of the server."""
    return Property(AUTHENTICATION_METHOD.id, method), Property(AUTHENTICATION_DATA.id, data)


def send(peer: Peer, packet: Auth | Connack) -> None:
    peer.sock.sendall(encode(packet, Version.V5))


class Authenticator:
    """The server's end: it authenticates the client at CONNECT, and again as often as it is asked to."""

    def __init__(self, server: ScramServer, then: Callable[[Peer], None]) -> None:
        self.server = server
        self.then = then
        self.connect: Any = None
        self.last = b""

    def __call__(self, peer: Peer) -> None:
        self.connect = packet_data(peer.packet())
        first = authentication_data(self.connect)
        self._challenge(peer, first)
        final = self._final(peer, first)
        if final.startswith(b"e="):
            send(peer, Connack(reason_code=0x86))
            return
        send(peer, Connack(properties=step(self.server.method, final)))
        self.then(peer)

    def again(self, peer: Peer) -> None:
        packet = packet_data(peer.packet())
        assert (packet.name, packet.reason_code) == ("AUTH", 0x19)
        first = authentication_data(packet)
        self._challenge(peer, first)
        send(peer, Auth(reason_code=0, properties=step(self.server.method, self._final(peer, first))))

    def _challenge(self, peer: Peer, first: bytes) -> None:
        send(peer, Auth(reason_code=0x18, properties=step(self.server.method, self.server.challenge(first))))

    def _final(self, peer: Peer, first: bytes) -> bytes:
        packet = packet_data(peer.packet())
        assert (packet.name, packet.reason_code) == ("AUTH", 0x18)
        return self.server.signature(first, authentication_data(packet))


def conn(port: int, method: str, *flags: str, password: str = "pencil") -> int:
    user = ["-am", method, "-u", "user", "-P", password]
    return main(["conn", "-h", "127.0.0.1", "-p", str(port), *user, "--timeout", "5", *flags])


@pytest.mark.parametrize("method", METHODS)
def test_client_and_server_prove_the_password_without_sending_it(
    method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Authenticator(ScramServer(method, "pencil"), lambda peer: server.again(peer))
    with scripted(server) as port:
        assert conn(port, method, "--reauthenticate", "--inspect") == 0
    assert (server.connect.username, server.connect.password) == ("user", None)
    shown = capsys.readouterr().out
    assert f"authenticated again with {method}" in shown
    assert "pencil" not in shown
    assert "n=user" not in shown
    assert shown.count("Authentication Data") == 8


def test_a_connection_lasts_after_its_authentication() -> None:
    with scripted(Authenticator(ScramServer("SCRAM-SHA-256", "pencil"), Peer.wait)) as port:
        assert conn(port, "SCRAM-SHA-256", "--stay", "0.8") == 0


def test_a_wrong_password_is_refused_by_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(Authenticator(ScramServer("SCRAM-SHA-256", "pencil"), Peer.wait)) as port:
        assert conn(port, "SCRAM-SHA-256", password="pen") == 4
    assert "0x86 Bad User Name or Password" in capsys.readouterr().err


def test_a_server_that_does_not_know_the_password_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    def accept(peer: Peer) -> None:
        first = authentication_data(packet_data(peer.packet()))
        server = ScramServer("SCRAM-SHA-256", "guess")
        send(peer, Auth(reason_code=0x18, properties=step(server.method, server.challenge(first))))
        peer.packet()
        send(peer, Connack(properties=step(server.method, b"v=" + b"A" * 43 + b"=")))

    with scripted(accept) as port:
        assert conn(port, "SCRAM-SHA-256") == 3
    assert "did not prove that it knows the password" in capsys.readouterr().err


@pytest.mark.parametrize("connack", [Connack(), Connack(properties=step("SCRAM-SHA-256", b"v=AAAA"))])
def test_a_server_that_accepts_without_a_challenge_is_left(connack: Connack) -> None:
    def accept(peer: Peer) -> None:
        peer.packet()
        send(peer, connack.replace(properties=connack.properties or step("SCRAM-SHA-256", b"")))

    with scripted(accept) as port:
        assert conn(port, "SCRAM-SHA-256") == 3


FAULTS = [
    Auth(reason_code=0x18, properties=step("SCRAM-SHA-1", b"r=x")),
    Auth(reason_code=0x18, properties=step("SCRAM-SHA-256", b"r=x,s=AAAA,i=4096")),
    Auth(reason_code=0, properties=step("SCRAM-SHA-256", b"v=AAAA")),
    Auth(reason_code=0x19, properties=step("SCRAM-SHA-256", b"r=x")),
]


@pytest.mark.parametrize("fault", FAULTS, ids=["method", "nonce", "success", "code"])
def test_a_step_that_cannot_come_is_a_fault_of_the_peer(fault: Auth) -> None:
    def break_off(peer: Peer) -> None:
        peer.packet()
        send(peer, fault)
        assert peer.packet()[0] == 0xE0

    with scripted(break_off) as port:
        assert conn(port, "SCRAM-SHA-256") == 7


def test_an_auth_after_connack_needs_to_be_asked_for() -> None:
    def again(peer: Peer) -> None:
        send(peer, Auth(reason_code=0x18, properties=step("SCRAM-SHA-256", b"r=x")))
        peer.packet()

    with scripted(Authenticator(ScramServer("SCRAM-SHA-256", "pencil"), again)) as port:
        assert conn(port, "SCRAM-SHA-256", "--stay", "5") == 7


def test_pub_authenticates_too() -> None:
    def acknowledge(peer: Peer) -> None:
        assert packet_data(peer.packet()).topic == "a"
        peer.send("40 02 00 01")
        peer.wait()

    with scripted(Authenticator(ScramServer("SCRAM-SHA-512", "pencil"), acknowledge)) as port:
        user = ["-am", "SCRAM-SHA-512", "-u", "user", "-P", "pencil"]
        assert main(["pub", "-h", "127.0.0.1", "-p", str(port), *user, "-t", "a", "-m", "x", "-q", "1"]) == 0


def test_authentication_data_of_a_flag_is_sent_as_it_is() -> None:
    seen: list[Any] = []

    def script(peer: Peer) -> None:
        seen.append(packet_data(peer.packet()))
        send(peer, Connack(properties=step("SCRAM-SHA-256", b"")))
        peer.wait()

    with scripted(script) as port:
        assert conn(port, "SCRAM-SHA-256", "--authentication-data", "mine") == 0
    assert (authentication_data(seen[0]), seen[0].password) == (b"mine", b"pencil")


def test_a_password_that_is_not_text_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert conn(1, "SCRAM-SHA-256", password="hex:ff") == 2
    assert "needs a password of UTF-8 text" in capsys.readouterr().err


def test_to_authenticate_again_needs_a_method(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conn", "-p", "1", "--reauthenticate"]) == 2
    assert "--reauthenticate needs --authentication-method" in capsys.readouterr().err
