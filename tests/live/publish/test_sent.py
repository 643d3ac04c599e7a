"""What counts as sent at QoS 0, which nothing acknowledges: only the end of the connection shows it."""

import os
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from mqttpub.live.failures import ConnectionLost, Exit, Failure, Refused, Unanswered
from mqttpub.live.net.target import Target
from mqttpub.live.publish.outbox import Outbox
from mqttpub.live.publish.publisher import Publisher, PublishOptions
from mqttpub.live.publish.sender import OutgoingMessage, Publication
from mqttpub.live.publish.sources import Batched, Listed, MessageSource, PayloadBatch
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.versions import Version
from tests.fakes import Peer, Script, answering, scripted, scripted_many

CONNACKS = {Version.V5: "20 03 00 00 00", Version.V311: "20 02 00 00", Version.V31: "20 02 00 00"}
ENDS: dict[str, Callable[[Peer], None]] = {
    "close": lambda peer: None,
    "reset": Peer.reset,
    "DISCONNECT": lambda peer: peer.send("e0 01 8b"),
}


def listed(version: Version) -> MessageSource:
    return Listed([Publication.of(Publish(topic="a", payload=b"x"), version, 1)])


def lines(version: Version) -> MessageSource:
    """Return a source as `-l` has it, with one line."""
    inlet, outlet = os.pipe()
    os.write(outlet, b"x\n")
    os.close(outlet)
    writer = listed(version).take(1, 0.0)[0].writer
    return Batched(inlet, lambda chunk: PayloadBatch(writer, chunk.splitlines()))


def publisher(port: int, version: Version, source: MessageSource, **more: Any) -> Publisher:
    target = Target("127.0.0.1", port, version, Connect(client_id="me"))
    options = PublishOptions(**{"timeout_s": 5.0, **{name: more[name] for name in {"reconnects"} & set(more)}})
    return Publisher(target, source, options, journal=more.get("journal"))


def status_of(made: Publisher) -> Exit | None:
    """Run a publisher; return the status of the failure that ends it, None if none does."""
    try:
        made.run_all()
    except Failure as failure:
        return failure.status
    return None


def ends(name: str, version: Version, *, after: int = 0) -> Script:
    """Return a script that accepts, takes some packets, and ends the connection."""
    return answering(*[""] * after, connack=CONNACKS[version], last=ENDS[name])


@pytest.mark.parametrize("source", [listed, lines])
@pytest.mark.parametrize("reconnects", [0, 1])
@pytest.mark.parametrize(("version", "name"), [
    *((version, name) for version in CONNACKS for name in ("close", "reset")), (Version.V5, "DISCONNECT"),
])  # fmt: skip
def test_a_broker_that_ends_after_connack_is_not_sent_to(
    version: Version, name: str, reconnects: int, source: Callable[[Version], MessageSource]
) -> None:
    with scripted_many([ends(name, version)] * (1 + reconnects)) as port:
        made = publisher(port, version, source(version), reconnects=reconnects)
        status = status_of(made)
    # A reset may overtake the CONNACK.
    possible = {Exit.REFUSED if name == "DISCONNECT" else Exit.UNKNOWN}
    possible |= {Exit.NOT_CONNECTED} if name == "reset" else set()
    if status is None:
        # It left before the first end was seen, and then there is nothing to send on the next connection.
        assert (reconnects, len(made.unknown) + made.sender.lost_in_batches) == (1, 1)
    else:
        assert status in possible
    assert not made.outcomes


@pytest.mark.parametrize("name", ENDS)
def test_an_end_before_our_disconnect_was_read_leaves_the_message_in_doubt(name: str) -> None:
    def script(peer: Peer) -> None:
        peer.accept()
        # CONNECT is taken as a whole, so this reads PUBLISH and leaves DISCONNECT in the socket.
        assert peer.sock.recv(6) == bytes.fromhex("30 05 00 01 61 00")
        ENDS[name](peer)

    with scripted(script) as port:
        made = publisher(port, Version.V5, listed(Version.V5))
        with pytest.raises((ConnectionLost, Refused)):
            made.run_all()
    assert [each.sent_in for each in made.unknown] == [1]


def test_an_end_after_our_disconnect_shows_that_it_was_sent() -> None:
    seen: list[str] = []
    with scripted(answering("", "", seen=seen)) as port:
        (sent,) = publisher(port, Version.V5, listed(Version.V5)).run_all()
    assert seen == ["30 05 00 01 61 00 78", "e0 00"]
    assert (sent.qos, sent.acked_at_s) == (0, None)


def test_a_broker_that_never_closes_leaves_the_message_in_doubt() -> None:
    ended = Event()

    def script(peer: Peer) -> None:
        answering("", "")(peer)
        ended.wait(10)

    target = Target("127.0.0.1", version=Version.V5, connect=Connect(client_id="me"))
    with scripted(script) as port:
        made = Publisher(target._replace(port=port), listed(Version.V5), PublishOptions(timeout_s=0.3))
        with pytest.raises(Unanswered, match=r"did not close the connection within 0\.3 s after DISCONNECT"):
            made.run_all()
        ended.set()


def test_what_was_surely_not_sent_is_sent_on_the_next_connection() -> None:
    seen: list[str] = []
    gone = answering(connack="20 03 00 00 00 e0 01 8b")
    with scripted_many([gone, answering("", "", seen=seen)]) as port:
        (sent,) = publisher(port, Version.V5, listed(Version.V5), reconnects=1).run_all()
    assert seen == ["30 05 00 01 61 00 78", "e0 00"]
    assert isinstance(sent, OutgoingMessage)


@pytest.mark.parametrize("source", [listed, lines])
def test_what_was_perhaps_sent_is_in_doubt_and_not_sent_again(source: Callable[[Version], MessageSource]) -> None:
    seen: list[str] = []
    with scripted_many([answering("", last=Peer.reset), answering("", seen=seen)]) as port:
        made = publisher(port, Version.V5, source(Version.V5), reconnects=1)
        assert made.run_all() == []
    assert seen == ["e0 00"]
    assert len(made.unknown) + made.sender.lost_in_batches == 1


def test_an_outbox_keeps_what_was_not_sent(tmp_path: Any) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        kept = outbox.add(listed(Version.V5).take(1, 0.0))
        with scripted(answering(connack="20 03 00 00 00 e0 01 8b")) as port, pytest.raises(Refused, match="0x8b"):
            publisher(port, Version.V5, Listed(kept), journal=outbox).run_all()
        assert [each.number for each in outbox.kept(Version.V5, begun=False)] == [1]
        with scripted(answering("", "")) as port:
            publisher(port, Version.V5, Listed(kept), journal=outbox).run_all()
        assert outbox.count() == 0
