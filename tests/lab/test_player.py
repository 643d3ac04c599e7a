"""Scripts played against peers on real sockets that do otherwise than a script says."""

import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from mqttpub.common.bad_text import BadText
from mqttpub.lab import raw_client
from mqttpub.lab.player import QUIET_S, Player, PlayFailure, PlayOptions
from mqttpub.lab.raw_client import RawClient
from mqttpub.live.net.dial import open_socket
from mqttpub.live.net.target import Target
from mqttpub.script.reader import read_script
from mqttpub.spec.versions import Direction, Version
from tests.fakes import Peer, Script, scripted, scripted_many

ACCEPTED = "> connect; < connack"
OPTIONS = PlayOptions(timeout_s=5)


def closes(peer: Peer) -> None:
    """Accept and close."""
    peer.accept()


def dialling(port: int, observed: list[bytes] | None = None) -> Callable[[str, Version], RawClient]:
    """Return what opens connections to a port of loopback, and keeps what passes."""

    def dial(label: str, version: Version) -> RawClient:
        sock = open_socket(Target("127.0.0.1", port), time.monotonic() + 5, 5)
        observer = None if observed is None else lambda now, frame: observed.append(frame.data)
        return RawClient(sock, version=version, observer=observer)

    return dial


def play(port: int, *lines: str) -> None:
    """Play the client's end of a script."""
    with Player(dialling(port), OPTIONS) as player:
        player.play(read_script(lines))


def says(*answers: str, pause_s: float = 0, reset: bool = False) -> Script:
    """Return a peer that accepts, says these bytes, and waits until the client closes, or resets."""

    def script(peer: Peer) -> None:
        peer.accept()
        for answer in answers:
            time.sleep(pause_s)
            peer.send(answer)
        peer.reset() if reset else peer.wait()

    return script


@pytest.mark.parametrize("step", ["< none 0.2s", "+0.2", "server FIN"])
@pytest.mark.parametrize(
    ("data", "message"),
    [("00 ff ff ff ff ff", "bytes came that are not a packet"), ("30 10 61 62", "a part of a packet came")],
)
def test_bytes_that_no_line_awaits_fail_the_play(step: str, data: str, message: str) -> None:
    def script(peer: Peer) -> None:
        peer.accept()
        peer.send(data)
        if step == "server FIN":
            peer.sock.shutdown(socket.SHUT_WR)
        peer.wait()

    with scripted(script) as port, pytest.raises(PlayFailure, match=rf"^{message}, .*: {data}$"):
        play(port, ACCEPTED, step)


@pytest.mark.parametrize("data", ["00 ff ff ff ff ff", "30 10 61 62"])
def test_bytes_that_a_line_awaits_do_not(data: str) -> None:
    with scripted(says(data)) as port:
        play(port, ACCEPTED, f"< raw {data}", "< none 0.1s")


def test_a_packet_that_comes_after_the_last_step_fails_the_play_each_time() -> None:
    def late(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        time.sleep(QUIET_S / 2)
        peer.send("40 02 00 01")
        peer.wait()

    with scripted_many([late] * 3) as port:
        for _ in range(3):
            with pytest.raises(PlayFailure, match="PUBACK came, which no line awaits"):
                play(port, ACCEPTED, "> publish q1 i1")


def test_an_end_is_not_nothing() -> None:
    with scripted(closes) as port, pytest.raises(PlayFailure) as caught:
        play(port, ACCEPTED, "< none 3s")
    assert caught.value.message == "the peer closed the connection (FIN), where nothing may come"


def test_after_an_awaited_end_nothing_comes_for_the_whole_time() -> None:
    with scripted(closes) as port:
        begun = time.monotonic()
        play(port, ACCEPTED, "server FIN; < none 0.3s")
    assert time.monotonic() - begun >= 0.3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("> connect; mid", "mid describes a capture and cannot be played"),
        ("> connect; gap", "gap describes a capture and cannot be played"),
        ("> connect; client FIN; > pingreq", "this end has closed the connection"),
        ("> connect; > publish q1", "PUBLISH needs i="),
        ("> connect; > publish q1 i=$other", "the variable other has no value yet"),
        ("> connect; < connack cut=1", "awaited"),
        ("> connect protocol_level=4; < connack reason_string=no", "MQTT 3.1.1 has no properties"),
        ("> connect; < suback i=$run", "which is not a number"),
        ("+0", "no step of this script needs a connection"),
    ],
)
def test_nothing_is_sent_by_a_script_that_cannot_be_played_to_its_end(line: str, message: str) -> None:
    def dial(label: str, version: Version) -> RawClient:
        raise AssertionError("a connection was opened")

    with Player(dial, PlayOptions()) as player, pytest.raises(BadText, match=message):
        player.play(read_script([line]))


def test_what_the_peer_chooses_may_be_sent_later() -> None:
    with scripted(says("32 07 00 01 61 00 09 00 78")) as port:
        play(port, ACCEPTED, "< publish q1 i=$m t=${topic}; > puback i=$m; > publish t=${topic}")


def test_a_script_is_played_with_a_fresh_name_each_time() -> None:
    sent: list[bytes] = []
    with scripted_many([lambda peer: sent.append(peer.accept())] * 2) as port:
        for _ in range(2):
            play(port, "> connect id=c-${run}; < connack; server FIN")
    first, second = sent
    assert first != second
    assert first[:-8] == second[:-8]


@contextmanager
def flood() -> Iterator[int]:
    """Listen on a port, accept a connection, and send PINGRESP without a pause."""

    def serve() -> None:
        sock, _ = server.accept()
        with sock:
            peer = Peer(sock)
            try:
                peer.accept()
                while True:
                    sock.sendall(b"\xd0\0" * 20_000)
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join(10)


def test_a_flood_that_nobody_takes_is_not_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_client, "MOST_UNREAD_BYTES", 1 << 20)
    with flood() as port, Player(dialling(port), PlayOptions()) as player:
        busy = time.process_time()
        with pytest.raises(PlayFailure, match="PINGRESP came, which no line awaits"):
            player.play(read_script([ACCEPTED, "+2"]))
        connection = player._connections[""]
        most = ((1 << 20) + raw_client.MOST_CHUNKS * raw_client.CHUNK // 2 * raw_client.FRAME_BYTES) // 256
        assert 0 < len(connection.came) <= most
        # Two seconds of waiting on a socket that has more, without spinning.
        assert time.process_time() - busy < 1.5


def test_listening_keeps_nothing_and_its_time() -> None:
    with flood() as port, Player(dialling(port), PlayOptions(skips=True)) as player:
        player.play(read_script([ACCEPTED]))
        begun = time.monotonic()
        player.listen(0.5)
        assert time.monotonic() - begun < 2
        assert not player._connections[""].came


def test_more_connections_than_descriptors_end_with_a_sentence() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.create_server(("127.0.0.1", 0), backlog=256) as server:
        resource.setrlimit(resource.RLIMIT_NOFILE, (120, hard))
        try:
            with pytest.raises(PlayFailure, match=r"^cannot connect to 127\.0\.0\.1:\d+: too many open files"):
                play(server.getsockname()[1], *(f"[c{at}] > connect" for at in range(200)))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_descriptors_above_those_of_select_are_waited_for() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    held = [socket.socket() for _ in range(1030)]
    try:
        with scripted(says("d0 00", pause_s=0.1)) as port:
            play(port, ACCEPTED, "< pingresp")
    finally:
        for each in held:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_reset_of_this_end_reaches_the_peer_as_one() -> None:
    seen: list[str] = []

    def script(peer: Peer) -> None:
        peer.accept()
        try:
            seen.append(repr(peer.sock.recv(1)))
        except ConnectionResetError:
            seen.append("RST")

    for how in ("RST", "FIN"):
        with scripted(script) as port:
            play(port, ACCEPTED, f"client {how}")
    assert seen == ["RST", "b''"]


def test_the_servers_end_is_played_in_slices() -> None:
    ours, theirs = socket.socketpair()
    pieces: list[bytes] = []

    class Slow(socket.socket):
        def send(self, data: bytes, flags: int = 0) -> int:  # type: ignore[override]
            pieces.append(bytes(data))
            return super().send(data, flags)

    slow = Slow(fileno=ours.detach())
    client, options = RawClient(slow, Direction.SERVER), PlayOptions(Direction.SERVER)
    with theirs, Player(lambda label, version: client, options) as made:
        theirs.sendall(bytes.fromhex("10 0d 00 04 4d 51 54 54 05 02 00 00 00 00 00"))
        made.play(read_script(["> connect; < connack c=00 slice=2"]))
        assert theirs.recv(100).hex() == "2003000000"
    assert [len(piece) for piece in pieces] == [2, 2, 1]
