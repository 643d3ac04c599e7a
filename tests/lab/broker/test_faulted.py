"""The broker behind fault rules, with clients on sockets."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mqttpub.lab.broker.limits import LIMITS, Limits
from mqttpub.lab.broker.server import Broker
from mqttpub.lab.faults.faults import Faults
from mqttpub.lab.faults.lane import MOST_HELD_BYTES
from mqttpub.lab.faults.rules import fault_rule
from mqttpub.lab.serving.served_socket import ServedSocket
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Subscription,
    Will,
)
from tests.lab.sockets import Wire, eventually


class Faulty:
    """A broker with rules, what they did, and what happened in the broker."""

    def __init__(self, *rules: str, limits: Limits = LIMITS) -> None:
        self.reports: list[str] = []
        self.events: list[tuple[str, str]] = []
        faults = Faults([fault_rule(text) for text in rules], 1, lambda report: self.reports.append(report.words))
        self.broker = Broker(
            faults=faults, limits=limits, on_event=lambda kind, client, text: self.events.append((kind, client))
        )


@contextmanager
def faulty(*rules: str) -> Iterator[Faulty]:
    """Run a broker with rules; afterwards no link holds anything."""
    made = Faulty(*rules)
    with made.broker:
        yield made
        assert eventually(lambda: not made.broker.clients)


def test_rules_stand_in_both_directions() -> None:
    rules = "direction=client type=PUBLISH topic=a drop", "direction=server type=PUBACK id=2 twice"
    with faulty(*rules) as made, Wire(made.broker.port) as wire:
        wire.connect()
        ack = Puback(packet_id=2, reason_code=0x10)
        wire.send(Publish(topic="a", qos=1, packet_id=1), Publish(topic="b", qos=1, packet_id=2), Pingreq())
        assert [wire.next() for _ in range(3)] == [ack, ack, Pingresp()]
        wire.sock.close()
    assert made.reports == ["dropped PUBLISH i=1 t=a", "sent PUBACK i=2 twice"]


def test_connections_have_numbers() -> None:
    with faulty("connection=2 type=PINGRESP drop") as made, Wire(made.broker.port) as one:
        one.connect("one")
        with Wire(made.broker.port) as two:
            two.connect("two").send(Pingreq())
            assert one.ask(Pingreq()) == Pingresp()
            assert eventually(lambda: made.reports == ["dropped PINGRESP"])


@pytest.mark.parametrize("direction", ["client", "server"])
def test_a_close_ends_both_sides_and_the_will_is_published(direction: str) -> None:
    rule = f"client=victim direction={direction} type=PINGREQ,PINGRESP close"
    with faulty(rule) as made, Wire(made.broker.port) as watcher, Wire(made.broker.port) as victim:
        watcher.connect("watcher")
        assert isinstance(watcher.ask(Subscribe(packet_id=1, subscriptions=(Subscription(filter="w"),))), Suback)
        victim.connect("victim", will=Will(topic="w", payload=b"gone"))
        assert victim.ask(Pingreq()) is None
        assert watcher.next().payload == b"gone"
        assert watcher.ask(Pingreq()) == Pingresp()


def test_a_reset_is_one() -> None:
    with faulty("type=PINGRESP reset") as made, Wire(made.broker.port) as wire:
        wire.connect()
        with pytest.raises(ConnectionResetError):
            wire.ask(Pingreq())
        assert eventually(lambda: ("disconnect", "c") in made.events)


def test_silence_leaves_the_connection_open() -> None:
    with faulty("type=PINGRESP silence") as made, Wire(made.broker.port) as wire:
        wire.connect().send(Pingreq(), Publish(topic="a", qos=1, packet_id=1))
        assert eventually(lambda: ("publish", "c") in made.events)
        wire.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            wire.receive()


def test_what_is_delayed_reaches_the_broker_before_the_end_of_the_client() -> None:
    with faulty("direction=client type=PUBLISH delay 100ms") as made, Wire(made.broker.port) as wire:
        wire.connect().send(Publish(topic="a"), Disconnect())
        wire.sock.shutdown(socket.SHUT_WR)
        assert wire.next() is None
    assert [kind for kind, _ in made.events] == ["connect", "publish", "disconnect"]


def test_a_client_that_just_goes_is_gone_after_what_is_delayed() -> None:
    with faulty("type=PUBLISH delay 100ms") as made, Wire(made.broker.port) as wire:
        wire.connect().send(Publish(topic="a"))
        wire.sock.shutdown(socket.SHUT_WR)
        assert wire.next() is None
        assert eventually(lambda: not made.broker.clients)
    assert [kind for kind, _ in made.events] == ["connect", "publish", "disconnect"]


def test_what_is_delayed_reaches_the_client_before_the_end_of_the_broker() -> None:
    with faulty("direction=server type=PINGRESP delay 100ms") as made, Wire(made.broker.port) as wire:
        wire.connect().send(Pingreq(), Connect(client_id="again"))
        assert wire.next() == Pingresp()
        assert wire.next().reason_code == 0x82
        assert wire.next() is None


def test_a_client_that_sends_too_much_for_a_delay_waits_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    paused: list[ServedSocket] = []
    pause = ServedSocket.pause

    def noted(served: ServedSocket) -> None:
        paused.append(served)
        pause(served)

    monkeypatch.setattr(ServedSocket, "pause", noted)
    payload, count = bytes(MOST_HELD_BYTES // 8), 40
    with faulty("direction=client type=PUBLISH delay 50ms") as made, Wire(made.broker.port) as wire:
        wire.connect().send(*[Publish(topic="a", payload=payload)] * count, Pingreq())
        assert wire.next() == Pingresp()
        assert made.events.count(("publish", "c")) == count
        assert len(made.reports) == count
    assert paused


def test_a_client_that_reads_slowly_gets_everything_through_the_rules() -> None:
    payload, count = bytes(1 << 16), 60
    with faulty("direction=server type=PUBLISH delay 20ms") as made, Wire(made.broker.port, small=True) as wire:
        wire.connect()
        assert isinstance(wire.ask(Subscribe(packet_id=1, subscriptions=(Subscription(filter="a"),))), Suback)
        wire.send(*[Publish(topic="a", payload=payload)] * count)
        assert eventually(lambda: made.events.count(("publish", "c")) == count)
        assert [wire.next().payload for _ in range(count)] == [payload] * count


def test_output_for_a_client_that_does_not_read_is_bounded_by_the_broker() -> None:
    made = Faulty("direction=server type=PUBLISH slice 1000", limits=Limits(output=1 << 20))
    with made.broker, Wire(made.broker.port, small=True) as lazy, Wire(made.broker.port) as busy:
        lazy.connect("lazy")
        assert isinstance(lazy.ask(Subscribe(packet_id=1, subscriptions=(Subscription(filter="a"),))), Suback)
        busy.connect("busy")
        for packet_id in range(1, 400):
            busy.ask(Publish(topic="a", qos=1, packet_id=packet_id, payload=bytes(1 << 16)))
            if ("disconnect", "lazy") in made.events:
                break
        assert ("disconnect", "lazy") in made.events


def test_a_client_that_resets_leaves_nothing_held() -> None:
    with faulty("type=PINGRESP delay 60s") as made:
        with Wire(made.broker.port) as wire:
            wire.connect().send(Pingreq())
            assert eventually(lambda: made.reports)
            wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert eventually(lambda: not made.broker.clients)
        assert made.broker.timers.next() is None


def test_what_is_cut_off_confuses_the_broker_only_on_that_connection() -> None:
    with faulty("client=a type=PUBLISH cut 1") as made, Wire(made.broker.port) as a, Wire(made.broker.port) as b:
        a.connect("a")
        b.connect("b")
        # The byte that misses is taken from the next packet, whose second byte then is a packet of type 0.
        assert isinstance(a.ask(Publish(topic="t"), Pingreq()), Disconnect)
        assert b.ask(Pingreq()) == Pingresp()


def test_a_broker_that_stops_says_so_through_the_rules() -> None:
    made = Faulty("type=DISCONNECT set reason_string=bye")
    with made.broker, Wire(made.broker.port) as wire:
        wire.connect()
        made.broker.stop()
        (last,) = wire.rest()
        assert isinstance(last, Disconnect)
        assert last.properties == ((31, "bye"),)


def test_each_byte_on_its_own_changes_nothing() -> None:
    with faulty("slice 1") as made, Wire(made.broker.port) as wire:
        assert isinstance(wire.ask(Connect(client_id="c")), Connack)
        assert wire.ask(Pingreq()) == Pingresp()
