"""Scripts played at the server's end, against the same script at the client's and against real clients."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest

from mqttpub.lab.player import Player, PlayFailure, PlayOptions
from mqttpub.lab.raw_client import RawClient
from mqttpub.lab.scripted import ScriptedServer
from mqttpub.lab.serving.layers import PLAIN, Layers, server_context
from mqttpub.live.net.dial import open_socket
from mqttpub.live.net.target import Target
from mqttpub.live.net.transport import Tls, Transport
from mqttpub.script.reader import read_script
from mqttpub.spec.versions import Version
from tests.build.certificates import Authority, Pair

SCRIPTS = files("mqttpub.lab").joinpath("scripts")
NAMES = sorted(each.name.removesuffix(".mqtt") for each in SCRIPTS.iterdir())
OPTIONS = PlayOptions(timeout_s=5)
TCP = Transport()
PUBLISHES = (
    "> connect; < connack c=00",
    "> publish q2 d0 i=$p t=a/b p=hello; < pubrec i=$p; > pubrel i=$p; < pubcomp i=$p",
    "> disconnect",
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Pair]:
    """A CA, and a certificate for a server on loopback."""
    made = Authority(tmp_path_factory.mktemp("scripted"))
    return made, made.signed("server")


def layers(pair: Pair | None, websocket: bool) -> Layers:
    """Return the layers of a listener."""
    return Layers(server_context(Tls(cert=str(pair.cert), key=str(pair.key))) if pair else None, websocket)


@contextmanager
def playing(server: ScriptedServer, lines: Sequence[str], options: PlayOptions = OPTIONS) -> Iterator[list[Exception]]:
    """Play the server's end in a thread; afterwards the list holds why it went otherwise, if it did."""
    failures: list[Exception] = []

    def play() -> None:
        try:
            server.play(read_script(lines), options)
        except Exception as failure:
            failures.append(failure)

    thread = threading.Thread(target=play)
    thread.start()
    yield failures
    thread.join(30)
    assert not thread.is_alive()


def play_client(target: Target, lines: Sequence[str]) -> None:
    """Play the client's end."""

    def dial(label: str, version: Version) -> RawClient:
        return RawClient(open_socket(target, time.monotonic() + 5, 5), version=version)

    with Player(dial, OPTIONS) as player:
        player.play(read_script(lines))


def play_both(lines: Sequence[str], made: Layers = PLAIN, transport: Transport = TCP) -> None:
    """Play both ends of a script, one against the other."""
    with ScriptedServer(layers=made) as server, playing(server, lines) as failures:
        play_client(Target("127.0.0.1", server.port, transport=transport), lines)
    assert failures == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_both_ends_of_each_ready_script_agree(name: str) -> None:
    play_both(SCRIPTS.joinpath(f"{name}.mqtt").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("kind", ["tcp", "websocket"])
@pytest.mark.parametrize("with_tls", [False, True])
@pytest.mark.parametrize("name", ["qos2", "byte-by-byte", "will-on-a-cut", "taken-over"])
def test_both_ends_agree_over_each_layer(
    name: str, kind: str, with_tls: bool, authority: tuple[Authority, Pair]
) -> None:
    ca, pair = authority
    lines = SCRIPTS.joinpath(f"{name}.mqtt").read_text(encoding="utf-8").splitlines()
    made = layers(pair if with_tls else None, kind == "websocket")
    transport = Transport(kind, "/mqtt", tls=Tls(ca_file=str(ca.cert)) if with_tls else None)
    play_both(lines, made, transport)


def mosquitto_pub(port: int, *more: str) -> subprocess.CompletedProcess[str]:
    """Publish a message with QoS 2."""
    command = ["mosquitto_pub", "-h", "localhost", "-p", str(port), "-q", "2", "-t", "a/b", "-m", "hello", *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)


@pytest.mark.broker
@pytest.mark.parametrize("version", ["31", "311", "5"])
def test_mosquitto_pub_publishes_to_a_script(version: str) -> None:
    with ScriptedServer() as server, playing(server, PUBLISHES) as failures:
        done = mosquitto_pub(server.port, "-V", f"mqttv{version}")
    assert (done.returncode, done.stderr, failures) == (0, "", [])


@pytest.mark.parametrize("version", list(Version))
def test_what_is_sent_is_of_the_version_of_the_client(version: Version) -> None:
    lines = [f"version {version.label}", *PUBLISHES]
    with ScriptedServer() as server, playing(server, PUBLISHES) as failures:
        play_client(Target("127.0.0.1", server.port), [line.replace("$p", "7") for line in lines])
    assert failures == []


@pytest.mark.parametrize(("lines", "message"), [
    (["version 5.0", "> connect; < connack"], "the client speaks MQTT 3.1.1, but the script is for 5.0"),
    (["> connect; < connack receive_maximum=1"], "MQTT 3.1.1 has no properties"),
    (["version 3.1.1 5.0", "> connect; < connack receive_maximum=1", "> publish q0", "> disconnect"], ""),
])  # fmt: skip
def test_a_client_of_another_version(lines: list[str], message: str) -> None:
    with ScriptedServer() as server, playing(server, lines) as failures:
        mosquitto_pub(server.port, "-V", "311", "-q", "0")
    assert list(map(str, failures)) == [message] * bool(message)


@pytest.mark.broker
def test_mosquitto_pub_publishes_to_a_script_over_tls(authority: tuple[Authority, Pair]) -> None:
    ca, pair = authority
    with ScriptedServer(layers=layers(pair, False)) as server, playing(server, PUBLISHES) as failures:
        done = mosquitto_pub(server.port, "--cafile", str(ca.cert))
    assert (done.returncode, done.stderr, failures) == (0, "", [])


@pytest.mark.broker
def test_one_server_plays_one_script_after_another() -> None:
    with ScriptedServer() as server:
        for _ in range(2):
            with playing(server, PUBLISHES) as failures:
                assert mosquitto_pub(server.port).returncode == 0
            assert failures == []


@pytest.mark.broker
def test_what_a_client_does_otherwise_is_named() -> None:
    with (
        ScriptedServer() as server,
        playing(server, ["> connect; < connack c=00", "> publish q2 t=a/c p=hello"]) as failures,
    ):
        mosquitto_pub(server.port)
    (failure,) = failures
    assert isinstance(failure, PlayFailure)
    assert failure.message == "PUBLISH came, but not with t=a/c"
    assert failure.step.word.line == 2
    assert failure.awaited == failure.came.data.replace(b"a/b", b"a/c") if failure.came else False


@pytest.mark.parametrize("websocket", [False, True])
def test_connections_are_those_of_the_labels_in_their_order(websocket: bool) -> None:
    lines = ["[b] > connect id=b; [b] < connack c=00", "[a] > connect id=a; [a] < connack c=00"]
    lines += ["[b] < publish p=to-b; [a] < publish p=to-a; [b] server FIN; [a] server FIN"]
    play_both(lines, layers(None, websocket), Transport("websocket", "/mqtt") if websocket else TCP)


def test_a_script_to_which_nobody_connects_has_failed() -> None:
    with (
        ScriptedServer() as server,
        pytest.raises(PlayFailure, match=r"^no client connected within 0\.1 s, for \[a\]$"),
    ):
        server.play(read_script(["[a] > connect"]), PlayOptions(timeout_s=0.1))


SPOILT: dict[str, tuple[bool, bool, bytes, str]] = {
    "HTTP to TLS": (True, False, b"GET / HTTP/1.1\r\n\r\n", "the connection broke: TLS, http request"),
    "MQTT to TLS": (True, False, b"\x10\x0c\0\4MQTT\4\2\0\0\0\0", "the connection broke: TLS, {any}"),
    "MQTT to WebSocket": (
        False, True, b"\x10\x0c\0\4MQTT\4\2\0\0\0\0\r\n\r\n",
        "the connection broke: the WebSocket upgrade was refused: '\\x10\\x0c{any}",
    ),
    "half of TLS": (True, False, b"\x16\x03\x01", "the client did not end its handshake within 0.3 s"),
    "half of HTTP": (False, True, b"GET /mqtt", "the client did not end its handshake within 0.3 s"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILT)
def test_a_handshake_that_fails_is_named(name: str, authority: tuple[Authority, Pair]) -> None:
    with_tls, websocket, sent, sentence = SPOILT[name]
    made = layers(authority[1] if with_tls else None, websocket)
    with (
        ScriptedServer(layers=made) as server,
        socket.create_connection(("127.0.0.1", server.port)) as client,
    ):
        client.sendall(sent)
        with pytest.raises(PlayFailure) as caught:
            server.play(read_script(["> connect"]), PlayOptions(timeout_s=0.3))
    start, _, any_more = sentence.partition("{any}")
    assert caught.value.message.startswith(start)
    assert any_more or "{any}" in sentence or caught.value.message == sentence


def test_a_scripted_server_listens_on_loopback_only(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a scripted server listens on loopback addresses only"):
        ScriptedServer("0.0.0.0")
