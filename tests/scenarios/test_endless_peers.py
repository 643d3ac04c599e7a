"""Peers that never pause: the deadline and the signals still end the program, with the right exit status."""

import signal
import subprocess
import threading
from collections.abc import Callable

import pytest

from tests.fakes import Peer, Script, scripted
from tests.live.net.test_websocket import CONNACK, WebSocketPeer
from tests.program import PROGRAM

PIECE = 1 << 14
"""Bytes that a peer sends at once, about."""
LONGEST_S = 60
"""How long a program may take that should end after a second; no flood of these ends by itself."""


def endless(data: bytes, begun: threading.Event, *, piece: int = PIECE) -> Script:
    """Return a script that sends the same bytes until the program has closed."""
    many = data * max(piece // len(data), 1)

    def flood(peer: Peer) -> None:
        peer.sock.settimeout(LONGEST_S)
        while True:
            peer.sock.sendall(many)
            begun.set()

    return flood


def websocket(first: str, data: str) -> Callable[[threading.Event], Script]:
    """Return a flood of frames after the upgrade, the CONNECT and a first packet."""

    def made(begun: threading.Event) -> Script:
        def script(peer: Peer) -> None:
            framed = WebSocketPeer(peer)
            framed.frame()
            if first:
                framed.send((2, first))
                framed.frame()
            endless(bytes.fromhex(data), begun)(peer)

        return script

    return made


def plain(first: str, data: str, *, piece: int = PIECE) -> Callable[[threading.Event], Script]:
    """Return a flood of packets after CONNECT and a first packet."""

    def made(begun: threading.Event) -> Script:
        def script(peer: Peer) -> None:
            peer.packet()
            if first:
                peer.send(first)
                peer.packet()
            endless(bytes.fromhex(data), begun, piece=piece)(peer)

        return script

    return made


def at_once(data: bytes, before: bytes = b"") -> Callable[[threading.Event], Script]:
    """Return a flood that begins with the first bytes from the client."""

    def made(begun: threading.Event) -> Script:
        def script(peer: Peer) -> None:
            peer.sock.recv(65536)
            peer.sock.sendall(before)
            endless(data, begun)(peer)

        return script

    return made


PUB = ("pub", "-t", "a", "-m", "x", "-q", "1")
SUB = ("sub", "-t", "a", "-W", "1")
HTTP = b"HTTP/1.1 200 OK\r\n"
PROXY = ("--proxy", "http://127.0.0.1:{port}")
FLOODS: dict[str, tuple[Callable[[threading.Event], Script], tuple[str, ...], int]] = {
    "PING before CONNACK": (websocket("", "89 00"), (*PUB, "--ws"), 3),
    "PING": (websocket(CONNACK, "89 02 61 62"), (*PUB, "--ws"), 6),
    "PONG": (websocket(CONNACK, "8a 00"), (*PUB, "--ws"), 6),
    "empty frames": (websocket(CONNACK, "82 00"), (*PUB, "--ws"), 6),
    "empty continuations": (websocket(CONNACK, "02 00 00 00 80 00"), (*PUB, "--ws"), 6),
    "PINGRESP in frames": (websocket(CONNACK, "82 02 d0 00"), (*PUB, "--ws"), 6),
    "PINGRESP": (plain(CONNACK, "d0 00"), PUB, 6),
    "PUBLISH": (plain(CONNACK, "30 04 00 01 61 00"), PUB, 6),
    "PUBLISH at QoS 1": (plain(CONNACK, "32 06 00 01 61 00 01 00"), PUB, 6),
    "SUBACK": (plain(CONNACK, "90 04 00 09 00 00"), PUB, 6),
    "AUTH": (plain(CONNACK, "f0 00"), PUB, 7),
    "one byte at a time": (plain(CONNACK, "d0", piece=1), PUB, 7),
    "one packet in bytes": (plain(CONNACK, "d0 00", piece=1), PUB, 6),
    "PINGRESP for a subscriber": (plain(CONNACK + "90 04 00 01 00 00", "d0 00"), SUB, 0),
    "PUBLISH for a subscriber": (plain(CONNACK + "90 04 00 01 00 00", "30 04 00 01 61 00"), SUB, 0),
    "headers of an upgrade": (at_once(b"a: b\r\n", b"HTTP/1.1 101 ok\r\n"), (*PUB, "--ws"), 3),
    "a header of an upgrade": (at_once(b"a", b"HTTP/1.1 101 ok\r\nb: "), (*PUB, "--ws"), 3),
    "headers of a proxy": (at_once(b"a: b\r\n", HTTP), (*PUB, *PROXY), 3),
    "SOCKS": (at_once(b"\5\0\0\3\xff"), (*PUB, "--proxy", "socks5h://127.0.0.1:{port}"), 3),
    "no TLS": (at_once(b"\x16\x03\x03\x00\x01\x00"), (*PUB, "--tls", "--insecure"), 3),
}
"""By name: the script of the peer, the line of the program, its exit status."""


def line(words: tuple[str, ...], port: int) -> list[str]:
    """Return the words of a line that gives up after a second."""
    return [*PROGRAM, *(word.format(port=port) for word in words), "-h", "127.0.0.1", "-p", str(port), "--timeout", "1"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
def test_the_deadline_ends_the_program(name: str) -> None:
    made, words, status = FLOODS[name]
    with scripted(made(threading.Event())) as port:
        done = subprocess.run(line(words, port), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=LONGEST_S)
    assert (done.returncode, done.stderr.count(b"\n") <= 2) == (status, True), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PING", "empty continuations", "PINGRESP", "PUBLISH", "PUBLISH for a subscriber"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_program(name: str, number: signal.Signals) -> None:
    made, words, _ = FLOODS[name]
    begun = threading.Event()
    with scripted(made(begun)) as port:
        command = [*line(words, port)[:-1], "1000", *(["-W", "1000"] if "sub" in words else [])]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            assert begun.wait(LONGEST_S)
            process.send_signal(number)
            said = process.communicate(timeout=LONGEST_S)[1]
    assert process.returncode == 128 + number, said
