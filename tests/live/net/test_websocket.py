"""WebSocket against scripts: the upgrade, and frames of every kind."""

import select
import socket
from threading import Semaphore
from typing import Any

import pytest

from mqttpub.lab.serving.websocket import accept_key
from mqttpub.live.failures import NotConnected, Unusable
from mqttpub.live.net import websocket
from mqttpub.live.net.target import Target
from mqttpub.live.net.websocket import masked
from tests.build.brokers import Broker
from tests.build.websocket import frame
from tests.fakes import Peer, Script, scripted
from tests.live.relays import head
from tests.live.ways import SHORT, TLS_LINE, WAYS, Watcher, layers, publish, saying, secured, trusting, ws


class WebSocketPeer:
    """The server's end of a WebSocket, as a script uses it."""

    def __init__(self, peer: Peer, answer: str = "101 Switching Protocols", **headers: str) -> None:
        self.peer = peer
        self.request = head(peer.sock)
        self._buffer = b""
        (key,) = self.header("Sec-WebSocket-Key")
        rows = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept_key(key)}
        rows |= {"Sec-WebSocket-Protocol": "mqtt"} | {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in rows.items() if value)
        peer.sock.sendall(f"HTTP/1.1 {answer}\r\n{lines}\r\n".encode())

    def header(self, name: str) -> list[str]:
        """Return the values of a header of the request."""
        rows = (line.partition(": ") for line in self.request.split("\r\n"))
        return [value for each, _, value in rows if each.lower() == name.lower()]

    def frame(self) -> tuple[int, bytes]:
        """Return opcode and payload of the next frame, which must be masked; (-1, b"") at the end."""
        first = self._take(2)
        if not first:
            return -1, b""
        assert first[1] & 0x80, "a client masks every frame"
        size = first[1] & 0x7F
        if size > 125:
            size = int.from_bytes(self._take(2 if size == 126 else 8), "big")
        key = self._take(4)
        payload = self._take(size)
        pad = (key * (size // 4 + 1))[:size]
        plain = int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")
        return first[0] & 0x0F, plain.to_bytes(size, "big")

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            chunk = self.peer.sock.recv(65536)
            if not chunk:
                return b""
            self._buffer += chunk
        data, self._buffer = self._buffer[:count], self._buffer[count:]
        return data

    def send(self, *frames: tuple[int, str]) -> None:
        """Send frames in one go: opcode (with FIN unless 0x100 is added) and payload in hex."""
        made = (
            frame(bytes.fromhex(text), opcode & 0x0F, fin=not opcode & MORE, masked=False) for opcode, text in frames
        )
        self.peer.sock.sendall(b"".join(made))


TEXT, BINARY, CLOSE, PING, PONG, MORE = 1, 2, 8, 9, 10, 0x100
CONNACK = "20 03 00 00 00"


@pytest.mark.broker
def test_the_websocket_layer_is_shown_with_its_upgrade(brokers: Broker) -> None:
    line = "WebSocket: GET /mqtt -> 101 Switching Protocols, subprotocol mqtt"
    assert layers(WAYS["WS"](brokers)) == [line]
    assert layers(WAYS["WSS"](brokers)) == [TLS_LINE, line]


def test_the_request_has_our_path_and_headers() -> None:
    seen: list[WebSocketPeer] = []

    def script(peer: Peer) -> None:
        seen.append(framed := WebSocketPeer(peer, Sec_WebSocket_Protocol="mqttv3.1"))
        framed.frame()
        framed.send((BINARY, CONNACK))
        while framed.frame()[0] == BINARY:
            continue

    headers = (("X-Key", "a: b"), ("X-Key", "c"), ("sec-websocket-protocol", "mqttv3.1"), ("Origin", "http://x"))
    with scripted(script) as port:
        publish(ws(port, path="/a/b?c=d%20e", headers=headers), qos=0)
    (framed,) = seen
    assert framed.request.startswith("GET /a/b?c=d%20e HTTP/1.1\r\n")
    assert framed.header("Host") == [f"127.0.0.1:{port}"]
    assert framed.header("X-Key") == ["a: b", "c"]
    assert framed.header("Sec-WebSocket-Protocol") == ["mqttv3.1"]
    assert framed.header("Origin") == ["http://x"]


@pytest.mark.parametrize(
    ("way", "part"),
    [
        (ws(1, path="/m\r\nEvil: 1"), "path"),
        (ws(1, headers=(("a", "b\r\nEvil: 1"),)), "headers"),
        (ws(1, headers=(("a\r\nEvil", "1"),)), "headers"),
        (ws(1)._replace(host="127.0.0.1\r\nEvil: 1"), "host"),
    ],
)
def test_a_line_break_cannot_add_a_line_to_the_request(way: Target, part: str) -> None:
    with pytest.raises(Unusable) as caught:
        publish(way, qos=0)
    assert caught.value.part == part
    assert "Evil" not in str(caught.value)


def test_what_follows_the_question_mark_of_a_path_may_be_a_signature_and_is_not_shown() -> None:
    assert ws(1, path="/mqtt?signature=secret").place == "ws://127.0.0.1:1/mqtt?..."


def test_every_frame_is_masked_and_the_last_is_close() -> None:
    opcodes: list[int] = []

    def script(peer: Peer) -> None:
        framed = WebSocketPeer(peer)
        opcodes.append(framed.frame()[0])
        framed.send((BINARY, CONNACK))
        while (opcode := framed.frame()[0]) != -1:
            opcodes.append(opcode)
            if opcode == CLOSE:
                framed.send((CLOSE, "03 e8"))
                return

    with scripted(script) as port:
        publish(ws(port), b"x" * 200, qos=0)
    assert opcodes == [BINARY, BINARY, BINARY, CLOSE]


def test_packets_may_span_frames_and_follow_pings() -> None:
    answered: list[tuple[int, bytes]] = []

    def script(peer: Peer) -> None:
        framed = WebSocketPeer(peer)
        framed.frame()
        framed.send((PING, "61 62"), (BINARY | MORE, "20"), (PING, "63"), (0, "03 00 00 00"))
        answered.extend(framed.frame() for _ in range(3))
        packet_id = answered[2][1][7:9].hex()
        framed.send((PING, ""), (BINARY, ""), (BINARY, "40 02"), (BINARY, packet_id))
        answered.extend(framed.frame() for _ in range(2))
        framed.send((CLOSE, "03 e8"))

    with scripted(script) as port:
        assert publish(ws(port)).reason_code == 0
    assert answered[:2] == [(PONG, b"ab"), (PONG, b"c")]
    assert answered[3] == (PONG, b"")


@pytest.mark.slow
def test_pings_do_not_cut_a_large_message(brokers: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """PONG waits until the frame under way is sent, over TLS too."""
    payload = bytes(5_000_000)
    seen: dict[str, list[Any]] = {}
    ponged = Semaphore(0)

    def masking(frame: bytearray, size: int) -> bytearray:
        if frame[0] & 0x0F == PONG:
            ponged.release()
        return masked(frame, size)

    monkeypatch.setattr(websocket, "masked", masking)

    def script(name: str) -> Script:
        def pinging(peer: Peer) -> None:
            framed = WebSocketPeer(peer)
            framed.frame()
            # The system takes less than the message, so the frame is under way until it is read here.
            peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            framed.send((BINARY, CONNACK))
            select.select([peer.sock], [], [])
            framed.send((PING, "61"), (PING, "62"))
            for _ in range(2):
                assert ponged.acquire(timeout=60)
            packet = framed.frame()[1]
            framed.send((BINARY, "40 02" + packet[10:12].hex()))
            seen[name] = [len(packet), framed.frame(), framed.frame()]
            framed.frame()

        return pinging

    with scripted(script("WS")) as port:
        publish(ws(port), payload)
    with scripted(secured(brokers, script("WSS"))) as port:
        publish(ws(port, tls=trusting(brokers)), payload)
    expected = [len(payload) + 13, (PONG, b"a"), (PONG, b"b")]
    assert seen == {"WS": expected, "WSS": expected}


def test_what_came_with_a_ping_in_one_record_is_read(brokers: Broker) -> None:
    """The socket is not readable again for what TLS has already taken from it."""

    def script(peer: Peer) -> None:
        framed = WebSocketPeer(peer)
        framed.frame()
        framed.send((PING, "61"), (BINARY, CONNACK))
        framed.frame()
        packet = framed.frame()[1]
        framed.send((PONG, ""), (BINARY, "40 02" + packet[7:9].hex()))
        while framed.frame()[0] != -1:
            continue

    with scripted(secured(brokers, script)) as port:
        publish(ws(port, tls=trusting(brokers)), timeout=SHORT)


@pytest.mark.parametrize("size", [0, 1, 5, 125, 126, 65_535, 65_536, 200_001])
def test_masking_is_undone_by_the_same_key(size: int) -> None:
    payload = bytes(index % 251 for index in range(size))
    frame = masked(bytearray(b"\x82\x05" + payload), size)
    key, shown = frame[2:6], frame[6:]
    assert frame[:2] == b"\x82\x85"
    assert bytes(byte ^ key[index % 4] for index, byte in enumerate(shown)) == payload


def answering(answer: str, **headers: str) -> Script:
    """Return a script that answers the upgrade and waits."""

    def script(peer: Peer) -> None:
        WebSocketPeer(peer, answer, **headers)
        peer.wait()

    return script


UPGRADES: dict[str, tuple[Script, str]] = {
    "404": (answering("404 Not Found", Connection="close"), "refused the WebSocket upgrade: 404 Not Found"),
    "401": (answering("401 Unauthorized", Connection=""), "refused the WebSocket upgrade: 401 Unauthorized"),
    "200": (answering("200 OK"), "refused the WebSocket upgrade: 200 OK"),
    "subprotocol": (
        answering("101 Switching Protocols", Sec_WebSocket_Protocol="wamp"),
        "answered the WebSocket upgrade wrongly: subprotocol 'wamp' where 'mqtt' was asked for",
    ),
    "key": (
        answering("101 Switching Protocols", Sec_WebSocket_Accept="wrong"),
        "answered the WebSocket upgrade wrongly: WebSocket handshake error, invalid secret key",
    ),
    "no key": (
        answering("101 Switching Protocols", Sec_WebSocket_Accept=""),
        "answered the WebSocket upgrade wrongly: WebSocket handshake error",
    ),
    "malformed": (
        saying(b"HTTP/1.1 101 ok\r\nsec-websocket-accept\r\n\r\n"), "answered the WebSocket upgrade wrongly: {any}",
    ),
    "closes": (saying(b""), "closed the connection at the WebSocket upgrade"),
    "TLS": (saying(bytes.fromhex("15 03 01 00 02 02 46")), "speaks TLS"),
    "MQTT": (saying(bytes.fromhex("e0 00")), "does not speak HTTP"),
    "bytes": (saying(b"\xff\xfe\n" * 5), "does not speak HTTP"),
}  # fmt: skip


@pytest.mark.parametrize("name", UPGRADES)
def test_a_refused_upgrade_says_why(name: str) -> None:
    script, sentence = UPGRADES[name]
    with scripted(script) as port, pytest.raises(NotConnected) as caught:
        publish(ws(port))
    said = str(caught.value)
    assert said.startswith(f"ws://127.0.0.1:{port}/mqtt {sentence.removesuffix('{any}')}")
    assert "\n" not in said


@pytest.mark.slow
def test_a_missing_subprotocol_is_shown() -> None:
    def script(peer: Peer) -> None:
        framed = WebSocketPeer(peer, Sec_WebSocket_Protocol="")
        framed.frame()
        framed.send((BINARY, CONNACK))
        while framed.frame()[0] not in (CLOSE, -1):
            continue

    watcher = Watcher()
    with scripted(script) as port:
        publish(ws(port), qos=0, observer=watcher)
    assert watcher.layers == ["WebSocket: GET /mqtt -> 101 Switching Protocols, no subprotocol"]
