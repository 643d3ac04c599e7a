"""What the load generators count, over a real broker."""

import os
import subprocess

import pytest

from mqttpub.live.bench.connections import ConnectionBenchmark, ConnectionBenchRequest
from mqttpub.live.bench.delivery import DeliveryBenchmark, DeliveryRequest
from mqttpub.live.bench.publishing import Benchmark, BenchRequest
from mqttpub.live.failures import NoConnack
from mqttpub.live.net.target import Target
from mqttpub.spec.packets import Connect, Publish
from tests.fakes import Peer, scripted_many

pytestmark = pytest.mark.broker


@pytest.fixture
def topic() -> str:
    """Return a topic of this test alone."""
    return f"bench/{os.urandom(4).hex()}"


def target(port: int) -> Target:
    return Target("127.0.0.1", port, connect=Connect(client_id=f"bench-{os.urandom(4).hex()}"))


def targets(port: int, count: int) -> list[Target]:
    return [target(port) for _ in range(count)]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_every_message_arrives_at_every_subscriber(qos: int, topic: str, mosquitto: int) -> None:
    publishers = [(target(mosquitto), f"{topic}/{number}") for number in (1, 2)]
    made = DeliveryBenchmark(DeliveryRequest(publishers, targets(mosquitto, 3), [f"{topic}/+"], qos=qos, messages=20))
    made.start()
    made.wait(60)
    assert made.failures == []
    assert (made.published, made.received, made.lost, made.disordered, made.foreign) == (40, 120, 0, 0, 0)
    assert made.latencies.count == 120
    assert 0 < made.receiving_s < made.seconds


def test_messages_of_others_are_counted_where_nothing_is_published(topic: str, mosquitto: int) -> None:
    made = DeliveryBenchmark(DeliveryRequest((), targets(mosquitto, 2), [topic], messages=3, duration_s=30))
    made.start()
    for listener in made.listeners:
        assert listener.ready.wait(10)
    lines = ["mosquitto_pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", topic, "-l"]
    subprocess.run(lines, input=b"1\n2\n3\n", check=True, timeout=20)
    made.wait(60)
    assert (made.failures, made.received, made.lost) == ([], 6, 0)


def test_publishers_count_what_was_acknowledged(topic: str, mosquitto: int) -> None:
    publishers = [(target(mosquitto), Publish(topic=f"{topic}/{number}", qos=1)) for number in range(3)]
    made = Benchmark(BenchRequest(publishers=publishers, payload=b"x", messages=50))
    made.start()
    made.wait(60)
    assert (made.failures, made.done, made.refused, made.latencies.count) == ([], 150, 0, 150)


def test_connections_are_held_until_all_are_open(mosquitto: int) -> None:
    made = ConnectionBenchmark(ConnectionBenchRequest(targets(mosquitto, 5), interval_s=0.05, hold_s=0.1))
    made.start()
    made.wait(60)
    assert (made.failures, made.connected, made.latencies.count) == ([], 5, 5)
    assert 0.2 <= made.opening_s < made.seconds


def test_a_connection_that_fails_does_not_keep_the_others() -> None:
    def closes(peer: Peer) -> None:
        peer.packet()

    def accepts(peer: Peer) -> None:
        peer.accept()
        assert peer.packet().hex(" ") == "e0 00"

    with scripted_many([closes, accepts]) as port:
        made = ConnectionBenchmark(ConnectionBenchRequest(targets(port, 2), interval_s=0.2))
        made.start()
        made.wait(20)
    assert made.connected == 1
    assert [type(each) for each in made.failures] == [NoConnack]
