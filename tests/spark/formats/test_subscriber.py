"""The thread that receives messages, with a broker that is a script."""

import time
from pathlib import Path

import pytest

from mqttpub.live.net.target import Target
from mqttpub.spark.formats.spool import MESSAGE, Spool, segment_ranges, spool_records
from mqttpub.spark.formats.subscriber import SubscribeRequest, SubscriberThread
from mqttpub.spec.packets import Connect, Subscribe, Subscription
from tests.fakes import Peer, Script, scripted_many

NEW, RESUMED, SUBACK = "20 03 00 00 00", "20 03 01 00 00", "90 04 00 01 00 02"
SUBSCRIBE = Subscribe(packet_id=1, subscriptions=(Subscription(filter="a", qos=2),))
FIRST = {1: "32 07 00 01 61 00 07 00 78", 2: "34 07 00 01 61 00 07 00 78"}
AGAIN = {1: "3a 07 00 01 61 00 07 00 78", 2: "3c 07 00 01 61 00 07 00 78"}
OTHER = "32 07 00 01 61 00 08 00 79"


def connection(connack: str, *packets: str, last: bool = False) -> Script:
    """Return a script that sends packets together with the CONNACK or, without any, with the SUBACK."""

    def script(peer: Peer) -> None:
        peer.accept(connack)
        peer.packet()
        peer.send(SUBACK + "".join(packets))
        peer.packet()
        if last:
            peer.wait()

    return script


@pytest.mark.parametrize("qos", [1, 2])
def test_a_message_that_comes_again_with_connack_is_stored_once(qos: int, tmp_path: Path) -> None:
    scripts = [connection(NEW, FIRST[qos]), connection(RESUMED + AGAIN[qos], OTHER, last=True)]
    with scripted_many(scripts) as port:
        spool = Spool(str(tmp_path), window=10)
        target = Target("127.0.0.1", port, connect=Connect(client_id="me", clean_start=False))
        subscriber = SubscriberThread(SubscribeRequest(target, SUBSCRIBE, timeout_s=5), spool)
        subscriber.start()
        until = time.monotonic() + 20
        while b"y" not in (stored := messages(tmp_path, spool.position)):
            assert time.monotonic() < until
            subscriber.check()
            time.sleep(0.02)
        subscriber.stop()
    assert stored == [b"x", b"y"]


def messages(folder: Path, end: int) -> list[bytes]:
    """Return the payloads of a spool, which have one byte each."""
    found = (record for part in segment_ranges(folder, 0, end) for record in spool_records(part))
    return [record.data[-1:] for record in found if record.kind == MESSAGE]
