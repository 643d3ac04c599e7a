"""Frames are read in pieces of any size, and what RFC 6455 forbids a server is a fault with its section."""

import pytest

from mqttpub.live.failures import PeerFault
from mqttpub.live.net.websocket_frames import CLOSE, PING, PONG, ControlFrame, FrameReader
from mqttpub.spec.versions import Version
from tests.fakes import Peer, scripted
from tests.live.net.test_websocket import CONNACK, WebSocketPeer
from tests.live.ways import publish, ws

ALLOWED = "82 01 61  89 02 70 71  02 01 62  8a 00  00 00  80 02 63 64  82 7e 00 7e" + "65" * 126 + "88 02 03 e8"
LONG = "82 7f 00 00 00 00 00 01 00 00" + "00" * 65_536


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_frames_in_pieces(size: int) -> None:
    reader, data = FrameReader(Version.V5), bytes.fromhex(ALLOWED)
    message = b"".join(reader.feed(data[at : at + size]) for at in range(0, len(data), size))
    assert message == b"abcd" + b"e" * 126
    assert reader.controls == [ControlFrame(PING, b"pq"), ControlFrame(PONG, b""), ControlFrame(CLOSE, b"\x03\xe8")]
    assert reader.fault is None


def test_a_long_frame_is_handed_on_as_it_comes() -> None:
    reader, data = FrameReader(Version.V5), bytes.fromhex(LONG)
    assert [len(reader.feed(data[:20])), len(reader.feed(data[20:])), reader.fault] == [10, 65_526, None]


FORBIDDEN = {
    "c2 00": "5.2", "a2 00": "5.2", "92 00": "5.2",  # RSV1, RSV2, RSV3
    "83 00": "5.2", "87 00": "5.2", "8b 00": "5.2", "8f 00": "5.2",  # opcodes
    "82 81 00 00 00 00 61": "5.1", "89 80 00 00 00 00": "5.1", "88 80 00 00 00 00": "5.1",  # masked
    "82 7e 00 7d": "5.2", "82 7e 00 00": "5.2", "82 7f 00 00 00 00 00 00 ff ff": "5.2",  # longer than necessary
    "82 7f 80 00 00 00 00 00 00 00": "5.2",  # highest bit
    "89 7e 00 7e": "5.5", "88 7f": "5.5", "09 00": "5.5", "0a 00": "5.5", "08 00": "5.5",  # control frames
    "80 00": "5.4", "00 01 61": "5.4", "02 01 61 82 01 62": "5.4", "02 00 01 00": "5.4",  # fragments
    "81 01 61": "MQTT5-6.0.0-1", "01 00": "MQTT5-6.0.0-1",  # text
    "88 01 03": "5.5.1", "88 03 03 e8 ff": "5.5.1", "88 02 03 e8 82 01 61": "5.5.1",  # CLOSE
    "88 02 00 00": "7.4", "88 02 03 e7": "7.4", "88 02 03 ed": "7.4", "88 02 03 ee": "7.4", "88 02 03 f7": "7.4",
    "88 02 13 88": "7.4",
}  # fmt: skip
"""What no server may send, and where the specification says so."""


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("frames", FORBIDDEN)
def test_a_fault_names_the_section(frames: str, size: int) -> None:
    reader, data = FrameReader(Version.V5), bytes.fromhex("82 01 61" + frames)
    message = b"".join(reader.feed(data[at : at + size]) for at in range(0, len(data), size))
    assert message.startswith(b"a")
    assert reader.fault
    section = FORBIDDEN[frames]
    assert str(reader.fault).endswith(f"({section})" if "MQTT" in section else f"(RFC 6455, {section})")


@pytest.mark.parametrize("frames", ["82 84 00 00 00 00 40 02 00 01", "c2 04 40 02 00 01", "81 04 40 02 00 01", "89 7e"])
def test_the_connection_fails_with_a_close_that_says_why(frames: str) -> None:
    last: list[tuple[int, bytes]] = []

    def script(peer: Peer) -> None:
        framed = WebSocketPeer(peer)
        framed.frame()
        framed.send((2, CONNACK))
        framed.frame()
        peer.send(frames)
        last.append(framed.frame())

    with scripted(script) as port, pytest.raises(PeerFault, match=r"^the broker sent a") as caught:
        publish(ws(port))
    assert (caught.value.status, last) == (7, [(CLOSE, b"\x03\xea")])


def test_what_came_before_the_fault_counts() -> None:
    def script(peer: Peer) -> None:
        framed = WebSocketPeer(peer)
        framed.frame()
        framed.send((2, CONNACK))
        packet_id = framed.frame()[1][7:9].hex()
        peer.send(f"82 04 40 02 {packet_id} 8b 00")
        framed.frame()

    with scripted(script) as port, pytest.raises(PeerFault, match="reserved opcode 11"):
        publish(ws(port))
