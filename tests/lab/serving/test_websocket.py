"""The server's end of a WebSocket, against bytes right and wrong, and RFC 6455's own examples."""

import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.protocol.websocket import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT
from mqttpub.lab.serving.websocket import (
    BrokenWebSocket,
    ServerWebSocket,
    accept_key,
    frame,
)
from tests.build.websocket import frame as client_frame

HEADERS = {
    "Host": "broker.test", "Upgrade": "websocket", "Connection": "keep-alive, Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": "mqtt",
}  # fmt: skip


def request(first: str = "GET /mqtt HTTP/1.1", **changed: str) -> bytes:
    """Return a request; a header that is changed to nothing is left out."""
    headers = HEADERS | {name.replace("_", "-"): value for name, value in changed.items()}
    return "\r\n".join([first, *(f"{name}: {value}" for name, value in headers.items() if value), "", ""]).encode()


class Pair:
    """The server's end of a WebSocket, and the client's of the socket below."""

    def __init__(self) -> None:
        self.client, below = socket.socketpair()
        self.server = ServerWebSocket(below)
        self.server.setblocking(False)
        self.client.setblocking(False)

    def feed(self, *pieces: bytes) -> bytes:
        """Have the server read pieces one by one; return the payload in them."""
        payload = b""
        for piece in pieces:
            self.client.sendall(piece)
            payload += self.read()
        return payload

    def read(self) -> bytes:
        """Return what the server reads until its socket is empty."""
        payload = b""
        while True:
            try:
                more = self.server.recv(65536)
            except BlockingIOError:
                if not socket_has(self.server):
                    return payload
                continue
            if not more:
                return payload
            payload += more

    def said(self) -> bytes:
        """Return what the client was sent."""
        data = b""
        while True:
            try:
                more = self.client.recv(65536)
            except BlockingIOError:
                return data
            if not more:
                return data
            data += more


def socket_has(sock: ServerWebSocket) -> bool:
    """Whether there is more to read."""
    import select

    return bool(select.select([sock], [], [], 0)[0])


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A connection before its upgrade."""
    made = Pair()
    with made.client:
        yield made
        made.server.close()


@pytest.fixture
def open_pair(pair: Pair) -> Pair:
    """A connection after it."""
    pair.feed(request())
    pair.said()
    return pair


# the upgrade


def test_the_key_is_answered_as_in_the_example_of_the_specification() -> None:
    assert accept_key("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def test_an_upgrade_is_answered(pair: Pair) -> None:
    assert pair.feed(request()) == b""
    assert pair.said() == (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n"
    )


def test_bytes_may_come_one_by_one_and_with_the_request(pair: Pair) -> None:
    data = request() + client_frame(b"abc")
    assert pair.feed(*(data[at : at + 1] for at in range(len(data)))) == b"abc"


def test_frames_that_come_with_the_request_are_read(pair: Pair) -> None:
    assert pair.feed(request() + client_frame(b"abc") + client_frame(b"d")) == b"abcd"


@pytest.mark.parametrize(
    ("offered", "chosen"), [("mqttv3.1", "mqttv3.1"), ("chat, mqttv3.1 , mqtt", "mqtt"), ("MQTT,mqtt", "mqtt")]
)
def test_a_subprotocol_is_chosen(offered: str, chosen: str, pair: Pair) -> None:
    pair.feed(request(Sec_WebSocket_Protocol=offered))
    assert f"\r\nSec-WebSocket-Protocol: {chosen}\r\n".encode() in pair.said()


REFUSED = {
    "no GET": (request("POST /mqtt HTTP/1.1"), "400", "'POST /mqtt HTTP/1.1' is not a GET request"),
    "no HTTP": (request("GET /mqtt"), "400", "'GET /mqtt' is not a GET request"),
    "old HTTP": (request("GET /mqtt HTTP/1.0"), "400", "'HTTP/1.0' has no upgrade"),
    "no host": (request(Host=""), "400", "Host is missing"),
    "no upgrade": (request(Upgrade="h2c"), "400", "Upgrade is not websocket"),
    "no connection": (request(Connection="keep-alive"), "400", "Connection is not upgrade"),
    "version": (request(Sec_WebSocket_Version="8"), "426", "Sec-WebSocket-Version is '8', but must be 13"),
    "no key": (request(Sec_WebSocket_Key=""), "400", "Sec-WebSocket-Key is not 16 bytes in base64"),
    "short key": (request(Sec_WebSocket_Key="AAAA"), "400", "Sec-WebSocket-Key is not 16 bytes in base64"),
    "bad key": (request(Sec_WebSocket_Key="\xe9" * 24), "400", "Sec-WebSocket-Key is not 16 bytes in base64"),
    "no mqtt": (
        request(Sec_WebSocket_Protocol="chat"), "400", "Sec-WebSocket-Protocol does not offer mqtt (MQTT5-6.0.0-3)",
    ),
    "escapes": (b"\x1b[31m / HTTP/1.1\r\n\r\n", "400", "'\\x1b[31m / HTTP/1.1' is not a GET request"),
    "endless": (b"GET /" + b"a" * 66_000, "431", "more than 65536 bytes of HTTP headers"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_upgrade_to_mqtt_is_refused_with_its_reason(name: str, pair: Pair) -> None:
    sent, status, why = REFUSED[name]
    with pytest.raises(BrokenWebSocket) as caught:
        pair.feed(*(sent[at : at + 30_000] for at in range(0, len(sent), 30_000)))
    assert str(caught.value) == f"the WebSocket upgrade was refused: {why}"
    said = pair.said().decode()
    assert said.startswith(f"HTTP/1.1 {status} ")
    assert said.endswith(f"\r\n\r\n{why}\n")
    assert ("Sec-WebSocket-Version: 13\r\n" in said) == (status == "426")


# frames


def test_frames_carry_bytes_both_ways(open_pair: Pair) -> None:
    """The masked "Hello" and the fragments are those of section 5.7, as binary frames."""
    assert open_pair.feed(bytes.fromhex("82 85 37 fa 21 3d 7f 9f 4d 51 58")) == b"Hello"
    assert open_pair.feed(
        client_frame(b"Hel", fin=False), client_frame(b"p", PING), client_frame(b"lo", CONTINUATION)
    ) == (b"Hello")
    assert open_pair.said() == bytes.fromhex("8a 01 70")
    assert open_pair.server.send(b"Hello") == 5
    assert open_pair.said() == bytes.fromhex("82 05 48 65 6c 6c 6f")


@pytest.mark.parametrize(
    ("size", "head"),
    [(0, "8200"), (125, "827d"), (126, "827e007e"), (65_535, "827effff"), (65_536, "827f0000000000010000")],
)
def test_the_length_of_a_frame_takes_as_few_bytes_as_it_can(size: int, head: str) -> None:
    assert frame(BINARY, bytes(size)) == bytes.fromhex(head) + bytes(size)


@given(st.binary(max_size=300), st.sampled_from((0, 1, 0x10)))
def test_what_a_client_masks_is_read(payload: bytes, more: int) -> None:
    made = Pair()
    try:
        assert made.feed(request() + client_frame(payload + bytes(more << 12))) == payload + bytes(more << 12)
    finally:
        made.client.close()
        made.server.close()


BROKEN = {
    "not masked": (client_frame(b"x", masked=False), 1002, "are not masked"),
    "RSV1": (client_frame(b"x", rsv=0x40), 1002, "reserved bits"),
    "RSV3": (client_frame(b"x", rsv=0x10), 1002, "reserved bits"),
    "opcode 3": (client_frame(b"x", 3), 1002, "reserved opcode 3"),
    "opcode 11": (client_frame(b"x", 11), 1002, "reserved opcode 11"),
    "fragmented PING": (client_frame(b"x", PING, fin=False), 1002, "control frame that is fragmented"),
    "PING of 126 bytes": (client_frame(bytes(126), PING), 1002, "longer than 125 bytes"),
    "continues nothing": (client_frame(b"x", CONTINUATION), 1002, "no message that it continues"),
    "not finished": (client_frame(b"x", fin=False) + client_frame(b"y"), 1002, "a message that is not finished"),
    "length of 64 bits": (b"\x82\xff" + b"\x80" + bytes(11), 1002, "a length of 64 bits"),
    "text": (client_frame(b"x", TEXT), 1003, "MQTT travels in binary frames only"),
    "CLOSE of a byte": (client_frame(b"\x03", CLOSE), 1002, "CLOSE with a wrong body, 03 "),
    "CLOSE with a code that is not sent": (client_frame(b"\x03\xed", CLOSE), 1002, "CLOSE with a wrong body, 03 ed "),
    "CLOSE without UTF-8": (client_frame(b"\x03\xe8\xff", CLOSE), 1002, "CLOSE with a wrong body, 03 e8 ff "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_frames_that_a_server_must_refuse(name: str, open_pair: Pair) -> None:
    sent, code, why = BROKEN[name]
    open_pair.client.sendall(client_frame(b"before") + sent + client_frame(b"after"))
    assert open_pair.server.recv(65536).startswith(b"before")
    for _ in range(2):
        with pytest.raises(BrokenWebSocket) as caught:
            open_pair.server.recv(65536)
    assert why in str(caught.value)
    assert open_pair.said() == b"\x88\x02" + code.to_bytes(2, "big")
    assert open_pair.client.recv(1) == b""


@pytest.mark.parametrize(("body", "answer"), [(b"", b"\x88\x00"), (b"\x03\xe9bye", b"\x88\x02\x03\xe9")])
def test_close_is_answered_with_its_code_and_ends_both_ways(body: bytes, answer: bytes, open_pair: Pair) -> None:
    assert open_pair.feed(client_frame(b"last") + client_frame(body, CLOSE) + client_frame(b"after")) == b"last"
    assert open_pair.said() == answer
    open_pair.client.setblocking(True)
    assert open_pair.client.recv(1) == b""
    assert open_pair.server.recv(1) == b""
    with pytest.raises(BrokenPipeError):
        open_pair.server.send(b"x")


def test_our_close_is_said_once(open_pair: Pair) -> None:
    open_pair.server.shutdown(socket.SHUT_WR)
    assert open_pair.feed(client_frame(b"more")) == b"more"
    open_pair.feed(client_frame(b"\x03\xe8", CLOSE))
    assert open_pair.said() == bytes.fromhex("88 02 03 e8")


def until_blocked(server: ServerWebSocket, payload: bytes, most: int = 1000) -> int:
    """Send frames until the socket is full; return how many were sent whole."""
    for sent in range(most):
        try:
            server.send(payload)
        except BlockingIOError:
            return sent
    return most


def test_pings_are_answered_between_frames_and_cost_no_memory(open_pair: Pair) -> None:
    """While the client reads nothing, a frame is under way; then comes the PONG for the last PING."""
    payload = bytes(range(256)) * 16
    sent = until_blocked(open_pair.server, payload)
    for index in range(100):
        open_pair.feed(client_frame(b"ping %d" % index, PING))
    assert open_pair.server.unsent
    data = open_pair.said()
    # The frame under way has to be given again.
    while not until_blocked(open_pair.server, payload, most=1):
        data += open_pair.said()
    data += open_pair.said()
    assert data == frame(BINARY, payload) * (sent + 1) + frame(PONG, b"ping 99")
    assert not open_pair.server.unsent
