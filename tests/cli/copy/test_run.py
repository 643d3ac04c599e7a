"""`copy` while the target is away: how much it keeps, and that it ends in time."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from mqttpub.cli.commands.copy import command, copy_request
from mqttpub.cli.copy import run as of_run
from mqttpub.cli.copy.run import CopyRun
from mqttpub.cli.observe.observers import Observers
from mqttpub.codec.encode import encode
from mqttpub.live.failures import ConnectionLost, Exit, Failure
from mqttpub.spec.packets import Publish, Suback
from mqttpub.spec.versions import Version
from tests.fakes import Peer, Script, scripted

pytestmark = pytest.mark.timeout(20)
SUBACK = encode(Suback(packet_id=1, reason_codes=(1,)), Version.V5)
MOST = 100
"""Messages that may wait in these tests."""
FLOOD = encode(Publish(topic="a", payload=bytes(1000)), Version.V5) * 20
FLOODS = 200
NOT_VALID = "20 03 00 85 00"
"""CONNACK that no other attempt changes."""


def message(packet_id: int) -> bytes:
    return encode(Publish(topic="a", qos=1, packet_id=packet_id, payload=b"x"), Version.V5)


def offering(left: Event) -> Script:
    """Return the script of a source that has one message, once the target left."""

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.sock.sendall(SUBACK)
        assert left.wait(20)
        peer.sock.sendall(message(7))
        peer.wait()

    return script


@contextmanager
def leaving(script: Callable[[Peer], object], left: Event, returns: Event | None = None) -> Iterator[int]:
    """Play a script after the first CONNECT, and leave; later refuse whoever comes back. Yields the port."""
    server = socket.create_server(("127.0.0.1", 0))
    port: int = server.getsockname()[1]

    def serve() -> None:
        with server, server.accept()[0] as sock:
            peer = Peer(sock)
            peer.accept()
            script(peer)
        left.set()
        if returns and returns.wait(30):
            with socket.create_server(("127.0.0.1", port)) as again, again.accept()[0] as sock:
                Peer(sock).accept(NOT_VALID)

    thread = Thread(target=serve, daemon=True)
    thread.start()
    yield port
    thread.join(30)
    assert not thread.is_alive()


@contextmanager
def copying(source: int, target: int, *words: str) -> Iterator[CopyRun]:
    ends = [f"mqtt://127.0.0.1:{port}" for port in (source, target)]
    with command.make_context("copy", [*ends, "-t", "a", "-q", "1", "--reconnect", *words]) as ctx:
        request = copy_request(ctx.params)
    with ExitStack() as stack:
        yield CopyRun(request, Observers(Version.V5, None, None, None), stack)


def test_what_is_dropped_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_run, "MOST_WAITING", MOST)
    left, returns = Event(), Event()

    def source(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        # The copy of this one is never acknowledged, so it stays in front of all that follow.
        peer.sock.sendall(SUBACK + message(7))
        assert left.wait(20)
        for _ in range(FLOODS):
            peer.sock.sendall(FLOOD)
        # No packet: the copy has read everything before it when it leaves.
        peer.send("00 00")
        peer.wait()
        returns.set()

    with (
        scripted(source) as first, leaving(lambda peer: len(peer.packet()), left, returns) as second,
        copying(first, second) as run, pytest.raises(ConnectionLost),
    ):  # fmt: skip
        run.run()
    counts = run.report.counts
    assert counts["taken"] > FLOODS * 20 - MOST
    assert counts["dropped"] > FLOODS * 20 // 2
    # What one turn brings comes on top.
    assert len(run.subscriber.messages) < MOST + 1000


@pytest.mark.parametrize("has_outbox", [False, True])
def test_the_time_ends_it_while_the_target_is_away(
    has_outbox: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    left = Event()
    words = ["--outbox", str(tmp_path / "outbox")] if has_outbox else []
    with (
        scripted(offering(left)) as first, leaving(lambda peer: None, left) as second,
        copying(first, second, "-W", "1000", *words) as run,
    ):  # fmt: skip
        monkeypatch.setattr(run.report, "taken", lambda count: setattr(run, "_until_s", 0.0))
        with pytest.raises(Failure) as raised:
            run.run()
    assert raised.value.status == Exit.UNKNOWN
    said = str(raised.value)
    assert said.startswith("the time is over, and the target is away; ")
    # Before, it may say that the message was perhaps sent.
    assert said.endswith("what was taken was given or is in the outbox" if has_outbox else "1 message not given")


def test_nothing_waits_for_a_target_that_is_away() -> None:
    left = Event()
    with (
        scripted(offering(left)) as first, leaving(lambda peer: None, left) as second,
        copying(first, second, "-C", "1", "--rewrite-topic", "s/a/#/") as run,
    ):  # fmt: skip
        # The topic of the copy would have # in it.
        assert run.run() == Exit.DONE
    assert run.report.counts["left_out"] == 1
