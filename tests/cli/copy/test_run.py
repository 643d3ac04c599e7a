"""`copy` while the target is away: how much it keeps."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from mqttpub.cli.commands.copy import command, copy_request
from mqttpub.cli.copy import run as of_run
from mqttpub.cli.copy.run import CopyRun
from mqttpub.cli.observe.observers import Observers
from mqttpub.codec.encode import encode
from mqttpub.live.failures import ConnectionLost
from mqttpub.spec.packets import Publish, Suback
from mqttpub.spec.versions import Version
from tests.fakes import Peer, scripted

MOST = 100
"""Messages that may wait in this test."""
PAYLOAD = bytes(1000)
FLOOD = encode(Publish(topic="a", payload=PAYLOAD), Version.V5) * 20
FLOODS = 200
NOT_VALID = "20 03 00 85 00"
"""CONNACK that no other attempt changes."""


class AwayTarget:
    """A broker that leaves once it has a message, and later refuses whoever comes back."""

    def __init__(self) -> None:
        self.left, self.returns = threading.Event(), threading.Event()

    @contextmanager
    def running(self) -> Iterator[int]:
        """Listen, and yield the port."""
        server = socket.create_server(("127.0.0.1", 0))
        port: int = server.getsockname()[1]

        def serve() -> None:
            with server:
                sock, _ = server.accept()
                peer = Peer(sock)
                peer.accept()
                peer.packet()
                sock.close()
            self.left.set()
            self.returns.wait(30)
            with socket.create_server(("127.0.0.1", port)) as again, again.accept()[0] as sock:
                Peer(sock).accept(NOT_VALID)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield port
        thread.join(30)
        assert not thread.is_alive()


@pytest.mark.timeout(60)
def test_what_is_dropped_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_run, "MOST_WAITING", MOST)
    target = AwayTarget()

    def source(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.sock.sendall(encode(Suback(packet_id=1, reason_codes=(1,)), Version.V5))
        # Its copy is never acknowledged, so it stays in front of all that follow.
        peer.sock.sendall(encode(Publish(topic="a", qos=1, packet_id=7, payload=b"first"), Version.V5))
        assert target.left.wait(20)
        for _ in range(FLOODS):
            peer.sock.sendall(FLOOD)
        # No packet: the copy has read everything before it when it leaves.
        peer.send("00 00")
        peer.wait()
        target.returns.set()

    with scripted(source) as first, target.running() as second:
        ends = [f"mqtt://127.0.0.1:{port}" for port in (first, second)]
        with command.make_context("copy", [*ends, "-t", "a", "--reconnect"]) as ctx:
            request = copy_request(ctx.params)
        with ExitStack() as stack:
            run = CopyRun(request, Observers(Version.V5, None, None, None), stack)
            with pytest.raises(ConnectionLost):
                run.run()
    counts = run.report.counts
    assert counts["taken"] > FLOODS * 20 - MOST
    assert counts["dropped"] > FLOODS * 20 // 2
    # What one turn brings comes on top.
    assert len(run.subscriber.messages) < MOST + 1000
