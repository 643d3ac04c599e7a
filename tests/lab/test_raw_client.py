"""One end of a connection on a pair of real sockets: what its observer is told, and what is read."""

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from mqttpub.codec.stream import Frame
from mqttpub.lab import raw_client
from mqttpub.lab.raw_client import RawClient
from mqttpub.spec.versions import Direction

PINGRESP = b"\xd0\0"


class Ends:
    """A client, the socket of its peer, and what the client's observer was told."""

    def __init__(self) -> None:
        ours, self.peer = socket.socketpair()
        self.seen: list[Frame] = []
        self.client = RawClient(ours, observer=lambda now, frame: self.seen.append(frame))

    def of(self, end: Direction) -> bytes:
        """Return all bytes of an end that the observer was told of; raises AssertionError where their offsets do not
        follow one another."""
        frames = [frame for frame in self.seen if frame.direction is end]
        sizes = [len(frame.data) for frame in frames]
        assert [frame.offset for frame in frames] == [sum(sizes[:at]) for at in range(len(sizes))]
        return b"".join(frame.data for frame in frames)


@pytest.fixture
def ends() -> Iterator[Ends]:
    """A client and its peer, closed afterwards."""
    made = Ends()
    yield made
    made.client.close()
    made.peer.close()


@pytest.mark.parametrize(
    "pieces",
    [
        ["d000 30106162"],
        ["d000", "30106162"],
        ["d000 00ffffffffff d000", "d000"],
        ["d000 00ffff", "ffffff", "d000 d0"],
    ],
)
@pytest.mark.parametrize("how", ["close", "finish", "reset", "ended"])
def test_the_observer_is_told_of_every_byte(ends: Ends, pieces: list[str], how: str) -> None:
    for piece in map(bytes.fromhex, pieces):
        ends.peer.sendall(piece)
        ends.client.send(piece, 0)
        ends.client.pump()
    if how == "ended":
        ends.peer.close()
        ends.client.pump()
    else:
        getattr(ends.client, how)()
    everything = bytes.fromhex("".join(pieces))
    if how != "finish":
        # Otherwise the peer may go on.
        assert ends.of(Direction.SERVER) == everything
    ends.client.close()
    assert ends.of(Direction.SERVER) == everything
    assert ends.of(Direction.CLIENT) == everything


def test_bytes_that_are_no_packet_are_taken_as_they_are(ends: Ends) -> None:
    ends.peer.sendall(bytes.fromhex("3010 6162"))
    assert not ends.client.wait(5)
    assert not ends.client.take_bytes(b"\x30\x10\x61\x63")
    assert ends.client.take_bytes(b"\x30\x10\x61\x62")
    assert ends.client.unfinished == b""
    ends.peer.sendall(PINGRESP)
    assert ends.client.wait(5)
    ends.client.close()
    assert ends.of(Direction.SERVER) == bytes.fromhex("3010 6162 d000")


@pytest.mark.parametrize("data", [PINGRESP, b"\0\xff\xff\xff\xff\xff"], ids=["packets", "no packets"])
def test_what_nobody_takes_is_not_read_without_end(ends: Ends, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_client, "MOST_UNREAD_BYTES", 1 << 16)
    ends.peer.setblocking(False)
    sent = 0
    with suppress(BlockingIOError):
        while sent < 64 << 20:
            sent += ends.peer.send(data * 1000)
            ends.client.pump()
    assert sent < 8 << 20
    assert not ends.client.pump()
    ends.client.drop()
    assert ends.client.pump()


def test_a_packet_that_is_taken_makes_room(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_client, "MOST_UNREAD_BYTES", 2 * raw_client.FRAME_BYTES + 3)
    ends.peer.sendall(PINGRESP * 2)
    ends.client.pump()
    ends.peer.sendall(PINGRESP)
    assert not ends.client.pump()
    assert ends.client.take()
    assert ends.client.pump()


def test_what_the_socket_does_not_take_at_once_waits_for_a_flush(ends: Ends) -> None:
    packet = b"\x30\xff\x7f" + bytes(16_383)
    for _ in range(100):
        ends.client.post(packet)
    assert ends.client.unsent
    assert ends.of(Direction.CLIENT) == packet * 100
    got = b""
    while len(got) < len(packet) * 100:
        got += ends.peer.recv(1 << 20)
        ends.client.flush()
    assert got == packet * 100
    assert not ends.client.unsent
    ends.peer.close()
    ends.client.post(PINGRESP)
    assert ends.client.ended
